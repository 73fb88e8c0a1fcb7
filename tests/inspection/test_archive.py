"""A wheel is opened once: members hashed, ELF files laid where they can be looked at, nothing left."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.errors import HostError
from torchbuild.inspection.archive import opened


def test_members_are_hashed_and_libraries_laid_down(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes]
) -> None:
    """Each member has the digest of its bytes; ELF files can be opened while the wheel is."""
    with opened(make_wheel(good_members)) as contents:
        digests = {member.name: member.sha256 for member in contents.members}
        laid = {name: path.read_bytes() for name, path in contents.files.items()}
        paths = list(contents.files.values())

    assert all(digests[name] == hashlib.sha256(content).hexdigest() for name, content in good_members.items())
    assert laid == {name: content for name, content in good_members.items() if name.endswith(".so")}
    assert set(contents.texts) == {"METADATA", "WHEEL", "RECORD"}
    assert not any(path.exists() for path in paths)


def test_no_member_name_becomes_a_path(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes]
) -> None:
    """Where an ELF file lies has nothing of its name in it."""
    with opened(make_wheel({"torch/a;rm -rf ~.so": make_elf()})) as contents:
        (path,) = contents.files.values()

        assert path.name == "0.elf"


def test_broken_library_does_not_hide_the_others(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes]
) -> None:
    """A library whose packed bytes are damaged is told of; the rest is looked at."""
    wheel = make_wheel(good_members)
    content = bytearray(wheel.read_bytes())
    start = content.index(b"torch/lib/libtorch.so")
    content[start + 200 : start + 260] = b"\xff" * 60
    wheel.write_bytes(content)

    with opened(wheel) as contents:
        whole = [elf.path for elf in contents.elf if not elf.problem]
        broken = [member.name for member in contents.members if member.problem]

    assert broken == ["torch/lib/libtorch.so"]
    assert whole == ["torch/_C.cpython-313-x86_64-linux-gnu.so", "torch/lib/libtorch_python.so"]


@pytest.mark.parametrize("place", ["gone", "file"])
def test_place_without_room_is_the_hosts_error(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], tmp_path: Path, place: str
) -> None:
    """A scratch directory that cannot be used is the machine's error, and says which."""
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(HostError) as caught,
        opened(make_wheel(good_members), tmp_path / place),
    ):
        pass

    assert caught.value.reference == "not-writable"
    assert place in caught.value.what
