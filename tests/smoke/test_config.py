"""What the build says of itself is in the report, whole."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from torchbuild.smoke import config


def test_texts_are_handed_on_whole() -> None:
    """The text stands in `seen`, line for line, and so does the other one where there is one."""
    texts = SimpleNamespace(show=lambda: "a\n  - b\n", parallel_info=lambda: "threads: 2")

    findings = config.run(SimpleNamespace(__config__=texts))

    assert [(found["outcome"], found["seen"]) for found in findings] == [
        ("passed", "a\n  - b\n"),
        ("passed", "threads: 2"),
    ]


@pytest.mark.parametrize("text", ["", "  \n", None, b"bytes"])
def test_nothing_is_not_a_text(text: object) -> None:
    """A build that says nothing of itself fails."""
    (found,) = config.run(SimpleNamespace(__config__=SimpleNamespace(show=lambda: text)))

    assert found["outcome"] == "failed"
