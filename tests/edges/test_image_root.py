"""A repository of stored packages, and what is told where no root comes of it."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from torchbuild.edges.image_root import make_root, write_repository
from torchbuild.errors import HostError
from torchbuild.model.artifact import Artifact
from torchbuild.model.locked_image import LockedImage

CONTROL = "Package: apt\nVersion: 3.0\nArchitecture: amd64\nMaintainer: nobody\nDescription: sample\n"

needs_dpkg = pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="this system has no dpkg")
needs_mmdebstrap = pytest.mark.skipif(
    shutil.which("mmdebstrap") is None, reason="mmdebstrap is not installed"
)


def package(control: str) -> bytes:
    """A Debian package with nothing in it but its control file."""

    def packed(*files: tuple[str, bytes]) -> bytes:
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w:gz") as tar:
            for name, content in files:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        return target.getvalue()

    def member(name: str, content: bytes) -> bytes:
        head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        return head + content + b"\n" * (len(content) % 2)

    control_tar = packed(("./control", control.encode()))
    parts = (("debian-binary", b"2.0\n"), ("control.tar.gz", control_tar), ("data.tar.gz", packed()))
    return b"!<arch>\n" + b"".join(member(name, content) for name, content in parts)


def stored(folder: Path, content: bytes) -> tuple[LockedImage, dict[str, Path]]:
    """An image of one package, and where the store has it."""
    digest = hashlib.sha256(content).hexdigest()
    path = folder / digest
    path.write_bytes(content)
    artifact = Artifact(
        locator="debian:sample/pool/main/a/apt/apt_3.0_amd64.deb", sha256=digest, size=len(content)
    )
    image = LockedImage(
        suite="sample", architecture="amd64", packages=(artifact,), epoch=1754697600, revision=1
    )
    return image, {digest: path}


@needs_dpkg
def test_a_repository_says_of_a_package_what_it_says_itself(tmp_path: Path) -> None:
    """Apt reads name, needs and digest of each stored package as the archive would have told them."""
    content = package(CONTROL)
    image, files = stored(tmp_path, content)
    write_repository(tmp_path / "repository", image, files)
    suite = tmp_path / "repository" / "dists" / "sample"
    index = (suite / "main/binary-amd64/Packages").read_text()
    digest = hashlib.sha256(content).hexdigest()

    assert index == f"{CONTROL}Filename: pool/apt_3.0_amd64.deb\nSize: {len(content)}\nSHA256: {digest}\n"
    assert hashlib.sha256(index.encode()).hexdigest() in (suite / "Release").read_text()
    assert (tmp_path / "repository/pool/apt_3.0_amd64.deb").read_bytes() == content


@needs_dpkg
def test_what_is_no_package_is_named(tmp_path: Path) -> None:
    """A file that dpkg cannot read ends with its name and dpkg's words."""
    image, files = stored(tmp_path, b"no package")
    with pytest.raises(HostError) as caught:
        write_repository(tmp_path / "repository", image, files)

    assert (caught.value.reference, caught.value.what[:18]) == ("package-unreadable", "apt_3.0_amd64.deb:")


@needs_dpkg
@needs_mmdebstrap
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_root_that_cannot_be_made_ends_with_the_programs_words(tmp_path: Path) -> None:
    """A package that lacks what it needs makes no root; nothing is fetched to help it."""
    image, files = stored(tmp_path, package(CONTROL.replace("Maint", "Depends: nothing-there\nMaint")))
    write_repository(tmp_path / "repository", image, files)
    with pytest.raises(HostError) as caught:
        make_root(image, tmp_path / "repository", tmp_path / "root.tar", tmp_path / "log")

    assert caught.value.reference == "image-root-failed"
    assert any("nothing-there" in line for line in caught.value.evidence)
    assert not list(tmp_path.glob("mmdebstrap.*"))


@needs_dpkg
def test_two_packages_of_one_name_never_write_into_the_store(tmp_path: Path) -> None:
    """The repository's files are the store's own: a second file of that name is refused, not copied over it."""
    content = package(CONTROL)
    image, files = stored(tmp_path, content)
    (tmp_path / "repository/pool").mkdir(parents=True)
    with pytest.raises(HostError):
        write_repository(tmp_path / "repository", image, files)

    again = image.packages[0].model_copy(update={"sha256": "ab" * 32})
    twice = LockedImage.model_construct(**(dict(image) | {"packages": (*image.packages, again)}))
    (tmp_path / "other").write_bytes(b"other bytes")
    with pytest.raises(HostError):
        write_repository(tmp_path / "second", twice, files | {again.sha256: tmp_path / "other"})

    assert next(iter(files.values())).read_bytes() == content
