"""Sccache's scheduler on this machine, and its servers on machines that are network namespaces of it.

The program is in no package: TORCHBUILD_SCCACHE_DIST names it; see docs/evidence/sccache-dist.md.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from build_hosts import BuildHost, build_hosts, free_port, until, why_none

__all__ = ["VARIABLE", "sccache_hosts", "why_no_sccache"]

VARIABLE = "TORCHBUILD_SCCACHE_DIST"
_PORT = 10501
_AMONG = "token-of-the-servers"
_SCHEDULER = """\
public_addr = "0.0.0.0:{port}"
client_auth = {{ type = "token", token = "{token}" }}
server_auth = {{ type = "token", token = "{among}" }}
"""
_SERVER = """\
cache_dir = "{folder}/toolchains"
public_addr = "{address}"
scheduler_url = "http://{gateway}:{port}"
scheduler_auth = {{ type = "token", token = "{among}" }}
[builder]
type = "overlay"
build_dir = "{folder}/build"
bwrap_path = "/usr/bin/bwrap"
"""


def why_no_sccache() -> str:
    """Why there can be none here; empty where there can."""
    program = os.environ.get(VARIABLE, "")
    if not program:
        return f"{VARIABLE} names no sccache-dist"
    return why_none(program, "bwrap", "sccache")


@contextlib.contextmanager
def sccache_hosts(count: int, token: str) -> Iterator[tuple[int, tuple[BuildHost, ...]]]:
    """So many that a scheduler knows, and its port on this machine.

    Args:
        count: machines.
        token: what clients must send.
    """
    folder, port, program = Path(tempfile.mkdtemp()), free_port(), os.environ[VARIABLE]
    log = folder / "scheduler.log"
    config = _written(folder / "scheduler.toml", _SCHEDULER.format(port=port, token=token, among=_AMONG))
    environ = {**os.environ, "SCCACHE_NO_DAEMON": "1", "SCCACHE_LOG": "info"}
    with (
        build_hosts(count, folder) as hosts,
        log.open("wb") as said,
        subprocess.Popen(
            [program, "scheduler", "--config", config], env=environ, stdout=said, stderr=said
        ) as scheduler,
    ):
        try:
            for host in hosts:
                _serve(program, host, port, folder)
            until(lambda: log.read_text(errors="replace").count("Registered new server") >= count)
            yield port, hosts
        finally:
            scheduler.kill()
            for host in hosts:
                host.remove()
            shutil.rmtree(folder, ignore_errors=True)


def _serve(program: str, host: BuildHost, port: int, folder: Path) -> None:
    mine = folder / host.address
    mine.mkdir()
    words = {"folder": mine, "address": f"{host.address}:{_PORT}", "gateway": host.gateway, "port": port}
    config = _written(mine / "server.toml", _SERVER.format(**words, among=_AMONG))
    log = {"SCCACHE_NO_DAEMON": "1", "SCCACHE_LOG": "info,sccache_dist=debug"}
    host.start_program(program, "server", "--config", config, **log)


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
