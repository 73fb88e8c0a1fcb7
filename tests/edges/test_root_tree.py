"""Layers laid down as a directory: as an engine shows them, and never outside of it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from torchbuild.edges.oci_image import OciImage, images_of
from torchbuild.edges.root_tree import unpack_layers
from torchbuild.errors import HostError

Entry = tuple[str, bytes, str]


def layer_of(*entries: Entry) -> bytes:
    """A layer: name, type, and content or what a link leads to."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, text in entries:
            member = tarfile.TarInfo(name)
            member.type, member.mtime, member.mode = kind, 1_000_000_000, 0o755
            member.uid, member.gid = os.geteuid(), os.getegid()
            data = text.encode() if kind == tarfile.REGTYPE else b""
            member.size = len(data)
            member.linkname = "" if data else text
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def image_of(folder: Path, *made: bytes) -> OciImage:
    """An image of these layers, as an engine saves it."""
    config = json.dumps({"rootfs": {"diff_ids": [hashlib.sha256(one).hexdigest() for one in made]}}).encode()
    names = [f"{number}.tar" for number in range(len(made))]
    files = {"manifest.json": json.dumps([{"Config": "c", "Layers": names}]).encode(), "c": config}
    path = folder / "image.tar"
    with tarfile.open(path, "w") as tar:
        for name, data in (files | dict(zip(names, made, strict=True))).items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return images_of(path)[0]


FILE, FOLDER, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
BASE = layer_of(
    ("./usr/bin/", FOLDER, ""),
    ("./bin", LINK, "usr/bin"),
    ("./usr/bin/tool", FILE, "one"),
    ("./usr/bin/same", HARD, "./usr/bin/tool"),
    ("./usr/bin/other", LINK, "/etc/alternatives/other"),
    ("./dev/null", tarfile.CHRTYPE, ""),
)


def laid(root: Path) -> dict[str, str]:
    """Every file's content and every link's target."""
    return {
        str(path.relative_to(root)): str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_one_layer_is_laid_down(tmp_path: Path) -> None:
    """Files, times, permissions, links of both kinds; devices come from the machine."""
    unpack_layers(image_of(tmp_path, BASE), tmp_path / "root")
    tool, same = tmp_path / "root/usr/bin/tool", tmp_path / "root/usr/bin/same"
    assert laid(tmp_path / "root") == {
        "bin": "usr/bin",
        "usr/bin/tool": "one",
        "usr/bin/same": "one",
        "usr/bin/other": "/etc/alternatives/other",
    }
    assert (tool.stat().st_ino, tool.stat().st_mtime, oct(tool.stat().st_mode & 0o7777)) == (
        same.stat().st_ino,
        1_000_000_000,
        "0o755",
    )
    assert (tmp_path / "root/usr/bin").stat().st_mtime == 1_000_000_000


@pytest.mark.parametrize(
    ("upper", "expected"),
    [
        pytest.param(
            (("usr/bin/tool", FILE, "two"),), {"usr/bin/tool": "two", "usr/bin/x": "x"}, id="replaced"
        ),
        pytest.param((("usr/bin/.wh.tool", FILE, ""),), {"usr/bin/x": "x"}, id="removed"),
        pytest.param((("usr/.wh.bin", FILE, ""),), {}, id="a directory removed"),
        pytest.param(
            (("usr/bin/.wh..wh..opq", FILE, ""), ("usr/bin/y", FILE, "y")), {"usr/bin/y": "y"}, id="emptied"
        ),
        pytest.param((("usr/bin", FILE, "file"),), {"usr/bin": "file"}, id="a file for a directory"),
        pytest.param((("usr/bin/tool/", FOLDER, ""),), {"usr/bin/x": "x"}, id="a directory for a file"),
    ],
)
def test_upper_layer_wins(upper: tuple[Entry, ...], expected: dict[str, str], tmp_path: Path) -> None:
    """What a later layer replaces or removes is not there."""
    lower = layer_of(("usr/bin/tool", FILE, "one"), ("usr/bin/x", FILE, "x"))
    unpack_layers(image_of(tmp_path, lower, layer_of(*upper)), tmp_path / "root")
    assert laid(tmp_path / "root") == expected


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param((("../out", FILE, "x"),), id="dots"),
        pytest.param((("a", LINK, "/tmp"), ("a/out", FILE, "x")), id="through a link"),
        pytest.param((("a", LINK, ".."), ("a/b/out", FILE, "x")), id="through a relative link"),
        pytest.param((("out", HARD, "../../etc/passwd"),), id="a hard link out"),
        pytest.param((("a", LINK, "/etc/passwd"), ("b/c", HARD, "gone")), id="a hard link to nothing"),
    ],
)
def test_nothing_is_written_elsewhere(entries: tuple[Entry, ...], tmp_path: Path) -> None:
    """A hostile image is refused, and nothing of it lies beside its root."""
    (tmp_path / "at").mkdir()
    image = image_of(tmp_path, layer_of(*entries))
    with pytest.raises(HostError) as caught:
        unpack_layers(image, tmp_path / "at" / "root")
    assert (
        caught.value.reference,
        [path.name for path in (tmp_path / "at").iterdir() if path.name != "root"],
    ) == (
        "image-archive-damaged",
        [],
    )


def test_absolute_names_are_below_the_root(tmp_path: Path) -> None:
    """A name that begins with a slash means the image's root, not the machine's."""
    unpack_layers(image_of(tmp_path, layer_of(("/etc/file", FILE, "x"))), tmp_path / "root")
    assert laid(tmp_path / "root") == {"etc/file": "x"}


def test_hard_link_to_a_link_is_that_link(tmp_path: Path) -> None:
    """Some packers write one link twice."""
    unpack_layers(image_of(tmp_path, layer_of(("a", LINK, "b"), ("c", HARD, "a"))), tmp_path / "root")
    assert laid(tmp_path / "root") == {"a": "b", "c": "b"}
