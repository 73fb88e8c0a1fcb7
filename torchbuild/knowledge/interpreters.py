"""What is known about interpreters: which torch is for which Python, and where managed ones come from."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from torchbuild.model.frozen import Frozen, frozen_value

__all__ = ["StandaloneFact", "TorchPython", "standalone_fact", "torch_python"]


class TorchPython(Frozen):
    """The interpreters that a release says it is for."""

    torch: str
    """Releases that this is for, a range."""
    python: str
    """Promised, a range."""
    experimental: str
    """Built and not promised, a range; empty for none."""
    source: str
    """What was read."""
    checked: str
    """When, as a date; or ``unconfirmed``."""

    def promises(self, python: str) -> bool:
        """Whether the release says that it is for this Python; of what is no version, it does not."""
        return _within(self.python, python)

    def tries(self, python: str) -> bool:
        """Whether upstream builds for it without a promise."""
        return bool(self.experimental) and _within(self.experimental, python)


class StandaloneFact(Frozen):
    """The publisher of uv's managed interpreters."""

    scheme: str
    """Kind of their locators; where they are published is a row of ``publishers.toml``."""
    flavors: tuple[str, ...]
    """Archives whose top is an installation."""
    source: str
    """What was read."""
    checked: str
    """When, as a date; or ``unconfirmed``."""


@cache
def _table(name: str) -> dict[str, Any]:
    text = (files("torchbuild.knowledge") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _within(wanted: str, version: str) -> bool:
    """What leads to a release, such as 2.13.0a0, counts as the release; what is no version is in no range."""
    try:
        return SpecifierSet(wanted).contains(Version(version).base_version)
    except InvalidVersion:
        return False


def torch_python(release: str) -> TorchPython | None:
    """What a release of torch says of Python; None where nobody read it."""
    rows = (TorchPython.model_validate(row) for row in _table("torch_python")["release"])
    return next((row for row in rows if _within(row.torch, release)), None)


@cache
def standalone_fact() -> StandaloneFact:
    """Where managed interpreters come from."""
    return StandaloneFact.model_validate(frozen_value(_table("standalone_python")["publisher"]))
