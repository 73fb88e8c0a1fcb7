"""What proves that a BLAS is the one that was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.model.artifact import Artifact
from torchbuild.model.part import LockedPart, LockedPiece
from torchbuild.toolchains.blas_proof import CHECKS
from torchbuild.toolchains.proof import Wanted, judge

OURS = "/torchbuild/parts/blas/lib/"
SAYS = {"blas": "mkl", "libraries": "mkl_intel_lp64 mkl_gnu_thread mkl_core", "linkage": "shared"}
PIECE = LockedPiece(artifact=Artifact(locator="pypi:mkl/mkl-2026.2.0-py3-none-any.whl", sha256="ab" * 32))
MKL = LockedPart(
    name="blas",
    provider="wheels",
    version="2026.2.0",
    prefix="/torchbuild/parts/blas",
    pieces=(PIECE,),
    says=SAYS,
)
SYSTEM = LockedPart(
    name="blas",
    provider="system",
    version="",
    prefix="/usr",
    says={"blas": "openblas", "libraries": "openblas", "linkage": "shared"},
)
DEBIAN = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.29.so"
GOMP = "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"


def _program(**values: str) -> dict[str, Any]:
    said = {
        "dgemm_wrong": "0",
        "dgemm_from": OURS + "libmkl_intel_lp64.so.3",
        "dgesdd_info": "0",
        "dgesdd_worst": "4.2e-15",
        "dgesdd_from": OURS + "libmkl_intel_lp64.so.3",
        "version": "Intel(R) oneAPI Math Kernel Library Version 2026.2-Product Build 20260915 for Intel(R) 64",
    }
    maps = [OURS + "libmkl_gnu_thread.so.3", OURS + "libmkl_core.so.3", GOMP]
    return {"error": "", "values": said | values, "maps": maps}


def _openblas(**values: str) -> dict[str, Any]:
    said = {
        "dgemm_from": DEBIAN,
        "dgesdd_from": DEBIAN,
        "version": "OpenBLAS 0.3.29 DYNAMIC_ARCH MAX_THREADS=64",
    }
    return _program(**said | values) | {"maps": [DEBIAN]}


def _outcomes(part: LockedPart, program: object, completed: object = None) -> dict[str, str]:
    seen = {"blas": program, "completed": completed or {"missing": []}}
    found: dict[str, str] = {}
    for item in judge(CHECKS, part, Wanted(), seen):
        found[item.reference] = item.outcome if found.get(item.reference) != "failed" else "failed"
    return found


def test_a_blas_that_is_as_asked_passes() -> None:
    """It computes, by our file, with the layer that was meant, and says its version."""
    assert set(_outcomes(MKL, _program()).values()) == {"passed"}


def test_a_blas_of_the_builder_passes_by_its_real_file() -> None:
    """A distribution's alternatives lead to a file whose name tells what it is."""
    found = _outcomes(SYSTEM, _openblas())

    assert found.pop("blas-version") == "not run"
    assert set(found.values()) == {"passed"}


@pytest.mark.parametrize(
    ("values", "reference"),
    [
        ({"dgemm_wrong": "36864"}, "blas-result"),
        ({"dgemm_wrong": ""}, "blas-result"),
        ({"dgesdd_info": "-4"}, "blas-lapack"),
        ({"dgesdd_worst": "0.3"}, "blas-lapack"),
        ({"dgesdd_worst": "nan"}, "blas-lapack"),
        ({"dgesdd_worst": "much"}, "blas-lapack"),
        ({"dgemm_from": "/opt/intel/lib/libmkl_intel_lp64.so.2"}, "blas-library"),
        ({"dgemm_from": DEBIAN}, "blas-library"),
        ({"dgesdd_from": "/usr/lib/liblapack.so.3"}, "blas-library"),
        ({"dgemm_from": ""}, "blas-library"),
        ({"version": "Intel(R) Math Kernel Library Version 2019.0.4 Product Build 1"}, "blas-version"),
        ({"version": "OpenBLAS 0.3.29"}, "blas-version"),
        ({"version": ""}, "blas-version"),
    ],
)
def test_what_differs_is_refused(values: dict[str, str], reference: str) -> None:
    """Each by its own check, and by no other."""
    found = _outcomes(MKL, _program(**values))

    assert {name for name, outcome in found.items() if outcome != "passed"} == {reference}
    assert found[reference] == "failed"


@pytest.mark.parametrize(
    ("maps", "reference"),
    [
        ([OURS + "libmkl_sequential.so.3"], "blas-threading"),
        ([OURS + "libmkl_gnu_thread.so.3", OURS + "libmkl_intel_thread.so.3"], "blas-threading"),
        ([], "blas-threading"),
        ([OURS + "libmkl_gnu_thread.so.3", GOMP, "/opt/libiomp5.so"], "openmp-one"),
    ],
)
def test_another_layer_or_a_second_runtime_is_refused(maps: list[str], reference: str) -> None:
    """Both are only seen in a process."""
    assert _outcomes(MKL, _program() | {"maps": maps})[reference] == "failed"


@pytest.mark.parametrize(
    "program", [{"error": "ld: cannot find -lmkl_core"}, None, "nonsense", {"error": "x", "maps": 3}]
)
def test_what_does_not_run_proves_nothing(program: object) -> None:
    """One failure, and the rest is not run: never passed."""
    found = _outcomes(MKL, program)

    assert found.pop("blas-program") == "failed"
    assert found.pop("blas-links") == "passed"
    assert set(found.values()) == {"not run"}


def test_a_static_blas_is_in_the_program() -> None:
    """A shared one that was taken instead would be missing where the wheel goes."""
    static = MKL.model_copy(update={"says": SAYS | {"linkage": "static"}})

    good = _outcomes(static, _program(dgemm_from="", dgesdd_from=""))

    assert (good["blas-library"], good["blas-threading"]) == ("passed", "not run")
    assert _outcomes(static, _program())["blas-library"] == "failed"


def test_blis_has_no_lapack_and_says_so() -> None:
    """It is a warning there, and a failure for a BLAS that should have one."""
    blis = SYSTEM.model_copy(update={"says": {"blas": "blis", "libraries": "blis", "linkage": "shared"}})
    program = _program(dgemm_from="/usr/lib/libblis.so.4", version="BLIS 0.9.0")
    for key in ("dgesdd_info", "dgesdd_worst", "dgesdd_from"):
        del program["values"][key]

    assert _outcomes(blis, program)["blas-lapack"] == "warned"
    assert _outcomes(blis, program)["blas-library"] == "passed"
    assert _outcomes(MKL, program)["blas-lapack"] == "failed"


def test_a_library_of_ours_is_none_of_the_builders() -> None:
    """What the recipe takes from the system must not come from a part that was left over."""
    leftover = _openblas(dgemm_from=OURS + "libopenblas.so.0", dgesdd_from=OURS + "libopenblas.so.0")

    assert _outcomes(SYSTEM, leftover)["blas-library"] == "failed"


def test_a_generic_blas_says_no_version() -> None:
    """Whatever stands behind libblas: it is taken as it is."""
    generic = SYSTEM.model_copy(
        update={"says": {"blas": "generic", "libraries": "blas", "linkage": "shared"}}
    )

    found = _outcomes(generic, _openblas(dgemm_from="/usr/lib/libblas.so.3.12.0"))

    assert (found["blas-library"], found["blas-version"]) == ("passed", "not run")


@pytest.mark.parametrize(
    ("completed", "outcome"), [("nothing", "not run"), ({"missing": ["libmkl_core.so"]}, "failed")]
)
def test_names_for_the_linker_are_there(completed: object, outcome: str) -> None:
    """What nobody made is not run, what could not be made failed."""
    assert _outcomes(MKL, _program(), completed)["blas-links"] == outcome


@pytest.mark.parametrize(
    ("said", "outcome"), [("2026", "passed"), ("2026.2.0.7", "passed"), ("2026.3", "failed")]
)
def test_versions_agree_as_far_as_both_are_told(said: str, outcome: str) -> None:
    """MKL leaves out the last number of its wheel."""
    program = _program(version=f"Intel(R) oneAPI Math Kernel Library Version {said}-Product")

    assert _outcomes(MKL, program)["blas-version"] == outcome
