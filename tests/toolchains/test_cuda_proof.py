"""The proof of a toolkit, on what real ones showed: 13.0 from wheels, the same with a newer nvvm, Debian's 12.4."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchbuild.model.finding import Finding, failures
from torchbuild.model.part import LockedPart
from torchbuild.toolchains import cuda_proof as proof
from torchbuild.toolchains.proof import Wanted, judge

RECORDED = Path(__file__).parents[1] / "data" / "toolkits"
PROGRAMS = ("cicc", "cudafe++", "fatbinary", "nvcc", "nvlink", "ptxas")
PART = LockedPart(
    name="cuda",
    provider="wheels",
    version="13.0.2",
    prefix="/torchbuild/parts/cuda",
    says=dict.fromkeys(PROGRAMS, "13.0.88"),
)
WANTED = Wanted(archs=("7.5", "9.0", "9.0a", "12.0+PTX"), cxx="/usr/bin/g++", torch="2.9.0", cuda="13.0")
DEBIAN = LockedPart(name="cuda", provider="apt", version="12.4", prefix="/usr", says={"nvcc": "12.4.131"})
OF_DEBIAN = Wanted(archs=("7.5", "9.0a", "9.0+PTX"), cxx="/usr/bin/g++-13", torch="2.6.0", cuda="12.4")


def recorded(name: str) -> dict[str, Any]:
    """What ``look_cuda.py`` printed of a real toolkit."""
    seen: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return seen


def judged(seen: dict[str, Any], part: LockedPart = PART, wanted: Wanted = WANTED) -> tuple[Finding, ...]:
    """All findings."""
    return judge(proof.CHECKS, part, wanted, seen)


def wrong(findings: tuple[Finding, ...]) -> set[str]:
    """References of what failed."""
    return {finding.reference for finding in failures(findings)}


def test_a_whole_toolkit_passes() -> None:
    """Of wheels, every part of one release. The version.json that we wrote ourselves proves nothing."""
    findings = judged(recorded("cuda-13.0-wheels"))

    assert wrong(findings) == set()
    assert [item.reference for item in findings if item.outcome == "not run"] == ["cuda-version-json"]
    assert len([item for item in findings if item.reference == "cuda-architecture"]) == 4


def test_the_distribution_s_toolkit_passes() -> None:
    """In Debian's layout; what people reported of 12.x and glibc 2.41 is shown with what the probe saw."""
    findings = judged(recorded("debian-12.4"), DEBIAN, OF_DEBIAN)
    (suspicion,) = (item for item in findings if item.reference == "cuda-suspicion")

    assert wrong(findings) == set()
    assert suspicion.outcome == "warned"
    assert suspicion.seen == "the probe compiles"
    assert "noexcept" in suspicion.what


def test_a_mixed_toolkit_is_refused_with_its_cause() -> None:
    """An unpinned nvvm: which program says what, and the compiler's words."""
    findings = judged(recorded("cuda-13.0-mixed"))
    (finding,) = (item for item in findings if item.reference == "cuda-one-release")

    assert finding.outcome == "failed"
    assert "cicc 13.5.37" in finding.seen
    assert "ptxas 13.0.88" in finding.seen
    assert "Unsupported .version 9.5; current version is '9.0'" in finding.what
    assert wrong(findings) >= {"cuda-one-release", "cuda-as-locked", "cuda-probe", "cuda-architecture"}


def _set(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(seen: dict[str, Any]) -> None:
        place = seen
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


HEADER = "/torchbuild/parts/cuda/include/cuda.h"


@pytest.mark.parametrize(
    ("change", "reference", "shown"),
    [
        (_set("programs", "nvlink", "starts", value=False), "cuda-programs-start", "nvlink"),
        (_set("programs", "nvcc", "release", value="12.9"), "cuda-release", "12.9"),
        (_set("programs", "ptxas", "build", value="13.0.48"), "cuda-one-release", "ptxas 13.0.48"),
        (_set("programs", "cicc", "build", value=""), "cuda-one-release", "cicc does not say"),
        (_set("programs", value={}), "cuda-one-release", "nothing"),
        (_set("programs", "fatbinary", "build", value="13.0.48"), "cuda-as-locked", "13.0.48"),
        (_set("headers", HEADER, value="12.4"), "cuda-headers", "12.4"),
        (_set("headers", HEADER, value=""), "cuda-headers", "does not say"),
        (_set("headers", value={}), "cuda-headers", "nothing"),
        (_set("version_json", value={"release": "13.1.0", "ours": False}), "cuda-version-json", "13.1.0"),
        (_set("version_json", value={"release": "", "ours": False}), "cuda-version-json", "does not say"),
        (_set("archs", "9.0a", "code", value=1), "cuda-architecture", "no kernel compiles"),
        (_set("archs", value={}), "cuda-architecture", "it was not tried"),
        (
            _set("probe", "compiled", value={"code": 2, "said": "thrust/sort.h: No such"}),
            "cuda-probe",
            "thrust/sort.h",
        ),
        (_set("probe", value={}), "cuda-probe", "it was not tried"),
        (
            _set(
                "probe",
                "started",
                value={"code": 127, "starts": False, "said": "libcudart.so.13: cannot open"},
            ),
            "cuda-probe-starts",
            "libcudart.so.13",
        ),
        (
            _set("probe", "started", value={"code": 0, "starts": True, "said": ""}),
            "cuda-probe-starts",
            "exit code 0",
        ),
        (
            _set("driver", "linked", value={"code": 1, "said": "cannot find -lcuda"}),
            "cuda-driver-stub",
            "cannot find -lcuda",
        ),
        (_set("driver", value={}), "cuda-driver-stub", "no stubs/libcuda.so"),
        (_set("driver", "dynamic", "run_paths", value=["/x/stubs"]), "cuda-driver-stub", "/x/stubs"),
        (_set("driver", "dynamic", "needed", value=["libc.so.6"]), "cuda-driver-stub", "libc.so.6"),
        (_set("real", value="/usr/local/cuda-13.0"), "cuda-one-path", "/usr/local/cuda-13.0"),
        (_set("names", "CUDA_PATH", "given", value="/usr/local/cuda"), "cuda-one-path", "/usr/local/cuda"),
        (_set("names", value={}), "cuda-one-path", "nothing"),
        (_set("before", value=["/usr/bin/nvcc"]), "cuda-first-nvcc", "/usr/bin/nvcc"),
    ],
)
def test_each_thing_that_is_wrong_is_named(
    change: Callable[[dict[str, Any]], None], reference: str, shown: str
) -> None:
    """The finding says what was seen, and something was wanted."""
    seen = copy.deepcopy(recorded("cuda-13.0-wheels"))
    change(seen)

    found = [item for item in failures(judged(seen)) if item.reference == reference]

    assert any(shown in item.seen for item in found), found
    assert all(item.wanted for item in found)


def test_nothing_seen_is_nothing_passed_by() -> None:
    """A guest that printed an empty object proves nothing: each check fails or says that it did not run."""
    findings = judged({})

    assert [item for item in findings if item.outcome == "passed"] == []
    assert {item.reference for item in findings if item.outcome == "not run"} == {
        "cuda-as-locked",
        "cuda-version-json",
        "cuda-probe-starts",
    }


def test_a_list_that_differs_from_the_compiler_is_shown() -> None:
    """A kernel compiles that nvcc does not list: both words are told, and the compiler's decides."""
    seen = copy.deepcopy(recorded("cuda-13.0-wheels"))
    seen["lists"] = {"archs": ["compute_75"], "codes": ["sm_75"], "accepted": []}

    found = {item.what: item for item in judged(seen) if item.reference == "cuda-architecture"}

    assert found["architecture 7.5"].outcome == "passed"
    assert found["architecture 12.0+PTX"].outcome == "warned"
    assert "nvcc lists no compute_120 and no sm_120" in found["architecture 12.0+PTX"].seen


def test_without_readelf_the_stub_is_not_called_good() -> None:
    """Not run, with the reason."""
    seen = recorded("cuda-13.0-wheels")
    seen["driver"]["dynamic"] = {}

    (finding,) = (item for item in judged(seen) if item.reference == "cuda-driver-stub")

    assert finding.outcome == "not run"
    assert "readelf" in finding.what


def test_a_clash_of_headers_is_told_by_the_compiler() -> None:
    """Debian's 12.4 is patched; another one says what the report says, and then the suspicion is the cause."""
    seen = recorded("debian-12.4")
    said = 'mathcalls.h(79): error: exception specification is incompatible with that of previous function "cospi"'
    seen["probe"] = {"compiled": {"code": 2, "said": said}, "started": {}}

    findings = judged(seen, DEBIAN, OF_DEBIAN)
    (cause,) = (item for item in findings if item.reference == "cuda-suspicion")

    assert cause.outcome == "failed"
    assert "glibc 2.40" in cause.wanted


def test_pairs_that_people_reported_are_looked_at() -> None:
    """An old tree with a new toolkit: no tools extension, thrust elsewhere. Only a suspicion."""
    old = WANTED.model_copy(update={"torch": "2.6.0"})

    found = [
        item
        for item in judged(recorded("cuda-13.0-wheels"), wanted=old)
        if item.reference == "cuda-suspicion"
    ]

    assert [item.outcome for item in found] == ["warned", "warned"]
    assert found[0].seen == "no libnvToolsExt.so"
    assert "include/cccl" in found[1].seen


def test_the_requests_carry_what_the_guests_read() -> None:
    """The keys are those that each guest names in its first lines."""
    shim = Path(proof.__file__).parents[1] / "shim"
    asked = proof.look_request(PART, WANTED, {"PATH": "/usr/bin"}, "/s")
    completing = proof.complete_request(PART, "/usr/bin/gcc", "/s")

    for name, request in (("look_cuda.py", asked), ("complete_cuda.py", completing)):
        text = (shim / name).read_text(encoding="utf-8").split('"""')[1]
        assert all(f"\n    {key} " in text for key in request), name


def test_a_completion_is_a_finding() -> None:
    """What could not be made is told; nothing printed is not nothing wrong."""
    assert proof.completed({"made": ["lib64"], "problems": []}).outcome == "passed"
    assert proof.completed({"made": [], "problems": ["no cc"]}).seen == "no cc"
    assert proof.completed({}).outcome == "failed"


@pytest.mark.parametrize(
    ("says", "outcomes"),
    [
        ({}, []),
        ({"tree-links-tools-ext": "yes", "tree-knows-cccl": "no"}, ["failed", "warned"]),
        ({"tree-links-tools-ext": "no", "tree-knows-cccl": "yes"}, ["passed"]),
    ],
    ids=["an older lock", "an older tree", "a newer tree"],
)
def test_what_the_tree_asks_is_looked_for(says: dict[str, str], outcomes: list[str]) -> None:
    """By the lock's own words of the tree, which are none of programs; where it says nothing, nothing is told."""
    part = PART.model_copy(update={"says": PART.says | says})
    found = judged(recorded("cuda-13.0-wheels"), part)

    assert [item.outcome for item in found if item.reference.startswith("torch-")] == outcomes
    assert {item.outcome for item in found if item.reference == "cuda-as-locked"} == {"passed"}
    assert proof.complete_request(part, "/usr/bin/gcc", "/s")["versions"] == PART.says


def test_a_program_that_nobody_looked_at_is_not_run() -> None:
    """The lock names it, and the report does not."""
    seen = recorded("cuda-13.0-wheels")
    del seen["programs"]["ptxas"]

    (finding,) = (item for item in judged(seen) if item.outcome == "not run" and "ptxas" in item.what)

    assert (finding.reference, finding.wanted) == ("cuda-as-locked", "13.0.88")
