"""GPUs: products by the names that people type, and the families that drivers and compilers know."""

from __future__ import annotations

import difflib
import re
from itertools import accumulate
from typing import Literal

from torchbuild.knowledge.fact import Fact, facts, facts_file, table_cache
from torchbuild.model.frozen import frozen_value

__all__ = [
    "GpuFamily",
    "GpuProduct",
    "Line",
    "MachineGpus",
    "Modules",
    "Spelling",
    "gpu_families",
    "gpu_family",
    "gpu_product",
    "gpu_products",
    "machine_of",
    "near_products",
]

Line = Literal["geforce", "titan", "workstation", "datacenter", "jetson", "mining"]
Modules = Literal["proprietary", "either", "open", "tegra"]

_NEAREST = 5


class GpuProduct(Fact):
    """What is sold under one name."""

    name: str
    """Such as ``GeForce GTX 1080 Ti``."""
    names: tuple[str, ...] = ()
    """Further names that people use."""
    chips: tuple[str, ...]
    """Chips that carry the name, such as ``GP102``."""
    capabilities: tuple[int, ...]
    """Ten times the compute capability; more than one where the name does not tell."""
    line: Line
    """For whom it is sold."""
    driver: str = ""
    """The oldest driver that is known to list it; empty where none is: then its family's counts."""
    modules: Modules | None = None
    """Kernel modules that it needs, where its family does not say it all."""
    note: str = ""
    """The trap."""


class GpuFamily(Fact):
    """The chips of one compute capability."""

    sm: int
    """Ten times the compute capability, such as 61."""
    title: str
    """The architecture, such as ``Pascal``."""
    chips: tuple[str, ...]
    """Such as ``GP102``."""
    driver: str = ""
    """The oldest driver that is known to drive one of them; empty where none is."""
    last_branch: int | None = None
    """The last branch of the driver; None where there is none yet, or no such branches."""
    open_driver: str = ""
    """The oldest driver whose open kernel modules drive it; empty where none do, or `driver` does."""
    modules: Modules
    """Kernel modules that drive it; ``tegra`` for those that a board's own system brings."""


class MachineGpus(Fact):
    """GPUs that are sold with one kind of processor only."""

    machine: Literal["x86_64", "aarch64"]
    """Processor family."""
    products: tuple[str, ...]
    """Names of `GpuProduct` rows, sorted."""


class Spelling(Fact):
    """What does not tell one product from another, as regular expressions of lower-case text."""

    never: str
    """Never does: makers, series, marks."""
    seldom: tuple[str, ...]
    """Does for some products: memory and sockets, then laptops. Left out of names that are not known."""
    same: dict[str, str]
    """Words that mean the same."""


def gpu_products() -> tuple[GpuProduct, ...]:
    """Every product, in the file's order."""
    return facts(GpuProduct, "gpus", "product")


def gpu_product(name: str) -> GpuProduct | None:
    """The product of a name; case, spaces, maker and series do not matter. None where none or several fit.

    Memory and socket, then ``Laptop``, are left out where the name is not known with them: first of what was
    asked for, then of what is known.
    """
    keys = _keys(name)
    exact = next((_index()[key] for key in keys if key in _index()), None)
    return exact or _short_index().get(keys[-1])


def near_products(name: str) -> tuple[str, ...]:
    """A few products with the nearest names, nearest first; before them those that have it as a word."""
    words = set(name.casefold().split())
    having = (row.name for row in gpu_products() if words and words <= set(row.name.casefold().split()))
    close = difflib.get_close_matches(_keys(name)[0], _index(), n=2 * _NEAREST, cutoff=0.6)
    near = (_index()[key].name for key in close)
    return tuple(dict.fromkeys((*sorted(having, key=len), *near)))[:_NEAREST]


def machine_of(product: str) -> MachineGpus | None:
    """The processors that a product is sold with; None where it goes with any, as far as is known."""
    rows = facts(MachineGpus, "gpus", "machine")
    return next((row for row in rows if product in row.products), None)


def gpu_families() -> tuple[GpuFamily, ...]:
    """Every family, lowest capability first."""
    return facts(GpuFamily, "gpu_families", "family")


def gpu_family(sm: int) -> GpuFamily | None:
    """The family of ten times a compute capability; None where nobody knows it."""
    return next((row for row in gpu_families() if row.sm == sm), None)


@table_cache
def _index() -> dict[str, GpuProduct]:
    """Products by key."""
    return _unclaimed(0)


@table_cache
def _short_index() -> dict[str, GpuProduct]:
    """Products by what is left of their names without memory and socket."""
    return _unclaimed(-1)


def _unclaimed(which: int) -> dict[str, GpuProduct]:
    """Products by a key; one that two of them claim is none's."""
    claims: dict[str, list[GpuProduct]] = {}
    for row in gpu_products():
        for key in {_keys(name)[which] for name in (row.name, *row.names)}:
            claims.setdefault(key, []).append(row)
    return {key: rows[0] for key, rows in claims.items() if len(rows) == 1}


@table_cache
def _spelling() -> Spelling:
    return Spelling.model_validate(frozen_value(facts_file("gpus")["spelling"]))


def _keys(name: str) -> tuple[str, ...]:
    """What tells a product, with everything and with ever less: ``v100sxm216gb`` and ``v100``."""
    text = re.sub(_spelling().never, "", name.casefold())
    shorter = accumulate(_spelling().seldom, lambda left, pattern: re.sub(pattern, "", left), initial=text)
    return tuple(_letters(item) for item in shorter)


def _letters(text: str) -> str:
    for word, meant in _spelling().same.items():
        text = text.replace(word, meant)
    return re.sub(r"[^a-z0-9]", "", text)
