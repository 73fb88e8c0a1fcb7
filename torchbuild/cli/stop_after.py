"""What ``--stop-after`` takes: a span of time."""

from __future__ import annotations

import click

from torchbuild.errors import UsageError
from torchbuild.model.duration import DURATION_WORDS, seconds_of

__all__ = ["Duration"]


class Duration(click.ParamType[int]):
    """``3h``, ``90m``, ``1h30m``: seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ARG002
        """Seconds.

        Raises:
            UsageError: ``duration-invalid``.
        """
        if isinstance(value, int):
            return value
        try:
            return seconds_of(str(value))
        except ValueError as error:
            raise UsageError(
                "duration-invalid",
                f"--stop-after {str(value)[:100]!r} is no time",
                why=f"wanted {DURATION_WORDS}",
                fix="Give hours, minutes or seconds with their letter.",
            ) from error
