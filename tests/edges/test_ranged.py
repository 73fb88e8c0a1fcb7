"""A file on a server is read where it is wanted, and all parts are of one version."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import pytest

from torchbuild.edges.ranged import Ranged, open_ranged
from torchbuild.edges.web import Web
from torchbuild.errors import FetchError

BODY = bytes(range(256)) * 64


@pytest.fixture
def web(pauses: list[float]) -> Any:
    """HTTP that does not wait."""
    opened = Web(pause=pauses.append)
    yield opened
    opened.close()


def test_an_archive_is_read_without_the_whole_of_it(web: Web, web_server: Any) -> None:
    """Of a large archive only the directory and the wanted member are transferred."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("large", os.urandom(12 << 20))
        archive.writestr("small", b"wanted")
    web_server.files["/a.zip"] = packed.getvalue()
    found = open_ranged(web, f"{web_server.url}/a.zip")
    assert found is not None
    with found, zipfile.ZipFile(found) as archive:
        assert archive.read("small") == b"wanted"
        assert found.raw.asked_bytes < 9 << 20


def test_a_server_without_ranges_is_none(web: Web, web_server: Any) -> None:
    """Who sends files whole only is told so before anything is transferred."""
    web_server.files["/a"] = BODY
    web_server.replies["/a"].append(web_server.cut(BODY, 4096))

    assert open_ranged(web, f"{web_server.url}/a") is None


def test_a_file_that_is_not_there_is_an_error(web: Web, web_server: Any) -> None:
    """As with every other file."""
    with pytest.raises(FetchError) as caught:
        open_ranged(web, f"{web_server.url}/missing")
    assert caught.value.reference == "not-found"


def test_another_version_of_the_file_is_an_error(web: Web, web_server: Any) -> None:
    """Parts of two versions are never put together."""
    web_server.files["/a"] = BODY
    found = open_ranged(web, f"{web_server.url}/a")
    assert found is not None
    web_server.files["/a"] = BODY[::-1]
    with pytest.raises(FetchError) as caught:
        found.read(10)
    assert caught.value.reference == "changed-meanwhile"


def test_places_are_found_as_in_any_file(web: Web, web_server: Any) -> None:
    """Seeking from the beginning, from where it stands and from the end; nothing behind the end."""
    web_server.files["/a"] = BODY
    found = open_ranged(web, f"{web_server.url}/a")
    assert found is not None
    assert found.seek(-4, os.SEEK_END) == len(BODY) - 4
    assert found.read() == BODY[-4:]
    assert found.read() == b""
    assert found.seek(8) == 8
    assert found.seek(8, os.SEEK_CUR) == 16
    assert found.read(3) == BODY[16:19]


def test_what_is_asked_for_is_counted() -> None:
    """How much a reader transfers can be told."""
    ranged = Ranged(lambda start, stop: BODY[start:stop], len(BODY))
    assert ranged.read(100) == BODY[:100]
    assert (ranged.asked_bytes, ranged.tell()) == (100, 100)
    assert ranged.readable()
    assert ranged.seekable()
