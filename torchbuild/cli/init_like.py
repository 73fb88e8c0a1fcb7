"""What ``torchbuild init --like`` names: a wheel's file, an installation, or a build of upstream's."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchbuild.advice.answer import Advice
from torchbuild.advice.like import like_wish, recipe_like
from torchbuild.advice.like_line import LikeLine, LikeParts
from torchbuild.advice.like_rows import fitting_rows
from torchbuild.advice.recipe_rows import merged_rows, recipe_rows
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish
from torchbuild.errors import UsageError
from torchbuild.inspection.likeness import read_likeness
from torchbuild.knowledge.torch_releases import OfficialBuild, official_builds
from torchbuild.model.likeness import LikeLibrary, Likeness, Read, Unread

__all__ = ["Model", "likeness_called", "model_called", "solved_like"]

_INSTALLED = "installed"
_PUBLISHED = re.compile(r"torch==(?P<version>[0-9][0-9a-z.]*)(\+(?P<local>[a-z0-9.]+))?")
_LIBRARIES = ("cudnn", "nccl", "cusparselt", "nvshmem")
_YIELDING = (("nccl",), ("cudnn",), ("nccl", "cudnn"))
"""What gives way, the least first."""
_NO_FILE = "no file was read: name the wheel's file to have them as well"


@dataclass(frozen=True, slots=True)
class Model:
    """A build that a recipe is to be like."""

    wish: dict[str, Any]
    """What of it is a wish."""
    parts: LikeParts
    """Its lines of a recipe."""

    def solved(self, wish: Wish) -> tuple[Advice, tuple[str, ...]]:
        """As `solved_like`."""
        return solved_like(wish, self.wish)

    def rows(self, advice: Advice, name: str) -> tuple[LikeLine, ...]:
        """All lines: those that were chosen, and its own where they go with them."""
        rows = recipe_rows(advice, name, self.parts.value("blas.provider") or "")
        return merged_rows(rows, fitting_rows(self.parts, advice))

    def comments(self, given_up: tuple[str, ...]) -> tuple[str, ...]:
        """What could not be read of it, and what of it could not be kept."""
        return (*self.parts.comments, *(f"Note: {item}." for item in given_up))


def model_called(text: str, machine: str, added: tuple[str, ...]) -> Model:
    """A build, with further GPUs. Arguments and errors as for `likeness_called`."""
    likeness = likeness_called(text, machine)
    return Model(like_wish(likeness, added), recipe_like(likeness, added))


def likeness_called(text: str, machine: str) -> Likeness:
    """What a build was made with.

    Args:
        text: a wheel's file, a folder that torch is installed in, ``INSTALLED`` for the environment that is
            active, or ``torch==VERSION+LABEL`` for what is known of a build that upstream publishes.
        machine: processor family, for the last.

    Raises:
        UsageError: ``like-unknown``; ``like-not-found`` where a folder holds no torch.
        VerifyError: ``wheel-unreadable``.
        HostError: as `read_likeness`.
    """
    published = _PUBLISHED.fullmatch(text)
    if published is not None:
        return _published(published["version"], published["local"] or "", machine)
    if text.lower() == _INSTALLED:
        return read_likeness(Path(os.environ.get("VIRTUAL_ENV") or sys.prefix))
    path = Path(text)
    if "\0" in text or not path.exists():
        raise _unknown(text, "seen no such file, and no build of that form", "a wheel's file")
    return read_likeness(path)


def solved_like(wish: Wish, like: Mapping[str, Any]) -> tuple[Advice, tuple[str, ...]]:
    """The advice for a wheel like another one, and a sentence for each release of it that could not be kept.

    Upstream's wheels hold code for chips that their own libraries hold none for. The GPUs count, and a
    library that does not serve all of them gives way to one that does; what an option asked for to nothing.

    Args:
        wish: the wheel's fields and the options.
        like: the wheel's fields alone.
    """
    advice = solve(wish)
    if advice.is_possible:
        return advice, ()
    for names in _YIELDING:
        kept = [name for name in names if like.get(name) and getattr(wish, name) == like[name]]
        other = solve(wish.model_copy(update=dict.fromkeys(kept, ""))) if len(kept) == len(names) else advice
        if other.is_possible:
            why = "; ".join(item.what for item in advice.conflicts)
            return other, tuple(f"its {name} {like[name]} is not taken: {why}" for name in names)
    return advice, ()


def _published(version: str, local: str, machine: str) -> Likeness:
    builds = official_builds(version, machine)
    row = next((item for item in builds if local and _label(item) == local), None)
    if row is None:
        known = ", ".join(f"torch=={version}+{_label(item)}" for item in builds) or "none of this release"
        raise _unknown(
            f"torch=={version}{'+' if local else ''}{local}", f"known for {machine}: {known}", "one of them"
        )
    where = f"upstream's own build [official_builds.build, {row.checked}]"
    libraries = tuple(
        LikeLibrary(name=name, state="shared", version=getattr(row, name), where=where)
        for name in _LIBRARIES
        if getattr(row, name)
    )
    return Likeness(
        subject=f"torch {version}+{local} as upstream publishes it, by {row.source}",
        version=Read(value=version, where="it was named"),
        local=Read(value=local, where="it was named"),
        machine=Read(value=machine, where=where),
        glibc=Read(value=row.glibc, where=where) if row.glibc else Read(),
        cuda=Read(value=row.cuda, where=where) if row.cuda else Read(),
        is_cpu=not row.cuda,
        archs=row.archs,
        archs_where=where,
        libraries=libraries,
        unread=(Unread(what="switches, BLAS, OpenMP and what is bundled", why=_NO_FILE),),
    )


def _label(build: OfficialBuild) -> str:
    """As upstream labels its wheels."""
    return "cu" + build.cuda.replace(".", "") if build.cuda else "cpu"


def _unknown(text: str, why: str, wanted: str) -> UsageError:
    return UsageError(
        "like-unknown",
        f"--like {text[:80]!r}: nothing of that name is known",
        why=(why, f"wanted {wanted}"),
        fix="Name a wheel's file, a folder that torch is installed in, INSTALLED, or a build such as"
        " torch==2.9.1+cu126.",
    )
