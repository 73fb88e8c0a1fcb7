"""Files over HTTP: resumed, tried again where that can help, never half a file taken for a whole one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import requests
import urllib3

from torchbuild.edges.atomic import translated, write_text
from torchbuild.edges.locators import without_credentials
from torchbuild.edges.patience import PassingError, persistently
from torchbuild.edges.web_session import Session, is_unconnected, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

from torchbuild.errors import FetchError

__all__ = ["Wanted", "Web", "forget"]

_TIMEOUTS_S = (15.0, 60.0)
_CHUNK = 1 << 20


class Wanted(NamedTuple):
    """One file to bring."""

    url: str
    """Where it is."""
    size: int | None
    """Bytes it must have; None where nobody has said."""
    on_bytes: Callable[[int], None]
    """Told how many bytes are there by now, from the start of the file."""


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

    def page(self, url: str, headers: Mapping[str, str]) -> requests.Response:
        """A small answer, whole: status 200, or 304 where `headers` made the request conditional.

        Raises:
            FetchError: ``not-found``, ``not-reachable``, ``access-refused``, ``tls-failed``,
                ``redirect-refused``, ``address-invalid``.
        """
        return persistently(lambda: self._get(url, headers, stream=False), self._pause)

    def bring(self, wanted: Wanted, partial: Path, *, is_hurried: bool = False) -> None:
        """Make `partial` the whole file. On failure it keeps what came, and the next call goes on from there.

        Args:
            wanted: the file.
            partial: where it comes to lie.
            is_hurried: whether to give up at once where no connection comes about: there is another address.

        Raises:
            FetchError: ``size-mismatch`` and those of `page`.
            HostError: ``disk-full``, ``not-writable``.
        """
        with translated(partial):
            partial.parent.mkdir(parents=True, exist_ok=True)

        def attempt() -> None:
            try:
                self._transfer(wanted, partial)
            except PassingError as error:
                if is_hurried and is_unconnected(error.__cause__):
                    raise error.error from error.__cause__
                raise

        persistently(attempt, self._pause, lambda: _size(partial))

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
        have = _size(partial)
        if wanted.size is not None and have == wanted.size:
            return
        with self._get(wanted.url, _resuming(wanted.url, partial, have), stream=True) as response:
            start = _start(response)
            if start != have:
                forget(partial)
                if start:
                    raise PassingError(_odd_answer(wanted.url, response))
            _check_total(wanted, start, response)
            _remember(wanted.url, partial, response)
            _append(wanted, partial, start, response)
        _check_end(wanted, partial)


def _size(partial: Path) -> int:
    return partial.stat().st_size if partial.exists() else 0


def _resuming(url: str, partial: Path, have: int) -> dict[str, str]:
    """Headers that ask for the rest, if the file is still the same one."""
    # The bytes themselves are what has a digest: no compression on the way.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        try:
            noted = json.loads(_note(partial).read_text())
        except (OSError, ValueError):
            noted = {}
        if noted.get("url") == url and noted.get("validator"):
            headers["If-Range"] = noted["validator"]
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


def _check_total(wanted: Wanted, start: int, response: requests.Response) -> None:
    """End before gigabytes of something else are transferred."""
    said = response.headers.get("Content-Length", "")
    if wanted.size is not None and said.isdecimal() and start + int(said) != wanted.size:
        raise _size_mismatch(wanted, str(start + int(said)))


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


def _check_end(wanted: Wanted, partial: Path) -> None:
    have = _size(partial)
    if wanted.size is not None and have != wanted.size:
        raise _size_mismatch(wanted, str(have))


def _size_mismatch(wanted: Wanted, seen: str) -> FetchError:
    return FetchError(
        "size-mismatch",
        f"{without_credentials(wanted.url)}: not as long as the file that was locked",
        why=(f"seen: {seen} bytes", f"wanted: {wanted.size} bytes"),
        fix="Find out why upstream's file changed; then run torchbuild lock again.",
    )


def forget(partial: Path) -> None:
    """Drop what has come of a file."""
    with translated(partial):
        partial.unlink(missing_ok=True)
        _note(partial).unlink(missing_ok=True)


def _note(partial: Path) -> Path:
    """What the server called the file's version when the first part of it came."""
    return partial.with_name(partial.name + ".json")


def _remember(url: str, partial: Path, response: requests.Response) -> None:
    etag = response.headers.get("ETag", "")
    # A weak tag promises the same meaning, not the same bytes.
    validator = etag if etag and not etag.startswith("W/") else response.headers.get("Last-Modified", "")
    write_text(_note(partial), json.dumps({"url": url, "validator": validator}))
