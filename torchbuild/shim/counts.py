"""Counts of several runs in one stage: a front end may call ninja more than once."""

from typing import Any

__all__ = ["together"]


def together(one: Any, other: Any) -> Any:
    """Numbers added, tables by their keys; of anything else the later counts."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = {**one, **other}
        return {
            name: together(one[name], other[name]) if name in one and name in other else both[name]
            for name in both
        }
    return one + other if isinstance(one, int) and isinstance(other, int) else other
