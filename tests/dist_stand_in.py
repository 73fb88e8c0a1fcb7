"""A scheduler and a machine as sccache's client knows them: its protocol of HTTP, and a compiler behind it.

Written after docs/Distributed.md of sccache and what its client sends; bodies are bincode: numbers are little
endian, a text or a list has its length before it, a choice its number. The machine compiles with the compilers
that it was sent, in a root of its own, as the real one does; it needs to be root for that.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import ssl
import struct
import subprocess
import tarfile
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["Pool", "stand_in_pool", "why_none"]

_CERTIFICATE = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=stand-in -addext"


def why_none() -> str:
    """Why this machine cannot have them; empty where it can."""
    missing = [name for name in ("openssl", "unshare") if shutil.which(name) is None]
    if missing:
        return f"missing: {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "only root may compile in a root of its own"


class Pool:
    """What its two servers know, and what was asked of them."""

    def __init__(self, folder: Path, token: str) -> None:
        """Nothing listens yet.

        Args:
            folder: for certificate, toolchains and what is compiled.
            token: what clients must send.
        """
        self.folder, self.token = folder, token
        self.machine = ("127.0.0.1", 0)
        self.port = 0
        """Of the scheduler."""
        self.asked: list[str] = []
        """Paths, in the order in which they were asked for."""
        self.answer = ""
        """Instead of a job: ``full``, or nothing."""
        self.toolchains: set[str] = set()
        """Archives that were sent."""
        self.compiled: list[str] = []
        """Sources."""
        self.environs: list[dict[str, str]] = []
        """What each compile's environment was."""
        self.jobs = 0
        self._archive = ""
        self._unpacking = threading.Lock()
        self.certificate = folder / "certificate.pem"

    @property
    def endpoint(self) -> str:
        """The machine's."""
        return f"{self.machine[0]}:{self.machine[1]}"

    @property
    def digest(self) -> bytes:
        """Of the certificate, which a client asks for when it has not seen it."""
        return hashlib.sha256(self.certificate.read_bytes()).digest()

    def job(self, archive: str) -> bytes:
        """A job, for who has that toolchain."""
        if self.answer == "full":
            return _number(1, 4) + _bytes(b"Insufficient capacity across 0 available servers")
        self.jobs += 1
        self._archive = archive
        address = _number(0, 4) + bytes(map(int, self.machine[0].split("."))) + _number(self.machine[1], 2)
        job = _bytes(b"job token") + _number(self.jobs) + address
        return _number(0, 4) + job + _number(archive not in self.toolchains, 1) + _bytes(self.digest)

    def toolchain(self, content: bytes) -> None:
        """Unpack one that was sent."""
        place = self.folder / "roots" / self._archive
        with self._unpacking, tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(place, filter="tar")
        for name in ("usr/lib", "usr/lib64", "tmp"):
            (place / name).mkdir(parents=True, exist_ok=True)
        self.toolchains.add(self._archive)

    def run(self, content: bytes) -> bytes:
        """Compile, and pack what came of it."""
        length = int.from_bytes(content[:4], "big")
        order = _Reader(content[4 : 4 + length])
        executable, arguments, environ, folder = (
            order.text(),
            [order.text() for _ in range(order.number())],
            {order.text(): order.text() for _ in range(order.number())},
            order.text(),
        )
        outputs = [order.text() for _ in range(order.number())]
        root = self.folder / "roots" / self._archive
        inputs = io.BytesIO(zlib.decompress(content[4 + length :]))
        with self._unpacking, tarfile.open(fileobj=inputs) as archive:  # two jobs would make one folder
            archive.extractall(root, filter="tar")
        for name in (*outputs, folder + "/x"):
            (root / name.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["unshare", "--root", root, "--wd", folder, "--", executable, *arguments],
            env={**environ, "PATH": "/usr/bin"},
            capture_output=True,
            check=False,
        )
        self.compiled.append(arguments[arguments.index("-c") + 1])
        self.environs.append(environ)
        made = [(name, root / name.lstrip("/")) for name in outputs]
        packed = b"".join(
            _bytes(name.encode()) + _bytes(zlib.compress(path.read_bytes())) + _number(path.stat().st_size)
            for name, path in made
            if path.exists()
        )
        said = struct.pack("<i", done.returncode) + _bytes(done.stdout) + _bytes(done.stderr)
        return _number(1, 4) + said + _number(sum(path.exists() for _, path in made)) + packed


class _Reader:
    """Takes values off the front of a body."""

    def __init__(self, content: bytes) -> None:
        self._left = io.BytesIO(content)

    def number(self) -> int:
        """A length."""
        return int.from_bytes(self._left.read(8), "little")

    def text(self) -> str:
        """A text."""
        return self._left.read(self.number()).decode()


class _Handler(BaseHTTPRequestHandler):
    pool: Pool

    def do_GET(self) -> None:
        self.pool.asked.append(self.path)
        if self.path.endswith("/scheduler/status"):
            self._reply(_number(1) + _number(4) + _number(0))
        elif "/scheduler/server_certificate/" in self.path:
            self._reply(_bytes(self.pool.digest) + _bytes(self.pool.certificate.read_bytes()))
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = self._body()
        self.pool.asked.append(self.path)
        is_job = "/distserver/" in self.path
        if self.headers.get("Authorization") != f"Bearer {'job token' if is_job else self.pool.token}":
            self.send_error(401, "this is no token of ours")
        elif self.path.endswith("/scheduler/alloc_job"):
            self._reply(self.pool.job(_Reader(body).text()))
        elif "/distserver/submit_toolchain/" in self.path:
            self.pool.toolchain(body)
            self._reply(_number(0, 4))
        elif "/distserver/run_job/" in self.path:
            self._reply(self.pool.run(body))

    def log_message(self, *_: Any) -> None:
        """Nothing: what was asked is kept."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _reply(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _number(value: int, size: int = 8) -> bytes:
    return int(value).to_bytes(size, "little")


def _bytes(value: bytes) -> bytes:
    return _number(len(value)) + value


@contextlib.contextmanager
def stand_in_pool(folder: Path, token: str) -> Iterator[Pool]:
    """Both, on this machine, until the body ends.

    Args:
        folder: an empty one.
        token: what clients must send.
    """
    pool = Pool(folder, token)
    key = folder / "key.pem"
    argv = [*_CERTIFICATE.split(), "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pool.certificate]
    subprocess.run(argv, check=True, capture_output=True)
    handler = type("Handler", (_Handler,), {"pool": pool})
    secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secured.load_cert_chain(pool.certificate, key)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as scheduler,
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as machine,
    ):
        machine.socket = secured.wrap_socket(machine.socket, server_side=True)
        pool.port, pool.machine = scheduler.server_address[1], ("127.0.0.1", machine.server_address[1])
        for server in (scheduler, machine):
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield pool
        finally:
            for server in (scheduler, machine):
                server.shutdown()
