"""Paths of a recipe are relative to the file in which they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.model.recipe import Recipe
from torchbuild.resolve.beside import folders_of, is_elsewhere, local_paths, rebased

Load = Callable[..., Recipe]

DIGEST = "ab" * 32
HEAD = 'schema = 1\nname = "sample"\n[wheel]\nversion = "1.0"\n'
TOP = 'schema = 1\nname = "top"\nextends = "base/cpu.toml"\n[wheel]\nversion = "1.0"\n'
GIT = '[source]\ngit = "https://example.org/a.git"\nref = "v1"\n'


@pytest.mark.parametrize(
    ("base", "found"),
    [
        (GIT + 'patches = ["a.patch", "../b.patch", "sub/c.patch"]', ("base/a.patch", "b.patch", "base/sub/c.patch")),
        (GIT + 'patches = ["/abs.patch"]', ("/abs.patch",)),
        ('[source]\npath = "."\nepoch = 1738108800', "base"),
        ('[source]\npath = "../tree"\nepoch = 1738108800', "tree"),
        (f'[source]\narchive = "a.tar"\nsha256 = "{DIGEST}"\nepoch = 1738108800', "base/a.tar"),
        ('[source]\narchive = "debian:a/b/c"\nepoch = 1738108800', "debian:a/b/c"),
        (f'[source]\narchive = "https://x/a"\nsha256 = "{DIGEST}"\nepoch = 1738108800', "https://x/a"),
        (GIT + "[source.series]\nexclude = ['x']", "base/debian/patches"),
        (GIT + "[source.series]\npath = 'p'", "base/p"),
        (GIT + "[source.series]\npath = 'p'\narchive = 'debian:a/b/c'", "p"),
        (GIT + f"[[source.overlay]]\nto = 'a'\narchive = 'o.zip'\nsha256 = '{DIGEST}'", "base/o.zip"),
        (GIT + "[[source.overlay]]\nto = 'a'\npath = '/usr/src'", "/usr/src"),
    ],
)  # fmt: skip
def test_what_a_base_names_lies_beside_the_base(load: Load, base: str, found: object) -> None:
    """A base can be used from anywhere: its patches, archives, trees, series and overlays come with it."""
    source = load({"recipe.toml": TOP, "base/cpu.toml": base}).source
    overlays = [item.archive or item.path for item in source.overlay]
    series = source.series.path if source.series is not None else None

    seen = source.patches or source.path or source.archive or series or overlays[0]

    assert seen == found


def test_each_file_of_a_chain_has_its_own_folder(load: Load) -> None:
    """What the top says is beside the top, even where it refines a table of the base."""
    files = {
        "recipe.toml": TOP + "[source.series]\nexclude = ['x']\n[source]\npatches = ['top.patch']\n",
        "base/cpu.toml": 'extends = "../common/all.toml"\n[source]\npatches = ["mid.patch"]\n',
        "common/all.toml": GIT + "patches = ['low.patch']\n[source.series]\n",
    }

    source = load(files).source

    assert source.patches == ("top.patch",)
    assert source.series is not None
    assert source.series.path == "common/debian/patches"


def test_the_path_of_a_series_in_an_archive_is_the_archives(load: Load) -> None:
    """An archive that a base names, and the place in it that another file names, belong together."""
    files = {
        "recipe.toml": TOP,
        "base/cpu.toml": 'extends = "all.toml"\n[source.series]\npath = "in/it"\n',
        "base/all.toml": GIT + "[source.series]\narchive = 'debian:a/b/c'\n",
    }

    series = load(files).source.series

    assert series is not None
    assert series.path == "in/it"


def test_the_command_line_speaks_of_the_recipe_that_it_names(load: Load) -> None:
    """--set replaces what a base says, relative to the recipe on the command line."""
    files = {
        "recipe.toml": TOP,
        "base/cpu.toml": GIT + "patches = ['a.patch']\n[source.series]\npath = 'p'\n",
    }

    source = load(files, "source.patches=['b.patch']", "source.series.path='q'").source

    assert source.patches == ("b.patch",)
    assert source.series is not None
    assert source.series.path == "q"


@pytest.mark.parametrize(
    ("archive", "elsewhere"),
    [
        ("a.tar", False),
        ("../a.tar", False),
        ("https://x/a", True),
        ("debian:a/b/c", True),
        ("pypi:a/b", True),
    ],
)
def test_locators_are_no_paths(archive: str, elsewhere: bool) -> None:
    """What has an address of its own is the same from every folder."""
    assert is_elsewhere(archive) is elsewhere


def test_companions_have_paths_as_well() -> None:
    """A source is a source, in a list of companions and in a table of them."""
    source = {"path": "tree"}
    for companions in ([{"source": source}], {"vision": {"source": source}}):
        table: dict[str, Any] = {"companions": companions}

        found = rebased(table, folders_of(table, "base", {}))["companions"]

        assert next(iter(found if isinstance(found, list) else found.values()))["source"] == {
            "path": "base/tree"
        }
    assert source == {"path": "tree"}


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["source", "path", "archive", "patches", "overlay", "series", "companions", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["source", "companions", "x"]), VALUE))
def test_whatever_stands_there_is_left_to_the_model_to_refuse(table: dict[str, Any]) -> None:
    """A table of any shape passes, unchanged where the file is the one that was asked for."""
    before = repr(table)

    assert rebased(table, folders_of(table, ".", {})) == table
    rebased(table, folders_of(table, "base", {}))

    assert repr(table) == before


def test_paths_beside_the_recipe_are_known(load: Load) -> None:
    """Each file that a recipe means beside itself is listed, so that none can be read from anywhere else."""
    recipe = load(f"""\
{HEAD}
[source]
archive = "tree.tar"
sha256 = "{DIGEST}"
epoch = 1738108800
patches = ["patches/a.patch", "https://../../etc/passwd", "debian:../../etc/passwd"]
[source.series]
path = "series"
[[source.overlay]]
archive = "o.zip"
sha256 = "{DIGEST}"
to = "a"
[[source.overlay]]
archive = "https://example.org/o.zip"
sha256 = "{DIGEST}"
to = "b"
[[source.overlay]]
path = "/usr/src"
to = "c"
""")

    assert dict(local_paths(recipe)) == {
        "source.archive": "tree.tar",
        "source.patches[0]": "patches/a.patch",
        "source.patches[1]": "https://../../etc/passwd",
        "source.patches[2]": "debian:../../etc/passwd",
        "source.overlay[0].archive": "o.zip",
        "source.series.path": "series",
    }


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ("git = '/srv/git/x'\nref = 'v1'", {}),
        ("path = '../tree'\nepoch = 1738108800", {"source.path": "../tree"}),
        ("path = 'x://../../tree'\nepoch = 1738108800", {"source.path": "x://../../tree"}),
        ("archive = 'debian:a/b/c'\nepoch = 1738108800", {}),
        ("git = 'g'\nref = 'v1'\n[source.series]\narchive = 'debian:a/b/c'", {}),
        (
            f"git = 'g'\nref = 'v1'\n[source.series]\narchive = 's.tar'\nsha256 = '{DIGEST}'",
            {"source.series.archive": "s.tar"},
        ),
    ],
)  # fmt: skip
def test_locators_and_repositories_are_no_files(load: Load, source: str, paths: dict[str, str]) -> None:
    """What lies elsewhere is not taken for a file beside the recipe, and no disguise makes a file one that does."""
    assert dict(local_paths(load(f"{HEAD}[source]\n{source}"))) == paths
