"""The two header files of a wheel, METADATA and WHEEL, read without trusting their encoding."""

from __future__ import annotations

from email.message import Message
from email.parser import HeaderParser

from torchbuild.inspection.archive import Contents

__all__ = ["headers"]


def headers(contents: Contents, name: str) -> Message | None:
    """The headers of ``METADATA`` or ``WHEEL``; None where the file is missing or unreadable."""
    text = contents.texts.get(name)
    if text is None:
        return None
    return HeaderParser().parsestr(text.decode("utf-8", errors="backslashreplace"), headersonly=True)
