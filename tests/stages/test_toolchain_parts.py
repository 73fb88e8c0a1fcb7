"""Toolkit and libraries in the toolchain stage: laid, made whole, looked at."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.stages.test_toolchain import LOOKED, installed, probed
from torchbuild import parts_made
from torchbuild.errors import StageError
from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.stages import toolchain

DATA = Path(__file__).parents[1] / "data" / "gpu_code"
CUDA = LockedPart(name="cuda", provider="apt", version="13.0", prefix="/usr")
PYTHON = (0, [json.dumps(LOOKED)])


COMPLETE = (0, [json.dumps({"errors": [], "links": ["lib/libnccl.so"], "programs": []})])
"""What is printed where a library was completed."""


def packed(**members: bytes) -> bytes:
    """A wheel; ``__`` in a name stands for ``/``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return buffer.getvalue()


def nccl(world: Any, *wheels: bytes, how: str = "unpack", only: str = "nvidia/nccl") -> LockedPart:
    """NCCL of these archives, which are in the store."""
    pieces = tuple(
        LockedPiece.model_validate(
            {"artifact": world.stored(f"https://example.org/{n}.whl", wheel), "how": how, "only": only}
        )
        for n, wheel in enumerate(wheels)
    )
    return LockedPart(
        name="nccl", provider="wheels", version="2.21.5", prefix=prefix_of("nccl"), pieces=pieces
    )


def run(world: Any, make_lock: Callable[..., Lock], part: LockedPart, *replies: Any) -> Any:
    """The stage with one part, and what its steps print after the environment is made."""
    lock = make_lock(compiler_c="gcc 14", parts=(part,), gpu_archs=("9.0",))
    world.executor.replies = [(0, []), installed, probed(), PYTHON, *replies]
    return toolchain.run(toolchain.plan(lock), world.context)


def test_archives_are_merged_into_one_place(world: Any, make_lock: Callable[..., Lock]) -> None:
    """Only the folder that is asked for, without what lay there before; then the scripts see it."""
    world.write(f"{prefix_of('nccl')}/lib/old.so", "of another release")
    one = packed(nvidia__nccl__include__nccl_h=b"#define", nvidia__other=b"not asked for")
    two = packed(nvidia__nccl__lib__libnccl_so_2=b"library")

    with pytest.raises(StageError):
        run(world, make_lock, nccl(world, one, two), COMPLETE, (0, [json.dumps({})]))

    top = world.inside(prefix_of("nccl"))
    assert sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()) == [
        "include/nccl_h",
        "lib/libnccl_so_2",
    ]
    request = json.loads(world.inside("{work}/parts/.requests/nccl-complete_library.json").read_text())
    assert request["prefix"] == prefix_of("nccl")


def test_what_is_not_as_locked_ends_the_stage(world: Any, make_lock: Callable[..., Lock]) -> None:
    """A library of which nothing can be seen is no library; the reasons stand in the error."""
    wheel = packed(nvidia__nccl__lib__libnccl_so_2=b"library")

    with pytest.raises(StageError) as caught:
        run(world, make_lock, nccl(world, wheel), COMPLETE, (0, [json.dumps({})]))

    assert caught.value.reference == "toolchain-not-as-locked"
    assert any("NCCL" in line or "nccl" in line for line in caught.value.why)


def test_two_archives_of_two_releases_are_refused(world: Any, make_lock: Callable[..., Lock]) -> None:
    """The second would win in silence."""
    one, two = (packed(nvidia__nccl__include__nccl_h=text) for text in (b"2.21", b"2.22"))

    with pytest.raises(StageError) as caught:
        run(world, make_lock, nccl(world, one, two))

    assert caught.value.reference == "parts-collide"


@pytest.mark.parametrize("said", [[], ["Traceback"], ["[]"]])
def test_a_look_that_shows_nothing_is_no_pass(
    world: Any, make_lock: Callable[..., Lock], said: list[str]
) -> None:
    """Silence of a script is an error with its last words."""
    wheel = packed(nvidia__nccl__lib__libnccl_so_2=b"library")

    with pytest.raises(StageError) as caught:
        run(world, make_lock, nccl(world, wheel), COMPLETE, (1, said))

    assert caught.value.reference in ("part-not-made", "part-not-seen")


def test_a_source_lies_beside_what_is_made_of_it(world: Any, make_lock: Callable[..., Lock]) -> None:
    """It is unpacked where its make builds; a make that fails is told with its lines."""
    archive = packed(nccl__src__device__generate_py=b"#!/bin/sh\n", nccl__makefiles__version_mk=b"")
    part = nccl(world, archive, how="source", only="").model_copy(update={"provider": "source"})
    fine = {
        "scripts": {"generate.py": True},
        "starts": {"/torchbuild/parts-build": True},
        "version": "2.21.5",
    }

    with pytest.raises(StageError) as caught:
        run(world, make_lock, part, (0, [json.dumps(fine)]), (2, ["make: *** no nvcc"]))

    assert caught.value.reference == "part-not-made"
    assert caught.value.evidence == ("make: *** no nvcc",)
    assert world.inside("{work}/parts-build/nccl/source").is_dir()
    assert "-j3" in world.executor.commands[-1].argv


def test_the_keys_of_a_build_without_parts_stay(make_lock: Callable[..., Lock]) -> None:
    """What a CPU build has done is not done again; a part, another digest or another chip is another key."""
    plain = toolchain.plan(make_lock()).key

    assert "parts" not in plain.parts
    one = toolchain.plan(make_lock(parts=(CUDA,), gpu_archs=("9.0",))).key
    other = toolchain.plan(make_lock(parts=(CUDA,), gpu_archs=("8.0",))).key
    assert len({plain.digest, one.digest, other.digest}) == 3


def test_the_code_of_a_library_must_run_on_the_recipes_chips(
    world: Any, make_lock: Callable[..., Lock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An NCCL without a chip's code would fail at the first collective, on the target."""
    lock = make_lock(compiler_c="gcc 14", parts=(nccl(world, packed(a=b"")),), gpu_archs=("5.0",))
    monkeypatch.setattr(parts_made, "steps_of", lambda _part: ())
    plan = toolchain.plan(lock)
    item = plan.parts[1].model_copy(update={"steps": ()})

    def lay(_item: Any, context: Any) -> None:
        folder = context.workspace.inside(prefix_of("nccl")) / "lib"
        folder.mkdir(parents=True)
        shutil.copy(DATA / "13.0-library.so", folder / "libnccl.so.2")

    monkeypatch.setattr(parts_made, "_lay", lay)

    with pytest.raises(StageError) as caught:
        parts_made.prove_part(item, plan.wanted, world.context)

    assert "gpu-code-covers" in caught.value.what


def test_a_library_that_could_not_be_completed_is_refused(world: Any, make_lock: Callable[..., Lock]) -> None:
    """A linker that does not find the name would take the system's."""
    wheel = packed(nvidia__nccl__lib__libnccl_so_2=b"library")
    wrong = (0, [json.dumps({"errors": ["lib: no space"], "links": [], "programs": []})])

    with pytest.raises(StageError) as caught:
        run(world, make_lock, nccl(world, wheel), wrong)

    assert "library-completed" in caught.value.what
