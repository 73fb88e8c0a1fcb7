"""Where a build's socket lies, whatever the folder for what is temporary is called."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import pytest

from torchbuild.shim.socket_folder import SocketFolder


@pytest.mark.parametrize("name", ["plain", "with blanks in it", "x" * 100])
def test_a_socket_can_be_named_and_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A long name, or one with blanks, is not used: launchers could not be told of it."""
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    made = SocketFolder()

    with socket.socket(socket.AF_UNIX) as launcher:
        launcher.connect(made.ask)
        link, _ = made.listener.accept()
        link.close()
    made.listener.close()

    assert " " not in made.path
    assert [path.name for path in Path(made.path).iterdir()] == ["ask"]
    made.clear()
    assert not Path(made.path).exists()
