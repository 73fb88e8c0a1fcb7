"""Reports of chapter F: the interpreter, its headers, NumPy."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.reports.shape import Entry
from tests.standalone import BUILT_AT, MAJOR_MINOR, VERSION, laid
from torchbuild.errors import TorchbuildError
from torchbuild.model.artifact import Artifact
from torchbuild.model.finding import Finding
from torchbuild.model.lock import LockedPython
from torchbuild.model.part import LockedPart, LockedPiece
from torchbuild.model.recipe import Recipe
from torchbuild.resolve import expectations as expected
from torchbuild.resolve import release_requirements as requirements
from torchbuild.resolve import rules, tree_python
from torchbuild.resolve.load import load_recipe
from torchbuild.shim import complete_python
from torchbuild.shim.cache import Entry as CacheEntry
from torchbuild.shim.cache import parse_cache
from torchbuild.shim.gate import compare
from torchbuild.toolchains import python_proof
from torchbuild.toolchains.proof import Wanted, judge, told
from torchbuild.toolchains.python_part import described

__all__ = ["ENTRIES", "LATER", "PREVENTIONS"]

ROOT = Path(__file__).parents[2]
RECIPE = """\
schema = 1
name = "torch"

[source]
git = "https://example.org/torch.git"
ref = "v2.6.0"

[build.flags]
USE_NUMPY = true

[wheel]
version = "2.6.0"
"""
PYTHON = LockedPython(
    executable="/usr/bin/python3.13",
    version="3.13.5",
    soabi="cpython-313-x86_64-linux-gnu",
    tag="cp313",
    include="/usr/include/python3.13",
)
WANTED = Wanted(torch="2.6.0", machine="x86_64", cxx="/usr/bin/g++")
PIECE = LockedPiece(artifact=Artifact(locator="python-build-standalone:1/x", sha256="ab" * 32), strip=1)
Cache = dict[str, CacheEntry]


def recipe(text: str = RECIPE) -> Recipe:
    """The recipe, as a user's file is read."""
    return load_recipe("recipe.toml", lambda _: text)


def refused(**changed: CacheEntry | None) -> set[str]:
    """Entries that the gate refuses in the cache of a real PyTorch, and only where something is otherwise in it."""
    text = (ROOT / "tests" / "data" / "caches" / "torch-2.6-cpu.txt").read_text(encoding="utf-8")
    before = parse_cache(text)
    after = {name: entry for name, entry in (before | changed).items() if entry is not None}
    compilers = {"CC": "/usr/bin/gcc", "CXX": "/usr/bin/g++"}
    items = [item.model_dump() for item in expected.expectations(recipe(), PYTHON, compilers)]

    def failed(cache: Cache) -> set[str]:
        return {
            item["what"].rpartition(" (")[0] for item in compare(cache, items) if item["outcome"] == "failed"
        }

    return failed(after) - failed(before)


def raised(action: Callable[[], object]) -> str:
    """The reference of the error that an action ends with; empty where there is none."""
    try:
        action()
    except TorchbuildError as error:
        return error.reference
    return ""


def numpy_lost(_: Path) -> None:
    """F1: CMake's interpreter has no NumPy; it warns, switches USE_NUMPY off, and goes on."""
    assert "USE_NUMPY" in refused(USE_NUMPY=CacheEntry("BOOL", "OFF"))


def numpy_gone(_: Path) -> None:
    """F2: the cache names the headers of a NumPy that was replaced, in another place."""
    for name in ("_Python_NumPy_INCLUDE_DIR", "Python_NumPy_INCLUDE_DIR", "NUMPY_INCLUDE_DIR"):
        place = CacheEntry("PATH", "/usr/lib/python3/dist-packages/numpy/core/include")
        assert refused(**{name: place}) != set(), name


def numpy_too_old(_: Path) -> None:
    """F3: made against NumPy 1, which nobody named, or which the recipe names."""
    unnamed = requirements.release_requirements(recipe(), "cp313")
    assert [text for text in unnamed if text.startswith("numpy>=2")]
    finding = python_proof.numpy_finding("2.6.0", "1.26.4")
    assert (finding.outcome, "NumPy 2" in finding.wanted) == ("warned", True)


def another_interpreter(_: Path) -> None:
    """F4: CMake found the system's interpreter, or the spellings of its variable disagree, or one is empty."""
    for name in ("Python_EXECUTABLE", "PYTHON_EXECUTABLE", "Python3_EXECUTABLE", "_Python_EXECUTABLE"):
        for value in ("/usr/bin/python3", ""):
            assert refused(**{name: CacheEntry("FILEPATH", value)}) != set(), (name, value)


def cache_of_another(_: Path) -> None:
    """F5: the cache was made by 3.12, and the interpreter is another one."""
    properties = "Python;3;12;1;64;;cpython-312-x86_64-linux-gnu;abi3;/usr/lib/python3.12"
    assert refused(_Python_INTERPRETER_PROPERTIES=CacheEntry("INTERNAL", properties)) != set()
    assert refused(_Python_INCLUDE_DIR=CacheEntry("INTERNAL", "/usr/include/python3.12")) != set()


def too_new_an_interpreter(_: Path) -> None:
    """F6: a tag that is older than the Python: private structures are others."""
    newer = PYTHON.model_copy(update={"version": "3.14.0"})
    part = described(LockedPart(name="python", provider="system", version="3.14.0", prefix="/usr"), newer)
    assert "python-for-torch" in told_of(judge(python_proof.CHECKS, part, WANTED, {}), "warned")
    classified = '[project]\nclassifiers = ["Programming Language :: Python :: 3.13"]\n'
    assert tree_python.tree_python(classified, "3.14.0").outcome == "warned"
    excluded = '[project]\nrequires-python = ">=3.9,<3.14"\n'
    assert raised(lambda: tree_python.tree_python(excluded, "3.14.0")) == "python-not-for-tree"


def told_of(findings: tuple[Finding, ...], outcome: str) -> set[str]:
    """References of the findings with an outcome."""
    return {item.reference for item in findings if item.outcome == outcome}


def looked_at(prefix: Path, place: Path) -> tuple[Finding, ...]:
    """An interpreter of ours, looked at inside as a build does, and judged."""
    program = f"{prefix}/bin/python{MAJOR_MINOR}"
    request = place / "request.json"
    request.write_text(json.dumps({"executable": program, "cc": "/usr/bin/gcc", "scratch": str(place / "s")}))
    script = ROOT / "torchbuild" / "shim" / "look_python.py"
    done = subprocess.run(
        [program, "-I", str(script), str(request)], capture_output=True, text=True, check=True, timeout=300
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    python = LockedPython(
        executable=program,
        version=VERSION,
        soabi=seen["soabi"],
        tag="cp3",
        include=f"{prefix}/include/python{MAJOR_MINOR}",
    )
    part = LockedPart(name="python", provider="uv", version=VERSION, prefix=str(prefix), pieces=(PIECE,))
    return judge(python_proof.CHECKS, described(part, python), WANTED, seen)


def no_headers(place: Path) -> None:
    """F7: the interpreter came without its development package."""
    prefix = laid(place / "python")
    shutil.rmtree(prefix / "include")
    assert "python-headers" in told_of(looked_at(prefix, place), "failed")


def paths_of_the_builder(place: Path) -> None:
    """F8: an interpreter that was built elsewhere hands -L/install/lib to every build."""
    prefix = laid(place / "python")
    assert "python-options" in told_of(looked_at(prefix, place), "failed")
    complete_python.complete(prefix=str(prefix), cc="/usr/bin/gcc", cxx="/usr/bin/g++")
    (table,) = (prefix / "lib" / f"python{MAJOR_MINOR}").glob("_sysconfigdata_*.py")
    assert f"-L{BUILT_AT}" not in table.read_text(encoding="utf-8")
    assert not told_of(looked_at(prefix, place), "failed")


def option_swallowed(_: Path) -> None:
    """F9: -I takes -fPIC for its directory."""
    for line in ("CFLAGS = '-I -fPIC'", "LDFLAGS = '-L -Wl,-O1'"):
        assert raised(lambda: recipe(f"{RECIPE}\n[build.env]\n{line}\n")) == "recipe-invalid"  # noqa: B023


def static_and_free_threaded(_: Path) -> None:
    """F10: 3.14t with a static libpython alone, which no module can link."""
    free = PYTHON.model_copy(update={"soabi": "cpython-314t-x86_64-linux-gnu", "version": "3.14.0"})
    part = described(LockedPart(name="python", provider="system", version="3.14.0", prefix="/usr"), free)
    seen = {"free_threaded": "yes", "shared": False, "soabi": free.soabi}
    assert "python-static-library" in told_of(judge(python_proof.CHECKS, part, WANTED, seen), "warned")
    with_lock = judge(python_proof.CHECKS, part, WANTED, {"free_threaded": "no", "shared": True})
    assert "python-free-threaded" in told_of(with_lock, "failed")


ENTRIES = {
    "F1": Entry(numpy_lost, ("gate-flag",), "A switch that CMake turned off by itself ends the build before it compiles."),
    "F2": Entry(numpy_gone, ("gate-numpy",), "NumPy's headers are those of the build's own environment."),
    "F3": Entry(numpy_too_old, ("numpy-floor", "numpy-abi"), "A wheel works with NumPy 2 where its tree can."),
    "F4": Entry(another_interpreter, ("gate-python",), "CMake uses the interpreter that was locked, under each name."),
    "F5": Entry(cache_of_another, ("gate-python",), "A cache of another interpreter is refused."),
    "F6": Entry(
        too_new_an_interpreter, ("python-release", "tree-python"), "A Python that is too new is told before the build."
    ),
    "F7": Entry(no_headers, ("python-headers",), "Missing headers are told before anything compiles."),
    "F8": Entry(
        paths_of_the_builder, ("python-options", "python-completion"), "No path of another machine gets into a build."
    ),
    "F9": Entry(option_swallowed, ("option-rules",), "An option without its value is refused with the recipe."),
    "F10": Entry(static_and_free_threaded, ("python-threading",), "A library that no module can link is told."),
}  # fmt: skip
LATER: dict[str, str] = {}


def _without(check: str) -> Callable[[pytest.MonkeyPatch], None]:
    """The proof without one of its checks."""
    return lambda patch: patch.delitem(python_proof.CHECKS, check)  # type: ignore[arg-type]


def _silent(owner: object, name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A function that yields nothing."""
    return lambda patch: patch.setattr(owner, name, lambda *_, **__: iter(()))


def _passed(*_: object) -> Finding:
    return told("python-numpy-abi", "not looked at", "passed")


PREVENTIONS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "gate-flag": _silent(expected, "_flags"),
    "gate-numpy": _silent(expected, "_numpy"),
    "gate-python": _silent(expected, "_python"),
    "numpy-abi": lambda patch: patch.setattr(python_proof, "numpy_finding", _passed),
    "numpy-floor": lambda patch: patch.setattr(requirements, "release_requirements", lambda *_: ()),
    "option-rules": _silent(rules, "option_problems"),
    "python-completion": lambda patch: patch.setattr(complete_python, "complete", lambda **_: {}),
    "python-headers": _without("headers"),
    "python-options": _without("options"),
    "python-release": _without("release"),
    "python-threading": _without("threading"),
    "tree-python": lambda patch: patch.setattr(tree_python, "tree_python", _passed),
}
