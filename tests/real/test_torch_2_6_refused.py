"""What is refused on the real PyTorch 2.6 tree, before one object is compiled: by the gate, or by a digest."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomli_w

pytestmark = [pytest.mark.container, pytest.mark.real, pytest.mark.timeout(2400)]

RECIPE = Path(__file__).parents[2] / "recipes" / "debian" / "torch-2.6-cpu.toml"
SOURCE = tomllib.loads(RECIPE.read_text())["source"]


def extended(
    folder: Path,
    name: str,
    *,
    prepare: list[list[str]],
    overlay: tuple[dict[str, Any], ...] = (),
    env: dict[str, str] | None = None,
) -> Path:
    """A recipe that extends the shipped one by steps, files and variables of its own."""
    recipe = {
        "schema": 1,
        "name": name,
        "extends": os.path.relpath(RECIPE, folder),
        "source": {
            "prepare": [*SOURCE["prepare"], *({"argv": argv} for argv in prepare)],
            "overlay": [*SOURCE["overlay"], *overlay],
        },
        "build": {"env": env or {}},
    }
    path = folder / f"{name}.toml"
    path.write_text(tomli_w.dumps(recipe))
    return path


@dataclass(frozen=True)
class Refused:
    """A build that the gate stopped."""

    tree: Any
    error: dict[str, Any]
    code: int

    def wrong(self) -> dict[str, str]:
        """What the gate found wrong: each entry, and the check that says so."""
        wrong = [item for item in self.tree.gate() if item["outcome"] == "failed"]
        return {item["what"].rpartition(" (")[0]: item["reference"] for item in wrong}

    def log(self, stage: str) -> str:
        """A stage's log."""
        text: str = (self.tree.workspace / "logs" / f"{stage}.log").read_text()
        return text

    def must_be_clean(self) -> None:
        """Refused by the gate, each entry named, and no object was compiled."""
        assert (self.code, self.error["reference"]) == (8, "gate-refused"), json.dumps(self.error, indent=1)
        assert all(any(entry in line for line in self.error["why"]) for entry in self.wrong())
        assert self.tree.built() == []
        assert list(self.tree.build_tree.rglob("*.o")) == []
        assert self.tree.report("configure")["outcome"] == "failed"


Refuse = Callable[..., Refused]


@pytest.fixture
def refuse(tmp_path: Path, torchbuild: Any) -> Refuse:
    """Builds an extended recipe, which must be refused."""

    def build(name: str, **changes: Any) -> Refused:
        tree = torchbuild(tmp_path / "run", extended(tmp_path, name, **changes))
        # With a target: a gate that lets it through costs minutes and not an hour.
        ended = tree.call("build", "--target", "c10")
        return Refused(tree, ended.out.get("error", {"reference": "none"}), ended.code)

    return build


def test_an_interpreter_without_numpy_is_refused(refuse: Refuse) -> None:
    """CMake goes on without NumPy and says so in a line of its log; the gate does not go on.

    The source was made without a network on the way: its own step saw nothing but the loopback device.
    """
    refused = refuse(
        "torch-without-numpy",
        prepare=[
            ["/bin/cat", "/proc/net/dev"],
            # Where the tree requires it, the front end itself stops.
            ["/bin/sed", "-i", '/^ *"numpy",$/d', "pyproject.toml"],
            ["/torchbuild/venv/bin/python", "-m", "pip", "uninstall", "--yes", "numpy"],
        ],
    )

    refused.must_be_clean()
    assert set(refused.wrong().values()) == {"gate-flag", "gate-numpy", "gate-notfound"}
    assert refused.wrong()["USE_NUMPY"] == "gate-flag"
    said = " ".join(refused.log("configure").split())  # CMake breaks a warning's lines where it likes
    assert "NumPy could not be found. Not building with NumPy." in said
    assert re.findall(r"^ *([^\s:]+):(?: +\d+){16}", refused.log("source"), re.MULTILINE) == ["lo"]


def test_a_python_that_is_not_the_locked_one_is_refused(refuse: Refuse) -> None:
    """CMake is told the locked interpreter and takes the distribution's: one spelling is right, one is not."""
    takes_another = "s|^if(NOT Python_EXECUTABLE)$|set(Python_EXECUTABLE /usr/bin/python3.13)\\n&|"
    refused = refuse(
        "torch-with-another-python",
        prepare=[["/bin/sed", "-i", takes_another, "cmake/Dependencies.cmake"]],
        # The other interpreter finds what the tree's generators import; without that, configure ends sooner.
        env={"PYTHONPATH": "/torchbuild/venv/lib/python3.13/site-packages"},
    )

    refused.must_be_clean()
    assert set(refused.wrong().values()) == {"gate-python"}
    assert any("_Python_EXECUTABLE=/usr/bin/python3.13" in line for line in refused.error["why"])


WRAPPER = """#!/bin/sh
here=${0%/bin/*}
case $1 in
-showme:compile) echo "-I$here/include" ;;
-showme:link) echo "-L$here/lib -lmpi" ;;
*) exit 1 ;;
esac
"""
HEADER = """#define MPI_VERSION 3
#define MPI_SUBVERSION 1
#ifdef __cplusplus
extern "C" {
#endif
int MPI_Init(int *, char ***);
int MPI_Finalize(void);
#ifdef __cplusplus
}
#endif
"""
LIBRARY = """#include "include/mpi.h"
int MPI_Init(int *c, char ***v) { return c == 0 && v == 0; }
int MPI_Finalize(void) { return 0; }
"""


def stand_in_mpi(path: Path) -> dict[str, Any]:
    """As much of an MPI as CMake looks at, as an overlay."""
    files = {f"bin/{name}": WRAPPER for name in ("mpicc", "mpicxx", "mpiexec")}
    files |= {"include/mpi.h": HEADER, "mpi.c": LIBRARY}
    with tarfile.open(path, "w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755 if name.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"archive": path.name, "sha256": digest, "to": "stand-in-mpi"}


def test_an_mpi_that_nobody_asked_for_is_refused(refuse: Refuse, tmp_path: Path) -> None:
    """An MPI lies on the builder and the tree takes whatever it finds, though the recipe wants none."""
    takes_any = (
        "s|^if(USE_MPI)$|find_package(MPI)\\n"
        "if(MPI_CXX_FOUND)\\n  caffe2_update_option(USE_MPI ON)\\nendif()\\n&|"
    )
    refused = refuse(
        "torch-with-found-mpi",
        overlay=(stand_in_mpi(tmp_path / "mpi.tar"),),
        prepare=[
            ["/usr/bin/install", "-d", "stand-in-mpi/lib"],
            ["/usr/bin/gcc", "-shared", "-fPIC", "-o", "stand-in-mpi/lib/libmpi.so", "stand-in-mpi/mpi.c"],
            ["/bin/sed", "-i", takes_any, "cmake/Dependencies.cmake"],
        ],
        env={"MPI_HOME": "/torchbuild/source/stand-in-mpi"},
    )

    refused.must_be_clean()
    assert refused.wrong()["USE_MPI"] == "gate-flag"
    # FindMPI leaves what it did not find in the cache: each is named too
    others = {reference for name, reference in refused.wrong().items() if name != "USE_MPI"}
    assert others <= {"gate-notfound"}
    assert "MPI support found" in refused.log("configure")


def test_a_stored_archive_that_was_changed_is_refused(
    tmp_path: Path, torchbuild: Any, downloads: Path
) -> None:
    """One byte of the source archive is another one, its size and time are not: both digests are named."""
    tree = torchbuild(tmp_path / "run")
    assert tree.call("lock").code == 0
    place = tree.cache / "store" / "sha256" / SOURCE["sha256"][:2] / SOURCE["sha256"]
    (tree.cache / "store").unlink()
    shutil.copytree(downloads / "store", tree.cache / "store")
    content, before = bytearray(place.read_bytes()), place.stat()
    content[len(content) // 2] ^= 1
    place.unlink()
    place.write_bytes(content)
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    ended = tree.call("build", "--locked", "--until", "source")

    why = " ".join(ended.error["why"])
    assert ended.code == 7, ended.out
    assert SOURCE["sha256"] in why
    assert hashlib.sha256(content).hexdigest() in why
    assert not (tree.workspace / "root/source").exists()


def test_a_digest_that_the_publisher_does_not_have_is_refused(tmp_path: Path, torchbuild: Any) -> None:
    """A wrong sha256 in the recipe is refused before anything is fetched, and both digests are named."""
    tree, wrong = torchbuild(tmp_path / "run"), "0" * 64

    ended = tree.call("lock", "--set", f"source.sha256={wrong}")

    why = " ".join(ended.error["why"])
    assert ended.code == 3, ended.out
    assert SOURCE["sha256"] in why
    assert wrong in why
    assert not tree.lock.exists()
