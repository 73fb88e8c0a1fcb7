"""What the build says of itself, whole, for the caller to hold against the lock."""

from __future__ import annotations

from typing import Any

from .subject import find, missing
from .verdict import Finding, failed, passed

__all__ = ["NAME", "NEEDS", "run"]

NAME = "config"
NEEDS = ("__config__.show",)

_SHOW, _PARALLEL = "smoke-config", "smoke-parallel-info"


def run(subject: Any) -> list[Finding]:
    """The text of `show`, and of `parallel_info` where there is one, in `seen`."""
    findings = [_text(_SHOW, "the build's settings", find(subject, "__config__.show")())]
    if not missing(subject, ["__config__.parallel_info"]):
        findings.append(_text(_PARALLEL, "threads", find(subject, "__config__.parallel_info")()))
    return findings


def _text(reference: str, what: str, text: Any) -> Finding:
    if isinstance(text, str) and text.strip():
        return passed(reference, what, text)
    return failed(reference, what, repr(text)[:200], "a text")
