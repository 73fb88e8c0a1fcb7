"""What the guest scripts of the libraries are asked."""

from __future__ import annotations

import json

import pytest

from tests.toolchains.library_samples import ours
from torchbuild.knowledge.libraries import library_names
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.library_look import (
    completion_request,
    include_of,
    library_path_of,
    look_request,
)

SYSTEM = LockedPart(name="nccl", provider="system", version="", prefix="/usr")


@pytest.mark.parametrize("name", library_names())
def test_each_library_can_be_asked(name: str) -> None:
    """A request is JSON, names absolute places only, and its program is C++ or nothing."""
    part = LockedPart.model_validate({**SYSTEM.model_dump(), "name": name})

    request = look_request(part, cuda_home="/usr/local/cuda", cxx="/usr/bin/g++", scratch="/tmp/x")

    json.dumps(request)
    assert all(path.startswith("/usr/") for path in request["headers"] + request["libraries"])
    assert "main()" in request["program"] or not request["program"]


def test_places_where_a_tree_could_come_by_another_copy() -> None:
    """In the order of CMake's search: its prefix path, the Python environment, the toolkit, the system."""
    request = look_request(
        ours("cudnn", "9.1.0.70"),
        cuda_home="/torchbuild/parts/cuda",
        cxx="/usr/bin/g++",
        scratch="/tmp/x",
        machine="aarch64",
        sites=["/torchbuild/venv/site-packages"],
        searched=["/opt/mine"],
    )

    assert [root["path"] for root in request["roots"]] == [
        "/opt/mine",
        "/torchbuild/venv/site-packages/nvidia/cudnn",
        "/torchbuild/parts/cuda",
        "/usr",
        "/usr/local",
    ]
    assert "targets/sbsa-linux/lib" in request["library_folders"]


def test_where_a_part_is() -> None:
    """Known for parts of ours; for the builder's, as somebody found it, or not at all."""
    part = ours("nccl", "2.21.5")
    found = SYSTEM.model_copy(
        update={"says": {"include": "/usr/include", "library": "/usr/lib/x86_64-linux-gnu/libnccl.so"}}
    )

    assert (include_of(part), library_path_of(part)) == (
        "/torchbuild/parts/nccl/include",
        "/torchbuild/parts/nccl/lib/libnccl.so",
    )
    assert (include_of(SYSTEM), library_path_of(SYSTEM)) == ("/usr/include", "")
    assert library_path_of(found) == "/usr/lib/x86_64-linux-gnu/libnccl.so"
    assert completion_request(part)["prefix"] == "/torchbuild/parts/nccl"
