"""What was imported is what was installed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path


def test_source_tree_is_not_the_wheel(smoke: Callable, tmp_path: Path) -> None:
    """A package that comes from a source tree fails, however well it computes."""
    tree = tmp_path / "source"
    (tree / "toytree").mkdir(parents=True)
    (tree / "toytree" / "__init__.py").write_text("__version__ = '1.0'\n")

    run = smoke("toytree", "--only", "import_identity", isolated=False, PYTHONPATH=str(tree))

    (found,) = run.failed()
    assert found["reference"] == "smoke-import-identity"
    assert found["seen"] == str(tree / "toytree" / "__init__.py")
    assert "site-packages" in found["wanted"]


def test_link_into_a_source_tree_is_not_the_wheel(
    smoke: Callable, install: Callable, environment: Path, tmp_path: Path
) -> None:
    """A link in site-packages that leads to a tree is that tree."""
    site = next(environment.glob("lib/python3*/site-packages"))
    (tmp_path / "toylink").mkdir()
    (tmp_path / "toylink" / "__init__.py").write_text("")
    (site / "toylink").symlink_to(tmp_path / "toylink")

    assert smoke("toylink", "--only", "import_identity").outcomes("smoke-import-identity") == ["failed"]


def test_version_must_be_the_installed_one(smoke: Callable, install: Callable) -> None:
    """A module that names another version than its metadata is not what was installed."""
    run = smoke(install(version="2.0"), "--only", "import_identity")

    assert [(found["reference"], found["seen"], found["wanted"]) for found in run.failed()] == [
        ("smoke-version", "1.0", "2.0")
    ]


def test_commit_is_told(smoke: Callable, install: Callable) -> None:
    """Where the module names the commit it was built from, that is in the report."""
    run = smoke(install(more="class version:\n    git_version = 'a' * 40\n"), "--only", "import_identity")

    (found,) = (found for found in run.report["findings"] if found["reference"] == "smoke-git-version")
    assert (found["outcome"], found["seen"]) == ("passed", "a" * 40)


def _library(folder: Path) -> None:
    folder.mkdir(parents=True)
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(folder / "libtoy.so.1")]
    subprocess.run(command, input=b"int toy;", check=True)


_LOAD = "import ctypes, os\n_C = ctypes.CDLL({place})\n"


def test_own_library_passes(smoke: Callable, install: Callable, environment: Path) -> None:
    """A library that the package ships and maps is its own."""
    place = "os.path.join(os.path.dirname(__file__), 'lib', 'libtoy.so.1')"
    name = install(more=_LOAD.format(place=place))
    _library(next(environment.glob("lib/python3*/site-packages")) / name / "lib")

    run = smoke(name, "--only", "import_identity")

    (found,) = (found for found in run.report["findings"] if found["reference"] == "smoke-libraries")
    assert found["outcome"] == "passed"
    assert found["seen"].startswith("1 mapped from the package")


def test_library_from_elsewhere_fails(
    smoke: Callable, install: Callable, environment: Path, tmp_path: Path
) -> None:
    """Where the loader took another copy of a library that the package ships, the wheel proves nothing."""
    _library(tmp_path / "elsewhere")
    name = install(more=_LOAD.format(place=repr(str(tmp_path / "elsewhere" / "libtoy.so.1"))))
    _library(next(environment.glob("lib/python3*/site-packages")) / name / "lib")

    (found,) = smoke(name, "--only", "import_identity").failed()

    assert (found["reference"], found["seen"]) == (
        "smoke-libraries",
        str(tmp_path / "elsewhere" / "libtoy.so.1"),
    )
