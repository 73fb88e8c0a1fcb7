"""What a build may go on in spite of, when somebody says so by name."""

from __future__ import annotations

from torchbuild.knowledge.references import references

__all__ = ["overridable"]

_HERE = (
    "build-program-bounds", "compiler-cache-pair",
    "disk-files", "disk-noexec", "disk-not-writable", "disk-space",
    "engine-answers", "engine-without-gpus",
    "git-here", "gpu-code-for-gpu", "headers-of-builder", "host-compiler", "installer-log-in-the-way",
    "installer-space", "interpreter-headers", "interpreter-of-recipe", "library-below-floor",
    "library-for-other-cuda", "library-without-chip", "machine-family", "memory-for-jobs",
    "nvcc-architectures", "nvcc-of-recipe", "source-directory", "source-stale-cache", "source-submodules",
    "verify-without-gpu",
)  # fmt: skip
_OF_FACTS = "conflict"


def overridable() -> tuple[str, ...]:
    """References, sorted: preflights that can fail, and conflicts of the facts.

    Not among them is what locking and the toolchain's proof refuse under the same name whatever one says: a
    provider without what is asked of it, a library that is not what it should be.
    """
    conflicts = (name for name, row in references().items() if row.family == _OF_FACTS)
    return tuple(sorted((*_HERE, *conflicts)))
