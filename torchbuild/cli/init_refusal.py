"""What ``torchbuild init`` says where nothing can be built: the facts, and the lines of what could."""

from __future__ import annotations

from typing import Any

from torchbuild.advice.answer import Advice, Way
from torchbuild.advice.of_recipe import WISH_KEYS
from torchbuild.advice.said import conflicts_lines, init_command
from torchbuild.advice.wish import Wish
from torchbuild.cli.init_wish import Asked
from torchbuild.errors import ConflictError
from torchbuild.report.errors_text import error_json

__all__ = ["command_of", "refusal_json", "refused_wish"]


def command_of(wish: Wish, asked: Asked, *, with_out: bool = True) -> str:
    """The command line that asks for a wish, with what else was asked.

    Args:
        wish: what is asked for.
        asked: the options.
        with_out: whether the file is named too.
    """
    found = (("--like", asked.like), ("--name", asked.name), ("--out", asked.out if with_out else ""))
    words = [word for option, value in found if value for word in (option, value)]
    for text in asked.sets:
        if text.partition("=")[0].strip() not in WISH_KEYS:  # which the wish says already
            words += ["--set", text]
    return init_command(wish, more=tuple(words))


def refused_wish(advice: Advice, asked: Asked) -> ConflictError:
    """That nothing can be, with the facts, and the command line of each way out."""
    lines = tuple(conflicts_lines(advice.conflicts))
    fixes = tuple(dict.fromkeys(conflict.fix for conflict in advice.conflicts))
    ways = [f"  {command_of(way.wish, asked)}\n    # {way.what}" for way in advice.ways]
    return ConflictError(
        "wish-impossible",
        f"no torch {advice.wish.torch} can be built for {_target(advice.wish)}",
        why=lines,
        fix="\n".join(("Take one of these:", *ways) if ways else fixes),
    )


def refusal_json(advice: Advice, asked: Asked) -> dict[str, Any]:
    """The same for a program: the error, the conflicts with their facts, the ways with their choices."""
    value = advice.model_dump(mode="json", include={"wish", "conflicts", "unconfirmed"})
    ways = [_way(way, asked) for way in advice.ways]
    return {"error": error_json(refused_wish(advice, asked)), **value, "ways": ways}


def _way(way: Way, asked: Asked) -> dict[str, Any]:
    choices = {item.key: item.value for item in way.choices}
    return {"what": way.what, "command": command_of(way.wish, asked), "choices": choices}


def _target(wish: Wish) -> str:
    what = ", ".join(wish.gpus) or ", ".join(wish.archs) or "the CPU"
    return f"{what} on driver {wish.driver}" if wish.driver else what
