"""Debian's own digests of its sources, from this machine's mirror."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.debian import DebianMirror
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.web import Web
from torchbuild.errors import FetchError, RecipeError

DIGESTS = ["a" * 64, "b" * 64, "c" * 64]


def paragraph(source: str, version: str, digest: str) -> str:
    """One source package as a suite's list has it."""
    return (
        f"Package: {source}\nBinary: {source}1\nVersion: {version}\nFiles:\n"
        f" 0123456789abcdef0123456789abcdef 10 {source}_{version}.dsc\n"
        f"Checksums-Sha256:\n {digest} 10 {source}_{version}.dsc\n {DIGESTS[2]} 2048 {source}_{version}.orig.tar.xz\n"
        f"Directory: pool/main/x/{source}\n\n"
    )


@pytest.fixture
def mirror(tmp_path: Path, web_server: Any, pauses: list[float]) -> Any:
    """A mirror with one suite of two components."""
    main = (
        paragraph("other", "1", DIGESTS[0])
        + paragraph("thing", "1.9", DIGESTS[0])
        + paragraph("thing", "1.10", DIGESTS[1])
    )
    contrib = paragraph("extra", "1:2~rc1", DIGESTS[0]).rstrip("\n") + "\n"
    for component, text in {"main": main, "contrib": contrib}.items():
        web_server.files[f"/debian/dists/sid/{component}/source/Sources.xz"] = lzma.compress(text.encode())
    web = Web(pause=pauses.append)
    yield DebianMirror(web, tmp_path / "cache", MirrorSettings(debian=f"{web_server.url}/debian/"))
    web.close()


def test_the_newest_version_is_taken(mirror: DebianMirror) -> None:
    """Files, sizes and digests are the publisher's; 1.10 is newer than 1.9."""
    files = [(file.locator, file.sha256, file.size) for file in mirror.source_files("sid", "thing")]
    assert files == [
        ("debian:sid/thing/thing_1.10.dsc", DIGESTS[1], 10),
        ("debian:sid/thing/thing_1.10.orig.tar.xz", DIGESTS[2], 2048),
    ]


def test_a_version_may_be_named(mirror: DebianMirror) -> None:
    """The version that the recipe names is taken, or the ones that are there are listed."""
    assert mirror.source_files("sid", "thing", "1.9")[0].sha256 == DIGESTS[0]
    with pytest.raises(FetchError) as caught:
        mirror.source_files("sid", "thing", "1.8")
    assert caught.value.reference == "debian-source-missing"
    assert "1.9, 1.10" in " ".join(caught.value.why)


def test_every_component_is_looked_at(mirror: DebianMirror) -> None:
    """A source outside of main is found, also as the last paragraph of its list."""
    assert mirror.source_files("sid", "extra")[0].locator == "debian:sid/extra/extra_1:2~rc1.dsc"


def test_a_source_that_is_not_there(mirror: DebianMirror) -> None:
    """A wrong name of a source is told apart from a wrong suite."""
    with pytest.raises(FetchError) as source:
        mirror.source_files("sid", "nothing")
    with pytest.raises(FetchError) as suite:
        mirror.source_files("trixi", "thing")
    assert (source.value.reference, suite.value.reference) == (
        "debian-source-missing",
        "debian-suite-missing",
    )


@pytest.mark.parametrize("name", ["../x", "a b", "", "-x", "a/../../b"])
def test_names_that_are_paths_are_refused(mirror: DebianMirror, name: str) -> None:
    """Neither a suite nor a source can climb."""
    for suite, source in ((name, "thing"), ("sid", name)):
        with pytest.raises(RecipeError) as caught:
            mirror.source_files(suite, source)
        assert caught.value.reference == "locator-invalid"


def test_lists_are_asked_for_once_a_day(mirror: DebianMirror, web_server: Any) -> None:
    """A second question on the same day costs no request, not even for lists that are not there."""
    mirror.source_files("sid", "thing")
    asked = len(web_server.asked)
    mirror.source_files("sid", "other")
    assert len(web_server.asked) == asked == 6


def test_old_lists_are_asked_for_only_if_changed(
    mirror: DebianMirror, web_server: Any, tmp_path: Path
) -> None:
    """On another day an unchanged list is not transferred again."""
    mirror.source_files("sid", "thing")
    for note in (tmp_path / "cache/debian").glob("*.json"):
        note.write_text(note.read_text().replace('"asked": "', '"asked": "0'))
    web_server.asked.clear()
    mirror.source_files("sid", "other")
    conditions = [asked.headers.get("if-modified-since") for asked in web_server.asked]
    assert len([condition for condition in conditions if condition]) == 2


def test_a_broken_list_is_fetched_anew(mirror: DebianMirror, web_server: Any) -> None:
    """A list that is no xz ends as an error once, and is not kept."""
    path = "/debian/dists/sid/main/source/Sources.xz"
    whole = web_server.files[path]
    web_server.files[path] = whole[: len(whole) // 2]
    with pytest.raises(FetchError) as caught:
        mirror.source_files("sid", "thing")
    assert caught.value.reference == "debian-list-unreadable"
    web_server.files[path] = whole
    assert mirror.source_files("sid", "thing")


def test_digests_that_are_none_are_not_invented(mirror: DebianMirror, web_server: Any) -> None:
    """A row whose digest is malformed gives no artifact."""
    text = paragraph("odd", "1", "xyz")
    web_server.files["/debian/dists/odd/main/source/Sources.xz"] = lzma.compress(text.encode())
    assert [file.name for file in mirror.source_files("odd", "odd")] == ["odd_1.orig.tar.xz"]
