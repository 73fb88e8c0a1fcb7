"""The toolkit: what its providers can have, and what the device compilers of this machine really are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from torchbuild.errors import ConflictError
from torchbuild.model.gpu_arch import parse_arch
from torchbuild.model.host import Nvcc
from torchbuild.model.recipe_toolchain import Cuda
from torchbuild.preflight.case import Case
from torchbuild.preflight.outcome import Preflight, failed, not_run, passed, warned
from torchbuild.toolchains.library_wish import same_release
from torchbuild.toolchains.providers import providers_of

__all__ = ["device_compilers", "foreign_installer", "providers_can", "real_nvcc"]

_ON_THE_BUILDER = ("system", "apt")
_APT = "/usr"


def providers_can(case: Case) -> Iterator[Preflight]:
    """Whether each provider that the recipe names has what the recipe wants, by its own tables."""
    if case.recipe is None:
        return
    refused = False
    for name, provider in providers_of(case.recipe).items():
        try:
            provider.questions(case.recipe)
        except ConflictError as error:
            refused = True
            yield failed(
                error.reference,
                f"{name}: {error.what}",
                seen="; ".join(error.why[:1]).removeprefix("seen ").removeprefix("seen: "),
                wanted="; ".join(error.why[1:]).removeprefix("wanted ").removeprefix("wanted: "),
                fix=error.fix,
                blames="recipe",
            )
    if case.has_cuda and not refused:
        yield passed("parts-can-be-had", "toolkit and libraries, each from where the recipe wants it")


def real_nvcc(case: Case) -> Iterator[Preflight]:
    """The very nvcc that a build on this machine would take: its release, and each architecture."""
    recipe = case.recipe
    if recipe is None or recipe.cuda is None or recipe.cuda.source not in _ON_THE_BUILDER:
        return
    place = recipe.cuda.path or _APT
    what = f"nvcc of {place}"
    if not case.builds_here:
        yield not_run(
            "nvcc-of-recipe", f"{what}: it is the builder image's, which `torchbuild lock` looks at"
        )
        return
    nvcc = next((item for item in _there(case) if _is_below(item, place)), None)
    if nvcc is None:
        yield _no_nvcc(case, what, place)
        return
    yield from _release(nvcc, recipe.cuda, what)
    yield from _architectures(nvcc, recipe.cuda, what)


def _there(case: Case) -> tuple[Nvcc, ...]:
    """Those that are more than a name in a variable."""
    return tuple(item for item in case.host.nvccs if item.kind != "absent")


def _is_below(nvcc: Nvcc, place: str) -> bool:
    """Whether it is the one at ``PLACE/bin``, by the name that leads to it or by where that ends."""
    wanted = PurePosixPath(place) / "bin" / "nvcc"
    paths = (nvcc.path, nvcc.real)
    return str(wanted) in paths or nvcc.toolkit == place.rstrip("/")


def _no_nvcc(case: Case, what: str, place: str) -> Preflight:
    why = case.is_unseen("nvcc")
    if why and not case.host.nvccs:
        return not_run("nvcc-of-recipe", f"{what}: {why}")
    others = ", ".join(f"{item.path} ({item.version or 'of no release'})" for item in _there(case))
    return failed(
        "nvcc-of-recipe",
        f"{what} is not there",
        seen=others or "no nvcc at all",
        wanted=f"{place}/bin/nvcc",
        fix='Correct cuda.path, or set cuda.from to "redist" or "runfile": a build then brings its own.',
        blames="recipe",
    )


def _release(nvcc: Nvcc, cuda: Cuda, what: str) -> Iterator[Preflight]:
    wanted = ".".join(cuda.version.split(".")[:2])
    if not nvcc.version:
        yield failed(
            "nvcc-of-recipe",
            f"{what} does not say what it is",
            seen=nvcc.why or f"{nvcc.path} says nothing",
            wanted=f"release {wanted}",
            fix="Start it by hand; repair or replace the toolkit.",
        )
    elif not same_release(nvcc.version, wanted):
        yield failed(
            "nvcc-of-recipe",
            f"{what} is another release",
            seen=f"{nvcc.version} ({nvcc.real})",
            wanted=f"release {wanted}",
            fix="Correct cuda.version or cuda.path.",
            blames="recipe",
        )
    elif nvcc.headers and nvcc.headers != wanted:
        yield failed(
            "nvcc-of-recipe",
            f"{what} and the headers beside it are two releases",
            seen=f"nvcc {nvcc.version}, cuda.h {nvcc.headers} in {nvcc.toolkit}",
            wanted=f"both {wanted}",
            fix="Install the toolkit anew, or name another one in cuda.path.",
        )
    else:
        yield passed("nvcc-of-recipe", what, seen=nvcc.version, wanted=wanted)


def _architectures(nvcc: Nvcc, cuda: Cuda, what: str) -> Iterator[Preflight]:
    """Asked of the compiler itself: a table knows releases, and not what somebody installed."""
    if not nvcc.archs:
        yield not_run("nvcc-architectures", f"{what}: it lists no architectures")
        return
    # no release lists the variants of a chip, 90a and 100f: the facts know from which on they are compiled
    wanted = {text: f"compute_{parse_arch(text).number}" for text in cuda.archs}
    missing = [text for text, virtual in wanted.items() if virtual not in nvcc.archs]
    numbers = sorted(int(item.removeprefix("compute_").rstrip("af") or 0) for item in nvcc.archs)
    listed = f"{nvcc.version or nvcc.path}: compute_{numbers[0]} to compute_{numbers[-1]}"
    if missing:
        yield failed(
            "nvcc-architectures",
            f"{what} cannot compile for {', '.join(missing)}",
            seen=listed,
            wanted=", ".join(wanted[text] for text in missing),
            fix="Take another release of the toolkit, or change cuda.archs.",
            blames="recipe",
        )
    else:
        yield passed("nvcc-architectures", f"{what} for {', '.join(wanted)}", seen=listed)


def device_compilers(case: Case) -> Iterator[Preflight]:
    """Several nvcc on one machine: a build here takes the recipe's; one by hand takes the first."""
    if case.recipe is not None and (not case.builds_here or not case.has_cuda):
        return
    # the recipe's last: nothing but the recipe need lead to it
    listed = sorted(_there(case), key=lambda item: item.found_by == "recipe")
    found = {item.toolkit or item.real or item.path: item for item in listed}
    shown = ", ".join(f"{item.path} ({item.version or 'of no release'})" for item in found.values())
    what = "device compilers of this machine"
    if not found and case.is_unseen("nvcc"):
        yield not_run("nvcc-several", f"{what}: {case.is_unseen('nvcc')}")
    elif len(found) > 1:
        yield warned(
            "nvcc-several",
            f"{what}: a build with CMake alone takes the first; torchbuild takes the recipe's",
            seen=shown,
            wanted="one",
            fix="Remove those that nobody uses, or name the one you want in cuda.path.",
        )
    else:
        yield passed("nvcc-several", what, seen=shown or "none: recipes bring their own")


def foreign_installer(case: Case) -> Iterator[Preflight]:
    """A log of somebody else's installer in a shared place ends ours with a crash."""
    is_ours = (
        case.recipe is not None and case.recipe.cuda is not None and case.recipe.cuda.source == "runfile"
    )
    if case.recipe is not None and not (is_ours and case.builds_here):
        return
    logs, what = ", ".join(case.host.installer_logs), "logs of another user's CUDA installer"
    fix = "Remove them, or ask their owner to."
    wanted = "none, or namespaces, in which the installer gets a /tmp of its own"
    if not logs:
        yield passed("installer-log-in-the-way", what, seen="none")
    elif is_ours and not case.host.has_namespaces:
        yield failed("installer-log-in-the-way", what, seen=logs, wanted=wanted, fix=fix)
    elif is_ours:
        yield passed("installer-log-in-the-way", what, seen=logs, wanted=wanted)
    else:
        yield warned("installer-log-in-the-way", what, seen=logs, wanted=wanted, fix=fix)
