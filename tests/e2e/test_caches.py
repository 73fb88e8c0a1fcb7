"""A compiler cache from one workspace to another, here and by way of a server that machines share."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tenacity

pytestmark = pytest.mark.timeout(1800)
PASSWORD = "cache-password-54321"
CACHES = ["ccache", "sccache"]
WHERE = "/usr/local/bin:/usr/bin:/bin"
"""Where a builder's programs are looked for."""
DAV = """\
host: 127.0.0.1
port: {port}
provider_mapping:
  /: {folder}
simple_dc:
  user_mapping:
    '*':
      builder: {{password: {password}}}
http_authenticator: {{accept_basic: true, accept_digest: false, default_to_digest: false}}
"""


def program(name: str) -> str:
    """Where it is; skips where it is not."""
    path = shutil.which(name, path=f"{WHERE}:{sysconfig.get_path('scripts')}")
    return path or pytest.skip(f"no {name} here")


@pytest.fixture(params=CACHES)
def cache(request: pytest.FixtureRequest) -> str:
    """Each cache that a builder may have."""
    if shutil.which(request.param, path=WHERE) is None:
        pytest.skip(f"no {request.param} where builds look")
    return str(request.param)


@pytest.fixture
def build(fresh: Any, arguments: Any, cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Torchlet in a workspace of that name, with a compiler cache of that name; what compile left, and what was said."""
    monkeypatch.setenv("CACHE_PASSWORD", PASSWORD)
    asked = arguments("setup-py", f"toolchain.compiler_cache={cache}", name=f"with-{cache}")

    def run(workspace: str, local: str, backend: str = "") -> tuple[dict[str, Any], str]:
        fresh.builds = tmp_path / "some" / workspace
        fresh.environ["TORCHBUILD_CACHE"] = str(tmp_path / "some" / local)
        for part in ("store", "git"):
            _reuse(fresh.cache / part, tmp_path / "some" / local / part)
        more = ("--set", f"machine.cache_backend={backend}") if backend else ()
        ended = fresh.good("build", *asked, *more, "--locked", "--out", workspace, "--json")
        report = json.loads(Path(ended.json["report"]).read_text(encoding="utf-8"))
        compiled = next(stage for stage in report["stages"] if stage["stage"] == "compile")
        _assert_no_secret(tmp_path, ended.out + ended.err)
        return compiled, ended.err

    return run


Build = Callable[..., tuple[dict[str, Any], str]]


def _reuse(here: Path, there: Path) -> None:
    if here.is_dir() and not there.exists():
        shutil.copytree(here, there, symlinks=True)


def _assert_no_secret(folder: Path, said: str) -> None:
    """Nowhere in what a run leaves: workspace, logs, reports, locks, provenance."""
    assert PASSWORD not in said
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and "server" not in path.parts:
            assert PASSWORD.encode() not in path.read_bytes(), path


@contextlib.contextmanager
def served(argv: list[str], port: int) -> Iterator[None]:
    """A server, once it takes connections, until the body ends."""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            tenacity.Retrying(
                wait=tenacity.wait_fixed(0.05),
                stop=tenacity.stop_after_delay(30),
                retry=tenacity.retry_if_exception_type(OSError),
            )(lambda: socket.create_connection(("127.0.0.1", port)).close())
            yield
        finally:
            server.kill()


def free_port() -> int:
    """One that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture(params=["redis", "webdav"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A real server that wants a password; its address."""
    port, folder = free_port(), tmp_path / "server"
    folder.mkdir()
    if request.param == "redis":
        argv = [program("redis-server"), "--port", str(port), "--save", "", "--requirepass", PASSWORD]
        address = f"redis://:${{CACHE_PASSWORD}}@127.0.0.1:{port}/0"
    else:
        (folder / "files").mkdir()
        settings = DAV.format(port=port, folder=folder / "files", password=PASSWORD)
        (folder / "dav.yaml").write_text(settings, encoding="utf-8")
        argv = [program("wsgidav"), "--config", str(folder / "dav.yaml")]
        address = f"http://builder:${{CACHE_PASSWORD}}@127.0.0.1:{port}"
    with served(argv, port):
        yield address


def test_another_workspace_hits_all_and_a_server_that_is_gone_fails_nothing(build: Build) -> None:
    """The same recipe built elsewhere on this machine compiles nothing, and asks nobody for memory."""
    port = free_port()
    first, said = build("one", "cache", f"redis://:${{CACHE_PASSWORD}}@127.0.0.1:{port}")
    second, _ = build("two", "cache")

    assert f"127.0.0.1:{port} does not answer" in said
    assert first["evidence"]["cache_hits"] == "0 of 3"
    assert second["evidence"]["cache_hits"] == second["evidence"]["cache_C++"] == "3 of 3"
    assert (first["evidence"]["edges_admitted"], second["evidence"]["edges_admitted"]) == ("3", "0")
    assert second["findings"] == []


def test_another_machine_hits_all_through_the_relay(build: Build, backend: str, tmp_path: Path) -> None:
    """A second workspace whose local cache is empty has everything from the server; the provenance names it."""
    first, _ = build("one", "here", backend)
    second, _ = build("two", "there", backend)

    assert first["evidence"]["cache_hits"] == "0 of 3"
    assert second["evidence"]["cache_hits"] == "3 of 3"
    (statement,) = (tmp_path / "two").glob("*.provenance.json")
    asked = json.loads(statement.read_text())["predicate"]["buildDefinition"]["externalParameters"]
    scheme, _, place = backend.partition("://")
    assert asked["allowed"] == [f"{scheme}://{place.rpartition('@')[2].removesuffix('/0')}"]
