"""GPU code of what a build made: every device object of a build tree, and a library that it was given."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torchbuild.inspection.gpu_code import GpuCode, GpuCodeError, gpu_code
from torchbuild.inspection.gpu_code_check import Findings, compare, covers, unreadable
from torchbuild.model.finding import Finding, Outcome, failures
from torchbuild.model.gpu_arch import parse_arch

__all__ = ["REFERENCES", "device_objects", "library_covers"]

REFERENCES = ("gpu-code-objects",)

_FIRST_OWN = 90
"""No chip before has code of its own."""
_OTHERS = ("nccl",)
"""Where the tree builds what is not its own: its makefiles add lists of their own."""
_MOST = 20
"""Objects that are named one by one."""


def device_objects(tree: Path, archs: Iterable[str], *, is_whole: bool = True) -> tuple[Finding, ...]:
    """Each device object below a directory holds the code that the recipe asks for, and no other.

    A build that ended has some; one that stopped at a target may have none yet. A tree may compile some of
    its files for the own instructions of an asked chip besides: ``sm_90a``.
    """
    archs = tuple(archs)
    also = _own_chips(archs)
    paths = sorted(path for path in tree.rglob("*.cu.o") if path.relative_to(tree).parts[0] not in _OTHERS)
    wrong: list[Finding] = []
    for path in paths:
        wrong += failures(_of_object(path, str(path.relative_to(tree)), archs, also))
    if not paths:
        what = "GPU code of device objects: none was compiled"
        outcome: Outcome = "failed" if is_whole else "not run"
        wanted = " ".join(archs)
        return (
            Finding(reference="gpu-code-objects", outcome=outcome, what=what, seen="none", wanted=wanted),
        )
    if wrong:
        return tuple(wrong[:_MOST])
    return (
        Finding(
            reference="gpu-code-objects",
            outcome="passed",
            what="GPU code of every device object",
            seen=f"{len(paths)} objects as asked",
            wanted=" ".join(archs),
        ),
    )


def _of_object(path: Path, name: str, archs: tuple[str, ...], also: tuple[str, ...]) -> Findings:
    try:
        return compare(gpu_code(path, name), archs, also)
    except (GpuCodeError, OSError) as error:
        return unreadable(GpuCodeError(f"{name}: {error}"))


def _own_chips(archs: tuple[str, ...]) -> tuple[str, ...]:
    numbers = sorted({parse_arch(text).number for text in archs})
    return tuple(f"sm_{number}{suffix}" for number in numbers if number >= _FIRST_OWN for suffix in "af")


def _exactly(code: GpuCode, sass: tuple[str, ...]) -> tuple[Finding, ...]:
    same = set(code.sass) == set(sass)
    return (
        Finding(
            reference="gpu-code-sass",
            outcome="passed" if same else "failed",
            what=f"{code.path} holds exactly the machine code that it was built for",
            seen=" ".join(code.sass),
            wanted=" ".join(sass),
        ),
    )


def library_covers(
    folder: Path, pattern: str, archs: Iterable[str], exact: tuple[str, ...] = ()
) -> tuple[Finding, ...]:
    """Each chip of the recipe can run what lies in the libraries of a directory.

    Args:
        folder: the directory.
        pattern: of the libraries' names, such as ``libnccl.so.*``.
        archs: the recipe's list.
        exact: the machine code that one which was built here must hold, and no other.
    """
    archs = tuple(archs)
    files = sorted({path.resolve() for path in folder.glob(pattern) if path.is_file()})
    if not files:
        what = f"GPU code of {pattern}: there is no such file in {folder.name}"
        return (
            Finding(reference="gpu-code-covers", outcome="failed", what=what, seen="none", wanted=pattern),
        )
    found: list[Finding] = []
    for path in files:
        try:
            code = gpu_code(path, path.name)
            found += covers(code, archs)
            found += _exactly(code, exact) if exact else ()
        except (GpuCodeError, OSError) as error:
            found += unreadable(GpuCodeError(f"{path.name}: {error}"))
    return tuple(found)
