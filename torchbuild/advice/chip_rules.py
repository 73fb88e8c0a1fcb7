"""What no toolkit can mend: drivers and kernel modules against chips, Python, C library, release."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.advice import cite
from torchbuild.advice.answer import Cited, Conflict
from torchbuild.advice.target import Case, TargetGpu, chips_of, runs_on
from torchbuild.advice.versions import at_least, branch_of, parsed_driver
from torchbuild.advice.wish import Wish
from torchbuild.knowledge.gpus import GpuFamily, machine_of
from torchbuild.knowledge.interpreters import torch_python
from torchbuild.knowledge.platform_tags import oldest_glibc
from torchbuild.knowledge.torch_releases import TorchArchs, torch_archs, torch_line, torch_lines
from torchbuild.model.gpu_arch import Arch

__all__ = ["fixed_conflicts"]

_BOARDS = "aarch64"
"""The processor of every board with its own system image."""


def fixed_conflicts(case: Case) -> Iterator[Conflict]:
    """Every conflict that is there whichever toolkit is taken."""
    yield from _release(case)
    yield from _driver(case)
    yield from _shared_driver(case)
    yield from _modules(case)
    yield from _named(case)
    yield from _covered(case)
    yield from _machine(case)
    yield from _python(case)
    yield from _glibc(case)


def _release(case: Case) -> Iterator[Conflict]:
    wish = case.wish
    if torch_line(wish.torch) is not None:
        return
    newest = torch_lines()[-1]
    yield Conflict(
        reference="torch-release-unknown",
        what=f"torch {wish.torch} is no release that is known",
        facts=(cite.asked("torch", wish.torch), cite.torch_line(newest)),
        fix=f"Name a known release; the newest line is {newest.minor}.",
    )


def _driver(case: Case) -> Iterator[Conflict]:
    driver = case.wish.driver
    if not driver:
        return
    asked = cite.asked("driver", driver)
    for gpu in case.gpus:
        yield from _driver_of(gpu, case.wish, asked)


def _shared_driver(case: Case) -> Iterator[Conflict]:
    """Chips of which one was dropped before another was known."""
    families = [gpu.family for gpu in chips_of(case) if gpu.family and gpu.family.modules != "tegra"]
    newest = max(families, key=lambda row: branch_of(row.driver), default=None)
    lasts = [row for row in families if row.last_branch is not None]
    oldest = min(lasts, key=lambda row: row.last_branch or 0, default=None)
    if newest and oldest and branch_of(newest.driver) > (oldest.last_branch or 0):
        yield Conflict(
            reference="chips-share-no-driver",
            what=f"no driver drives both {oldest.title} (sm_{oldest.sm}) and {newest.title} (sm_{newest.sm})",
            facts=(cite.family(oldest), cite.family(newest)),
            fix="Take one of the chips out of the target, or build a wheel for each.",
        )


def _driver_of(gpu: TargetGpu, wish: Wish, asked: Cited) -> Iterator[Conflict]:
    family, driver = gpu.family, wish.driver
    if family is None or gpu.is_tegra:
        return
    first, fact = _first_driver(gpu, family, wish)
    if first and not at_least(driver, first):
        yield Conflict(
            reference="driver-older-than-chip",
            what=f"driver {driver} does not know {gpu.asked}",
            facts=tuple(dict.fromkeys((asked, fact, *gpu.facts))),
            fix=f"Install driver {first} or newer on the target.",
        )
    if family.last_branch is not None and branch_of(driver) > family.last_branch:
        yield Conflict(
            reference="driver-dropped-chip",
            what=f"driver {driver} no longer drives {gpu.asked}",
            facts=(asked, cite.family(family)),
            fix=f"Keep driver branch {family.last_branch} on the target, or another GPU.",
        )


def _first_driver(gpu: TargetGpu, family: GpuFamily, wish: Wish) -> tuple[str, Cited]:
    """The oldest driver that will do, and what says so."""
    said = [(family.driver, cite.family(family))]
    if "open" in (gpu.modules, wish.modules):
        # only then the list of the open modules is all that there is; the proprietary ones may know it before
        own = gpu.product.driver if gpu.product else ""
        said += [(family.open_driver, cite.family(family))]
        said += [(own, cite.product(gpu.product))] if gpu.product and own else []
    return max(reversed(said), key=lambda item: parsed_driver(item[0]) or ())


def _modules(case: Case) -> Iterator[Conflict]:
    wanted: dict[str, TargetGpu] = {}
    for gpu in case.gpus:
        if gpu.modules in ("open", "proprietary"):
            wanted.setdefault(gpu.modules, gpu)
    if len(wanted) > 1:
        one, other = wanted["proprietary"], wanted["open"]
        yield Conflict(
            reference="kernel-modules-wrong",
            what=f"no driver drives {one.asked} and {other.asked} in one machine",
            facts=(one.of_modules, other.of_modules),
            fix=f"Take {one.asked} or {other.asked} out of the target.",
        )
        return
    for modules, gpu in wanted.items():
        if case.wish.modules not in ("", modules):
            yield Conflict(
                reference="kernel-modules-wrong",
                what=f"{gpu.asked} does not work with the {case.wish.modules} kernel modules",
                facts=(cite.asked("modules", case.wish.modules), gpu.of_modules),
                fix=f"Install the {modules} kernel modules of the driver on the target.",
            )


def _named(case: Case) -> Iterator[Conflict]:
    """Architectures that the tree cannot be told."""
    known = torch_archs(case.wish.torch)
    if known is None:
        return
    for arch in case.archs:
        if not _can_say(known, arch):
            yield Conflict(
                reference="torch-unaware-of-chip",
                what=f"torch {case.wish.torch} cannot be told to compile for {arch.capability}",
                facts=(_who_needs(case, arch), cite.torch_archs(known)),
                fix="Take a newer torch, or code of an older architecture that runs on the chip too."
                if _is_said_by_any(arch)
                else "Leave the chip out: no known torch can be told to compile for it.",
            )


def _can_say(known: TorchArchs, arch: Arch) -> bool:
    plain = f"{arch.number // 10}.{arch.number % 10}"
    return arch.capability in known.archs or (arch.suffix in known.suffixes and plain in known.archs)


def _is_said_by_any(arch: Arch) -> bool:
    every = (torch_archs(row.releases[-1]) for row in torch_lines())
    return any(known is not None and _can_say(known, arch) for known in every)


def _who_needs(case: Case, arch: Arch) -> Cited:
    gpu = next((item for item in case.gpus if item.arch == arch), None)
    if gpu is None or case.wish.archs:
        return cite.asked("archs", arch.torch_item)
    return gpu.facts[0] if gpu.facts else cite.asked("gpus", gpu.asked)


def _covered(case: Case) -> Iterator[Conflict]:
    """GPUs that nothing of a given list runs on."""
    if not case.wish.archs:
        return
    for gpu in case.gpus:
        as_ptx = [
            item for item in case.archs if item.has_ptx and not item.suffix and item.number <= gpu.arch.number
        ]
        if not as_ptx and not any(runs_on(item, gpu) for item in case.archs):
            yield Conflict(
                reference="archs-miss-chip",
                what=f"nothing of {', '.join(case.wish.archs)} runs on {gpu.asked}",
                facts=(cite.asked("archs", ", ".join(case.wish.archs)), *gpu.facts)
                if gpu.facts
                else (cite.asked("archs", ", ".join(case.wish.archs)), cite.asked("gpus", gpu.asked)),
                fix=f"Add {gpu.arch.capability} to the architectures.",
            )


def _machine(case: Case) -> Iterator[Conflict]:
    """A Jetson is no x86_64, and neither is Grace."""
    for gpu in case.gpus:
        sold = machine_of(gpu.product.name) if gpu.product else None
        fact = gpu.facts[-1] if gpu.is_tegra else cite.machine(sold) if sold else None
        own = _BOARDS if gpu.is_tegra else sold.machine if sold else ""
        if fact is not None and own != case.wish.machine:
            yield Conflict(
                reference="machine-not-of-gpu",
                what=f"{gpu.asked} is part of an {own} machine",
                facts=(cite.asked("machine", case.wish.machine), fact),
                fix=f'Set target.machine = "{own}".',
            )
            return


def _python(case: Case) -> Iterator[Conflict]:
    wish = case.wish
    row = torch_python(wish.torch)
    number = wish.python.rstrip("t")
    if not wish.python or row is None or row.promises(number) or row.tries(number):
        return
    yield Conflict(
        reference="python-outside-torch",
        what=f"torch {wish.torch} is not for Python {wish.python}",
        facts=(cite.asked("python", wish.python), cite.torch_python(row)),
        fix="Take another Python, or another torch.",
    )


def _glibc(case: Case) -> Iterator[Conflict]:
    wish = case.wish
    have, builder, oldest = _numbers(wish.glibc), _numbers(wish.builder_glibc), oldest_glibc(wish.machine)
    if have and builder > have:
        yield Conflict(
            reference="builder-newer-than-target",
            what=f"what is built with glibc {wish.builder_glibc} may not start on glibc {wish.glibc}",
            facts=(cite.asked("glibc", wish.glibc), cite.asked("builder_glibc", wish.builder_glibc)),
            fix="Build in an image whose C library is no newer than the target's.",
        )
    if not have or have >= _numbers(oldest):
        return
    fact = Cited(
        table="platform_tags.oldest",
        row=wish.machine,
        says=f"installers take no wheel for a glibc older than {oldest} on {wish.machine}",
    )
    yield Conflict(
        reference="target-glibc-too-old",
        what=f"no wheel can be installed on glibc {wish.glibc}",
        facts=(cite.asked("glibc", wish.glibc), fact),
        fix=f"Take a target with glibc {oldest} or newer.",
    )


def _numbers(glibc: str) -> tuple[int, ...]:
    """Such as (2, 28); empty of what is no release."""
    parts = glibc.split(".")
    return tuple(int(item) for item in parts) if all(item.isdecimal() for item in parts) else ()
