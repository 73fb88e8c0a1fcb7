"""What surrounds a build: git, proxies, the clock, variables that mislead, a driver of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath

from torchbuild.knowledge.cuda import cuda_releases
from torchbuild.knowledge.drivers import is_eligible
from torchbuild.knowledge.gpus import gpu_family, gpu_product
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, not_run, passed, warned

__all__ = ["clock", "forward_compat_in_path", "git", "host_driver", "kernel_modules", "misleading", "proxies"]

_SEARCHED = ("LD_LIBRARY_PATH", "LD_PRELOAD")
_COMPAT = "compat"


def host_driver(case: Case) -> Iterator[Preflight]:
    """The driver of this machine. A build needs none: it is told for who builds where the wheel will run."""
    host, what = case.host, "NVIDIA's driver of this machine"
    if host.driver:
        cuda = f", runs CUDA {host.driver_cuda}" if host.driver_cuda else ""
        gpus = ", ".join(item.name for item in host.gpus) or "no GPU"
        yield passed("driver-here", what, seen=f"{host.driver}{cuda}; {gpus}")
        if host.driver_library:
            yield warned(
                "driver-library-differs",
                "the driver in the kernel and its library are two releases: CUDA ends with error 803",
                seen=f"kernel {host.driver}, library {host.driver_library}",
                wanted="one release",
                fix="Start the machine again, or install the driver anew.",
            )
    else:
        why = case.is_unseen("driver") or "none is loaded"
        yield not_run("driver-here", f"{what}: {why}; a build needs none")


def kernel_modules(case: Case) -> Iterator[Preflight]:
    """Chips that need the open kernel modules do not start with the others, and the reverse."""
    modules = case.host.modules
    for gpu in case.host.gpus if modules in ("open", "proprietary") else ():
        family = gpu_family(gpu.capability) if gpu.capability else None
        if family is None or family.modules not in ("open", "proprietary"):
            continue
        what = f"kernel modules for {gpu.name} ({family.title})"
        if family.modules == modules:
            yield passed("driver-modules-here", what, seen=modules)
        else:
            yield warned(
                "driver-modules-here",
                what,
                seen=modules,
                wanted=f"{family.modules} ({family.source})",
                fix=f"Install the {family.modules} kernel modules of the same driver.",
            )


def forward_compat_in_path(case: Case) -> Iterator[Preflight]:
    """NVIDIA's forward-compatibility library, found first, ends every program on GPUs that it is not for."""
    searched = (part for name in _SEARCHED for part in case.host.variables.get(name, "").split(":"))
    # the loader's own configuration can lead there as well, as in images of NVIDIA
    first = case.host.driver_libraries[:1]
    paths = [part for part in dict.fromkeys((*searched, *first)) if _COMPAT in PurePosixPath(part).parts]
    lines = {product.line for gpu in case.host.gpus if (product := gpu_product(gpu.name)) is not None}
    refused = [
        line for line in sorted(lines) if (fact := is_eligible(line)) is not None and not fact.is_eligible
    ]
    if not paths:
        return
    what = "a forward-compatibility library in the search path"
    if refused:
        yield warned(
            "forward-compat-in-path",
            f"{what}: CUDA ends with error 804 on GPUs that it is not for",
            seen=f"{', '.join(paths)}; GPUs of the line {', '.join(refused)}",
            wanted="the driver's own library first",
            fix="Remove that folder from LD_LIBRARY_PATH and from /etc/ld.so.conf.d.",
        )
    else:
        yield passed("forward-compat-in-path", what, seen=", ".join(paths))


def git(case: Case) -> Iterator[Preflight]:
    """Sources from a repository need git."""
    needs = case.recipe is not None and case.recipe.source.git is not None
    if case.host.git:
        yield passed("git-here", "git", seen=case.host.git)
    elif case.is_unseen("git"):
        yield not_run("git-here", f"git: {case.is_unseen('git')}")
    else:
        say = failed if needs else warned
        yield say(
            "git-here",
            "git: sources from a repository need it",
            seen="none in PATH",
            wanted="git",
            fix="Install git.",
        )


def clock(case: Case) -> Iterator[Preflight]:
    """A clock that is behind makes certificates invalid and every file of a tree newer than now."""
    known = max(row.checked for row in cuda_releases() if row.checked != "unconfirmed")
    seen, newest = _day(case.host.clock), _day(case.host.newest_file)
    what = "the clock of this machine"
    if seen < max(known, newest):
        yield warned(
            "clock-behind",
            f"{what} is behind its own files, or behind the facts that this torchbuild carries",
            seen=seen,
            wanted=f"{max(known, newest)} or later",
            fix="Set the clock, or have it set by NTP.",
        )
    else:
        yield passed("clock-behind", what, seen=seen)


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(max(seconds, 0), UTC).strftime("%Y-%m-%d")


def proxies(case: Case) -> Iterator[Preflight]:
    """Proxies that everything is fetched through; some of what fetches knows no SOCKS."""
    found = case.host.proxies
    socks = [name for name, value in found.items() if value.lower().startswith("socks")]
    what = "proxies"
    if socks:
        yield warned(
            "proxy-socks",
            f"{what}: downloads of files need one that speaks HTTP",
            seen=", ".join(f"{name}={found[name]}" for name in socks),
            wanted="http://HOST:PORT",
            fix="Set an HTTP proxy, or unset these variables for torchbuild.",
        )
    else:
        shown = ", ".join(f"{name}={value}" for name, value in sorted(found.items()))
        yield passed("proxy-socks", what, seen=shown or "none")


def misleading(case: Case) -> Iterator[Preflight]:
    """Variables that change a build by hand without a word. A build here sees none of them."""
    names = [name for name in sorted(case.host.variables) if case.host.variables[name]]
    seen = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")  # noqa: PLR2004
    what = "variables that mislead a build: none of them reaches one of torchbuild"
    yield passed("variables-kept-out", what, seen=seen or "none")
