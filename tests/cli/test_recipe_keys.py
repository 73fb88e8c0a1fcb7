"""The keys of a recipe, as its model documents them."""

from __future__ import annotations

import pytest

from torchbuild.cli.recipe_keys import all_keys, key_doc


@pytest.mark.parametrize("key", all_keys())
def test_every_key_is_documented(key: str) -> None:
    """No key of a recipe is without a sentence that says what it is for."""
    doc = key_doc(key)

    assert doc is not None
    assert doc.text.endswith(".")
    assert doc.kind
    assert doc.default


@pytest.mark.parametrize(
    ("asked", "key", "kind", "default"),
    [
        ("schema", "schema", "1", "required"),
        ("target.machine", "target.machine", 'one of "x86_64", "aarch64"', '"x86_64"'),
        ("source.overlay.to", "source.overlay.to", "text", "required"),
        ("source.overlay[2].strip", "source.overlay.strip", "whole number", "0"),
        ("source.overlay[].to", "source.overlay.to", "text", "required"),
        ("source.patches", "source.patches", "list, each text", "[]"),
        (
            "build.flags.USE_CUDA",
            "build.flags",
            "table of names, each true or false or whole number or text",
            "{}",
        ),
        ("python.from", "python.from", 'one of "uv", "system", "path"', '"system"'),
        ("cuda", "cuda", "table", "none"),
        ("machine.memory_gib", "machine.memory_gib", "number", "none"),
        ("machine.store_max", "machine.store_max", "size, such as 20 GiB", "none"),
        ("machine.disk_floor", "machine.disk_floor", "size, such as 20 GiB", '"2 GiB"'),
    ],
)
def test_a_key_says_what_may_stand_there(asked: str, key: str, kind: str, default: str) -> None:
    """Types and defaults are told in the recipe's own terms; list indexes do not matter."""
    doc = key_doc(asked)

    assert doc is not None
    assert (doc.key, doc.kind, doc.default) == (key, kind, default)


@pytest.mark.parametrize(
    "key", ["", "x", "source.x", "name.x", "build.flags.A.B", "source..git", "python.source", ".", "[1]"]
)
def test_what_is_no_key_is_none(key: str) -> None:
    """A name of Python's own, a misspelt one or nonsense is not taken for a key."""
    assert key_doc(key) is None


def test_a_table_names_its_keys() -> None:
    """From a table one finds the way down."""
    doc = key_doc("blas")

    assert doc is not None
    assert doc.keys == ("blas.provider", "blas.from", "blas.version", "blas.path")
