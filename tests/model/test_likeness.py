"""What was read of an existing torch, as a value."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.model.likeness import LikeLibrary, Likeness, LikeSetting, Read


def test_nothing_read_is_nothing_said() -> None:
    """A likeness of which nothing was read has empty values, and no true ones."""
    found = Likeness(subject="x.whl")

    assert not found.version
    assert not found.is_cpu
    assert not found.settings_whole
    assert found.setting("USE_CUDA") is None
    assert found.library("nccl") is None


def test_settings_and_libraries_are_found_by_name() -> None:
    """An empty setting is one that is empty, and not one that is missing."""
    nccl = LikeLibrary(name="nccl", state="shared", version="2.21.5", where="METADATA")
    setting = LikeSetting(name="USE_NVTX", value="", where="libtorch_cpu.so")
    found = Likeness(subject="x.whl", settings=(setting,), libraries=(nccl,))

    assert found.setting("USE_NVTX") == ""
    assert found.library("nccl") == nccl


def test_it_cannot_be_changed() -> None:
    """Who reads it later reads what was read."""
    found = Likeness(subject="x.whl", version=Read(value="2.6.0", where="METADATA"))
    with pytest.raises(ValidationError):
        found.subject = "y.whl"  # type: ignore[misc]
