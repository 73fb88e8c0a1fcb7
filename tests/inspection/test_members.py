"""Archives that must not be unpacked."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.members import hostile
from torchbuild.inspection.wheel import inspect_wheel
from torchbuild.model.finding import failures


def _info(name: str, size: int = 1, **fields: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    info.file_size = size
    for field, value in fields.items():
        setattr(info, field, value)
    return info


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a//b",
        "./x",
        "C:/x",
        "a\\b",
        "a\nb",
        "a\0b",
        "a/\u202eb",
        "",
        "..",
    ],
)
def test_bad_names_are_refused(name: str) -> None:
    """A name that could leave the wheel, or lie about itself, is never unpacked."""
    assert [finding.outcome for finding in hostile([_info(name)], 1000)] == ["failed"]


@pytest.mark.parametrize("name", ["torch/__init__.py", "a b", "é/ü.txt", "torch-2.6.0.dist-info/", "..a/b.."])
def test_ordinary_names_are_fine(name: str) -> None:
    """Names that only look unusual are unpacked."""
    assert list(hostile([_info(name)], 1000)) == []


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"flag_bits": 0x1}, "encrypted"),
        ({"compress_type": zipfile.ZIP_LZMA}, "installers"),
        ({"compress_type": 99}, "installers"),
        ({"external_attr": 0o120777 << 16}, "neither"),
        ({"external_attr": 0o020666 << 16}, "neither"),
    ],
    ids=["encrypted", "lzma", "unknown method", "symbolic link", "device"],
)
def test_odd_members_are_refused(fields: dict[str, int], word: str) -> None:
    """Encryption, rare compression, links and devices do not belong in a wheel."""
    (finding,) = hostile([_info("x", **fields)], 1000)

    assert word in finding.what


def test_bomb_is_seen_before_it_goes_off() -> None:
    """What would unpack to far more than the file's size is refused from the directory alone."""
    bomb = [_info(f"{number}", size=2**32) for number in range(16)]

    assert [finding.outcome for finding in hostile(bomb, 10 * 2**20)] == ["failed"]


def test_large_real_wheel_is_no_bomb() -> None:
    """Five gigabytes out of one, as CUDA wheels have, is ordinary."""
    assert list(hostile([_info("torch/lib/a.so", size=5 * 2**30)], 2**30)) == []


def test_member_count_has_a_limit() -> None:
    """Millions of names end in one finding, not in as many."""
    assert len(list(hostile([_info("x")] * 250_001, 10**9))) == 1


def test_same_name_twice_is_refused(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """Two members of one name: installers would not agree on which counts."""
    wheel = make_wheel(good_members)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("torch/__init__.py", b"evil")

    (finding,) = failures(inspect_wheel(wheel, expected))

    assert (finding.reference, "torch/__init__.py" in finding.what) == ("wheel-members", True)


def test_file_that_is_also_a_directory_is_refused(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """`a` and `a/b/c` cannot both be laid down."""
    wheel = make_wheel({**good_members, "a": b"file", "a/b/c": b"file"})

    assert [f.reference for f in failures(inspect_wheel(wheel, expected))] == ["wheel-members"]


def test_directory_entries_are_no_members(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """Some builders write entries for directories; RECORD does not name them."""
    wheel = make_wheel(good_members)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.mkdir("torch/empty")

    assert failures(inspect_wheel(wheel, expected)) == ()


def test_lying_size_ends_in_a_finding(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """A member whose directory entry names a wrong size or digest is unreadable, not a crash."""
    wheel = make_wheel(good_members)
    content = bytearray(wheel.read_bytes())
    entry = content.rindex(b"torch/__init__.py") - 46
    content[entry + 16 : entry + 20] = struct.pack("<I", 12345)  # its CRC
    wheel.write_bytes(content)

    found = failures(inspect_wheel(wheel, expected))

    assert [finding.reference for finding in found] == ["wheel-record"]
    assert "CRC" in found[0].seen


@pytest.mark.parametrize("seed", range(40))
def test_torn_archives_never_crash(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel, seed: int
) -> None:
    """Whatever byte of an archive is wrong, the outcome is a finding or the one error."""
    from random import Random

    from torchbuild.errors import VerifyError

    random = Random(seed)  # noqa: S311  a seed, so that a failure comes back
    wheel = make_wheel(good_members)
    content = bytearray(wheel.read_bytes())
    middle = content.index(b"PK\x01\x02")
    for _ in range(random.randint(1, 12)):
        content[random.randrange(middle if seed % 2 else 0, len(content))] = random.randrange(256)
    wheel.write_bytes(
        content[: random.randint(len(content) // 2, len(content))] if seed % 5 == 0 else content
    )

    try:
        findings = inspect_wheel(wheel, expected)
    except VerifyError as error:
        assert error.reference == "wheel-unreadable"  # noqa: PT017  either outcome is right
    else:
        assert findings
