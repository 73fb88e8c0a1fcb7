"""CUDA out of NVIDIA's runfile: an installer that is run in the builder for the toolkit alone.

What it is called comes from the table of releases, or from the recipe: the driver inside is a part of the
name, so that no name follows from a release alone.
"""

from __future__ import annotations

import re

from torchbuild.errors import ConflictError
from torchbuild.knowledge.cuda import (
    CudaRelease,
    cuda_release,
    installer_fact,
    installer_options,
    nearest_releases,
    space_ratios,
)
from torchbuild.model.artifact import file_name
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Cuda
from torchbuild.toolchains.provider import Answers, Question, Questions

__all__ = [
    "ENVIRONMENT",
    "KEPT",
    "OPTIONS",
    "TIMEOUT_S",
    "install_argv",
    "install_request",
    "part",
    "questions",
]

OPTIONS = (
    "--silent",
    "--toolkit",
    "--toolkitpath={prefix}",
    "--defaultroot={prefix}",
    "--override",
    "--no-man-page",
    "--no-opengl-libs",
    "--no-drm",
    "--tmpdir={temp}",
)
"""What the installer is told, where its release knows it. Never driver, samples or documentation."""
NEEDED = ("--silent", "--toolkit", "--toolkitpath", "--tmpdir")
"""Without these it would ask questions, or install elsewhere and more."""
ENVIRONMENT = {
    "LC_ALL": "C",  # other locales made it crash
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TAR_OPTIONS": "--no-same-owner",  # a root without all rights cannot give files away
    "TERM": "dumb",
}
"""Variables of the installer. TMPDIR and HOME are added, nothing of the caller's: no DISPLAY or SUDO_USER."""
KEPT: tuple[str, ...] = ()
"""Variables of the caller that it gets as well."""
TIMEOUT_S = 7200
"""Five gigabytes are checked, unpacked and copied: minutes on a disk of its own, more where it is shared."""
_NAMED = re.compile(r"cuda_([0-9]+\.[0-9]+\.[0-9]+)(_[0-9.]+)?_linux(_sbsa|_ppc64le)?\.run")
_SUFFIX = {"x86_64": "", "aarch64": "_sbsa"}


def questions(recipe: Recipe) -> Questions:
    """The installer's digest, where the recipe names none: nobody publishes one that could be trusted."""
    cuda = _cuda(recipe)
    locator = cuda.archive or _locator(cuda, recipe.target.machine)
    _assert_can_be_told(cuda)
    _assert_name_agrees(cuda, recipe.target.machine)
    return Questions(files=(Question(locator=locator, sha256=cuda.sha256 or ""),))


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """The toolkit, made of this one file."""
    cuda = _cuda(recipe)
    (question,) = questions(recipe).files
    artifact = answers.files[question.locator]
    _assert_size(cuda, recipe.target.machine, artifact.size)
    return LockedPart(
        name="cuda",
        provider="runfile",
        version=_version(cuda),
        prefix=prefix_of("cuda"),
        pieces=(LockedPiece(artifact=artifact, how="runfile"),),
    )


def install_argv(part: LockedPart, file: str, temp: str) -> tuple[str, ...]:
    """The installer's command.

    Args:
        part: the locked toolkit.
        file: the runfile, absolute inside the build.
        temp: where it unpacks itself, absolute.
    """
    known = installer_options(part.version)
    told = (option for option in OPTIONS if option.partition("=")[0] in known)
    return ("sh", file, *(option.format(prefix=part.prefix, temp=temp) for option in told))


def install_request(part: LockedPart, file: str, scratch: str) -> dict[str, object]:
    """What the guest script ``install_runfile.py`` reads.

    Args:
        part: the locked toolkit.
        file: the runfile, absolute inside the build.
        scratch: a folder of the script's own, absolute; it is emptied first and removed in the end. The
            filesystem should be that of the prefix, and must allow programs.
    """
    fact, ratios = installer_fact(), space_ratios()
    minor = ".".join(part.version.split(".")[:2])
    return {
        "argv": list(install_argv(part, file, f"{scratch}/temp")),
        "driver_log": fact.driver_log,
        "env": dict(ENVIRONMENT),
        "file": file,
        "keep": list(KEPT),
        "logs": list(fact.logs),
        "outside": [path.format(minor=minor) for path in (*fact.outside, fact.default_path)],
        "prefix": part.prefix,
        "programs": list(fact.programs),
        "ratios": {"prefix": ratios.prefix, "temp": ratios.temp},
        "scratch": scratch,
        "size": part.pieces[0].artifact.size,
        "timeout_s": TIMEOUT_S,
    }


def _cuda(recipe: Recipe) -> Cuda:
    if recipe.cuda is None:
        raise ValueError("the recipe asks for no CUDA")
    return recipe.cuda


def _named(cuda: Cuda) -> re.Match[str] | None:
    """What the name of the recipe's own installer says, where it says something."""
    return _NAMED.fullmatch(file_name(cuda.archive)) if cuda.archive else None


def _version(cuda: Cuda) -> str:
    """The release, patch and all: of ``12.4`` the one of the archive's name, or the newest."""
    named = _named(cuda)
    if named and named[1].startswith(f"{cuda.version}."):
        return named[1]
    row = cuda_release(cuda.version)
    return row.version if row else cuda.version


def _locator(cuda: Cuda, machine: str) -> str:
    row = _row(cuda)
    runfile = row.runfile(machine)
    if runfile is None:
        raise ConflictError(
            "cuda-runfile-machine",
            f"no runfile of CUDA {row.version} is known for {machine}",
            why=(f"seen: {_names(row)}", f"wanted: one for {machine}", f"source: {row.source}"),
            fix='Take another release, or another provider such as `cuda.from = "redist"`.',
        )
    return f"nvidia:compute/cuda/{row.version}/local_installers/{runfile.name}"


def _names(row: CudaRelease) -> str:
    return ", ".join(item.name for item in (row.x86_64, row.aarch64) if item) or "none"


def _row(cuda: Cuda) -> CudaRelease:
    row = cuda_release(cuda.version)
    if row is None:
        raise ConflictError(
            "cuda-runfile-unknown",
            f"what the runfile of CUDA {cuda.version} is called is not known",
            why=(
                f"seen: {cuda.version}",
                f"wanted: a known one, the nearest are {', '.join(nearest_releases(cuda.version))}",
                "a runfile's name holds the driver inside, which does not follow from the release",
            ),
            fix="Name one of these in cuda.version, or the installer's own address in cuda.archive.",
        )
    if row.lacks:
        raise ConflictError(
            "cuda-runfile-none",
            f"CUDA {row.version} has no runfile for Linux",
            why=(row.lacks, f"wanted: a release that has one, as {_neighbour(row)}", f"source: {row.source}"),
            fix='Take that release, or another provider such as `cuda.from = "wheels"`.',
        )
    return row


def _neighbour(row: CudaRelease) -> str:
    newest = cuda_release(row.minor)
    return newest.version if newest and not newest.lacks else nearest_releases(row.version)[0]


def _assert_can_be_told(cuda: Cuda) -> None:
    """An installer that does not know the options would ask questions that nobody answers."""
    known = installer_options(cuda.version)
    missing = [option for option in NEEDED if option not in known]
    if missing:
        raise ConflictError(
            "cuda-runfile-too-old",
            f"the installer of CUDA {cuda.version} cannot be told what to do",
            why=(f"seen: no {', '.join(missing)} is known for it", "wanted: CUDA 11 or newer"),
            fix="Take CUDA 11 or newer.",
        )


def _assert_name_agrees(cuda: Cuda, machine: str) -> None:
    """An address copied for another release or processor is found now, not after a download of gigabytes."""
    named = _named(cuda)
    wanted = _version(cuda)
    if named is None or (named[1] == wanted and (named[3] or "") == _SUFFIX[machine]):
        return
    raise ConflictError(
        "cuda-archive-differs",
        "cuda.archive names the installer of something else",
        why=(f"seen: {named[0]}", f"wanted: cuda_{wanted}_…_linux{_SUFFIX[machine]}.run, for {machine}"),
        fix="Correct cuda.archive, or cuda.version.",
    )


def _assert_size(cuda: Cuda, machine: str, seen: int | None) -> None:
    """Where nobody named a digest, a page that says "not found" must not be locked as an installer."""
    row = cuda_release(cuda.version)
    runfile = row.runfile(machine) if row else None
    if cuda.archive or cuda.sha256 or row is None or runfile is None:
        return
    if runfile.size is None or seen in (None, runfile.size):
        return
    raise ConflictError(
        "cuda-runfile-size",
        f"what came as {runfile.name} is not as large as it should be",
        why=(f"seen: {seen} bytes", f"wanted: {runfile.size} bytes", f"source: {row.source}"),
        fix="Ask the mirror's owner, or name the digest in cuda.sha256 if this is the file.",
    )
