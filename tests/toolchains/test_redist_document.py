"""NVIDIA's documents are read as strangers' words: what is in them is exact, or the error says what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.errors import ConflictError, FetchError
from torchbuild.knowledge.redist import redist_product
from torchbuild.toolchains.redist_document import (
    RedistDocument,
    document_locator,
    full_release,
    platform_of,
    read_document,
)

LOCATOR = "nvidia:compute/cuda/redist/redistrib_12.4.1.json"
PATH = "cuda_nvcc/linux-x86_64/cuda_nvcc-linux-x86_64-12.4.131-archive.tar.xz"
DIGEST = "7f" * 32


def document(**changes: Any) -> RedistDocument:
    """A document with one component, whose archive is changed so."""
    archive = {"relative_path": PATH, "sha256": DIGEST, "md5": "0", "size": "51184484"} | changes
    archive = {key: value for key, value in archive.items() if value is not ...}
    whole = {
        "release_date": "2024-04-03",
        "release_label": "12.4.1",
        "cuda_nvcc": {"name": "CUDA NVCC", "version": "12.4.131", "linux-x86_64": archive},
    }
    return read_document(LOCATOR, json.dumps(whole), "12.4.1")


def test_an_archive_has_its_version_digest_size_and_neutral_name() -> None:
    """All of it as the publisher says, below the document's own directory."""
    archive = document().archive("cuda_nvcc", "x86_64")

    assert archive is not None
    assert (archive.component, archive.version) == ("cuda_nvcc", "12.4.131")
    assert archive.artifact.locator == f"nvidia:compute/cuda/redist/{PATH}"
    assert (archive.artifact.sha256, archive.artifact.size) == (DIGEST, 51184484)


def test_what_is_not_there_is_nothing() -> None:
    """Another component, another platform."""
    assert document().archive("cuda_crt", "x86_64") is None
    assert document().archive("cuda_nvcc", "aarch64") is None
    assert document().platforms("cuda_nvcc") == "linux-x86_64"
    assert document().platforms("cuda_crt") == "nothing"


def test_a_server_with_arm_is_no_jetson() -> None:
    """aarch64 is what the documents call sbsa."""
    assert platform_of("aarch64") == "linux-sbsa"


def test_a_size_may_be_missing_or_a_number() -> None:
    """Nobody needs it: the digest is what counts."""
    for size, seen in ((..., None), (7, 7), ("7", 7)):
        archive = document(size=size).archive("cuda_nvcc", "x86_64")
        assert archive is not None
        assert archive.artifact.size == seen


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"sha256": ...}, "sha256"),
        ({"sha256": ""}, "sha256"),
        ({"sha256": "7f" * 31}, "sha256"),
        ({"sha256": ["7f" * 32]}, "sha256"),
        ({"relative_path": ...}, "relative_path"),
        ({"relative_path": 5}, "relative_path"),
        ({"relative_path": "../../../etc/passwd"}, "relative_path"),
        ({"relative_path": "cuda_nvcc/../../x.tar.xz"}, "relative_path"),
        ({"relative_path": "/cuda_nvcc/x.tar.xz"}, "relative_path"),
        ({"relative_path": "https://elsewhere.invalid/x.tar.xz"}, "relative_path"),
        ({"relative_path": "cuda_nvcc//x.tar.xz"}, "relative_path"),
        ({"relative_path": "cuda_nvcc/x.tar.xz\n"}, "relative_path"),
        ({"relative_path": "cuda_nvcc/%2e%2e/x.tar.xz"}, "relative_path"),
        ({"relative_path": "cuda_nvcc/x.tar.xz?token=1"}, "relative_path"),
        ({"size": "many"}, "size"),
        ({"size": -1}, "size"),
        ({"size": 1.5}, "size"),
        ({"size": True}, "size"),
        ({"size": "9" * 5000}, "size"),
    ],
    ids=str,
)
def test_a_wrong_entry_is_named(changes: dict[str, Any], named: str) -> None:
    """What is missing, leaves the directory or is of another type: component, platform and key are named."""
    with pytest.raises(FetchError) as caught:
        document(**changes).archive("cuda_nvcc", "x86_64")

    assert caught.value.reference == "redist-document-invalid"
    assert f"cuda_nvcc.linux-x86_64.{named}" in caught.value.why[0]
    assert len(" ".join(caught.value.why)) < 400


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html><title>Please log in</title></html>",
        "[]",
        "5",
        '"cuda_nvcc"',
        "{" * 100_000,
        "[" * 100_000,
        '{"release_label": "12.4.0"}',
        '{"release_label": ["12.4.1"]}',
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_document_is_refused(text: str) -> None:
    """A page of a proxy, another release's document, or brackets without end."""
    with pytest.raises(FetchError) as caught:
        read_document(LOCATOR, text, "12.4.1")

    assert caught.value.reference == "redist-document-invalid"
    assert LOCATOR in caught.value.what


def test_documents_without_a_label_are_read() -> None:
    """Those of 11.x say no release."""
    assert read_document(LOCATOR, '{"release_date": "2022-10-03"}', "12.4.1").components == {}


@pytest.mark.parametrize("entry", [[], "x", 5], ids=str)
def test_what_is_no_component_is_passed_over(entry: object) -> None:
    """A document says other things about itself as well."""
    assert read_document(LOCATOR, json.dumps({"x": entry}), "12.4.1").archive("x", "x86_64") is None


@pytest.mark.parametrize("entry", [[], "x", 5, True], ids=str)
def test_a_platform_that_is_no_table_is_named(entry: object) -> None:
    """A list where an archive is due."""
    read = read_document(LOCATOR, json.dumps({"cuda_nvcc": {"linux-x86_64": entry}}), "12.4.1")
    with pytest.raises(FetchError) as caught:
        read.archive("cuda_nvcc", "x86_64")

    assert "cuda_nvcc.linux-x86_64 is" in caught.value.why[0]


def test_a_component_without_a_version_is_named() -> None:
    """What it must say it is cannot be locked then."""
    archive = {"relative_path": PATH, "sha256": DIGEST}
    read = read_document(LOCATOR, json.dumps({"cuda_nvcc": {"linux-x86_64": archive}}), "12.4.1")
    with pytest.raises(FetchError, match="not a document") as caught:
        read.archive("cuda_nvcc", "x86_64")

    assert "cuda_nvcc.version" in caught.value.why[0]


KEYS = st.sampled_from(["linux-x86_64", "cuda12", "version", "relative_path", "sha256", "size", "x"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([PATH, DIGEST, "12"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(entry=VALUES)
def test_no_document_is_a_crash(entry: object) -> None:
    """Whatever stands in it: an archive below the document's directory, none, or an error that names the document."""
    read = read_document(LOCATOR, json.dumps({"cuda_nvcc": entry}), "12.4.1")
    try:
        archive = read.archive("cuda_nvcc", "x86_64", "12")
    except (FetchError, ConflictError) as error:
        said = f"{error.what} {error.why}"
        assert LOCATOR in said
        assert len(said) < 1000
    else:
        assert archive is None or archive.artifact.locator.startswith("nvidia:compute/cuda/redist/")


def variants(*keys: str) -> RedistDocument:
    """A document of a library, with an archive for each of these."""
    archives = {key: {"relative_path": f"cudnn/{key}.tar.xz", "sha256": DIGEST} for key in keys}
    whole = {"cudnn": {"version": "9.13.0.50", "linux-x86_64": archives}}
    return read_document("nvidia:compute/cudnn/redist/redistrib_9.13.0.json", json.dumps(whole), "9.13.0")


def test_a_library_has_an_archive_for_each_cuda() -> None:
    """The one of the recipe's major is taken."""
    archive = variants("cuda12", "cuda13").archive("cudnn", "x86_64", "13")

    assert archive is not None
    assert archive.artifact.locator == "nvidia:compute/cudnn/redist/cudnn/cuda13.tar.xz"


@pytest.mark.parametrize("major", ["11", ""])
def test_a_cuda_that_has_none_is_refused(major: str) -> None:
    """The error names those that there are."""
    with pytest.raises(ConflictError) as caught:
        variants("cuda12", "cuda13").archive("cudnn", "x86_64", major)

    assert caught.value.reference == "redist-variant-missing"
    assert "cuda12, cuda13" in caught.value.why[0]


@pytest.mark.parametrize(("version", "release"), [("12.4.1", "12.4.1"), ("9.1.0.70", "9.1.0")])
def test_a_document_is_named_by_three_numbers(version: str, release: str) -> None:
    """A fourth one is of the library, not of the document."""
    fact = redist_product("cuda")

    assert full_release(fact, "cuda.version", version) == release
    assert document_locator(fact, release) == f"nvidia:compute/cuda/redist/redistrib_{release}.json"


@pytest.mark.parametrize("version", ["12.4", "12", None, "12.4.x", "12.4.1rc1", "../12.4"])
def test_a_release_that_is_not_full_is_refused(version: str | None) -> None:
    """It is not guessed: the error names full ones, the fix is one of them."""
    with pytest.raises(ConflictError) as caught:
        full_release(redist_product("cuda"), "cuda.version", version)

    assert caught.value.reference == "redist-release-incomplete"
    assert "12.4.1" in caught.value.why[1]
    if version == "12.4":
        assert 'cuda.version = "12.4.1"' in caught.value.fix
        assert "13.0.0" not in caught.value.why[1]
