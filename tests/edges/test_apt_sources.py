"""The Debian mirror that apt uses here, in either form of its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.edges.apt_sources import debian_mirror
from torchbuild.errors import HostError


def apt(tmp_path: Path, **files: str) -> Path:
    """A configuration of apt."""
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    for name, text in files.items():
        file = name.replace("_", ".")
        (tmp_path / file if file == "sources.list" else parts / file).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "deb http://m.invalid/debian sid main\n",
        "# deb http://no.invalid/debian sid main\n\n  deb [arch=amd64 signed-by=/k] http://m.invalid/debian/ sid main # x\n",
        "deb cdrom:[Debian]/ sid main\ndeb-src http://m.invalid/debian sid main\n",
        "deb http://s.invalid/debian-security sid main\ndeb\thttp://m.invalid/debian\tsid main\n",
        "deb https://s.invalid/ubuntu sid main\ndeb http://m.invalid/debian sid\n",
    ],
)
def test_one_line_sources(tmp_path: Path, text: str) -> None:
    """Comments, options, other media and other archives are passed over."""
    assert debian_mirror(apt=apt(tmp_path, sources_list=text)) == "http://m.invalid/debian"


@pytest.mark.parametrize(
    "text",
    [
        "Types: deb\nURIs: https://m.invalid/debian\nSuites: sid\n",
        "# x\nTypes: deb deb-src\n# y\nuris:\n https://s.invalid/debian-security\n https://m.invalid/debian/\nSuites: sid\n",
        "Enabled: no\nURIs: https://no.invalid/debian\n\nEnabled: yes\nURIs: https://m.invalid/debian\n",
        "URIs: mirror+file:/etc/apt/mirrors/debian\n\n\n \nURIs: https://m.invalid/debian\n",
        "Signed-By:\n -----BEGIN\n .\n xx\n -----END\nURIs: https://m.invalid/debian",
    ],
)
def test_deb822_sources(tmp_path: Path, text: str) -> None:
    """Comments, continuation lines, disabled paragraphs and embedded keys are read as apt reads them."""
    assert debian_mirror(apt=apt(tmp_path, debian_sources=text)) == "https://m.invalid/debian"


def test_all_files_are_looked_at(tmp_path: Path) -> None:
    """What is not in sources.list may be in a .list or .sources file; other files are not apt's."""
    directory = apt(
        tmp_path,
        a_list="deb http://x.invalid/other sid main",
        b_save="deb http://no.invalid/debian sid main",
        c_sources="URIs: http://m.invalid/debian\n",
    )
    assert debian_mirror(apt=directory) == "http://m.invalid/debian"


def test_the_setting_wins(tmp_path: Path) -> None:
    """What [machine] says needs no apt."""
    assert debian_mirror("https://mine.invalid/debian/", tmp_path) == "https://mine.invalid/debian"


def test_a_machine_without_apt_is_told_the_setting(tmp_path: Path) -> None:
    """Elsewhere than on Debian the error names the line to write."""
    with pytest.raises(HostError) as caught:
        debian_mirror(apt=tmp_path / "nothing")
    assert caught.value.reference == "no-debian-mirror"
    assert "debian_mirror" in caught.value.fix
