"""Which programs PATH leads to, and what one says when it is asked: briefly, and never for long.

A directory of PATH can lie on a mount whose server is gone. Each is listed in a thread of its own, and a
program is started by its full path after its first bytes were read: who starts one from a thread must not
hang in the system call that starts it, which would stop all of us.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.edges.host_glances import Glances, its_word
from torchbuild.edges.process import capture
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "LISTED_WITHIN_S",
    "Answer",
    "Found",
    "Programs",
    "ask",
    "kind_of",
    "list_programs",
    "plain_environ",
    "table_told",
]

LISTED_WITHIN_S = 1.0
"""What the directories of PATH may take."""

_MOST = 1 << 22
_GRACE_S = 0.1
_CACHES = ("ccache", "sccache", "distcc", "icecc")
_KEPT = ("HOME", "PATH", "USER")
"""What a compiler or an interpreter needs in order to say its version: no options, no preloads."""


class Found(NamedTuple):
    """A program in a directory of PATH."""

    name: str
    path: str
    real: str


class Answer(NamedTuple):
    """What a program said."""

    text: str
    why: str
    """Why there is no text; empty where there is."""


class Programs:
    """What PATH leads to, in its order."""

    def __init__(self, found: Sequence[Found]) -> None:
        self._found = tuple(found)

    def first(self, name: str) -> str:
        """Path of the first one of this name; empty for none."""
        return next((found.path for found in self._found if found.name == name), "")

    def matching(self, pattern: str) -> tuple[Found, ...]:
        """All whose name fits, one a file of a name."""
        once: dict[tuple[str, str], Found] = {}
        for found in self._found:
            if re.fullmatch(pattern, found.name):
                once.setdefault((found.name, found.real), found)
        return tuple(once.values())


def list_programs(path: str, wanted: str, glances: Glances) -> Programs:
    """List the directories of a PATH, all at once; one that does not answer in a second is left out.

    Args:
        path: the variable's value. What is not absolute is left out: it depends on where one stands.
        wanted: pattern of the names of interest.
        glances: notes what could not be listed.
    """
    pattern = re.compile(wanted)
    folders = [folder for folder in dict.fromkeys(path.split(os.pathsep)) if folder.startswith("/")]
    begun = glances.each("PATH directory", folders, lambda folder: _fitting(folder, pattern), lambda _: [])
    ends = glances.spent() + LISTED_WITHIN_S
    return Programs([found for glance in begun for found in glance.result(max(0.0, ends - glances.spent()))])


def _fitting(folder: str, pattern: re.Pattern[str]) -> list[Found]:
    try:
        names = [entry.name for entry in Path(folder).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    fitting = sorted(filter(pattern.fullmatch, names), key=lambda name: (len(name), name))
    paths = [(name, f"{folder.rstrip('/')}/{name}") for name in fitting]
    return [
        Found(name, path, os.path.realpath(path))
        for name, path in paths
        if Path(path).is_file() and os.access(path, os.X_OK)
    ]


def kind_of(path: str) -> str:
    """``program``, ``script``, ``cache`` for a compiler cache under another's name, or ``other``.

    Raises:
        OSError: it cannot be read.
    """
    if Path(os.path.realpath(path)).name in _CACHES:
        return "cache"
    with Path(path).open("rb") as file:
        begin = file.read(4)
    return "program" if begin == b"\x7fELF" else "script" if begin[:2] == b"#!" else "other"


def plain_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Of the variables, those that change no program's answer; messages in English."""
    kept = {name: environ[name] for name in _KEPT if name in environ} | {"LC_ALL": "C.UTF-8"}
    temp = environ.get("TMPDIR", "")
    return kept | ({"TMPDIR": temp} if temp.startswith("/") and os.access(temp, os.W_OK | os.X_OK) else {})


def ask(
    argv: Sequence[str], environ: Mapping[str, str], glances: Glances, *, with_stderr: bool = False
) -> Answer:
    """What a program says on stdout, from a directory that is always there.

    Args:
        argv: the program's full path and its arguments.
        environ: all that it sees.
        glances: how long it may take.
        with_stderr: what it says on stderr too.
    """
    try:
        with contextlib.suppress(PermissionError):  # some may be started and not read
            kind_of(argv[0])  # here a dead mount holds this thread alone
        text = capture(
            argv,
            environ=environ,
            cwd="/",
            timeout_s=round(glances.for_programs(), 1),
            grace_s=_GRACE_S,
            most=_MOST,
            with_stderr=with_stderr,
            until=glances.until,
        )
    except (OSError, HostError) as error:
        return Answer("", its_word(error))
    return Answer(text, "")


def table_told(text: str) -> dict[str, object]:
    """The last line of a text that is an object of JSON: what starts with an interpreter may print before it.

    Raises:
        ValueError: there is none.
    """
    for line in reversed(text.splitlines()):
        with contextlib.suppress(ValueError, RecursionError):
            told = json.loads(line)
            if isinstance(told, dict):
                return told
    raise ValueError(text[:200])
