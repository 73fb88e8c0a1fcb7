"""The checks, in the order they are run.

Each module has ``NAME``; ``NEEDS``, dotted names that the subject must have, else the check is `not run`; and
``run(subject)``, which gives findings with numbers and whose exceptions are failures.
"""

from __future__ import annotations

from . import autograd, config, import_identity, linear, matmul, numpy_interop, svd

__all__ = ["CHECKS"]

CHECKS = (import_identity, config, matmul, svd, autograd, linear, numpy_interop)
