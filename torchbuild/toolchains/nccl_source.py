"""Provider ``source`` of NCCL: its archive, built by its own make for the recipe's architectures alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torchbuild.errors import ConflictError
from torchbuild.knowledge.nccl_source import own_lists
from torchbuild.model.command import Command
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.gpu_arch import parse_arch, wanted_sass
from torchbuild.model.part import LockedPart, LockedPiece, prefix_of
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.library_wish import cuda_major, library_of, same_release, version_wish
from torchbuild.toolchains.proof import text, told
from torchbuild.toolchains.provider import Answers, Question, Questions

__all__ = [
    "BUILD",
    "JOBS",
    "SOURCE",
    "SOURCE_CHECKS",
    "STRIP",
    "build_commands",
    "built_sass",
    "gencode",
    "log_findings",
    "part",
    "questions",
    "source_findings",
]

SOURCE = "{work}/parts-build/nccl/source"
"""Where the archive is unpacked."""
BUILD = "{work}/parts-build/nccl/build"
"""Where it is built."""
JOBS = "{jobs}"
"""Stands for the number of compilers at a time, which is the machine's."""
STRIP = 1
"""Archives of the source hold one folder."""
_SAID = re.compile(r"^NVCC_GENCODE is (?P<gencode>.*)$", re.MULTILINE)
_ENVIRON = {"HOME": "{work}/home", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "{work}/tmp"}


def questions(recipe: Recipe) -> Questions:
    """The archive of the source.

    Raises:
        ConflictError: ``nccl-source-unnamed``.
    """
    locator, sha256 = _archive(recipe)
    return Questions(files=(Question(locator=locator, sha256=sha256),))


def part(recipe: Recipe, answers: Answers) -> LockedPart:
    """The archive as a piece that is built.

    Raises:
        ConflictError: as `questions`.
    """
    locator, _ = _archive(recipe)
    piece = LockedPiece(artifact=answers.files[locator], how="source", strip=STRIP)
    version = version_wish("nccl", recipe)
    return LockedPart(
        name="nccl", provider="source", version=version, prefix=prefix_of("nccl"), pieces=(piece,)
    )


def _archive(recipe: Recipe) -> tuple[str, str]:
    cuda_major("nccl", recipe)
    version_wish("nccl", recipe)
    wish = library_of("nccl", recipe)
    if wish is None or not wish.archive:
        raise ConflictError(
            "nccl-source-unnamed",
            "the recipe builds NCCL and does not name its source",
            why=("seen no nccl.archive", "wanted a locator; no publisher's archive is known beforehand"),
            fix='Set nccl.archive, such as "debian:sid/nvidia-nccl/nvidia-nccl_2.29.7-1.orig.tar.gz".',
        )
    return wish.archive, wish.sha256 or ""


def gencode(archs: Iterable[str]) -> str:
    """What ``NVCC_GENCODE`` must be: the recipe's architectures and nothing else, machine code before PTX."""
    items = sorted({parse_arch(text) for text in archs})
    real = [f"-gencode=arch={item.virtual},code={item.real}" for item in items]
    virtual = [f"-gencode=arch={item.virtual},code={item.virtual}" for item in items if item.has_ptx]
    return " ".join(dict.fromkeys(real + virtual))


def build_commands(
    part: LockedPart,
    archs: Iterable[str],
    cuda_home: str,
    cxx: str,
    jobs: str = JOBS,
    *,
    cuda: str,
    cuda_lib: str = "",
) -> tuple[Command, ...]:
    """Build and install into the part's prefix, in one: a second make compiles a fifth of it again.

    Nothing of the caller's environment is seen.

    Args:
        part: the locked part.
        archs: as in the recipe.
        cuda_home: the toolkit, absolute.
        cxx: the host compiler, absolute.
        jobs: how many compilers at a time, always handed over.
        cuda: release of the toolkit.
        cuda_lib: where ``libcudart_static.a`` is; by default ``lib64`` of the toolkit.
    """
    wanted = gencode(archs)
    variables = (
        f"CUDA_HOME={cuda_home}",
        f"CUDA_INC={cuda_home}/include",
        f"CUDA_LIB={cuda_lib or cuda_home + '/lib64'}",
        f"NVCC={cuda_home}/bin/nvcc",
        f"CXX={cxx}",
        f"NVCC_GENCODE={wanted}",
        *(f"{row.variable}={wanted}" for row in own_lists(cuda) if not row.sass),
        f"BUILDDIR={BUILD}",
        f"PREFIX={part.prefix}",
    )
    argv = ("/usr/bin/make", *_jobs(jobs), "src.install", *variables)
    return (Command(argv=argv, cwd=SOURCE, environ=tuple(sorted(_ENVIRON.items()))),)


def built_sass(archs: Iterable[str], cuda: str) -> tuple[str, ...]:
    """The machine code that the library must turn out to hold, its makefile's own additions included."""
    own = (name for row in own_lists(cuda) for name in row.sass)
    return tuple(sorted({*wanted_sass(archs), *own}))


def _jobs(jobs: str) -> tuple[str, ...]:
    """By itself its make takes none from MAX_JOBS, and starts one job, or as many as it likes."""
    return (f"-j{jobs}",)


def source_findings(part: LockedPart, seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether the unpacked source can be built, before it is: judged from ``look_nccl_source``."""
    for check in SOURCE_CHECKS.values():
        yield from check(part, seen)


def _scripts(_part: LockedPart, seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Without them nvlink reports an undefined reference, and nothing names the reason."""
    scripts = _answers(seen, "scripts")
    lost = sorted(path for path, can in scripts.items() if not can)
    what = "scripts that NCCL's make starts"
    if not scripts:
        yield told(
            "nccl-source-scripts", f"{what}: none was found", "failed", seen="none", wanted="all of them"
        )
    elif lost:
        shown = f"not executable: {', '.join(lost)}"
        yield told("nccl-source-scripts", what, "failed", seen=shown, wanted="all executable")
    else:
        shown = f"{len(scripts)} executable"
        yield told("nccl-source-scripts", what, "passed", seen=shown, wanted="all executable")


def _noexec(_part: LockedPart, seen: Mapping[str, Any]) -> Iterator[Finding]:
    places = _answers(seen, "starts")
    stuck = sorted(path for path, can in places.items() if not can)
    what = "whether a script can be started where NCCL is unpacked and built"
    wanted = "in each: no noexec mount"
    if not places:
        yield told("nccl-source-noexec", f"{what}: nobody tried", "not run")
    elif stuck:
        shown = f"not in {', '.join(stuck)}"
        yield told("nccl-source-noexec", what, "failed", seen=shown, wanted=wanted)
    else:
        yield told("nccl-source-noexec", what, "passed", seen="in each", wanted=wanted)


def _version(part: LockedPart, seen: Mapping[str, Any]) -> Iterator[Finding]:
    version = text(seen, "version")
    outcome: Outcome = "passed" if same_release(version, part.version) else "failed"
    what = "makefiles/version.mk of NCCL"
    yield told("nccl-source-version", what, outcome, seen=version or "nothing", wanted=part.version)


def _answers(seen: Mapping[str, Any], key: str) -> dict[str, bool]:
    found = seen.get(key)
    return {str(path): can is True for path, can in found.items()} if isinstance(found, Mapping) else {}


SOURCE_CHECKS: dict[str, Callable[[LockedPart, Mapping[str, Any]], Iterator[Finding]]] = {
    "scripts": _scripts,
    "noexec": _noexec,
    "version": _version,
}
"""Of the source, before it is built."""


def log_findings(archs: Iterable[str], log: str) -> Iterator[Finding]:
    """Whether its make used the recipe's list, as it says itself in each of its folders."""
    wanted, said = gencode(archs), [found["gencode"].strip() for found in _SAID.finditer(log)]
    what = "the list of architectures that NCCL's make says it compiles for"
    other = next((text for text in said if set(text.split()) != set(wanted.split())), "")
    if not said:
        yield told("nccl-source-gencode", f"{what}: it says none", "not run", wanted=wanted)
    else:
        outcome: Outcome = "failed" if other else "passed"
        yield told("nccl-source-gencode", what, outcome, seen=other or said[0], wanted=wanted)
