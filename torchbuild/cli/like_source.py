"""What ``init --like`` names: a wheel, an installed torch, a release on an index; and what is read of it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeVar, cast

from packaging.tags import Tag
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from torchbuild.advice.like_official import official_likeness, official_names
from torchbuild.cli.init_wish import own_machine
from torchbuild.errors import FetchError, UsageError
from torchbuild.inspection.likeness import likeness_of, read_likeness
from torchbuild.inspection.likeness_source import find_installed, opened_archive
from torchbuild.inspection.text import shown
from torchbuild.knowledge.publishers import publisher_addresses
from torchbuild.model.likeness import Likeness
from torchbuild.report.text import size

if TYPE_CHECKING:
    from torchbuild.edges.package_index import IndexFile
    from torchbuild.edges.web import Web

__all__ = ["LikeSource", "likeness_for"]

T = TypeVar("T")

_INSTALLED = "INSTALLED"
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX")
"""Variables that name the environment that is active."""
_SPEC = re.compile(
    r"(?P<name>torch)==(?P<version>[0-9][0-9a-z.]*)(?:\+(?P<local>[a-z0-9.]+))?", re.IGNORECASE
)
_INTERPRETER = re.compile(r"python[0-9.]*t?")
_UPSTREAM = "torch-wheels"
_LONGEST_PAUSE_S = 0.5


class LikeSource(NamedTuple):
    """Where a release is looked for."""

    python: str = ""
    """Interpreter that its wheel is for, such as ``3.11``, where there is one; else the newest there is."""
    machine: str = ""
    """Processor family; this machine's where empty."""
    index_url: str = ""
    """Index of wheels without a local version label; pip's own where empty."""
    labelled_url: str = ""
    """What stands before LABEL of an index of wheels with one; the publisher's where empty."""
    scratch: Path | None = None
    """Directory with room for a wheel's largest libraries, unpacked; the system's own where None."""
    patience_s: float = 10.0
    """Seconds in which an index must have told where the wheel is."""


def likeness_for(text: str, source: LikeSource | None = None) -> Likeness:
    """Read what an option names.

    Args:
        text: a wheel's path, a folder that torch is installed in, the interpreter of an environment,
            ``INSTALLED`` for the environment that is active, or ``torch==VERSION`` with or without a local
            version label.
        source: where a release is looked for.

    Raises:
        UsageError: ``like-not-found``, ``like-not-on-index``.
        VerifyError: ``wheel-unreadable``.
        FetchError: what the index answers, where the facts know no such wheel either.
        HostError: ``disk-full``, ``not-writable``, ``no-package-index``.
    """
    source = source or LikeSource()
    spec = _SPEC.fullmatch(text)
    if text.upper() == _INSTALLED:
        active = next(filter(None, map(os.environ.get, _ACTIVE)), sys.prefix)
        return likeness_of(find_installed(Path(active)))
    if spec is not None and not Path(text).exists():
        return _of_release(spec, source)
    return read_likeness(_place(text), scratch=source.scratch)


def _place(text: str) -> Path:
    """The wheel or the folder; of an interpreter, the environment that it stands for."""
    place = Path(text)
    try:
        is_there = bool(text) and (place.is_dir() or place.is_file())  # and no pipe that nobody writes to
    except (OSError, ValueError):  # too long for a name, or with a NUL
        is_there = False
    if not is_there:
        raise UsageError(
            "like-not-found",
            f"--like {shown(text)}: not there",
            why=("seen: no file, no folder", "wanted: a wheel, a folder with torch in it, or torch==VERSION"),
            fix="Correct --like.",
        )
    is_interpreter = _INTERPRETER.fullmatch(place.name) and place.is_file() and os.access(place, os.X_OK)
    return place.absolute().parent.parent if is_interpreter else place


def _of_release(spec: re.Match[str], source: LikeSource) -> Likeness:
    """By the index; where that has no answer, by the facts, which say so."""
    version, local = spec["version"], (spec["local"] or "").lower()
    machine = source.machine or own_machine()
    try:
        return _by_index(version, local, source, machine)
    except (FetchError, UsageError) as error:
        why = f"{error.what} [{error.reference}]"
        known = official_likeness(version, local, machine, why) if local else None
        if known is not None:
            return known
        names = official_names(version, machine)
        if names:
            error.why = (*error.why, f"known without an index: {', '.join(names)}")
            error.fix = f"{error.fix} Or name one of those that are known."
        raise


def _by_index(version: str, local: str, source: LikeSource, machine: str) -> Likeness:
    from torchbuild.edges.web import Web  # noqa: PLC0415  only where an index is asked

    url = source.index_url
    if local:
        url = f"{source.labelled_url or publisher_addresses()[_UPSTREAM]}{local}"
    wanted = f"{version}+{local}" if local else version
    with contextlib.closing(Web(pause=_briefly)) as web:
        found = _in_time(lambda: _found(web, url, wanted, source.python, machine), source.patience_s)
        return _read(web, found, source.scratch)


def _briefly(seconds: float) -> None:
    """A person waits for the answer, and there are the facts."""
    time.sleep(min(seconds, _LONGEST_PAUSE_S))


def _in_time(ask: Callable[[], T], seconds: float) -> T:
    """What `ask` gives: a name server or a slow index knows no limit of its own for all its tries together.

    Nobody waits any more for one that is late: its thread ends with the program.
    """
    answers: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:  # noqa: BLE001  raised again where it is waited for
            errors.append(error)

    asking = threading.Thread(target=run, daemon=True, name="ask the index")
    asking.start()
    asking.join(seconds)
    if errors:
        raise errors[0]
    if answers:
        return answers[0]
    raise FetchError(
        "not-reachable",
        f"the index did not answer in {seconds:g} s",
        why=("seen: nothing", "wanted: the list of its wheels"),
        fix="Check the network and the proxy settings; or fetch the wheel, and name its file.",
    )


class _Found(NamedTuple):
    """A wheel on an index."""

    name: str
    """The file's."""
    file: IndexFile
    """Where it is."""
    size: int | None
    """Bytes; None where the server sends files whole only, or it lies on this machine."""


def _found(web: Web, url: str, wanted: str, python: str, machine: str) -> _Found:
    from torchbuild.edges.package_index import PackageIndex  # noqa: PLC0415  as above
    from torchbuild.edges.ranged import open_ranged  # noqa: PLC0415

    files = PackageIndex(web, url).listing("torch", is_hurried=True)
    name = _wheel(wanted, files, python, machine)
    if _is_here(files[name]):
        return _Found(name, files[name], None)
    opened = open_ranged(web, files[name].url)
    return _Found(name, files[name], opened.seek(0, os.SEEK_END) if opened is not None else None)


def _is_here(file: IndexFile) -> bool:
    return file.url.startswith("file:")


def _wheel(wanted: str, files: Mapping[str, IndexFile], python: str, machine: str) -> str:
    """The file for the interpreter that is wanted, else for the newest one: switches do not hang on it."""
    fitting = sorted(_fitting(files, wanted, machine), reverse=True)
    chosen = [item for item in fitting if item[1] == python.rstrip("t")] or fitting
    if chosen:
        return chosen[0][2]
    raise UsageError(
        "like-not-on-index",
        f"torch=={wanted}: the index has no wheel of it for {machine}",
        why=(f"seen: {len(files)} files of torch, none of this release for {machine}", f"wanted: {wanted}"),
        fix="Name a release that is there, or another --machine; or name a wheel's file.",
    )


def _fitting(
    files: Mapping[str, IndexFile], wanted: str, machine: str
) -> Iterator[tuple[tuple[int, ...], str, str]]:
    """Order, interpreter and name of each wheel of the release for the machine, without free threads."""
    for name in files:
        try:
            _, version, _, tags = parse_wheel_filename(name)
            is_it = version == Version(wanted)
        except ValueError:  # no name of a wheel, or no version
            continue
        pythons = {python for tag in tags if is_it and (python := _python(tag, machine))}
        for python in pythons:
            yield tuple(map(int, python.split("."))), python, name


def _python(tag: Tag, machine: str) -> str:
    """The interpreter of a tag for the machine, ``3.11``; empty for another one."""
    digits = tag.interpreter.removeprefix("cp")
    is_plain = digits.isdecimal() and tag.abi in (tag.interpreter, f"{tag.interpreter}m")
    if not is_plain or not tag.platform.endswith(f"_{machine}") or "linux" not in tag.platform:
        return ""
    return f"{digits[0]}.{digits[1:]}"


def _read(web: Web, found: _Found, scratch: Path | None) -> Likeness:
    """Of a file that the server sends in parts only what is needed comes; of another one all of it."""
    from torchbuild.inspection.archive import scratch_folder  # noqa: PLC0415

    name, url = found.name, found.file.url
    if _is_here(found.file):
        from urllib.parse import urlsplit  # noqa: PLC0415
        from urllib.request import url2pathname  # noqa: PLC0415

        return read_likeness(Path(url2pathname(urlsplit(url).path)), scratch=scratch)
    if found.size is not None:
        sys.stderr.write(f"note: reading {shown(name)} on the index, most of its {size(found.size)}\n")
        with opened_archive(name, lambda: _opened(web, url), scratch) as files:
            return likeness_of(files)
    sys.stderr.write(f"note: the server sends {shown(name)} whole only\n")
    with scratch_folder(scratch) as folder:
        whole = folder / "whole.whl"
        _bring(web, found.file, whole)
        with opened_archive(name, lambda: whole.open("rb"), scratch) as files:
            return likeness_of(files)


def _opened(web: Web, url: str) -> BinaryIO:
    from torchbuild.edges.ranged import open_ranged  # noqa: PLC0415

    found = open_ranged(web, url)
    if found is None:
        raise OSError("the server does not send it in parts any more")
    return cast("BinaryIO", found)


def _bring(web: Web, found: IndexFile, to: Path) -> None:
    from torchbuild.edges.web import Wanted  # noqa: PLC0415

    web.bring(Wanted(found.url, None, lambda _: None, has_digest=False), to)
