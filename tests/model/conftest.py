"""A lock and its parts, as values that a test changes in one place."""

from __future__ import annotations

from typing import Any

import pytest

DIGEST = "ab" * 32
COMMIT = "cd" * 20


@pytest.fixture
def digest() -> str:
    """A digest that is well formed."""
    return DIGEST


@pytest.fixture
def lock_table() -> dict[str, Any]:
    """A whole lock of a git source, as JSON-like values."""
    wheel = {"locator": "pypi:pip/pip-26.3-py3-none-any.whl", "sha256": DIGEST, "size": 1}
    return {
        "schema": 1,
        "name": "sample",
        "recipe": DIGEST,
        "machine": "x86_64",
        "glibc": "2.36",
        "epoch": 1_700_000_000,
        "era": "setup-py",
        "source": {
            "kind": "git",
            "url": "https://example.org/sample.git",
            "ref": "v1",
            "commit": COMMIT,
            "submodules": ({"path": "third_party/a", "url": "https://example.org/a.git", "commit": COMMIT},),
        },
        "python": {"executable": "/usr/bin/python3.13", "version": "3.13.5", "soabi": "x", "tag": "cp313"},
        "cc": "/usr/bin/gcc",
        "cxx": "/usr/bin/g++",
        "compiler": "g++ 14",
        "compiler_cache": "none",
        "environ": {},
        "defines": {},
        "expect": ({"reference": "gate-flag", "key": "USE_A", "kind": "switch", "value": "ON", "why": "x"},),
        "build_requires": (wheel,),
        "run_requires": (),
        "verify_requires": (),
        "wheel": {
            "package": "sample",
            "version": "1.0+demo",
            "public_version": "1.0",
            "build_number": 1,
            "requires": None,
            "system_libraries": (),
            "runtime": "builder",
        },
        "verify": {"level": "cpu", "require": (), "settings": {}},
    }
