"""A moved interpreter, told where it is."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.standalone import BUILT_AT, MAJOR_MINOR, laid
from torchbuild.shim import complete_python

SHIM = Path(__file__).parents[2] / "torchbuild" / "shim"
ASK = "import json, sysconfig; print(json.dumps(sysconfig.get_config_vars()))"


def complete(prefix: Path, **changed: str) -> dict[str, Any]:
    """Run the completion by the interpreter itself, as a build does."""
    request = prefix.parent / "request.json"
    request.write_text(
        json.dumps({"prefix": str(prefix), "cc": "/usr/bin/gcc", "cxx": "/usr/bin/g++"} | changed)
    )
    argv = [f"{prefix}/bin/python{MAJOR_MINOR}", "-I", str(SHIM / "complete_python.py"), str(request)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)
    assert len(done.stdout.splitlines()) == 1
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def variables(prefix: Path) -> dict[str, Any]:
    """What the interpreter's own sysconfig says."""
    argv = [f"{prefix}/bin/python{MAJOR_MINOR}", "-I", "-c", ASK]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter in a place that its builder did not know, completed."""
    prefix = laid(tmp_path_factory.mktemp("moved") / "python")
    assert f"-L{BUILT_AT}/lib" in variables(prefix)["LDFLAGS"]
    complete(prefix)
    return prefix


def test_its_places_are_where_it_is(moved: Path) -> None:
    """What a front end asks sysconfig for exists: no directory of the machine where it was built is left."""
    found = variables(moved)

    assert found["LIBDIR"] == f"{moved}/lib"
    assert found["INCLUDEPY"] == f"{moved}/include/python{MAJOR_MINOR}"
    assert Path(found["INCLUDEPY"], "Python.h").is_file()
    assert f"-L{moved}/lib" in found["LDFLAGS"].split()
    text = json.dumps(
        {key: found[key] for key in ("CFLAGS", "LDFLAGS", "LDSHARED", "LIBDIR", "BINDIR", "CC", "AR")}
    )
    assert BUILT_AT not in text.replace(str(moved), "")
    assert "/tools" not in text


def test_its_tools_are_those_of_the_build(moved: Path) -> None:
    """A compiler that is not on this machine is ours, with the options behind it; binutils are the machine's."""
    found = variables(moved)

    assert found["CC"] == "/usr/bin/gcc -pthread"
    assert found["CXX"] == "/usr/bin/g++ -pthread"
    assert found["LDSHARED"].startswith("/usr/bin/gcc -pthread -shared")
    assert found["AR"] == "ar"


def test_an_option_of_another_compiler_is_tried_and_dropped(moved: Path) -> None:
    """What our compiler refuses is gone; what it takes stays."""
    words = variables(moved)["CFLAGS"].split()

    assert "-fdebug-default-version=4" not in words
    assert "-Wall" in words
    assert "-isystem" not in words


def test_other_files_that_name_the_place_are_moved(moved: Path) -> None:
    """pkg-config and the config program lead to it, and stay what they are."""
    config = moved / "bin" / f"python{MAJOR_MINOR}-config"
    done = subprocess.run([str(config)], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == f"-L{moved}/lib\n"
    pc = (moved / "lib" / "pkgconfig" / f"python-{MAJOR_MINOR}.pc").read_text(encoding="utf-8")
    assert f"prefix={moved}\n" in pc
    assert f"-I{moved}/include" in pc


def test_once_more_changes_nothing(moved: Path) -> None:
    """A stage that is repeated finds it done, and leaves every byte."""
    (table,) = (moved / "lib" / f"python{MAJOR_MINOR}").glob("_sysconfigdata_*.py")
    before = table.read_bytes()

    answer = complete(moved)

    assert (answer["variables"], answer["refused"]) == ([], [])
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "raise SystemExit('run')\n",
        "build_time_vars = open('/etc/passwd')\n",
        "x = " + "[" * 5000,
        "build_time_vars = 3\n",
    ],
    ids=["empty", "code", "a call", "deep", "no table"],
)
def test_a_configuration_that_is_none_is_not_run(tmp_path: Path, text: str) -> None:
    """What a stranger wrote is read as values; where it is none, nothing is changed and nothing fails."""
    library = tmp_path / "lib" / f"python{MAJOR_MINOR}"
    library.mkdir(parents=True)
    table = library / "_sysconfigdata__linux_x.py"
    table.write_text(text, encoding="utf-8")

    answer = complete_python.complete(str(tmp_path), "/usr/bin/gcc", "/usr/bin/g++")

    assert (answer["built_at"], answer["files"]) == ("", [])
    assert table.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("value", "moved"),
    [
        ("-L/install/lib", "-L/new/lib"),
        ("-Wl,-rpath,/install/lib -L /install/lib", "-Wl,-rpath,/new/lib -L /new/lib"),
        ("'--prefix=/install' CFLAGS=-I/install/include", "'--prefix=/new' CFLAGS=-I/new/include"),
        ("/install", "/new"),
        ("/opt/install/lib -L/opt/install", "/opt/install/lib -L/opt/install"),
        ("/installed/lib -I/install.d", "/installed/lib -I/install.d"),
        ("a/install/lib", "a/install/lib"),
        ("#!/install/bin/python3", "#!/new/bin/python3"),
    ],
)
def test_only_the_place_itself_is_moved(value: str, moved: str) -> None:
    """A path that holds the same letters elsewhere is another path."""
    assert complete_python._moved({"X": value}, "/install", "/new") == {"X": moved}


def test_the_scripts_are_as_old_as_the_oldest_interpreter() -> None:
    """Python 3.8 reads them."""
    for name in ("complete_python.py", "look_python.py"):
        ast.parse((SHIM / name).read_text(encoding="utf-8"), feature_version=(3, 8))
