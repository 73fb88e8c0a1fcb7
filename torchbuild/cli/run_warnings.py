"""What a run tells of beside its stages: each a line for who watches, and a row of its events."""

from __future__ import annotations

from collections.abc import Callable

from torchbuild.cli.facts_overlay import facts_differ
from torchbuild.context import Reporter
from torchbuild.model.lock import Lock
from torchbuild.report.events import Warned

__all__ = ["tell_of_other_facts", "warner"]


def warner(reporter: Reporter, reference: str, stage: str = "") -> Callable[[str], None]:
    """Tells one kind of news as it comes."""

    def warn(text: str) -> None:
        reporter.emit(Warned(stage=stage, reference=reference, text=text))

    return warn


def tell_of_other_facts(lock: Lock, reporter: Reporter) -> None:
    """The lock is used as it is, whatever the user's facts are here."""
    for text in facts_differ(lock):
        reporter.emit(Warned(stage="", reference="facts-differ", text=text))
