"""Reports D and E: the wrong NCCL, none at all, two of them; a cuDNN that is too old, half there or overlooked."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reports.shape import Entry
from tests.toolchains.library_samples import guest, lay_nccl, library, ours, recipe
from torchbuild.errors import ConflictError
from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.shim.cache import parse_cache
from torchbuild.shim.gate import compare
from torchbuild.toolchains import library_builder, library_environment, library_proof, nccl_source
from torchbuild.toolchains.library_look import look_request
from torchbuild.toolchains.proof import Wanted, judge
from torchbuild.toolchains.provider import Answers

__all__ = ["ENTRIES", "LATER", "PREVENTIONS"]

WANTED = Wanted(archs=("9.0",), torch="2.6.0", cuda="12.4.1")
NCCL = ours("nccl", "2.21.5")
BUNDLED = LockedPart(
    name="nccl", provider="bundled", version="2.26.2", prefix="/torchbuild/source/build/nccl"
)
CACHE = """\
USE_DISTRIBUTED:BOOL=1
USE_NCCL:BOOL=1
USE_C10D_NCCL:BOOL=ON
USE_SYSTEM_NCCL:BOOL=1
NCCL_INCLUDE_DIRS:PATH=/torchbuild/parts/nccl/include
NCCL_LIBRARIES:FILEPATH=/torchbuild/parts/nccl/lib/libnccl.so
"""


def _look(part: LockedPart, folder: Path, **more: Any) -> dict[str, Any]:
    """What the guest script sees of a part; no other place of this machine is searched."""
    (folder / "cuda").mkdir(exist_ok=True)
    request = look_request(
        part, cuda_home=str(folder / "cuda"), cxx="/usr/bin/g++", scratch=str(folder / "scratch"), **more
    )
    request["roots"] = [root for root in request["roots"] if root["path"].startswith(str(folder))]
    return guest("look_library.py", request, folder)


def _refused(part: LockedPart, folder: Path, reference: str, **more: Any) -> None:
    """The proof refuses what was laid, by this name."""
    found = judge(library_proof.CHECKS, part, WANTED, _look(part, folder, **more))
    _fails(found, reference)


def _fails(found: Iterable[Finding], reference: str) -> None:
    assert "failed" in {item.outcome for item in found if item.reference == reference}, (
        f"{reference} is silent"
    )


def _stopped(parts: Iterable[LockedPart], cache: str, key: str) -> None:
    """The gate refuses a cache, by the name of an entry."""
    rows = [item.model_dump() for item in library_environment.expectations(parts)]
    found = compare(parse_cache(cache), rows)
    failed = {item["what"].partition(" ")[0] for item in found if item["outcome"] == "failed"}
    assert key in failed, f"the gate lets {key} pass"


def _switched_off(_folder: Path) -> None:
    """D1: the summary says OFF although it was asked for."""
    _stopped([NCCL], CACHE.replace("USE_SYSTEM_NCCL:BOOL=1", "USE_SYSTEM_NCCL:BOOL=OFF"), "USE_SYSTEM_NCCL")


def _distribution_linked(_folder: Path) -> None:
    """D2: the distribution's is linked although the tree's own was wanted."""
    cache = CACHE.replace("USE_SYSTEM_NCCL:BOOL=1", "USE_SYSTEM_NCCL:BOOL=OFF")
    _stopped([BUNDLED], cache.replace("/torchbuild/parts/nccl", "/usr"), "NCCL_LIBRARIES")


def _two_releases(folder: Path) -> None:
    """D3: header and library of different releases."""
    prefix = lay_nccl(folder / "nccl", "2.21.5", "2.18.3")
    _refused(ours("nccl", "2.18.3", str(prefix)), folder, "library-header-agrees")


def _none_in_the_tree(_folder: Path) -> None:
    """D4: a tree of 2.7 that brings neither NCCL nor its pin would clone it."""
    pin = library_builder.bundled_answer(late=[("third_party/eigen", "3.4.0")], submodules=[])
    answers = Answers(builder={library_builder.BUNDLED_ANSWER: pin})
    reference = "nothing: a build without a network would clone NCCL"
    try:
        library_builder.BUNDLED["nccl"].part(recipe(nccl=library("", "bundled")), answers)
    except ConflictError as error:
        reference = error.reference
    assert reference == "bundled-nccl-missing"


def _no_header(folder: Path) -> None:
    """D6: a run-time package without headers, so that configure finds none, or another."""
    prefix = lay_nccl(folder / "nccl")
    (prefix / "include" / "nccl.h").unlink()
    _refused(ours("nccl", "2.21.5", str(prefix)), folder, "library-header")
    for place in ("NCCL_LIBRARIES-NOTFOUND", "/usr/local/cuda/lib64/libnccl.so"):
        _stopped([NCCL], CACHE.replace("/torchbuild/parts/nccl/lib/libnccl.so", place), "NCCL_LIBRARIES")


def _old_nccl(folder: Path) -> None:
    """D7: older than what the tree asserts."""
    prefix = lay_nccl(folder / "nccl", "2.6.4")
    _refused(ours("nccl", "2.6.4", str(prefix)), folder, "library-minimum")


def _lost_bit(folder: Path) -> None:
    """D8: generate.py lost its bit, and nvlink would report an undefined reference."""
    device = folder / "source" / "src" / "device"
    device.mkdir(parents=True)
    (device / "generate.py").write_text("#!/usr/bin/env python3\n")
    (device / "generate.py").chmod(0o644)
    request = {"source": str(folder / "source"), "build": str(folder / "build")}
    seen = guest("look_nccl_source.py", request, folder)
    _fails(nccl_source.source_findings(ours("nccl", "2.29.7"), seen), "nccl-source-scripts")


def _jobs(folder: Path) -> None:
    """D9: NCCL's make does not obey MAX_JOBS, or is handed ``-j`` without a number."""
    (folder / "Makefile").write_text("src.%:\n\t@echo 'flags: $(MAKEFLAGS)'\n")
    part = ours("nccl", "2.29.7")
    for command in nccl_source.build_commands(part, ("9.0",), "/usr", "/usr/bin/g++", "3", cuda="12.4"):
        environ = {"MAX_JOBS": "0"} | dict(command.environ)
        done = subprocess.run(
            command.argv, cwd=folder, env=environ, capture_output=True, text=True, check=True
        )
        assert "-j3" in done.stdout.split(), f"the jobs are not ours: {done.stdout.strip()}"


def _two_distributions(folder: Path) -> None:
    """D11: wheels for CUDA 12 and 13 in one environment share one path and soname."""
    for name in ("nvidia_nccl_cu12-2.29.3", "nvidia_nccl_cu13-2.29.7"):
        (folder / "site" / f"{name}.dist-info").mkdir(parents=True)
    part = ours("nccl", "2.29.7", str(lay_nccl(folder / "nccl", "2.29.7")))
    _refused(part, folder, "library-one-distribution", sites=[str(folder / "site")])


def _not_built_in(_folder: Path) -> None:
    """D14: CUDA is on, and distributed or NCCL is off in the result."""
    for old, new, key in (
        ("USE_DISTRIBUTED:BOOL=1", "USE_DISTRIBUTED:BOOL=OFF", "USE_DISTRIBUTED"),
        ("USE_NCCL:BOOL=1", "USE_NCCL:INTERNAL=ON", "USE_NCCL"),
        ("USE_C10D_NCCL:BOOL=ON\n", "", "USE_C10D_NCCL"),
    ):
        _stopped([NCCL], CACHE.replace(old, new), key)


def _lay_cudnn(prefix: Path, version: str, *, whole: bool = True) -> LockedPart:
    """Headers as cuDNN has had them since 8, with or without the one that holds the version."""
    (prefix / "include").mkdir(parents=True)
    (prefix / "lib").mkdir()
    (prefix / "include" / "cudnn.h").write_text('#include "cudnn_version.h"\n')
    macros = zip(("MAJOR", "MINOR", "PATCHLEVEL"), version.split("."), strict=False)
    text = "".join(f"#define CUDNN_{name} {value}\n" for name, value in macros)
    if whole:
        (prefix / "include" / "cudnn_version.h").write_text(text)
    (prefix / "lib" / "libcudnn.so").write_bytes(b"")
    return ours("cudnn", version, str(prefix))


def _no_version(folder: Path) -> None:
    """E1: ``Found cuDNN: v?``, because the header that holds the version is not beside the other."""
    _refused(_lay_cudnn(folder / "cudnn", "8.9.7", whole=False), folder, "library-header")


def _names_of_results(_folder: Path) -> None:
    """E2: the names that the message prints are not those that are read."""
    env = {"CUDNN_LIBRARY_PATH": "/opt/cudnn/lib64/libcudnn.so", "CUDNN_INCLUDE_PATH": "/opt/cudnn/include"}
    named = {item.path: item.suggestion for item in library_environment.problems(recipe(build={"env": env}))}
    assert named == {
        "build.env.CUDNN_LIBRARY_PATH": "CUDNN_LIBRARY",
        "build.env.CUDNN_INCLUDE_PATH": "CUDNN_INCLUDE_DIR",
    }


def _a_directory(folder: Path) -> None:
    """E3: ``file not recognized: Is a directory`` at the end of the build."""
    part = _lay_cudnn(folder / "cudnn", "9.1.0")
    (folder / "cudnn" / "lib" / "libcudnn.so").unlink()
    (folder / "cudnn" / "lib" / "libcudnn.so").mkdir()
    _refused(part, folder, "library-file")


def _old_cudnn(folder: Path) -> None:
    """E4: ``CUDNN_DATA_INT64 was not declared``."""
    _refused(_lay_cudnn(folder / "cudnn", "8.0.5"), folder, "library-minimum")


def _nothing(*_arguments: object, **_named: object) -> Iterator[Any]:
    return iter(())


def _off(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """One check of a library is taken away."""
    return lambda patch: patch.delitem(library_proof.CHECKS, name)


def _no_switches(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(library_environment, "switches", lambda *_: {})


def _no_places(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(library_environment, "_places", _nothing)


def _no_absence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(library_environment, "_absent", _nothing)


def _no_names(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(library_environment, "_environment_problems", _nothing)


def _believed_tree(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(library_builder, "bundled_answer", lambda *_, **__: "v2.26.2-1")


def _no_scripts(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(nccl_source.SOURCE_CHECKS, "scripts")


def _no_jobs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(nccl_source, "_jobs", lambda _: ())


ENTRIES: dict[str, Entry] = {
    "D1": Entry(_switched_off, ("library-switches",), "USE_SYSTEM_NCCL that did not arrive stops configure."),
    "D2": Entry(_distribution_linked, ("library-absent",), "A bundled NCCL is not silently another one."),
    "D3": Entry(_two_releases, ("library-header-agrees",), "Header and library are of one release."),
    "D4": Entry(_none_in_the_tree, ("bundled-nccl",), "A tree without NCCL is refused before it clones it."),
    "D6": Entry(
        _no_header,
        ("library-header", "library-places"),
        "A library without its header is refused at once, and configure finds the locked one alone.",
    ),
    "D7": Entry(_old_nccl, ("library-minimum",), "An NCCL that the tree cannot use is refused at once."),
    "D8": Entry(_lost_bit, ("nccl-source-scripts",), "Scripts that lost their bit are named."),
    "D9": Entry(_jobs, ("nccl-jobs",), "NCCL is built with the machine's number of jobs."),
    "D11": Entry(_two_distributions, ("library-one-distribution",), "One NCCL an environment."),
    "D14": Entry(_not_built_in, ("library-switches",), "NCCL asked for is NCCL built in."),
    "E1": Entry(_no_version, ("library-header",), "A cuDNN whose version cannot be read is refused."),
    "E2": Entry(_names_of_results, ("library-names",), "A variable that nothing reads is named."),
    "E3": Entry(_a_directory, ("library-file",), "A directory is never handed to the linker as a library."),
    "E4": Entry(_old_cudnn, ("library-minimum",), "A cuDNN that the tree cannot use is refused at once."),
}
"""By the report's number."""

PREVENTIONS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "bundled-nccl": _believed_tree,
    "library-absent": _no_absence,
    "library-file": _off("file"),
    "library-header": _off("header"),
    "library-header-agrees": _off("header-agrees"),
    "library-minimum": _off("minimum"),
    "library-names": _no_names,
    "library-one-distribution": _off("one-distribution"),
    "library-places": _no_places,
    "library-switches": _no_switches,
    "nccl-jobs": _no_jobs,
    "nccl-source-scripts": _no_scripts,
}
"""Each takes one check or behaviour away."""

LATER: dict[str, str] = {
    "D5": "fetch: a pinned commit that no branch holds is fetched by itself, or refused there",
    "D12": "inspection of the wheel: an undefined symbol of torch's own; smoke: import",
    "D13": "inspection of the wheel: libnccl.so.2 needed and neither in it nor required",
    "D15": "inspection of the wheel: NCCL linked statically, told beside the version that it has",
    "E5": "inspection of the wheel: libcudnn.so.N needed and no RPATH that leads to it",
}
"""Reports whose trap shows in a later stage alone."""
