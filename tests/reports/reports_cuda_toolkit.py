"""Reports of a toolkit that is not found, half found, or two of them: each trap is set up, and must be caught."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.reports.shape import Entry
from tests.toolchains.stand_in_toolkit import GCC, GXX, Toolkit, laid
from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.shim import complete_cuda, look_cuda
from torchbuild.toolchains import cuda_builder, cuda_proof, torch_tree
from torchbuild.toolchains.cuda_environment import cuda_environment, cuda_path
from torchbuild.toolchains.proof import Wanted, judge
from torchbuild.toolchains.provider import Answers

__all__ = ["ENTRIES", "LATER", "PREVENTIONS"]

WANTED = Wanted(cxx=GXX, torch="2.13.0", cuda="13.0")
OLD_TREE = {
    "cmake/public/cuda.cmake": "set_property(TARGET torch::nvtoolsext PROPERTY INTERFACE_LINK_LIBRARIES CUDA::nvToolsExt)\n"
}
"""What trees up to 2.6 ask for."""


def _part(prefix: Path, version: str = "13.0.2") -> LockedPart:
    return LockedPart(name="cuda", provider="wheels", version=version, prefix=str(prefix))


def _look(part: LockedPart, wanted: Wanted = WANTED, **names: str) -> dict[str, Any]:
    """The guest's own word, in the environment that a build gets; `names` are put over it."""
    environment = cuda_environment(part, wanted.cxx) | {"PATH": cuda_path(part, "/usr/bin:/bin")} | names
    scratch = Path(part.prefix).parent / "look"
    return look_cuda.look(cuda_proof.look_request(part, wanted, environment, str(scratch)))


def _found(
    part: LockedPart, seen: Mapping[str, Any], reference: str, wanted: Wanted = WANTED
) -> list[Finding]:
    return [item for item in judge(cuda_proof.CHECKS, part, wanted, seen) if item.reference == reference]


def two_names_of_one_toolkit(tmp_path: Path) -> None:
    """C3: the toolkit through a link beside it, which finders compare as text."""
    real = laid(tmp_path / "cuda-12.1", Toolkit())
    (tmp_path / "cuda").symlink_to(real)
    recipe = Recipe.model_validate(
        {
            "schema": 1,
            "name": "x",
            "source": {"git": "https://example.org/x.git", "ref": "v1"},
            "wheel": {"version": "1.0"},
            "cuda": {"version": "13.0", "from": "system", "path": str(tmp_path / "cuda")},
        }
    )
    survey = look_cuda.look(cuda_builder.survey_request(recipe, str(tmp_path / "survey")))
    part = cuda_builder.part(recipe, Answers(builder=cuda_builder.surveyed(survey)))
    assert part.prefix == str(real)

    good = _found(part, _look(part), "cuda-one-path")
    trap = _found(part, _look(part, CUDA_PATH=str(tmp_path / "cuda")), "cuda-one-path")

    assert good
    assert {item.outcome for item in good} == {"passed"}
    assert [item.what for item in trap if item.outcome == "failed"] == ["CUDA_PATH of the build"]


def headers_of_another_toolkit(tmp_path: Path) -> None:
    """C5: nvcc of one, headers of another."""
    part = _part(laid(tmp_path / "cuda", Toolkit(cuda_h=12040)))

    failed = [item for item in _found(part, _look(part), "cuda-headers") if item.outcome == "failed"]

    assert [(item.seen, item.wanted) for item in failed] == [("12.4", "13.0")]


def no_driver_to_link_with(tmp_path: Path) -> None:
    """C6: ``cannot find -lcuda`` without a driver; and a stub whose path stays in programs is no cure."""
    part = _part(laid(tmp_path / "cuda", Toolkit(is_complete=False)))
    answer = complete_cuda.complete(cuda_proof.complete_request(part, GCC, str(tmp_path / "made")))
    assert answer["problems"] == []
    seen = _look(part)
    assert seen["driver"]["stub"].startswith(part.prefix)
    assert [item.outcome for item in _found(part, seen, "cuda-driver-stub")] == ["passed"]

    leaking = _part(tmp_path / "leaking")
    stubs = f"-Wl,-rpath,{leaking.prefix}/lib64/stubs"
    laid(Path(leaking.prefix), replace(Toolkit(), links=(stubs,)))
    assert [item.outcome for item in _found(leaking, _look(leaking), "cuda-driver-stub")] == ["failed"]


def _of_old_tree(tmp_path: Path, word: str) -> tuple[dict[str, str], list[str]]:
    """A tree of 2.6 and a toolkit without what it takes: outcomes by check, and those of suspicions with a word."""
    part, old = _part(laid(tmp_path / "cuda")), WANTED.model_copy(update={"torch": "2.6.0"})
    seen = _look(part, old)
    told = torch_tree.toolkit_has(torch_tree.read_tree(OLD_TREE), seen)
    suspicions = [item for item in _found(part, seen, "cuda-suspicion", old) if word in item.what]
    return {item.reference: item.outcome for item in told}, [item.outcome for item in suspicions]


def tools_extension_that_is_gone(tmp_path: Path) -> None:
    """C7: the tree links libnvToolsExt, the toolkit has none any more."""
    outcomes, suspicions = _of_old_tree(tmp_path, "libnvToolsExt")

    assert outcomes.get("torch-tools-extension") == "failed"
    assert suspicions == ["warned"]


def thrust_that_moved(tmp_path: Path) -> None:
    """C8: ``thrust/sort.h`` lies where only nvcc looks by itself."""
    outcomes, suspicions = _of_old_tree(tmp_path, "thrust")

    assert outcomes.get("torch-thrust") == "warned"
    assert suspicions == ["warned"]


def mathematics_that_clash(tmp_path: Path) -> None:
    """B4: glibc 2.41 with headers of 12.x. The probe decides, and the cause is named; where it compiles, both are."""
    said = 'mathcalls.h(79): error: exception specification is incompatible with that of previous function "cospi"'
    builds = dict.fromkeys(Toolkit().builds, "12.9.86")
    toolkit = Toolkit(builds=builds, cuda_h=12090, runtime_h=12090, refuses=said)
    part = _part(laid(tmp_path / "cuda", toolkit), "12.9.1")
    seen = _look(part) | {"glibc": "2.41"}

    assert [(item.outcome, "cospi" in item.seen) for item in _found(part, seen, "cuda-probe")] == [
        ("failed", True)
    ]
    assert [item.outcome for item in _found(part, seen, "cuda-suspicion")] == ["failed"]

    patched = _part(laid(tmp_path / "patched", replace(toolkit, refuses="")), "12.9.1")
    (both,) = _found(patched, _look(patched) | {"glibc": "2.41"}, "cuda-suspicion")
    assert (both.outcome, both.seen) == ("warned", "the probe compiles")


ENTRIES: dict[str, Entry] = {
    "B4-probe": Entry(
        run=mathematics_that_clash,
        prevented_by=("cuda-probe", "cuda-pairs"),
        promise="headers that clash with the C library are told in seconds, with the cause",
    ),
    "C3": Entry(
        run=two_names_of_one_toolkit,
        prevented_by=("cuda-one-path",),
        promise="a toolkit has one path under all its names",
    ),
    "C5": Entry(
        run=headers_of_another_toolkit,
        prevented_by=("cuda-headers",),
        promise="headers and compiler are of one release",
    ),
    "C6": Entry(
        run=no_driver_to_link_with,
        prevented_by=("cuda-driver-stub", "cuda-driver-stub-made"),
        promise="what calls the driver links without one, and keeps no path to the stub",
    ),
    "C7": Entry(
        run=tools_extension_that_is_gone,
        prevented_by=("torch-tree-asks", "cuda-pairs"),
        promise="a tree that links what the toolkit no longer brings is refused",
    ),
    "C8": Entry(
        run=thrust_that_moved,
        prevented_by=("torch-tree-asks", "cuda-pairs"),
        promise="headers that moved are told before a build looks for them",
    ),
}

LATER: dict[str, str] = {
    "C9": "companions: they are built against the wheel itself, without isolation",
}
"""Entries that are caught elsewhere."""


def _without(check: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.delitem(cuda_proof.CHECKS, check)


PREVENTIONS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "cuda-driver-stub": _without("stub"),
    "cuda-driver-stub-made": lambda patch: patch.setattr(complete_cuda, "_make_stub", lambda *_: []),
    "cuda-headers": _without("headers"),
    "cuda-one-path": _without("one-path"),
    "cuda-pairs": _without("pairs"),
    "cuda-probe": _without("probe"),
    "torch-tree-asks": lambda patch: patch.setattr(torch_tree, "toolkit_has", lambda *_: iter(())),
}
