"""An interpreter that uv manages, through a mirror of this machine, with a real CPython in it."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.standalone import MAJOR_MINOR, VERSION, listing, packed, served
from torchbuild.cli.managed_python import managed_python
from torchbuild.cli.places import places
from torchbuild.cli.survey import survey_builder
from torchbuild.edges.archive import unpack
from torchbuild.edges.download import Downloader
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.uv_python import uv_document
from torchbuild.errors import ConflictError, FetchError
from torchbuild.model.artifact import Artifact
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains.provider import Question

Fetch = Callable[[Question], tuple[Artifact, Path]]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """Its folder, its address, and the path of the archive below it."""
    folder = tmp_path_factory.mktemp("mirror")
    path = packed(folder)
    with served(folder) as url:
        yield folder, url, path


def wanting(version: str = VERSION) -> Recipe:
    """A recipe with uv's interpreter."""
    return Recipe.model_validate(
        {
            "schema": 1,
            "name": "x",
            "source": {"git": "g", "ref": "r"},
            "wheel": {"version": "1.0"},
            "python": {"from": "uv", "version": version},
        }
    )


@pytest.fixture
def fetch(tmp_path: Path, mirror: tuple[Path, str, str]) -> Fetch:
    """Real downloads; a digest that nobody tells is computed from the mirror's own bytes."""
    folder, url, _ = mirror
    store = DirectoryStore(tmp_path / "store")
    mirrors = MirrorSettings(prefixes={"python-build-standalone:": url})
    downloads = Downloader(store, tmp_path / "cache", mirrors, tmp_path, pause=lambda _: None)

    def bring(question: Question) -> tuple[Artifact, Path]:
        file = folder / unquote(question.locator.partition(":")[2])
        sha256 = question.sha256 or hashlib.sha256(file.read_bytes()).hexdigest()
        artifact = Artifact(locator=question.locator, sha256=sha256)
        downloads.fetch([artifact], lambda *_: None)
        path = store.get(sha256)
        assert path is not None
        return artifact, path

    return bring


def documents(path: str, digest: str = "") -> Callable[[str], str]:
    """A list with the mirror's archive, and a digest."""
    return lambda locator: listing(path) if locator.startswith("uv:python-downloads/") else digest


@pytest.mark.parametrize("version", [VERSION, MAJOR_MINOR])
def test_a_managed_interpreter_is_settled_without_running_it(
    mirror: tuple[Path, str, str], fetch: Fetch, version: str
) -> None:
    """Its version, ABI, headers and path are known from its archive, and it really is that."""
    found = managed_python(wanting(version), documents(mirror[2]), fetch)

    place = found.archive.parents[3] / "unpacked"
    unpack(found.archive, place, strip=1)
    program = found.python.executable.replace(found.part.prefix, str(place))
    ask = "import sys, sysconfig; print(sys.version.split()[0], sysconfig.get_config_var('SOABI'), sysconfig.get_path('include'))"
    done = subprocess.run([program, "-I", "-c", ask], capture_output=True, text=True, check=True, timeout=60)
    include = found.python.include.replace(found.part.prefix, str(place))
    assert done.stdout.split() == [found.python.version, found.python.soabi, include]
    assert (
        found.part.says["executable"]
        == found.python.executable
        == f"/torchbuild/parts/python/bin/python{MAJOR_MINOR}"
    )
    assert found.part.pieces[0].artifact.locator == f"python-build-standalone:{mirror[2]}"


def test_a_mirror_that_keeps_another_archive_is_refused_by_uvs_digest(
    fetch: Fetch, mirror: tuple[Path, str, str]
) -> None:
    """The digest is uv's own, told without a network; both are named."""
    rows = json.loads(uv_document("uv:python-downloads/x86_64"))
    row = next(row for row in rows if row["key"].startswith("cpython-3.12.8-linux-x86_64"))
    folder, _, path = mirror
    name = unquote("/".join(row["url"].split("/")[-2:]))
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes((folder / unquote(path)).read_bytes())

    with pytest.raises(FetchError) as caught:
        managed_python(wanting("3.12.8"), uv_document, fetch)

    said = "\n".join((caught.value.what, *caught.value.why))
    assert uv_document("uv:python-digest/x86_64/" + row["key"]) in said
    assert hashlib.sha256((folder / name).read_bytes()).hexdigest() in said


def test_a_version_that_is_not_offered_fetches_nothing(mirror: tuple[Path, str, str]) -> None:
    """The list says so."""
    with pytest.raises(ConflictError) as caught:
        managed_python(wanting("3.99"), documents(mirror[2]), lambda _: pytest.fail("fetched"))

    assert caught.value.reference == "python-not-offered"


def test_a_builder_without_python_is_asked_by_the_managed_one(
    mirror: tuple[Path, str, str], fetch: Fetch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its compilers and its C library are found out by the interpreter that the build will have."""
    for name in ("TORCHBUILD_CACHE", "TORCHBUILD_BUILDS", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    recipe = wanting()
    managed = managed_python(recipe, documents(mirror[2]), fetch)

    found = survey_builder(recipe, None, places(), managed)

    assert found.python == managed.python
    assert found.cc == "/usr/bin/gcc"
    assert found.glibc
