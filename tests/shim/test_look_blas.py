"""What BLAS and OpenMP do in a process: libraries made for this, good and bad, with the machine's compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from torchbuild.model.part import LockedPart
from torchbuild.toolchains.blas_proof import CHECKS
from torchbuild.toolchains.proof import Wanted, judge

SCRIPT = Path(__file__).parents[2] / "torchbuild" / "shim" / "look_blas.py"
PRODUCT = """
void dgemm_(const char *p, const char *q, const INT *m, const INT *n, const INT *k, const double *alpha,
            const double *a, const INT *lda, const double *b, const INT *ldb, const double *beta, double *c,
            const INT *ldc) {
  for (INT j = 0; j < *n; ++j)
    for (INT i = 0; i < *m; ++i) {
      double sum = 0;
      for (INT l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum + OFF;
    }
}
"""
GOMP = {"names": ["gomp"], "folders": [], "is_ours": False}

Look = Callable[..., dict[str, Any]]


@pytest.fixture
def library(tmp_path: Path) -> Callable[..., Path]:
    """Compile lib/libNAME.so."""

    def build(name: str, source: str, *flags: str) -> Path:
        folder = tmp_path / "lib"
        folder.mkdir(exist_ok=True)
        path = folder / f"lib{name}.so"
        argv = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", str(path), *flags]
        subprocess.run(argv, input=source.encode(), check=True, timeout=120)
        return path

    return build


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Run the script as a build does."""

    def run(environ: dict[str, str] | None = None, **request: Any) -> dict[str, Any]:
        asked = tmp_path / "request.json"
        whole = {
            "cc": "/usr/bin/gcc",
            "scratch": str(tmp_path / "scratch"),
            "openmp": None,
            "blas": None,
        } | request
        asked.write_text(json.dumps(whole), encoding="utf-8")
        argv = [sys.executable, "-I", str(SCRIPT), str(asked)]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=True, timeout=300, env=os.environ | (environ or {})
        )
        seen: dict[str, Any] = json.loads(done.stdout)
        return seen

    return run


def _blas(folder: Path, name: str = "good") -> dict[str, Any]:
    return {"names": [name], "folders": ["/nowhere", str(folder)], "lapack": [], "is_static": False}


def test_a_product_is_told_with_the_file_that_made_it(look: Look, library: Callable[..., Path]) -> None:
    """Which library really answered, though LD_LIBRARY_PATH has another of that name."""
    path = library("good", PRODUCT, "-DINT=int", "-DOFF=0")
    other = path.parent.parent / "other"
    other.mkdir()
    (other / "libgood.so").write_bytes(path.read_bytes())

    seen = look({"LD_LIBRARY_PATH": str(other)}, blas=_blas(path.parent))["blas"]

    assert (seen["error"], seen["values"]["dgemm_wrong"]) == ("", "0")
    assert seen["values"]["dgemm_from"] == str(path)
    assert str(path) in seen["maps"]
    assert "dgesdd_" in seen["lapack_error"]


@pytest.mark.parametrize("flags", [("-DINT=int", "-DOFF=1"), ("-DINT=long", "-DOFF=0")])
def test_a_wrong_product_is_seen(look: Look, library: Callable[..., Path], flags: tuple[str, ...]) -> None:
    """A broken library, and one with 64-bit integers under a name of the other kind."""
    seen = look(blas=_blas(library("good", PRODUCT, *flags).parent))["blas"]

    assert seen["error"] or seen["values"]["dgemm_wrong"] != "0"


def test_a_lapack_that_does_nothing_is_seen(look: Look, library: Callable[..., Path]) -> None:
    """A stub links and returns."""
    folder = library("good", PRODUCT, "-DINT=int", "-DOFF=0").parent
    library("stub", "void dgesdd_(void) {}")

    seen = look(blas=_blas(folder) | {"lapack": ["stub"]})["blas"]["values"]

    assert seen["dgesdd_info"] == "-1"
    assert float(seen["dgesdd_worst"]) > 0.5
    assert seen["dgesdd_from"] == str(folder / "libstub.so")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("int nothing(void) { return 0; }", "undefined reference to `dgemm_'"),
        ("void dgemm_(void) { __builtin_trap(); }", "look-blas-alone: exit code -"),
        ("int gone(void); void dgemm_(void) { gone(); }", "gone"),
    ],
)
def test_what_does_not_link_or_run_is_told(
    look: Look, library: Callable[..., Path], source: str, said: str
) -> None:
    """In the linker's words, or by the signal."""
    seen = look(blas=_blas(library("good", source).parent))["blas"]

    assert said in seen["error"] or said in seen.get("lapack_error", "")
    assert seen["error"]


def test_a_library_that_is_nowhere_is_told(look: Look, tmp_path: Path) -> None:
    """Nothing there is an answer too; so is a compiler that is not there."""
    assert "-lgood" in look(blas=_blas(tmp_path))["blas"]["error"]
    assert "exit code 127" in look(cc="/nowhere/gcc", blas=_blas(tmp_path))["blas"]["error"]
    assert look() == {}


def test_the_compilers_runtime_runs_a_loop(look: Look) -> None:
    """Two threads, the right sum, and the file."""
    seen = look(openmp=GOMP)["openmp"]

    assert (seen["error"], seen["values"]["openmp_threads"], seen["values"]["openmp_sum"]) == (
        "",
        "2",
        "500500",
    )
    assert Path(seen["values"]["openmp_from"]).name.startswith("libgomp.so")


def test_a_second_runtime_beside_the_compilers_is_seen(look: Look, library: Callable[..., Path]) -> None:
    """A BLAS that was built with Intel's runtime, in a process with gcc's."""
    second = library("iomp5", "int omp_of_intel(void) { return 0; }", "-Wl,-soname,libiomp5.so")
    rpath = f"-Wl,-rpath,{second.parent}"
    path = library("good", PRODUCT, "-DINT=int", "-DOFF=0", "-Wl,--no-as-needed", rpath, str(second))
    part = LockedPart(
        name="blas", provider="path", version="", prefix=str(path.parent), says={"blas": "generic"}
    )

    seen = look(openmp=GOMP, blas=_blas(path.parent))
    found = [item for item in judge(CHECKS, part, Wanted(), seen) if item.reference == "openmp-one"]

    assert [item.outcome for item in found] == ["failed"]
    assert "libgomp" in found[0].seen
    assert str(second) in found[0].seen


def test_a_runtime_of_ours_is_linked_by_its_file(look: Look, library: Callable[..., Path]) -> None:
    """The compiler's option at the link would bring the compiler's own beside it; what it lacks is told."""
    folder = library("omp", "int omp_get_num_threads(void) { return 1; }", "-Wl,-soname,libiomp5.so").parent

    seen = look(openmp={"names": ["omp"], "folders": [str(folder)], "is_ours": True})["openmp"]

    assert "GOMP_" in seen["error"]
