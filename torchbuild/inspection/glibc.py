"""Whether the C library of the target is new enough for every file of the wheel."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.inspection.archive import Contents
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.facts import ElfFacts
from torchbuild.inspection.names import WheelName, parse_name
from torchbuild.inspection.platform import glibc_of_node, glibc_promised, release
from torchbuild.inspection.verdict import failed, settled
from torchbuild.model.finding import Finding

__all__ = ["REFERENCES", "check", "newest_glibc", "newest_node"]

REFERENCES: tuple[str, ...] = ("elf-glibc-ceiling",)

_REFERENCE = "elf-glibc-ceiling"


def check(contents: Contents, expected: ExpectedWheel) -> tuple[Finding, ...]:
    """Against the lower of the target's C library and what the file name's tags promise."""
    ceiling = min(_ceilings(contents, expected), key=lambda number: release(number) or ())
    problems = [problem for elf in contents.elf for problem in _too_new(elf, ceiling)]
    seen = newest_glibc(contents.elf) or "none is needed"
    wanted = f"{ceiling} at most"
    return settled(_REFERENCE, problems, what="the C library is new enough", seen=seen, wanted=wanted)


def newest_glibc(files: tuple[ElfFacts, ...]) -> str:
    """The newest C library release that any of the files needs; empty where none needs one."""
    numbers = (glibc_of_node(node) for elf in files for node in elf.versions if node.startswith("GLIBC_"))
    return _newest(number for number in numbers if number)


def newest_node(files: tuple[ElfFacts, ...], prefix: str) -> str:
    """The newest version node of a family such as ``GLIBCXX``, as a number; empty where there is none."""
    lead = f"{prefix}_"
    return _newest(node.removeprefix(lead) for elf in files for node in elf.versions if node.startswith(lead))


def _newest(numbers: Iterator[str]) -> str:
    numbered = (number for number in numbers if release(number))
    return max(numbered, key=lambda number: release(number) or (), default="")


def _ceilings(contents: Contents, expected: ExpectedWheel) -> Iterator[str]:
    yield expected.glibc
    name = parse_name(contents.wheel.name)
    if isinstance(name, WheelName):
        yield from (promised for tag in name.parts(2) if (promised := glibc_promised(tag)))


def _too_new(elf: ElfFacts, ceiling: str) -> Iterator[Finding]:
    for node in elf.versions:
        if not node.startswith("GLIBC_"):
            continue
        needs = glibc_of_node(node)
        if needs is None:
            what = f"{elf.path} needs a part of the C library that no release promises"
            yield failed(_REFERENCE, what, seen=node, wanted="numbered versions")
        elif (release(needs) or ()) > (release(ceiling) or ()):
            what = f"{elf.path} needs a newer C library"
            yield failed(_REFERENCE, what, seen=node, wanted=f"glibc {ceiling} at most")
