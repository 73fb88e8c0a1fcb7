"""`torchbuild doctor`, with what this machine really has, and what a build makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Desk, Ran
from torchbuild.cli.explain import explanation
from torchbuild.cli.main import run_main

TORCH = """\
schema = 1
name = "asked"
[source]
git = "https://git.example/pytorch.git"
ref = "v2.6.0"
[wheel]
version = "2.6.0"
"""
CUDA = TORCH + '[cuda]\nversion = "12.4.1"\nfrom = "redist"\narchs = ["9.0"]\n'


def asked(desk: Desk, text: str, *argv: str) -> Ran:
    """`torchbuild doctor` of a recipe."""
    (desk.folder / "asked.toml").write_text(text, encoding="utf-8")
    return desk.run("doctor", "asked.toml", *argv)


def row(ran: Ran, reference: str) -> dict[str, Any]:
    """The one outcome of that reference."""
    (found,) = [item for item in ran.json["preflights"] if item["reference"] == reference]
    return dict(found)


def build_fetches_nothing(desk: Desk, *references: str) -> None:
    """The same recipe through `torchbuild build`: refused, and neither store nor workspace nor cache is there."""
    ended = desk.run("build", "asked.toml")

    assert ended.code in (4, 6)
    assert "error[preflight-refused-" in ended.err
    assert all(f"[{name}]" in ended.err for name in references)
    cached = [path for path in desk.places.cache.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert cached == []
    assert not desk.places.builds.exists()


def test_the_machine_alone_can_be_asked(desk: Desk) -> None:
    """Everything that a recipe could need, in one look; nothing is made."""
    ended = desk.run("doctor", "--json")

    assert ended.json["recipe"] is None
    assert {item["concern"] for item in ended.json["preflights"]} >= {"space", "memory", "engine"}
    assert ended.json["host"]["cores"] >= 1
    assert not desk.places.builds.exists()


def test_a_toolkit_newer_than_the_target_s_driver_is_caught(desk: Desk) -> None:
    """Trap one: CUDA 12.4 for a target with driver 470. The machine has no GPU, and need not."""
    ended = asked(desk, CUDA + '[target]\ndriver = "470"\n', "--json")

    found = row(ended, "toolkit-newer-than-driver")
    assert (ended.code, found["outcome"]) == (4, "failed")
    assert "525" in found["seen"] + found["wanted"]
    assert "470" in found["seen"] + found["wanted"] + found["what"]
    build_fetches_nothing(desk, "toolkit-newer-than-driver")


def test_an_nvcc_that_cannot_target_the_architecture_is_caught(desk: Desk, tmp_path: Path) -> None:
    """Trap one, the real compiler: what its folder is called does not count, what it lists does."""
    toolkit = tmp_path / "cuda"
    (toolkit / "bin").mkdir(parents=True)
    program = toolkit / "bin" / "nvcc"
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        "--version) echo 'Cuda compilation tools, release 12.4, V12.4.131';;\n"
        "--list-gpu-arch) printf 'compute_50\\ncompute_80\\n';;\n"
        "esac\n"
    )
    program.chmod(0o755)
    text = CUDA.replace('from = "redist"', f'from = "system"\npath = "{toolkit}"')

    ended = asked(desk, text, "--json")

    found = row(ended, "nvcc-architectures")
    assert (ended.code, found["outcome"]) == (4, "failed")
    assert found["wanted"] == "compute_90"
    build_fetches_nothing(desk, "nvcc-architectures")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A real virtual environment, without NumPy."""
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


def with_python(path: Path, version: str = "") -> str:
    """The recipe with that interpreter."""
    release = f'version = "{version}"\n' if version else ""
    return TORCH + f'[python]\nfrom = "path"\npath = "{path}"\n{release}'


def test_a_virtual_environment_of_another_release_is_caught(desk: Desk, environment: Path) -> None:
    """Trap two: the recipe is for a Python that this environment is not."""
    ended = asked(desk, with_python(environment, "3.9"), "--json")

    found = row(ended, "interpreter-of-recipe")
    assert (ended.code, found["outcome"]) == (4, "failed")
    assert found["seen"] == ".".join(map(str, sys.version_info[:3]))
    build_fetches_nothing(desk, "interpreter-of-recipe")


def test_a_virtual_environment_whose_base_is_gone_is_caught(desk: Desk, environment: Path) -> None:
    """Trap two: the base moved, and the link leads nowhere."""
    environment.unlink()
    environment.symlink_to("/nowhere/bin/python3")

    ended = asked(desk, with_python(environment), "--json")

    assert (ended.code, row(ended, "interpreter-of-recipe")["outcome"]) == (6, "failed")
    build_fetches_nothing(desk, "interpreter-of-recipe")


def test_a_virtual_environment_without_headers_is_caught(desk: Desk, tmp_path: Path) -> None:
    """Trap two: no Python.h where it says, as without the development package of its base."""
    base = tmp_path / "base"
    (base / "bin").mkdir(parents=True)
    real = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    shutil.copy2(real, base / "bin" / real.name)
    (base / "lib").symlink_to(real.parents[1] / "lib")  # no include beside it
    python = tmp_path / "other" / "bin" / "python"
    subprocess.run([base / "bin" / real.name, "-m", "venv", "--without-pip", python.parents[1]], check=True)

    ended = asked(desk, with_python(python), "--json")

    assert (ended.code, row(ended, "interpreter-headers")["outcome"]) == (6, "failed")
    build_fetches_nothing(desk, "interpreter-headers")


def test_a_virtual_environment_without_numpy_is_told(desk: Desk, environment: Path) -> None:
    """Trap two: who builds by hand in it gets a torch without NumPy; a build here brings its own, by digest."""
    ended = asked(desk, with_python(environment), "--json")

    found = row(ended, "numpy-for-torch")
    assert (found["outcome"], found["seen"]) == ("warned", "no NumPy")
    assert "numpy>=2" in found["wanted"]


def test_an_nccl_for_another_cuda_is_caught(desk: Desk) -> None:
    """Trap three: +cuda12.2 beside CUDA 11.8."""
    archive = "https://mirror.example/nccl_2.18.3-1+cuda12.2_x86_64.txz"
    text = CUDA.replace("12.4.1", "11.8.0") + (
        f'[nccl]\nfrom = "tarball"\nversion = "2.18.3"\narchive = "{archive}"\nsha256 = "{"0" * 64}"\n'
    )

    ended = asked(desk, text, "--json")

    found = row(ended, "library-for-other-cuda")
    assert (ended.code, found["outcome"]) == (4, "failed")
    assert found["seen"].startswith("CUDA 12.2")
    build_fetches_nothing(desk, "library-for-other-cuda")


def test_the_machine_s_own_nccl_for_another_cuda_is_caught(desk: Desk, tmp_path: Path) -> None:
    """Trap three: header and library of this machine are asked themselves, before anything is fetched."""
    prefix = tmp_path / "nccl"
    (prefix / "include").mkdir(parents=True)
    (prefix / "lib").mkdir()
    defines = "".join(f"#define NCCL_{name} {n}\n" for name, n in (("MAJOR", 2), ("MINOR", 18), ("PATCH", 3)))
    (prefix / "include" / "nccl.h").write_text(defines)
    (prefix / "lib" / "libnccl.so").write_bytes(b"\0NCCL version 2.18.3+cuda12.2\0")
    text = (
        CUDA.replace("12.4.1", "11.8.0") + f'[nccl]\nfrom = "system"\nversion = "2.18.3"\npath = "{prefix}"\n'
    )

    ended = asked(desk, text, "--json")

    found = row(ended, "library-cuda")
    assert (found["outcome"], found["seen"], found["wanted"]) == ("failed", "12.2", "11.x")
    build_fetches_nothing(desk, "library-cuda")


def test_failures_come_first_with_what_to_do(desk: Desk) -> None:
    """A person reads the top of it; a pipe gets no colours."""
    ended = asked(desk, CUDA + '[target]\ndriver = "470"\n')

    lines = ended.out.splitlines()
    assert "toolkit-newer-than-driver  failed: " in lines[1]
    assert [line.split()[0] for line in lines[2:5]] == ["seen", "wanted", "fix"]
    assert "\x1b" not in ended.out
    assert lines[-1].startswith("1 failed, ")


def test_a_recipe_without_a_driver_is_not_passed(desk: Desk) -> None:
    """Not run, with what to set; and nothing failed."""
    found = row(asked(desk, CUDA, "--json"), "target-driver")

    assert found["outcome"] == "not run"
    assert found["fix"]


def test_every_name_can_be_explained(desk: Desk) -> None:
    """What doctor names, `torchbuild explain` knows."""
    ended = asked(desk, CUDA + '[target]\ndriver = "470"\n', "--json")

    for item in ended.json["preflights"]:
        assert explanation(item["reference"]).taken_as == "reference"


def test_options_of_a_recipe_need_one(desk: Desk) -> None:
    """They would be ignored without a word."""
    ended = desk.run("doctor", "--target-is-host")

    assert ended.code == 2
    assert "error[doctor-options]" in ended.err


def test_a_lock_that_is_named_must_be_fresh(desk: Desk) -> None:
    """Without --lock a missing one is no error: nothing is locked yet."""
    assert desk.run("doctor", "tiny.toml").code == 0
    assert desk.run("doctor", "tiny.toml", "--lock", "other.lock").code == 5


def test_keys_can_be_set(desk: Desk) -> None:
    """As in a build."""
    ended = asked(desk, CUDA, "--json", "--set", 'target.driver="470"')

    assert row(ended, "toolkit-newer-than-driver")["outcome"] == "failed"


def test_a_build_goes_on_in_spite_of_what_is_named(desk: Desk) -> None:
    """And fails later of what it was warned of, or does not: here the source cannot be reached."""
    asked(desk, CUDA + '[target]\ndriver = "470"\n[python]\nfrom = "path"\npath = "/nowhere/python"\n')

    ended = desk.run("build", "asked.toml", "--despite", "toolkit-newer-than-driver")

    assert "[toolkit-newer-than-driver]" not in ended.err
    assert "[interpreter-of-recipe]" in ended.err


def test_what_is_overridden_is_in_report_and_provenance(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads the wheel's papers knows it."""
    desk.lock()
    (desk.folder / "tree" / "build").mkdir()
    (desk.folder / "tree" / "build" / "CMakeCache.txt").write_text("USE_CUDA:BOOL=OFF\n")
    desk.lock()

    refused = desk.run("build", "tiny.toml", "--until", "fetch")
    ended = desk.run("build", "tiny.toml", "--until", "fetch", "--despite", "source-stale-cache", "--json")

    assert refused.code == 4
    assert "[source-stale-cache]" in refused.err
    assert ended.code == 0, ended.err
    assert "preflight-overridden: source-stale-cache" in ended.err
    report = json_of(desk.only_run() / "report.json")
    assert report["despite"] == ["source-stale-cache"]
    assert {
        item["outcome"] for item in report["preflights"] if item["reference"] == "source-stale-cache"
    } == {"failed"}


def json_of(path: Path) -> Any:
    """A document."""
    import json

    return json.loads(path.read_text(encoding="utf-8"))


def test_a_build_with_nothing_to_do_looks_at_nothing(desk: Desk) -> None:
    """Its report holds no preflight; it stays as cheap as it was."""
    desk.lock()

    first = desk.run("build", "tiny.toml", "--until", "fetch")
    seen = json_of(desk.only_run() / "report.json")["preflights"]
    second = desk.run("build", "tiny.toml", "--until", "fetch")

    assert (first.code, second.code) == (0, 0)
    assert seen
    assert json_of(desk.only_run() / "report.json")["preflights"] == []


def test_it_is_quick(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two seconds are promised without a GPU; a busy machine may take some more here."""
    begin = time.monotonic()

    assert run_main(["doctor"]) == 0

    assert time.monotonic() - begin < 10
    assert capsys.readouterr().out


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch, machine: Path) -> None:
    """NO_COLOR is respected."""
    monkeypatch.setenv("NO_COLOR", "1")
    read, write = os.openpty()
    with os.fdopen(write, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run_main(["doctor"]) == 0
    text = os.read(read, 100_000).decode(errors="replace")
    os.close(read)

    assert "\x1b" not in text
