"""A git host of one's own: a superproject with 37 submodules behind servers that behave as real ones do.

Used by benchmarks/sources.py and by the tests of git. Everything is made from a fixed seed.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Farm", "Host", "answer", "farm"]

DIRECT, BELOW = 30, 7
"""Submodules of the superproject itself, and of its first ones: 37 in all, two deep."""
MOVED, PINNED, BUSY = 3, 5, 8
"""Which of the direct ones changed its place, is pinned off every branch, and lies on the busy host."""
_WHEN = "nobody <nobody@localhost> 1714979289 +0000"


@dataclass
class Host:
    """One server on 127.0.0.1 that gives repositories away over http."""

    folder: Path
    latency_s: float = 0.0
    """How long each request waits before it is answered."""
    busy: int = 0
    """How many requests are answered with 502 before the first good one."""
    hangs: bool = False
    """Whether requests are never answered."""
    asked: list[str] = field(default_factory=list)
    """Paths of all requests."""
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)


def _handler(host: Host) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def _answer(self, body: bytes) -> None:
            host.asked.append(self.path)
            time.sleep(host.latency_s)
            if host.hangs:
                host.over.wait(60)
                self.close_connection = True
            elif host.busy > 0:
                host.busy -= 1
                self.send_response(502)
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                answer(self, host.folder, unquote(urlsplit(self.path).path), body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    return Handler


def answer(request: BaseHTTPRequestHandler, folder: Path, path: str, body: bytes) -> None:
    """Answer as a web server with git's own server program, for the repositories in `folder`."""
    environ = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(folder),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "PATH_INFO": path,
        "QUERY_STRING": urlsplit(request.path).query,
        "REQUEST_METHOD": request.command,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "REMOTE_ADDR": "127.0.0.1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    done = subprocess.run(["git", "http-backend"], env=environ, input=body, capture_output=True, check=False)
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    request.send_response(int(fields.pop("Status", "200").split()[0]))
    for name, value in fields.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


@contextmanager
def _serving(host: Host) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(host))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  clients that give up are the subject
    host.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield
    finally:
        host.over.set()
        server.shutdown()
        server.socket.close()


@dataclass
class Farm:
    """The hosts, and what is on them."""

    good: Host
    busy: Host
    hanging: Host
    ids: dict[str, str] = field(default_factory=dict)
    """Commits by name: ``main``, ``before`` (the move), ``hangs``, and those of the submodules."""
    paths: tuple[str, ...] = ()
    """Where the submodules of ``main`` lie, nested ones too."""

    @property
    def url(self) -> str:
        """The superproject's address."""
        return f"{self.good.url}/super.git"


def _import(folder: Path, name: str, stream: str) -> str:
    """A bare repository made of a fast-import stream; the commit of its branch."""
    path = folder / f"{name}.git"
    environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for argv, given in (
        (["git", "init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(path)], ""),
        (["git", "-C", str(path), "fast-import", "--quiet"], stream),
    ):
        subprocess.run(argv, input=given, env=environ, text=True, check=True)
    return _id(path, "refs/heads/main")


def _commit(ref: str, files: dict[str, str], *, on: str = "", links: dict[str, str] | None = None) -> str:
    """One commit of a stream: all of its files, and its submodules by path."""
    lines = [f"commit {ref}", f"committer {_WHEN}", "data 6", "change"]
    lines += [f"from {on}"] if on else []
    lines += ["deleteall"]
    for path, text in files.items():
        lines += [f"M 100644 inline {path}", f"data {len(text)}", text]
    lines += [f"M 160000 {commit} {path}" for path, commit in (links or {}).items()]
    return "\n".join(lines) + "\n"


def _library(seed: int, revision: int, files: int = 25) -> dict[str, str]:
    """Sources that compress as sources do."""
    dice = random.Random(seed)  # noqa: S311  no secret
    texts = {}
    for number in range(files):
        words = [
            f"int f{dice.randrange(10**6)}(int a) {{ return a * {dice.randrange(100)}; }}" for _ in range(60)
        ]
        texts[f"src/part{number}.c"] = "\n".join([*words, f"/* revision {revision} */"])
    return texts


def _modules(entries: dict[str, tuple[str, str]]) -> str:
    rows = (
        f'[submodule "{name}"]\n\tpath = {path}\n\turl = {url}\n' for name, (path, url) in entries.items()
    )
    return "".join(rows)


def _grow(here: Farm) -> None:
    """Write all repositories; the hosts know their addresses already."""
    for number in range(BELOW):
        text = "".join(_commit("refs/heads/main", _library(1000 + number, n)) for n in range(4))
        here.ids[f"below{number}"] = _import(here.good.folder, f"below{number}", text)
    for number in range(DIRECT):
        host = here.busy if number == BUSY else here.good
        here.ids[f"lib{number}"] = _import(host.folder, f"lib{number}", _direct(here, number))
    _pin_off_branches(here)
    _superproject(here)


def _direct(here: Farm, number: int) -> str:
    """A direct submodule; the first ones have one of their own, some by a relative address."""
    files, links = _nested(here, number)
    commits = (_commit("refs/heads/main", _library(number, n) | files, links=links) for n in range(4))
    return "".join(commits)


def _nested(here: Farm, number: int) -> tuple[dict[str, str], dict[str, str]]:
    """What a library says of its submodule: .gitmodules, and the commit by its path."""
    if number >= BELOW:
        return {}, {}
    url = f"../below{number}.git" if number % 2 else f"{here.good.url}/below{number}.git"
    return {".gitmodules": _modules({"below": ("deps/below", url)})}, {
        "deps/below": here.ids[f"below{number}"]
    }


def _pin_off_branches(here: Farm) -> None:
    """A commit that only a request to merge knows, as forges keep them."""
    files, links = _nested(here, PINNED)
    texts = _library(PINNED, 99) | files
    stream = _commit("refs/pull/1/head", texts, on="refs/heads/main^0", links=links)
    path = here.good.folder / f"lib{PINNED}.git"
    subprocess.run(["git", "-C", str(path), "fast-import", "--quiet"], input=stream, text=True, check=True)
    here.ids[f"lib{PINNED}"] = _id(path, "refs/pull/1/head")


def _id(repository: Path, ref: str) -> str:
    argv = ["git", "-C", str(repository), "rev-parse", ref]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def _superproject(here: Farm) -> None:
    entries = {}
    for number in range(DIRECT):
        host = here.busy if number == BUSY else here.good
        url = f"{host.url}/lib{number}.git" if number % 3 or number == BUSY else f"../lib{number}.git"
        entries[f"lib{number}"] = (f"third_party/lib{number}", url)
    before = dict(entries)
    entries[f"lib{MOVED}"] = (f"extern/lib{MOVED}", entries[f"lib{MOVED}"][1])
    hangs = entries | {"hanging": ("third_party/hanging", f"{here.hanging.url}/hanging.git")}
    stream, on = "", ""
    for ref, modules in (("before", before), ("main", entries), ("hangs", hangs)):
        links = {path: here.ids.get(name, "0" * 39 + "1") for name, (path, _) in modules.items()}
        files = _library(4242, 1, files=60) | {".gitmodules": _modules(modules)}
        stream += _commit(f"refs/heads/{ref}", files, on=on, links=links)
        on = f"refs/heads/{ref}"
    here.ids["main"] = _import(here.good.folder, "super", stream)
    for ref in ("before", "hangs"):
        here.ids[ref] = _id(here.good.folder / "super.git", f"refs/heads/{ref}")
    below = [f"third_party/lib{number}/deps/below" for number in range(BELOW)]
    paths = [path for path, _ in entries.values()] + [
        item.replace(f"third_party/lib{MOVED}", f"extern/lib{MOVED}") for item in below
    ]
    here.paths = tuple(sorted(paths))


@contextmanager
def farm(folder: Path, *, latency_s: float = 0.0) -> Iterator[Farm]:
    """The farm, running.

    Args:
        folder: an empty directory for the repositories.
        latency_s: how long each request to any host waits.
    """
    hosts = [Host(folder / name, latency_s) for name in ("good", "busy", "hanging")]
    hosts[2].hangs = True
    for host in hosts:
        host.folder.mkdir(parents=True)
    with _serving(hosts[0]), _serving(hosts[1]), _serving(hosts[2]):
        here = Farm(*hosts)
        _grow(here)
        yield here
