"""What a source says of itself when it is locked."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from torchbuild.cli.locking import world
from torchbuild.cli.main import run_main
from torchbuild.cli.places import places
from torchbuild.cli.recipe_files import read_recipe
from torchbuild.cli.source_answers import SourceAnswer, SourceReader, series_names
from torchbuild.edges.atomic import sha256_of
from torchbuild.edges.web import Web
from torchbuild.errors import RecipeError, TorchbuildError

SERIES = "# patches of Debian\nfirst.patch\n\nsecond.patch -p1  # upstream\n  third.patch\n"


def test_a_series_is_read_in_order() -> None:
    """Comments and empty lines are nobody's patches."""
    assert series_names(SERIES, ()) == ("first.patch", "second.patch", "third.patch")


def test_excluded_patches_are_left_out() -> None:
    """The recipe decides what of a distribution's patches it wants."""
    assert series_names(SERIES, ("second.patch",)) == ("first.patch", "third.patch")


def test_a_patch_that_is_excluded_and_not_there_is_said() -> None:
    """A series that was renumbered does not silently apply what nobody wants."""
    with pytest.raises(RecipeError) as caught:
        series_names(SERIES, ("sceond.patch",))

    assert caught.value.reference == "series-exclude-unknown"


def test_a_patch_with_other_options_is_said() -> None:
    """What would be applied in another way than asked is not applied at all."""
    with pytest.raises(RecipeError) as caught:
        series_names("odd.patch -p0\n", ())

    assert caught.value.reference == "series-option-unknown"


# --- reading, from real repositories, archives and folders --------------------------------------------------


def git(*argv: str, cwd: Path) -> str:
    """Run git as nobody in particular."""
    who = {
        f"GIT_{role}_{key}": "x@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
    }
    when = {f"GIT_{role}_DATE": "2024-05-06T07:08:09+00:00" for role in ("AUTHOR", "COMMITTER")}
    environ = os.environ | who | when | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(
        ["git", *argv], cwd=cwd, env=environ, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(machine: Path) -> Path:
    """A repository with one commit, tagged v1."""
    path = machine / "tree.git"
    path.mkdir()
    git("init", "--quiet", "--template=", cwd=path)
    (path / "pyproject.toml").write_text("[build-system]\nrequires = []\n", encoding="utf-8")
    git("add", ".", cwd=path)
    git("commit", "--quiet", "--message=one", cwd=path)
    git("tag", "v1", cwd=path)
    return path


def packed(path: Path, files: dict[str, str]) -> str:
    """An archive; its digest."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(recipe: Path, source: str, *, allowed: tuple[Path, ...] = ()) -> SourceAnswer:
    """What is locked of this source."""
    recipe.write_text(
        f'schema = 1\nname = "small"\n[wheel]\npackage = "small"\nversion = "1.0"\n{source}', encoding="utf-8"
    )
    wanted = read_recipe(recipe, allowed=allowed)
    return SourceReader(world(wanted, places(), recipe.parent, allowed)).read(wanted)


def error_of(recipe: Path, source: str) -> TorchbuildError:
    """The error with which reading ends."""
    with pytest.raises(TorchbuildError) as caught:
        read(recipe, source)
    return caught.value


def refused(recipe: Path, source: str) -> str:
    """The reference with which reading ends."""
    return error_of(recipe, source).reference


PATH = '[source]\npath = "tree"\nepoch = 1700000000\n'


@pytest.fixture
def tree(recipe: Path) -> Path:
    """A tree beside the recipe."""
    path = recipe.parent / "tree"
    path.mkdir()
    (path / "pyproject.toml").write_text("[build-system]\n", encoding="utf-8")
    return path


def test_a_ref_becomes_a_commit_and_its_time(recipe: Path, repository: Path) -> None:
    """What counts from here on is the commit; the front end is read at it."""
    found = read(recipe, f'[source]\ngit = "{repository}"\nref = "v1"\n')

    assert found.source.commit == git("rev-parse", "HEAD", cwd=repository)
    assert found.epoch == 1714979289
    assert found.pyproject == b"[build-system]\nrequires = []\n"


def test_a_time_of_the_recipe_wins(recipe: Path, repository: Path) -> None:
    """A build can be made to agree with another one's clock."""
    found = read(recipe, f'[source]\ngit = "{repository}"\nref = "v1"\nepoch = 1700000000\n')

    assert found.epoch == 1700000000


def test_an_archive_is_taken_into_the_store(recipe: Path) -> None:
    """With its size; the front end is read out of it."""
    digest = packed(recipe.parent / "a.tar.gz", {"top/pyproject.toml": "[project]\n"})

    found = read(recipe, f'[source]\narchive = "a.tar.gz"\nsha256 = "{digest}"\nepoch = 1700000000\n')

    artifact = found.source.artifact
    assert artifact is not None
    assert (artifact.locator, artifact.size) == ("file:a.tar.gz", (recipe.parent / "a.tar.gz").stat().st_size)
    assert found.pyproject == b"[project]\n"


def test_a_folder_is_what_it_is_now(recipe: Path, tree: Path) -> None:
    """Any change is another source; its repository is not content."""
    before = read(recipe, PATH).source.tree
    (tree / ".git").mkdir()
    same = read(recipe, PATH).source.tree
    (tree / "new").touch()

    assert before == same != read(recipe, PATH).source.tree


def test_patches_and_a_series_of_the_recipe_are_locked_in_order(recipe: Path, tree: Path) -> None:
    """The series first, without what is excluded."""
    folder = recipe.parent / "patches"
    folder.mkdir()
    (folder / "series").write_text("one.patch\ntwo.patch\n", encoding="utf-8")
    for name in ("one", "two", "own"):
        (folder / f"{name}.patch").write_text(name, encoding="utf-8")

    found = read(
        recipe,
        PATH
        + 'patches = ["patches/own.patch"]\n[source.series]\npath = "patches"\nexclude = ["one.patch"]\n',
    )

    assert [(patch.name, patch.origin) for patch in found.source.patches] == [
        ("two.patch", "recipe:patches/two.patch"),
        ("own.patch", "recipe:patches/own.patch"),
    ]
    assert found.source.patches[0].sha256 == hashlib.sha256(b"two").hexdigest()


def series_of(recipe: Path, files: dict[str, str]) -> str:
    """A source with a series out of an archive."""
    digest = packed(recipe.parent / "d.tar.gz", files)
    return PATH + f'[source.series]\narchive = "d.tar.gz"\nsha256 = "{digest}"\n'


def test_a_series_out_of_an_archive_is_locked_patch_by_patch(recipe: Path, tree: Path) -> None:
    """Each has a digest of its own."""
    source = series_of(recipe, {"debian/patches/series": "a.patch\n", "debian/patches/a.patch": "a"})

    (patch,) = read(recipe, source).source.patches

    assert (patch.origin, patch.sha256) == (
        "series:debian/patches/a.patch",
        hashlib.sha256(b"a").hexdigest(),
    )


def test_a_series_that_names_what_is_not_there_is_said(recipe: Path, tree: Path) -> None:
    """Before anything is built."""
    source = series_of(recipe, {"debian/patches/series": "gone.patch\n"})

    assert refused(recipe, source) == "recipe-names-missing-file"


def test_an_archive_without_a_series_is_said(recipe: Path, tree: Path) -> None:
    """An empty list of patches is never assumed."""
    source = series_of(recipe, {"debian/patches/other": "x"})

    assert refused(recipe, source) == "recipe-names-missing-file"


@pytest.mark.parametrize(
    "source",
    [
        '[source]\npath = "gone"\nepoch = 1700000000\n',
        PATH + 'patches = ["gone.patch"]\n',
        f'[source]\narchive = "gone.tar"\nsha256 = "{"0" * 64}"\nepoch = 1700000000\n',
        PATH + '[source.series]\npath = "gone"\n',
    ],
    ids=["folder", "patch", "archive", "series"],
)
def test_what_the_recipe_names_and_is_not_there_is_said(recipe: Path, tree: Path, source: str) -> None:
    """With its key."""
    assert refused(recipe, source) == "recipe-names-missing-file"


def test_files_of_an_allowed_folder_are_locked_and_fetched(recipe: Path, tree: Path) -> None:
    """Who runs the command may open a folder beside the recipe's own, archives included."""
    other = recipe.parent.parent / "shared"
    other.mkdir()
    digest = packed(other / "a.tar.gz", {"top/x": "x"})
    overlay = (
        f'[[source.overlay]]\narchive = "../shared/a.tar.gz"\nsha256 = "{digest}"\nto = "third_party/x"\n'
    )

    found = read(recipe, PATH + overlay, allowed=(other,))

    assert found.source.overlays[0].artifact is not None
    assert found.source.overlays[0].artifact.locator == "file:../shared/a.tar.gz"


# --- what is asked of the tree ------------------------------------------------------------------------------


FIX = """\
A patch, with words about pyproject.toml before it.
--- a/setup.py
+++ b/setup.py
@@ -1 +1 @@
-old
+new
--- a/pyproject.toml
+++ b/pyproject.toml
@@ -1,2 +1,2 @@
 [build-system]
-requires = ["astunparse"]
+requires = []
"""


def test_requirements_are_those_of_the_patched_tree(recipe: Path, tree: Path) -> None:
    """What only an unpatched tree wants to be built with is not locked."""
    (tree / "pyproject.toml").write_text('[build-system]\nrequires = ["astunparse"]\n', encoding="utf-8")
    (tree / "setup.py").write_text("old\n", encoding="utf-8")
    (recipe.parent / "fix.patch").write_text(FIX, encoding="utf-8")

    found = read(recipe, PATH + 'patches = ["fix.patch"]\n')

    assert found.pyproject == b"[build-system]\nrequires = []\n"


@pytest.mark.parametrize("kind", ["git", "archive", "path"])
def test_the_tree_is_read_as_it_will_be_whatever_its_kind(recipe: Path, repository: Path, kind: str) -> None:
    """Its CMake files too, for those who must know what it can be told."""
    before = {"pyproject.toml": '[build-system]\nrequires = ["astunparse"]\n', "setup.py": "old\n"}
    before |= {"CMakeLists.txt": "project(x)\n", "cmake/a.cmake": "a\n", "notes.txt": "n\n"}
    (recipe.parent / "fix.patch").write_text(FIX, encoding="utf-8")
    for folder in (repository, recipe.parent / "tree"):
        for name, text in before.items():
            (folder / name).parent.mkdir(exist_ok=True, parents=True)
            (folder / name).write_text(text, encoding="utf-8")
    git("add", ".", cwd=repository)
    git("commit", "--quiet", "--message=two", cwd=repository)
    digest = packed(recipe.parent / "a.tar.gz", {f"top/{name}": text for name, text in before.items()})
    sources = {
        "git": f'git = "{repository}"\nref = "{git("rev-parse", "HEAD", cwd=repository)}"',
        "archive": f'archive = "a.tar.gz"\nsha256 = "{digest}"\nepoch = 1700000000',
        "path": 'path = "tree"\nepoch = 1700000000',
    }

    found = read(recipe, f'[source]\n{sources[kind]}\npatches = ["fix.patch"]\n')

    assert found.tree == {
        "CMakeLists.txt": "project(x)\n",
        "cmake/a.cmake": "a\n",
        "pyproject.toml": "[build-system]\nrequires = []\n",
    }
    assert found.unpinned == ()


def test_a_patch_that_does_not_fit_the_front_end_is_said_when_locking(recipe: Path, tree: Path) -> None:
    """Not an hour later."""
    (recipe.parent / "fix.patch").write_text(FIX, encoding="utf-8")

    error = error_of(recipe, PATH + 'patches = ["fix.patch"]\n')

    assert error.reference == "patch-does-not-apply"
    assert error.fix.endswith(f"git apply --check -p1 {recipe.parent / 'fix.patch'}")


def test_a_patch_of_an_archive_that_does_not_fit_is_one_to_leave_out(recipe: Path, tree: Path) -> None:
    """It is no file of the user's that could be changed."""
    digest = packed(
        recipe.parent / "d.tar.gz",
        {"debian/patches/series": "a/fix.patch\n", "debian/patches/a/fix.patch": FIX},
    )

    error = error_of(recipe, PATH + f'[source.series]\narchive = "d.tar.gz"\nsha256 = "{digest}"\n')

    assert error.reference == "patch-does-not-apply"
    assert error.fix.startswith("Leave a/fix.patch out with source.series.exclude")


HOSTILE = {"top/../../x": "x"}


@pytest.mark.parametrize("kind", ["source", "overlay", "series"])
def test_a_hostile_archive_is_refused_when_locking(recipe: Path, tree: Path, kind: str) -> None:
    """By what the recipe calls it, and not an hour later."""
    digest = packed(recipe.parent / "a.tar.gz", HOSTILE)
    named = f'archive = "a.tar.gz"\nsha256 = "{digest}"\n'
    sources = {
        "source": f"[source]\n{named}epoch = 1700000000\n",
        "overlay": f'{PATH}[[source.overlay]]\n{named}to = "x"\n',
        "series": f"{PATH}[source.series]\n{named}",
    }

    error = error_of(recipe, sources[kind])

    assert error.reference == "archive-unsafe-member"
    assert error.what.startswith("a.tar.gz: ")


@pytest.mark.parametrize(
    ("more", "reference"),
    [("only = 'nothing'", "archive-member-missing"), ("strip = 3", "archive-strip-too-deep")],
)
def test_an_overlay_that_lays_nothing_is_refused_when_locking(
    recipe: Path, tree: Path, more: str, reference: str
) -> None:
    """Its archive is looked through with the recipe's own settings."""
    digest = packed(recipe.parent / "a.tar.gz", {"top/x": "x"})

    assert (
        refused(
            recipe,
            f'{PATH}[[source.overlay]]\narchive = "a.tar.gz"\nsha256 = "{digest}"\nto = "x"\n{more}\n',
        )
        == reference
    )


@pytest.mark.parametrize("kind", ["source", "source.overlay[0]", "source.series"])
def test_a_digest_that_is_not_the_archives_is_the_recipes_to_correct(
    recipe: Path, tree: Path, kind: str
) -> None:
    """There is no lock yet: what differs is what the author wrote."""
    packed(recipe.parent / "a.tar.gz", {"top/x": "x"})
    named = f'archive = "a.tar.gz"\nsha256 = "{"0" * 64}"\n'
    sources = {
        "source": f"[source]\n{named}epoch = 1700000000\n",
        "source.overlay[0]": f'{PATH}[[source.overlay]]\n{named}to = "x"\n',
        "source.series": f"{PATH}[source.series]\n{named}",
    }

    error = error_of(recipe, sources[kind])

    assert error.reference == "digest-mismatch"
    assert error.fix.startswith(f"Correct {kind}.sha256")
    assert error.what == f"a.tar.gz: its bytes are not those of {kind}.sha256"


@pytest.mark.parametrize(
    ("files", "more", "is_there"),
    [
        ({"top/README": "x"}, "", False),
        ({"top/sub/setup.py": "x"}, "", False),
        ({"top/setup.py": ""}, "", True),
        ({"top/pyproject.toml": ""}, "", True),
        ({"top/README": "x"}, "[[source.prepare]]\nargv = ['make', 'setup.py']\n", True),
    ],
)
def test_whether_there_is_a_front_end_is_known(
    recipe: Path, files: dict[str, str], more: str, is_there: bool
) -> None:
    """At the top of the tree; what is run in it may still make one."""
    digest = packed(recipe.parent / "a.tar.gz", files)

    found = read(recipe, f'[source]\narchive = "a.tar.gz"\nsha256 = "{digest}"\nepoch = 1700000000\n{more}')

    assert found.has_front_end is is_there
    assert "setup.py" not in found.tree


def test_a_front_end_may_come_by_a_patch(recipe: Path) -> None:
    """It is the patched tree that counts."""
    patch = "diff --git a/setup.py b/setup.py\nnew file mode 100644\n--- /dev/null\n+++ b/setup.py\n@@ -0,0 +1 @@\n+x\n"
    (recipe.parent / "add.patch").write_text(patch, encoding="utf-8")
    digest = packed(recipe.parent / "a.tar.gz", {"top/README": "x"})
    text = (
        f'[source]\narchive = "a.tar.gz"\nsha256 = "{digest}"\nepoch = 1700000000\npatches = ["add.patch"]\n'
    )

    assert read(recipe, text).has_front_end


MODULES = '[submodule "a"]\n\tpath = third_party/a\n\turl = ../a\n[submodule "b"]\n\tpath = third_party/b\n\turl = ../b\n'


def archive_of(recipe: Path, files: dict[str, str], more: str = "") -> str:
    """A source out of an archive such as forges make of a commit."""
    files = {f"top/{name}": text for name, text in files.items()}
    digest = packed(recipe.parent / "a.tar.gz", {"top/.gitmodules": MODULES} | files)
    return f'[source]\narchive = "a.tar.gz"\nsha256 = "{digest}"\nepoch = 1700000000\n{more}'


def test_an_archive_without_its_submodules_is_refused(recipe: Path) -> None:
    """What a forge packs of a commit lacks them without a word; the build would fail in the middle."""
    with pytest.raises(RecipeError) as caught:
        read(recipe, archive_of(recipe, {"third_party/a/x.c": ""}))

    assert caught.value.reference == "source-lacks-submodules"
    assert caught.value.why[0].endswith("third_party/b")
    assert 'submodules = "system"' in caught.value.fix


def test_a_tree_may_be_built_without_its_submodules(recipe: Path) -> None:
    """Where the recipe says so, or lays them itself, or where they are there."""
    overlay = packed(recipe.parent / "b.tar.gz", {"b/x.c": ""})
    laid = (
        f'[[source.overlay]]\narchive = "b.tar.gz"\nsha256 = "{overlay}"\nstrip = 1\nto = "third_party/b"\n'
    )

    for files, more in (
        ({}, 'submodules = "system"\n'),
        ({"third_party/a/x.c": ""}, laid),
        ({"third_party/a/x.c": "", "third_party/b/x.c": ""}, ""),
    ):
        assert read(recipe, archive_of(recipe, files, more)).source.kind == "archive"


def test_a_directory_without_its_submodules_is_refused(recipe: Path, tree: Path) -> None:
    """A clone that was made without --recurse-submodules is no whole tree either."""
    (tree / ".gitmodules").write_text(MODULES, encoding="utf-8")

    assert refused(recipe, PATH) == "source-lacks-submodules"


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/x.git?private_token=s3cret9", "https://h/x.git?access_token=s3cret9"]
)
def test_a_token_in_a_query_reaches_nothing(
    machine: Path, recipe: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    """No lock is made of such an address, and no word of it is repeated anywhere."""
    for command in ("lock", "plan", "build"):
        assert run_main([command, str(recipe), "--set", f"source.git={address}", "--json"]) == 3
    seen = capsys.readouterr()

    assert "source.git" in seen.out
    assert "s3cret9" not in seen.out + seen.err
    assert not [path for path in machine.rglob("*") if path.is_file() and b"s3cret9" in path.read_bytes()]


@pytest.fixture
def debian(machine: Path) -> Iterator[str]:
    """A mirror with one source package, which nobody signed; its address."""
    files = machine / "mirror"
    packed(machine / "thing.tar.gz", {"thing/x": "x"})
    content = (machine / "thing.tar.gz").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    text = f"Package: thing\nVersion: 1.0\nChecksums-Sha256:\n {digest} {len(content)} thing_1.0.tar.gz\n"
    for name, data in {
        "dists/sid/main/source/Sources.xz": lzma.compress(text.encode()),
        "pool/main/t/thing/thing_1.0.tar.gz": content,
    }.items():
        (files / name).parent.mkdir(parents=True)
        (files / name).write_bytes(data)
    handler = partial(QuietFiles, directory=str(files))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class QuietFiles(SimpleHTTPRequestHandler):
    """Files of a folder."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def test_a_digest_that_nobody_signed_is_said_to_be_believed(recipe: Path, tree: Path, debian: str) -> None:
    """Unless the recipe itself gives it."""
    machine = f'[machine]\ndebian_mirror = "{debian}"\n'
    overlay = '[[source.overlay]]\narchive = "debian:sid/thing/thing_1.0.tar.gz"\nto = "x"\n'
    digest = sha256_of(recipe.parents[1] / "thing.tar.gz")

    believed = read(recipe, f"{PATH}{overlay}{machine}")
    given = read(recipe, f'{PATH}{overlay}sha256 = "{digest}"\n{machine}')

    assert believed.source.overlays[0].artifact == given.source.overlays[0].artifact
    (sentence,) = believed.unpinned
    assert sentence.startswith(
        "debian:sid/thing/thing_1.0.tar.gz: its digest is what the mirror said, and the mirror"
    )
    assert given.unpinned == ()


def test_no_connection_to_a_mirror_stays_open(
    recipe: Path, tree: Path, debian: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock takes minutes after the source was read; a mirror need not hold a line for that long."""
    opened: list[Web] = []
    closed: list[Web] = []
    opening, closing = Web.__init__, Web.close
    monkeypatch.setattr(Web, "__init__", lambda web, **more: (opening(web, **more), opened.append(web))[0])
    monkeypatch.setattr(Web, "close", lambda web: (closing(web), closed.append(web))[0])
    overlay = '[[source.overlay]]\narchive = "debian:sid/thing/thing_1.0.tar.gz"\nto = "x"\n'

    read(recipe, f'{PATH}{overlay}[machine]\ndebian_mirror = "{debian}"\n')

    assert len(opened) > 1
    assert {id(web) for web in closed} == {id(web) for web in opened}
