"""Servers on this machine that behave as badly as real ones, and repositories for them to serve."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import git_farm
import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.edges.guarded import GuardedExecutor
from torchbuild.edges.local import LocalExecutor
from torchbuild.edges.store import DirectoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLOCK = "2024-05-06T07:08:09+00:00"
"""When every commit of these tests is made."""


@dataclass
class Asked:
    """One request that a server got."""

    path: str
    headers: dict[str, str]


@dataclass
class WebServer:
    """An HTTP server on 127.0.0.1 whose files and misbehaviour a test writes down."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    """Path -> body; ranges and conditions are honoured for them."""
    types: dict[str, str] = field(default_factory=dict)
    """Path -> content type."""
    tags: dict[str, str] = field(default_factory=dict)
    """Path -> ETag; by default the digest of the body."""
    replies: dict[str, list[Callable[[BaseHTTPRequestHandler], None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Path -> what to do with the next requests, before files are looked at."""
    asked: list[Asked] = field(default_factory=list)
    """All requests so far."""
    repositories: Path | None = None
    """Directory of bare repositories, served under /git/."""

    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.path for asked in self.asked]

    def status(self, code: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
        """A reply without a body."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(code)
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        return reply

    def cut(self, body: bytes, after: int) -> Callable[[BaseHTTPRequestHandler], None]:
        """A reply whose connection breaks after so many bytes of the body."""

        def reply(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            handler.end_headers()
            handler.wfile.write(body[:after])
            handler.close_connection = True

        return reply


class _Handler(BaseHTTPRequestHandler):
    """Answers for one server, which a subclass of it names."""

    web: WebServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.web.asked.append(Asked(path, {name.lower(): value for name, value in self.headers.items()}))
        if self.web.replies[path]:
            self.web.replies[path].pop(0)(self)
        elif path.startswith("/git/"):
            self._git(path)
        elif path in self.web.files:
            self._file(path)
        else:
            self.web.status(404)(self)

    do_POST = do_GET  # noqa: N815
    do_HEAD = do_GET  # noqa: N815

    def _file(self, path: str) -> None:
        body = self.web.files[path]
        tag = self.web.tags.get(path) or f'"{hashlib.sha256(body).hexdigest()}"'
        if self.headers.get("If-Modified-Since") == CLOCK:
            self.web.status(304)(self)
            return
        start, end = self._range(tag, len(body))
        if start > len(body):
            self.web.status(416)(self)
            return
        partial = (start, end) != (0, len(body))
        self.send_response(206 if partial else 200)
        if partial:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(body)}")
        self.send_header("Content-Type", self.web.types.get(path, "application/octet-stream"))
        self.send_header("Content-Length", str(end - start))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", tag)
        self.send_header("Last-Modified", CLOCK)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[start:end])

    def _range(self, tag: str, length: int) -> tuple[int, int]:
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not wanted or self.headers.get("If-Range", tag) != tag:
            return 0, length
        if not wanted[1]:
            return max(0, length - int(wanted[2])), length
        return int(wanted[1]), min(length, int(wanted[2]) + 1) if wanted[2] else length

    def _git(self, path: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        git_farm.answer(self, self.web.repositories, path.removeprefix("/git"), body)

    def log_message(self, *args: object) -> None:
        """Say nothing: the test asks `asked`."""


class _Quiet(ThreadingHTTPServer):
    """Clients that hang up are the subject here, not news."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about a broken connection."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@pytest.fixture
def start_server() -> Iterator[Callable[[], WebServer]]:
    """Starts servers; all end with the test."""
    running: list[ThreadingHTTPServer] = []

    def start() -> WebServer:
        server = WebServer(url="")
        real = _Quiet(("127.0.0.1", 0), type("Handler", (_Handler,), {"web": server}))
        real.daemon_threads = True
        server.url = f"http://127.0.0.1:{real.server_address[1]}"
        threading.Thread(target=real.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        running.append(real)
        return server

    yield start
    for real in running:
        real.shutdown()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            real.server_close()


@pytest.fixture
def web_server(start_server: Callable[[], WebServer]) -> WebServer:
    """One server."""
    return start_server()


@pytest.fixture
def object_store(tmp_path: Path) -> DirectoryStore:
    """A store that is empty."""
    return DirectoryStore(tmp_path / "store")


@pytest.fixture
def make_guarded(tmp_path: Path) -> Callable[..., GuardedExecutor]:
    """Guarded executors of this machine, with the interpreter of these tests, that warn of nothing."""
    # An environment below a temporary directory is not there for a command; what its interpreter leads to is.
    python = str(Path(sys.executable).resolve())

    def make(top: Path = tmp_path, **more: Any) -> GuardedExecutor:
        (top / "root").mkdir(parents=True, exist_ok=True)
        local = LocalExecutor(root=top / "root", store=top / "store", cache=top / "cache")
        return GuardedExecutor(local, **{"python": python, "root": top / "root", "warn": pytest.fail, **more})

    return make


@dataclass
class Repository:
    """A git repository with a work tree that tests commit to."""

    path: Path

    def git(self, *arguments: str) -> str:
        """Run git as the upstream's author would; what it prints."""
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path.parent),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": CLOCK,
            "GIT_COMMITTER_DATE": CLOCK,
        }
        person = [
            "-c",
            "user.name=nobody",
            "-c",
            "user.email=nobody@localhost",
            "-c",
            "protocol.file.allow=always",
        ]
        command = ["git", *person, *arguments]
        done = subprocess.run(command, cwd=self.path, env=environ, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, files: dict[str, str], message: str = "change") -> str:
        """Write the files, commit everything; the commit's id."""
        for name, text in files.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[[str], Repository]:
    """Makes repositories by name, in one folder, each with its branch ``main``."""

    def make(name: str) -> Repository:
        path = tmp_path / "upstream" / name
        path.mkdir(parents=True)
        repository = Repository(path)
        repository.git("init", "--quiet", "--initial-branch=main")
        return repository

    return make


@pytest.fixture
def pauses() -> list[float]:
    """The pauses that were asked for; nobody waits for them."""
    return []


@pytest.fixture
def upstream(make_repository: Callable[[str], Repository]) -> Repository:
    """A repository with a tag, an annotated tag, a branch and an executable file."""
    repository = make_repository("project")
    repository.commit({"a.txt": "one\n", "dir/b.sh": "#!/bin/sh\n"})
    (repository.path / "dir/b.sh").chmod(0o755)
    (repository.path / "link").symlink_to("a.txt")
    repository.commit({}, "exec bit")
    repository.git("tag", "v1.0")
    repository.git("tag", "-a", "v1.1", "-m", "annotated")
    repository.git("branch", "release/1.1")
    repository.commit({"a.txt": "two\n"})
    return repository


@pytest.fixture
def edge(tmp_path: Path, pauses: list[float]) -> GitEdge:
    """The edge under test, with a cache of its own."""
    return GitEdge(tmp_path / "cache", pause=pauses.append)


@pytest.fixture
def tree(edge: GitEdge, upstream: Repository, tmp_path: Path) -> Path:
    """The first tag, checked out."""
    commit = upstream.git("rev-parse", "v1.0")
    place = tmp_path / "build/source"
    edge.check_out(
        edge.fetch_commit(str(upstream.path), commit),
        commit,
        place,
        "https://me:s3cret@example.invalid/project.git",
    )
    return place


@pytest.fixture
def nested(make_repository: Callable[[str], Repository]) -> Repository:
    """A project with a submodule by relative address, which has one of its own by absolute path."""
    inner, middle, outer = (make_repository(name) for name in ("inner", "middle", "outer"))
    inner.commit({"inner.txt": "inner\n"})
    middle.git("submodule", "add", "--quiet", str(inner.path), "deep/inner")
    middle.commit({"middle.txt": "middle\n"})
    outer.git("submodule", "add", "--quiet", str(middle.path), "third_party/middle")
    outer.git("config", "-f", ".gitmodules", "submodule.third_party/middle.url", "../middle")
    outer.commit({"outer.txt": "outer\n"})
    return outer
