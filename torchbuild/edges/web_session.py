"""The HTTP session, what its failures mean, and how long to be patient with them."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from torchbuild.edges.locators import without_credentials
from torchbuild.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable

    import tenacity

__all__ = ["PassingError", "Session", "persistently", "refusal"]

T = TypeVar("T")

_FRUITLESS = 5
_LONGEST_PAUSE_S = 120.0
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class PassingError(Exception):
    """What may pass by itself. Holds the error that is raised once patience is over."""

    def __init__(self, error: FetchError, after_s: float = 0.0) -> None:
        """Note the error, and how many seconds the server asked to be left alone."""
        super().__init__(error.what)
        self.error = error
        self.after_s = after_s


class Session(requests.Session):
    """requests, but a redirect never gives up encryption."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Where the answer leads.

        Raises:
            FetchError: ``redirect-refused`` from https to anything else.
        """
        target = super().get_redirect_target(resp)
        if target is None:
            return None
        there = urljoin(resp.url, target)
        if urlsplit(there).scheme not in {"https", urlsplit(resp.url).scheme}:
            raise FetchError(
                "redirect-refused",
                f"{without_credentials(resp.url)}: redirected to an unencrypted address",
                why=(f"seen: {without_credentials(there)}", "wanted: https"),
                fix="Name an address in the recipe that leads to the file over https.",
            )
        return target


def persistently(
    attempt: Callable[[], T],
    pause: Callable[[float], None],
    progress: Callable[[], int] = lambda: 0,
) -> T:
    """`attempt`, again while it raises PassingError, until five tries in a row brought nothing.

    Args:
        attempt: one try.
        pause: how to wait, in seconds.
        progress: a number that grows when a try brought something.

    Raises:
        FetchError: the one that the last PassingError held.
    """
    import tenacity  # noqa: PLC0415

    best, fruitless = progress(), 0

    def is_enough(_state: tenacity.RetryCallState) -> bool:
        nonlocal best, fruitless
        now = progress()
        best, fruitless = max(best, now), 0 if now > best else fruitless + 1
        return fruitless >= _FRUITLESS

    growing = tenacity.wait_exponential_jitter(initial=1, max=30)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.after_s if isinstance(error, PassingError) else 0.0
        return min(asked, _LONGEST_PAUSE_S) or growing(state)

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(PassingError),
        stop=is_enough,
        wait=wait,
        sleep=pause,
        reraise=True,
    )
    try:
        return again(attempt)
    except PassingError as error:
        raise error.error from error.__cause__


def refusal(url: str, seen: Exception | requests.Response) -> Exception:
    """What to raise for an answer that is none: a PassingError where another try can help."""
    if isinstance(seen, requests.Response):
        return _bad_status(url, seen)
    place = without_credentials(url)
    if isinstance(seen, (requests.exceptions.SSLError, urllib3.exceptions.SSLError)):
        return FetchError(
            "tls-failed",
            f"{place}: the server's certificate was not accepted",
            why=(f"seen: {seen}",),
            fix="Set SSL_CERT_FILE to the certificate authorities of this network.",
        )
    if isinstance(seen, (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, ValueError)):
        return FetchError(
            "address-invalid",
            f"{place}: not an address",
            why=(f"seen: {seen}", "wanted: https://HOST/PATH"),
            fix="Correct the address in the recipe or in [machine].",
        )
    error = FetchError(
        "not-reachable",
        f"{place}: no whole answer",
        why=(f"seen: {seen}",),
        fix="Check the network and the proxy settings, then run the same command again.",
    )
    lost = isinstance(seen, requests.exceptions.TooManyRedirects)
    return error if lost else PassingError(error)


def _bad_status(url: str, response: requests.Response) -> Exception:
    place, status = without_credentials(url), response.status_code
    seen = (f"seen: status {status} {response.reason}", f"wanted: {place}")
    if status in {404, 410}:
        return FetchError(
            "not-found",
            f"{place}: not there",
            why=seen,
            fix="Check the address, or name a mirror that still has the file in [machine.mirrors].",
        )
    if status in {401, 403, 407}:
        return FetchError(
            "access-refused",
            f"{place}: not for us",
            why=seen,
            fix="Put user and password for that host into ~/.netrc.",
        )
    error = FetchError(
        "not-reachable",
        f"{place}: the server cannot answer",
        why=seen,
        fix="Run the same command again later: it goes on from there.",
    )
    return PassingError(error, _asked_pause(response)) if status in _PASSING else error


def _asked_pause(response: requests.Response) -> float:
    """Retry-After in seconds; 0 where the server does not say."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return 0.0
