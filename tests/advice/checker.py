"""An advice held against the facts, by code that shares nothing with the solver: it reads the tables itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from tests.advice.raw_facts import Row, first_row, holds, is_row, numbers, reaches, rows, wish_row
from torchbuild.advice.answer import Advice, Conflict
from torchbuild.advice.wish import Wish

__all__ = ["names_two_facts", "violations"]

_ARCH = re.compile(r"(?P<major>[0-9]+)\.(?P<minor>[0-9])(?P<suffix>[af]?)(?P<ptx>\+PTX)?")
_FORGIVEN = re.compile(r"nvidia|geforce|tesla|quadro|\((?:tm|r)\)|\s")


def violations(wish: Wish, advice: Advice) -> list[str]:
    """What an advice that claims to be possible gets wrong; nothing of it where it claims nothing."""
    if not advice.is_possible:
        return []
    torch = ".".join(wish.torch.split(".")[:2])
    line = first_row("torch_lines.line", minor=torch)
    if line is None:
        return [f"torch {wish.torch} is in no table"]
    return [
        *_wished(wish, advice),
        *_python(torch, wish, advice),
        *_glibc(wish, advice),
        *(_cuda(torch, line, wish, advice) if wish.gpus else _cpu(advice)),
    ]


def names_two_facts(conflict: Conflict) -> bool:
    """Whether a conflict names two different facts that the tables, or the wish, really have."""
    named = {(item.table, item.row) for item in conflict.facts}
    return len(named) > 1 and all(
        wish_row(item.row) if item.table == "wish" else is_row(item.table, item.row)
        for item in conflict.facts
    )


def _cpu(advice: Advice) -> Iterator[str]:
    for key in ("cuda.version", "cuda.archs", "cudnn.version", "nccl.version"):
        if advice.value(key):
            yield f"{key} is chosen for a wheel without a GPU"


def _wished(wish: Wish, advice: Advice) -> Iterator[str]:
    pairs = {"python.version": wish.python, "cudnn.version": wish.cudnn, "nccl.version": wish.nccl}
    for key, wanted in {**pairs, "cuda.version": wish.cuda}.items():
        got = advice.value(key)
        if wanted == "none" or (key != "python.version" and not wish.gpus):
            continue
        if wanted and got != wanted and not got.startswith(f"{wanted}."):
            yield f"{key} is {got}, not {wanted}"
    if wish.archs and wish.gpus and _archs(advice) != [item.replace(" ", "") for item in wish.archs]:
        yield f"cuda.archs is {advice.value('cuda.archs')}, not {wish.archs}"


def _python(torch: str, wish: Wish, advice: Advice) -> Iterator[str]:
    said = next((row for row in rows("torch_python.release") if holds(torch, row["torch"])), None)
    chosen = advice.value("python.version")
    if said is None:
        return
    short = ".".join(chosen.rstrip("t").split(".")[:2])
    promised = holds(short, said["python"])
    tried = bool(said["experimental"]) and holds(short, said["experimental"])
    if not promised and not (wish.python and tried):
        yield f"Python {chosen} is not for torch {torch}"
    following = f"3.{int(short.split('.')[1]) + 1}"
    if promised and not wish.python and holds(following, said["python"]):
        yield f"Python {following} is promised, and {chosen} was taken"


def _glibc(wish: Wish, advice: Advice) -> Iterator[str]:
    for builder in _builders(wish, advice):
        if wish.glibc and numbers(builder) > numbers(wish.glibc):
            yield f"a builder with glibc {builder} for a target with {wish.glibc}"
        for row in rows("host_compilers.glibc"):
            if holds(builder, row["glibc"]) and holds(advice.value("cuda.version") or "99", row["cuda"]):
                yield f"glibc {builder} contradicts CUDA {advice.value('cuda.version')}"


def _builders(wish: Wish, advice: Advice) -> Iterator[str]:
    if wish.builder_glibc:
        yield wish.builder_glibc
    suite = advice.value("image.suite")
    row = first_row("distributions.distribution", suite=suite) if suite else None
    if row is not None:
        yield row["glibc"]


def _cuda(torch: str, line: Row, wish: Wish, advice: Advice) -> Iterator[str]:
    version = advice.value("cuda.version")
    if first_row("cuda.release", version=version) is None:
        yield f"CUDA {version!r} is no release"
        return
    chips = [chip for name in wish.gpus for chip in [_chip(name)] if chip is not None]
    if len(chips) != len(wish.gpus):
        yield "a GPU that is unknown, or that is one of several"
        return
    if not holds(version, line["cuda"]):
        yield f"torch {torch} takes CUDA {line['cuda']}, not {version}"
    yield from _arch_list(torch, version, chips, wish, advice)
    yield from _drivers(version, chips, wish)
    yield from _modules(chips, wish)
    yield from _compilers(torch, version, wish, advice)
    for library in ("cudnn", "nccl"):
        yield from _library(library, torch, version, chips, wish, advice)


class _Chip:
    """What a name of a wish means."""

    def __init__(self, name: str, sm: int, product: Row) -> None:
        self.name, self.sm, self.product = name, sm, product
        self.family: Row = first_row("gpu_families.family", sm=sm) or {}

    @property
    def is_board(self) -> bool:
        return bool(self.family.get("modules") == "tegra")

    @property
    def modules(self) -> str:
        return str(self.product.get("modules") or self.family.get("modules", "either"))


@cache
def _chip(name: str) -> _Chip | None:
    written = re.fullmatch(r"sm_([0-9]+)[af]?", name) or re.fullmatch(r"([0-9]+\.[0-9])[af]?", name)
    if written:
        return _Chip(name, int(written[1].replace(".", "")), {})
    found = [row for row in rows("gpus.product") if name in (row["name"], *row.get("names", []))]
    found = found or [
        row
        for row in rows("gpus.product")
        if _plain(name) in {_plain(item) for item in (row["name"], *row.get("names", []))}
    ]
    if len(found) != 1 or len(found[0]["capabilities"]) != 1:
        return None
    return _Chip(name, found[0]["capabilities"][0], found[0])


def _plain(name: str) -> str:
    return _FORGIVEN.sub("", name.lower())


def _archs(advice: Advice) -> list[str]:
    return [item.strip() for item in advice.value("cuda.archs").split(",") if item.strip()]


def _arch_list(torch: str, version: str, chips: list[_Chip], wish: Wish, advice: Advice) -> Iterator[str]:
    parts = [_ARCH.fullmatch(item) for item in _archs(advice)]
    known = next((row["archs"] for row in rows("torch_archs.archs") if holds(torch, row["torch"])), None)
    have = set()
    for part in parts:
        if part is None:
            yield f"no list of architectures: {advice.value('cuda.archs')}"
            return
        sm = part["major"] + part["minor"] + part["suffix"]
        have.add(int(part["major"] + part["minor"]))
        window = first_row("cuda.arch", sm=sm)
        if window is None or not holds(version, window["cuda"]):
            yield f"CUDA {version} does not compile for sm_{sm}"
        if known is not None and f"{part['major']}.{part['minor']}{part['suffix']}" not in known:
            yield f"torch {torch} cannot say {part[0]}"
    yield from (f"no code of its own for {chip.name}" for chip in chips if chip.sm not in have)
    if not wish.archs:
        yield from (f"code for sm_{sm}, which nobody has" for sm in have - {chip.sm for chip in chips})
        yield from _ptx(version, chips, wish, _archs(advice))


def _ptx(version: str, chips: list[_Chip], wish: Wish, archs: list[str]) -> Iterator[str]:
    if any("+PTX" in item for item in archs[:-1]) or archs != sorted(archs, key=numbers):
        yield f"PTX is not on the newest architecture alone, or the list is not in order: {archs}"
    if not any("+PTX" in item for item in archs):
        return
    row = first_row("cuda.release", version=version) or {}
    native = row.get("native") or row.get("driver", "")
    can = bool(wish.driver and native) and reaches(wish.driver, native)
    if not can and not _packaged(version, chips, wish):
        yield f"PTX of CUDA {version} for driver {wish.driver or 'nobody named'}, which cannot translate it"


def _packaged(version: str, chips: list[_Chip], wish: Wish) -> bool:
    row = first_row("forward_compat.package", cuda=".".join(version.split(".")[:2]))
    if (
        not wish.forward_compat
        or not wish.driver
        or row is None
        or numbers(wish.driver)[0] not in row["branches"]
    ):
        return False
    lines = [first_row("forward_compat.line", line=chip.product.get("line")) for chip in chips]
    return all(line is not None and line["is_eligible"] for line in lines)


def _drivers(version: str, chips: list[_Chip], wish: Wish) -> Iterator[str]:
    boards = [chip for chip in chips if chip.is_board]
    minor = ".".join(version.split(".")[:2])
    if boards:
        packs = [row for row in rows("jetpacks.jetpack") if all(chip.sm in row["sms"] for chip in boards)]
        if packs and not any(minor in (row["cuda"], *row["upgrades"]) for row in packs):
            yield f"no JetPack of {[chip.name for chip in boards]} has CUDA {version}"
    if not wish.driver or len(boards) == len(chips):
        return
    for chip in chips:
        for floor in (_listed(chip, wish), chip.family.get("driver")):
            if floor and not reaches(wish.driver, floor):
                yield f"driver {wish.driver} is older than {chip.name}, {floor}"
        last = chip.family.get("last_branch")
        if last and numbers(wish.driver)[0] > last:
            yield f"driver {wish.driver} no longer drives {chip.name}"
    floors = [row["driver"] for row in rows("cuda.floor") if holds(version, row["cuda"])]
    if not any(reaches(wish.driver, floor) for floor in floors) and not _packaged(version, chips, wish):
        yield f"driver {wish.driver} does not run CUDA {version}"


def _listed(chip: _Chip, wish: Wish) -> str:
    """Since when the driver lists a product: the lists are of the open modules, and bind no others."""
    return str(chip.product.get("driver", "")) if "open" in (chip.modules, wish.modules) else ""


def _modules(chips: list[_Chip], wish: Wish) -> Iterator[str]:
    needs = {chip.modules for chip in chips} & {"open", "proprietary"}
    if len(needs | ({wish.modules} if wish.modules and needs else set())) > 1:
        yield f"kernel modules: {sorted(needs)} for {wish.gpus}, and the target has {wish.modules or 'any'}"


def _compilers(torch: str, version: str, wish: Wish, advice: Advice) -> Iterator[str]:
    nvcc = next((row for row in rows("host_compilers.nvcc") if holds(version, row["cuda"])), None)
    tree = next((row for row in rows("host_compilers.torch") if holds(torch, row["torch"])), None)
    ranges = [*((nvcc["gcc"], nvcc["minimum"]) if nvcc else ()), *((tree["gcc"],) if tree else ())]
    wished = wish.gcc and (wish.gcc if "." in wish.gcc else f"{wish.gcc}.9")
    for gcc in [wished] if wished else []:
        yield from (f"gcc {wish.gcc} is not {wanted}" for wanted in ranges if not holds(gcc, wanted))
    if not any(all(holds(f"{major}.9", wanted) for wanted in ranges) for major in range(5, 30)):
        yield f"no gcc is left between CUDA {version} and torch {torch}"
    for key in ("toolchain.cc", "toolchain.cxx"):
        named = re.fullmatch(r"g(?:cc|\+\+)-([0-9]+)", advice.value(key))
        if named and not all(holds(f"{named[1]}.9", wanted) for wanted in ranges):
            yield f"{advice.value(key)} is outside {ranges}"


def _library(
    name: str, torch: str, version: str, chips: list[_Chip], wish: Wish, advice: Advice
) -> Iterator[str]:
    chosen, wanted = advice.value(f"{name}.version"), str(getattr(wish, name))
    if wanted == "none":
        if chosen not in ("", "none"):
            yield f"{name} {chosen}, and a build without was wished"
        return
    if not chosen:
        if not any(chip.is_board for chip in chips):
            yield f"no {name}, and nobody asked for a build without"
        return
    for row in rows("library_floors.minimum"):
        asked = row["library"] == name and holds(torch, row["torch"]) and row["checked"] != "unconfirmed"
        if asked and numbers(chosen) < numbers(row["least"]):
            yield f"{name} {chosen} is older than torch {torch} takes, {row['least']}"
    major = str(numbers(version)[0])
    known = [row for row in rows("library_floors.chips") if _tells(row, name, chosen, major)]
    if not known and not wanted:
        yield f"nobody knows what {name} {chosen} for CUDA {version} holds code for"
    yield from (
        f"{name} {chosen} has no code for {chip.name}, {row['lowest']} to {row.get('highest')} only"
        for row in known
        for chip in chips
        if not row["lowest"] <= chip.sm <= row.get("highest", chip.sm) and not chip.is_board
    )
    published = first_row("library_releases.library", library=name, cuda=major) or {"versions": []}
    pins = [row[name] for row in rows("official_builds.build") if row["torch"] == torch]
    if not wanted and chosen not in [*published["versions"], *pins]:
        yield f"{name} {chosen} was published nowhere"


def _tells(row: Row, library: str, version: str, major: str) -> bool:
    if row["library"] != library or row["cuda"] not in ("", major):
        return False
    here = numbers(version)
    return numbers(row["first"]) <= here and (not row["before"] or here < numbers(row["before"]))
