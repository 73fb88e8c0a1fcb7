"""From the options of ``torchbuild init`` to a wish; what is ``auto`` is seen on this machine."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torchbuild.advice.of_recipe import WISH_KEYS, gcc_of
from torchbuild.advice.wish import Wish
from torchbuild.errors import HostError, UsageError
from torchbuild.knowledge.distributions import distribution, near_distributions
from torchbuild.knowledge.gpus import gpu_product
from torchbuild.knowledge.torch_releases import torch_lines
from torchbuild.model.driver import parse_driver
from torchbuild.model.host import Gpu, Host
from torchbuild.resolve.overrides import Override

__all__ = ["Asked", "own_machine", "wish_for"]

_AUTO = "auto"
_MACHINES = ("x86_64", "aarch64")
_GLIBC = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
_LISTS = ("gpus", "archs")
_LONGEST = (100, 4096)
"""Letters of an option; of one that may be a path."""
_WORDS = {"machine": _MACHINES, "modules": ("open", "proprietary")}
_OF_CUDA = ("gpus", "archs", "cuda", "cudnn", "nccl")
"""Fields that a wheel for the CPU has none of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The options, as they were typed; what was not is empty."""

    torch: str = ""
    gpus: tuple[str, ...] = ()
    is_cpu: bool = False
    driver: str = ""
    modules: str = ""
    forward_compat: bool = False
    python: str = ""
    glibc: str = ""
    distro: str = ""
    cuda: str = ""
    machine: str = ""
    like: str = ""
    added: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    name: str = ""
    out: str = ""
    force: bool = False
    as_json: bool = False


class _Machine:
    """This machine, looked at once and only where it counts."""

    def __init__(self, look: Callable[[], Host]) -> None:
        self._look = look
        self._seen: Host | None = None
        self.notes: list[str] = []

    @property
    def host(self) -> Host:
        if self._seen is None:
            self._seen = self._look()
        return self._seen

    def why(self, *whats: str) -> tuple[str, ...]:
        """Why something was not seen."""
        return tuple(f"{item.what}: {item.why}" for item in self.host.unseen if item.what in whats)


def wish_for(
    asked: Asked,
    sets: tuple[Override, ...],
    look: Callable[[], Host],
    *,
    like: Mapping[str, Any] | None = None,
    has_cuda: bool = False,
) -> tuple[Wish, tuple[str, ...]]:
    """The wish, and what was seen of this machine for it, a sentence each.

    Args:
        asked: the options.
        sets: those of ``--set``.
        look: looks at this machine; only called where an option says so, or none says which GPU.
        like: fields of the wish that a wheel gives; options win over them. None without a wheel.
        has_cuda: whether that wheel is one for CUDA, or may be.

    Raises:
        UsageError: ``init-options-contradict``, ``init-option-unreadable``, ``init-gpu-missing``,
            ``init-glibc-unreadable``, ``distribution-unknown``.
        HostError: ``init-gpu-not-seen``, ``init-driver-not-seen``.
    """
    _check(asked, sets)
    machine, given = _Machine(look), dict(like or {})
    wanted = {key: value for item in sets for key, value in _of_set(item)}
    given |= {key: value for key, value in _of_options(asked).items() if value}
    if asked.is_cpu:
        given |= dict.fromkeys(_OF_CUDA, "")
    elif _AUTO in asked.gpus:
        given |= _seen_gpus(machine, asked, is_asked=True)
    elif like is None and not (given.get("gpus") or given.get("archs") or wanted.keys() & {"gpus", "archs"}):
        given |= _seen_gpus(machine, asked, is_asked=False)
    if given.get("driver") == _AUTO:
        given["driver"] = _seen_driver(machine)
    wish = {key: value for key, value in (given | wanted).items() if value}
    if (wish.get("cuda") or (has_cuda and not asked.is_cpu)) and not (wish.get("gpus") or wish.get("archs")):
        raise _no_archs(asked)
    wish.setdefault("torch", _newest())
    wish.setdefault("machine", own_machine())
    wish["driver"] = _lowest(str(wish.get("driver", "")))
    return Wish.model_validate(wish), tuple(machine.notes)


def _check(asked: Asked, sets: tuple[Override, ...]) -> None:
    of_cuda = next((item.dotted for item in sets if WISH_KEYS.get(item.dotted) in _OF_CUDA), "")
    pairs = (
        ("--cpu", asked.is_cpu, f"--set {of_cuda}", of_cuda),
        ("--cpu", asked.is_cpu, "--gpu", asked.gpus),
        ("--cpu", asked.is_cpu, "--cuda", asked.cuda),
        ("--cpu", asked.is_cpu, "--add-gpu", asked.added),
        ("--glibc", asked.glibc, "--distro", asked.distro),
    )
    for one, first, other, second in pairs:
        if first and second:
            raise UsageError(
                "init-options-contradict",
                f"{one} and {other} cannot both be given",
                why=f"seen {one} with {other}",
                fix=f"Leave out {one} or {other}.",
            )
    if asked.added and not asked.like:
        raise UsageError(
            "init-options-contradict",
            "--add-gpu adds to what --like reads",
            why="seen --add-gpu without --like",
            fix="Give --gpu instead, or add --like.",
        )
    _check_words(asked)
    if asked.glibc and not _GLIBC.fullmatch(asked.glibc):
        raise UsageError(
            "init-glibc-unreadable",
            f"--glibc {asked.glibc[:40]!r} is no release of the C library",
            why="wanted two numbers, such as 2.28: ldd --version tells it",
            fix="Give two numbers, or the distribution with --distro.",
        )


def _check_words(asked: Asked) -> None:
    """No option is longer than a line, nor holds what a line cannot; a GPU has a name."""
    words = [("--gpu", item, 1) for item in asked.gpus] + [("--add-gpu", item, 1) for item in asked.added]
    names = ("torch", "driver", "python", "glibc", "distro", "cuda", "name", "like", "out")
    words += [(f"--{name}", getattr(asked, name), 0) for name in names]
    for option, text, least in words:
        if (
            not text.isprintable()
            or not least <= len(text.strip())
            or len(text) > _LONGEST[option in ("--like", "--out")]
        ):
            raise UsageError(
                "init-option-unreadable",
                f"{option} {text[:60]!r} cannot be meant",
                why="seen a text that is empty, too long, or holds letters that cannot be printed",
                fix=f"Correct {option}.",
            )


def _of_options(asked: Asked) -> dict[str, Any]:
    return {
        "torch": asked.torch,
        "gpus": tuple(dict.fromkeys((*(item for item in asked.gpus if item != _AUTO), *asked.added))),
        "driver": asked.driver,
        "modules": asked.modules,
        "forward_compat": asked.forward_compat,
        "machine": asked.machine,
        "glibc": asked.glibc or (_glibc_of(asked.distro) if asked.distro else ""),
        "python": asked.python,
        "cuda": asked.cuda,
    }


def _glibc_of(name: str) -> str:
    row = distribution(name)
    if row is not None and row.glibc:
        return row.glibc
    near = near_distributions(name)
    raise UsageError(
        "distribution-unknown",
        f"nothing is known of a distribution {name[:60]!r}",
        why=f"known and near: {', '.join(near)}" if near else "no known one is called alike",
        fix=f"Give --distro {near[0]}, or the C library with --glibc." if near else "Give --glibc.",
    )


def _of_set(item: Override) -> Iterator[tuple[str, Any]]:
    """The field of the wish that a key of a recipe is; none where it is another one."""
    field, value = WISH_KEYS.get(item.dotted), item.value
    if field is None:
        return
    if field in _LISTS:
        yield field, tuple(str(part) for part in value) if isinstance(value, list) else (str(value),)
    elif field == "gcc":
        yield field, gcc_of(item.text.strip("\"'"))
    elif field == "forward_compat":
        yield field, value is True
    elif field in _WORDS:  # another word is refused with the recipe
        if value in _WORDS[field]:
            yield field, value
    else:  # a number typed without quotes is text
        yield field, value if isinstance(value, str) else item.text


def _seen_gpus(machine: _Machine, asked: Asked, *, is_asked: bool) -> dict[str, Any]:
    """The GPUs of this machine, with its driver where no other was named."""
    found = tuple(dict.fromkeys(filter(None, map(_named, machine.host.gpus))))
    if not found:
        raise _no_gpu(machine, is_asked=is_asked)
    machine.notes.append(f"GPUs of this machine: {', '.join(found)}")
    more = tuple(item for item in asked.gpus if item != _AUTO)
    seen: dict[str, Any] = {"gpus": tuple(dict.fromkeys((*found, *more, *asked.added)))}
    if not asked.driver and machine.host.driver:
        seen["driver"] = machine.host.driver
        machine.notes.append(f"driver of this machine: {machine.host.driver}")
    if not asked.modules and machine.host.modules in _WORDS["modules"]:
        seen["modules"] = machine.host.modules
    return seen


def _named(gpu: Gpu) -> str:
    """By its product where that says the chip, else by what the driver says; empty where neither is known."""
    product = gpu_product(gpu.name)
    sms = product.capabilities if product is not None else ()
    if product is not None and sms in ((gpu.capability,), (sms[0],)) and gpu.capability in (None, *sms):
        return product.name
    return f"sm_{gpu.capability}" if gpu.capability else ""


def _no_gpu(machine: _Machine, *, is_asked: bool) -> UsageError | HostError:
    why = machine.why("gpus", "driver", "everything") or ("seen no NVIDIA GPU on this machine",)
    if is_asked:
        return HostError(
            "init-gpu-not-seen",
            "--gpu auto: this machine shows no GPU",
            why=why,
            fix='Name the target\'s: --gpu "GTX 1080 Ti" or --gpu sm_61.',
        )
    return UsageError(
        "init-gpu-missing",
        "no GPU is named, and this machine shows none",
        why=why,
        fix='Give --gpu NAME, such as --gpu "GTX 1080 Ti" or --gpu sm_61; or --cpu for a wheel without CUDA.',
    )


def _no_archs(asked: Asked) -> UsageError:
    return UsageError(
        "init-gpu-missing",
        f"nobody knows which architectures {asked.like or 'it'} has",
        why="seen no GPU and no architecture, and nothing that says it is a wheel for the CPU",
        fix="Give --gpu NAME or --add-gpu NAME; or --set 'cuda.archs=[\"9.0\"]'; or --cpu.",
    )


def _seen_driver(machine: _Machine) -> str:
    if not machine.host.driver:
        raise HostError(
            "init-driver-not-seen",
            "--driver auto: this machine shows no NVIDIA driver",
            why=machine.why("driver", "gpus", "everything") or ("seen no driver",),
            fix="Give the target's: --driver 535, as nvidia-smi shows it there.",
        )
    machine.notes.append(f"driver of this machine: {machine.host.driver}")
    return machine.host.driver


def _newest() -> str:
    """The newest release that somebody read the facts of."""
    lines = torch_lines()
    line = next((row for row in reversed(lines) if row.checked != "unconfirmed"), lines[-1])
    return line.releases[-1] if line.releases else line.minor


def own_machine() -> str:
    """This machine's processor family, where a wheel can be for it; else the first that one can be for."""
    here = platform.machine()
    return here if here in _MACHINES else _MACHINES[0]


def _lowest(driver: str) -> str:
    """``>=535`` means its lowest; what is no driver is left for the solver, which says so."""
    try:
        return parse_driver(driver).lowest if driver else ""
    except ValueError:
        return driver
