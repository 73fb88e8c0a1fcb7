"""The user's own facts, laid over ours for as long as a command runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click

    from torchbuild.knowledge.fact import Overlay
    from torchbuild.model.lock import Lock

__all__ = ["VARIABLE", "facts_differ", "facts_folder", "user_facts", "with_user_facts"]

VARIABLE = "TORCHBUILD_KNOWLEDGE"
"""Names the folder, for who keeps it elsewhere."""
_TELLING = ("doctor", "init")
"""Commands whose answers rest on facts and leave no lock that would record them."""


def facts_folder() -> Path:
    """Where the user's own facts lie: TORCHBUILD_KNOWLEDGE, else `knowledge` in our configuration folder."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).absolute()
    from platformdirs import user_config_path  # noqa: PLC0415  help must not pay for it

    return user_config_path("torchbuild") / "knowledge"


@contextmanager
def user_facts() -> Iterator[None]:
    """Within it, every fact is the user's where they have one. Without a folder it costs a look for it.

    Raises:
        RecipeError: ``facts-invalid`` with every problem; ``facts-contradict``.
        UsageError: ``facts-folder-missing``.
        HostError: ``facts-unreadable``.
    """
    from torchbuild.edges.user_facts import user_facts_texts  # noqa: PLC0415  as above

    folder = facts_folder()
    texts = user_facts_texts(folder, must_exist=bool(os.environ.get(VARIABLE)))
    if not texts:
        yield
        return
    from torchbuild.knowledge.fact import using  # noqa: PLC0415  only who has such facts waits for pydantic here
    from torchbuild.knowledge.overlay import read_overlay  # noqa: PLC0415
    from torchbuild.resolve.lines import key_lines  # noqa: PLC0415

    wanted = read_overlay(texts, key_lines, str(folder))
    with using(wanted):
        _check(wanted, folder)
        yield


def _check(laid: Overlay, folder: Path) -> None:
    """The user's rows agree with what they stand beside."""
    from torchbuild.errors import RecipeError  # noqa: PLC0415  as above
    from torchbuild.knowledge.invariants import broken_by  # noqa: PLC0415

    broken = broken_by(laid)
    if broken:
        raise RecipeError(
            "facts-contradict",
            f"your own facts in {folder} contradict others",
            why=broken,
            fix="Correct the rows that are named first, or add the rows that they need.",
        )


def with_user_facts(command: click.Command) -> click.Command:
    """The command, run with the user's facts. Its help is there however wrong these are."""
    run: Callable[..., Any] | None = command.callback
    if run is None:
        return command

    @wraps(run)
    def laid(*args: Any, **named: Any) -> Any:  # noqa: ANN401  whatever the command takes and gives
        with user_facts():
            if command.name in _TELLING:
                _tell()
            return run(*args, **named)

    found = copy(command)
    found.callback = laid
    return found


def _tell() -> None:
    """Each row of the user's, on stderr."""
    facts = sys.modules.get("torchbuild.knowledge.fact")  # not loaded: nobody laid anything
    for line in facts.overlay().lines() if facts is not None else ():
        sys.stderr.write(f"facts of yours: {line}\n")


def facts_differ(lock: Lock) -> tuple[str, ...]:
    """How the facts of now are not those that the lock was made with, a line each; nothing where they are.

    No reason to refuse it: a lock is the exact inputs, and facts had their say when it was made. But what
    this machine would answer now may be something else.
    """
    from torchbuild.knowledge.fact import overlay  # noqa: PLC0415  as above

    now = overlay().changes
    gone = (f"locked with {line}; here it is not so" for line in lock.facts if line not in now)
    new = (f"locked without {line}; here it is so" for line in now if line not in lock.facts)
    return (*gone, *new)
