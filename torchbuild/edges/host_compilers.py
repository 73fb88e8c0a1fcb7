"""Host compilers, by all names that they have: where builds look for one, and in PATH."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.edges.host_programs import Answer, Found, ask, kind_of, list_programs, plain_environ
from torchbuild.model.host import Compiler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torchbuild.edges.host_files import HostFiles
    from torchbuild.edges.host_glances import Glances
    from torchbuild.edges.host_programs import Programs

__all__ = [
    "COMPILERS",
    "Names",
    "compiler_blanks",
    "compiler_told",
    "compilers_of",
    "list_of_builds",
    "look_at_compiler",
]

COMPILERS = r"(?:(?:cuda-)?(?:gcc|g\+\+)|clang|clang\+\+)(?:-[0-9]+(?:\.[0-9]+)*)?"
"""Names of interest, with the suffix of a release."""

_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
_TOOLSETS = "/opt/rh"

_CLANG = re.compile(r"\bclang version ([0-9]+(?:\.[0-9]+)+)")
_GCC = re.compile(r"^\S*(?:gcc|g\+\+|c\+\+|cc)(?:[-\w.]*)? (?:\(.*\) )?([0-9]+(?:\.[0-9]+)+)")


class Names(NamedTuple):
    """All names of one file."""

    found: tuple[Found, ...]
    is_of_builds: bool
    """Whether a build looks where they are."""

    def __str__(self) -> str:
        return self.found[0].path


def list_of_builds(files: HostFiles, named: Iterable[str], glances: Glances) -> list[Found]:
    """Compilers where a build on this machine looks, whatever PATH says.

    Args:
        files: where the system's folders lie.
        named: the recipe's, each a name in one of these folders or a full path.
        glances: notes what could not be listed.
    """
    names = [name for name in named if "/" not in name]
    toolsets = [f"{_TOOLSETS}/{name}/root/usr/bin" for name in files.names(_TOOLSETS)]
    path = ":".join(str(files.place(folder)) for folder in (*_FOLDERS, *toolsets))
    wanted = "|".join((COMPILERS, *map(re.escape, names)))
    found = list(list_programs(path, wanted, glances).matching(wanted))
    for place in (name for name in named if name.startswith("/")):
        folder, _, name = place.rpartition("/")
        found += list_programs(folder or "/", re.escape(name), glances).matching(re.escape(name))
    return found


def compilers_of(of_builds: Iterable[Found], programs: Programs) -> tuple[Names, ...]:
    """All compilers, those of one file together: one start tells of all its names. A cache's names do not.

    Args:
        of_builds: where builds look.
        programs: what is in PATH; what is among the others is not told twice.
    """
    ours = list(of_builds)
    told = {(found.name, found.real) for found in ours}
    others = [found for found in programs.matching(COMPILERS) if (found.name, found.real) not in told]
    groups: dict[tuple[str, bool], list[Found]] = {}
    for found, is_of_builds in (*((item, True) for item in ours), *((item, False) for item in others)):
        is_cache = found.real.rpartition("/")[2].endswith(("cache", "distcc", "icecc"))
        groups.setdefault((found.path if is_cache else found.real, is_of_builds), []).append(found)
    return tuple(Names(tuple(found), is_of_builds) for (_, is_of_builds), found in groups.items())


def compiler_blanks(names: Names) -> tuple[Compiler, ...]:
    """Those of which nothing is known."""
    return _as_told(names, "", "", "no answer")


def look_at_compiler(names: Names, environ: Mapping[str, str], glances: Glances) -> tuple[Compiler, ...]:
    """What one file says, under each of its names."""
    first = names.found[0]
    said = ask([first.path, "--version"], plain_environ(environ), glances)
    kind, version = compiler_told(said.text)
    return _as_told(names, kind, version, "" if version else _why(first, said))


def _as_told(names: Names, kind: str, version: str, why: str) -> tuple[Compiler, ...]:
    return tuple(
        Compiler(
            name=found.name,
            path=found.path,
            kind=kind,
            version=version,
            real=found.real,
            why=why,
            is_of_builds=names.is_of_builds,
        )
        for found in names.found
    )


def _why(found: Found, said: Answer) -> str:
    if said.why:
        return said.why
    return f"a {kind_of(found.path)} that tells no version: {said.text.strip()[:200]!r}"


def compiler_told(text: str) -> tuple[str, str]:
    """Kind and version in what a compiler says of itself; empty where it is another's."""
    clang = _CLANG.search(text)
    if clang:
        return "clang", clang[1]
    gcc = _GCC.match(text)
    return ("gcc", gcc[1]) if gcc and "Free Software Foundation" in text else ("", "")
