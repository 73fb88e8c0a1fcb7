"""A recipe like an existing build: what it said is kept, what it did not say is told, nothing is made up."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.advice.like import like_wish, recipe_like
from torchbuild.advice.like_line import LikeParts
from torchbuild.advice.like_official import official_likeness
from torchbuild.model.likeness import LikeLibrary, Likeness, LikeSetting, Read, Unread
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.support import unsupported
from torchbuild.resolve.toolchain_rules import toolchain_problems

SHOWN = {
    "BLAS_INFO": "mkl",
    "BUILD_TYPE": "Release",
    "CUDA_VERSION": "13.0",
    "LAPACK_INFO": "mkl",
    "USE_CUDA": "1",
    "USE_CUDNN": "ON",
    "USE_GFLAGS": "OFF",
    "USE_GLOO": "ON",
    "USE_MKL": "ON",
    "USE_MKLDNN": "ON",
    "USE_MPI": "OFF",
    "USE_NCCL": "ON",
    "USE_OPENMP": "ON",
    "USE_NVTX": "",
}


def build(**changes: Any) -> Likeness:
    """A CUDA build of upstream's, as it is read."""
    cuda = {
        "subject": "torch-2.14.1-cp311-cp311-manylinux_2_28_x86_64.whl",
        "version": Read(value="2.14.1", where="METADATA"),
        "local": Read(value="cu130", where="torch/version.py"),
        "python": Read(value="3.11", where="the file's name"),
        "machine": Read(value="x86_64", where="the file's name"),
        "glibc": Read(value="2.28", where="the file's name"),
        "cuda": Read(value="13.0", where="torch/version.py cuda"),
        "archs": ("7.5", "9.0", "12.0+PTX"),
        "archs_where": "a header",
        "libraries": (
            LikeLibrary(name="cudnn", state="shared", version="9.24.0.43", where="METADATA"),
            LikeLibrary(name="nccl", state="static", version="2.30.7", where="its code"),
            LikeLibrary(name="magma", state="static", version="2.6.1", where="its code"),
        ),
        "blas": Read(value="mkl", where="BLAS_INFO"),
        "blas_state": Read(value="static", where="no library asks for it"),
        "openmp": Read(value="libgomp.so.1", where="libtorch_cpu.so"),
        "settings": tuple(LikeSetting(name=key, value=value, where="x") for key, value in SHOWN.items()),
        "settings_whole": True,
        "flags": (
            LikeSetting(name="USE_MAGMA", value="ON", where="CUDAConfig.h"),
            LikeSetting(name="USE_KINETO", value="ON", where="CXX_FLAGS"),
        ),
    }
    return Likeness.model_validate(cuda | changes)


def recipe_of(parts: LikeParts) -> Recipe:
    """The parts with the least that a recipe needs besides."""
    value: dict[str, Any] = {
        "schema": 1,
        "name": "like",
        "source": {"git": "https://x.invalid/y", "ref": "v1"},
    }
    for line in parts.lines:
        table = value
        *tables, key = line.key.split(".")
        for name in tables:
            table = table.setdefault(name, {})
        table[key] = line.value
    return Recipe.model_validate(value)


def test_the_flags_are_what_config_show_says() -> None:
    """Each switch that is printed and that is an option of the tree, as it is printed."""
    flags = recipe_of(recipe_like(build())).build.flags

    printed = {key: value in ("1", "ON") for key, value in SHOWN.items() if key.startswith("USE_") and value}
    del printed["USE_MKL"]  # no option: the table [blas] makes it
    assert {key: flags[key] for key in printed} == printed
    assert flags["USE_KINETO"] is True


def test_the_recipe_is_one_that_is_accepted() -> None:
    """No rule of recipes refuses what comes out."""
    for parts in (recipe_like(build()), recipe_like(build(), ("sm_61", "RTX 4090"))):
        recipe = recipe_of(parts)
        assert list(unsupported(recipe)) == []
        assert list(toolchain_problems(recipe)) == []


def test_tables_say_what_was_read() -> None:
    """Toolkit, libraries, BLAS, OpenMP, interpreter, label."""
    parts = recipe_like(build())

    found = {
        key: parts.value(key) for key in ("cudnn.version", "nccl.version", "blas.provider", "wheel.local")
    }
    assert found == {
        "cudnn.version": "9.24.0.43",
        "nccl.version": "2.30.7",
        "blas.provider": "mkl",
        "wheel.local": "cu130",
    }
    assert parts.value("openmp.provider") == "gomp"
    assert parts.value("build.flags.USE_STATIC_MKL") is True
    assert parts.value("cuda.archs") == ("7.5", "9.0", "12.0+PTX")
    assert parts.value("target.driver") is None


def test_a_patch_release_that_was_not_read_is_said_to_be_chosen() -> None:
    """Of 13.0 the newest known release is taken, and the line says so."""
    line = next(line for line in recipe_like(build()).lines if line.key == "cuda.version")

    assert line.value.startswith("13.0.")
    assert "newest" in line.comment
    exact = recipe_like(build(toolkit=Read(value="13.0.1", where="METADATA cuda-toolkit==13.0.1")))
    assert exact.value("cuda.version") == "13.0.1"


def test_a_gpu_is_added_once() -> None:
    """An architecture that is there already is not there twice, and keeps its PTX."""
    parts = recipe_like(build(), ("GTX 1080", "H100", "sm_120"))

    assert parts.value("cuda.archs") == ("6.1", "7.5", "9.0", "12.0+PTX")
    assert parts.archs_added == ("6.1",)
    assert recipe_like(build(), ("9.0",)).archs_added == ()
    assert any("already" in text for text in recipe_like(build(), ("9.0",)).comments)


def test_a_gpu_that_nobody_knows_is_told() -> None:
    """No architecture is guessed for it."""
    parts = recipe_like(build(), ("GTX 9999",))

    assert parts.archs_added == ()
    assert any("GTX 9999" in text for text in parts.comments)
    assert like_wish(build(), ("GTX 9999",))["gpus"] == ("GTX 9999",)


def test_the_wish_has_what_the_facts_decide() -> None:
    """The solver hears the release, the target, the toolkit, the list and the two libraries."""
    wish = like_wish(build(), ("GTX 1080",))

    assert wish["torch"] == "2.14.1"
    assert wish["archs"] == ("6.1", "7.5", "9.0", "12.0+PTX")
    assert (wish["cudnn"], wish["nccl"]) == ("9.24.0.43", "2.30.7")
    assert wish["glibc"] == "2.28"
    gone = build(libraries=(LikeLibrary(name="nccl", state="absent", version="", where="USE_NCCL=OFF"),))
    assert like_wish(gone)["nccl"] == "none"


def test_what_could_not_be_read_is_a_comment() -> None:
    """With its reason; and what no recipe can say yet with what it is."""
    likeness = build(
        unread=(Unread(what="CUDA release", why="places disagree"),),
        runtime="depend",
        runtime_where="METADATA",
        triton=Read(value="triton~=3.8.0", where="METADATA"),
        settings_whole=False,
        blas=Read(value="accelerate", where="BLAS_INFO"),
        openmp=Read(value="libomp.so.5", where="libtorch_cpu.so"),
        local=Read(value="Odd-Label", where="METADATA"),
        archs_partly=("9.0a",),
        compiler=Read(value="GCC 13.3.1", where=".comment"),
        numpy=Read(value="1", where="libtorch_python.so"),
    )
    text = " ".join(recipe_like(likeness).comments)

    wanted = (
        "CUDA release: places disagree",
        "triton~=3.8.0",
        'runtime = "depend"',
        "the whole of config.show()",
    )
    for word in (
        *wanted,
        "accelerate",
        "libomp.so.5",
        "Odd-Label",
        "9.0a",
        "GCC 13.3.1",
        "numpy 1",
        "magma 2.6.1",
    ):
        assert word in text
    assert recipe_like(likeness).value("blas.provider") is None
    assert recipe_like(likeness).value("openmp.provider") is None
    assert recipe_like(likeness).value("wheel.local") is None


def test_a_library_whose_release_was_not_read_has_no_table() -> None:
    """Its switch stays out too: nothing would provide it."""
    parts = recipe_like(build(libraries=(LikeLibrary(name="cudnn", state="shared", version="", where="x"),)))

    assert parts.value("cudnn.version") is None
    assert parts.value("build.flags.USE_CUDNN") is None
    assert any("cudnn" in text for text in parts.comments)


def cpu() -> Likeness:
    """A build for the CPU."""
    shown = {"BLAS_INFO": "open", "USE_CUDA": "0", "USE_NCCL": "OFF", "USE_GLOO": "ON"}
    return build(
        cuda=Read(),
        is_cpu=True,
        archs=(),
        libraries=(LikeLibrary(name="nccl", state="absent", version="", where="USE_NCCL=OFF"),),
        local=Read(value="cpu", where="METADATA"),
        blas=Read(value="open", where="BLAS_INFO"),
        blas_state=Read(),
        settings=tuple(LikeSetting(name=key, value=value, where="x") for key, value in shown.items()),
        flags=(),
    )


def test_a_cpu_build_has_no_toolkit() -> None:
    """No table [cuda], no libraries of it, and its switches off."""
    parts = recipe_like(cpu())
    recipe = recipe_of(parts)

    assert recipe.cuda is None
    assert recipe.build.flags["USE_CUDA"] is False
    assert recipe.blas is not None
    assert recipe.blas.provider == "openblas"
    assert list(toolchain_problems(recipe)) == []
    assert not {"cuda", "archs", "cudnn", "nccl"} & like_wish(cpu()).keys()


def test_a_gpu_for_a_cpu_build_leaves_the_toolkit_to_the_facts() -> None:
    """Switches that forbid CUDA would contradict what was asked for; they stay out, and that is said."""
    parts = recipe_like(cpu(), ("H100",))

    assert parts.value("build.flags.USE_CUDA") is None
    assert parts.value("build.flags.USE_NCCL") is None
    assert parts.value("build.flags.USE_GLOO") is True
    assert like_wish(cpu(), ("H100",))["gpus"] == ("H100",)
    assert not {"cuda", "archs", "cudnn", "nccl"} & like_wish(cpu(), ("H100",)).keys()
    assert parts.value("wheel.local") is None
    assert any("CPU build" in text for text in parts.comments)


@pytest.mark.parametrize(
    ("local", "cuda"), [("cu124", "12.4"), ("cpu", ""), ("cu118", "11.8")], ids=["12.4", "cpu", "11.8"]
)
def test_what_upstream_publishes_is_told_by_the_facts(local: str, cuda: str) -> None:
    """Label, toolkit, libraries and list, each with its table; and that the wheel itself was not read."""
    found = official_likeness("2.6.0", local, "x86_64", "no network")

    assert found is not None
    assert found.cuda.value == cuda
    assert found.is_cpu == (not cuda)
    assert bool(found.archs) == bool(cuda)
    assert found.unread[0].why == "no network"
    assert all("official_builds" in item.where for item in found.libraries)


def test_what_upstream_does_not_publish_is_nothing() -> None:
    """Another label, another release, another machine's."""
    assert official_likeness("2.6.0", "rocm6.2", "x86_64", "x") is None
    assert official_likeness("2.6.0", "cu999", "x86_64", "x") is None
    assert official_likeness("0.1.0", "cu124", "x86_64", "x") is None
    assert official_likeness("2.6.0", "", "x86_64", "x") is None
