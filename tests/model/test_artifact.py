"""Digests, locators and the file names made of them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.model.artifact import Artifact, ImageRef, file_name, is_sha256, locator_kind


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a" * 64, True),
        ("0123456789abcdef" * 4, True),
        ("A" * 64, False),
        ("a" * 63, False),
        ("a" * 65, False),
        ("a" * 64 + "\n", False),
        ("g" * 64, False),
        ("", False),
    ],
)
def test_a_digest_has_one_spelling(text: str, good: bool) -> None:
    """Only 64 lower-case hexadecimal digits are a digest: two spellings would be two inputs."""
    assert is_sha256(text) is good


@pytest.mark.parametrize("text", ["A" * 64, "sha256:" + "a" * 64, "a" * 40, ""])
def test_no_artifact_without_a_digest(text: str) -> None:
    """What is not a digest cannot stand where one is needed."""
    with pytest.raises(ValidationError, match="64 lower-case hexadecimal digits"):
        Artifact(locator="pypi:a/a.whl", sha256=text)
    with pytest.raises(ValidationError, match="64 lower-case hexadecimal digits"):
        ImageRef(name="x", id=text)


@pytest.mark.parametrize("size", [-1, 2**63])
def test_no_size_that_no_file_has(size: int) -> None:
    """A size is a count of bytes."""
    with pytest.raises(ValidationError, match="size"):
        Artifact(locator="pypi:a/a.whl", sha256="a" * 64, size=size)


@pytest.mark.parametrize(
    ("locator", "kind"),
    [
        ("pypi:numpy/numpy-2.whl", "pypi"),
        ("debian:trixie/pytorch/x.tar.xz", "debian"),
        ("https://example.org/x.tar.gz", "https"),
        ("file:patches/x.patch", "file"),
    ],
)
def test_the_kind_says_who_resolves(locator: str, kind: str) -> None:
    """What stands before the colon decides where a file is looked for."""
    assert locator_kind(locator) == kind


@pytest.mark.parametrize(
    ("locator", "name"),
    [
        ("pypi:numpy/numpy-2.2.6-cp313-cp313-linux_x86_64.whl", "numpy-2.2.6-cp313-cp313-linux_x86_64.whl"),
        ("pypi:torch/torch-2.6.0+cpu-py3-none-any.whl", "torch-2.6.0+cpu-py3-none-any.whl"),
        ("https://example.org/a/nccl_2.18.1-1%2Bcuda12.1.txz", "nccl_2.18.1-1+cuda12.1.txz"),
        ("https://example.org/a/b.tar.gz?download=1#part", "b.tar.gz"),
        ("https://example.org/a/b/", "b"),
        ("file:fix.patch", "fix.patch"),
        ("file:patches/fix.patch", "fix.patch"),
        ("debian:trixie/pytorch/pytorch_2.6.0+dfsg.orig.tar.xz", "pytorch_2.6.0+dfsg.orig.tar.xz"),
        ("https://example.org/..", "artifact"),
        ("https://example.org/%2e%2e%2fpasswd", "artifact"),
        ("https://example.org/-rf", "artifact"),
        ("https://example.org/a b", "artifact"),
        ("https://example.org/" + "a" * 300, "artifact"),
        ("", "artifact"),
    ],
)
def test_a_file_name_is_safe(locator: str, name: str) -> None:
    """The name under which a file is laid out can neither climb, nor be an option, nor be too long."""
    assert file_name(locator) == name
    assert Artifact(locator=locator, sha256="a" * 64).name == name
