"""What ``torchbuild init`` says where nothing can be built: the facts, and the lines of what could."""

from __future__ import annotations

from typing import Any

from torchbuild.advice.answer import Advice, Way
from torchbuild.advice.said import conflicts_lines
from torchbuild.advice.wish import Wish
from torchbuild.cli.init_question import Question
from torchbuild.errors import ConflictError
from torchbuild.report.errors_text import error_json

__all__ = ["refusal_json", "refused_wish"]


def refused_wish(advice: Advice, question: Question) -> ConflictError:
    """That nothing can be, with the facts, and the command line of each way out."""
    lines = tuple(conflicts_lines(advice.conflicts))
    fixes = tuple(dict.fromkeys(conflict.fix for conflict in advice.conflicts))
    ways = [f"  {question.command(way)}\n    # {way.what}" for way in advice.ways]
    return ConflictError(
        "wish-impossible",
        f"no torch {advice.wish.torch} can be built for {_target(advice.wish)}",
        why=lines,
        fix="\n".join(("Take one of these:", *ways) if ways else fixes),
    )


def refusal_json(advice: Advice, question: Question) -> dict[str, Any]:
    """The same for a program: the error, the conflicts with their facts, the ways with their choices."""
    value = advice.model_dump(mode="json", include={"wish", "conflicts", "unconfirmed"})
    ways = [_way(way, question) for way in advice.ways]
    return {"error": error_json(refused_wish(advice, question)), **value, "ways": ways}


def _way(way: Way, question: Question) -> dict[str, Any]:
    choices = {item.key: item.value for item in way.choices}
    return {"what": way.what, "command": question.command(way), "choices": choices}


def _target(wish: Wish) -> str:
    what = ", ".join(wish.gpus) or ", ".join(wish.archs) or "the CPU"
    return f"{what} on driver {wish.driver}" if wish.driver else what
