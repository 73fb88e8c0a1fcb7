"""What ``init --like`` names: a file, an installation, a release on an index, or what is known of one."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import time
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
    """Its wheel is taken where there is one; else the newest one's: the settings are the same."""
    older = LABELLED.replace("cp313", "cp311")
    _Index.files[f"/{older}"] = _Index.files[f"/{LABELLED}"]
    for python, wanted in (("3.11", older), ("3.13t", LABELLED), ("3.14", LABELLED)):
        found = likeness_for(
            "torch==2.6.0+cu124", LikeSource(python=python, machine="x86_64", labelled_url=index)
        )
        assert found.subject == wanted


def test_a_release_that_is_not_on_the_index_is_told_with_those_that_are_known(index: str) -> None:
    """Who names no label is told the labels, which are known without an index."""
    _Index.files["/whl/torch/"] = _Index.files["/whl/cu124/torch/"]
    with pytest.raises(UsageError) as caught:
        likeness_for("torch==2.9.1", LikeSource(machine="x86_64", index_url=f"{index.rstrip('/')}"))
    assert caught.value.reference == "like-not-on-index"
    assert "torch==2.9.1+cu126" in caught.value.why[-1]


def test_an_index_that_does_not_answer_costs_seconds(index: str) -> None:
    """There are the facts: nobody waits for a server that only listens."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/whl/"
        begun = time.monotonic()
        found = likeness_for(
            "torch==2.6.0+cu124", LikeSource(machine="x86_64", labelled_url=url, patience_s=0.2)
        )
        assert time.monotonic() - begun < 5
    assert found.cuda.value == "12.4"
    assert "did not answer in 0.2 s" in found.unread[0].why


def test_a_host_that_refuses_is_asked_once() -> None:
    """Without a network the answer is there at once, with what is then missing."""
    begun = time.monotonic()
    found = likeness_for(
        "torch==2.6.0+cu124", LikeSource(machine="x86_64", labelled_url="http://127.0.0.1:9/")
    )

    assert found.archs
    assert time.monotonic() - begun < 5


def test_a_release_without_a_label_needs_an_index() -> None:
    """Which build that is only the index knows; what is known is told."""
    with pytest.raises(FetchError) as caught:
        likeness_for("torch==2.9.1", LikeSource(machine="x86_64", index_url="http://127.0.0.1:9/"))
    assert caught.value.reference == "not-reachable"
    assert "torch==2.9.1+cu126" in caught.value.why[-1]
    assert caught.value.fix.endswith("Or name one of those that are known.")


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


@pytest.mark.parametrize(
    "text",
    ["/nowhere/torch.whl", "", "torchvision==0.20.0", "numpy==1.26.0", "x" * 5000, "a\0b", "/dev/zero"],
)
def test_what_is_not_there_is_refused(text: str) -> None:
    """Neither a file nor a folder nor a release of torch; nothing is read that never ends."""
    with pytest.raises(UsageError) as caught:
        likeness_for(text)
    assert caught.value.reference == "like-not-found"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write to it."""
    os.mkfifo(tmp_path / "torch.whl")
    with pytest.raises(UsageError) as caught:
        likeness_for(str(tmp_path / "torch.whl"))
    assert caught.value.reference == "like-not-found"


@pytest.mark.parametrize(
    "scheme",
    ["lib/python3.13/site-packages", "lib/python3/dist-packages", "local/lib/python3.13/dist-packages"],
)
def test_an_interpreter_stands_for_its_environment(tmp_path: Path, scheme: str) -> None:
    """Of a virtual environment, and of a system with a scheme of its own."""
    for name, content in torch_members().items():
        (tmp_path / scheme / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / scheme / name).write_bytes(content)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)

    found = likeness_for(str(tmp_path / "bin" / "python3"))
    assert found.subject == str(tmp_path / scheme)
    assert found.cuda.value == "12.4"


def test_the_active_environment_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """INSTALLED is the torch of the environment that is active, whoever made it."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    for variable in ("CONDA_PREFIX", "VIRTUAL_ENV"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        with pytest.raises(UsageError) as caught:
            likeness_for("INSTALLED")
        assert str(tmp_path / variable) in caught.value.what
