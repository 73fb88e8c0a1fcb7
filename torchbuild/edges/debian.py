"""Debian's source packages: what a suite holds, by the digests that Debian itself publishes."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import lzma
import re
from typing import TYPE_CHECKING

from filelock import FileLock

from torchbuild.edges.apt_sources import APT_DIRECTORY, debian_mirror
from torchbuild.edges.atomic import translated, write_bytes, write_text
from torchbuild.edges.debian_version import version_key
from torchbuild.edges.locators import DEBIAN_COMPONENTS, MirrorSettings
from torchbuild.errors import FetchError, RecipeError
from torchbuild.model.artifact import Artifact, is_sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torchbuild.edges.web import Web

__all__ = ["DebianMirror"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~/-]*")


class DebianMirror:
    """One mirror, chosen when it is first needed."""

    def __init__(
        self, web: Web, cache_dir: Path, mirrors: MirrorSettings, *, apt: Path = APT_DIRECTORY
    ) -> None:
        """Nothing is read yet.

        Args:
            web: the HTTP to use.
            cache_dir: directory of all caches; lists of sources lie in ``debian/`` below it.
            mirrors: this machine's; its `debian` wins over apt's configuration.
            apt: apt's configuration.
        """
        self._web = web
        self._cache = cache_dir / "debian"
        self._mirrors = mirrors
        self._apt = apt

    def base(self) -> str:
        """The mirror's address.

        Raises:
            HostError: ``no-debian-mirror``.
        """
        return debian_mirror(self._mirrors.debian, self._apt)

    def source_files(self, suite: str, source: str, version: str | None = None) -> tuple[Artifact, ...]:
        """The files of a source package, sorted, with the sizes and digests that Debian publishes.

        Args:
            suite: such as ``trixie``.
            source: name of the source package.
            version: Debian's whole version, epoch included; None: the newest of the suite.

        Raises:
            RecipeError: ``locator-invalid``.
            FetchError: ``debian-source-missing``, ``debian-suite-missing``, ``debian-list-unreadable``.
            HostError: ``no-debian-mirror``.
        """
        for text in (suite, source):
            if not _NAME.fullmatch(text) or ".." in text:
                raise RecipeError(
                    "locator-invalid",
                    f"{text!r}: not the name of a suite or of a source package",
                    why=("wanted: letters, digits and . + ~ -",),
                    fix="Write it as debian:SUITE/SOURCE/FILE.",
                )
        there = {p["Version"]: p for p in self._paragraphs(suite, source) if p.get("Version")}
        wanted = version if version is not None else max(there, key=version_key, default="")
        if wanted not in there:
            raise _no_source(suite, source, version, sorted(there, key=version_key))
        return tuple(sorted(_artifacts(suite, source, there[wanted]), key=lambda artifact: artifact.locator))

    def _paragraphs(self, suite: str, source: str) -> Iterator[dict[str, str]]:
        """What the suite's lists say of one source package, in any component."""
        lists = [path for component in DEBIAN_COMPONENTS if (path := self._list(suite, component))]
        if not lists:
            raise FetchError(
                "debian-suite-missing",
                f"{suite}: the mirror has no such suite with sources",
                why=(f"seen: no dists/{suite}/COMPONENT/source/Sources.xz at the mirror",),
                fix="Correct the suite's name, such as trixie or sid.",
            )
        for path in lists:
            yield from _scan(path, source)

    def _list(self, suite: str, component: str) -> Path | None:
        """The local copy of one list, asked for at most once a day; None where the mirror has none."""
        url = f"{self.base()}/dists/{suite}/{component}/source/Sources.xz"
        path = self._cache / f"{hashlib.sha256(url.encode()).hexdigest()[:20]}.Sources.xz"
        note = path.with_suffix(".json")
        with translated(path):
            self._cache.mkdir(parents=True, exist_ok=True)
        today = dt.datetime.now(tz=dt.UTC).date().isoformat()
        with FileLock(f"{path}.lock"):
            known = _noted(note) if path.exists() or note.exists() else {}
            if known.get("asked") != today:
                self._refresh(url, path, note, {**known, "asked": today})
        return path if path.exists() else None

    def _refresh(self, url: str, path: Path, note: Path, known: dict[str, str]) -> None:
        condition = (
            {"If-Modified-Since": known["modified"]} if path.exists() and known.get("modified") else {}
        )
        try:
            answer = self._web.page(url, condition)
        except FetchError as error:
            if error.reference != "not-found":
                raise
            with translated(path):
                path.unlink(missing_ok=True)
            answer = None
        if answer is not None and answer.status_code != 304:  # noqa: PLR2004  not modified
            write_bytes(path, answer.content)
            known["modified"] = answer.headers.get("Last-Modified", "")
        write_text(note, json.dumps(known))


def _noted(note: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):
        noted = json.loads(note.read_text())
        if isinstance(noted, dict):
            return {str(name): str(value) for name, value in noted.items()}
    return {}


def _scan(path: Path, source: str) -> Iterator[dict[str, str]]:
    """The paragraphs of one source package, out of tens of megabytes."""
    wanted = f"Package: {source}\n".encode()
    try:
        with lzma.open(path) as file:
            paragraph: list[bytes] = []
            for line in file:
                if line != b"\n":
                    paragraph.append(line)
                    continue
                if wanted in paragraph:
                    yield _fields(paragraph)
                paragraph = []
            if wanted in paragraph:
                yield _fields(paragraph)
    except (lzma.LZMAError, EOFError, OSError) as error:
        path.unlink(missing_ok=True)
        path.with_suffix(".json").unlink(missing_ok=True)
        raise FetchError(
            "debian-list-unreadable",
            f"{path.name}: the mirror's list of sources cannot be read",
            why=(f"seen: {error}", "wanted: a file compressed by xz"),
            fix="Run the same command again: the list is fetched anew.",
        ) from error


def _fields(lines: list[bytes]) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in b"".join(lines).decode(errors="replace").splitlines():
        if line[:1] in {" ", "\t"}:
            fields[name] = f"{fields.get(name, '')}\n{line.strip()}"
        else:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    return fields


def _artifacts(suite: str, source: str, fields: dict[str, str]) -> Iterator[Artifact]:
    for row in fields.get("Checksums-Sha256", "").split("\n"):
        parts = row.split()
        if len(parts) == 3 and is_sha256(parts[0]) and parts[1].isdecimal():  # noqa: PLR2004  digest, size, name
            yield Artifact(locator=f"debian:{suite}/{source}/{parts[2]}", sha256=parts[0], size=int(parts[1]))


def _no_source(suite: str, source: str, version: str | None, there: list[str]) -> FetchError:
    name = f"{source} {version}" if version else source
    return FetchError(
        "debian-source-missing",
        f"{name}: not among the sources of {suite}",
        why=(f"seen: versions {', '.join(there)}" if there else "seen: no version of it",),
        fix=f"Write one of those versions, or a suite that has it; look it up: rmadison -s {suite} {source}",
    )
