"""What is known about interpreters: which torch is for which Python, and where managed ones come from."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts, facts_file, in_range, table_cache
from torchbuild.model.frozen import frozen_value

__all__ = ["StandaloneFact", "TorchPython", "newest_promised", "standalone_fact", "torch_python"]


_PYTHONS = tuple(f"3.{minor}" for minor in range(30, 5, -1))


class TorchPython(Fact):
    """The interpreters that a release says it is for."""

    torch: str
    """Releases that this is for, a range."""
    python: str
    """Promised, a range."""
    experimental: str
    """Built and not promised, a range; empty for none."""

    def promises(self, python: str) -> bool:
        """Whether the release says that it is for this Python; of what is no version, it does not."""
        return in_range(python, self.python)

    def tries(self, python: str) -> bool:
        """Whether upstream builds for it without a promise."""
        return bool(self.experimental) and in_range(python, self.experimental)


def newest_promised(row: TorchPython) -> str:
    """The newest Python that a release promises, such as ``3.13``; empty for none."""
    return next((item for item in _PYTHONS if row.promises(item)), "")


class StandaloneFact(Fact):
    """The publisher of uv's managed interpreters."""

    scheme: str
    """Kind of their locators; where they are published is a row of ``publishers.toml``."""
    flavors: tuple[str, ...]
    """Archives whose top is an installation."""


def torch_python(release: str) -> TorchPython | None:
    """What a release of torch says of Python; None where nobody read it."""
    rows = facts(TorchPython, "torch_python", "release")
    return next((row for row in rows if in_range(release, row.torch)), None)


@table_cache
def standalone_fact() -> StandaloneFact:
    """Where managed interpreters come from."""
    return StandaloneFact.model_validate(frozen_value(facts_file("standalone_python")["publisher"]))
