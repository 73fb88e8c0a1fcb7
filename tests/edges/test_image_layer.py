"""One layer, the same bytes whoever packed the root."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from torchbuild.edges.image_layer import STATUS, member_text, write_layer
from torchbuild.errors import HostError

EPOCH = 1000
KEY = "SCHILY.xattr.security.capability"


def entry(name: str, kind: bytes = tarfile.REGTYPE, **fields: object) -> tarfile.TarInfo:
    """A member as some tar writes it."""
    item = tarfile.TarInfo(name)
    item.type, item.mtime, item.uname, item.gname = kind, 500, "somebody", "some"
    for field, value in fields.items():
        setattr(item, field, value)
    return item


def root_of(path: Path, *items: tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> Path:
    """A root's tar; each regular file holds its own name's digits."""
    with tarfile.open(path, "w", format=form) as tar:
        for item in items:
            content = item.name.strip("./").encode() if item.isreg() else b""
            item.size = len(content)
            tar.addfile(item, io.BytesIO(content))
    return path


def layer_of(root: Path) -> bytes:
    """The layer's bytes."""
    target = io.BytesIO()
    write_layer(root, target, EPOCH)
    return target.getvalue()


def members(layer: bytes) -> dict[str, tarfile.TarInfo]:
    """The layer's members, by name, in order."""
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        return {item.name: item for item in tar}


def some() -> list[tarfile.TarInfo]:
    """A small root."""
    return [
        entry("./", tarfile.DIRTYPE),
        entry("./usr", tarfile.DIRTYPE, mode=0o755),
        entry("./usr/b", mode=0o4755, gid=42),
        entry("./usr/a", tarfile.LNKTYPE, linkname="./usr/b"),
        entry("./bin", tarfile.SYMTYPE, linkname="usr/bin"),
        entry("./dev", tarfile.DIRTYPE),
        entry("./dev/null", tarfile.CHRTYPE, devmajor=1, devminor=3),
    ]


def test_order_format_and_names_of_owners_do_not_count(tmp_path: Path) -> None:
    """Another tar, or another order, gives the same layer."""
    one = root_of(tmp_path / "one", *some())
    # a link comes after the file that it names, as every tar writes it
    shuffled = [some()[index] for index in (5, 6, 4, 2, 3, 1, 0)]
    for item in shuffled:
        item.uname = item.gname = "others"
    two = root_of(tmp_path / "two", *shuffled, form=tarfile.GNU_FORMAT)

    assert layer_of(one) == layer_of(two)


def test_the_layer_is_these_bytes(tmp_path: Path) -> None:
    """An image has the same digest with every Python that this package runs on."""
    long = "./" + "/".join(["usr"] + ["long" * 10] * 4)
    layer = layer_of(root_of(tmp_path / "root", *some(), entry(long), entry("./usr/\u0151")))

    assert (
        hashlib.sha256(layer).hexdigest()
        == "4e6261532be06fa81b11935438d324c73915a31bf94a8cb636aded75d7af3b5a"
    )


def test_members_keep_what_an_image_needs(tmp_path: Path) -> None:
    """Modes, owners by number and links stay; what is newer than the epoch is not."""
    seen = members(layer_of(root_of(tmp_path / "root", *some(), entry("./new", mtime=EPOCH + 0.5))))

    assert list(seen) == ["bin", "dev", "new", "usr", "usr/a", "usr/b"]
    assert (seen["usr/a"].mode, seen["usr/a"].gid, seen["usr/a"].uname) == (0o4755, 42, "")
    assert (seen["usr/a"].mtime, seen["new"].mtime) == (500, EPOCH)
    assert seen["bin"].linkname == "usr/bin"


def test_the_first_of_two_names_has_the_bytes(tmp_path: Path) -> None:
    """A layer is unpacked from front to back: a link that comes before its file would lead nowhere."""
    layer = layer_of(root_of(tmp_path / "root", *some()))
    seen = members(layer)

    assert (seen["usr/a"].isreg(), seen["usr/b"].islnk(), seen["usr/b"].linkname) == (True, True, "usr/a")
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        file = tar.extractfile("usr/b")
        assert file is not None
        assert file.read() == b"usr/b"


def test_devices_are_the_engines_own(tmp_path: Path) -> None:
    """A user without rights can unpack the image: it holds no device."""
    assert not any(item.isdev() for item in members(layer_of(root_of(tmp_path / "root", *some()))).values())


def test_capabilities_of_programs_stay(tmp_path: Path) -> None:
    """A program that may do a little more than others still may; other attributes are the machine's."""
    marked = entry(
        "./ping", pax_headers={KEY: "\x01\x02", "SCHILY.xattr.user.note": "mine", "mtime": "500.5"}
    )
    (seen,) = members(layer_of(root_of(tmp_path / "root", marked))).values()

    assert seen.pax_headers == {KEY: "\x01\x02"}


def test_one_file_of_a_root_can_be_read(tmp_path: Path) -> None:
    """The root says itself what it holds."""
    root = root_of(tmp_path / "root", *some(), entry(f"./{STATUS}"))

    assert (member_text(root, STATUS), member_text(root, "nothing")) == (STATUS, "")


@pytest.mark.parametrize("content", [b"", b"no tar" * 1000], ids=["empty", "noise"])
def test_a_root_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    """Half a root is no image."""
    (tmp_path / "root").write_bytes(content)
    with pytest.raises(HostError) as caught:
        layer_of(tmp_path / "root")

    assert caught.value.reference == "root-unreadable"
