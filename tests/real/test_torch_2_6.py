"""The real PyTorch 2.6 tree in the builder image: gate, first objects, resume, and what must be refused.

One configure takes about twenty seconds of an idle core and the first c10 a minute and a half of two, so what
one build shows is asked by several tests; `pytest -n 2 --dist loadgroup` gives each build to one worker.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import tomli_w

from torchbuild.inspection.elf import read_elf

pytestmark = [pytest.mark.container, pytest.mark.real, pytest.mark.timeout(2400)]
one_build = pytest.mark.xdist_group("torch-2.6")

RECIPES = Path(__file__).parents[2] / "recipes" / "debian"
RECIPE = RECIPES / "torch-2.6-cpu.toml"
CLI = Path(sys.executable).with_name("torchbuild")
SHARED = ("store", "debian", "git", "partial")
"""What a cache directory holds besides the compiler's results."""


@dataclass(frozen=True)
class Ended:
    """A command that ended."""

    code: int
    out: dict[str, Any]
    err: str

    @property
    def outcomes(self) -> dict[str, str]:
        """How each stage ended."""
        return {item["stage"]: item["outcome"] for item in self.out["stages"]}

    @property
    def error(self) -> dict[str, Any]:
        """What was refused, and why."""
        found: dict[str, Any] = self.out["error"]
        return found


class Torchbuild:
    """The installed command, with directories of its own; what is fetched is shared with everybody."""

    def __init__(self, top: Path, downloads: Path, image: str, recipe: Path = RECIPE) -> None:
        self.top, self.builds, self.cache = top, top / "builds", top / "cache"
        self.recipe, self.lock, self.image = recipe, top / "recipe.lock", image
        self.downloads = downloads
        self.cache.mkdir(parents=True)
        for name in SHARED:
            (downloads / name).mkdir(exist_ok=True)
            (self.cache / name).symlink_to(downloads / name)

    def argv(self, command: str, *options: str) -> list[str]:
        """The command line."""
        always = ["--lock", str(self.lock), "--allow-path", str(RECIPES), "--set", f"image.name={self.image}"]
        return [str(CLI), command, str(self.recipe), *always, *options]

    def environ(self) -> dict[str, str]:
        """The caller's environment, and our places."""
        return os.environ | {"TORCHBUILD_CACHE": str(self.cache), "TORCHBUILD_BUILDS": str(self.builds)}

    def call(self, command: str, *options: str) -> Ended:
        """Run to the end and read the JSON that it prints."""
        done = subprocess.run(
            self.argv(command, "--json", *options),
            cwd=self.top,
            env=self.environ(),
            capture_output=True,
            text=True,
            check=False,
        )
        return Ended(done.returncode, json.loads(done.stdout), done.stderr)

    def build(self, *options: str) -> Ended:
        """`torchbuild build`, which must end as asked."""
        ended = self.call("build", *options)
        assert ended.code == 0, ended.err[-4000:] + json.dumps(ended.out, indent=1)[-4000:]
        return ended

    @property
    def workspace(self) -> Path:
        """The one workspace."""
        (found,) = self.builds.iterdir()
        return found

    @property
    def build_tree(self) -> Path:
        """CMake's build tree."""
        return self.workspace / "root" / "source" / "build"

    def report(self, stage: str) -> dict[str, Any]:
        """What the report says of a stage."""
        stages = json.loads((self.workspace / "report.json").read_text())["stages"]
        found: dict[str, Any] = next(item for item in stages if item["stage"] == stage)
        return found

    def gate(self) -> list[dict[str, str]]:
        """What the gate compared."""
        found: list[dict[str, str]] = json.loads((self.workspace / "root/shim/gate.json").read_text())[
            "findings"
        ]
        return found

    def built(self) -> list[str]:
        """What ninja built in the build tree."""
        try:
            lines = (self.build_tree / ".ninja_log").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [line.split("\t")[3] for line in lines if not line.startswith("#")]

    def processes(self) -> list[psutil.Process]:
        """Every process of the machine for which this workspace lies at the fixed path."""
        root, found = (self.workspace / "root").stat(), []
        for process in psutil.process_iter():
            try:
                seen = Path(f"/proc/{process.pid}/root/torchbuild").stat()
            except OSError:
                continue
            if (seen.st_dev, seen.st_ino) == (root.st_dev, root.st_ino):
                found.append(process)
        return found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, downloads: Path, builder: str) -> Iterator[Torchbuild]:
    """The recipe as it is shipped, with an empty compiler cache."""
    made = Torchbuild(tmp_path_factory.mktemp("torch") / "base", downloads, builder)
    yield made
    shutil.rmtree(made.top)


@pytest.fixture(scope="module")
def configured(base: Torchbuild) -> Ended:
    """Fetched, patched, configured, compared."""
    return base.build("--until", "configure")


@one_build
def test_the_real_tree_passes_the_gate_before_anything_is_compiled(
    base: Torchbuild, configured: Ended
) -> None:
    """Fetch, patch, configure and gate end well, every value is what was asked for, and no object is there."""
    findings = base.gate()

    assert configured.outcomes == dict.fromkeys(("fetch", "toolchain", "source", "configure"), "done")
    assert {item["outcome"] for item in findings} == {"passed"}
    assert len(findings) > 30
    assert {item["reference"] for item in findings} >= {
        "gate-flag",
        "gate-python",
        "gate-numpy",
        "gate-blas",
        "gate-compiler",
        "gate-generator",
    }
    assert base.built() == []
    assert list(base.build_tree.rglob("*.o")) == []


@one_build
def test_what_is_done_is_not_done_again(base: Torchbuild, configured: Ended) -> None:
    """The same command once more takes every stage as it is."""
    assert set(base.build("--until", "configure").outcomes.values()) == {"reused"}


@dataclass(frozen=True)
class Killed:
    """A compile that was killed half-way."""

    front_end: tuple[list[str], dict[str, str], str]
    """What ran: arguments, environment, directory."""
    objects: dict[Path, tuple[int, int]]
    """Object files that were done by then: inode and time."""


@pytest.fixture(scope="module")
def killed(base: Torchbuild, configured: Ended) -> Killed:
    """The command ended by SIGKILL as soon as a few objects were there."""
    process = subprocess.Popen(
        base.argv("build", "--target", "c10"),
        cwd=base.top,
        env=base.environ(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        edges = re.search(r"(\d+)/(\d+) edges", line)
        if edges is not None and int(edges[2]) > 80 and int(edges[1]) >= 8:
            break
    front_end = next(item for item in base.processes() if item.cmdline()[1:3] == ["-m", "build"])
    ran = (front_end.cmdline(), front_end.environ(), front_end.cwd())
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "".join(seen)
    process.stderr.close()
    done = [base.build_tree / name for name in base.built() if name.endswith(".o")]
    return Killed(ran, {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in done})


@pytest.fixture(scope="module")
def compiled(base: Torchbuild, killed: Killed) -> Ended:
    """The same command again, to its end."""
    return base.build("--target", "c10")


@one_build
def test_plan_prints_exactly_what_runs(base: Torchbuild, killed: Killed) -> None:
    """Each command is printed with its whole environment, and the front end's is what the machine then ran."""
    plans = base.call("plan").out["stages"]
    commands = [command for item in plans for command in item["commands"]]
    text = subprocess.run(
        base.argv("plan"), cwd=base.top, env=base.environ(), capture_output=True, text=True, check=True
    ).stdout
    (front_end,) = next(item for item in plans if item["stage"] == "configure")["commands"]
    argv, environ, cwd = killed.front_end

    assert text.count("env -i") == len(commands)
    assert all(f"{name}=" in text for command in commands for name, _ in command["environ"])
    assert " ".join(front_end["argv"]) in text
    assert {command["network"] for command in commands} == {"none"}
    assert argv == front_end["argv"]
    assert cwd == front_end["cwd"]
    assert environ == dict(front_end["environ"]) | {"MAX_JOBS": environ["MAX_JOBS"]}


@one_build
def test_a_killed_compile_goes_on_where_it_was(base: Torchbuild, killed: Killed, compiled: Ended) -> None:
    """After SIGKILL the same command configures nothing anew and compiles no finished object again."""
    assert {name: compiled.outcomes[name] for name in ("source", "configure")} == {
        "source": "reused",
        "configure": "reused",
    }
    assert len(killed.objects) >= 4
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in killed.objects} == killed.objects
    assert calls(base) <= len(objects(base)) - len(killed.objects)


@one_build
def test_a_killed_compile_leaves_nothing_running(base: Torchbuild, compiled: Ended) -> None:
    """No process and no container of the killed run, or of the one after it, is left."""
    assert base.processes() == []
    assert containers_on(base.builds) == []


def containers_on(folder: Path) -> list[str]:
    """Containers, running or not, that mount something below a folder."""
    names = subprocess.run(
        ["podman", "ps", "--all", "--quiet"], capture_output=True, text=True, check=True
    ).stdout.split()
    found = []
    for name in names:
        # One of another test may be gone by now.
        shown = subprocess.run(["podman", "inspect", name], capture_output=True, text=True, check=False)
        found += [
            name for item in json.loads(shown.stdout or "[]") if str(folder) in json.dumps(item["Mounts"])
        ]
    return found


def objects(tree: Torchbuild) -> list[str]:
    """Object files that ninja made."""
    return [name for name in tree.built() if name.endswith(".o")]


def calls(tree: Torchbuild, *kinds: str) -> int:
    """Compiler calls of the last compile, of some kinds or all."""
    evidence = tree.report("compile")["evidence"]
    counted = kinds or ("direct_cache_hit", "preprocessed_cache_hit", "cache_miss")
    return sum(int(evidence.get(f"cache_{kind}", 0)) for kind in counted)


@one_build
def test_c10_is_compiled_and_the_build_stops_there(base: Torchbuild, compiled: Ended) -> None:
    """`--target c10` makes c10 and nothing else, and says that it stopped as asked."""
    run = json.loads((base.workspace / "report.json").read_text())

    assert compiled.outcomes["compile"] == run["outcome"] == "stopped"
    assert (base.build_tree / "lib/libc10.so").is_file()
    assert not (base.build_tree / "lib/libtorch_cpu.so").exists()
    assert len(objects(base)) > 80
    assert set(run["not_run"]) == {"package", "verify", "publish"}
    assert int(base.report("compile")["evidence"]["peak_memory_bytes"]) > 50e6


@one_build
def test_a_library_finds_its_neighbours_wherever_it_is_laid(base: Torchbuild, compiled: Ended) -> None:
    """What is installed looks for libraries beside itself, and knows no path of the build."""
    base.build("--target", "c10/install")

    library = base.workspace / "root/source/torch/lib/libc10.so"
    seen = read_elf(library, name=library.name, sha256="0" * 64, size=library.stat().st_size)
    assert (seen.soname, seen.runpath, seen.rpath) == ("libc10.so", ("$ORIGIN",), ())


@one_build
def test_a_compile_throws_no_earlier_stage_away(base: Torchbuild, compiled: Ended) -> None:
    """What a build writes into the tree does not make the tree or its configuration another one."""
    assert set(base.build("--until", "configure").outcomes.values()) == {"reused"}
    assert len(objects(base)) > 80


@one_build
def test_another_workspace_compiles_from_the_cache_alone(base: Torchbuild, compiled: Ended) -> None:
    """The same recipe elsewhere: every compiler call is answered by the compiler cache."""
    other = copy.copy(base)
    other.builds = base.builds.with_name("elsewhere")

    other.build("--target", "c10")

    assert len(objects(other)) == len(objects(base))
    assert calls(other, "direct_cache_hit") == len(objects(other))
    assert calls(other, "cache_miss", "preprocessed_cache_hit") == 0


# --- what the gate refuses ----------------------------------------------------------------------------


def variant(
    top: Path,
    name: str,
    *,
    prepare: list[list[str]],
    overlay: tuple[dict[str, Any], ...] = (),
    **build: Any,
) -> Path:
    """A recipe that extends the shipped one by steps of its own."""
    shutil.copytree(RECIPES / "patches", top / "patches")
    below = tomllib.loads(RECIPE.read_text())["source"]
    source = {
        "prepare": [*below["prepare"], *({"argv": argv} for argv in prepare)],
        "overlay": [*below["overlay"], *overlay],
    }
    path = top / f"{name}.toml"
    path.write_text(
        tomli_w.dumps(
            {
                "schema": 1,
                "name": name,
                "extends": os.path.relpath(RECIPE, top),
                "source": source,
                "build": build,
            }
        )
    )
    return path


@dataclass(frozen=True)
class Refused:
    """A build that the gate stopped."""

    ended: Ended
    tree: Torchbuild

    def wrong(self) -> dict[str, str]:
        """What the gate found wrong: the entry, and the check that says so."""
        wrong = [item for item in self.tree.gate() if item["outcome"] == "failed"]
        return {item["what"].partition(" ")[0]: item["reference"] for item in wrong}

    def must_be_clean(self) -> None:
        """Refused by the gate, each entry named, with no object compiled."""
        error = self.ended.error
        assert (self.ended.code, error["reference"]) == (8, "gate-refused"), json.dumps(error, indent=1)
        assert all(any(entry in line for line in error["why"]) for entry in self.wrong())
        assert self.tree.built() == []
        assert list(self.tree.build_tree.rglob("*.o")) == []
        assert self.tree.report("configure")["outcome"] == "failed"


@pytest.fixture
def refuse(tmp_path: Path, downloads: Path, builder: str) -> Iterator[Any]:
    """Builds a variant, which must be refused; what it left is removed afterwards."""

    def build(name: str, **changes: Any) -> Refused:
        tree = Torchbuild(tmp_path / "run", downloads, builder, variant(tmp_path, name, **changes))
        return Refused(tree.call("build"), tree)

    yield build
    shutil.rmtree(tmp_path / "run")


def test_an_interpreter_without_numpy_is_refused(refuse: Any) -> None:
    """A tree that asks for no NumPy and an interpreter that has none: CMake goes on without, the gate does not.

    The source was made without a network on the way: its own step saw nothing but the loopback device.
    """
    refused = refuse(
        "torch-without-numpy",
        prepare=[
            ["/bin/cat", "/proc/net/dev"],
            ["/bin/sed", "-i", '/^ *"numpy",$/d', "pyproject.toml"],
            ["/torchbuild/venv/bin/python", "-m", "pip", "uninstall", "--yes", "numpy"],
        ],
    )

    refused.must_be_clean()
    assert refused.wrong()["USE_NUMPY"] == "gate-flag"
    assert "gate-numpy" in refused.wrong().values()
    source_log = (refused.tree.workspace / "logs/source.log").read_text()
    assert re.findall(r"^ *([^\s:]+):(?: +\d+){16}", source_log, re.MULTILINE) == ["lo"]


def test_a_python_that_is_not_the_locked_one_is_refused(refuse: Any) -> None:
    """CMake is told the locked interpreter and takes the distribution's: one spelling is right, one is not."""
    refused = refuse(
        "torch-with-another-python",
        prepare=[
            [
                "/bin/sed",
                "-i",
                "s|^if(NOT Python_EXECUTABLE)$|set(Python_EXECUTABLE /usr/bin/python3.13)\\n&|",
                "cmake/Dependencies.cmake",
            ]
        ],
        # The distribution's interpreter sees what the tree's generators import, or configure would end sooner.
        env={"PYTHONPATH": "/torchbuild/venv/lib/python3.13/site-packages"},
    )

    refused.must_be_clean()
    assert set(refused.wrong().values()) == {"gate-python"}
    assert any("_Python_EXECUTABLE=/usr/bin/python3.13" in line for line in refused.ended.error["why"])


MPI = {
    "bin/mpicc": '#!/bin/sh\nhere=${0%/bin/*}\ncase $1 in\n-showme:compile) echo "-I$here/include" ;;\n'
    '-showme:link) echo "-L$here/lib -lmpi" ;;\n*) exit 1 ;;\nesac\n',
    "include/mpi.h": '#define MPI_VERSION 3\n#define MPI_SUBVERSION 1\n#ifdef __cplusplus\nextern "C"\n#endif\n'
    'int MPI_Init(int *, char ***);\n#ifdef __cplusplus\nextern "C"\n#endif\nint MPI_Finalize(void);\n',
    "mpi.c": "int MPI_Init(int *c, char ***v) { return 0; }\nint MPI_Finalize(void) { return 0; }\n",
}
"""As much of an MPI as CMake asks for."""


def mpi_archive(path: Path) -> dict[str, str]:
    """The stand-in as an overlay."""
    with tarfile.open(path, "w") as archive:
        for name, text in (MPI | {"bin/mpicxx": MPI["bin/mpicc"]}).items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755 if name.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"archive": path.name, "sha256": digest, "to": "stand-in-mpi"}


def test_an_mpi_that_nobody_asked_for_is_refused(refuse: Any, tmp_path: Path) -> None:
    """An MPI lies on the builder and the tree takes whatever it finds: nobody asked for it."""
    refused = refuse(
        "torch-with-found-mpi",
        overlay=(mpi_archive(tmp_path / "mpi.tar"),),
        prepare=[
            ["/usr/bin/install", "-d", "stand-in-mpi/lib"],
            ["/usr/bin/gcc", "-shared", "-fPIC", "-o", "stand-in-mpi/lib/libmpi.so", "stand-in-mpi/mpi.c"],
            [
                "/bin/sed",
                "-i",
                "s|^if(USE_MPI)$|find_package(MPI)\\nif(MPI_CXX_FOUND)\\n  caffe2_update_option(USE_MPI ON)\\nendif()\\n&|",
                "cmake/Dependencies.cmake",
            ],
        ],
        env={"MPI_HOME": "/torchbuild/source/stand-in-mpi"},
    )

    refused.must_be_clean()
    assert refused.wrong() == {"USE_MPI": "gate-flag"}
    assert "MPI support found" in (refused.tree.workspace / "logs/configure.log").read_text()


# --- bytes that are not the ones that were named --------------------------------------------------------


def test_a_stored_archive_that_was_changed_is_refused(
    tmp_path: Path, base: Torchbuild, configured: Ended, downloads: Path
) -> None:
    """One byte of the source archive is another one, its size and time are not: both digests are named."""
    source = tomllib.loads(RECIPE.read_text())["source"]["sha256"]
    store, place = tmp_path / "store", Path("sha256", source[:2], source)
    shutil.copytree(downloads / "store", store, copy_function=os.link)
    content = bytearray((store / place).read_bytes())
    content[len(content) // 2] ^= 1
    before = (store / place).stat()
    (store / place).unlink()
    (store / place).write_bytes(content)
    os.utime(store / place, ns=(before.st_atime_ns, before.st_mtime_ns))
    tree = Torchbuild(tmp_path / "run", downloads, base.image)
    shutil.copyfile(base.lock, tree.lock)
    (tree.cache / "store").unlink()
    store.rename(tree.cache / "store")

    ended = tree.call("build", "--locked", "--until", "source")

    assert ended.code == 7, ended.out
    why = " ".join(ended.error["why"])
    assert source in why
    assert hashlib.sha256(content).hexdigest() in why
    assert not (tree.workspace / "root/source").exists()


def test_a_digest_that_the_publisher_does_not_have_is_refused(base: Torchbuild, tmp_path: Path) -> None:
    """A wrong sha256 in the recipe is refused before anything is fetched, and both digests are named."""
    right, wrong = tomllib.loads(RECIPE.read_text())["source"]["sha256"], "0" * 64

    ended = base.call("lock", "--set", f"source.sha256={wrong}", "--lock", str(tmp_path / "wrong.lock"))

    assert ended.code == 3, ended.out
    why = " ".join(ended.error["why"])
    assert right in why
    assert wrong in why
    assert not (tmp_path / "wrong.lock").exists()
