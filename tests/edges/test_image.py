"""Builder images by their exact id."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.image import has_image, inspect_image
from torchbuild.errors import HostError

DIGEST = "ab" * 32


def engine_that(tmp_path: Path, script: str) -> str:
    """A program that answers as an engine does."""
    engine = tmp_path / "engine"
    engine.write_text(f"#!/bin/sh\n{script}\n")
    engine.chmod(0o755)
    return str(engine)


@pytest.mark.parametrize("answer", [DIGEST, f"sha256:{DIGEST}"], ids=["as podman does", "as docker does"])
def test_image_is_known_by_its_digest(answer: str, tmp_path: Path) -> None:
    """Whatever the engine, the image's id is its digest."""
    image = inspect_image(engine_that(tmp_path, f"echo {answer}"), "localhost/some/image")
    assert (image.name, image.id) == ("localhost/some/image", DIGEST)


@pytest.mark.parametrize(
    ("name", "brought"),
    [
        ("localhost/torchbuild/some-suite", "engine load."),
        ("some-suite:tag", "engine pull some-suite:tag, or engine load."),
        ("host:5000/x/some-suite:tag", "engine pull host:5000/x/some-suite:tag, or engine load."),
    ],
)
def test_missing_image_says_how_it_is_made(name: str, brought: str, tmp_path: Path) -> None:
    """Where there is no such image, the error names the command that makes it; no registry has a local one."""
    with pytest.raises(HostError) as caught:
        inspect_image(engine_that(tmp_path, "echo no such image >&2; exit 125"), name)
    assert caught.value.reference == "image-missing"
    assert caught.value.fix.endswith(f"torchbuild image RECIPE. One made elsewhere: {brought}")


def test_answer_that_is_no_digest_is_refused(tmp_path: Path) -> None:
    """An id that does not name bytes cannot be locked."""
    with pytest.raises(HostError) as caught:
        inspect_image(engine_that(tmp_path, "echo latest"), "localhost/some/image")
    assert caught.value.reference == "engine-answer-unreadable"


def test_missing_engine_is_not_a_missing_image(tmp_path: Path) -> None:
    """Where the engine itself is missing, that is what is said."""
    with pytest.raises(HostError) as caught:
        inspect_image(str(tmp_path / "nothing"), "localhost/some/image")
    assert caught.value.reference == "program-missing"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(f"echo {DIGEST}", True, id="there"),
        pytest.param("echo Error: x: image not known >&2; exit 125", False, id="podman has none"),
        pytest.param("echo Error: No such image: x >&2; exit 1", False, id="docker has none"),
        pytest.param("echo database is locked >&2; exit 125", True, id="no answer"),
    ],
)
def test_only_an_engine_that_says_so_has_no_image(script: str, expected: bool, tmp_path: Path) -> None:
    """An engine that fails otherwise is not taken for one that lost the image."""
    assert has_image(engine_that(tmp_path, script), DIGEST) is expected
