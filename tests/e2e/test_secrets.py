"""A private repository: what its token may reach, and where it must never be seen."""

from __future__ import annotations

import base64
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import git_farm
import pytest

TOKEN = "glpat-not-a-real-one-0123456789"
OTHERS = {
    "CI_JOB_TOKEN": "job-token-abcdefghijkl",
    "TWINE_PASSWORD": "pypi-password-mnopqrst",
}
NETRC = "netrc-password-uvwxyz01"
INDEX = "index-password-23456789"
MIRROR = "mirror-token-98765432"


class PrivateGit(BaseHTTPRequestHandler):
    """git's own HTTP back end behind a user and a password."""

    repositories: Path
    asked: list[str]

    def log_message(self, *args: object) -> None:
        """Nothing on the terminal."""

    def do_GET(self) -> None:
        """What a fetch asks for."""
        self._serve(b"")

    def do_POST(self) -> None:
        """What it wants."""
        self._serve(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _serve(self, body: bytes) -> None:
        wanted = "Basic " + base64.b64encode(f"builder:{TOKEN}".encode()).decode()
        if self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path = self.path.partition("?")[0]
        self.asked.append(path)
        git_farm.answer(self, self.repositories, path, body)


@pytest.fixture
def private(repos: Path) -> Iterator[type[PrivateGit]]:
    """A server whose repositories nobody sees without the token; `url` says where."""
    handler = type("Handler", (PrivateGit,), {"repositories": repos, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        handler.url = f"http://builder:{TOKEN}@127.0.0.1:{server.server_port}/torchlet"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield handler
        server.shutdown()
        thread.join()


def seen_in(folder: Path, *secrets: str) -> list[str]:
    """Files below a folder that hold one of the texts, as it is or as a part of a header."""
    texts = [text.encode() for text in secrets]
    texts += [base64.b64encode(f"builder:{text}".encode()) for text in secrets]
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and any(text in path.read_bytes() for text in texts)
    ]


def test_a_token_reaches_the_repository_and_nothing_else(
    private: Any, downloads: Path, tmp_path: Path, fresh: Any, arguments: Any
) -> None:
    """Locked, fetched and built with it, its submodule too; in no lock, plan, event, log, report, provenance,
    work tree or wheel. The same holds for passwords of an index and a mirror, of netrc and of CI's variables.
    """
    recipe = arguments("setup-py")[0]
    fresh.builds, fresh.cache = tmp_path / "builds", tmp_path / "cache"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".netrc").write_text(f"machine example.org login me password {NETRC}\n")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "store").symlink_to(downloads / "store")
    fresh.environ = OTHERS | {"HOME": str(tmp_path / "home")}
    lock = (recipe, "--set", f"source.git={private.url}", "--set", "name=private", "--lock", "private.lock")
    machine = (
        *("--set", f"machine.index_url={private.url.replace(TOKEN, INDEX)}/simple"),
        *("--set", f'machine.mirrors={{"https://git.example/"="http://me:{MIRROR}@127.0.0.1:9/"}}'),
    )

    said = [fresh.good("lock", *lock), fresh.good("plan", *lock), fresh.good("plan", *lock, "--json")]
    fresh.cache = tmp_path / "empty cache"
    refused = fresh.run("build", *lock, *machine, "--locked", "--until", "fetch", "--json")
    fresh.cache = tmp_path / "cache"
    said += [refused, fresh.good("build", *lock, "--locked", "--out", tmp_path / "dist", "--json")]

    assert refused.error["reference"] == "artifacts-not-fetched"
    assert {path.split("/")[1] for path in private.asked} == {"torchlet", "nanofmt"}
    (tmp_path / "home" / ".netrc").unlink()
    secrets = (TOKEN, NETRC, INDEX, MIRROR, *OTHERS.values())
    for ended in said:
        assert not [text for text in secrets if text in ended.out + ended.err]
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert seen_in(tmp_path, *secrets) == []
    assert {"".join(path.suffixes[-2:]) for path in (tmp_path / "dist").iterdir()} >= {".provenance.json"}


def test_a_refused_token_is_not_shown(private: Any, fresh: Any, arguments: Any, tmp_path: Path) -> None:
    """The error names the repository, and who must act; the lock that another token made is as good."""
    recipe = arguments("setup-py")[0]
    wrong = private.url.replace(TOKEN, "another-token-that-is-wrong")
    lock = (recipe, "--set", f"source.git={wrong}", "--lock", "wrong.lock")

    ended = fresh.run("lock", *lock, "--json")

    assert (ended.code, ended.error["reference"]) == (7, "git-auth-failed")
    assert "another-token" not in ended.out + ended.err
    assert not (tmp_path / "wrong.lock").exists()
