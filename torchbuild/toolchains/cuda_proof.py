"""Proof of a CUDA toolkit, whoever provided it: what `look_cuda.py` saw, against what the lock asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchbuild.knowledge.cuda_facts import cuda_pairs
from torchbuild.model.finding import Finding, Outcome
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.cuda_environment import cuda_environment
from torchbuild.toolchains.proof import Checks, Seen, Wanted, equal, told

__all__ = ["CHECKS", "complete_request", "completed", "look_request"]

_ABSENT = "nothing"
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
        "versions": part.says,
    }


def completed(answer: Mapping[str, Any]) -> Finding:
    """What ``complete_cuda.py`` printed, as a finding."""
    problems = "; ".join(str(text) for text in answer.get("problems", ("it printed nothing",)))
    made = ", ".join(str(path) for path in answer.get("made", ())) or "nothing was missing"
    outcome: Outcome = "failed" if problems else "passed"
    return told(
        "cuda-completed",
        f"the toolkit, completed: {made}",
        outcome,
        seen=problems or "complete",
        wanted="complete",
    )


def _programs_start(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    programs = seen.get("programs", {})
    dead = [
        f"{name}: {row['said'] or 'does not start'}" for name, row in programs.items() if not row["starts"]
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
    programs = seen.get("programs", {})
    builds = {name: row["build"] or "does not say" for name, row in programs.items()}
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
    steps = [*seen.get("archs", {}).values(), seen.get("probe", {}).get("compiled", {})]
    texts = [str(step["said"]) for step in steps if step.get("code")]
    return texts[0].splitlines()[0][:_SHORT] if texts and texts[0] else ""


def _release(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    said = seen.get("programs", {}).get("nvcc", {}).get("release", "")
    yield equal("cuda-release", "release that nvcc says", said or _ABSENT, _line(part.version))


def _as_locked(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    programs = seen.get("programs", {})
    for name, build in sorted(part.says.items()):
        if name in programs:
            yield equal("cuda-as-locked", f"build of {name}", programs[name]["build"] or _ABSENT, build)


def _headers(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    headers = seen.get("headers", {})
    if not any(path.endswith("/cuda.h") for path in headers):
        yield told("cuda-headers", "cuda.h is not there", "failed", seen=_ABSENT, wanted=_line(part.version))
    for path, release in sorted(headers.items()):
        yield equal(
            "cuda-headers", f"release that {path} declares", release or "does not say", _line(part.version)
        )


def _version_json(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    found = seen.get("version_json", {})
    what = "release that version.json names"
    if not found:
        yield told("cuda-version-json", f"{what}: the provider brings none", "not run")
    elif found["ours"]:
        yield told("cuda-version-json", f"{what}: it was written by torchbuild, from the lock", "not run")
    else:
        same = _is_within(found["release"], part.version)
        yield told(
            "cuda-version-json",
            what,
            "passed" if same else "failed",
            seen=found["release"] or "does not say",
            wanted=part.version,
        )


def _archs(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    lists = seen.get("lists", {})
    listed = {word for words in lists.values() for word in words}
    for text in wanted.archs:
        arch = parse_arch(text)
        asked = {arch.real, arch.virtual}
        done = seen.get("archs", {}).get(text, {})
        compiles = done.get("code") == 0
        is_listed = asked <= listed
        told_by = "nvcc lists it" if is_listed else f"nvcc lists no {' and no '.join(sorted(asked - listed))}"
        word = "a kernel compiles" if compiles else f"no kernel compiles: {_said(done)}"
        outcome: Outcome = "passed" if compiles and is_listed else "warned" if compiles else "failed"
        yield told(
            "cuda-architecture",
            f"architecture {text}",
            outcome,
            seen=f"{word}; {told_by}",
            wanted=f"{arch.real}{' and ' + arch.virtual if arch.has_ptx else ''}",
        )


def _probe(_part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    probe = seen.get("probe", {})
    how = f"with {wanted.cxx} and -std=c++{wanted.standard}"
    compiled, started = probe.get("compiled", {}), probe.get("started", {})
    word = "compiles and links" if compiled.get("code") == 0 else _said(compiled)
    yield equal("cuda-probe", f"cmath, math.h, thrust and cospif {how}", word, "compiles and links")
    if word != "compiles and links":
        yield told("cuda-probe-starts", "the probe was not made, so it was not started", "not run")
        return
    printed = started.get("starts") and "torchbuild probe:" in started.get("said", "")
    yield told(
        "cuda-probe-starts",
        "the probe, started: a machine without a GPU may say so",
        "passed" if printed else "failed",
        seen=_said(started),
        wanted="it prints what the runtime says",
    )


def _stub(_part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    driver = seen.get("driver", {})
    linked = driver.get("linked", {})
    if linked.get("code") != 0:
        where = driver.get("stub") or "no stubs/libcuda.so"
        yield told(
            "cuda-driver-stub",
            "a program that calls the driver, linked with -lcuda",
            "failed",
            seen=f"{where}: {_said(linked)}",
            wanted="it links where there is no driver",
        )
        return
    dynamic = driver.get("dynamic", {})
    if not dynamic:
        yield told("cuda-driver-stub", "the program links; readelf is missing, so it was not read", "not run")
        return
    leaks = [path for path in dynamic["run_paths"] if path]
    good = "libcuda.so.1" in dynamic["needed"] and not leaks
    yield told(
        "cuda-driver-stub",
        f"a program linked with {driver.get('stub') or 'the driver itself'}",
        "passed" if good else "failed",
        seen=f"needs {', '.join(dynamic['needed'])}; run path {', '.join(leaks) or 'none'}",
        wanted="needs libcuda.so.1; run path none",
    )


def _one_path(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    yield equal(
        "cuda-one-path", "the toolkit's directory without links", str(seen.get("real", "")), part.prefix
    )
    names = seen.get("names", {})
    for name, value in cuda_environment(part, wanted.cxx).items():
        given = names.get(name, {}).get("given", _ABSENT)
        yield equal("cuda-one-path", f"{name} of the build", given, value)


def _first_nvcc(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    before = ", ".join(seen["before"]) or "none" if "before" in seen else _ABSENT
    yield equal("cuda-first-nvcc", f"another nvcc in PATH before {part.prefix}/bin", before, "none")


def _pairs(part: LockedPart, wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    glibc = str(seen.get("glibc", ""))
    for pair in cuda_pairs():
        if not pair.raises(torch=wanted.torch, cuda=_line(part.version), glibc=glibc):
            continue
        missing = _lacks(pair.lacks, seen) if pair.lacks else ""
        said = _said(seen.get("probe", {}).get("compiled", {}))
        clash = bool(pair.said) and pair.said in said
        shown = missing or (said if clash else "the probe compiles" if pair.said else "it is there")
        yield told(
            "cuda-suspicion",
            f"{pair.name}: {pair.what} ({pair.source})",
            "failed" if clash else "warned" if missing or pair.said else "passed",
            seen=shown,
            wanted=pair.fix,
        )


def _lacks(name: str, seen: Seen) -> str:
    """What is missing, in words; empty where it is there."""
    libraries = seen.get("libraries", {})
    if name == "nvToolsExt":
        return "" if libraries.get("nvToolsExt") else "no libnvToolsExt.so"
    thrust = str(libraries.get("thrust", ""))
    return "" if thrust.endswith("/include") else f"thrust in {thrust or 'no directory'}"


def _said(step: Mapping[str, Any]) -> str:
    text = str(step.get("said", "")).strip()
    return " ".join(text.split())[-_SHORT:] or (
        f"exit code {step['code']}" if "code" in step else "it was not tried"
    )


def _line(version: str) -> str:
    """``13.0`` of ``13.0.2``: what headers and nvcc can say."""
    return ".".join(version.split(".")[:2])


def _is_within(release: str, version: str) -> bool:
    """Whether a full release is the one that a recipe names, which may leave the last number open."""
    wanted = version.split(".")
    return release.split(".")[: len(wanted)] == wanted


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
}
"""All that is looked at. Order: causes before what follows from them."""
