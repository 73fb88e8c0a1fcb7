"""GPU architectures as a recipe writes them."""

from __future__ import annotations

import pytest

from torchbuild.model.gpu_arch import parse_arch, wanted_ptx, wanted_sass


@pytest.mark.parametrize(
    ("text", "real", "virtual", "item"),
    [
        ("7.5", "sm_75", "compute_75", "7.5"),
        ("9.0a", "sm_90a", "compute_90a", "9.0a"),
        ("12.0f", "sm_120f", "compute_120f", "12.0f"),
        ("8.6+PTX", "sm_86", "compute_86", "8.6+PTX"),
    ],
)
def test_an_architecture_has_the_names_of_its_tools(text: str, real: str, virtual: str, item: str) -> None:
    """What a person writes is what nvcc and torch are told."""
    arch = parse_arch(text)

    assert (arch.real, arch.virtual, arch.torch_item) == (real, virtual, item)


def test_a_list_asks_for_code_and_for_ptx() -> None:
    """Each item is machine code; PTX comes only where it is asked for; a chip named twice counts once."""
    archs = ("12.0+PTX", "7.5", "9.0a", "7.5")

    assert wanted_sass(archs) == ("sm_75", "sm_90a", "sm_120")
    assert wanted_ptx(archs) == ("compute_120",)


@pytest.mark.parametrize("text", ["90", "9", "9.0b", "sm_90", "9.0 +PTX", "", "0.0", "09.0", "120.0"])
def test_what_is_no_architecture_is_refused(text: str) -> None:
    """A misread list would build for other chips."""
    with pytest.raises(ValueError, match="no architecture"):
        parse_arch(text)
