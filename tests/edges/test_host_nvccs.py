"""Every nvcc that a build could meet, asked for itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_glances import Glances
from torchbuild.edges.host_nvccs import (
    Place,
    header_release,
    look_at_nvcc,
    nvcc_places,
    toolkit_told,
    version_told,
)
from torchbuild.edges.host_programs import Found, Programs

SAYS = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2024 NVIDIA Corporation
Built on Thu_Mar_28_02:18:24_PDT_2024
Cuda compilation tools, release 12.4, V12.4.131
Build cuda_12.4.r12.4/compiler.34097967_0
"""
NVCC = f"""#!/bin/sh
test -z "$NVCC_APPEND_FLAGS" || exit 9
case "$1" in
--version) cat <<END
{SAYS}END
;;
--list-gpu-arch) echo compute_50; echo compute_90; echo compute_90a;;
--dryrun) echo '#$ _HERE_=/x' >&2; echo '#$ TOP='"$TOOLKIT_OF_TEST"'/bin/..' >&2;;
esac
"""


@pytest.fixture
def glances() -> Iterator[Glances]:
    """With plenty of time."""
    with Glances(30) as made:
        yield made


def program(path: Path, text: str = NVCC) -> str:
    """A script that can be started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def toolkit(place: Path, number: str = "12040") -> Path:
    """A toolkit with a header."""
    program(place / "bin" / "nvcc", NVCC.replace('"$TOOLKIT_OF_TEST"', str(place)))
    (place / "include").mkdir()
    (place / "include" / "cuda.h").write_text(f"/* */\n#define CUDA_VERSION {number}\n")
    return place


def test_variables_come_before_path_and_path_before_shared_folders(tmp_path: Path) -> None:
    """In the order in which builds look; a path that two lead to stands where it is found first."""
    files = HostFiles(tmp_path)
    for name in ("usr/local/cuda-11.8", "usr/local/cuda-12.4", "opt/cuda", "usr/local/other"):
        program(tmp_path / name / "bin" / "nvcc")
    environ = {
        "CUDACXX": f"ccache {tmp_path}/usr/local/cuda-12.4/bin/nvcc",
        "CMAKE_CUDA_COMPILER": "nvcc",
        "CUDA_HOME": "/gone/cuda/",
        "CUDA_PATH": "",
    }
    own = "/usr/bin/nvcc"
    in_path = Programs([Found("nvcc", own, own)])

    assert nvcc_places(files, environ, in_path, "/recipe/bin/nvcc") == (
        Place("/recipe/bin/nvcc", "recipe"),
        Place(f"{tmp_path}/usr/local/cuda-12.4/bin/nvcc", "CUDACXX"),
        Place("/gone/cuda/bin/nvcc", "CUDA_HOME"),
        Place(own, "PATH"),
        Place(f"{tmp_path}/usr/local/cuda-11.8/bin/nvcc", "/usr/local"),
        Place(f"{tmp_path}/opt/cuda/bin/nvcc", "/opt"),
    )


def test_a_toolkits_own_says_everything(tmp_path: Path, glances: Glances) -> None:
    """Version, architectures, toolkit, and the release of the headers beside it."""
    place = toolkit(tmp_path / "cuda-12.4")
    (tmp_path / "cuda").symlink_to("cuda-12.4")
    seen = look_at_nvcc(Place(f"{tmp_path}/cuda/bin/nvcc", "PATH"), {"PATH": "/usr/bin:/bin"}, glances)

    assert (seen.version, seen.archs) == ("12.4.131", ("compute_50", "compute_90", "compute_90a"))
    assert (seen.real, seen.toolkit, seen.headers) == (f"{place}/bin/nvcc", str(place), "12.4")
    assert (seen.kind, seen.found_by, seen.why) == ("script", "PATH", "")


def test_behind_a_script_its_toolkit_is_found(tmp_path: Path, glances: Glances) -> None:
    """A distribution's or a user's wrapper lies elsewhere than what it starts."""
    place = toolkit(tmp_path / "cuda", "12060")
    shim = program(tmp_path / "bin" / "nvcc", f'#!/bin/sh\nexec {place}/bin/nvcc "$@"\n')
    seen = look_at_nvcc(Place(shim, "PATH"), {"PATH": "/usr/bin:/bin"}, glances)

    assert (seen.real, seen.toolkit) == (shim, str(place))
    assert (seen.version[:4], seen.headers) == ("12.4", "12.6")


def test_a_users_options_do_not_reach_it(tmp_path: Path, glances: Glances) -> None:
    """Options in variables would change what it says, or end it."""
    place = toolkit(tmp_path / "cuda")
    environ = {"PATH": "/usr/bin:/bin", "NVCC_APPEND_FLAGS": "--nonsense"}

    assert look_at_nvcc(Place(f"{place}/bin/nvcc", "PATH"), environ, glances).version == "12.4.131"


def test_a_cache_under_its_name_is_told_as_one(tmp_path: Path, glances: Glances) -> None:
    """One that finds no nvcc behind itself says why."""
    program(
        tmp_path / "ccache",
        "#!/bin/sh\necho 'ccache: error: Could not find compiler \"nvcc\" in PATH' >&2; exit 1\n",
    )
    (tmp_path / "nvcc").symlink_to("ccache")
    seen = look_at_nvcc(Place(f"{tmp_path}/nvcc", "PATH"), {}, glances)

    assert (seen.kind, seen.version, seen.archs) == ("cache", "", ())
    assert seen.why == 'ccache: error: Could not find compiler "nvcc" in PATH'


def test_another_program_of_that_name_is_told(tmp_path: Path, glances: Glances) -> None:
    """It says something, and not what an nvcc says."""
    other = program(tmp_path / "nvcc", "#!/bin/sh\necho nothing of the kind 12.4\n")
    seen = look_at_nvcc(Place(other, "PATH"), {}, glances)

    assert (seen.version, seen.why) == ("", "no version in what it says: 'nothing of the kind 12.4'")


def test_one_that_a_variable_names_and_that_is_not_there_is_told(tmp_path: Path, glances: Glances) -> None:
    """CMake would end at it, or go on without CUDA."""
    seen = look_at_nvcc(Place(f"{tmp_path}/bin/nvcc", "CUDA_HOME"), {}, glances)

    assert (seen.version, seen.why) == ("", "No such file or directory")


def test_one_that_hangs_is_told(tmp_path: Path) -> None:
    """As on a mount whose licence server or disk is gone."""
    hung = program(tmp_path / "nvcc", "#!/bin/sh\nexec sleep 50\n")
    began = time.monotonic()
    with Glances(0.8) as glances:
        seen = look_at_nvcc(Place(hung, "PATH"), {"PATH": "/usr/bin:/bin"}, glances)

    assert seen.why.startswith("no answer after")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (SAYS, "12.4.131"),
        ("Cuda compilation tools, release 8.0, V8.0.61\n", "8.0.61"),
        ("Cuda compilation tools, release 13.0, V13.0.88\n", "13.0.88"),
        ("release 12.4\n", ""),
        ("", ""),
    ],
    ids=["12.4", "8.0", "13.0", "half", "none"],
)
def test_the_version_is_the_whole_one(text: str, version: str) -> None:
    """Three numbers since long ago."""
    assert version_told(text) == version


def test_a_dry_run_tells_the_toolkit(tmp_path: Path) -> None:
    """Links in it are followed; other words are none."""
    (tmp_path / "cuda-12.4" / "bin").mkdir(parents=True)
    (tmp_path / "cuda").symlink_to("cuda-12.4")

    assert toolkit_told(f"#$ _HERE_=x\n#$ TOP={tmp_path}/cuda/bin/..\n") == f"{tmp_path}/cuda-12.4"
    assert toolkit_told("nvcc fatal   : Unknown option '--dryrun'\n") == ""


def test_headers_of_a_target_count_where_there_are_no_others(tmp_path: Path) -> None:
    """Package managers put them below the target's name; without any there is no release."""
    place = tmp_path / "targets/x86_64-linux/include"
    place.mkdir(parents=True)

    assert header_release(str(tmp_path)) == ""
    (place / "cuda.h").write_text("#define CUDA_VERSION 11080\n")
    assert header_release(str(tmp_path)) == "11.8"
