"""NCCL out of its source, for the recipe's architectures alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.toolchains.library_samples import DIGEST, library, ours, recipe
from torchbuild.errors import ConflictError
from torchbuild.model.artifact import Artifact
from torchbuild.toolchains.nccl_source import (
    BUILD,
    SOURCE,
    build_commands,
    built_sass,
    gencode,
    log_findings,
    part,
    questions,
    source_findings,
)
from torchbuild.toolchains.provider import Answers

ARCHIVE = "debian:sid/nvidia-nccl/nvidia-nccl_2.29.7-1.orig.tar.gz"
PART = ours("nccl", "2.29.7", provider="source")


@pytest.mark.parametrize(
    ("archs", "expected"),
    [
        (("9.0",), "-gencode=arch=compute_90,code=sm_90"),
        (("9.0a",), "-gencode=arch=compute_90a,code=sm_90a"),
        (("12.0f",), "-gencode=arch=compute_120f,code=sm_120f"),
        (
            ("8.6+PTX", "7.5"),
            (
                "-gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_86,code=sm_86 "
                "-gencode=arch=compute_86,code=compute_86"
            ),
        ),
        (("9.0", "9.0"), "-gencode=arch=compute_90,code=sm_90"),
    ],
)
def test_the_list_is_the_recipes(archs: tuple[str, ...], expected: str) -> None:
    """Machine code for each, PTX where it is asked for, and nothing besides."""
    assert gencode(archs) == expected


def test_an_archive_is_asked_for_and_locked() -> None:
    """A publisher's digest is not repeated in the recipe; the piece is built, not laid."""
    wished = recipe(nccl=library("2.29.7", "source", archive=ARCHIVE))
    (question,) = questions(wished).files
    archive = Artifact(locator=ARCHIVE, sha256=DIGEST)

    locked = part(wished, Answers(files={ARCHIVE: archive}))

    assert (question.locator, question.sha256) == (ARCHIVE, "")
    assert [(piece.artifact, piece.how, piece.strip) for piece in locked.pieces] == [(archive, "source", 1)]
    assert (locked.provider, locked.prefix) == ("source", "/torchbuild/parts/nccl")


def test_a_source_that_nobody_names_is_refused() -> None:
    """There is none by default; what to write is shown."""
    with pytest.raises(ConflictError, match="does not name its source") as caught:
        questions(recipe(nccl=library("2.29.7", "source")))

    assert ARCHIVE in caught.value.fix


def test_the_command_hands_everything_over() -> None:
    """Toolkit, compiler, list of architectures, places and jobs; the environment is our own."""
    (build,) = build_commands(PART, ("9.0",), "/torchbuild/parts/cuda", "/usr/bin/g++-13", cuda="12.8.1")

    assert build.argv[:3] == ("/usr/bin/make", "-j{jobs}", "src.install")
    assert set(build.argv[3:]) == {
        "BUILDDIR=" + BUILD,
        "CUDA_HOME=/torchbuild/parts/cuda",
        "CUDA_INC=/torchbuild/parts/cuda/include",
        "CUDA_LIB=/torchbuild/parts/cuda/lib64",
        "CXX=/usr/bin/g++-13",
        "NVCC=/torchbuild/parts/cuda/bin/nvcc",
        "NVCC_GENCODE=-gencode=arch=compute_90,code=sm_90",
        "PREFIX=/torchbuild/parts/nccl",
    }
    assert build.cwd == SOURCE
    assert not {"MAKEFLAGS", "MAX_JOBS", "NVCC_GENCODE"} & dict(build.environ).keys()


@pytest.mark.parametrize(
    ("cuda", "is_handed_over", "sass"),
    [
        ("12.4.1", True, ("sm_90",)),
        ("12.8.1", False, ("sm_100a", "sm_90")),
        ("13.0.2", False, ("sm_100f", "sm_90")),
    ],
)
def test_a_list_of_its_own_is_filled_or_told(
    cuda: str, sass: tuple[str, ...], *, is_handed_over: bool
) -> None:
    """An empty one made nvcc add sm_52 and its PTX; one that is not empty is what the library holds besides."""
    (build,) = build_commands(PART, ("9.0",), "/usr", "/usr/bin/g++", cuda=cuda)

    own = "NVCC_GENCODE_LDMC_FP8=-gencode=arch=compute_90,code=sm_90"
    assert (own in build.argv) is is_handed_over
    assert built_sass(("9.0",), cuda) == sass


def test_its_make_takes_what_is_handed_over(tmp_path: Path) -> None:
    """The real make, with a makefile that has defaults of its own, and a recursion as NCCL's has."""
    (tmp_path / "src").mkdir()
    (tmp_path / "Makefile").write_text("src.%:\n\t$(MAKE) -C src $* BUILDDIR=$(abspath $(BUILDDIR))\n")
    (tmp_path / "src" / "Makefile").write_text(
        "NVCC_GENCODE ?= -gencode=arch=compute_50,code=sm_50\n$(info NVCC_GENCODE is $(NVCC_GENCODE))\n"
        "build install:\n\t@echo '$(CXX) $(PREFIX) $(MAKEFLAGS)'\n"
    )
    for command in build_commands(PART, ("8.6+PTX", "7.5"), "/usr", "/usr/bin/g++", "2", cuda="12.4"):
        done = subprocess.run(
            command.argv, cwd=tmp_path, env=dict(command.environ), capture_output=True, text=True, check=True
        )

        assert [item.outcome for item in log_findings(("8.6+PTX", "7.5"), done.stdout)] == ["passed"]
        assert "/usr/bin/g++ /torchbuild/parts/nccl" in done.stdout
        assert "-j2" in done.stdout


@pytest.mark.parametrize(
    ("log", "outcome"),
    [
        ("NVCC_GENCODE is -gencode=arch=compute_90,code=sm_90\n", "passed"),
        (
            "x\nNVCC_GENCODE is -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_60,code=sm_60\n",
            "failed",
        ),
        (
            (
                "NVCC_GENCODE is -gencode=arch=compute_90,code=sm_90\n"
                "NVCC_GENCODE is -gencode=arch=compute_50,code=sm_50\n"
            ),
            "failed",
        ),
        ("make: nothing\n", "not run"),
    ],
)
def test_what_its_make_says_is_compared(log: str, outcome: str) -> None:
    """In each folder; a list of its own in one of them is seen."""
    assert [item.outcome for item in log_findings(("9.0",), log)] == [outcome]


GOOD = {"scripts": {"device/generate.py": True}, "starts": {"/a": True, "/b": True}, "version": "2.29.7"}


@pytest.mark.parametrize(
    ("seen", "wrong"),
    [
        (GOOD, {}),
        (GOOD | {"scripts": {"device/generate.py": False}}, {"nccl-source-scripts": "failed"}),
        (GOOD | {"scripts": {}}, {"nccl-source-scripts": "failed"}),
        (GOOD | {"starts": {"/a": True, "/b": False}}, {"nccl-source-noexec": "failed"}),
        (GOOD | {"starts": {}}, {"nccl-source-noexec": "not run"}),
        (GOOD | {"version": "2.22.3"}, {"nccl-source-version": "failed"}),
        (GOOD | {"version": ""}, {"nccl-source-version": "failed"}),
    ],
)
def test_a_source_is_judged_before_it_is_built(seen: dict[str, object], wrong: dict[str, str]) -> None:
    """Lost bits, a place where nothing starts, another release: each by its name."""
    found = {item.reference: item.outcome for item in source_findings(PART, json.loads(json.dumps(seen)))}

    assert {name: outcome for name, outcome in found.items() if outcome != "passed"} == wrong
