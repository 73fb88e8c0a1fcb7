"""RECORD names every member, rightly, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.wheel import inspect_wheel
from torchbuild.model.finding import Finding, failures


def _failed(wheel: Path, expected: ExpectedWheel) -> list[Finding]:
    return [
        finding for finding in failures(inspect_wheel(wheel, expected)) if finding.reference == "wheel-record"
    ]


def test_changed_member_is_named(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """A member whose bytes are others than recorded fails by digest and by size."""
    wheel = make_wheel(good_members, replace={"torch/__init__.py": b"evil"})

    found = _failed(wheel, expected)

    assert len(found) == 2
    assert all("torch/__init__.py" in finding.what for finding in found)
    assert hashlib.sha256(b"evil").hexdigest() in found[0].wanted


def test_extra_member_is_named(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """A member that RECORD does not know is found."""
    (finding,) = _failed(make_wheel(good_members, replace={"torch/extra.py": b"x"}), expected)

    assert finding.what == "torch/extra.py is not in RECORD"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"gone.py,sha256=AAAA,1\n", "gone.py is in RECORD only"),
        (b"a,b\n", "no record"),
        (b"\xff\xfe,,\n", "no list"),
        (b'"torn,sha256=,\n', "no list"),
        (b"torch/__init__.py,sha256=AAAA,1\n", "twice"),
        (b"x,sha256=AAAA,1," + b"y" * 200_000 + b"\n", "no list"),
    ],
    ids=["no such member", "two fields", "not UTF-8", "open quote", "line twice", "endless field"],
)
def test_broken_record_ends_in_findings(
    make_wheel: Callable[..., Path],
    good_members: dict[str, bytes],
    expected: ExpectedWheel,
    line: bytes,
    word: str,
) -> None:
    """Whatever RECORD holds, the outcome is a finding that says what is wrong."""
    import zipfile

    wheel = make_wheel(good_members)
    with zipfile.ZipFile(wheel) as archive:
        record = archive.read("torch-2.6.0.dist-info/RECORD")
    wheel = make_wheel(good_members, replace={"@RECORD": record + line})

    assert word in " ".join(finding.what for finding in _failed(wheel, expected))


@pytest.mark.parametrize("digest", [b"md5=AAAA", b"sha256=", b"sha256=!!!", b""])
def test_weak_or_broken_digests_fail(
    make_wheel: Callable[..., Path], expected: ExpectedWheel, digest: bytes
) -> None:
    """A digest that proves nothing is as bad as none."""
    record = b"torch/x.py," + digest + b",1\n"
    wheel = make_wheel({"torch/x.py": b"x"}, replace={"@RECORD": record})

    assert any("torch/x.py" in finding.what for finding in _failed(wheel, expected))


def test_missing_record_fails(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """A wheel with two metadata directories has no RECORD to go by."""
    wheel = make_wheel(good_members, replace={"other-1.dist-info/METADATA": b""})

    assert [finding.what for finding in _failed(wheel, expected)] == ["RECORD cannot be read"]


def test_thousands_of_problems_stay_readable(
    make_wheel: Callable[..., Path], expected: ExpectedWheel
) -> None:
    """A long list of problems is counted, not printed whole."""
    members = {f"torch/{number}.py": b"x" for number in range(500)}
    wheel = make_wheel(members, replace={"@RECORD": b"torch-2.6.0.dist-info/RECORD,,\n"})

    found = _failed(wheel, expected)

    assert len(found) == 21
    assert found[-1].what == "and 482 more of this kind"
