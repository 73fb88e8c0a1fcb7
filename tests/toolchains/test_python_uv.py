"""Interpreters that uv manages: which archive a version is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.artifact import Artifact
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.provider import Answers, Questions
from torchbuild.toolchains.python_uv import further, part, questions

LIST = "uv:python-downloads/x86_64"
TRIPLE = "x86_64-unknown-linux-gnu"
STRIPPED = f"{TRIPLE}-install_only_stripped.tar.gz"


def recipe(version: str | None) -> Recipe:
    """A recipe with uv's interpreter."""
    python = {"from": "uv"} | ({"version": version} if version else {})
    return Recipe.model_validate(
        {
            "schema": 1,
            "name": "x",
            "source": {"git": "g", "ref": "r"},
            "wheel": {"version": "2.6.0"},
            "python": python,
        }
    )


def row(version: str, file: str, build: str = "20250115", **changed: Any) -> dict[str, Any]:
    """A row of uv's list."""
    url = f"https://h/p/releases/download/{build}/cpython-{version}%2B{build}-{file}"
    base = {"implementation": "cpython", "os": "linux", "libc": "gnu", "variant": "default", "arch": "x86_64"}
    return base | {"key": f"cpython-{version}-linux-x86_64-gnu", "version": version, "url": url} | changed


FREE = {"variant": "freethreaded"}
ROWS = [
    row("3.12.7", STRIPPED, "20241016"),
    row("3.12.10", STRIPPED),
    row("3.12.8", STRIPPED),
    row("3.12.99", STRIPPED, libc="musl"),
    row("3.12.98", STRIPPED, implementation="pypy"),
    row("3.13.1", f"{TRIPLE}-freethreaded+lto-full.tar.zst", **FREE),
    row("3.13.18", f"{TRIPLE}-freethreaded-install_only_stripped.tar.gz", **FREE),
    row("3.14.0", f"{TRIPLE}-freethreaded+lto-full.tar.zst", **FREE),
    row("3.15.0rc1", STRIPPED),
]


def answered(*rows: Any, listing: str | None = None, **documents: str) -> Answers:
    """The first round's answer."""
    text = json.dumps(rows or ROWS) if listing is None else listing
    return Answers(documents={LIST: text} | documents)


def chosen(version: str) -> str:
    """The locator that a version leads to, through all rounds."""
    asked = recipe(version)
    (document,) = questions(asked).documents
    assert document == LIST
    answers = answered()
    (digest,) = further(asked, answers).documents
    answers = answers.model_copy(update={"documents": answers.documents | {digest: "ab" * 32}})
    (file,) = further(asked, answers).files
    assert file.sha256 == "ab" * 32
    artifact = Artifact(locator=file.locator, sha256=file.sha256)
    answers = answers.model_copy(update={"files": {file.locator: artifact}})
    assert further(asked, answers) == Questions()
    found = part(asked, answers)
    assert (found.prefix, found.pieces[0].strip, found.pieces[0].artifact) == (
        "/torchbuild/parts/python",
        1,
        artifact,
    )
    return file.locator


@pytest.mark.parametrize(
    ("version", "build", "file"),
    [
        ("3.12", "20250115", f"cpython-3.12.10%2B20250115-{STRIPPED}"),
        ("3.12.7", "20241016", f"cpython-3.12.7%2B20241016-{STRIPPED}"),
        ("3.15.0rc1", "20250115", f"cpython-3.15.0rc1%2B20250115-{STRIPPED}"),
        (
            "3.13t",
            "20250115",
            f"cpython-3.13.18%2B20250115-{TRIPLE}-freethreaded-install_only_stripped.tar.gz",
        ),
    ],
)
def test_a_version_is_its_newest_build(version: str, build: str, file: str) -> None:
    """3.12 is the newest release of it, by number and not by letters; what is named exactly is that."""
    assert chosen(version) == f"python-build-standalone:{build}/{file}"


@pytest.mark.parametrize(
    ("version", "reference", "told"),
    [
        ("3.12.6", "python-not-offered", "seen 3.12.10, 3.12.8, 3.12.7"),
        ("3.15", "python-not-offered", "seen 3.15.0rc1"),
        ("3.16", "python-not-offered", "seen 3.15.0rc1, 3.12.10, 3.12.8, 3.12.7"),
        ("3.12t", "python-not-offered", "seen 3.14.0, 3.13.18, 3.13.1"),
        ("3.13.1t", "python-archive-other-layout", "newest of them: 3.13.18"),
        ("3.14t", "python-archive-other-layout", "newest of them: 3.13.18"),
        ("3", "python-version-unclear", "seen python.version = 3"),
        ("3.12.8.1", "python-version-unclear", "wanted 3.12, 3.12.8 or 3.13t"),
        (None, "python-version-unclear", "seen python.version = nothing"),
    ],
)
def test_what_uv_does_not_offer_is_refused_with_what_it_does(
    version: str | None, reference: str, told: str
) -> None:
    """Before anything is fetched, with versions that would do."""
    with pytest.raises(ConflictError) as caught:
        further(recipe(version), answered())

    assert caught.value.reference == reference
    assert told in "\n".join(caught.value.why)
    assert caught.value.fix


@pytest.mark.parametrize(
    "listing",
    ["", "[", "[" * 5000, "{}", "[3]", '["x"]', "null", '[{"url": null}]', '[{"version": "no"}]'],
)
def test_a_list_of_another_shape_offers_nothing(listing: str) -> None:
    """A stranger's list never crashes."""
    with pytest.raises(ConflictError) as caught:
        further(recipe("3.12"), answered(listing=listing))

    assert caught.value.reference == "python-not-offered"


@pytest.mark.parametrize(
    "url",
    [
        f"https://h/../20250115/../../cpython-3.12.8-{STRIPPED}",
        f"http://h/20250115/cpython-3.12.8-{STRIPPED}",
        f"https://h/2025/cpython-3.12.8-{STRIPPED}",
        f"https://h/20250115/cpython-3.12.8/{STRIPPED}",
        f"https://h/20250115/cpython-3.12.8-{STRIPPED}?token=x",
    ],
)
def test_an_address_of_another_shape_is_no_offer(url: str) -> None:
    """It goes into the lock as a locator: a build date and a file, nothing else."""
    with pytest.raises(ConflictError):
        further(recipe("3.12.8"), answered(row("3.12.8", STRIPPED, url=url)))


@pytest.mark.parametrize("told", ["", "no digest", "AB" * 32])
def test_a_digest_that_uv_does_not_tell_is_computed(told: str) -> None:
    """Nothing is taken for a digest that is none; the lock says that it was computed."""
    answers = answered(**{"uv:python-digest/x86_64/cpython-3.12.10-linux-x86_64-gnu": told})

    assert further(recipe("3.12"), answers).files[0].sha256 == ""
