"""A wheel brings one OpenMP runtime at most."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.wheel import inspect_wheel
from torchbuild.model.finding import Finding


@pytest.fixture
def findings(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> Callable[..., list[Finding]]:
    """What is said of a wheel whose libraries need these, by their names."""

    def look(**needed: tuple[str, ...]) -> list[Finding]:
        members = {
            f"torch/lib/{name.replace('__', '-').replace('_so', '.so')}": make_elf(needed=names)
            for name, names in needed.items()
        }
        return [
            item for item in inspect_wheel(make_wheel(members), expected) if item.reference == "elf-openmp"
        ]

    return look


@pytest.mark.parametrize(
    ("needed", "seen"),
    [
        ({"libtorch_so": ()}, "none"),
        ({"libtorch_so": ("libgomp.so.1",), "libother_so": ("libgomp.so.1",)}, "libgomp.so.1"),
        ({"libtorch_so": ("libgomp.so.1", "libmkl_gnu_thread.so.3")}, "libgomp.so.1"),
        ({"libtorch_so": ("libgomp-a34b3233.so.1",), "libgomp__a34b3233_so.1": ()}, "libgomp-a34b3233.so.1"),
        ({"libtorch_so": ("libiomp5.so",), "libmkl_so": ("libmkl_intel_thread.so.2",)}, "libiomp5.so"),
        ({"libtorch_so": ("libompstub.so", "libgomp-plugin.so")}, "none"),
    ],
)
def test_one_runtime_passes(
    findings: Callable[..., list[Finding]], needed: dict[str, tuple[str, ...]], seen: str
) -> None:
    """However many files need it, bundled or not."""
    assert [(item.outcome, item.seen) for item in findings(**needed)] == [("passed", seen)]


@pytest.mark.parametrize(
    ("needed", "names"),
    [
        ({"libtorch_so": ("libgomp.so.1",), "libmkl_so": ("libiomp5.so",)}, ("libgomp.so.1", "libiomp5.so")),
        ({"libtorch_so": ("libgomp.so.1", "libomp.so.5")}, ("libgomp.so.1", "libomp.so.5")),
        (
            {"libtorch_so": ("libgomp.so.1",), "libgomp__a34b3233_so.1": ()},
            ("libgomp.so.1", "libgomp-a34b3233.so.1"),
        ),
        (
            {"libtorch_so": ("libgomp.so.1", "libmkl_intel_thread.so.2")},
            ("libgomp.so.1", "libmkl_intel_thread"),
        ),
        (
            {"libtorch_so": ("libmkl_gnu_thread.so.3",), "libx_so": ("libiomp5.so",)},
            ("libmkl_gnu_thread", "libiomp5"),
        ),
    ],
)
def test_two_runtimes_are_refused(
    findings: Callable[..., list[Finding]], needed: dict[str, tuple[str, ...]], names: tuple[str, str]
) -> None:
    """By two kinds, by a copy under a second name, or by a layer of MKL that calls the other one."""
    (finding,) = findings(**needed)

    assert finding.outcome == "failed"
    assert all(name in finding.seen for name in names)
    assert "libtorch.so" in finding.seen
