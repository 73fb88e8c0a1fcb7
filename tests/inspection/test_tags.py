"""Tags: file name, WHEEL, extension modules and target agree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.wheel import inspect_wheel
from torchbuild.model.finding import Finding, failures


def _failed(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.reference, finding.seen) for finding in failures(findings)]


@pytest.mark.parametrize(
    ("tag", "seen"),
    [
        ("cp312-cp312-linux_x86_64", "cp312"),
        ("cp313-cp313-linux_aarch64", "linux_aarch64"),
        ("cp313-cp313-musllinux_1_2_x86_64", "musllinux_1_2_x86_64"),
        ("cp313-cp313-manylinux_2_99_x86_64", "manylinux_2_99_x86_64"),
        ("cp313-cp313-win_amd64", "win_amd64"),
    ],
)
def test_other_targets_are_refused(
    make_wheel: Callable[..., Path], expected: ExpectedWheel, tag: str, seen: str
) -> None:
    """A wheel for another interpreter, machine or C library is not the one asked for."""
    assert [("wheel-tags", seen)] == _failed(
        inspect_wheel(make_wheel({"torch/x.py": b""}, tag=tag), expected)
    )


@pytest.mark.parametrize(
    "tag", ["cp313-cp313-manylinux_2_28_x86_64", "cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64"]
)
def test_promises_that_the_target_keeps_are_fine(
    make_wheel: Callable[..., Path], expected: ExpectedWheel, tag: str
) -> None:
    """A tag that asks for less than the target has is right; compressed tags are spelled out in WHEEL."""
    platforms = tag.split("-")[2].split(".")
    lines = "".join(f"Tag: cp313-cp313-{platform}\n" for platform in platforms)
    head = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\n"
    wheel = make_wheel({"torch/x.py": b""}, tag=tag, replace={"@WHEEL": head + lines.encode()})

    assert [found for found in _failed(inspect_wheel(wheel, expected)) if found[0] == "wheel-tags"] == []


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (
            b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp313-cp313-linux_aarch64\n",
            "cp313-cp313-linux_aarch64",
        ),
        (
            b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: cp313-cp313-linux_x86_64\n",
            "Root-Is-Purelib: true",
        ),
        (b"Wheel-Version: 2.0\nRoot-Is-Purelib: false\nTag: cp313-cp313-linux_x86_64\n", "2.0"),
        (b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\n", "nothing"),
    ],
    ids=["other tag", "pure", "other format", "no tag"],
)
def test_wheel_file_must_agree(
    make_wheel: Callable[..., Path],
    good_members: dict[str, bytes],
    expected: ExpectedWheel,
    content: bytes,
    seen: str,
) -> None:
    """WHEEL says the same as the file's name, and tells of compiled code."""
    found = _failed(inspect_wheel(make_wheel(good_members, replace={"@WHEEL": content}), expected))

    assert ("wheel-tags", seen) in found


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("_C.cpython-312-x86_64-linux-gnu.so", ["cp312"]),
        ("_C.cpython-313t-x86_64-linux-gnu.so", ["cp313t"]),
        ("_C.cpython-313-aarch64-linux-gnu.so", ["aarch64-linux-gnu"]),
        ("_C.pypy310-pp73-x86_64-linux-gnu.so", ["pypy310-pp73-x86_64-linux-gnu"]),
        ("_C.cpython-313-x86_64-linux-gnu.so", []),
        ("_C.abi3.so", []),
        ("_C.so", []),
        ("libc10.so", []),
    ],
)
def test_extension_modules_must_fit_the_abi(
    make_wheel: Callable[..., Path],
    make_elf: Callable[..., bytes],
    expected: ExpectedWheel,
    name: str,
    seen: list[str],
) -> None:
    """An extension module named for another interpreter would never be imported."""
    found = _failed(inspect_wheel(make_wheel({f"torch/{name}": make_elf()}), expected))

    assert seen == [value for reference, value in found if reference == "wheel-tags"]


def test_wrong_file_name_is_refused(
    make_wheel: Callable[..., Path], good_members: dict[str, bytes], expected: ExpectedWheel
) -> None:
    """A file that is not named like a wheel installs nowhere."""
    wheel = make_wheel(good_members)

    found = _failed(inspect_wheel(wheel.rename(wheel.with_name("torch.whl")), expected))

    assert [reference for reference, _ in found] == ["wheel-tags"]
