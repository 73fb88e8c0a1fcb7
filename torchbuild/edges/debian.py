"""Debian's source packages: what a suite holds, by the digests that Debian itself publishes and signs."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import io
import json
import lzma
import re
from typing import TYPE_CHECKING, cast

from filelock import FileLock

from torchbuild.edges.apt_sources import APT_DIRECTORY, debian_mirror
from torchbuild.edges.atomic import sha256_of, translated, write_bytes, write_text
from torchbuild.edges.debian_release import KEYRINGS, Checked, check_signature, listed_digest, split_signed
from torchbuild.edges.debian_version import version_key
from torchbuild.edges.locators import DEBIAN_COMPONENTS, MirrorSettings
from torchbuild.errors import FetchError, RecipeError
from torchbuild.model.artifact import Artifact, is_sha256
from torchbuild.model.debian_control import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torchbuild.edges.web import Web

__all__ = ["DebianMirror"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~/-]*")


class DebianMirror:
    """One mirror, chosen when it is first needed."""

    def __init__(
        self,
        web: Web,
        cache_dir: Path,
        mirrors: MirrorSettings,
        *,
        apt: Path = APT_DIRECTORY,
        keyrings: Sequence[Path] = KEYRINGS,
    ) -> None:
        """Nothing is read yet.

        Args:
            web: the HTTP to use.
            cache_dir: directory of all caches; lists of sources lie in ``debian/`` below it.
            mirrors: this machine's; its `debian` wins over apt's configuration.
            apt: apt's configuration.
            keyrings: whose keys may sign a suite.
        """
        self._web = web
        self._cache = cache_dir / "debian"
        self._mirrors = mirrors
        self._apt = apt
        self._keyrings = keyrings
        self._checked: dict[str, Checked] = {}
        self._known: dict[tuple[str, str], list[dict[str, str]]] = {}

    def doubt(self, suite: str) -> str:
        """Why a suite's digests are only believed, as part of a sentence; empty where Debian signed them.

        Raises:
            As `source_files`.
        """
        return self._release(suite).doubt

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
            FetchError: ``debian-source-missing``, ``debian-suite-missing``, ``debian-list-unreadable``,
                ``debian-list-differs``, ``debian-signature-bad``.
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
        if (suite, source) not in self._known:
            self._known[suite, source] = list(self._paragraphs(suite, source))
        there = {p["Version"]: p for p in self._known[suite, source] if p.get("Version")}
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
        """The local copy of one list, as the suite's Release file knows it; None where there is none."""
        name, release = f"{component}/source/Sources.xz", self._release(suite)
        wanted = listed_digest(release.text, name)
        if release.text and wanted is None:
            return None
        path = self._copy(suite, name)
        if path is None or not release.text or sha256_of(path) == wanted:
            return path
        # The mirror may have changed between the two, or the copies may be of different days.
        self._checked.pop(suite, None)
        wanted = listed_digest(self._release(suite, anew=True).text, name)
        path = self._copy(suite, name, anew=True)
        seen = sha256_of(path) if path else "no such file"
        if seen != wanted:
            raise FetchError(
                "debian-list-differs",
                f"{suite}: the mirror's list {name} is not the one that its Release file names",
                why=(f"seen: sha256 {seen}", f"wanted: sha256 {wanted}"),
                fix="Run the same command again later; use another mirror if it comes back.",
            )
        return path

    def _release(self, suite: str, *, anew: bool = False) -> Checked:
        if suite not in self._checked:
            signed = self._bytes(suite, "InRelease", anew=anew)
            parts = split_signed(signed) if signed is not None else None
            if parts is not None:
                self._checked[suite] = check_signature(suite, *parts, self._keyrings)
            elif (release := self._bytes(suite, "Release", anew=anew)) is not None:
                signature = self._bytes(suite, "Release.gpg", anew=anew)
                self._checked[suite] = check_signature(suite, release, signature, self._keyrings)
            else:
                self._checked[suite] = Checked("", "the mirror has no Release file of the suite")
        return self._checked[suite]

    def _bytes(self, suite: str, name: str, *, anew: bool) -> bytes | None:
        path = self._copy(suite, name, anew=anew)
        if path is None:
            return None
        with translated(path):
            return path.read_bytes()

    def _copy(self, suite: str, name: str, *, anew: bool = False) -> Path | None:
        """The local copy of a suite's file, asked for at most once a day; None where the mirror has none."""
        url = f"{self.base()}/dists/{suite}/{name}"
        path = self._cache / f"{hashlib.sha256(url.encode()).hexdigest()[:20]}.{name.rpartition('/')[2]}"
        note = path.with_name(path.name + ".json")
        with translated(path):
            self._cache.mkdir(parents=True, exist_ok=True)
        today = dt.datetime.now(tz=dt.UTC).date().isoformat()
        with FileLock(f"{path}.lock"):
            known = _noted(note) if not anew and (path.exists() or note.exists()) else {}
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
        # its own readline runs in Python, four million times
        with lzma.open(path) as packed, io.BufferedReader(cast("io.RawIOBase", packed), 1 << 20) as file:
            paragraph: list[bytes] = []
            for line in file:
                if line != b"\n":
                    paragraph.append(line)
                    continue
                if wanted in paragraph:
                    yield fields_of(b"".join(paragraph).decode(errors="replace"))
                paragraph = []
            if wanted in paragraph:
                yield fields_of(b"".join(paragraph).decode(errors="replace"))
    except (lzma.LZMAError, EOFError, OSError) as error:
        path.unlink(missing_ok=True)
        path.with_name(path.name + ".json").unlink(missing_ok=True)
        raise FetchError(
            "debian-list-unreadable",
            f"{path.name}: the mirror's list of sources cannot be read",
            why=(f"seen: {error}", "wanted: a file compressed by xz"),
            fix="Run the same command again: the list is fetched anew.",
        ) from error


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
