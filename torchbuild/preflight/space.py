"""Disks: room and files for what a build makes, and whether programs there can be started."""

from __future__ import annotations

from collections.abc import Iterator

from torchbuild.knowledge.build_costs import space_fact
from torchbuild.knowledge.cuda import cuda_release, space_ratios
from torchbuild.model.byte_size import bytes_of
from torchbuild.model.host import Disk
from torchbuild.model.recipe import Machine, Recipe
from torchbuild.preflight.case import Case
from torchbuild.preflight.estimate import Amount, disk_need
from torchbuild.preflight.outcome import Preflight, failed, not_run, passed, warned

__all__ = ["disk_kinds", "disk_rights", "free_files", "free_space", "installer_space"]

_GIB = 1 << 30
_NETWORK = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "lustre", "beegfs", "gpfs", "ceph")
_IN_MEMORY = ("tmpfs", "ramfs")
_WRITTEN = ("store", "builds", "out")


def _gib(count: int) -> str:
    return f"{count / _GIB:.1f} GiB"


def _shared(case: Case, disk: Disk) -> str:
    """What else lies on the same file system."""
    same = [item.role for item in case.host.disks if disk.device and item.device == disk.device]
    return (
        f", one file system with {' and '.join(role for role in same if role != disk.role)}"
        if same[1:]
        else ""
    )


def free_space(case: Case) -> Iterator[Preflight]:
    """Free space where builds are made, against what such have taken; and where their inputs are kept."""
    what, builds, store = "free space for builds", case.disk("builds"), case.disk("store")
    if builds is None or builds.free is None:
        yield not_run("disk-space", f"{what}: {case.is_unseen('disk of builds') or 'nobody could look'}")
    else:
        yield _space(case, builds, builds.free, what, disk_need(case))
    is_own = store is not None and (builds is None or not store.device or store.device != builds.device)
    if store is not None and store.free is not None and is_own:
        yield _space(case, store, store.free, "free space for what is fetched", None)


def _space(case: Case, disk: Disk, free: int, what: str, need: Amount | None) -> Preflight:
    floor = bytes_of((case.recipe.machine if case.recipe is not None else Machine()).disk_floor)
    seen = f"{_gib(free)} in {disk.path}{_shared(case, disk)}"
    variable = "TORCHBUILD_CACHE" if disk.role == "store" else "TORCHBUILD_BUILDS"
    fix = f"Free space: `torchbuild store` lists what may go; or move it with {variable}."
    if free < floor:
        say = failed if case.recipe is not None else warned
        told, wanted = f"{what}: a build would wait at once", f"{_gib(floor)}, which is machine.disk_floor"
        return say("disk-space", told, seen=seen, wanted=wanted, fix=fix)
    if need is not None and free < need.count + floor:
        wanted = f"{_gib(need.count + floor)}: {_about(need, floor)}"
        return warned("disk-space", f"{what}: such builds have taken more", seen=seen, wanted=wanted, fix=fix)
    return passed("disk-space", what, seen=seen, wanted=f"about {_gib(need.count)}" if need else "")


def _about(need: Amount, floor: int) -> str:
    """What the sum is made of: a build waits where less than the floor is left."""
    return f"about {_gib(need.count)} ({need.basis}), and {_gib(floor)} that stay free (machine.disk_floor)"


def free_files(case: Case) -> Iterator[Preflight]:
    """A file system can be full of files and have space left. How many a build makes is known of torch."""
    fact, is_torch = space_fact("files"), case.recipe is None or case.recipe.wheel.package == "torch"
    for role in _WRITTEN[:2]:
        disk = case.disk(role)
        if disk is None or disk.inodes is None:
            continue
        is_counted = fact is not None and role == "builds" and is_torch
        least = fact.least if fact is not None and is_counted else 1
        what = f"files that can still be made in {disk.path}"
        if disk.inodes < least:
            say = failed if case.recipe is not None else warned
            yield say(
                "disk-files",
                what,
                seen=str(disk.inodes),
                wanted=f"{least:.0f} ({fact.source})" if fact is not None and is_counted else "some",
                fix="Remove files there, or move torchbuild's folders: TORCHBUILD_BUILDS, TORCHBUILD_CACHE.",
            )
        else:
            yield passed("disk-files", what, seen=str(disk.inodes))


def disk_rights(case: Case) -> Iterator[Preflight]:
    """Each place can be written, and programs in the build's own can be started."""
    for disk in case.host.disks:
        what = f"{disk.role} in {disk.obstacle or disk.path}"
        if not disk.is_writable:
            yield failed(
                "disk-not-writable",
                f"{what} cannot be written",
                seen=_why_not(case, disk),
                wanted="a folder of yours",
                fix=_move(disk.role),
            )
        elif disk.is_noexec and disk.role == "builds":
            yield failed(
                "disk-noexec",
                f"{what}: programs there cannot be started, and a build starts what it makes",
                seen="mounted noexec",
                wanted="a file system where programs start",
                fix=_move(disk.role),
            )
        elif disk.role == "temp" and disk.wanted:
            yield warned(
                "disk-not-writable",
                f"{what}: TMPDIR names what is not there; builds here have a folder of their own",
                seen=f"{disk.wanted} is not there",
                wanted="a folder of yours",
                fix=_move(disk.role),
            )
        elif disk.is_noexec and disk.role == "temp":
            yield warned(
                "disk-noexec",
                f"{what}: installers by hand unpack there and fail; builds here have a folder of their own",
                seen="mounted noexec",
                fix="Set TMPDIR to a folder where programs start, for what you run by hand.",
            )
        else:
            room = f", {_gib(disk.free)} free" if disk.free is not None else ""
            yield passed("disk-not-writable", what, seen=f"{disk.kind}{room}")


def _why_not(case: Case, disk: Disk) -> str:
    if disk.obstacle:
        return f"{disk.obstacle} is no directory"
    return case.is_unseen(f"disk of {disk.role}") or "no right to write, or read-only"


def _move(role: str) -> str:
    names = {"builds": "TORCHBUILD_BUILDS", "store": "TORCHBUILD_CACHE", "temp": "TMPDIR"}
    return f"Set {names[role]} to another folder." if role in names else "Name another folder with --out."


def disk_kinds(case: Case) -> Iterator[Preflight]:
    """Builds on a network or in memory work, slowly or not for long."""
    disk = case.disk("builds")
    if disk is None:
        return
    what = f"file system of {disk.path}, where builds are"
    fix = "Set TORCHBUILD_BUILDS to a folder on a disk of this machine."
    if disk.kind.startswith(_NETWORK):
        told = f"{what}: tens of thousands of small files are slow there"
        yield warned("disk-kind", told, seen=disk.kind, wanted="a disk of this machine", fix=fix)
    elif disk.kind in _IN_MEMORY:
        told = f"{what}: what is built takes the memory that compilers need"
        yield warned("disk-kind", told, seen=disk.kind, wanted="a disk", fix=fix)
    elif disk.kind:
        yield passed("disk-kind", what, seen=disk.kind)


def installer_space(case: Case) -> Iterator[Preflight]:
    """NVIDIA's installer unpacks itself, then copies: short of space it fails with a word about neither."""
    need = _installer_need(case.recipe) if case.recipe is not None else None
    disk = case.disk("builds")
    if need is None or disk is None or disk.free is None:
        return
    ratios = space_ratios()
    what, wanted = "space for the CUDA installer", f"about {_gib(need)} ({ratios.source})"
    seen = f"{_gib(disk.free)} in {disk.path}"
    if disk.free >= need:
        yield passed("installer-space", what, seen=seen, wanted=wanted)
    else:
        fix = "Free space there, or move builds with TORCHBUILD_BUILDS."
        yield failed("installer-space", what, seen=seen, wanted=wanted, fix=fix)


def _installer_need(recipe: Recipe) -> int | None:
    """The runfile itself, what it unpacks, and what it installs; None where its size is not known."""
    if recipe.cuda is None or recipe.cuda.source != "runfile":
        return None
    release = cuda_release(recipe.cuda.version)
    runfile = release.runfile(recipe.target.machine) if release is not None else None
    if runfile is None or runfile.size is None:
        return None
    ratios = space_ratios()
    return int(runfile.size * (1 + ratios.temp + ratios.prefix))
