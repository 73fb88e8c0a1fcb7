"""File names of wheels, and where members lie once installed."""

from __future__ import annotations

import pytest

from torchbuild.inspection.names import WheelName, installed_path, parse_name


def test_compressed_tags_are_spelled_out() -> None:
    """A name that stands for several tags gives each."""
    name = parse_name("torch-2.6.0+cu118-1-cp313-cp313-manylinux_2_17_x86_64.manylinux2014_x86_64.whl")

    assert isinstance(name, WheelName)
    assert (name.distribution, name.version, len(name.tags)) == ("torch", "2.6.0+cu118", 2)
    assert (name.parts(0), name.parts(1)) == (("cp313",), ("cp313",))


@pytest.mark.parametrize("name", ["torch.whl", "torch-2.6.0.tar.gz", "a-b-c-d-e.whl", "-.whl", ""])
def test_other_names_say_why(name: str) -> None:
    """What is no wheel's name gives a reason, not an exception."""
    assert isinstance(parse_name(name), str)


@pytest.mark.parametrize(
    ("member", "place"),
    [
        ("torch/lib/a.so", "torch/lib/a.so"),
        ("torch-1.data/platlib/torch/a.so", "torch/a.so"),
        ("torch-1.data/purelib/x.py", "x.py"),
        ("torch-1.data/scripts/x", "torch-1.data/scripts/x"),
    ],
)
def test_installed_places(member: str, place: str) -> None:
    """The two library folders of .data lie in site-packages."""
    assert place == installed_path(member)
