"""What ``--despite`` takes: what a build may go on in spite of, by name."""

from __future__ import annotations

import click

from torchbuild.errors import UsageError

__all__ = ["OPEN_NETWORK", "Despite"]

OPEN_NETWORK = "open-network"
_NEAREST = 3


class Despite(click.ParamType[str]):
    """``open-network``, or a reference of a preflight that may be overridden."""

    name = "what"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """The name itself.

        Raises:
            UsageError: ``despite-unknown``.
        """
        from torchbuild.preflight.overridable import overridable  # noqa: PLC0415  help must not pay for it

        text = str(value)
        known = (OPEN_NETWORK, *overridable())
        if text in known:
            return text
        raise _unknown(text, known)


def _unknown(text: str, known: tuple[str, ...]) -> UsageError:
    from difflib import get_close_matches  # noqa: PLC0415  only where somebody mistyped

    near = get_close_matches(text, known, n=_NEAREST)
    return UsageError(
        "despite-unknown",
        f"--despite {text[:100]!r} is nothing that a build can go on in spite of",
        why=f"wanted {OPEN_NETWORK}, or the reference of a look before the build, such as {known[1]}",
        fix=f"Try {' or '.join(near)}." if near else "Give a reference that `torchbuild doctor` shows.",
    )
