"""Control files are read as Debian's own tools read them."""

from __future__ import annotations

import pytest

from torchbuild.model.debian_control import fields_of, paragraphs

TEXT = """\
Package: one
Status: install ok installed
Checksums-Sha256:
 aa 1 one.dsc
 bb 2 one.tar.xz
Version: 1:2.0-3

Package: two
Homepage: https://two.example:80/
\t
Package: three
"""


def test_each_paragraph_has_its_fields() -> None:
    """A colon in a value is a part of it; lines that go on belong to the field before them."""
    one, two, three = paragraphs(TEXT)

    assert one == {
        "Package": "one",
        "Status": "install ok installed",
        "Checksums-Sha256": "\naa 1 one.dsc\nbb 2 one.tar.xz",
        "Version": "1:2.0-3",
    }
    assert (two["Homepage"], three) == ("https://two.example:80/", {"Package": "three"})


@pytest.mark.parametrize("text", ["", "\n", "\n\n \n"])
def test_nothing_has_no_paragraphs(text: str) -> None:
    """An empty list is one."""
    assert list(paragraphs(text)) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [("URIs : x", {"URIs": "x"}), ("no colon", {"no colon": ""}), (" alone", {"": "\nalone"})],
)
def test_odd_lines_do_not_stop_the_rest(line: str, expected: dict[str, str]) -> None:
    """They are somebody else's files."""
    assert fields_of(f"{line}\nB: b\n") == expected | {"B": "b"}
