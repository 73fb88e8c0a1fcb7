"""An image into an engine: what it then has is the image, or the build ends there."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from torchbuild.edges.image_load import EngineStorage, UnpackedRoots
from torchbuild.edges.oci_archive import write_archive
from torchbuild.errors import HostError
from torchbuild.model.artifact import Artifact, ImageRef
from torchbuild.model.locked_image import LockedImage

DIGEST = "ab" * 32


def engine_that(tmp_path: Path, load: str, inspect: str) -> str:
    """A program that answers as an engine does, and notes what it was asked."""
    engine = tmp_path / "engine"
    engine.write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\ncase "$2" in load) {load} ;; image) {inspect} ;; esac\n'
    )
    engine.chmod(0o755)
    return str(engine)


def load(engine: str, tmp_path: Path) -> None:
    """Load an archive that nobody reads."""
    EngineStorage(engine).take(
        tmp_path / "image.tar", ImageRef(name="localhost/x", id=DIGEST), "localhost/x:1"
    )


def test_the_engine_is_asked_what_it_made_of_it(tmp_path: Path) -> None:
    """Loading ends with the id that the engine says."""
    load(engine_that(tmp_path, "echo Loaded image", f"echo sha256:{DIGEST}"), tmp_path)

    assert [line.split()[1] for line in (tmp_path / "asked").read_text().splitlines()] == [
        "load",
        "image",
        "tag",
    ]
    assert f"tag {DIGEST} localhost/x\n" in (tmp_path / "asked").read_text()


@pytest.mark.parametrize(
    ("loads", "inspects", "reference"),
    [
        ("echo no space left; exit 125", f"echo {DIGEST}", "image-not-loaded"),
        ("true", f"echo {'cd' * 32}", "image-id-unlike"),
        ("true", "echo no such image >&2; exit 1", "image-missing"),
    ],
    ids=["refused", "another id", "swallowed"],
)
def test_an_engine_that_has_something_else_is_refused(
    tmp_path: Path, loads: str, inspects: str, reference: str
) -> None:
    """What the engine has under the name is the image whose digest was computed, or it is an error."""
    with pytest.raises(HostError) as caught:
        load(engine_that(tmp_path, loads, inspects), tmp_path)

    assert caught.value.reference == reference


def test_what_an_engine_keeps_is_asked_by_id(tmp_path: Path) -> None:
    """An image is there, or it is made."""
    assert EngineStorage(engine_that(tmp_path, "true", f"echo {DIGEST}")).has(DIGEST)
    assert not EngineStorage(engine_that(tmp_path, "true", "echo no such image >&2; exit 1")).has(DIGEST)


def test_a_machine_without_an_engine_keeps_the_root(tmp_path: Path) -> None:
    """The image is unpacked under its id; the archive is not kept beside it."""
    with tarfile.open(tmp_path / "root.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("./file"))
    package = Artifact(locator="debian:sample/pool/main/a/apt/apt_3.0_amd64.deb", sha256=DIGEST, size=1)
    image = LockedImage(suite="sample", architecture="amd64", packages=(package,), epoch=1, revision=1)
    archive = tmp_path / "image.tar"
    made = write_archive(archive, tmp_path / "root.tar", image, inputs=DIGEST, name="localhost/x:1")
    roots = UnpackedRoots(tmp_path / "roots")
    assert not roots.has(made.config.sha256)

    roots.take(archive, ImageRef(name="localhost/x", id=made.config.sha256), "localhost/x:1")

    assert roots.has(made.config.sha256)
    assert (tmp_path / "roots" / made.config.sha256 / "file").is_file()
    assert not list((tmp_path / "roots").glob("*.tar"))
