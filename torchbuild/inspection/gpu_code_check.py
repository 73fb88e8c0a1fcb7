"""Whether a file holds the GPU code that a recipe asks for: exactly, or enough to run.

What we compile is compared exactly (`compare`). What others compiled must run on each of the recipe's
architectures (`covers`). A second reader of the same file, cuobjdump, must have seen the same (`agrees`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchbuild.inspection.gpu_code import CodeObject, GpuCode, GpuCodeError
from torchbuild.inspection.verdict import failed, not_run, settled, warned
from torchbuild.model.finding import Finding
from torchbuild.model.gpu_arch import Arch, parse_arch, wanted_ptx, wanted_sass

__all__ = ["REFERENCES", "Findings", "agrees", "compare", "covers", "unreadable"]

REFERENCES: tuple[str, ...] = (
    "gpu-code-readable",
    "gpu-code-present",
    "gpu-code-sass",
    "gpu-code-ptx",
    "gpu-code-kinds",
    "gpu-code-covers",
    "gpu-code-cuobjdump",
)

_READABLE, _PRESENT, _SASS, _PTX, _KINDS, _COVERS, _CUOBJDUMP = REFERENCES
_NAMED = 5

_FIRST_OWN = 90
"""No chip before has code of its own: sm_90a is the first such name that nvcc takes."""

Findings = tuple[Finding, ...]


def unreadable(error: GpuCodeError) -> Findings:
    """What is to be said of a file whose GPU code could not be listed."""
    wanted = "an ELF file or a static library"
    return (failed(_READABLE, "GPU code cannot be listed", seen=str(error), wanted=wanted),)


def compare(code: GpuCode, archs: Iterable[str], also: tuple[str, ...] = ()) -> Findings:
    """SASS and PTX of every object equal what the recipe asks for.

    Args:
        code: what lies in the file.
        archs: the recipe's list, such as ``9.0a`` and ``8.6+PTX``.
        also: what may be there besides, since a tree compiles some of its files for more: ``sm_90a``.
    """
    archs = tuple(archs)
    sass, ptx = wanted_sass(archs), wanted_ptx(archs)
    objects = code.effective
    if not objects:
        wanted = " ".join((*sass, *ptx))
        return (failed(_PRESENT, f"{code.path} holds no GPU code", seen="none", wanted=wanted),)
    translated = tuple(item for item in objects if not item.is_linked)
    count = f"{len(objects)} objects"
    return (
        *settled(
            _SASS,
            _differences(_SASS, code.path, [(item, item.sass) for item in objects], (sass, also)),
            what=f"{code.path} holds exactly the machine code of the list",
            seen=count,
            wanted=" ".join(sass),
        ),
        *settled(
            _PTX,
            (
                *_differences(_PTX, code.path, [(item, item.ptx) for item in translated], (ptx, also)),
                *_without_ptx(code.path, tuple(item for item in objects if item.is_linked), ptx),
            ),
            what=f"{code.path} holds exactly the PTX of the list",
            seen=count,
            wanted=" ".join(ptx) or "none",
        ),
        *_strange(code),
    )


def covers(code: GpuCode, archs: Iterable[str]) -> Findings:
    """Each architecture of the recipe can run what is in a library, by machine code or through its PTX."""
    asked = sorted({parse_arch(text) for text in archs})
    seen = " ".join((*code.sass, *code.ptx)) or "no GPU code"
    if not code.sass and not code.ptx:
        wanted = " ".join(item.real for item in asked)
        return (failed(_PRESENT, f"{code.path} holds no GPU code", seen=seen, wanted=wanted), *_strange(code))
    problems = (*_uncovered(code, asked, seen), *_not_newer(code, asked, seen))
    wanted = " ".join(item.real for item in asked)
    what = f"{code.path} runs on each architecture of the list"
    return (*settled(_COVERS, problems, what=what, seen=seen, wanted=wanted), *_strange(code))


def agrees(code: GpuCode, told: Mapping[str, Any]) -> Findings:
    """What cuobjdump listed of the same file is what we listed.

    Args:
        code: what we read.
        told: what `torchbuild/shim/look_gpu_code.py` printed of this file.
    """
    if told.get("not_run"):
        return (not_run(_CUOBJDUMP, f"{code.path} was not listed by cuobjdump: {told['not_run']}"),)
    ours, theirs = _counted(code), _listed(told)
    problems = [
        failed(
            _CUOBJDUMP,
            f"{code.path} {member}: cuobjdump lists something else",
            seen=_as_text(theirs.get(member, Counter())),
            wanted=_as_text(ours.get(member, Counter())),
        )
        for member in sorted(ours.keys() | theirs.keys())
        if ours.get(member, Counter()) != theirs.get(member, Counter())
    ]
    entries = sum(sum(kinds.values()) for kinds in ours.values())
    what = f"cuobjdump lists the same of {code.path}"
    return settled(_CUOBJDUMP, problems, what=what, seen=f"{entries} entries")


def _differences(
    reference: str,
    path: str,
    objects: Iterable[tuple[CodeObject, tuple[str, ...]]],
    wanted: tuple[tuple[str, ...], tuple[str, ...]],
) -> Iterator[Finding]:
    """One finding for each way in which objects differ, with the first of them by name."""
    exactly, also = wanted
    groups: dict[tuple[str, ...], list[CodeObject]] = defaultdict(list)
    for item, found in objects:
        extra = set(found) - set(exactly) - set(also)
        if extra or not set(found) >= set(exactly):
            groups[tuple(dict.fromkeys(found))].append(item)
    for found, items in groups.items():
        more = " ".join(name for name in found if name not in exactly and name not in also)
        missing = " ".join(name for name in exactly if name not in found)
        words = [f"lack {missing}"] * bool(missing) + [f"hold {more} besides"] * bool(more)
        yield failed(
            reference,
            f"{path}: {_some(items)} {' and '.join(words)}",
            seen=" ".join(found) or "none",
            wanted=" ".join(exactly) or "none",
        )


def _some(items: list[CodeObject]) -> str:
    names = ", ".join(item.place for item in items[:_NAMED])
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return f"{len(items)} objects ({names}{more})"


def _without_ptx(path: str, linked: tuple[CodeObject, ...], ptx: tuple[str, ...]) -> Iterator[Finding]:
    """A device link leaves machine code alone, whatever the recipe wants."""
    if linked and ptx:
        yield warned(
            _PTX,
            f"{path}: {_some(list(linked))} were device-linked, and newer chips cannot translate them",
            seen="none",
            wanted=" ".join(ptx),
        )


def _strange(code: GpuCode) -> Iterator[Finding]:
    """Code that is neither SASS nor PTX runs on nothing by itself, or we do not know what it is."""
    kinds = sorted({kind for item in code.effective for kind in item.other})
    if kinds:
        seen, wanted = " ".join(kinds), "machine code and PTX"
        yield warned(_KINDS, f"{code.path} holds code of other kinds", seen=seen, wanted=wanted)


def _uncovered(code: GpuCode, asked: Iterable[Arch], seen: str) -> Iterator[Finding]:
    for arch in asked:
        if any(_runs(_arch(name), arch.number) for name in code.sass):
            continue
        if any(_translates(_arch(name), arch.number) for name in code.ptx):
            what = (
                f"{code.path} has no machine code for {arch.real}: the driver translates its PTX at first use"
            )
            yield warned(_COVERS, what, seen=seen, wanted=arch.real)
            continue
        what = f"{code.path} does not run on {arch.real}"
        yield failed(_COVERS, what, seen=seen, wanted=arch.real)


def _not_newer(code: GpuCode, asked: Iterable[Arch], seen: str) -> Iterator[Finding]:
    """PTX in the recipe is there for chips that come; a library without any does not follow."""
    if any(arch.has_ptx for arch in asked) and not any(_arch(name).suffix == "" for name in code.ptx):
        what = f"{code.path} has no PTX that a newer chip could translate, while the recipe asks for PTX"
        yield warned(_COVERS, what, seen=seen, wanted=" ".join(a.virtual for a in asked if a.has_ptx))


def _arch(name: str) -> Arch:
    """``sm_90a`` or ``compute_90a``."""
    number = name.partition("_")[2]
    digits = number.rstrip("af")
    return Arch(int(digits), number[len(digits) :])


def _runs(code: Arch, chip: int) -> bool:
    """Machine code runs on its own generation, from its own chip on; ``a`` on that one chip alone."""
    if code.suffix == "a":
        return code.number == chip
    return code.number // 10 == chip // 10 and code.number <= chip


def _translates(code: Arch, chip: int) -> bool:
    """PTX is translated for its own chip and every newer one; with a suffix it is bound like machine code."""
    return _runs(code, chip) if code.suffix else code.number <= chip


def _counted(code: GpuCode) -> dict[str, Counter[str]]:
    """Ours as cuobjdump lists it: what is not device-linked yet only in files that hold nothing else."""
    members: dict[str, list[CodeObject]] = defaultdict(list)
    for item in code.objects:
        members[item.member].append(item)
    found = {}
    for member, items in members.items():
        ready = [item for item in items if not item.is_relocatable]
        names = [name for item in ready or items for name in (*item.sass, *item.ptx)]
        found[member] = Counter(map(_as_cuobjdump, names))
    return {member: count for member, count in found.items() if count}


def _as_cuobjdump(name: str) -> str:
    """It shows no ``f`` of machine code, and an ``a`` that old code of cuBLAS does not have."""
    if not name.startswith("sm_"):
        return name
    arch = _arch(name)
    is_own = arch.suffix == "a" and arch.number >= _FIRST_OWN
    return f"sm_{arch.number}{arch.suffix if is_own else ''}"


def _listed(told: Mapping[str, Any]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for member, kinds in dict(told.get("members", {})).items():
        for name, count in dict(kinds).items():
            found[str(member)][_as_cuobjdump(str(name))] += int(count)
    return dict(found)


def _as_text(count: Counter[str]) -> str:
    return " ".join(f"{name} ({number})" for name, number in sorted(count.items())) or "nothing"
