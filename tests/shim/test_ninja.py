"""The shim as a program: a small CMake project, configured and built by the real CMake and the real ninja."""

from __future__ import annotations

import ast
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.model.command import BUILD_ROOT
from torchbuild.shim.ninja import REFUSED, STOPPED_AFTER_CONFIGURE, split_arguments
from torchbuild.stages.toolchain import SHIM

PACKAGE = Path(__file__).parents[2] / "torchbuild" / "shim"
CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.18)
project(sample C)
option(USE_A "" OFF)
include("${CMAKE_SOURCE_DIR}/more.cmake" OPTIONAL)
add_library(one STATIC one.c)
add_library(two STATIC two.c)
add_executable(program main.c)
target_link_libraries(program one two)
add_custom_target(wait COMMAND sh -c "echo $$ > ${CMAKE_SOURCE_DIR}/started; exec sleep 300" VERBATIM)
add_custom_target(note ALL COMMAND sh -c "echo log=$CCACHE_STATSLOG > note.txt" VERBATIM)
"""
EXPECT = [{"reference": "gate-flag", "key": "USE_A", "kind": "switch", "value": "OFF", "why": "me"}]
Done = subprocess.CompletedProcess[str]


class Site:
    """What the toolchain stage lays down, in a folder of its own."""

    def __init__(self, root: Path, cmake: str) -> None:
        self.root, self.cmake = root, cmake
        self.source, self.build, self.shim = root / "source", root / "source" / "build", root / "shim"
        self.ninja = root / "venv" / "bin" / "ninja"
        self.ninja.parent.mkdir(parents=True)
        self.source.mkdir()
        shutil.copytree(PACKAGE, self.shim / "torchbuild_shim", ignore=shutil.ignore_patterns("__pycache__"))
        (self.shim / "ninja-real").symlink_to(Path(sysconfig.get_path("scripts")) / "ninja")
        (root / "venv" / "bin" / "python").symlink_to(sys.executable)
        self.ninja.write_text(SHIM.replace(BUILD_ROOT, str(root)), encoding="utf-8")
        self.ninja.chmod(0o755)
        self.write("CMakeLists.txt", CMAKE_LISTS)
        self.write("one.c", "int one(void) { return 1; }\n")
        self.write("two.c", "int two(void) { return 2; }\n")
        self.write("main.c", "int one(void); int two(void); int main(void) { return one() + two() - 3; }\n")

    def write(self, name: str, text: str) -> None:
        """A file of the project."""
        (self.source / name).write_text(text, encoding="utf-8")

    def order(self, mode: str, **more: Any) -> None:
        """What a stage writes before it starts the front end."""
        order = {"mode": mode, "build_dir": str(self.build), "expect": EXPECT, **more}
        (self.shim / "order.json").write_text(json.dumps(order), encoding="utf-8")

    def environ(self) -> Mapping[str, str]:
        """The environment of a build: our ninja is the first on PATH."""
        return {"PATH": f"{self.ninja.parent}:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

    def run(self, *argv: str, cwd: Path | None = None) -> Done:
        """Run to the end."""
        return subprocess.run(
            argv,
            cwd=cwd or self.root,
            env=self.environ(),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def configure(self, *options: str) -> Done:
        """As a front end configures."""
        argv = (self.cmake, "-G", "Ninja", "-S", str(self.source), "-B", str(self.build), *options)
        return self.run(*argv)

    def call(self, *arguments: str) -> Done:
        """Call ninja in the build directory, as CMake does."""
        return self.run(str(self.ninja), *arguments, cwd=self.build)

    def left(self, name: str) -> dict[str, Any]:
        """What the shim left for the stage."""
        value: dict[str, Any] = json.loads((self.shim / name).read_text(encoding="utf-8"))
        return value

    def objects(self) -> set[str]:
        """What was compiled in the build tree itself."""
        return {path.name for path in self.build.glob("CMakeFiles/*.dir/**/*.o")}

    def logged(self) -> int:
        """How many edges ninja says it ran."""
        log = self.build / ".ninja_log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return len([line for line in lines if not line.startswith("#")])


@pytest.fixture
def site(tmp_path: Path, cmake: str) -> Site:
    """A project that is not configured yet."""
    return Site(tmp_path, cmake)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, cmake: str) -> tuple[Site, Path]:
    """A project that is configured as asked, and a copy of it from which it can be made anew."""
    folder = tmp_path_factory.mktemp("site")
    site = Site(folder / "root", cmake)
    site.order("gate")
    done = site.configure()
    assert done.returncode == 0, done.stderr
    shutil.copytree(site.root, folder / "copy", symlinks=True)
    return site, folder / "copy"


@pytest.fixture
def configured(template: tuple[Site, Path]) -> Site:
    """A project that is configured as asked, with the shim under orders to stop at the gate."""
    site, copy = template
    shutil.rmtree(site.root)
    shutil.copytree(copy, site.root, symlinks=True)
    return site


def test_configure_meets_no_gate(configured: Site) -> None:
    """CMake's own compiler checks build in scratch directories: they run as if the shim were not there."""
    cache = (configured.build / "CMakeCache.txt").read_text(encoding="utf-8")

    assert f"CMAKE_MAKE_PROGRAM:FILEPATH={configured.ninja}" in cache
    assert (configured.build / "build.ninja").exists()
    assert not (configured.shim / "gate.json").exists()
    assert configured.objects() == set()


@pytest.mark.parametrize("how", ["ninja", "ninja -C", "ninja -Cdir", "cmake --build", "target"])
def test_the_first_build_call_meets_the_gate(configured: Site, how: str) -> None:
    """In gate mode nothing is compiled, however the front end calls ninja, and what was compared is left behind."""
    build = str(configured.build)
    argv = {
        "ninja": (str(configured.ninja),),
        "ninja -C": (str(configured.ninja), "-v", "-C", build, "all"),
        "ninja -Cdir": (str(configured.ninja), f"-vC{build}"),
        "cmake --build": (configured.cmake, "--build", build),
        "target": (configured.cmake, "--build", ".", "--target", "program", "--", "-j", "2", "-v"),
    }[how]

    done = configured.run(*argv, cwd=configured.build)

    assert done.returncode == (90 if argv[0] != configured.cmake else done.returncode) != 0
    assert "stopped before compiling, as asked" in done.stderr
    (finding,) = configured.left("gate.json")["findings"]
    assert (finding["outcome"], finding["what"]) == ("passed", "USE_A (me)")
    assert configured.objects() == set()
    assert configured.logged() == 0


@pytest.mark.parametrize("mode", ["gate", "build"])
def test_a_refusal_comes_before_any_object(configured: Site, mode: str) -> None:
    """What is not as asked ends the build with nothing compiled, and is told by name."""
    site = configured
    site.order(mode)
    assert site.configure("-DUSE_A=ON").returncode == 0

    done = site.call()

    assert done.returncode == 91
    assert "the gate refuses [gate-flag] USE_A (me): wanted OFF, got ON: ON (BOOL)" in done.stderr
    assert site.left("gate.json")["findings"][0]["outcome"] == "failed"
    assert site.objects() == set()
    assert site.logged() == 0
    assert not (site.shim / "compile.json").exists()


def test_a_tree_without_a_cache_is_refused(site: Site) -> None:
    """Where there is nothing to compare, nothing is compiled."""
    site.order("build")
    site.build.mkdir()

    done = site.call()

    assert done.returncode == 91
    assert "nothing to compare" in done.stderr


@pytest.mark.parametrize("mode", ["gate", "build"])
def test_a_ninja_that_takes_no_tokens_is_refused(configured: Site, mode: str) -> None:
    """One that is too old for a jobserver would start as many jobs as it likes: it starts none."""
    configured.order(mode)
    real = configured.shim / "ninja-real"
    real.unlink()
    real.write_text("#!/bin/sh\necho 1.12.1.git.kitware.jobserver-1\n", encoding="utf-8")
    real.chmod(0o755)

    done = configured.call()

    assert done.returncode == 91
    assert "[gate-ninja] ninja: wanted 1.13 or newer" in done.stderr
    assert "got 1.12.1.git" in done.stderr
    assert configured.left("gate.json")["findings"][-1]["reference"] == "gate-ninja"
    assert configured.objects() == set()


def test_in_build_mode_it_compiles_and_measures(configured: Site) -> None:
    """When all is as asked the real ninja runs, and what it took is left behind."""
    configured.order("build", target=None, statslog=None)

    done = configured.call("-j", "2")

    assert done.returncode == 0, done.stderr
    assert configured.objects() == {"one.c.o", "two.c.o", "main.c.o"}
    assert configured.run(str(configured.build / "program")).returncode == 0
    usage = configured.left("compile.json")
    assert usage["exit_code"] == 0
    assert usage["seconds"] > 0
    assert usage["user_seconds"] + usage["system_seconds"] > 0
    assert usage["largest_process_bytes"] > 1_000_000
    assert usage["peak_memory_bytes"] > 1_000_000
    assert not list(configured.shim.glob("*.tmp"))


def test_a_failed_compile_is_a_failed_build(configured: Site) -> None:
    """Errors of the compiler are shown and end the front end; what was used is told all the same."""
    configured.write("two.c", "int two(void) { return }\n")
    configured.order("build")

    done = configured.call("-k", "0")

    assert done.returncode == 1
    assert "FAILED: " in done.stdout
    assert "error: expected expression" in done.stdout
    assert configured.left("compile.json")["exit_code"] == 1
    assert "one.c.o" in configured.objects()


@pytest.mark.parametrize(
    ("target", "objects"),
    [
        ("one", {"one.c.o"}),
        ("CMakeFiles/two.dir/two.c.o", {"two.c.o"}),
        ("program", {"one.c.o", "two.c.o", "main.c.o"}),
    ],
)
def test_a_target_alone_is_built(configured: Site, target: str, objects: set[str]) -> None:
    """With a target the front end's own is replaced, and the stop is told apart from a whole build."""
    configured.order("build", target=target)

    done = configured.call("-v", "install")

    assert done.returncode == 92, done.stdout
    assert f"built {target}; stopped, as asked" in done.stderr
    assert configured.objects() == objects
    assert configured.left("compile.json")["exit_code"] == 0


@pytest.mark.parametrize("before", [(), ("--",)])
def test_a_target_is_never_an_option(configured: Site, before: tuple[str, ...]) -> None:
    """What looks like an option is a target that ninja does not know: nothing is built, and nothing is asked."""
    configured.order("build", target="-h")

    done = configured.call(*before)

    assert done.returncode not in (0, 92)
    assert "unknown target '-h'" in done.stderr + done.stdout
    assert not configured.objects()


def test_a_target_that_fails_is_no_stop(configured: Site) -> None:
    """A target that does not exist is ninja's error and not a success."""
    configured.order("build", target="nonsense")

    done = configured.call()

    assert done.returncode == 1
    assert "nonsense" in done.stdout + done.stderr


def test_without_orders_it_is_ninja(configured: Site) -> None:
    """In an environment that no stage has given orders to, ninja is ninja: `torchbuild shell` can build."""
    (configured.shim / "order.json").unlink()

    done = configured.call("one")

    assert done.returncode == 0
    assert configured.objects() == {"one.c.o"}
    assert not (configured.shim / "gate.json").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("-t", "targets"),
        ("-t", "clean", "-r", "none"),
        ("-ttargets",),
        ("--version",),
        ("--vers",),
        ("--help",),
        ("-h",),
        ("-n",),
        ("-nv", "all"),
        ("-d", "list"),
        ("-C", "CMakeFiles", "--version"),
    ],
)
def test_questions_are_answered_by_ninja(configured: Site, arguments: tuple[str, ...]) -> None:
    """What only asks, or only says what it would do, meets no gate and gets ninja's own answer."""
    done = configured.call(*arguments)
    real = configured.run(str(configured.shim / "ninja-real"), *arguments, cwd=configured.build)

    assert (done.returncode, done.stdout, done.stderr) == (real.returncode, real.stdout, real.stderr)
    assert not (configured.shim / "gate.json").exists()


def test_another_build_directory_is_none_of_its_business(configured: Site, tmp_path: Path) -> None:
    """A project inside the project, built while the outer one is, is built."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "build.ninja").write_text("rule r\n  command = touch $out\nbuild made: r\n", encoding="utf-8")

    assert configured.call("-C", str(other)).returncode == 0
    assert (other / "made").exists()


def test_the_way_to_the_build_directory_does_not_matter(configured: Site, tmp_path: Path) -> None:
    """A link to the build directory does not lead around the gate."""
    link = tmp_path / "link"
    link.symlink_to(configured.build)

    assert configured.run(str(configured.ninja), "-C", str(link)).returncode == 90


def test_a_configuration_that_changes_on_the_way_is_compared(configured: Site) -> None:
    """Ninja lets CMake run again when its files changed: that happens before the comparison and not after it."""
    assert configured.call().returncode == 90
    configured.write("more.cmake", 'set(USE_A ON CACHE BOOL "" FORCE)\n')
    configured.write("CMakeLists.txt", CMAKE_LISTS + "# changed\n")
    later = (configured.build / "build.ninja").stat().st_mtime + 5
    os.utime(configured.source / "CMakeLists.txt", (later, later))
    configured.order("build")

    done = configured.call()

    assert done.returncode == 91, done.stdout
    assert configured.objects() == set()


def test_a_configuration_that_fails_on_the_way_ends_the_build(configured: Site) -> None:
    """CMake's error is shown, and nothing is compiled with what was there before."""
    configured.write("CMakeLists.txt", CMAKE_LISTS + 'message(FATAL_ERROR "not like this")\n')
    later = (configured.build / "build.ninja").stat().st_mtime + 5
    os.utime(configured.source / "CMakeLists.txt", (later, later))
    configured.order("build")

    done = configured.call()

    assert done.returncode == 1
    assert "not like this" in done.stderr
    assert configured.objects() == set()


def test_a_tree_that_never_configures_again_is_built(configured: Site) -> None:
    """A tree may forbid CMake to run again; it is built as it was configured."""
    site = configured
    site.order("build")
    assert site.configure("-DCMAKE_SUPPRESS_REGENERATION=ON").returncode == 0

    assert "build build.ninja" not in (site.build / "build.ninja").read_text(encoding="utf-8")
    assert site.call("one").returncode == 0


def test_the_compiler_caches_log_is_of_the_build_alone(configured: Site, tmp_path: Path) -> None:
    """The compiler cache is told to count where the build begins, and not for CMake's own checks."""
    configured.order("build", statslog=str(tmp_path / "stats.log"))

    assert configured.call().returncode == 0
    assert (configured.build / "note.txt").read_text() == f"log={tmp_path}/stats.log\n"
    assert "CCACHE_STATSLOG" not in configured.environ()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_ninja_and_what_it_runs(configured: Site, number: signal.Signals) -> None:
    """Stopping the shim stops the compilers: nothing is left running behind a build that was ended."""
    os.mkfifo(configured.source / "started")
    pipe = os.open(configured.source / "started", os.O_RDWR)
    configured.order("build")
    argv = [configured.ninja, "wait"]
    with subprocess.Popen(
        argv, cwd=configured.build, env=configured.environ(), stdout=subprocess.DEVNULL
    ) as shim:
        assert select.select([pipe], [], [], 60)[0], "it never began"
        running = os.pidfd_open(int(os.read(pipe, 20)))
        shim.send_signal(number)
        ended, _, _ = select.select([running], [], [], 60)

    assert ended
    assert shim.returncode not in (0, None)
    assert configured.left("compile.json")["exit_code"] == shim.returncode


@pytest.mark.parametrize(
    ("arguments", "options", "targets", "directory", "query"),
    [
        ([], [], [], ".", False),
        (["all"], [], ["all"], ".", False),
        (["-j", "4", "install", "-v"], ["-j", "4", "-v"], ["install"], ".", False),
        (["-j4", "-k0", "-l", "2"], ["-j4", "-k0", "-l", "2"], [], ".", False),
        (["-C", "/b", "all"], ["-C", "/b"], ["all"], "/b", False),
        (["-C/b", "-C", "/c"], ["-C/b", "-C", "/c"], [], "/c", False),
        (["-vC", "/b"], ["-vC", "/b"], [], "/b", False),
        (["-vC/b", "x"], ["-vC/b"], ["x"], "/b", False),
        (["-f", "other.ninja"], ["-f", "other.ninja"], [], ".", False),
        (["--verbose", "--quiet"], ["--verbose", "--quiet"], [], ".", False),
        (["-w", "dupbuild=err", "-d", "stats"], ["-w", "dupbuild=err", "-d", "stats"], [], ".", False),
        (["-w", "list"], ["-w", "list"], [], ".", True),
        (["--", "-n", "-t"], ["--"], ["-n", "-t"], ".", False),
        (["-"], [], ["-"], ".", False),
        (["-v", "-n"], ["-v", "-n"], [], ".", True),
        (["-vn", "all"], ["-vn"], ["all"], ".", True),
        (["-fn"], ["-fn"], [], ".", False),
        (["-Cn"], ["-Cn"], [], "n", False),
        (["-C", "/b", "-t", "clean", "-n"], ["-C", "/b", "-t", "clean", "-n"], [], "/b", True),
        (["-j"], ["-j"], [], ".", False),
        (["--version"], ["--version"], [], ".", True),
        (["--ver"], ["--ver"], [], ".", False),
    ],
)  # fmt: skip
def test_arguments_are_read_as_ninja_reads_them(
    arguments: list[str], options: list[str], targets: list[str], directory: str, query: bool
) -> None:
    """Letters that stand together, attached values and targets in any place are understood."""
    assert split_arguments(arguments) == (options, targets, directory, query)


@given(st.lists(st.text(alphabet="-Cntvjkh x/", max_size=5), max_size=6))
def test_no_argument_is_lost(arguments: list[str]) -> None:
    """Every argument is an option or a target, in its order: what the front end asked for is what ninja gets."""
    options, targets, _, _ = split_arguments(arguments)

    assert sorted(options + targets) == sorted(arguments)
    assert [item for item in arguments if item in options] == [
        item for item in arguments if item in set(options)
    ]


FILES = sorted(PACKAGE.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_the_shim_runs_on_old_interpreters(file: Path) -> None:
    """The files that are copied into a build have the syntax of Python 3.8."""
    ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_the_shim_needs_nothing_installed(file: Path) -> None:
    """They import the standard library and one another, and nothing of the package or of the environment."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules: set[str] = set()
    for node in ast.walk(tree):
        modules |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
        modules |= {node.module or ""} if isinstance(node, ast.ImportFrom) and node.level == 0 else set()

    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names


def test_what_the_stage_lays_down_is_what_was_tried(site: Site) -> None:
    """The program tried here is the one of the toolchain stage, with other paths."""
    text = site.ninja.read_text(encoding="utf-8")

    assert text.startswith(f"#!{site.root}/venv/bin/python -IS\n")
    assert str(site.shim) in text


@pytest.fixture
def stamped(configured: Site) -> Site:
    """Configured, with the compiler's own file and flags in the tree's fingerprint, and built to the end."""
    site = configured
    compiler = site.root / "cc1"
    compiler.write_bytes(b"as it was")
    (site.shim / "tools.json").write_text(json.dumps([str(compiler)]), encoding="utf-8")
    site.order("gate", fingerprint={"variable CFLAGS": "-O2"})
    assert site.call().returncode == STOPPED_AFTER_CONFIGURE
    site.order("build", fingerprint={"variable CFLAGS": "-O2"})
    assert site.call().returncode == 0
    return site


def test_an_unchanged_tree_is_gone_on_with(stamped: Site) -> None:
    """Not one edge runs again."""

    def made() -> list[str]:
        lines = (stamped.build / ".ninja_log").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if "note" not in line]  # a target that is made each time

    before = made()

    assert stamped.call().returncode == 0
    assert made() == before


@pytest.mark.parametrize("change", ["compiler", "flags", "nothing known"])
def test_a_tree_of_something_else_is_refused_before_one_edge(stamped: Site, change: str) -> None:
    """A compiler that was replaced in place, another flag, a fingerprint that is gone: named, and nothing is made."""
    stamped.write("one.c", "int one(void) { return 3; }\n")
    before, asked = stamped.logged(), {"variable CFLAGS": "-O3" if change == "flags" else "-O2"}
    if change == "compiler":
        (stamped.root / "cc1").write_bytes(b"as it is")
    if change == "nothing known":
        (stamped.build / ".torchbuild-fingerprint.json").unlink()
    stamped.order("build", fingerprint=asked)

    done = stamped.call()

    (finding,) = stamped.left("gate.json")["findings"]
    named = {"compiler": str(stamped.root / "cc1"), "flags": "variable CFLAGS"}
    assert done.returncode == REFUSED
    assert finding["reference"] == "tree-fingerprint"
    assert finding["what"] == named.get(change, "the build tree does not say what it was made with")
    assert finding["what"] in done.stderr
    assert stamped.logged() == before


def test_killed_after_the_fingerprint_the_tree_begins(configured: Site) -> None:
    """Nothing was made by then: it is gone on with, and what it says is what it will hold."""
    configured.order("gate", fingerprint={"GPU architectures": "8.0"})
    assert configured.call().returncode == STOPPED_AFTER_CONFIGURE
    assert configured.objects() == set()

    configured.order("build", fingerprint={"GPU architectures": "9.0"})
    assert configured.call().returncode == REFUSED
    configured.order("build", fingerprint={"GPU architectures": "8.0"})

    assert configured.call().returncode == 0
