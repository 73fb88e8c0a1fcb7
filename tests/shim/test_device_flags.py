"""What nvcc will be handed, read out of ninja's files."""

from __future__ import annotations

from pathlib import Path

from torchbuild.shim.device_flags import device_entries, read_device_entries

RULES = """\
rule CXX_COMPILER__torch_unscanned_Release
  command = ${LAUNCHER}/usr/bin/g++ $FLAGS -c $in

rule CUDA_COMPILER__torch_cuda_unscanned_Release
  depfile = $DEP_FILE
  command = ${LAUNCHER}${CODE_CHECK}/usr/bin/nvcc -forward-unknown-to-host-compiler -ccbin=/usr/bin/cuda-g++ $DEFINES $FLAGS -x cu -c $in -o $out
"""
EDGE = """\
build a/{name}.cu.o: CUDA_COMPILER__torch_cuda_unscanned_Release /s/{name}.cu || order
  DEP_FILE = a/{name}.cu.o.d
  FLAGS = -O3 {flags} -std=c++17
"""
NINETY = "-gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90"


def entries(*flags: str, rules: str = RULES) -> dict[str, str]:
    """The entries of a build tree with one device object for each of `flags`."""
    edges = "".join(EDGE.format(name=f"k{number}", flags=flag) for number, flag in enumerate(flags))
    found = device_entries(rules.splitlines(), edges.splitlines())
    return {name: entry.value for name, entry in found.items()}


def test_the_device_compiler_and_its_host_compiler_are_those_of_the_rules() -> None:
    """A cache entry may be an echo of what was handed over; the command that will run is not."""
    found = entries(NINETY)

    assert found["NINJA_CUDA_COMPILER"] == "/usr/bin/nvcc"
    assert found["NINJA_CUDA_HOST_COMPILER"] == "/usr/bin/cuda-g++"


def test_what_every_object_gets_is_apart_from_what_some_get() -> None:
    """A tree compiles a few files for one chip more; all others for those that were asked for."""
    found = entries(NINETY, f"{NINETY} -gencode arch=compute_90a,code=sm_90a")

    assert found["NINJA_CUDA_CODE"] == "compute_90 sm_90"
    assert found["NINJA_CUDA_CODE_SOME"] == "sm_90a"


def test_the_short_and_the_long_form_are_one() -> None:
    """CMake's own form lists several codes in brackets, and quotes nothing."""
    found = entries(
        "--generate-code=arch=compute_75,code=[compute_75,sm_75]", "-gencode=arch=compute_75,code=sm_75"
    )

    assert found["NINJA_CUDA_CODE"] == "sm_75"
    assert found["NINJA_CUDA_CODE_SOME"] == "compute_75"


def test_an_object_without_an_architecture_is_told() -> None:
    """Nvcc would choose one by itself, and another with its next release."""
    found = entries(NINETY, "")

    assert found["NINJA_CUDA_CODE"] == ""
    assert found["NINJA_CUDA_CODE_SOME"] == "compute_90 none sm_90"


def test_a_rule_without_a_host_compiler_is_told() -> None:
    """Nvcc would take the first g++ of PATH."""
    rules = RULES.replace("-ccbin=/usr/bin/cuda-g++ ", "")

    assert entries(NINETY, rules=rules)["NINJA_CUDA_HOST_COMPILER"] == "none"


def test_a_tree_without_device_code_has_no_entries(tmp_path: Path) -> None:
    """A build for the CPU, and one that no ninja does, have nothing to tell."""
    assert entries() == {}
    assert read_device_entries(str(tmp_path)) == {}


def test_the_files_of_a_build_tree_are_read(tmp_path: Path) -> None:
    """The rules lie in a file of their own."""
    (tmp_path / "CMakeFiles").mkdir()
    (tmp_path / "CMakeFiles" / "rules.ninja").write_text(RULES)
    (tmp_path / "build.ninja").write_text(EDGE.format(name="k", flags=NINETY))

    assert read_device_entries(str(tmp_path))["NINJA_CUDA_CODE"].value == "compute_90 sm_90"
