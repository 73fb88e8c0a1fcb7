"""A server of sccache, with a stand-in for the program; the real one: test_sccache, test_sccache_dist."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchbuild.shim.sccache_server import SccacheServer

SERVES = """\
#!/bin/sh
[ "$1" != --show-stats ] || { echo counted; exit; }
[ "$1" != --stop-server ] || { kill "$(cat "$SCCACHE_SERVER_UDS")"; exit; }
echo "$SCCACHE_START_SERVER $WORD" >"$SCCACHE_ERROR_LOG"
echo $$ >"$SCCACHE_SERVER_UDS"
exec sleep 60
"""


def made(folder: Path, text: str) -> SccacheServer:
    """One of a program with this text."""
    program = folder / "sccache"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return SccacheServer(str(program), str(folder / "socket"), str(folder / "log"))


def test_it_is_started_asked_and_ended(tmp_path: Path) -> None:
    """With what it is told, on its own socket."""
    server = made(tmp_path, SERVES)
    assert server.ask("--show-stats") == "", "none is started by asking"

    assert server.start({**os.environ, "WORD": "told"}, None)

    assert (tmp_path / "log").read_text() == "1 told\n"
    assert server.ask("--show-stats") == "counted\n"
    pid = server.pid
    server.stop()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 3\n", "no program"])
def test_one_that_does_not_listen_is_none(tmp_path: Path, text: str) -> None:
    """Whatever its reason."""
    server = made(tmp_path, text)

    assert not server.start(dict(os.environ), None)
    assert server.pid == 0
    server.stop()
    server.kill()
