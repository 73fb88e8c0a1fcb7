"""What an image needs, asked of a real apt about a suite that is served and signed here."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torchbuild.edges.image_packages import PackageQuestion
from torchbuild.errors import FetchError, HostError, RecipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SUITE = Path(__file__).parents[1] / "data" / "suite"
"""Lists of a suite ``sample``, signed by a key that was thrown away."""


pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="this system has no apt")


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """The suite's lists, as a mirror keeps them; a test may change them."""
    folder = tmp_path / "mirror/debian/dists/sample"
    (folder / "main/binary-amd64").mkdir(parents=True)
    shutil.copy(SUITE / "InRelease", folder)
    shutil.copy(SUITE / "Packages", folder / "main/binary-amd64")
    return folder


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """A mirror on this machine: its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(tmp_path / "mirror"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/debian"
        server.shutdown()
        thread.join()


@pytest.fixture
def ask(lists: Path, mirror: str, tmp_path: Path) -> Callable[..., list[str]]:
    """Ask for packages of the suite; other settings can be given. The names of the files that apt names."""

    def names(*packages: str, **changed: Any) -> list[str]:
        settings = {
            "mirror": mirror, "suite": "sample", "components": ("main",),
            "architecture": "amd64", "keyring": SUITE / "keyring.gpg",
        }  # fmt: skip
        uris = PackageQuestion(tmp_path / "state", **(settings | changed)).uris(packages)
        return sorted(line.split()[1].partition("_")[0] for line in uris.splitlines() if line[:1] == "'")

    return names


def test_a_root_comes_with_everything(ask: Callable[..., list[str]]) -> None:
    """Who asks for nothing gets what every root needs."""
    assert ask() == ["apt", "base", "needed"]


def test_needs_come_with_a_package_and_wishes_do_not(ask: Callable[..., list[str]]) -> None:
    """What a package depends on is named, what it merely recommends is not."""
    assert ask("tool++") == ["apt", "base", "libtool9", "needed", "tool++"]


@pytest.mark.parametrize(
    "packages", [("nothing-of-that-name",), ("tool++", "rival")], ids=["unknown", "rivals"]
)
def test_what_cannot_be_installed_is_told_in_apts_words(
    ask: Callable[..., list[str]], packages: tuple[str, ...]
) -> None:
    """A recipe that asks for the impossible is the author's to mend."""
    with pytest.raises(RecipeError) as caught:
        ask(*packages)

    assert caught.value.reference == "image-packages-impossible"
    assert any(packages[-1] in line for line in caught.value.evidence)


def test_lists_that_nobody_signed_are_refused(ask: Callable[..., list[str]], lists: Path) -> None:
    """A mirror cannot slip in a package: its digests count only under the archive's signature."""
    path = lists / "InRelease"
    path.write_text(path.read_text().replace("Origin: Sample", "Origin: Simple"))
    with pytest.raises(FetchError) as caught:
        ask()

    assert caught.value.reference == "package-lists-refused"


def test_lists_that_were_changed_are_refused(ask: Callable[..., list[str]], lists: Path) -> None:
    """The signature covers the lists too."""
    path = lists / "main/binary-amd64/Packages"
    path.write_text(path.read_text().replace("Version: 9", "Version: 8"))
    with pytest.raises(FetchError) as caught:
        ask()

    assert caught.value.reference == "package-lists-refused"


def test_a_suite_that_is_not_there_is_told(ask: Callable[..., list[str]]) -> None:
    """A misspelt suite ends with a hint to the recipe's keys."""
    with pytest.raises(FetchError) as caught:
        ask(suite="simple")

    assert "image.suite" in caught.value.fix


def test_missing_keys_are_told_before_anything_is_asked(
    ask: Callable[..., list[str]], tmp_path: Path
) -> None:
    """Without keys nothing can be believed, so nothing is asked."""
    with pytest.raises(HostError) as caught:
        ask(keyring=SUITE / "nothing.gpg")

    assert (caught.value.reference, (tmp_path / "state").exists()) == ("keyring-missing", False)
