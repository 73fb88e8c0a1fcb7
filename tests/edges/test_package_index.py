"""The index that pip would use here, found without a name in our code, and its pages in either form."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.package_index import PackageIndex, machine_authorities, machine_index
from torchbuild.edges.web import Web
from torchbuild.errors import FetchError

FILE = "two_words-1-py3-none-any.whl"


@pytest.fixture
def web(pauses: list[float]) -> Any:
    """HTTP that does not wait."""
    opened = Web(pause=pauses.append)
    yield opened
    opened.close()


@pytest.fixture
def clean_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine whose pip is configured by one file."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    config = tmp_path / "pip.conf"
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    return config


def test_pips_own_default_is_asked_of_pip(clean_pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody configured anything, pip says what it would use."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    found = machine_index()
    assert found.index_url.startswith("https://")
    assert found.ca_file == ""


def test_pips_configuration_is_heard(clean_pip: Path) -> None:
    """Index and certificate authorities come from pip's own file, the download section over the global one."""
    clean_pip.write_text(
        "[global]\nindex-url = https://global.invalid/simple\ncert = /ca.pem\nconstraint = /nonexistent\n"
        "[download]\nindex-url = https://download.invalid/simple\n[install]\nindex-url = https://no.invalid/\n"
    )
    assert machine_index() == ("https://download.invalid/simple", "/ca.pem")


def test_the_environment_wins_over_pips_files(clean_pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PIP_INDEX_URL overrides pip's file, and [machine] index_url overrides both."""
    clean_pip.write_text("[global]\nindex-url = https://file.invalid/simple\n")
    monkeypatch.setenv("PIP_INDEX_URL", "https://environment.invalid/simple")
    assert machine_index().index_url == "https://environment.invalid/simple"
    assert machine_index("https://recipe.invalid/simple").index_url == "https://recipe.invalid/simple"


@pytest.mark.parametrize("kind", ["application/vnd.pypi.simple.v1+json", "text/html"])
def test_both_forms_of_a_page_are_read(web: Web, web_server: Any, kind: str) -> None:
    """JSON and HTML give the same address and digest, relative to the page."""
    pages = {
        "text/html": f'<a href="../../f/{FILE}#sha256=abc">{FILE}</a><a name="x">no link</a>',
        "application/vnd.pypi.simple.v1+json": json.dumps(
            {"files": [{"filename": FILE, "url": f"../../f/{FILE}", "hashes": {"sha256": "abc"}}]}
        ),
    }
    web_server.files["/simple/two-words/"] = pages[kind].encode()
    web_server.types["/simple/two-words/"] = kind
    found = PackageIndex(web, f"{web_server.url}/simple/").find("Two.Words", FILE)
    assert found == (f"{web_server.url}/f/{FILE}", "abc")


def test_a_page_is_asked_for_once(web: Web, web_server: Any) -> None:
    """Two files of one project cost one request."""
    web_server.files["/simple/p/"] = b'<a href="a.whl"></a><a href="b.whl"></a>'
    index = PackageIndex(web, f"{web_server.url}/simple")
    index.find("p", "a.whl")
    index.find("p", "b.whl")
    assert web_server.paths() == ["/simple/p/"]


def test_an_index_may_be_a_directory(web: Web, tmp_path: Path) -> None:
    """An index on this machine's own disk works like one on the network."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p/index.html").write_text('<a href="a%2Bb.whl">a</a>')
    index = PackageIndex(web, tmp_path.as_uri())
    assert index.find("p", "a+b.whl").url == f"{tmp_path.as_uri()}/p/a%2Bb.whl"
    with pytest.raises(FetchError) as caught:
        index.find("q", "q.whl")
    assert caught.value.reference == "not-found"


def test_another_file_of_the_project_is_not_taken(web: Web, web_server: Any) -> None:
    """Exactly the file that was locked, or an error that names it and the page."""
    web_server.files["/simple/p/"] = b'<a href="p-2.whl"></a>'
    with pytest.raises(FetchError) as caught:
        PackageIndex(web, f"{web_server.url}/simple").find("p", "p-1.whl")
    assert caught.value.reference == "not-on-index"
    assert "p-1.whl" in caught.value.what


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"files": [{}]}', '{"files": 1}', '{"x": 1}', '{"files": ["x"]}']
)
def test_a_page_that_is_none_is_said_so(web: Web, web_server: Any, text: str) -> None:
    """JSON of another shape ends as an error about the index."""
    web_server.files["/simple/p/"] = text.encode()
    web_server.types["/simple/p/"] = "application/json"
    with pytest.raises(FetchError) as caught:
        PackageIndex(web, f"{web_server.url}/simple").find("p", "p-1.whl")
    assert caught.value.reference == "index-unreadable"


def test_the_indexs_password_goes_to_its_own_host_only(web: Web, web_server: Any) -> None:
    """Files on the index's host are fetched with its credentials, files elsewhere without."""
    here = f"{web_server.url}/f/here.whl"
    web_server.files["/simple/p/"] = (
        f'<a href="{here}"></a><a href="http://localhost:1/there.whl"></a>'.encode()
    )
    index = PackageIndex(web, f"{web_server.url}/simple".replace("//", "//me:s3cret@"))
    assert index.find("p", "here.whl").url == here.replace("//", "//me:s3cret@")
    assert index.find("p", "there.whl").url == "http://localhost:1/there.whl"
    assert web_server.asked[0].headers["authorization"].startswith("Basic ")


def test_a_machine_without_pip_is_no_crash(
    clean_pip: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where pip does not start, a configured index still works and the want of one is said."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert machine_index("https://recipe.invalid/simple").index_url == "https://recipe.invalid/simple"
    with pytest.raises(Exception, match="nothing says where") as caught:
        machine_index()
    assert getattr(caught.value, "reference", "") == "no-package-index"


def test_pips_certificate_authorities_are_known_to_others(clean_pip: Path) -> None:
    """The resolver trusts whom pip trusts."""
    clean_pip.write_text("[global]\ncert = /ca.pem\n")
    assert machine_authorities() == "/ca.pem"
