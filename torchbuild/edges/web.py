"""Files over HTTP: resumed, tried again where that can help, never half a file taken for a whole one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import requests
import urllib3

from torchbuild.edges.atomic import translated, write_text
from torchbuild.edges.locators import without_credentials
from torchbuild.edges.patience import PassingError, persistently
from torchbuild.edges.web_session import Session, is_unconnected, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

from torchbuild.errors import FetchError

__all__ = ["Part", "Wanted", "Web", "forget"]

_TIMEOUTS_S = (15.0, 60.0)
_CHUNK, _SMALL_CHUNK = 1 << 20, 1 << 16
_DIGITS = 19
"""Digits of a length from which on it is none."""

T = TypeVar("T")


class Wanted(NamedTuple):
    """One file to bring."""

    url: str
    """Where it is."""
    size: int | None
    """Bytes it must have; None where nobody has said."""
    on_bytes: Callable[[int], None]
    """Told how many bytes are there by now, from the start of the file."""
    has_digest: bool = True
    """Whether a digest will tell a file that is short or mixed from the right one. Without one a part is only
    gone on with where the server vouches for it, and a body only believed where its length is known."""
    on_total: Callable[[int], None] = lambda _total: None
    """Told how long the server says the whole is, as soon as it does."""


class Part(NamedTuple):
    """A part of a file."""

    body: bytes
    """Its bytes; empty where the server sends files whole only."""
    total: int
    """Bytes of the file."""
    version: str
    """What the server calls this version of the file; empty for nothing."""


class Web:
    """HTTP as this machine does it: its proxies, its .netrc, its certificate authorities."""

    def __init__(self, *, pause: Callable[[float], None] = time.sleep) -> None:
        """Open nothing yet; `pause` is how to wait between tries, in seconds."""
        self._pause = pause
        self._session = Session()
        self.trust(os.environ.get("SSL_CERT_FILE", ""))

    def trust(self, ca_file: str) -> None:
        """Accept these certificate authorities, unless the environment names others to requests."""
        if ca_file and self._session.verify is True:
            self._session.verify = ca_file

    def close(self) -> None:
        """End all connections."""
        self._session.close()

    def page(self, url: str, headers: Mapping[str, str], *, is_hurried: bool = False) -> requests.Response:
        """A small answer, whole: status 200, or 304 where `headers` made the request conditional.

        Args:
            url: where it is.
            headers: of the request.
            is_hurried: as for `bring`.

        Raises:
            FetchError: ``not-found``, ``not-reachable``, ``access-refused``, ``tls-failed``,
                ``redirect-refused``, ``address-invalid``.
        """

        def attempt() -> requests.Response:
            return _impatiently(lambda: self._get(url, headers, stream=False), is_hurried=is_hurried)

        return persistently(attempt, self._pause)

    def document(self, url: str, most: int, *, is_hurried: bool = False) -> bytes:
        """A small file, whole.

        Args:
            url: where it is.
            most: bytes that it may have.
            is_hurried: as for `bring`.

        Raises:
            FetchError: ``document-too-long`` and those of `page`.
        """
        return persistently(
            lambda: _impatiently(lambda: self._read(url, most), is_hurried=is_hurried), self._pause
        )

    def bring(self, wanted: Wanted, partial: Path, *, is_hurried: bool = False) -> None:
        """Make `partial` the whole file. On failure it keeps what came, and the next call goes on from there.

        Args:
            wanted: the file.
            partial: where it comes to lie.
            is_hurried: whether to give up at once where no connection comes about: there is another address.

        Raises:
            FetchError: ``size-mismatch``, ``length-unknown`` and those of `page`.
            HostError: ``disk-full``, ``not-writable``.
        """
        with translated(partial):
            partial.parent.mkdir(parents=True, exist_ok=True)

        def attempt() -> None:
            _impatiently(lambda: self._transfer(wanted, partial), is_hurried=is_hurried)

        persistently(attempt, self._pause, lambda: _size(partial))

    def part(self, url: str, start: int, stop: int) -> Part:
        """The bytes of a file from a place to another, the second not included; no others are transferred.

        Raises:
            FetchError: those of `page`.
        """
        return persistently(lambda: self._read_part(url, start, stop), self._pause)

    def _read_part(self, url: str, start: int, stop: int) -> Part:
        headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        with self._get(url, headers, stream=True) as response:
            total = _said_total(1, response) or 0  # a part says so behind its range
            if _start(response) != start or response.status_code != 206 or not total:  # noqa: PLR2004
                return Part(b"", 0, "")
            body = bytearray()
            try:
                for chunk in response.raw.stream(_CHUNK, decode_content=False):
                    body += chunk
                    if len(body) >= stop - start:
                        break
            except (urllib3.exceptions.HTTPError, requests.RequestException) as error:
                raise refusal(url, error) from error
            version = response.headers.get("ETag", "") or response.headers.get("Last-Modified", "")
        return Part(bytes(body[: stop - start]), total, version)

    def _read(self, url: str, most: int) -> bytes:
        with self._get(url, {"Accept-Encoding": "identity"}, stream=True) as response:
            body = bytearray()
            try:
                for chunk in response.raw.stream(_SMALL_CHUNK, decode_content=False):
                    body += chunk
                    if len(body) > most:
                        raise _too_long(url, most)
            except (urllib3.exceptions.HTTPError, requests.RequestException) as error:
                raise refusal(url, error) from error
        return bytes(body)

    def _get(self, url: str, headers: Mapping[str, str], *, stream: bool) -> requests.Response:
        try:
            response = self._session.get(url, headers=dict(headers), stream=stream, timeout=_TIMEOUTS_S)
        except requests.RequestException as error:
            raise refusal(url, error) from error
        if response.ok or response.status_code in {304, 416}:
            return response
        response.close()
        raise refusal(url, response)

    def _transfer(self, wanted: Wanted, partial: Path) -> None:
        """One try: ask for what is missing and append it."""
        noted = _noted(wanted.url, partial)
        if not wanted.has_digest and not noted.is_exact:
            forget(partial)  # nothing would tell a mixture of two files
        have = _size(partial)
        if have and have == (wanted.size if wanted.has_digest else noted.total):
            return
        with self._get(wanted.url, _resuming(have, noted.validator), stream=True) as response:
            start = _start(response)
            if start and not wanted.has_digest and response.headers.get("ETag") != noted.validator:
                start = -1  # the rest of another file
            if start != have:
                forget(partial)
                if start:
                    raise PassingError(_odd_answer(wanted.url, response))
            total = _total(wanted, start, response, noted)
            _remember(wanted.url, partial, response, total)
            _append(wanted, partial, start, response)
        _check_end(wanted, partial, total)


def _impatiently(attempt: Callable[[], T], *, is_hurried: bool) -> T:
    """`attempt`; where it is hurried and no connection came about, that is no passing trouble."""
    try:
        return attempt()
    except PassingError as error:
        if is_hurried and is_unconnected(error.__cause__):
            raise error.error from error.__cause__
        raise


def _size(partial: Path) -> int:
    return partial.stat().st_size if partial.exists() else 0


class _Noted(NamedTuple):
    """What the server said of the file when its first part came."""

    validator: str = ""
    """What names this version of it."""
    total: int | None = None
    """Its length."""

    @property
    def is_exact(self) -> bool:
        """Whether the validator stands for these very bytes: an ETag does, a date does not."""
        return self.validator.startswith('"')


def _noted(url: str, partial: Path) -> _Noted:
    """What is known of a part of the file at this address."""
    try:
        noted = json.loads(_note(partial).read_text())
        if noted.get("url") == url and isinstance(noted.get("validator"), str):
            total = noted.get("total")
            return _Noted(noted["validator"], total if isinstance(total, int) else None)
    except (OSError, ValueError, AttributeError):
        pass
    return _Noted()


def _resuming(have: int, validator: str) -> dict[str, str]:
    """Headers that ask for the rest, if the file is still the same one."""
    # The bytes themselves are what has a digest: no compression on the way.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if validator:
            headers["If-Range"] = validator
    return headers


def _start(response: requests.Response) -> int:
    """The offset of the first byte of the body; -1 where the range was refused."""
    if response.status_code == 416:  # noqa: PLR2004  range not satisfiable: what is there is too long
        return -1
    if response.status_code != 206:  # noqa: PLR2004  partial content
        return 0
    given = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(given) if given.isdecimal() else -1


def _odd_answer(url: str, response: requests.Response) -> FetchError:
    return FetchError(
        "not-reachable",
        f"{without_credentials(url)}: the server answered another part than it was asked for",
        why=(f"seen: status {response.status_code}, range {response.headers.get('Content-Range')}",),
        fix="Run the same command again; name a mirror in [machine.mirrors] if it comes back.",
    )


def _total(wanted: Wanted, start: int, response: requests.Response, noted: _Noted) -> int | None:
    """How long the whole is, as the server says; ends before gigabytes of something else are transferred."""
    total = _said_total(start, response) or (noted.total if start else None)
    if total is not None and wanted.size is not None and total != wanted.size:
        raise _size_mismatch(wanted, str(total))
    if total is None and not wanted.has_digest and "Transfer-Encoding" not in response.headers:
        raise FetchError(
            "length-unknown",
            f"{without_credentials(wanted.url)}: the server does not say how long the file is",
            why=("seen: neither Content-Length nor chunks", "wanted: one of them, as no digest is known yet"),
            fix="Name the file's sha256 in the recipe, or a mirror that says the length.",
        )
    if total is not None:
        wanted.on_total(total)
    return total


def _said_total(start: int, response: requests.Response) -> int | None:
    """Of a part, what stands behind it in its range: a server may send less than the whole rest at once."""
    if start:
        said = response.headers.get("Content-Range", "").rpartition("/")[2]
        return int(said) if said.isdecimal() and len(said) < _DIGITS else None
    said = response.headers.get("Content-Length", "")
    return int(said) if said.isdecimal() and len(said) < _DIGITS else None


def _append(wanted: Wanted, partial: Path, start: int, response: requests.Response) -> None:
    done = start
    with translated(partial):
        file = partial.open("ab" if start else "wb", buffering=0)
    with file:
        try:
            for chunk in response.raw.stream(_CHUNK, decode_content=False):
                with translated(partial):
                    file.write(chunk)
                done += len(chunk)
                if wanted.size is not None and done > wanted.size:
                    forget(partial)
                    raise _size_mismatch(wanted, f"more than {wanted.size}")
                wanted.on_bytes(done)
        except (urllib3.exceptions.HTTPError, requests.RequestException) as error:
            raise refusal(wanted.url, error) from error


def _check_end(wanted: Wanted, partial: Path, total: int | None) -> None:
    have = _size(partial)
    if total is not None and have < total:
        raise PassingError(
            FetchError(
                "not-reachable",
                f"{without_credentials(wanted.url)}: not the whole file came",
                why=(f"seen: {have} bytes", f"wanted: {total} bytes, as the server said"),
                fix="Run the same command again: it goes on from there.",
            )
        )
    if wanted.size is not None and have != wanted.size:
        raise _size_mismatch(wanted, str(have))


def _size_mismatch(wanted: Wanted, seen: str) -> FetchError:
    return FetchError(
        "size-mismatch",
        f"{without_credentials(wanted.url)}: not as long as the file that was locked",
        why=(f"seen: {seen} bytes", f"wanted: {wanted.size} bytes"),
        fix="Find out why upstream's file changed; then run torchbuild lock again.",
    )


def _too_long(url: str, most: int) -> FetchError:
    return FetchError(
        "document-too-long",
        f"{without_credentials(url)}: too long for a document",
        why=(f"seen: more than {most} bytes",),
        fix="Look at what the address gives; correct [machine.mirrors] if a mirror serves something else.",
    )


def forget(partial: Path) -> None:
    """Drop what has come of a file."""
    with translated(partial):
        partial.unlink(missing_ok=True)
        _note(partial).unlink(missing_ok=True)


def _note(partial: Path) -> Path:
    """What the server called the file's version when the first part of it came."""
    return partial.with_name(partial.name + ".json")


def _remember(url: str, partial: Path, response: requests.Response, total: int | None) -> None:
    etag = response.headers.get("ETag", "")
    # A weak tag promises the same meaning, not the same bytes.
    validator = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
    write_text(_note(partial), json.dumps({"url": url, "validator": validator, "total": total}))
