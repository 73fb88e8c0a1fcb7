"""What a tree's CMake files can say, and ask of a toolkit: the grammar of architectures, and what it links.

Read from the files' text at lock time, so that an hour later nobody learns that 12.0 is a word this tree
does not know. ``read_tree`` makes a value; the others judge it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchbuild.errors import ConflictError
from torchbuild.model.finding import Finding, failures
from torchbuild.model.frozen import Frozen
from torchbuild.model.gpu_arch import Arch, parse_arch
from torchbuild.toolchains.proof import Seen, table, text, told

__all__ = ["FILES", "SELECT", "TreeAsks", "archs_sayable", "read_tree", "refuse_archs", "toolkit_has"]

SELECT = "cmake/Modules_CUDA_fix/upstream/FindCUDA/select_compute_arch.cmake"
"""The grammar of TORCH_CUDA_ARCH_LIST."""
FILES = (SELECT, "cmake/public/cuda.cmake", "caffe2/CMakeLists.txt")
"""What is read of a tree; a file that it lacks is left out."""

_MOST = 200
"""Characters of a pattern that is still taken for one: a tree is a stranger's."""
_ITEM = re.compile(r'MATCHES\s+"(\^[^"]*\[0-9\][^"]*\$)"')
_FOUND = re.compile(r'REGEX\s+MATCHALL\s+"([^"]+)"\s+(cuda_arch_(?:bin|ptx))\b')
_TABLE = re.compile(
    r"(?:list\(\s*APPEND|set\()\s*(?:CUDA_(?:COMMON|ALL)_GPU_ARCHITECTURES|arch_(?:bin|ptx))\s([^()$]*)\)"
)
_NUMBER = re.compile(r"[0-9]+\.[0-9][af]?")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)


class TreeAsks(Frozen):
    """What was read. Empty patterns: the tree has no such file, or it is written in another way."""

    item: str = ""
    """Pattern of one item without ``+PTX``."""
    binary: str = ""
    """Pattern that picks machine code's numbers out of the joined list."""
    ptx: str = ""
    """The same for PTX."""
    table: tuple[str, ...] = ()
    """Architectures that the file names itself, sorted."""
    links_tools_ext: bool = False
    """Whether CMake's target of libnvToolsExt is linked, and no nvtx3 instead."""
    knows_cccl: bool = False
    """Whether it knows that thrust may lie in include/cccl."""


def read_tree(texts: Mapping[str, str]) -> TreeAsks:
    """Read `FILES`, by path. What is not understood stays empty, and is said later."""
    select = _COMMENT.sub("", texts.get(SELECT, ""))
    whole = "\n".join(_COMMENT.sub("", text) for text in texts.values())
    found = {name: _pattern(text) for text, name in _FOUND.findall(select)}
    item = _ITEM.search(select[select.find("CUDA_SELECT_NVCC_ARCH_FLAGS") :])
    named = {word for words in _TABLE.findall(select) for word in _NUMBER.findall(words)}
    return TreeAsks(
        item=_pattern(item[1]) if item else "",
        binary=found.get("cuda_arch_bin", ""),
        ptx=found.get("cuda_arch_ptx", ""),
        table=tuple(sorted(named)),
        links_tools_ext="CUDA::nvToolsExt" in whole and "torch::nvtx3" not in whole,
        knows_cccl="cccl" in whole.lower(),
    )


def _pattern(text: str) -> str:
    """CMake's pattern as Python's, which is the same once its string is read; empty where it is none."""
    plain = re.sub(r"\\(.)", r"\1", text)
    if len(plain) > _MOST:
        return ""
    try:
        re.compile(plain)
    except re.error:
        return ""
    return plain


def archs_sayable(asks: TreeAsks, archs: tuple[str, ...]) -> tuple[Finding, ...]:
    """One finding an architecture: whether the tree can say it, and whether its own table knows it."""
    if not (asks.item and asks.binary and asks.ptx):
        what = f"the tree's grammar of architectures: {SELECT} is missing, or written in an unknown way"
        return (told("torch-architecture", what, "not run"),)
    return tuple(_sayable(asks, parse_arch(text)) for text in archs)


def _sayable(asks: TreeAsks, arch: Arch) -> Finding:
    what, wanted = f"architecture {arch.torch_item} in the words of the tree", arch.real
    if re.search(asks.item, arch.capability) is None:
        seen = f"an item must match {asks.item}"
        return told("torch-architecture", what, "failed", seen=seen, wanted=arch.capability)
    plain = arch.capability.replace(".", "")
    made = [f"sm_{number}" for number in re.findall(asks.binary, plain)]
    made += [f"compute_{number}" for number in re.findall(asks.ptx, plain)] if arch.has_ptx else []
    right = [arch.real] + ([arch.virtual] if arch.has_ptx else [])
    if made != right:
        return told("torch-architecture", what, "failed", seen=", ".join(made), wanted=", ".join(right))
    if arch.capability not in asks.table:
        seen = f"its own table has {', '.join(asks.table) or 'none'}; its grammar takes {arch.capability}"
        return told("torch-architecture", what, "warned", seen=seen, wanted=wanted)
    return told("torch-architecture", what, "passed", seen=", ".join(made), wanted=", ".join(right))


def refuse_archs(asks: TreeAsks, archs: tuple[str, ...], torch: str) -> tuple[Finding, ...]:
    """The findings, or the refusal.

    Raises:
        ConflictError: the tree cannot say one of them.
    """
    findings = archs_sayable(asks, archs)
    wrong = failures(findings)
    if wrong:
        raise ConflictError(
            "torch-architecture-unknown",
            f"torch {torch} cannot be told to build for {', '.join(item.wanted for item in wrong)}",
            why=tuple(f"{item.what}: seen {item.seen}, wanted {item.wanted} ({SELECT})" for item in wrong),
            fix="Choose a newer release of torch, or take these out of cuda.archs.",
        )
    return findings


def toolkit_has(asks: TreeAsks, seen: Seen) -> Iterator[Finding]:
    """What the tree links and includes, looked for in the toolkit that ``look_cuda.py`` saw."""
    libraries = table(seen, "libraries")
    if asks.links_tools_ext:
        found = text(libraries, "nvToolsExt")
        yield told(
            "torch-tools-extension",
            "libnvToolsExt, which the tree links (CUDA::nvToolsExt)",
            "passed" if found else "failed",
            seen=found or "the toolkit brings none: NVTX 2 was removed from newer ones",
            wanted="libnvToolsExt.so",
        )
    thrust = text(libraries, "thrust")
    beside = thrust.endswith("/include")
    yield told(
        "torch-thrust",
        "thrust, where the tree and the host compiler look for it",
        "failed" if not thrust else "passed" if beside or asks.knows_cccl else "warned",
        seen=thrust or "nowhere",
        wanted="beside cuda.h; in include/cccl nvcc finds it by itself, the host compiler does not",
    )
