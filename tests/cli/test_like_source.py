"""What ``init --like`` names: a file, an installation, a release on an index, or what is known of one."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from tests.torch_like import SETTINGS, torch_members, write_wheel
from torchbuild.cli.like_source import LikeSource, likeness_for
from torchbuild.errors import FetchError, UsageError

LABELLED = "torch-2.6.0+cu124-cp313-cp313-manylinux_2_28_x86_64.whl"


class _Index(BaseHTTPRequestHandler):
    """A simple index with one project page for each label."""

    files: ClassVar[dict[str, bytes]] = {}
    has_ranges: ClassVar[bool] = True
    asked: ClassVar[list[tuple[str, str]]] = []
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.asked.append((self.path, wanted))
        body = self.files.get(self.path.replace("%2B", "+"))
        if body is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted) if self.has_ranges else None
        start, stop = (int(found[1]), min(int(found[2]) + 1, len(body))) if found else (0, len(body))
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(body)}")
        self.send_header("ETag", '"one"')
        self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/zip")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(body[start:stop])

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """Where an index of labelled wheels lies; its one wheel says of itself what `SETTINGS` says."""
    members = torch_members()
    wheel = write_wheel(tmp_path, members, name=LABELLED)
    older = LABELLED.replace("cp313", "cp311")
    links = "".join(f'<a href="/{name}">{name}</a>' for name in (LABELLED, older, "torch-2.6.0.tar.gz"))
    _Index.files = {"/whl/cu124/torch/": links.encode(), f"/{LABELLED}": wheel.read_bytes()}
    _Index.has_ranges, _Index.asked = True, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Index)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/whl/"
    server.shutdown()
    server.server_close()


def test_a_release_on_an_index_is_read_in_parts(index: str) -> None:
    """The newest interpreter's wheel is taken, and what is read of it is what its file would say."""
    found = likeness_for("torch==2.6.0+cu124", LikeSource(machine="x86_64", labelled_url=index))

    assert found.subject == LABELLED
    assert {item.name: item.value for item in found.settings} == SETTINGS
    assert all(wanted for path, wanted in _Index.asked if path.endswith(".whl"))


def test_a_server_that_sends_whole_files_serves_too(index: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without parts the file comes whole, and that is said."""
    _Index.has_ranges = False
    found = likeness_for("torch==2.6.0+cu124", LikeSource(machine="x86_64", labelled_url=index))

    assert {item.name: item.value for item in found.settings} == SETTINGS
    assert "whole only" in capsys.readouterr().err


def test_another_interpreter_can_be_asked_for(index: str) -> None:
    """Which there are is told where the wanted one is not."""
    source = LikeSource(python="3.9", machine="x86_64", labelled_url=index)
    _Index.files["/whl/cu999/torch/"] = _Index.files["/whl/cu124/torch/"].replace(b"cu124", b"cu999")
    with pytest.raises(UsageError) as caught:
        likeness_for("torch==2.6.0+cu999", source)
    assert caught.value.reference == "like-not-on-index"
    assert "3.13, 3.11" in " ".join(caught.value.why)


def test_a_wheel_that_cannot_be_had_is_told_by_the_facts(index: str) -> None:
    """What upstream is known to publish stands in, with what is then missing."""
    found = likeness_for("torch==2.4.0+cu121", LikeSource(machine="x86_64", labelled_url=index))

    assert found.cuda.value == "12.1"
    assert found.archs
    assert found.settings == ()
    assert "not there" in found.unread[0].why
    assert found.unread[0].what == "the wheel itself"


def test_what_nobody_knows_is_the_indexs_own_error(index: str) -> None:
    """Neither on the index nor among the facts."""
    with pytest.raises(FetchError) as caught:
        likeness_for("torch==0.0.1+cu124x", LikeSource(machine="x86_64", labelled_url=index))
    assert caught.value.reference == "not-found"


def test_a_file_is_read_where_it_lies(tmp_path: Path) -> None:
    """A path is a path, also where it is called like a release."""
    wheel = write_wheel(tmp_path, torch_members())

    assert likeness_for(str(wheel), LikeSource(scratch=tmp_path)).version.value == "2.6.0"


def test_what_is_not_there_is_refused() -> None:
    """Neither a file nor a release."""
    with pytest.raises(UsageError) as caught:
        likeness_for("/nowhere/torch.whl")
    assert caught.value.reference == "like-not-found"


def test_the_active_environment_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """INSTALLED is the torch of the environment that is active."""
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        likeness_for("INSTALLED")
    assert str(tmp_path) in caught.value.what
