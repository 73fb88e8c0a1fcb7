"""NVIDIA's runfile as a provider: what is asked, what is locked, what is run."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.errors import ConflictError
from torchbuild.knowledge.cuda import cuda_releases
from torchbuild.model.artifact import Artifact
from torchbuild.model.part import LockedPart, LockedPiece
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.cuda_runfile import install_argv, install_request, part, questions
from torchbuild.toolchains.provider import Answers

FILE = "/torchbuild/inputs/cuda/installer.run"
LEAST = {
    "schema": 1,
    "name": "sample",
    "source": {"git": "https://example.org/sample.git", "ref": "v1"},
    "wheel": {"version": "1.0.0"},
}
SHA = "ab" * 32
SIZE = 4454730420
LOCATOR = "nvidia:compute/cuda/12.4.1/local_installers/cuda_12.4.1_550.54.15_linux.run"


def _recipe(version: str, machine: str = "x86_64", **cuda: Any) -> Recipe:
    return Recipe.model_validate(
        LEAST | {"target": {"machine": machine}, "cuda": {"version": version, "from": "runfile", **cuda}}
    )


def _answers(locator: str, size: int | None = SIZE) -> Answers:
    return Answers(files={locator: Artifact(locator=locator, sha256=SHA, size=size)})


def _part(version: str) -> LockedPart:
    piece = LockedPiece(artifact=Artifact(locator=LOCATOR, sha256=SHA, size=SIZE), how="runfile")
    return LockedPart(
        name="cuda", provider="runfile", version=version, prefix="/torchbuild/parts/cuda", pieces=(piece,)
    )


def _refused(recipe: Recipe) -> ConflictError:
    with pytest.raises(ConflictError) as caught:
        questions(recipe)
    return caught.value


@pytest.mark.parametrize(
    ("version", "machine", "name"),
    [
        ("12.4.1", "x86_64", "12.4.1/local_installers/cuda_12.4.1_550.54.15_linux.run"),
        ("12.4", "x86_64", "12.4.1/local_installers/cuda_12.4.1_550.54.15_linux.run"),
        ("12.4.1", "aarch64", "12.4.1/local_installers/cuda_12.4.1_550.54.15_linux_sbsa.run"),
        ("11.0.1", "x86_64", "11.0.1/local_installers/cuda_11.0.1_450.36.06_linux.run"),
        ("13.1.0", "x86_64", "13.1.0/local_installers/cuda_13.1.0_590.44.01_linux.run"),
        ("13.4.1", "x86_64", "13.4.1/local_installers/cuda_13.4.1_linux.run"),
    ],
)
def test_the_installer_is_found_by_its_release(version: str, machine: str, name: str) -> None:
    """A release and a processor are enough, and the digest is asked for: nobody publishes one."""
    (question,) = questions(_recipe(version, machine)).files

    assert question.locator == f"nvidia:compute/cuda/{name}"
    assert question.sha256 == ""


@pytest.mark.parametrize("row", cuda_releases(), ids=[row.version for row in cuda_releases()])
def test_every_release_of_the_table_is_found_or_refused(row: Any) -> None:
    """A row without a runfile says why; every other one gives its own name and nothing made up."""
    recipe = _recipe(row.version)
    if row.lacks:
        assert _refused(recipe).why[0] == row.lacks
    else:
        assert (
            questions(recipe).files[0].locator.endswith(f"/{row.version}/local_installers/{row.x86_64.name}")
        )


def test_a_digest_of_the_recipe_counts() -> None:
    """Who knows the digest does not trust on first use."""
    assert questions(_recipe("12.4.1", sha256=SHA)).files[0].sha256 == SHA


@pytest.mark.parametrize(
    "archive",
    [
        "https://example.org/mirror/cuda_12.4.1_550.54.15_linux.run",
        "file:installers/cuda_12.4.1_550.54.15_linux.run?x=1",
        "https://example.org/renamed.run",
    ],
)
def test_an_address_of_the_recipe_counts(archive: str) -> None:
    """The recipe's own installer is taken as it is named."""
    assert questions(_recipe("12.4.1", archive=archive)).files[0].locator == archive


def test_the_part_is_this_one_file() -> None:
    """Locked: the file by digest, to be run, at a prefix of ours, as the release patch and all."""
    recipe = _recipe("12.4")

    locked = part(recipe, _answers(LOCATOR))

    assert (locked.name, locked.provider, locked.version) == ("cuda", "runfile", "12.4.1")
    assert locked.prefix == "/torchbuild/parts/cuda"
    assert [(piece.how, piece.artifact.sha256) for piece in locked.pieces] == [("runfile", SHA)]
    assert part(recipe, _answers(LOCATOR)) == locked


def test_an_address_says_which_patch_is_meant() -> None:
    """A recipe that names 12.4 and the installer of 12.4.0 means 12.4.0."""
    archive = "https://example.org/cuda_12.4.0_550.54.14_linux.run"

    assert part(_recipe("12.4", archive=archive), _answers(archive)).version == "12.4.0"


def test_an_unknown_release_needs_its_address() -> None:
    """What the table does not know yet can be had by naming the file."""
    archive = "https://example.org/cuda_13.9.0_999.99_linux.run"

    assert part(_recipe("13.9.0", archive=archive), _answers(archive)).version == "13.9.0"


@pytest.mark.parametrize(
    ("version", "near"),
    [("13.1.9", "13.1.0, 13.1.1, 13.1.2"), ("12.7.0", "12.6.2, 12.6.3, 12.8.0"), ("14.0", "13.4.0, 13.4.1")],
)
def test_no_name_is_ever_made_up(version: str, near: str) -> None:
    """A release that is not in the table is refused with its neighbours, before a server answers 404."""
    error = _refused(_recipe(version))

    assert error.reference == "cuda-runfile-unknown"
    assert near in " ".join(error.why)


def test_a_release_without_a_runfile_is_refused_with_the_reason() -> None:
    """13.4.0 was published without one: said with its source, and with the patch that has one."""
    error = _refused(_recipe("13.4.0"))

    assert error.reference == "cuda-runfile-none"
    assert "13.4.1" in error.why[1]
    assert error.why[2].startswith("source: ")


def test_a_processor_without_a_runfile_is_refused() -> None:
    """11.0.1 has one for x86_64 alone."""
    error = _refused(_recipe("11.0.1", "aarch64"))

    assert error.reference == "cuda-runfile-machine"
    assert "cuda_11.0.1_450.36.06_linux.run" in error.why[0]


@pytest.mark.parametrize(
    ("version", "machine", "name"),
    [
        ("12.4.1", "x86_64", "cuda_12.1.0_530.30.02_linux.run"),
        ("12.4", "x86_64", "cuda_12.1.0_530.30.02_linux.run"),
        ("12.4.1", "x86_64", "cuda_12.4.1_550.54.15_linux_sbsa.run"),
        ("12.4.1", "aarch64", "cuda_12.4.1_550.54.15_linux.run"),
        ("12.4.1", "x86_64", "cuda_12.4.1_550.54.15_linux_ppc64le.run"),
    ],
)
def test_an_address_of_something_else_is_refused(version: str, machine: str, name: str) -> None:
    """An installer of another release or processor is found before gigabytes are fetched."""
    error = _refused(_recipe(version, machine, archive=f"https://example.org/{name}"))

    assert error.reference == "cuda-archive-differs"
    assert name in error.why[0]


def test_an_installer_that_cannot_be_told_is_refused() -> None:
    """One whose options nobody knows would ask questions and install a driver."""
    error = _refused(_recipe("10.2.89", archive="https://example.org/cuda_10.2.89_440.33.01_linux.run"))

    assert error.reference == "cuda-runfile-too-old"


def test_a_page_instead_of_an_installer_is_not_locked() -> None:
    """Where the digest is trusted on first use, the size that is known must be right."""
    with pytest.raises(ConflictError) as caught:
        part(_recipe("12.4.1"), _answers(LOCATOR, 1500))

    assert caught.value.reference == "cuda-runfile-size"
    assert caught.value.why[:2] == ("seen: 1500 bytes", f"wanted: {SIZE} bytes")


@pytest.mark.parametrize("version", ["11.8.0"])
def test_a_size_that_nobody_knows_is_not_compared(version: str) -> None:
    """Nor one that the answer does not tell, nor where the recipe names the digest."""
    locator = f"nvidia:compute/cuda/{version}/local_installers/cuda_11.8.0_520.61.05_linux.run"

    assert part(_recipe(version), _answers(locator, 7))
    assert part(_recipe("12.4.1"), _answers(LOCATOR, None))
    assert part(_recipe("12.4.1", sha256=SHA), _answers(LOCATOR, 7))


def test_the_command_is_exactly_this() -> None:
    """The toolkit alone, into our prefix: never driver, samples, documentation or a question."""
    prefix = "/torchbuild/parts/cuda"

    assert install_argv(_part("12.4.1"), FILE, "/work/temp") == (
        *(
            "sh",
            FILE,
            "--silent",
            "--toolkit",
            f"--toolkitpath={prefix}",
            f"--defaultroot={prefix}",
            "--override",
        ),
        *("--no-man-page", "--no-opengl-libs", "--no-drm", "--tmpdir=/work/temp"),
    )


def test_a_runfile_without_a_driver_is_not_told_about_it() -> None:
    """Options that a release does not know are left out."""
    argv = install_argv(_part("13.4.1"), FILE, "/work/temp")

    assert not {"--no-opengl-libs", "--no-drm"} & set(argv)
    assert argv[-1] == "--tmpdir=/work/temp"


@pytest.mark.parametrize("row", cuda_releases(), ids=[row.version for row in cuda_releases()])
def test_no_release_is_told_to_install_more(row: Any) -> None:
    """Whatever the release: silent, toolkit, a prefix and a temporary folder of ours."""
    argv = install_argv(_part(row.version), FILE, "/work/temp")

    assert {"--silent", "--toolkit"} < set(argv)
    assert not [
        word for word in argv if word.startswith(("--driver", "--samples", "--documentation", "--kernel"))
    ]


def test_the_request_has_all_that_the_script_needs() -> None:
    """Paths, sizes and places of this release; nothing in it changes from one time to the next."""
    request = install_request(_part("12.4.1"), FILE, "/work/runfile")

    assert request["argv"] == list(install_argv(_part("12.4.1"), FILE, "/work/runfile/temp"))
    assert (request["size"], request["file"], request["prefix"]) == (SIZE, FILE, "/torchbuild/parts/cuda")
    assert "/usr/local/cuda-12.4" in request["outside"]  # type: ignore[operator]
    assert request == install_request(_part("12.4.1"), FILE, "/work/runfile")


def test_a_recipe_without_cuda_has_no_toolkit() -> None:
    """Who asks anyway has made a mistake of ours."""
    recipe = Recipe.model_validate(LEAST)

    with pytest.raises(ValueError, match="no CUDA"):
        questions(recipe)
