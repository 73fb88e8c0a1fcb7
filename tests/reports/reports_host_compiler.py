"""Reports B: a host compiler too new, too old or known to break, and C library headers that contradict."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reports.shape import Entry
from tests.toolchains.compilers_seen import compiler, seen
from torchbuild.errors import ConflictError
from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.shim.cache import Entry as CacheEntry
from torchbuild.shim.gate import compare
from torchbuild.toolchains import host_compiler, host_compiler_names, host_compiler_proof
from torchbuild.toolchains.host_compiler import Chosen, Named
from torchbuild.toolchains.host_compiler_seen import Builder, builder_of
from torchbuild.toolchains.proof import Wanted, judge

__all__ = ["ENTRIES", "LATER", "PREVENTIONS"]

LOOK = Path(__file__).parents[2] / "torchbuild" / "shim" / "look_compilers.py"
HEADER = (
    "#if defined(__CUDACC__)\n#if __GNUC__ > {most}\n#error -- unsupported GNU version!\n#endif\n#endif\n"
)
PART = LockedPart(name="cuda", provider="system", version="", prefix="/usr/local/cuda")


def _look(tmp_path: Path, **request: str) -> dict[str, Any]:
    """This machine's own compilers, as a build would find them."""
    asked = tmp_path / "request.json"
    asked.write_text(json.dumps({"scratch": str(tmp_path / "scratch")} | request), encoding="utf-8")
    argv = [sys.executable, "-I", str(LOOK), str(asked)]
    told: dict[str, Any] = json.loads(
        subprocess.run(argv, capture_output=True, check=True, timeout=300).stdout
    )
    return told


def _toolkit(tmp_path: Path, most: int) -> str:
    """A toolkit whose header takes gcc up to `most`."""
    header = tmp_path / "cuda" / "include" / "crt" / "host_config.h"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER.format(most=most), encoding="utf-8")
    return str(tmp_path / "cuda")


def _judged(
    told: dict[str, Any],
    reference: str,
    *,
    cuda: str,
    torch: str,
    machine: str = "x86_64",
    cxx: str = "/usr/bin/g++",
) -> tuple[Finding, ...]:
    """What the proof says under one reference."""
    wanted = Wanted(cxx=cxx, cuda=cuda, torch=torch, machine=machine)
    return tuple(
        item for item in judge(host_compiler_proof.CHECKS, PART, wanted, told) if item.reference == reference
    )


def _outcomes(told: dict[str, Any], reference: str, **asked: str) -> set[str]:
    return {item.outcome for item in _judged(told, reference, **asked)}


def _chosen(builder: Builder, *, cuda: str, torch: str, machine: str = "x86_64", named: str = "") -> Chosen:
    limits = host_compiler.limits_of(builder, cuda=cuda, torch=torch, machine=machine)
    return host_compiler.choose(builder, limits, Named(cxx=named))


def _refusal(told: dict[str, Any], **asked: str) -> str:
    """The refusal as people read it; empty where there is none."""
    try:
        _chosen(builder_of(told), **asked)
    except ConflictError as error:
        return f"{error.reference}: {'; '.join(error.why)}; {error.fix}"
    return ""


def _one(version: str, **changed: Any) -> dict[str, Any]:
    """A builder whose only compiler is g++ of a version."""
    row = compiler("g++", version=version, machine=changed.pop("machine", "x86_64"))
    return seen(row, most=changed.pop("most", None), **changed)


def _kernel(said: str) -> dict[str, Any]:
    return {"code": 2 if said else 0, "said": said, "cxx": "/usr/bin/g++"}


def b1(tmp_path: Path) -> None:
    """This machine's g++ and a toolkit whose header stops at the gcc before it: refused when it is locked."""
    said = subprocess.run(
        ["/usr/bin/g++", "-dumpversion"], capture_output=True, text=True, check=True, timeout=60
    )
    major = int(said.stdout.split(".")[0])
    cuda = _toolkit(tmp_path, major - 1)
    told = _look(tmp_path, cxx="g++", cuda=cuda)

    refused = _refusal(
        told | {"distribution": {"id": "debian", "release": "13"}}, cuda="12.0.1", torch="2.5.0", named="g++"
    )
    assert refused.startswith("host-compiler-refused")
    assert f"gcc <{major}" in refused
    assert "unsupported GNU version" in refused
    assert "failed" in _outcomes(told, "cuda-host-compiler-limit", cuda="12.0", torch="2.5.0")


def b2(_tmp_path: Path) -> None:
    """CUDA 12.4 is asked for, and an older toolkit's header lies where its own should."""
    told = _one("11.4.0", most=11)

    (found,) = _judged(told, "cuda-host-config-release", cuda="12.4", torch="2.6.0") or (None,)
    assert found is not None
    assert found.outcome == "warned"
    assert (found.seen, "gcc <14" in found.wanted) == ("gcc <12", True)


def b3(_tmp_path: Path) -> None:
    """The table of torch refuses gcc 14 for CUDA 12.8 and nvcc takes it: taken, and said."""
    told = _one("14.2.0", most=14)

    chosen = _chosen(builder_of(told), cuda="12.8.1", torch="2.11.0")
    assert chosen.cxx == "/usr/bin/g++"
    assert any("torch's own table" in warning for warning in chosen.warnings)
    assert _outcomes(told, "torch-extension-compilers", cuda="12.8", torch="2.11.0") == {"warned"}


def b4(_tmp_path: Path) -> None:
    """With glibc 2.41 and CUDA 12.8, a kernel that breaks is told with the cause, and no compiler is advised."""
    said = 'mathcalls.h(79): error: exception specification is incompatible with that of previous function "cospi"'
    told = _one("13.3.0", most=14, glibc="2.41", device=_kernel(said))

    (found,) = _judged(told, "cuda-glibc-headers", cuda="12.8", torch="2.7.0") or (None,)
    assert found is not None
    assert found.outcome == "failed"
    assert said in found.seen
    assert "no other compiler helps" in found.wanted
    patched = _one("13.3.0", most=14, glibc="2.41", device=_kernel(""))
    assert _outcomes(patched, "cuda-glibc-headers", cuda="12.8", torch="2.7.0") == {"warned"}


def b4_rsqrt(_tmp_path: Path) -> None:
    """From 2.42 on glibc declares rsqrt too, and CUDA 13.0 and 13.1 do not know that."""
    said = 'error: exception specification is incompatible with that of previous function "rsqrt"'
    told = _one("13.3.0", most=15, glibc="2.42", device=_kernel(said))

    assert _outcomes(told, "cuda-glibc-headers", cuda="13.0", torch="2.9.0") == {"failed"}


def b6(_tmp_path: Path) -> None:
    """With gcc 11 and CUDA 11.5: both limits allow it, and nvcc cannot read gcc 11's headers."""
    said = "std_function.h:435:145: error: parameter packs not expanded with '...'"
    told = _one("11.2.0", most=11, device=_kernel(said))

    assert _outcomes(told, "cuda-host-compiler-pair", cuda="11.5", torch="1.13.1") == {"failed"}
    both = seen(compiler("g++", version="11.2.0"), compiler("g++-10", version="10.2.1"), most=11)
    assert _chosen(builder_of(both), cuda="11.5.2", torch="1.13.1").cxx == "/usr/bin/g++-10"


def b9(_tmp_path: Path) -> None:
    """A gcc 8 for a tree that stops below 9.3; gcc 10 for CUDA 13's CCCL."""
    old = _one("8.5.0", most=13)

    assert ">=9.3" in _refusal(old, cuda="12.4.1", torch="2.6.0")
    assert _outcomes(old, "torch-host-compiler", cuda="12.4", torch="2.6.0") == {"failed"}
    ten = _one("10.2.1", most=15, device=_kernel("internal compiler error: in tsubst_pack_expansion"))
    assert "failed" in _outcomes(ten, "cuda-host-compiler-pair", cuda="13.0", torch="2.9.0")


def b10(_tmp_path: Path) -> None:
    """CC and CXX are good, and nvcc would take the first g++ on PATH."""
    cxx = "/usr/bin/g++-12"
    environ = host_compiler_names.compiler_environment("/usr/bin/gcc-12", cxx, {})
    for name in ("CXX", "CUDAHOSTCXX", "CMAKE_CUDA_HOST_COMPILER", "CUDA_HOST_COMPILER", "NVCC_CCBIN"):
        assert environ.get(name) == cxx, name
    assert environ["NVCC_PREPEND_FLAGS"] == f"-ccbin {cxx}"
    cache = {"CMAKE_CXX_COMPILER": CacheEntry(type="FILEPATH", value=cxx)}
    cache["CMAKE_CUDA_HOST_COMPILER"] = CacheEntry(type="FILEPATH", value="")
    rows = [item.model_dump() for item in host_compiler_names.compiler_expectations(cxx)]
    assert "failed" in {item["outcome"] for item in compare(cache, rows)}


def b11(_tmp_path: Path) -> None:
    """aarch64: gcc 11.5 crashes on SVE code, where 11.4 does not; 13.1 fails on BF16."""
    rows = [
        compiler("g++", version="11.5.0", machine="aarch64"),
        compiler("g++-11.4", version="11.4.0", machine="aarch64"),
    ]
    chosen = _chosen(builder_of(seen(*rows, most=13)), cuda="12.4.1", torch="2.6.0", machine="aarch64")
    assert chosen.cxx == "/usr/bin/g++-11.4"
    for version in ("11.5.0", "13.1.0"):
        told = _one(version, most=13, machine="aarch64")
        outcomes = _outcomes(told, "cuda-host-compiler-pair", cuda="12.4", torch="2.6.0", machine="aarch64")
        assert outcomes == {"warned"}, version


def b_libstdcxx(tmp_path: Path) -> None:
    """A compiler whose programs do not link or start, as with another one's libstdc++: told before a build."""
    cxx = tmp_path / "g++-99"
    cxx.write_text(
        '#!/bin/sh\ncase " $* " in *" -o "*) echo "undefined reference to \'std::thread::_State::~_State()\'" >&2; '
        'exit 1;; *) exec /usr/bin/g++ "$@";; esac\n',
        encoding="utf-8",
    )
    cxx.chmod(0o755)
    told = _look(tmp_path, cxx=str(cxx))

    assert "std::thread::_State" in _refusal(told, cuda="12.4.1", torch="2.6.0", named=str(cxx))
    assert _outcomes(told, "cuda-host-compiler", cuda="12.4", torch="2.6.0", cxx=str(cxx)) == {"failed"}


ENTRIES: dict[str, Entry] = {
    "B1": Entry(
        b1, ("host-compiler-limit",), "A compiler that nvcc would refuse is refused before anything is built."
    ),
    "B2": Entry(
        b2, ("host-config-release",), "Another toolkit's header where this one's should be is noticed."
    ),
    "B3": Entry(
        b3, ("torch-third-opinion",), "Where torch's table and nvcc differ, nvcc counts and both are shown."
    ),
    "B4": Entry(b4, ("glibc-headers",), "A C library that contradicts the toolkit is named as the cause."),
    "B4-rsqrt": Entry(b4_rsqrt, ("glibc-headers",), "The next such function is known as well."),
    "B6": Entry(
        b6, ("bad-pairs",), "A pair that breaks within all limits is not chosen, and named where it broke."
    ),
    "B9": Entry(
        b9, ("torch-minimum", "bad-pairs"), "A compiler that is too old for the tree is refused at once."
    ),
    "B10": Entry(b10, ("one-host-compiler",), "nvcc uses the compiler that everything else uses."),
    "B11": Entry(b11, ("bad-pairs",), "A compiler that crashes on this processor's code is not chosen."),
    "B-libstdc++": Entry(
        b_libstdcxx, ("compiler-works",), "A compiler that makes no program is told at once."
    ),
}
"""By id."""

LATER: dict[str, str] = {
    "B8": "-Werror of a third-party tree with a newer gcc: in the log alone; diagnose",
    "B12": "nvcc crashes (exit 139) on some input: in the log alone; diagnose, which must not call it out of memory",
}
"""What no toolchain can tell, and who does."""


def _nothing(*_: object, **__: object) -> Iterator[Any]:
    return iter(())


def _none(*_: object, **__: object) -> None:
    return None


def _limit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(host_compiler, "_nvcc", _nothing)
    patch.delitem(host_compiler_proof.CHECKS, "limit")


def _release(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(host_compiler_proof.CHECKS, "release")


def _third_opinion(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(host_compiler, "extension_fact", _none)
    patch.delitem(host_compiler_proof.CHECKS, "extension")


def _glibc(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(host_compiler_proof.CHECKS, "glibc")


def _pairs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(host_compiler, "pair_facts", _nothing)
    patch.delitem(host_compiler_proof.CHECKS, "pairs")


def _minimum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(host_compiler, "torch_fact", _none)
    patch.delitem(host_compiler_proof.CHECKS, "minimum")


def _one_compiler(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(host_compiler_names, "_CXX", ("CXX",))
    patch.setattr(host_compiler_names, "_CACHED", ())


def _works(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(host_compiler, "_works", _nothing)
    patch.delitem(host_compiler_proof.CHECKS, "found")


PREVENTIONS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "host-compiler-limit": _limit,
    "host-config-release": _release,
    "torch-third-opinion": _third_opinion,
    "glibc-headers": _glibc,
    "bad-pairs": _pairs,
    "torch-minimum": _minimum,
    "one-host-compiler": _one_compiler,
    "compiler-works": _works,
}
"""What removes each prevention."""
