"""What a recipe may require: the names of all that the checks look at, without their ``smoke-``."""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES = (
    "autograd",
    "config",
    "git-version",
    "import-identity",
    "libraries",
    "linear",
    "matmul",
    "numpy-interop",
    "parallel-info",
    "svd",
    "version",
)
"""Sorted. Written down and not gathered: a recipe is read without loading a single check."""
