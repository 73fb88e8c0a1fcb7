"""Whether RECORD names every member with its right digest and size, and nothing else."""

from __future__ import annotations

import base64
import binascii
import csv
import io
from collections.abc import Iterator

from torchbuild.inspection.archive import Contents, Member
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.verdict import failed, settled
from torchbuild.model.finding import Finding

__all__ = ["REFERENCES", "check"]

REFERENCES: tuple[str, ...] = ("wheel-record",)

_REFERENCE = "wheel-record"
_FIELDS = 3
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")


def check(contents: Contents, expected: ExpectedWheel) -> tuple[Finding, ...]:  # noqa: ARG001  one shape for all
    """One `passed`, or every member that RECORD gets wrong, misses or makes up."""
    text = contents.texts.get("RECORD")
    if text is None:
        return (failed(_REFERENCE, "RECORD cannot be read", seen="nothing", wanted="one .dist-info/RECORD"),)
    problems = _problems(text, contents)
    seen = f"{len(contents.members)} members"
    return settled(_REFERENCE, problems, what="every member has its digest and size", seen=seen)


def _problems(text: bytes, contents: Contents) -> Iterator[Finding]:
    rows, broken = _rows(text)
    yield from broken
    own = {f"{contents.dist_info}/{name}" for name in ("RECORD", *_SIGNATURES)}
    for member in contents.members:
        name, row = member.name, rows.pop(member.name, None)
        if member.problem:
            yield failed(_REFERENCE, f"{name} cannot be unpacked", seen=member.problem, wanted="its bytes")
        elif name in own:
            continue
        elif row is None:
            yield failed(_REFERENCE, f"{name} is not in RECORD", seen="nothing", wanted="digest and size")
        else:
            yield from _compare(member, *row)
    for name in rows:
        if name not in own:
            yield failed(_REFERENCE, f"{name} is in RECORD only", seen="no such member", wanted="a member")


def _rows(text: bytes) -> tuple[dict[str, tuple[str, str]], list[Finding]]:
    """Digest and size by name, and the lines that are no record."""
    rows: dict[str, tuple[str, str]] = {}
    broken: list[Finding] = []
    try:
        for row in csv.reader(io.StringIO(text.decode("utf-8"), newline=""), strict=True):
            if len(row) != _FIELDS:
                line = ",".join(row)
                broken.append(failed(_REFERENCE, "a line is no record", seen=line, wanted="name,digest,size"))
            elif row[0] in rows:
                broken.append(failed(_REFERENCE, f"{row[0]} is in RECORD twice", seen="2", wanted="1"))
            else:
                rows[row[0]] = (row[1], row[2])
    except (csv.Error, ValueError) as error:
        broken.append(failed(_REFERENCE, "RECORD is no list", seen=str(error), wanted="values in UTF-8"))
    return rows, broken


def _compare(member: Member, digest: str, size: str) -> Iterator[Finding]:
    algorithm, _, encoded = digest.partition("=")
    wanted = f"sha256 {member.sha256}"
    if algorithm != "sha256":
        what = f"{member.name} is recorded without a digest that this check knows"
        yield failed(_REFERENCE, what, seen=digest or "nothing", wanted=wanted)
    elif _hex(encoded) != member.sha256:
        seen = f"RECORD: {digest}"
        yield failed(_REFERENCE, f"{member.name} is not what RECORD says", seen=seen, wanted=wanted)
    if size != str(member.size):
        seen, wanted = f"RECORD: {size}", str(member.size)
        yield failed(_REFERENCE, f"{member.name} has another size", seen=seen, wanted=wanted)


def _hex(encoded: str) -> str:
    """A digest of RECORD, urlsafe base64 without padding, in hexadecimal; empty where it is none."""
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True).hex()
    except (binascii.Error, ValueError):
        return ""
