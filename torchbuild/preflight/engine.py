"""What builds run in: container engines, namespaces, and what hands a GPU to a container."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.model.host import Engine
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, not_run, passed, warned

__all__ = ["engine", "gpu_runtime", "machine_family", "namespaces"]

_UNPACKING = ("rootfs", "apptainer")
"""What unpacks an image by itself, and needs namespaces or its own program."""
_CONTAINERS = ("podman", "docker")


def machine_family(case: Case) -> Iterator[Preflight]:
    """A wheel for one family of processors is built on that family."""
    if case.recipe is None:
        yield passed("machine-family", "processor family of this machine", seen=case.host.machine)
        return
    wanted, what = case.recipe.target.machine, "processor family of this machine"
    if case.host.machine == wanted:
        yield passed("machine-family", what, seen=wanted)
        return
    yield failed(
        "machine-family",
        what,
        seen=case.host.machine,
        wanted=wanted,
        fix=f"Build on a machine with {wanted}, or set target.machine.",
    )


def engine(case: Case) -> Iterator[Preflight]:
    """An engine that answers, where the recipe names a builder image."""
    if case.recipe is not None and case.recipe.image is None:
        return
    wanted = case.recipe.machine.engine if case.recipe is not None else "auto"
    candidates = _candidates(case, wanted)
    working = next((item for item in candidates if item.works), None)
    what = "a container engine" if wanted == "auto" else f"the engine {wanted}"
    if working is not None:
        yield passed("engine-answers", what, seen=f"{working.name} {working.version}".strip())
        return
    if not candidates and case.is_unseen("engine"):
        yield not_run("engine-answers", f"{what}: {case.is_unseen('engine')}")
        return
    seen = "; ".join(f"{item.name}: {item.why or 'does not answer'}" for item in candidates) or "none"
    alone = case.recipe is None
    say = warned if alone else failed
    unpacks = wanted == "auto" and case.host.has_namespaces
    other = ', or set machine.engine = "rootfs", which needs none' if unpacks else ""
    yield say(
        "engine-answers",
        f"{what} that answers" + (": recipes with an image need one" if alone else ""),
        seen=seen,
        wanted="podman, docker, or rootfs with namespaces" if wanted == "auto" else f"{wanted} that answers",
        fix=f"Install podman{other}."
        if wanted == "auto"
        else f"Make {wanted} answer, or change machine.engine.",
    )


def _candidates(case: Case, wanted: str) -> tuple[Engine, ...]:
    names = _CONTAINERS if wanted == "auto" else (wanted,)
    return tuple(item for item in case.host.engines if item.name in names)


def namespaces(case: Case) -> Iterator[Preflight]:
    """What keeps a build from the network, and gives it its fixed place, where no container does."""
    what = "user, mount, process and network namespaces"
    machine = case.recipe.machine if case.recipe is not None else None
    needs = case.builds_here or (machine is not None and machine.engine in _UNPACKING)
    if case.recipe is not None and not needs:
        return
    if case.is_unseen("namespaces"):
        yield not_run("namespaces-here", f"{what}: {case.is_unseen('namespaces')}")
    elif case.host.has_namespaces:
        yield passed("namespaces-here", what)
    else:
        yield warned(
            "namespaces-here",
            f"{what}: without them only a filter of the kernel keeps a build from its network",
            seen="refused",
            wanted="allowed",
            fix="Allow them (kernel.unprivileged_userns_clone, user.max_user_namespaces, AppArmor), or "
            "name a builder image.",
        )


def gpu_runtime(case: Case) -> Iterator[Preflight]:
    """A wheel that is run on a GPU inside a container needs what hands the GPU in."""
    if case.recipe is None or case.recipe.image is None or case.recipe.verify.level != "gpu":
        return
    candidates = [item for item in _candidates(case, case.recipe.machine.engine) if item.works]
    if not candidates:
        return
    found = next((item for item in candidates if item.gpu_runtime), None)
    what = f"what hands GPUs to containers of {candidates[0].name}"
    if found is not None:
        yield passed("engine-without-gpus", what, seen=found.gpu_runtime)
        return
    yield failed(
        "engine-without-gpus",
        what,
        seen="nothing",
        wanted="a CDI description, or the NVIDIA container runtime",
        fix="Install nvidia-container-toolkit, and run `nvidia-ctk cdi generate`; docker must be restarted.",
    )
