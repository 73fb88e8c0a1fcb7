"""Ways out of a conflict: changes of the wish, each solved before it is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from torchbuild.advice.answer import Advice, Conflict, Way
from torchbuild.advice.target import case_of
from torchbuild.advice.versions import at_least, branch_of
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.cuda import compat_floor, cuda_releases
from torchbuild.knowledge.gpus import gpu_product, near_products
from torchbuild.knowledge.interpreters import newest_promised, torch_python
from torchbuild.knowledge.platform_tags import oldest_glibc
from torchbuild.knowledge.torch_releases import torch_line, torch_lines

__all__ = ["ways_out"]

_MOST = 6
_EACH = {"torch": 2, "free": 3, "gpus": 3, "names": 3}
"""How many ways of one kind are told; one of all others."""
Solve = Callable[[Wish], Advice | None]
"""What can be for a wish; None where nothing can."""


def ways_out(wish: Wish, conflicts: tuple[Conflict, ...], solve: Solve) -> tuple[Way, ...]:
    """What would work instead, nearest first: single changes, and pairs where no single one does."""
    groups = {name: tuple(rows) for name, rows in _changes(wish, conflicts).items()}
    ways = [way for name, rows in groups.items() for way in _working(rows, solve, most=_EACH.get(name, 1))]
    if not ways:
        pairs = (
            (f"{one}, and {other}", second.model_copy(update=_difference(wish, first)))
            for left, right in combinations(groups, 2)
            for one, first in groups[left][:4]
            for other, second in groups[right][:4]
        )
        ways = list(_working(pairs, solve, most=2))
    return tuple(ways[:_MOST])


def _working(
    rows: Iterator[tuple[str, Wish]] | tuple[tuple[str, Wish], ...], solve: Solve, most: int
) -> Iterator[Way]:
    found = 0
    for what, wish in rows:
        advice = solve(wish)
        if advice is not None:
            doubts = (note for note in advice.notes if note.startswith("reported of "))
            yield Way(what="; ".join((what, *doubts)), wish=wish, choices=advice.choices)
            found += 1
            if found >= most:
                return


def _difference(before: Wish, after: Wish) -> dict[str, object]:
    return {key: value for key, value in after if getattr(before, key) != value}


def _changes(wish: Wish, conflicts: tuple[Conflict, ...]) -> dict[str, Iterator[tuple[str, Wish]]]:
    """By what is changed, the changed wishes, nearest first."""
    references = {item.reference for item in conflicts}
    return {
        "free": iter(tuple(_freed(wish))),
        "torch": iter(tuple(_other_torch(wish))),
        "modules": iter(tuple(_other_modules(wish, references))),
        "driver": iter(tuple(_other_driver(wish))),
        "forward": iter(tuple(_forward(wish))),
        "python": iter(tuple(_other_python(wish))),
        "names": iter(tuple(_other_names(wish))),
        "gpus": iter(tuple(_fewer_gpus(wish))),
        "archs": iter(tuple(_older_code(wish))),
        "machine": iter(tuple(_other_machine(wish, references))),
        "glibc": iter(tuple(_newer_glibc(wish, references))),
        "without": iter(tuple(_without_library(wish, references))),
    }


def _without_library(wish: Wish, references: set[str]) -> Iterator[tuple[str, Wish]]:
    """A wheel that does without what has no code for a chip."""
    if "cudnn-lacks-chip" in references:
        yield "a build without cuDNN", _with(wish, cudnn="none")
    if "nccl-lacks-chip" in references:
        yield "a build without NCCL", _with(wish, nccl="none")


def _with(wish: Wish, **changes: object) -> Wish:
    return wish.model_copy(update=changes)


def _freed(wish: Wish) -> Iterator[tuple[str, Wish]]:
    """What was asked for and need not be."""
    if wish.cuda:
        yield f"another CUDA than {wish.cuda}", _with(wish, cuda="")
    if wish.cudnn and wish.cudnn != "none":
        yield f"another cuDNN than {wish.cudnn}", _with(wish, cudnn="")
    if wish.nccl and wish.nccl != "none":
        yield f"another NCCL than {wish.nccl}", _with(wish, nccl="")
    if wish.gcc:
        yield f"another gcc than {wish.gcc}", _with(wish, gcc="")
    if wish.builder_glibc:
        yield "a builder with an older C library", _with(wish, builder_glibc="")
    if wish.archs and wish.gpus:
        yield "the GPUs' own architectures", _with(wish, archs=())


def _other_torch(wish: Wish) -> Iterator[tuple[str, Wish]]:
    """The nearest older ones, and between them the nearest newer ones."""
    minors = [row.minor for row in torch_lines()]
    line = torch_line(wish.torch)
    at = minors.index(line.minor) if line else len(minors)
    older, newer = minors[:at][::-1], minors[at + 1 :]
    for index in range(max(len(older), len(newer))):
        for side in (older, newer):
            if index < len(side):
                yield f"torch {side[index]} instead of {wish.torch}", _with(wish, torch=side[index])


def _other_modules(wish: Wish, references: set[str]) -> Iterator[tuple[str, Wish]]:
    if wish.modules and references & {"kernel-modules-wrong", "driver-older-than-chip"}:
        other = "open" if wish.modules == "proprietary" else "proprietary"
        yield f"the {other} kernel modules", _with(wish, modules=other)


def _other_driver(wish: Wish) -> Iterator[tuple[str, Wish]]:
    """Newer ones, oldest first; then the last one that drives a chip which the wish's no longer does."""
    if not wish.driver:
        return
    case, _ = case_of(wish)
    firsts = {gpu.family.driver for gpu in case.gpus if gpu.family}
    firsts |= {gpu.family.open_driver for gpu in case.gpus if gpu.family and wish.modules == "open"}
    firsts |= {gpu.product.driver for gpu in case.gpus if gpu.product}
    floors = {floor.driver for row in cuda_releases() if (floor := compat_floor(row.version))}
    natives = {row.native for row in cuda_releases()}
    marks = {text for text in firsts | floors | natives if text and not at_least(wish.driver, text)}
    for text in sorted(marks, key=lambda item: [int(part) for part in item.split(".")]):
        yield f"driver {text} or newer", _with(wish, driver=text)
    lasts = [gpu.family.last_branch for gpu in case.gpus if gpu.family and gpu.family.last_branch is not None]
    if lasts and branch_of(wish.driver) > min(lasts):
        yield f"driver branch {min(lasts)}", _with(wish, driver=str(min(lasts)))


def _forward(wish: Wish) -> Iterator[tuple[str, Wish]]:
    if wish.driver and not wish.forward_compat:
        yield "NVIDIA's forward-compatibility package on the target", _with(wish, forward_compat=True)


def _other_python(wish: Wish) -> Iterator[tuple[str, Wish]]:
    row = torch_python(wish.torch)
    if wish.python and row is not None and not row.promises(wish.python.rstrip("t")):
        newest = newest_promised(row)
        yield f"Python {newest} instead of {wish.python}", _with(wish, python=newest)


def _other_names(wish: Wish) -> Iterator[tuple[str, Wish]]:
    """The name that was probably meant, of the first GPU that is not known."""
    for index, gpu in enumerate(wish.gpus):
        _, wrong = case_of(_with(wish, gpus=(gpu,)))
        before, after = wish.gpus[:index], wish.gpus[index + 1 :]
        shared = gpu_product(gpu)
        chips = [f"sm_{item}" for item in shared.capabilities] if wrong and shared else []
        yield from (
            (f"{chip} if {gpu} is that chip", _with(wish, gpus=(*before, chip, *after))) for chip in chips
        )
        for name in near_products(gpu) if wrong and not chips else ():
            yield f"{name} instead of {gpu}", _with(wish, gpus=(*before, name, *after))


def _fewer_gpus(wish: Wish) -> Iterator[tuple[str, Wish]]:
    for index, gpu in enumerate(wish.gpus):
        rest = (*wish.gpus[:index], *wish.gpus[index + 1 :])
        if rest:
            yield f"without {gpu}", _with(wish, gpus=rest)


def _other_machine(wish: Wish, references: set[str]) -> Iterator[tuple[str, Wish]]:
    if "machine-not-of-gpu" in references:
        yield "an aarch64 machine", _with(wish, machine="aarch64")


def _newer_glibc(wish: Wish, references: set[str]) -> Iterator[tuple[str, Wish]]:
    if "target-glibc-too-old" in references:
        oldest = oldest_glibc(wish.machine)
        yield f"a target with glibc {oldest} or newer", _with(wish, glibc=oldest)


def _older_code(wish: Wish) -> Iterator[tuple[str, Wish]]:
    """Machine code of an older chip of the same major runs too, where the tree cannot name the chip's own."""
    from torchbuild.knowledge.torch_releases import torch_archs  # noqa: PLC0415  one use

    known = torch_archs(wish.torch)
    case, wrong = case_of(wish)
    if wish.archs or wrong or known is None or not case.gpus:
        return
    chosen = []
    for arch in case.archs:
        same = [
            item
            for item in known.archs
            if item.split(".")[0] == str(arch.number // 10) and item[-1].isdigit()
        ]
        below = [item for item in same if int(item.split(".")[1]) <= arch.number % 10]
        if not below:
            return
        chosen.append(below[-1])
    archs = tuple(dict.fromkeys(chosen))
    yield f"machine code for {', '.join(archs)}, which runs on them too", _with(wish, archs=archs)
