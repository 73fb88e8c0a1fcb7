"""Whose a variable is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torchbuild.errors import Problem
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.variables import BASE, variable_problems


@pytest.mark.parametrize(
    ("table", "path", "wanted"),
    [
        ("flags = { WERROR = true }", "build.flags.WERROR", "names with USE_ or BUILD_; others go to build.cmake"),
        ("flags = { CMAKE_BUILD_TYPE = 'x' }", "build.flags.CMAKE_BUILD_TYPE", "names with USE_ or BUILD_; others go to build.cmake"),
        ("flags = { USE_A = 1 }\ncmake = { USE_A = 1 }", "build.cmake.USE_A", "build.flags.USE_A alone: it is set twice"),
        ("cmake = { CMAKE_BUILD_TYPE = 'Debug' }", "build.cmake.CMAKE_BUILD_TYPE", "build.type"),
        ("cmake = { CMAKE_CXX_COMPILER = '/x' }", "build.cmake.CMAKE_CXX_COMPILER", "toolchain.cxx"),
        ("cmake = { Python_EXECUTABLE = '/x' }", "build.cmake.Python_EXECUTABLE", "python"),
        ("cmake = { CMAKE_MAKE_PROGRAM = '/x' }", "build.cmake.CMAKE_MAKE_PROGRAM", "nothing: torchbuild decides it"),
        ("env = { USE_MPI = '1' }", "build.env.USE_MPI", "build.flags.USE_MPI: configure is compared with it"),
        ("env = { CMAKE_CXX_FLAGS = '-g' }", "build.env.CMAKE_CXX_FLAGS", "build.cmake.CMAKE_CXX_FLAGS: configure is compared with it"),
        ("env = { CC = 'clang' }", "build.env.CC", "toolchain.cc"),
        ("env = { MAX_JOBS = '64' }", "build.env.MAX_JOBS", "machine.jobs"),
        ("env = { SOURCE_DATE_EPOCH = '1' }", "build.env.SOURCE_DATE_EPOCH", "source.epoch"),
        ("env = { PYTORCH_BUILD_VERSION = '1' }", "build.env.PYTORCH_BUILD_VERSION", "wheel.version and wheel.local"),
        ("env = { PATH = '/x' }", "build.env.PATH", "nothing: torchbuild decides it"),
        ("cmake = { ONNX_ML = true }\nenv = { ONNX_ML = '1' }", "build.env.ONNX_ML", "build.cmake.ONNX_ML alone: it is set twice"),
    ],
)  # fmt: skip
def test_a_variable_is_set_by_one_key(
    problem: Callable[..., Problem], least: str, table: str, path: str, wanted: str
) -> None:
    """What another key decides, or what nothing would compare, is sent to where it belongs."""
    found = problem(f"{least}[build]\n{table}\n")

    assert (found.path, found.wanted) == (path, wanted)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTHONPATH", "/opt/mine"),
        ("PYTHONPATH", "{venv}/lib:/opt/mine"),
        ("PYTHONPATH", "{source}:"),
        ("PYTHONPATH", "{work}/../opt/mine"),
        ("LD_PRELOAD", "/usr/lib/libfoo.so"),
        ("LD_PRELOAD", "{source}/a.so /usr/lib/libfoo.so"),
        ("LD_LIBRARY_PATH", "/opt/lib"),
        ("LD_LIBRARY_PATH", "{cache}/lib"),
        ("LD_AUDIT", "audit.so"),
        ("PYTHONHOME", "{venv}"),
        ("PYTHONSTARTUP", "{source}/start.py"),
        ("PIP_INDEX_URL", "https://example.org/simple"),
        ("PIP_NO_INDEX", "0"),
    ],
)
def test_nothing_comes_before_what_is_locked(
    problem: Callable[..., Problem], least: str, name: str, value: str
) -> None:
    """No variable puts code of the machine before the locked interpreter, or other packages in place of its own."""
    assert problem(f"{least}[build.env]\n{name} = '{value}'\n").path == f"build.env.{name}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTHONPATH", "{source}/tools"),
        ("PYTHONPATH", "/torchbuild/venv/lib/python3.13/site-packages:{work}"),
        ("LD_LIBRARY_PATH", "{venv}/lib:{source}/build/lib"),
        ("PYTHONWARNINGS", "ignore"),
    ],
)
def test_search_paths_within_the_build_are_free(
    load: Callable[..., Recipe], least: str, name: str, value: str
) -> None:
    """What is searched in the tree or in the build's own environment was locked."""
    assert list(variable_problems(load(f"{least}[build.env]\n{name} = '{value}'\n"))) == []


@pytest.mark.parametrize("where", ["cmake = { BLAS = 'MKL' }", "env = { BLAS = 'MKL' }"])
def test_blas_is_decided_once(
    problem: Callable[..., Problem], load: Callable[..., Recipe], least: str, where: str
) -> None:
    """With a BLAS table the variable is taken; without one it is free."""
    text = f"{least}[build]\n{where}\n"

    assert problem(text + "[blas]\n").wanted == "blas.provider"
    assert list(variable_problems(load(text))) == []


@pytest.mark.parametrize("name", BASE)
def test_what_every_process_sees_is_fixed(problem: Callable[..., Problem], least: str, name: str) -> None:
    """No recipe can take the build out of its scrubbed environment."""
    assert problem(f"{least}[build.env]\n{name} = 'x'\n").path == f"build.env.{name}"


def test_other_variables_are_free(load: Callable[..., Recipe], least: str) -> None:
    """Compiler flags, a tree's own variables and further definitions can be set."""
    recipe = load(f"""{least}[build]
flags = {{ USE_A = true, BUILD_B = 1 }}
cmake = {{ CMAKE_CXX_FLAGS = "-g", CMAKE_PREFIX_PATH = "/opt", ONNX_ML = true }}
env = {{ ONNX_NAMESPACE = "onnx", CFLAGS = "-O1", LDFLAGS = "-s", CCACHE_SLOPPINESS = "none" }}
""")

    assert list(variable_problems(recipe)) == []


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ("[build.env]\nSCCACHE_TOKEN = 'abcdef123456'", "build.env.SCCACHE_TOKEN"),
        ("[build.env]\nREMOTE = 'https://me:hunter2hunter2@cache.example'", "build.env.REMOTE"),
        ("[build.cmake]\nMIRROR = 'https://me:hunter2hunter2@x.example/'", "build.cmake.MIRROR"),
        (
            "[[source.prepare]]\nargv = ['get', 'https://me:hunter2hunter2@x.example']",
            "source.prepare[0].argv[1]",
        ),
        ("[build.env]\nREMOTE = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'", "build.env.REMOTE"),
        ("[build.env]\nOPTIONS = '--password hunter2hunter2'", "build.env.OPTIONS"),
        ("[build.flags]\nUSE_IT = 'glpat-abcdefghijklmnopqrst'", "build.flags.USE_IT"),
        ("[build.cmake]\nMIRROR = 'https://x.example/a?sig=0123456789abcdef'", "build.cmake.MIRROR"),
        (
            "[[source.prepare]]\nargv = ['get', '-H', 'Authorization: Bearer abcdef0123456789']",
            "source.prepare[0].argv[2]",
        ),
        ("[[source.prepare]]\nargv = ['get', '--token', 'abcdef0123456789']", "source.prepare[0].argv"),
    ],
)
def test_no_secret_gets_into_a_lock(
    problem: Callable[..., Problem], least: str, table: str, path: str
) -> None:
    """What is published with the wheel holds no password: it is refused where it is written, and not shown."""
    found = problem(f"{least}{table}\n")

    assert (found.path, found.seen) == (path, "a secret")


@pytest.mark.parametrize(
    "table",
    [
        "[build.env]\nSSH_KEY_FILE = '/home/me/key'\nTOKEN = 'on'\nGIT = 'ssh://git@host/x'",
        "[build.cmake]\nLLVM_PASS_PLUGIN = '/usr/lib/plugin.so'\nURL = 'https://host/x@1'",
    ],
)
def test_what_only_looks_like_a_secret_is_taken(load: Callable[..., Recipe], least: str, table: str) -> None:
    """Paths, switches and addresses without a password are no secrets, whatever they are called."""
    assert load(f"{least}{table}\n").name == "sample"
