"""Whatever is wrong with what a user or a machine hands over: one clear error, its exit code, nothing half-done."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.main import run_main

GOOD = """\
schema = 1
name = "small"

[source]
path = "tree"
epoch = 1706745600

[wheel]
package = "small"
version = "1.0"
requires = []
"""
RECIPE, LOCK, HOST, FETCH = 3, 5, 6, 7
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own needs root")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recipe that is right; caches and workspaces beside it."""
    (tmp_path / "work" / "tree").mkdir(parents=True)
    (tmp_path / "work" / "tree" / "setup.py").write_text("", encoding="utf-8")
    (tmp_path / "work" / "r.toml").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "work")
    for name, value in environ_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path / "work"


def environ_of(top: Path) -> dict[str, str]:
    """Directories of this test's own."""
    places = {"TORCHBUILD_CACHE": "cache", "TORCHBUILD_BUILDS": "builds", "HOME": "home"}
    return {name: str(top / folder) for name, folder in places.items()}


def recipe(here: Path, source: str = "", rest: str = "") -> Path:
    """The recipe with another source, and more at its end."""
    text = GOOD.replace('path = "tree"\nepoch = 1706745600\n', source) if source else GOOD
    (here / "r.toml").write_text(text + rest, encoding="utf-8")
    return here / "r.toml"


def archive(path: Path, *members: tarfile.TarInfo) -> str:
    """A tar archive with such members; its digest."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    path.write_bytes(stream.getvalue())
    return hashlib.sha256(stream.getvalue()).hexdigest()


def member(name: str, *, link: str = "", size: int = 1) -> tarfile.TarInfo:
    """A file of so many bytes, or a link."""
    info = tarfile.TarInfo(name)
    if link:
        info.type, info.linkname = tarfile.SYMTYPE, link
    else:
        info.size = size
    return info


def refuses(
    capsys: pytest.CaptureFixture[str], *argv: str, code: int, reference: str, top: Path
) -> dict[str, Any]:
    """The command ends so for a person and for a program, with nothing half-done; the error as JSON."""
    assert run_main(argv) == code
    seen = capsys.readouterr()
    assert seen.out == ""
    assert f"error[{reference}]: " in seen.err
    assert "Traceback" not in seen.err
    assert run_main([*argv, "--json"]) == code
    error: dict[str, Any] = json.loads(capsys.readouterr().out)["error"]
    assert (error["reference"], error["exit_code"]) == (reference, code)
    assert error["fix"]
    assert half_done(top) == []
    return error


def half_done(top: Path) -> list[str]:
    """What should not be there: stored files that are not what their name says, temporary files, workspaces."""
    return [
        *(str(path) for path in (top / "cache").rglob(".torchbuild-tmp-*")),
        *(str(path) for path in (top / "builds").glob("*/state/*")),
        *wrongly_stored(top / "cache" / "store"),
    ]


def wrongly_stored(store: Path) -> Iterator[str]:
    """Files of the store with another content than their name says."""
    for path in store.rglob("*"):
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != path.name:
            yield str(path)


# --- recipes -----------------------------------------------------------------------------------------------

WRONG = {
    "unknown key": ("[build]\nflag = { USE_CUDA = true }\n", "recipe-invalid"),
    "wrong type": ('[build]\nflags = "USE_CUDA"\n', "recipe-invalid"),
    "bad version": ('[target]\nglibc = "new"\n', "recipe-invalid"),
    "not TOML": ("[build\n", "recipe-not-toml"),
    "not yet": ('[target]\ncpu = "x86-64-v2"\n', "recipe-not-supported-yet"),
}


@pytest.mark.parametrize(("rest", "reference"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("command", ["build", "lock", "plan"])
def test_a_wrong_recipe(
    here: Path, capsys: pytest.CaptureFixture[str], command: str, rest: str, reference: str
) -> None:
    """The same words from every command that reads a recipe."""
    recipe(here, rest=rest)

    refuses(capsys, command, "r.toml", code=RECIPE, reference=reference, top=here.parent)


def test_an_unknown_key_is_shown_with_its_line_and_the_right_one(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelling is mended without opening a manual."""
    recipe(here, rest="[build]\nflag = { USE_CUDA = true }\n")

    error = refuses(capsys, "build", "r.toml", code=RECIPE, reference="recipe-invalid", top=here.parent)

    (problem,) = error["problems"]
    assert (problem["path"], problem["suggestion"], problem["line"]) == ("build.flag", "flags", 13)


def test_a_recipe_that_extends_itself(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The circle is shown."""
    (here / "r.toml").write_text('extends = "s.toml"\n' + GOOD, encoding="utf-8")
    (here / "s.toml").write_text('extends = "r.toml"\n', encoding="utf-8")

    error = refuses(capsys, "lock", "r.toml", code=RECIPE, reference="recipe-extends-cycle", top=here.parent)

    assert "s.toml" in error["why"][0]


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["missing", "not text"])
def test_a_recipe_that_cannot_be_read(
    here: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    """Named with its path."""
    (here / "r.toml").unlink()
    if content is not None:
        (here / "r.toml").write_bytes(content)

    error = refuses(capsys, "build", "r.toml", code=RECIPE, reference="recipe-unreadable", top=here.parent)

    assert str(here / "r.toml") in error["what"]


def test_a_truncated_recipe(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing is said, key by key."""
    (here / "r.toml").write_text(GOOD[: GOOD.index("[wheel]")], encoding="utf-8")

    error = refuses(capsys, "build", "r.toml", code=RECIPE, reference="recipe-invalid", top=here.parent)

    assert [problem["path"] for problem in error["problems"]] == ["wheel"]


def test_a_path_outside_of_the_recipes_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused, unless whoever runs the command allows the folder."""
    (here.parent / "shared").mkdir()
    (here.parent / "shared" / "fix.patch").write_text("patch", encoding="utf-8")
    text = GOOD.replace("[wheel]", 'patches = ["../shared/fix.patch"]\n\n[wheel]')
    (here / "r.toml").write_text(text, encoding="utf-8")

    refuses(capsys, "plan", "r.toml", code=RECIPE, reference="recipe-path-outside", top=here.parent)
    refuses(
        capsys,
        *("plan", "r.toml", "--allow-path", "../shared"),
        code=LOCK,
        reference="lock-missing",
        top=here.parent,
    )


# --- locks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv", [("build", "r.toml", "--locked"), ("plan", "r.toml"), ("lock", "r.toml", "--check")], ids=" ".join
)
def test_a_missing_lock(here: Path, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...]) -> None:
    """With the command that makes it."""
    error = refuses(capsys, *argv, code=LOCK, reference="lock-missing", top=here.parent)

    assert "torchbuild lock" in error["fix"]


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("", "lock-altered"),
        ("schema = 1\n", "lock-altered"),
        ("[source\n", "lock-unreadable"),
        ("\x00", "lock-unreadable"),
    ],
)
def test_a_truncated_lock(here: Path, capsys: pytest.CaptureFixture[str], text: str, reference: str) -> None:
    """Never taken for a lock of nothing."""
    (here / "r.lock").write_text(text, encoding="utf-8")

    refuses(capsys, "build", "r.toml", "--locked", code=LOCK, reference=reference, top=here.parent)


def test_a_lock_of_a_newer_torchbuild(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not made anew over what somebody else can read: not even without --locked."""
    (here / "r.lock").write_text("schema = 99\n", encoding="utf-8")

    refuses(capsys, "build", "r.toml", code=LOCK, reference="lock-too-new", top=here.parent)

    assert (here / "r.lock").read_text(encoding="utf-8") == "schema = 99\n"


# --- sources -----------------------------------------------------------------------------------------------


def test_a_ref_that_does_not_exist(here: Path, capsys: pytest.CaptureFixture[str], repos: Path) -> None:
    """With the one that was probably meant."""
    recipe(here, f'git = "{repos}/torchlet"\nref = "v1.0"\n')

    error = refuses(capsys, "lock", "r.toml", code=FETCH, reference="git-ref-missing", top=here.parent)

    assert "v1.0.0" in error["fix"]
    assert not (here / "r.lock").exists()


def test_a_commit_that_does_not_exist(here: Path, capsys: pytest.CaptureFixture[str], repos: Path) -> None:
    """A whole id is asked for, and missed."""
    recipe(here, f'git = "{repos}/torchlet"\nref = "{"ab" * 20}"\n')

    refuses(capsys, "lock", "r.toml", code=FETCH, reference="git-commit-missing", top=here.parent)


def test_a_repository_that_does_not_exist(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is at that address."""
    recipe(here, 'git = "/nonexistent/torchlet"\nref = "v1"\n')

    refuses(capsys, "lock", "r.toml", code=FETCH, reference="git-repository-missing", top=here.parent)


def test_a_digest_that_differs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seen and wanted are shown, and the store has neither."""
    seen = archive(here / "a.tar", member("top/setup.py"))
    recipe(here, f'archive = "a.tar"\nsha256 = "{"0" * 64}"\nepoch = 1706745600\n')

    error = refuses(capsys, "lock", "r.toml", code=FETCH, reference="digest-mismatch", top=here.parent)

    assert any(seen in line for line in error["why"])
    assert not list((here.parent / "cache" / "store").rglob("*0000*"))


HOSTILE = {
    "parent": (member("p/series"), member("p/../../evil")),
    "absolute": (member("p/series"), member("/tmp/torchbuild-evil")),
    "link out": (member("p/series"), member("p/way", link="/etc"), member("p/way/evil")),
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_an_archive_that_leaves_its_place(
    here: Path, capsys: pytest.CaptureFixture[str], members: tuple[tarfile.TarInfo, ...]
) -> None:
    """Refused as a whole; nothing of it is laid down anywhere."""
    digest = archive(here / "d.tar", *members)
    text = f'\n[source.series]\narchive = "d.tar"\nsha256 = "{digest}"\npath = "p"\n'
    recipe(here, 'path = "tree"\nepoch = 1706745600\n' + text)

    refuses(capsys, "lock", "r.toml", code=FETCH, reference="archive-unsafe-member", top=here.parent)

    assert not Path("/tmp/torchbuild-evil").exists()
    assert not (here.parent / "evil").exists()


def test_a_file_that_the_recipe_names_and_is_not_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the key that names it."""
    (here / "r.toml").write_text(
        GOOD.replace("[wheel]", 'patches = ["gone.patch"]\n\n[wheel]'), encoding="utf-8"
    )

    error = refuses(
        capsys, "lock", "r.toml", code=RECIPE, reference="recipe-names-missing-file", top=here.parent
    )

    assert error["what"].startswith("source.patches")


# --- machines ----------------------------------------------------------------------------------------------


def test_no_compiler(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Named as the recipe names it, with what to install."""
    recipe(here, rest='[toolchain]\ncc = "/no/such/gcc"\n')

    error = refuses(capsys, "lock", "r.toml", code=HOST, reference="compiler-missing", top=here.parent)

    assert "/no/such/gcc" in error["what"]


def test_no_interpreter_of_that_version(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With every place that was looked at."""
    recipe(here, rest='[python]\nversion = "3.99"\n')

    error = refuses(capsys, "lock", "r.toml", code=HOST, reference="interpreter-missing", top=here.parent)

    assert "/usr/bin/python3.99: not there" in error["why"]


def test_no_engine(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe that names an image is not built without one."""
    monkeypatch.setenv("PATH", str(here))
    recipe(here, rest='[image]\nname = "localhost/none"\n[python]\nversion = "3.13"\n')

    refuses(capsys, "lock", "r.toml", code=HOST, reference="no-container-engine", top=here.parent)


def test_a_machine_that_contradicts_the_image(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[machine] decides nothing of the wheel."""
    recipe(here, rest='[machine]\nexecutor = "container"\n')

    refuses(capsys, "lock", "r.toml", code=RECIPE, reference="recipe-invalid", top=here.parent)


def mounted(here: Path, mount: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """The installed command, after a mount that only it sees; the files below the mount are in ``left``."""
    program = str(Path(sys.executable).with_name("torchbuild"))
    place = here.parent / "cache"
    script = f'{mount}; code=0; "$@" || code=$?; find {place} -type f ! -name store.lock >left; exit $code'
    return subprocess.run(
        ["unshare", "-m", "sh", "-ec", script, "sh", program, *argv],
        cwd=here,
        env=os.environ | environ_of(here.parent),
        capture_output=True,
        text=True,
        check=False,
    )


def with_archive(here: Path) -> None:
    """A recipe whose lock takes a megabyte into the store."""
    digest = archive(here / "a.tar", member("top/big", size=1 << 20))
    recipe(here, f'archive = "a.tar"\nsha256 = "{digest}"\nepoch = 1706745600\n')


@ROOT_ONLY
def test_a_full_disk(here: Path) -> None:
    """The owner of the machine is told which one, and no half of a file is left."""
    with_archive(here)
    cache = here.parent / "cache"
    cache.mkdir()

    ended = mounted(here, f"mount -t tmpfs -o size=256k none {cache}", "lock", "r.toml")

    assert ended.returncode == HOST, ended.stderr
    assert f"error[disk-full]: {cache}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (here / "left").read_text(encoding="utf-8") == ""
    assert not (here / "r.lock").exists()


@ROOT_ONLY
def test_a_store_that_may_only_be_read(here: Path) -> None:
    """What is missing cannot be taken in, and that is said."""
    with_archive(here)
    store = here.parent / "cache" / "store"
    store.mkdir(parents=True)

    ended = mounted(
        here, f"mount --bind {store} {store} && mount -o remount,bind,ro {store}", "lock", "r.toml", "--json"
    )

    assert ended.returncode == HOST
    assert json.loads(ended.stdout)["error"]["reference"] == "not-writable"
    assert (here / "left").read_text(encoding="utf-8") == ""
