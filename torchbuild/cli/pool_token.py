"""The token of a pool's scheduler: out of the environment, into the workspace while the build runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from torchbuild.cli.secret_files import secret_file
from torchbuild.errors import UsageError
from torchbuild.model.recipe import Machine
from torchbuild.shim.pool_engines import TOKEN

__all__ = ["pool_token", "token_laid"]


def pool_token(machine: Machine, environ: Mapping[str, str]) -> str:
    """What its scheduler asks for; empty where it asks for nothing.

    Args:
        machine: the recipe's machine table, which names a variable.
        environ: variables.

    Raises:
        UsageError: ``pool-token-invalid``.
    """
    named = machine.distribute.token if machine.distribute is not None else ""
    if not named:
        return ""
    token = environ.get(named[2:-1], "")
    if not token or not all("!" <= sign <= "~" for sign in token):
        raise UsageError(
            "pool-token-invalid",
            "the token of machine.distribute cannot be sent to a scheduler",
            why=(
                f"seen {named}, which {'holds other signs' if token else 'is not set or empty'}",
                "wanted a variable with letters, digits and signs of ASCII, and no blanks",
            ),
            fix=f"Set {named[2:-1]} to the token that the scheduler's client_auth names.",
        )
    return token


def token_laid(token: str, root: Path) -> AbstractContextManager[None]:
    """Lay it where the shim looks for it, as long as the build runs.

    Args:
        token: empty for none.
        root: the directory that the build sees at the fixed path.
    """
    return secret_file(root / TOKEN, token)
