"""What a run tells of beside its stages: each a line for who watches, and a row of its events."""

from __future__ import annotations

from collections.abc import Callable

from torchbuild.cli.facts_overlay import facts_differ
from torchbuild.context import Reporter
from torchbuild.model.lock import Lock
from torchbuild.report.events import Warned

__all__ = ["tell_of_other_facts", "warner"]


def warner(reporter: Reporter, kind: Warned) -> Callable[[str], None]:
    """Tells news of one kind as they come, each with its own text."""

    def warn(text: str) -> None:
        reporter.emit(kind.model_copy(update={"text": text}))

    return warn


def tell_of_other_facts(lock: Lock, reporter: Reporter) -> None:
    """The lock is used as it is, whatever the user's facts are here."""
    for text in facts_differ(lock):
        reporter.emit(Warned(stage="", reference="facts-differ", text=text))
