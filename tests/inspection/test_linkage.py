"""The loader finds every library, where it was shipped, and each only once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.wheel import inspect_wheel


def _outcomes(wheel: Path, expected: ExpectedWheel, reference: str) -> list[tuple[str, str]]:
    return [
        (finding.outcome, finding.what)
        for finding in inspect_wheel(wheel, expected)
        if finding.reference == reference and finding.outcome != "passed"
    ]


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("runpath", "$ORIGIN/lib"),
        ("rpath", "$ORIGIN/lib"),
        ("runpath", "${ORIGIN}/lib"),
        ("runpath", "$ORIGIN:$ORIGIN/../torch/lib"),
        ("runpath", "$ORIGIN/./lib/"),
    ],
)
def test_library_beside_is_found(
    make_wheel: Callable[..., Path],
    make_elf: Callable[..., bytes],
    expected: ExpectedWheel,
    field: str,
    path: str,
) -> None:
    """However a run path spells the folder, the library in it is found."""
    members = {
        "torch/_C.so": make_elf(needed=("libc10.so",), **{field: path}),
        "torch/lib/libc10.so": make_elf(soname="libc10.so"),
    }

    assert _outcomes(make_wheel(members), expected, "elf-needed") == []


@pytest.mark.parametrize(
    "path", ["", "$ORIGIN", "$ORIGIN/../lib", "$ORIGIN/../../../../lib", "/usr/lib", "lib"]
)
def test_library_elsewhere_is_not_found(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel, path: str
) -> None:
    """A run path that does not lead to the library fails, whoever else may load it."""
    members = {
        "torch/_C.so": make_elf(needed=("libc10.so",), runpath=path),
        "torch/lib/libc10.so": make_elf(soname="libc10.so"),
    }

    found = _outcomes(make_wheel(members), expected, "elf-needed")

    assert found == [("failed", "torch/_C.so does not find libc10.so")]


def test_data_directories_count_as_installed(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """What a wheel keeps in its .data folder is looked for where it will lie."""
    members = {
        "torch/_C.so": make_elf(needed=("libc10.so",), runpath="$ORIGIN/lib"),
        "torch-2.6.0.data/platlib/torch/lib/libc10.so": make_elf(soname="libc10.so"),
    }

    assert _outcomes(make_wheel(members), expected, "elf-needed") == []


def test_platform_libraries_need_no_declaration(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """The C library and the compiler's run time are taken for granted; libgomp is not."""
    needed = ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libgomp.so.1")
    wheel = make_wheel({"torch/_C.so": make_elf(needed=needed)})

    assert _outcomes(wheel, expected, "elf-needed") == [("failed", "torch/_C.so does not find libgomp.so.1")]


def test_declared_libraries_may_come_from_outside(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """A library that the recipe leaves to the system is fine, and only that one."""
    wheel = make_wheel({"torch/_C.so": make_elf(needed=("libopenblas.so.0", "libmpi.so.40"))})
    asked = expected.model_copy(update={"allowed_external": ("libopenblas.so.0",)})

    assert _outcomes(wheel, asked, "elf-needed") == [("failed", "torch/_C.so does not find libmpi.so.40")]


def test_programs_only_warn(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """A program beside the libraries is not loaded by an import: what is wrong with it is told."""
    program = make_elf(needed=("libx.so",), runpath="/lib/intel64", program=True)
    wheel = make_wheel({"torch/bin/protoc": program, "torch/bin/protoc-3": program})

    for reference in ("elf-needed", "elf-rpath", "elf-duplicate"):
        assert {"warned"} == {outcome for outcome, _ in _outcomes(wheel, expected, reference)}


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/opt/intel/lib", "absolute"),
        ("$ORIGIN:/usr/local/cuda/lib64", "absolute"),
        ("$ORIGIN:/torchbuild/source/build/lib", "built"),
        ("$ORIGIN/../../torchbuild/x", "built"),
        ("$ORIGIN::$ORIGIN/lib", "current directory"),
        ("lib", "current directory"),
    ],
)
def test_run_paths_stay_inside(
    make_wheel: Callable[..., Path],
    make_elf: Callable[..., bytes],
    expected: ExpectedWheel,
    path: str,
    word: str,
) -> None:
    """A run path of the machine that built, or into the current directory, is refused."""
    ((outcome, what),) = _outcomes(make_wheel({"torch/_C.so": make_elf(runpath=path)}), expected, "elf-rpath")

    assert (outcome, word in what) == ("failed", True)


def test_build_place_fails_even_in_a_program(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """A build machine's path is a failure wherever it stands."""
    wheel = make_wheel({"torch/bin/tool": make_elf(runpath="/torchbuild/lib", program=True)})

    assert [outcome for outcome, _ in _outcomes(wheel, expected, "elf-rpath")] == ["failed"]


def test_same_bytes_twice_fail(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """A library under two names is shipped and loaded twice."""
    content = make_elf(soname="liba.so.1")
    wheel = make_wheel({"torch/lib/liba.so": content, "torch/lib/liba.so.1": content})

    assert _outcomes(wheel, expected, "elf-duplicate") == [("failed", "the same bytes 2 times")]


def test_same_soname_twice_fails(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """Two builds of one library fail too: the loader takes the first for both."""
    members = {
        "torch/lib/liba.so": make_elf(soname="liba.so.1", source="int one;"),
        "torch/other/liba.so.1.2": make_elf(soname="liba.so.1", source="int two;"),
    }

    assert _outcomes(make_wheel(members), expected, "elf-duplicate") == [
        ("failed", "the same library 2 times")
    ]


def test_two_versions_of_a_library_are_two_libraries(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """Libraries of one family with different sonames are no duplicates."""
    members = {
        "torch/lib/liba.so.1": make_elf(soname="liba.so.1", source="int one;"),
        "torch/lib/liba.so.2": make_elf(soname="liba.so.2", source="int two;"),
    }

    assert _outcomes(make_wheel(members), expected, "elf-duplicate") == []


def test_other_machines_code_fails(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """A file for another machine is found by its header, not by its name."""
    content = bytearray(make_elf())
    content[18:20] = (183).to_bytes(2, "little")  # e_machine: aarch64

    found = _outcomes(make_wheel({"torch/_C.so": bytes(content)}), expected, "elf-machine")

    assert found == [("failed", "torch/_C.so is for another machine")]


def test_device_code_is_left_alone(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """Code for a GPU is ELF too, and has no loader's needs."""
    content = bytearray(make_elf(needed=("libx.so",)))
    content[18:20] = (190).to_bytes(2, "little")  # e_machine: CUDA
    wheel = make_wheel({"torch/kernels/a.cubin": bytes(content)})

    for reference in ("elf-machine", "elf-needed", "elf-readable"):
        assert _outcomes(wheel, expected, reference) == []


@pytest.mark.parametrize("length", [5, 63, 500, 5000])
def test_cut_off_library_fails(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel, length: int
) -> None:
    """A library that was cut off is found, wherever the cut is."""
    wheel = make_wheel({"torch/_C.so": make_elf()[:length]})

    assert [outcome for outcome, _ in _outcomes(wheel, expected, "elf-readable")] == ["failed"]


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs\n"], ids=["empty", "pointer"])
def test_library_that_is_none_fails(
    make_wheel: Callable[..., Path], expected: ExpectedWheel, content: bytes
) -> None:
    """A file called a library that holds something else is found."""
    found = _outcomes(make_wheel({"torch/lib/libc10.so.1": content}), expected, "elf-readable")

    assert [outcome for outcome, _ in found] == ["failed"]
