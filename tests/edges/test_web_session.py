"""What an answer means, and what a redirect may not do."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from torchbuild.edges.patience import PassingError
from torchbuild.edges.web_session import Session, refusal
from torchbuild.errors import FetchError


def redirect(start: str, target: str) -> requests.Response:
    """An answer that leads elsewhere."""
    response = requests.Response()
    response.status_code = 302
    response.url = start
    response.headers["Location"] = target
    return response


@pytest.mark.parametrize("target", ["http://host/x", "ftp://host/x", "file:///etc/passwd"])
def test_redirects_keep_encryption(target: str) -> None:
    """From https nothing leads to an unencrypted place."""
    with pytest.raises(FetchError) as caught:
        Session().get_redirect_target(redirect("https://host/", target))
    assert caught.value.reference == "redirect-refused"


@pytest.mark.parametrize("target", ["https://other/x", "/x", "x"])
def test_encrypted_redirects_are_followed(target: str) -> None:
    """From https to https, also by a relative address."""
    assert Session().get_redirect_target(redirect("https://host/", target)) == target


def test_http_may_become_https() -> None:
    """An unencrypted address may lead to an encrypted one."""
    assert Session().get_redirect_target(redirect("http://host/", "https://host/")) == "https://host/"


def test_a_wrong_certificate_is_not_tried_again(web_server: Any) -> None:
    """A server without the right certificate is told apart from one that is down."""
    url = web_server.url.replace("http://", "https://")
    with pytest.raises(requests.RequestException) as caught:
        Session().get(url, timeout=10)
    assert getattr(refusal(url, caught.value), "reference", "") == "tls-failed"


@pytest.mark.parametrize("url", ["https://", "nothing://x", "https://[x/"])
def test_no_address_is_no_network_problem(url: str) -> None:
    """An address that is none is the author's to correct."""
    with pytest.raises((requests.RequestException, ValueError)) as caught:
        Session().get(url, timeout=10)
    with pytest.raises(FetchError) as ours:
        raise refusal(url, caught.value)
    assert ours.value.reference == "address-invalid"


def test_endless_redirects_end(web_server: Any, pauses: list[float]) -> None:
    """A circle of redirects is an answer, not a passing failure."""
    web_server.replies["/"] = [web_server.status(302, Location="/")] * 50
    with pytest.raises(requests.RequestException) as caught:
        Session().get(web_server.url, timeout=10)
    assert getattr(refusal(web_server.url, caught.value), "reference", "") == "not-reachable"


@pytest.mark.parametrize("said", ["soon", "-1", "Sun, 06 Nov 1994 08:49:37 GMT", ""])
def test_an_odd_pause_is_not_obeyed(web_server: Any, pauses: list[float], said: str) -> None:
    """A Retry-After that is past or no number leaves the ordinary pause."""
    web_server.replies["/"] = [web_server.status(503, Retry_After=said)]
    response = Session().get(web_server.url, timeout=10)
    error = refusal(web_server.url, response)
    assert isinstance(error, PassingError)
    assert error.after_s == 0.0
