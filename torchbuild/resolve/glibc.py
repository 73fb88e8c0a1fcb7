"""Which C library the wheel's own requirements may need: the target's, not the builder's."""

from __future__ import annotations

from packaging.version import Version

__all__ = ["run_time_glibc"]


def run_time_glibc(target: str | None, builder: str) -> str:
    """The newest C library that may be asked of a run-time requirement, such as ``2.28``.

    What the wheel requires must be installable wherever the wheel is: on the target, and on the builder,
    where it is verified. So the older of the two counts.

    Args:
        target: ``target.glibc``; None: no promise is made beyond the builder's own.
        builder: the builder's.
    """
    return builder if target is None else min(target, builder, key=Version)
