"""Whether the GPU code in a file is what a recipe asks for."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from torchbuild.inspection.gpu_code import CodeObject, GpuCode, GpuCodeError, gpu_code
from torchbuild.inspection.gpu_code_check import REFERENCES, agrees, compare, covers, unreadable
from torchbuild.knowledge.references import references
from torchbuild.shim.look_gpu_code import listed

DATA = Path(__file__).parents[1] / "data" / "gpu_code"
CUOBJDUMP = json.loads((DATA / "cuobjdump.json").read_text(encoding="utf-8"))
NCCL = ("sm_50", "sm_60", "sm_61", "sm_70", "sm_80", "sm_90")


def code(*objects: tuple[tuple[str, ...], tuple[str, ...]], is_linked: bool = False) -> GpuCode:
    """A library of objects with this machine code and this PTX."""
    items = [
        CodeObject(f"#{number}", "", sass, ptx, is_linked=is_linked)
        for number, (sass, ptx) in enumerate(objects, 1)
    ]
    return GpuCode("lib.so", tuple(items))


def outcomes(findings: object) -> dict[str, str]:
    """The worst word on each question."""
    order = ("passed", "not run", "warned", "failed")
    worst: dict[str, str] = {}
    for item in findings:  # type: ignore[attr-defined]
        worst[item.reference] = max(worst.get(item.reference, "passed"), item.outcome, key=order.index)
    return worst


def test_exactly_what_the_recipe_asks_for_passes() -> None:
    """Machine code and PTX, of one compiled file and of two."""
    for name in ("12.4-plain.o", "13.0-plain.o", "13.0-library.so", "12.4-to-link.a"):
        found = outcomes(compare(gpu_code(DATA / name), ("7.5", "9.0+PTX")))
        assert found == {"gpu-code-sass": "passed", "gpu-code-ptx": "passed"}, name


def test_a_missing_architecture_fails_with_the_object_that_lacks_it() -> None:
    """One object out of many is enough: its kernels would be the ones that do not start."""
    good, bad = (("sm_75", "sm_90"), ()), (("sm_90",), ())
    (failed, _) = compare(code(good, bad, good), ("7.5", "9.0"))

    assert failed.outcome == "failed"
    assert failed.what == "lib.so: 1 objects (#2) lack sm_75"
    assert (failed.seen, failed.wanted) == ("sm_90", "sm_75 sm_90")


def test_an_architecture_too_many_fails_unless_it_is_declared() -> None:
    """It makes the wheel larger and nobody asked for it; some files of torch are compiled for one more."""
    more = code((("sm_90",), ()), (("sm_90", "sm_90a"), ()))

    assert outcomes(compare(more, ("9.0",)))["gpu-code-sass"] == "failed"
    assert outcomes(compare(more, ("9.0",), also=("sm_90a",)))["gpu-code-sass"] == "passed"


@pytest.mark.parametrize(
    ("archs", "ptx", "outcome"),
    [
        (("9.0+PTX",), ("compute_90",), "passed"),
        (("9.0",), (), "passed"),
        (("9.0+PTX",), (), "failed"),
        (("9.0",), ("compute_90",), "failed"),
        (("9.0+PTX",), ("compute_90a",), "failed"),
    ],
)
def test_ptx_is_compared_as_exactly(archs: tuple[str, ...], ptx: tuple[str, ...], outcome: str) -> None:
    """PTX that nobody asked for is translated for a minute on a chip that nobody meant."""
    assert outcomes(compare(code((("sm_90",), ptx)), archs))["gpu-code-ptx"] == outcome


def test_code_for_one_chip_is_not_code_for_its_generation() -> None:
    """`sm_90a` is not `sm_90`, nor is `sm_120f` `sm_120`."""
    assert outcomes(compare(gpu_code(DATA / "12.4-own-chip.o"), ("9.0+PTX",)))["gpu-code-sass"] == "failed"
    assert outcomes(compare(gpu_code(DATA / "12.4-own-chip.o"), ("9.0a+PTX",)))["gpu-code-sass"] == "passed"
    assert outcomes(compare(gpu_code(DATA / "13.0-family.o"), ("10.0f", "12.0f+PTX"))) == {
        "gpu-code-sass": "passed",
        "gpu-code-ptx": "passed",
    }
    assert (
        outcomes(compare(gpu_code(DATA / "13.0-family.o"), ("10.0", "12.0+PTX")))["gpu-code-sass"] == "failed"
    )


def test_no_gpu_code_where_some_should_be_fails() -> None:
    """A build that quietly left CUDA out."""
    (finding,) = compare(code(), ("9.0+PTX",))

    assert (finding.reference, finding.outcome) == ("gpu-code-present", "failed")
    assert (finding.seen, finding.wanted) == ("none", "sm_90 compute_90")


def test_a_device_link_is_not_blamed_for_ptx_that_it_cannot_keep() -> None:
    """It is said, because newer chips cannot run that part."""
    found = compare(code((("sm_75", "sm_90"), ()), is_linked=True), ("7.5", "9.0+PTX"))

    assert outcomes(found) == {"gpu-code-sass": "passed", "gpu-code-ptx": "warned"}
    assert outcomes(compare(gpu_code(DATA / "12.4-linked.so"), ("7.5", "9.0")))["gpu-code-ptx"] == "passed"


def test_many_objects_that_differ_alike_are_one_finding() -> None:
    """Three hundred files without an architecture have one cause."""
    (finding,) = compare(code(*[(("sm_75",), ())] * 300), ("9.0",))[:1]

    assert finding.what == (
        "lib.so: 300 objects (#1, #2, #3, #4, #5 and 295 more) lack sm_90 and hold sm_75 besides"
    )


def test_code_of_another_kind_is_told() -> None:
    """It is neither wrong nor what runs."""
    assert outcomes(compare(gpu_code(DATA / "12.4-lto.o"), ("9.0",))) == {
        "gpu-code-sass": "passed",
        "gpu-code-ptx": "passed",
        "gpu-code-kinds": "warned",
    }


@pytest.mark.parametrize(
    ("sass", "ptx", "asked", "outcome"),
    [
        (NCCL, (), "9.0", "passed"),
        (NCCL, (), "8.6", "passed"),  # code of 8.0 runs there
        (NCCL, (), "7.5", "passed"),  # Turing shares the 7
        (
            NCCL,
            (),
            "9.0a",
            "passed",
        ),  # the recipe's own code is for that chip; a library's for the generation is too
        (NCCL, (), "10.0", "failed"),
        (NCCL, (), "3.7", "failed"),
        (("sm_86",), (), "8.0", "failed"),  # never downwards
        (("sm_90",), ("compute_90",), "10.0", "warned"),
        (("sm_90",), ("compute_90",), "8.0", "failed"),  # PTX does not go downwards either
        (("sm_90",), ("compute_90a",), "10.0", "failed"),
        (("sm_90a",), (), "9.0", "passed"),
        (("sm_100a",), (), "10.3", "failed"),  # for one chip
        (("sm_100f",), (), "10.3", "passed"),  # for its family
        (("sm_100f",), (), "12.0", "failed"),
        (("sm_100",), (), "10.3", "passed"),
        (("sm_120",), ("compute_100f",), "10.3", "warned"),
        ((), ("compute_50",), "9.0", "warned"),
    ],
)
def test_a_library_must_run_on_each_architecture(
    sass: tuple[str, ...], ptx: tuple[str, ...], asked: str, outcome: str
) -> None:
    """By machine code at once, by PTX after a wait, or not at all."""
    found = covers(code((sass, ptx)), (asked,))

    assert outcomes(found)["gpu-code-covers"] == outcome
    assert all(item.wanted == asked.replace(".", "").join(("sm_", "")) for item in found)


def test_each_architecture_that_is_not_covered_is_named() -> None:
    """The list of the recipe is not all or nothing."""
    found = covers(code((NCCL, ())), ("7.5", "10.0", "12.0"))

    assert [item.wanted for item in found] == ["sm_100", "sm_120"]
    assert all(item.seen == " ".join(NCCL) for item in found)


def test_a_library_without_ptx_does_not_follow_a_recipe_with_ptx() -> None:
    """Torch would start on the next generation, and its first collective would not."""
    (finding,) = covers(code((NCCL, ())), ("9.0+PTX",))

    assert finding.outcome == "warned"
    assert "newer chip" in finding.what


def test_a_library_without_gpu_code_covers_nothing() -> None:
    """A stub, or another library under the name."""
    assert outcomes(covers(code(), ("9.0",))) == {"gpu-code-present": "failed"}


@pytest.mark.parametrize("name", sorted(CUOBJDUMP))
def test_cuobjdump_of_each_release_lists_the_same(name: str) -> None:
    """What NVIDIA's own tool said of the same bytes."""
    told = {"members": listed(io.BytesIO(CUOBJDUMP[name].encode()), f"/{name}")}
    (finding,) = agrees(gpu_code(DATA / name), told)

    assert finding.outcome == "passed", finding


def test_what_cuobjdump_lists_otherwise_fails() -> None:
    """One of the two readers is wrong, and nobody may rely on either."""
    ours = gpu_code(DATA / "12.4-to-link.a")
    told = {"members": {"12.4-to-link-one.o": {"sm_75": 1, "sm_90": 1, "compute_90": 1}, "": {"sm_90": 2}}}

    assert [(item.outcome, item.seen) for item in agrees(ours, told)] == [
        ("failed", "sm_90 (2)"),
        ("failed", "nothing"),
    ]


def test_without_cuobjdump_the_comparison_is_not_run() -> None:
    """And says why."""
    (finding,) = agrees(code((("sm_90",), ())), {"not_run": "there is no cuobjdump"})

    assert finding.outcome == "not run"
    assert "there is no cuobjdump" in finding.what


def test_a_suffix_that_no_chip_has_is_cuobjdumps_alone() -> None:
    """It reads one into old machine code of cuBLAS, whose entries have none."""
    old = code((("sm_50",), ()), (("sm_90a",), ()))

    assert outcomes(agrees(old, {"members": {"": {"sm_50a": 1, "sm_90a": 1}}})) == {
        "gpu-code-cuobjdump": "passed"
    }
    assert outcomes(agrees(old, {"members": {"": {"sm_50": 1, "sm_90": 1}}})) == {
        "gpu-code-cuobjdump": "failed"
    }


def test_a_file_that_cannot_be_read_is_a_finding() -> None:
    """With the reason."""
    (finding,) = unreadable(GpuCodeError("lib.so: cut off"))

    assert (finding.reference, finding.outcome, finding.seen) == (
        "gpu-code-readable",
        "failed",
        "lib.so: cut off",
    )


def test_every_question_is_explained() -> None:
    """`torchbuild explain` knows them."""
    assert set(REFERENCES) <= set(references())
