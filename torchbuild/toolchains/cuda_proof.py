"""Proof of a CUDA toolkit, whoever provided it: what `look_cuda.py` saw, against what the lock asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchbuild.knowledge.cuda_facts import cuda_pairs
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.cuda_environment import cuda_environment
from torchbuild.toolchains.proof import Checks, Seen, Wanted, equal, lines, number, rows, table, text, told
from torchbuild.toolchains.torch_tree import TreeAsks, toolkit_has

__all__ = ["CHECKS", "complete_request", "completed", "look_request"]

_ABSENT = "nothing"
_TREE = "tree-"
"""How what was read of the tree begins, among what the lock says of the toolkit."""
_LINKS, _KNOWS = f"{_TREE}links-tools-ext", f"{_TREE}knows-cccl"
_SHORT = 400
"""Characters of what a program said that a finding shows."""


def look_request(
    part: LockedPart, wanted: Wanted, environment: Mapping[str, str], scratch: str
) -> dict[str, Any]:
    """What ``look_cuda.py`` is asked. `environment` is the build's, whole."""
    return {
        "prefix": part.prefix,
        "cxx": wanted.cxx,
        "standard": wanted.standard,
        "archs": list(wanted.archs),
        "environment": dict(environment),
        "scratch": scratch,
    }


def complete_request(part: LockedPart, cc: str, scratch: str) -> dict[str, Any]:
    """What ``complete_cuda.py`` is asked; only for a part that we lay ourselves."""
    return {
        "prefix": part.prefix,
        "cc": cc,
        "scratch": scratch,
        "release": part.version,
        "versions": _programs_of(part),
    }


def _programs_of(part: LockedPart) -> dict[str, str]:
    """What the lock says of programs; the rest of its words is about the tree."""
    return {name: build for name, build in part.says.items() if not name.startswith(_TREE)}


def completed(answer: Mapping[str, Any]) -> Finding:
    """What ``complete_cuda.py`` printed, as a finding."""
    made, problems = lines(answer, "made"), lines(answer, "problems")
    if made is None or problems is None:
        said = "it printed nothing that can be read"
        return told("cuda-completed", "the toolkit, completed", "failed", seen=said, wanted="complete")
    outcome: Outcome = "failed" if problems else "passed"
    return told(
        "cuda-completed",
        f"the toolkit, completed: {', '.join(made) or 'nothing was missing'}",
        outcome,
        seen="; ".join(problems) if problems else "complete",
        wanted="complete",
    )


def _programs_start(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    programs = rows(seen, "programs")
    dead = [
        f"{name}: {text(row, 'said') or 'does not start'}"
        for name, row in programs.items()
        if row.get("starts") is not True
    ]
    dead += [] if programs else ["nothing was started"]
    names = ", ".join(programs) or _ABSENT
    yield equal(
        "cuda-programs-start",
        f"the toolkit's programs, started: {names}",
        "; ".join(dead) or "all start",
        "all start",
    )


def _one_release(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    builds = {name: text(row, "build") or "does not say" for name, row in rows(seen, "programs").items()}
    said = ", ".join(f"{name} {build}" for name, build in builds.items()) or _ABSENT
    mixed = len(set(builds.values())) != 1 or "does not say" in builds.values()
    cause = _word_of_compiler(seen) if mixed else ""
    what = "all programs of the toolkit say one release" + (f" (the compiler: {cause})" if cause else "")
    yield told(
        "cuda-one-release",
        what,
        "failed" if mixed else "passed",
        seen=said,
        wanted=f"one build of {part.version}",
    )


def _word_of_compiler(seen: Seen) -> str:
    """The first thing that nvcc said when it failed."""
    steps = [*rows(seen, "archs").values(), table(table(seen, "probe"), "compiled")]
    texts = [text(step, "said") for step in steps if step and not _is_zero(step)]
    return texts[0].strip().split("\n")[0][:_SHORT] if texts else ""


def _is_zero(step: Mapping[str, Any]) -> bool:
    return number(step.get("code")) == 0


def _release(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    said = text(table(table(seen, "programs"), "nvcc"), "release")
    yield equal("cuda-release", "release that nvcc says", said or _ABSENT, _line(part.version))


def _as_locked(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    programs = rows(seen, "programs")
    for name, build in sorted(_programs_of(part).items()):
        if name in programs:
            yield equal("cuda-as-locked", f"build of {name}", text(programs[name], "build") or _ABSENT, build)
        else:
            what = f"build of {name}: no program of that name was looked at"
            yield told("cuda-as-locked", what, "not run", wanted=build)


def _headers(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    headers = table(seen, "headers")
    if not any(str(path).endswith("/cuda.h") for path in headers):
        yield told("cuda-headers", "cuda.h is not there", "failed", seen=_ABSENT, wanted=_line(part.version))
    for path in sorted(headers, key=str):
        release = text(headers, path) or "does not say"
        yield equal("cuda-headers", f"release that {path} declares", release, _line(part.version))


def _version_json(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    found = table(seen, "version_json")
    what = "release that version.json names"
    if not found:
        yield told("cuda-version-json", f"{what}: the provider brings none", "not run")
    elif found.get("ours") is True:
        yield told("cuda-version-json", f"{what}: it was written by torchbuild, from the lock", "not run")
    elif found.get("ours") is not False:
        yield told("cuda-version-json", f"{what}: nothing says who wrote it", "not run")
    else:
        release = text(found, "release")
        yield told(
            "cuda-version-json",
            what,
            "passed" if _is_within(release, part.version) else "failed",
            seen=release or "does not say",
            wanted=part.version,
        )


def _archs(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    lists = table(seen, "lists")
    listed = {word for key in lists for word in lines(lists, key) or ()}
    for item in wanted.archs:
        arch = parse_arch(item)
        asked = {arch.real, arch.virtual}
        done = table(table(seen, "archs"), item)
        compiles = _is_zero(done)
        is_listed = asked <= listed
        told_by = "nvcc lists it" if is_listed else f"nvcc lists no {' and no '.join(sorted(asked - listed))}"
        word = "a kernel compiles" if compiles else f"no kernel compiles: {_said(done)}"
        outcome: Outcome = "passed" if compiles and is_listed else "warned" if compiles else "failed"
        yield told(
            "cuda-architecture",
            f"architecture {item}",
            outcome,
            seen=f"{word}; {told_by}",
            wanted=f"{arch.real}{' and ' + arch.virtual if arch.has_ptx else ''}",
        )


def _probe(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    probe = table(seen, "probe")
    how = f"with {wanted.cxx} and -std=c++{wanted.standard}"
    compiled, started = table(probe, "compiled"), table(probe, "started")
    outcome: Outcome = "passed" if _is_zero(compiled) else "failed"
    what, word = f"cmath, math.h, thrust and cospif {how}", "compiles and links"
    yield told(
        "cuda-probe", what, outcome, seen=word if outcome == "passed" else _said(compiled), wanted=word
    )
    if outcome == "failed":
        yield told("cuda-probe-starts", "the probe was not made, so it was not started", "not run")
        return
    printed = started.get("starts") is True and "torchbuild probe:" in text(started, "said")
    yield told(
        "cuda-probe-starts",
        "the probe, started: a machine without a GPU may say so",
        "passed" if printed else "failed",
        seen=_said(started),
        wanted="it prints what the runtime says",
    )


def _stub(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    driver = table(seen, "driver")
    linked, where = table(driver, "linked"), text(driver, "stub")
    if not _is_zero(linked):
        yield told(
            "cuda-driver-stub",
            "a program that calls the driver, linked with -lcuda",
            "failed",
            seen=f"{where or 'no stubs/libcuda.so'}: {_said(linked)}",
            wanted="it links where there is no driver",
        )
        return
    dynamic = table(driver, "dynamic")
    needed, run_paths = lines(dynamic, "needed"), lines(dynamic, "run_paths")
    if needed is None or run_paths is None:
        what = "the program links; readelf is missing or printed nothing known, so it was not read"
        yield told("cuda-driver-stub", what, "not run")
        return
    leaks = [path for path in run_paths if path]
    good = "libcuda.so.1" in needed and not leaks
    yield told(
        "cuda-driver-stub",
        f"a program linked with {where or 'the driver itself'}",
        "passed" if good else "failed",
        seen=f"needs {', '.join(needed)}; run path {', '.join(leaks) or 'none'}",
        wanted="needs libcuda.so.1; run path none",
    )


def _one_path(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    real = text(seen, "real") or _ABSENT
    yield equal("cuda-one-path", "the toolkit's directory without links", real, part.prefix)
    names = table(seen, "names")
    for name, value in cuda_environment(part, wanted.cxx).items():
        given = text(table(names, name), "given") or _ABSENT
        yield equal("cuda-one-path", f"{name} of the build", given, value)


def _first_nvcc(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    before, what = lines(seen, "before"), f"another nvcc in PATH before {part.prefix}/bin"
    outcome: Outcome = "passed" if before == () else "failed"
    shown = "nobody looked" if before is None else ", ".join(before) or "none"
    yield told("cuda-first-nvcc", what, outcome, seen=shown, wanted="none")


def _pairs(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    glibc, cuda = text(seen, "glibc"), _line(part.version)
    compiled = table(table(seen, "probe"), "compiled")
    for pair in cuda_pairs():
        anywhere = pair.model_copy(update={"glibc": ""})
        if not glibc and pair.glibc and anywhere.raises(torch=wanted.torch, cuda=cuda, glibc=""):
            what = f"{pair.name}: the C library's version is not known"
            yield told("cuda-suspicion", what, "not run", wanted=pair.glibc)
        if not pair.raises(torch=wanted.torch, cuda=cuda, glibc=glibc):
            continue
        missing = _lacks(pair.lacks, seen) if pair.lacks else ""
        said = "the probe compiles" if _is_zero(compiled) else _said(compiled)
        clash = bool(pair.said) and pair.said in said
        yield told(
            "cuda-suspicion",
            f"{pair.name}: {pair.what} ({pair.source})",
            "failed" if clash else "warned" if missing or pair.said else "passed",
            seen=missing or (said if pair.said else "it is there"),
            wanted=pair.fix,
        )


def _lacks(name: str, seen: Seen) -> str:
    """What is missing, in words; empty where it is there."""
    libraries = table(seen, "libraries")
    if name == "nvToolsExt":
        return "" if text(libraries, "nvToolsExt") else "no libnvToolsExt.so"
    thrust = text(libraries, "thrust")
    return "" if thrust.endswith("/include") else f"thrust in {thrust or 'no directory'}"


def _tree(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    """What the tree links and includes, by what was read of it when it was locked."""
    links, knows = part.says.get(_LINKS), part.says.get(_KNOWS)
    if links is None and knows is None:
        return
    asks = TreeAsks(links_tools_ext=links == "yes", knows_cccl=knows == "yes")
    libraries = table(seen, "libraries")
    yield from toolkit_has(asks, {"libraries": {str(key): text(libraries, key) for key in libraries}})


def _said(step: Mapping[str, Any]) -> str:
    words = " ".join(text(step, "said").split())
    code = number(step.get("code"))
    return words[-_SHORT:] or ("it was not tried" if code is None else f"exit code {code}")


def _line(version: str) -> str:
    """``13.0`` of ``13.0.2``: what headers and nvcc can say."""
    return ".".join(version.split(".")[:2])


def _is_within(release: str, version: str) -> bool:
    """Whether a full release is the one that a recipe names, which may leave the last number open."""
    wanted = version.split(".")
    return bool(version) and release.split(".")[: len(wanted)] == wanted


CHECKS: Checks = {
    "programs": _programs_start,
    "one-release": _one_release,
    "release": _release,
    "as-locked": _as_locked,
    "headers": _headers,
    "version-json": _version_json,
    "architectures": _archs,
    "probe": _probe,
    "stub": _stub,
    "one-path": _one_path,
    "first-nvcc": _first_nvcc,
    "pairs": _pairs,
    "tree": _tree,
}
"""All that is looked at. Order: causes before what follows from them."""
