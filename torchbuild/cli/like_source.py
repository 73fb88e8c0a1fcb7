"""What ``init --like`` names: a wheel, an installed torch, a release on an index; and what is read of it."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from torchbuild.advice.like_official import official_likeness
from torchbuild.errors import FetchError, TorchbuildError, UsageError
from torchbuild.inspection.likeness import likeness_of, read_likeness
from torchbuild.inspection.likeness_source import opened_archive
from torchbuild.knowledge.publishers import publisher_addresses
from torchbuild.model.likeness import Likeness

if TYPE_CHECKING:
    from torchbuild.edges.package_index import IndexFile
    from torchbuild.edges.web import Web

__all__ = ["LikeSource", "likeness_for"]

_INSTALLED = "INSTALLED"
_SPEC = re.compile(r"(?P<name>[A-Za-z][\w.-]*)==(?P<version>[^+\s]+)(?:\+(?P<local>[a-z0-9.]+))?")
_UPSTREAM = "torch-wheels"
_MACHINES = ("x86_64", "aarch64")
_LONGEST_PAUSE_S = 0.5


class LikeSource(NamedTuple):
    """Where a release is looked for."""

    python: str = ""
    """Interpreter that its wheel should be for, such as ``3.11``; the newest there is where empty."""
    machine: str = ""
    """Processor family; this machine's where empty."""
    index_url: str = ""
    """Index of wheels without a local version label; pip's own where empty."""
    labelled_url: str = ""
    """What stands before LABEL of an index of wheels with one; the publisher's where empty."""
    scratch: Path | None = None
    """Directory with room for a wheel's largest libraries, unpacked; the system's own where None."""


def likeness_for(text: str, source: LikeSource | None = None) -> Likeness:
    """Read what an option names.

    Args:
        text: a wheel's path, a folder that torch is installed in, ``INSTALLED`` for the environment that
            is active, or ``torch==VERSION`` with or without a local version label.
        source: where a release is looked for.

    Raises:
        UsageError: ``like-not-found``, ``like-not-on-index``.
        VerifyError: ``wheel-unreadable``.
        FetchError: what the index answers, where the facts know no such wheel either.
        HostError: ``disk-full``, ``not-writable``, ``no-package-index``.
    """
    source = source or LikeSource()
    spec = _SPEC.fullmatch(text)
    if text.upper() == _INSTALLED:
        return read_likeness(Path(os.environ.get("VIRTUAL_ENV") or sys.prefix), scratch=source.scratch)
    if spec is None or Path(text).exists():
        return _of_path(Path(text), source)
    return _of_release(spec, source)


def _of_path(place: Path, source: LikeSource) -> Likeness:
    if not place.exists():
        raise UsageError(
            "like-not-found",
            f"{place}: not there",
            why=("seen: no file, no folder", "wanted: a wheel, a folder with torch in it, or torch==VERSION"),
            fix="Correct --like.",
        )
    return read_likeness(place, scratch=source.scratch)


def _of_release(spec: re.Match[str], source: LikeSource) -> Likeness:
    """By the index; where that has no answer, by the facts, which say so."""
    version, local = spec["version"], spec["local"] or ""
    machine = source.machine or _own_machine()
    try:
        return _by_index(spec, source, machine)
    except TorchbuildError as error:
        if not isinstance(error, FetchError | UsageError):
            raise
        known = (
            official_likeness(version, local, machine, f"{error.what} [{error.reference}]") if local else None
        )
        if known is None:
            raise
        return known


def _own_machine() -> str:
    own = platform.machine()
    return own if own in _MACHINES else _MACHINES[0]


def _by_index(spec: re.Match[str], source: LikeSource, machine: str) -> Likeness:
    from torchbuild.edges.package_index import PackageIndex  # noqa: PLC0415  only where an index is asked
    from torchbuild.edges.web import Web  # noqa: PLC0415

    url = source.index_url
    if spec["local"]:
        url = f"{source.labelled_url or publisher_addresses()[_UPSTREAM]}{spec['local']}"
    with contextlib.closing(Web(pause=_briefly)) as web:
        files = PackageIndex(web, url).listing(spec["name"])
        name = _wheel(spec, files, source.python, machine)
        return _read(web, name, files[name], source)


def _briefly(seconds: float) -> None:
    """A person waits for the answer, and there are the facts."""
    time.sleep(min(seconds, _LONGEST_PAUSE_S))


def _wheel(spec: re.Match[str], files: Mapping[str, IndexFile], python: str, machine: str) -> str:
    """The file for the interpreter that is wanted, else for the newest one."""
    wanted = spec["version"] + (f"+{spec['local']}" if spec["local"] else "")
    fitting = sorted(_fitting(files, wanted, machine), reverse=True)
    chosen = [item for item in fitting if not python or item[1] == python.rstrip("t")]
    if chosen:
        return chosen[0][2]
    others = ", ".join(dict.fromkeys(item[1] for item in fitting)) or "none"
    raise UsageError(
        "like-not-on-index",
        f"{spec['name']}=={wanted}: the index has no wheel of it for {machine}"
        + (f" and Python {python}" if python else ""),
        why=(
            f"seen: {len(files)} files; for this release and {machine}, Pythons: {others}",
            f"wanted: {wanted}",
        ),
        fix="Name a release that is there, or another --python; or fetch the wheel and name its file.",
    )


def _fitting(
    files: Mapping[str, IndexFile], wanted: str, machine: str
) -> Iterator[tuple[tuple[int, ...], str, str]]:
    """Order, interpreter and name of each wheel of the release for the machine, without free threads."""
    for name in files:
        try:
            _, version, _, tags = parse_wheel_filename(name)
            is_it = version == Version(wanted)
        except (InvalidWheelFilename, InvalidVersion):
            continue
        pythons = {python for tag in tags if is_it and (python := _python(tag, machine))}
        for python in pythons:
            yield tuple(map(int, python.split("."))), python, name


def _python(tag: Tag, machine: str) -> str:
    """The interpreter of a tag for the machine, ``3.11``; empty for another one."""
    digits = tag.interpreter.removeprefix("cp")
    is_plain = digits.isdecimal() and tag.abi in (tag.interpreter, f"{tag.interpreter}m")
    if not is_plain or not tag.platform.endswith(f"_{machine}") or "linux" not in tag.platform:
        return ""
    return f"{digits[0]}.{digits[1:]}"


def _read(web: Web, name: str, found: IndexFile, source: LikeSource) -> Likeness:
    """Of a file that the server sends in parts only what is needed comes; of another one all of it."""
    from torchbuild.edges.ranged import open_ranged  # noqa: PLC0415
    from torchbuild.inspection.archive import scratch_folder  # noqa: PLC0415

    if found.url.startswith("file:"):
        from urllib.parse import urlsplit  # noqa: PLC0415
        from urllib.request import url2pathname  # noqa: PLC0415

        return read_likeness(Path(url2pathname(urlsplit(found.url).path)), scratch=source.scratch)
    if open_ranged(web, found.url) is not None:
        with opened_archive(name, lambda: _opened(web, found.url), source.scratch) as files:
            return likeness_of(files)
    sys.stderr.write(f"note: the server sends {name} whole only\n")
    with scratch_folder(source.scratch) as folder:
        whole = folder / "whole.whl"
        _bring(web, found, whole)
        with opened_archive(name, lambda: whole.open("rb"), source.scratch) as files:
            return likeness_of(files)


def _opened(web: Web, url: str) -> BinaryIO:
    from torchbuild.edges.ranged import open_ranged  # noqa: PLC0415

    found = open_ranged(web, url)
    if found is None:
        raise OSError("the server does not send it in parts any more")
    return cast("BinaryIO", found)


def _bring(web: Web, found: IndexFile, to: Path) -> None:
    from torchbuild.edges.web import Wanted  # noqa: PLC0415

    web.bring(Wanted(found.url, None, lambda _: None, has_digest=False), to)
