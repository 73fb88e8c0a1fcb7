"""Foreign text made fit to be shown: one line, no control characters, no lone surrogates."""

from __future__ import annotations

__all__ = ["escaped", "shown"]

_LONGEST = 300


def escaped(text: str | bytes) -> str:
    """`text` with everything unprintable as an escape: different texts stay different, none is cut."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="backslashreplace")
    return text if text.isprintable() else "".join(map(_escape, text))


def shown(text: str) -> str:
    """`text` escaped and cut to what a line can hold; a cut ends in an ellipsis."""
    whole = escaped(text[: _LONGEST + 1])
    return whole if len(whole) <= _LONGEST else whole[:_LONGEST] + "…"


def _escape(char: str) -> str:
    if char.isprintable():
        return char
    return char.encode("unicode_escape", errors="surrogatepass").decode("ascii")
