"""The two ways to look at a wheel: describe it, or hold it against what was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from torchbuild.inspection import glibc, linkage, metadata, openmp, record, tags
from torchbuild.inspection.archive import Contents, opened, unreadable
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.facts import WheelFacts
from torchbuild.inspection.headers import headers
from torchbuild.inspection.members import REFERENCE as MEMBERS
from torchbuild.inspection.names import WheelName, parse_name
from torchbuild.inspection.text import escaped
from torchbuild.inspection.verdict import not_run, settled
from torchbuild.model.finding import Finding

__all__ = ["CHECKS", "SOURCES", "Check", "describe_wheel", "inspect_wheel"]

SOURCES = (
    "inspection",
    "knowledge/data/platform_libraries.toml",
    "knowledge/data/platform_tags.toml",
    "knowledge/fact.py",
    "knowledge/platform_libraries.py",
    "knowledge/platform_tags.py",
)
"""Where in this package all lies that decides what a check says."""


class Check(Protocol):
    """What every check module is."""

    REFERENCES: tuple[str, ...]
    """The references its findings carry; each appears at least once in what it returns."""

    def check(self, contents: Contents, expected: ExpectedWheel) -> tuple[Finding, ...]:
        """What it saw. Never raises for what the wheel is."""
        ...


CHECKS: tuple[Check, ...] = (tags, record, metadata, linkage, openmp, glibc)
"""Every check, in the order of the report."""


def inspect_wheel(
    wheel: Path, expected: ExpectedWheel, *, scratch: Path | None = None
) -> tuple[Finding, ...]:
    """Hold `wheel` against `expected`. The wheel is never imported, nothing of it is ever run.

    Args:
        wheel: the file.
        expected: what was asked for.
        scratch: a directory with room for the wheel's unpacked libraries; the system's own where None.

    Returns:
        At least one finding for each reference of each check. Where the archive must not be unpacked,
        `wheel-members` failed and every other check is `not run`.

    Raises:
        VerifyError: ``wheel-unreadable`` where it is no archive at all.
        HostError: ``disk-full`` or ``not-writable`` where there is no room to look at its libraries.
    """
    with opened(wheel, scratch) as contents:
        seen = f"{len(contents.members)} members"
        return (
            *settled(MEMBERS, contents.hostile, what="may be unpacked", seen=seen),
            *(finding for check in CHECKS for finding in _outcomes(check, contents, expected)),
        )


def _outcomes(check: Check, contents: Contents, expected: ExpectedWheel) -> Iterator[Finding]:
    if contents.hostile:
        why = f"the archive must not be unpacked, see {MEMBERS}"
        yield from (not_run(name, why) for name in check.REFERENCES)
    else:
        yield from check.check(contents, expected)


def describe_wheel(wheel: Path, *, scratch: Path | None = None) -> WheelFacts:
    """What `wheel` is, without judging it.

    Args:
        wheel: the file.
        scratch: a directory with room for the wheel's unpacked libraries; the system's own where None.

    Raises:
        VerifyError: ``wheel-unreadable`` where it is no archive, must not be unpacked, or has no METADATA.
        HostError: ``disk-full`` or ``not-writable`` where there is no room to look at its libraries.
    """
    with opened(wheel, scratch) as contents:
        if contents.hostile:
            first = contents.hostile[0]
            raise unreadable(wheel, f"{first.what}: {first.seen}")
        return _facts(contents)


def _facts(contents: Contents) -> WheelFacts:
    found = headers(contents, "METADATA")
    if found is None:
        raise unreadable(contents.wheel, "it has no single .dist-info directory with a METADATA file")
    made_by = headers(contents, "WHEEL")
    name = parse_name(contents.wheel.name)
    return WheelFacts(
        file=escaped(contents.wheel.name),
        name=escaped(str(found.get("Name", "")).strip()),
        version=escaped(str(found.get("Version", "")).strip()),
        tags=name.tags if isinstance(name, WheelName) else (),
        size=contents.size,
        sha256=contents.sha256,
        members=len(contents.members),
        installed_size=sum(member.size for member in contents.members),
        generator=escaped(str(made_by.get("Generator", "")).strip()) if made_by is not None else "",
        requires_dist=tuple(escaped(str(line).strip()) for line in found.get_all("Requires-Dist", [])),
        elf=contents.elf,
        glibc=glibc.newest_glibc(contents.elf),
        glibcxx=glibc.newest_node(contents.elf, "GLIBCXX"),
    )
