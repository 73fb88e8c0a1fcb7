"""Parts of a subject are found by dotted name."""

from __future__ import annotations

import email
from types import SimpleNamespace

import pytest

from torchbuild.smoke.subject import find, missing


def test_attributes_and_modules_are_found() -> None:
    """A part may be an attribute, or a module that nobody has imported yet."""
    assert find(SimpleNamespace(linalg=SimpleNamespace(svd=1)), "linalg.svd") == 1
    assert callable(find(email, "mime.text.MIMEText"))


def test_what_is_missing_is_named() -> None:
    """Only those that are missing are named, whole."""
    subject = SimpleNamespace(linalg=SimpleNamespace(svd=None))

    assert missing(subject, ("linalg.svd", "linalg.qr", "tensor")) == ["linalg.qr", "tensor"]
    with pytest.raises(AttributeError):
        find(subject, "linalg.qr")
