"""What a recipe must be beyond types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import Problem, RecipeError
from torchbuild.model.recipe import Recipe

Load = Callable[..., Recipe]
Only = Callable[..., Problem]

HEAD = 'schema = 1\nname = "sample"\n'
WHEEL = '[wheel]\nversion = "1.0"\n'
DIGEST = "ab" * 32
NO_CREDENTIALS = "an address without credentials: it goes into the lock; put them into ~/.netrc"


@pytest.mark.parametrize(
    ("source", "path", "wanted"),
    [
        ("", "source", "exactly one of git, archive, path"),
        ("git = 'g'\nref = 'r'\npath = 'p'", "source", "exactly one of git, archive, path"),
        ("git = 'g'", "source.ref", "a tag, branch or commit: git is given"),
        ("git = 'g'\nref = ''", "source.ref", "a tag, branch or commit: git is given"),
        ("path = 'p'\nepoch = 1738108800\nref = 'v1'", "source.ref", "no ref without git"),
        ("path = 'p'", "source.epoch", "seconds since 1970: an archive or a path has no commit to take the time from"),
        ("archive = 'a.tar'\nepoch = 1738108800", "source.sha256", "the digest of a.tar"),
        ("archive = 'https://x/a'\nepoch = 1738108800", "source.sha256", "the digest of https://x/a"),
        ("archive = ''\nepoch = 1738108800", "source.archive", "a locator or a path"),
        (f"archive = 'https://bob:s3cret@x/a'\nsha256 = '{DIGEST}'\nepoch = 1738108800", "source.archive", NO_CREDENTIALS),
        (f"archive = 'https://x/a?token=s3cret'\nsha256 = '{DIGEST}'\nepoch = 1738108800", "source.archive", NO_CREDENTIALS),
        (f"git = 'g'\nref = 'r'\nsha256 = '{DIGEST}'", "source.sha256", "no digest without an archive"),
        ("git = 'g'\nref = 'r'\n[source.series]\narchive = 'x.tar'", "source.series.sha256", "the digest of x.tar"),
        ("git = 'g'\nref = 'r'\n[source.series]\narchive = 'debian:a/b/c'\npath = '../x'", "source.series.path", "a directory inside the archive"),
        ("git = 'g'\nref = 'r'\n[source.series]\narchive = 'debian:a/b/c'\npath = '/etc'", "source.series.path", "a directory inside the archive"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = 'a'", "source.overlay[0]", "exactly one of archive, path"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = 'a'\npath = '/a'\narchive = 'debian:a/b/c'", "source.overlay[0]", "exactly one of archive, path"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = 'a'\npath = 'a'", "source.overlay[0].path", "an absolute directory of the builder image"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = 'a'\npath = '/a'\nonly = 'b'", "source.overlay[0]", "only and strip belong to archives"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = 'a'\npath = '/a'\nstrip = 1", "source.overlay[0]", "only and strip belong to archives"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = '../a'\npath = '/a'", "source.overlay[0].to", "a directory inside the tree"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = '/etc'\npath = '/a'", "source.overlay[0].to", "a directory inside the tree"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = 'a'\narchive = 'debian:a/b/c'\nonly = 'x/../..'", "source.overlay[0].only", "a directory inside the archive"),
        ("git = 'g'\nref = 'r'\n[[source.overlay]]\nto = 'a'\narchive = 'pypi:a/b'", "source.overlay[0].sha256", "the digest of pypi:a/b"),
        ("git = 'g'\nref = 'r'\n[[source.prepare]]\nargv = ['x']\ncwd = 'a/../..'", "source.prepare[0].cwd", "a directory inside the tree"),
    ],
)  # fmt: skip
def test_a_source_is_one_source_and_stays_inside(problem: Only, source: str, path: str, wanted: str) -> None:
    """A source is exactly one thing, pinned, and lays nothing outside of its own tree."""
    found = problem(f"{HEAD}[source]\n{source}\n{WHEEL}")

    assert (found.path, found.wanted) == (path, wanted)


@pytest.mark.parametrize(
    "source",
    [
        "git = 'g'\nref = 'r'",
        "path = '.'\nepoch = 1738108800",
        f"archive = 'a.tar'\nsha256 = '{DIGEST}'\nepoch = 1738108800",
        "archive = 'debian:trixie/a/a.tar.xz'\nepoch = 1738108800",
        f"archive = 'http://[x'\nsha256 = '{DIGEST}'\nepoch = 1738108800",
        "git = 'g'\nref = 'r'\n[source.series]\nexclude = ['x']",
        "git = 'g'\nref = 'r'\n[[source.overlay]]\nto = '.'\npath = '/usr/src/../src/a'",
    ],
)
def test_a_source_that_is_pinned_is_fine(load: Load, source: str) -> None:
    """Publishers that tell a digest need none in the recipe; commits have one of their own."""
    assert load(f"{HEAD}[source]\n{source}\n{WHEEL}").name == "sample"


@pytest.mark.parametrize(
    ("table", "path", "wanted"),
    [
        ("[python]\nfrom = 'uv'", "python.version", 'a version such as 3.13: from = "uv"'),
        ("[python]\nfrom = 'path'", "python.path", 'an absolute path: from = "path"'),
        ("[python]\nfrom = 'path'\npath = 'python3'", "python.path", 'an absolute path: from = "path"'),
        ("[python]\npath = '/usr/bin/python3'", "python.path", 'no path unless from = "path"'),
        ("[image]\nname = 'x'", "python.version", "a version such as 3.13: the interpreter is the image's"),
        ("[verify]\nlevel = 'static'\npackages = ['numpy']", "verify.packages", "none: level static runs nothing"),
        ("[machine]\nexecutor = 'container'", "machine.executor", "a recipe with an [image] table for that"),
        ("[toolchain]\ncmake = '3.18'", "toolchain.cmake", "bounds such as >=3.18,<4"),
        ("[toolchain]\nninja = '>=1.13; x'", "toolchain.ninja", "bounds such as >=3.18,<4"),
        ("[blas]\nprovider = 'generic'\npath = '/opt'", "blas.path", 'no path unless from = "path"'),
        ("[build]\nrequires = ['numpy>=2', 'not a requirement']", "build.requires[1]", "a PEP 508 requirement without an address, such as numpy>=2,<3"),
        ("[build]\nrequires = ['-r /etc/passwd']", "build.requires[0]", "a PEP 508 requirement without an address, such as numpy>=2,<3"),
        ("[build]\nrequires = ['a @ https://x/a.whl']", "build.requires[0]", "a PEP 508 requirement without an address, such as numpy>=2,<3"),
        ("[verify]\npackages = ['']", "verify.packages[0]", "a PEP 508 requirement without an address, such as numpy>=2,<3"),
    ],
)  # fmt: skip
def test_keys_that_go_together_go_together(
    problem: Only, least: str, table: str, path: str, wanted: str
) -> None:
    """A key that would be ignored, or that cannot mean anything, is told before anything is done."""
    found = problem(least + table)

    assert (found.path, found.wanted) == (path, wanted)


@pytest.mark.parametrize(
    ("wheel", "path", "wanted"),
    [
        ("version = 'two'", "wheel.version", "a PEP 440 version such as 2.6.0"),
        ("version = ''", "wheel.version", "a PEP 440 version such as 2.6.0"),
        ("version = '2.6.0+cpu'", "wheel.version", 'no local label here: set wheel.local = "cpu"'),
        ("version = '2.6.0-rc1'", "wheel.version", "its canonical form 2.6.0rc1: the wheel's file is called that"),
        ("version = 'v2.6'", "wheel.version", "its canonical form 2.6: the wheel's file is called that"),
        ("version = '2.06'", "wheel.version", "its canonical form 2.6: the wheel's file is called that"),
        ("version = '2.6'\nlocal = '007'", "wheel.local", "its canonical form 7"),
        ("version = '2.6'\nrequires = ['x y']", "wheel.requires[0]", "a PEP 508 requirement without an address, such as numpy>=2,<3"),
    ],
)  # fmt: skip
def test_a_version_is_written_as_the_wheel_will_have_it(
    problem: Only, wheel: str, path: str, wanted: str
) -> None:
    """A version that packaging would rewrite is refused: after an hour the wheel would be called otherwise."""
    found = problem(f"{HEAD}[source]\ngit = 'g'\nref = 'r'\n[wheel]\n{wheel}\n")

    assert (found.path, found.wanted) == (path, wanted)


@pytest.mark.parametrize(
    "version", ["2.6.0", "2.6.0rc1", "2.6.0.dev20250101", "1!2.0", "2.6.0.post1", "2.6.0a0"]
)
def test_canonical_versions_are_fine(load: Load, version: str) -> None:
    """Releases, previews and nightly versions can be built."""
    recipe = load(
        f"{HEAD}[source]\ngit = 'g'\nref = 'r'\n[wheel]\nversion = '{version}'\nlocal = 'cu124.x'\n"
    )

    assert recipe.wheel.version == version


def test_all_broken_rules_come_at_once(refused: Callable[..., RecipeError]) -> None:
    """Rules are checked together, as types are, each with the line of its key or table."""
    text = f"""\
{HEAD}
[source]
path = "p"
[[source.overlay]]
to = "../x"
path = "y"
[wheel]
version = "v1"
[build]
requires = ["?"]
"""

    error = refused(text)

    assert error.reference == "recipe-invalid"
    assert [(item.path, item.line) for item in error.problems] == [
        ("source.epoch", 4),
        ("source.overlay[0].path", 8),
        ("source.overlay[0].to", 7),
        ("wheel.version", 10),
        ("build.requires[0]", 12),
    ]
