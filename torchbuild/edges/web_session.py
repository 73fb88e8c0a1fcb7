"""The HTTP session, and what its failures mean."""

from __future__ import annotations

import email.utils
import time
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from torchbuild.edges.locators import without_credentials
from torchbuild.edges.patience import PassingError
from torchbuild.errors import FetchError

__all__ = ["Session", "is_unconnected", "refusal"]

_PASSING = {408, 425, 429, 500, 502, 503, 504}


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


def is_unconnected(error: BaseException | None) -> bool:
    """Whether no connection to the host came about: it refused, did not answer, or has no address."""
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    if not isinstance(error, requests.exceptions.ConnectionError) or not error.args:
        return False
    if isinstance(error, requests.exceptions.ProxyError):  # which says nothing of the host behind the proxy
        return False
    reason = getattr(error.args[0], "reason", error.args[0])
    return isinstance(reason, urllib3.exceptions.NewConnectionError)


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
            fix="Add user and password for that host to ~/.netrc.",
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
