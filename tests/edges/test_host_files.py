"""The files by which a system tells of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.host_files import HostFiles


def test_a_file_is_read_without_zero_bytes(tmp_path: Path) -> None:
    """Device trees have them; what is no text is replaced."""
    (tmp_path / "model").write_bytes(b"Orin\0\xff\n")

    assert HostFiles(tmp_path).text("/model") == "Orin\ufffd\n"
    assert HostFiles(tmp_path).text("/model", most=2) == "Or"


def test_what_is_not_there_is_empty(tmp_path: Path) -> None:
    """Also below something that is no directory."""
    (tmp_path / "file").touch()
    files = HostFiles(tmp_path)

    assert (files.text("/none"), files.text("/file/x"), files.names("/none")) == ("", "", ())
    assert (files.there("/file"), files.there("/none")) == (True, False)


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Who asks has to tell it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    files = HostFiles(tmp_path)

    for name in ("/folder", "/loop"):
        with pytest.raises(OSError, match=name):
            files.text(name)
    assert files.names("/loop") == ()


def test_names_are_sorted(tmp_path: Path) -> None:
    """Every look at one machine is the same."""
    for name in "cab":
        (tmp_path / name).touch()

    assert HostFiles(tmp_path).names("/") == ("a", "b", "c")
