"""Whether the wheel says the name, version and requirements that were asked for, everywhere the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from torchbuild.inspection.archive import Contents
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.headers import headers
from torchbuild.inspection.names import WheelName, parse_name
from torchbuild.inspection.verdict import failed, not_run, settled
from torchbuild.model.finding import Finding

__all__ = ["REFERENCES", "check"]

REFERENCES: tuple[str, ...] = ("wheel-metadata", "wheel-requirements")

_METADATA, _REQUIREMENTS = REFERENCES


def check(contents: Contents, expected: ExpectedWheel) -> tuple[Finding, ...]:
    """Name and version in three places, then the requirements as a set."""
    found = headers(contents, "METADATA")
    if found is None:
        seen = contents.dist_info or "no single .dist-info directory"
        unread = failed(_METADATA, "METADATA cannot be read", seen=seen, wanted="one .dist-info/METADATA")
        return (unread, not_run(_REQUIREMENTS, "METADATA cannot be read"))
    places = [("METADATA", str(found.get("Name", "")).strip(), str(found.get("Version", "")).strip())]
    places.append((".dist-info", *_split(contents.dist_info.removesuffix(".dist-info"))))
    name = parse_name(contents.wheel.name)
    if isinstance(name, WheelName):
        places.append(("the file's name", name.distribution, name.version))
    problems = [problem for place in places for problem in _identity(*place, expected)]
    seen = f"{places[0][1]} {places[0][2]}"
    identity = settled(_METADATA, problems, what="name and version are the ones asked for", seen=seen)
    return (*identity, *_requirements([str(line) for line in found.get_all("Requires-Dist", [])], expected))


def _split(stem: str) -> tuple[str, str]:
    name, _, version = stem.partition("-")
    return name, version


def _identity(place: str, name: str, version: str, expected: ExpectedWheel) -> Iterator[Finding]:
    if canonicalize_name(name) != canonicalize_name(expected.distribution):
        what = f"{place} names another distribution"
        yield failed(_METADATA, what, seen=name or "nothing", wanted=expected.distribution)
    if _version(version) != _version(expected.version):
        what = f"{place} has another version"
        yield failed(_METADATA, what, seen=version or "nothing", wanted=expected.version)


def _version(text: str) -> str:
    """A version as PEP 440 writes it; what is none stays as it is, and equals only itself."""
    try:
        return str(Version(text))
    except InvalidVersion:
        return text


def _requirements(lines: list[str], expected: ExpectedWheel) -> tuple[Finding, ...]:
    if expected.requires_dist is None:
        return (not_run(_REQUIREMENTS, "nobody fixed the wheel's run-time requirements"),)
    seen, broken = _normal(lines)
    wanted, _ = _normal(expected.requires_dist)
    missing, extra = sorted(wanted - seen), sorted(seen - wanted)
    problems = [
        *(failed(_REQUIREMENTS, "no requirement", seen=line, wanted="a PEP 508 line") for line in broken),
        *(failed(_REQUIREMENTS, "not declared", seen="nothing", wanted=line) for line in missing),
        *(failed(_REQUIREMENTS, "declared, not asked for", seen=line, wanted="nothing") for line in extra),
    ]
    what = "the requirements are the ones asked for"
    return settled(_REQUIREMENTS, problems, what=what, seen=f"{len(seen)} requirements")


def _normal(lines: Iterable[str]) -> tuple[set[str], list[str]]:
    """Requirements in one spelling, and the lines that are none."""
    normal: set[str] = set()
    broken: list[str] = []
    for line in lines:
        try:
            normal.add(_spelled(Requirement(line.strip())))
        except InvalidRequirement:
            broken.append(line)
    return normal, broken


def _spelled(requirement: Requirement) -> str:
    extras = f"[{','.join(sorted(map(canonicalize_name, requirement.extras)))}]" if requirement.extras else ""
    where = f" @ {requirement.url}" if requirement.url else ",".join(sorted(map(str, requirement.specifier)))
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{canonicalize_name(requirement.name)}{extras}{where}{marker}"
