"""Pages and files over HTTP, one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.web import Wanted, Web
from torchbuild.errors import FetchError


@pytest.fixture
def web(pauses: list[float]) -> Iterator[Web]:
    """HTTP that does not wait."""
    opened = Web(pause=pauses.append)
    yield opened
    opened.close()


def ignore(_done: int) -> None:
    """A listener that does not care."""


def test_a_page_may_be_asked_for_conditionally(web: Web, web_server: Any) -> None:
    """What has not changed is answered by 304, which is no failure."""
    web_server.files["/page"] = b"text"
    first = web.page(f"{web_server.url}/page", {})
    again = web.page(f"{web_server.url}/page", {"If-Modified-Since": first.headers["Last-Modified"]})
    assert (first.content, again.status_code) == (b"text", 304)


def test_a_page_is_whole_or_asked_for_again(web: Web, web_server: Any) -> None:
    """A page whose connection breaks is not taken for a short page."""
    web_server.files["/page"] = b"whole text"
    web_server.replies["/page"] = [web_server.cut(b"whole text", 5)]
    assert web.page(f"{web_server.url}/page", {}).content == b"whole text"


@pytest.mark.parametrize("tag", ['W/"weak"', '"strong"'])
def test_only_strong_tags_vouch_for_a_part(web: Web, web_server: Any, tmp_path: Path, tag: str) -> None:
    """A weak ETag promises the same meaning, not the same bytes: the file's date is used in its place."""
    web_server.files["/f"] = b"0123456789"
    web_server.tags["/f"] = tag
    web.bring(Wanted(f"{web_server.url}/f", None, ignore), tmp_path / "part")
    noted = json.loads((tmp_path / "part.json").read_text())
    assert (noted["validator"] == tag) == (not tag.startswith("W/"))


def test_a_part_of_another_address_is_not_vouched_for(web: Web, web_server: Any, tmp_path: Path) -> None:
    """A mirror's part goes on from the original without the mirror's own ETag; the digest decides later."""
    web_server.files["/f"] = b"0123456789"
    (tmp_path / "part").write_bytes(b"0123")
    (tmp_path / "part.json").write_text(json.dumps({"url": "http://elsewhere/f", "validator": '"x"'}))
    web.bring(Wanted(f"{web_server.url}/f", 10, ignore), tmp_path / "part")
    assert "if-range" not in web_server.asked[0].headers
    assert (tmp_path / "part").read_bytes() == b"0123456789"


@pytest.mark.parametrize("answer", ["bytes 7-9/10", "nonsense", ""])
def test_another_part_than_asked_for_is_not_appended(
    web: Web, web_server: Any, tmp_path: Path, answer: str
) -> None:
    """A server that answers with the wrong range does not get its bytes into the file."""
    (tmp_path / "part").write_bytes(b"0123")
    web_server.files["/f"] = b"0123456789"
    web_server.replies["/f"] = [web_server.status(206, Content_Range=answer)]
    web.bring(Wanted(f"{web_server.url}/f", 10, ignore), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == b"0123456789"


def test_a_body_without_a_length_is_measured(web: Web, web_server: Any, tmp_path: Path) -> None:
    """Where the server says no length, a short file is still a short file."""

    def short(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(b"012")
        handler.close_connection = True

    web_server.replies["/f"] = [short]
    with pytest.raises(FetchError) as caught:
        web.bring(Wanted(f"{web_server.url}/f", 10, ignore), tmp_path / "part")
    assert caught.value.reference == "size-mismatch"


def test_authorities_of_the_environment_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """What SSL_CERT_FILE names is not replaced by what pip is configured with."""
    monkeypatch.setenv("SSL_CERT_FILE", "/from/environment.pem")
    opened = Web()
    opened.trust("/from/pip.pem")
    assert opened._session.verify == "/from/environment.pem"
    monkeypatch.delenv("SSL_CERT_FILE")
    other = Web()
    other.trust("/from/pip.pem")
    assert other._session.verify == "/from/pip.pem"
