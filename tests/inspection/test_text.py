"""Foreign text is shown without doing harm."""

from __future__ import annotations

import pytest

from torchbuild.inspection.text import escaped, shown


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("torch/é.so", "torch/é.so"),
        ("a\x1b[31mb\n", "a\\x1b[31mb\\n"),
        ("a\u202eb", "a\\u202eb"),
        ("\udcff", "\\udcff"),
        (b"a\xffb", "a\\xffb"),
    ],
)
def test_unprintable_becomes_visible(text: str | bytes, seen: str) -> None:
    """Control characters, direction overrides and broken bytes are escaped, the rest is kept."""
    assert seen == escaped(text)


def test_long_texts_are_cut_and_say_so() -> None:
    """A line stays a line."""
    assert shown("x" * 10**6).endswith("…")
    assert len(shown("\n" * 10**6)) == 301
    assert shown("x" * 300) == "x" * 300
