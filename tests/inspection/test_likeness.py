"""What an existing torch was built with, out of its files: all that is said, and nothing that is not."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from tests.torch_like import SETTINGS, compiled, settings_source, torch_members, write_wheel
from torchbuild.errors import UsageError, VerifyError
from torchbuild.inspection.likeness import read_likeness
from torchbuild.inspection.likeness_code import code_archs, told_release
from torchbuild.inspection.likeness_text import (
    archs_of_options,
    definitions,
    macros,
    required,
    version_values,
)
from torchbuild.model.likeness import Likeness, Read


def unread(likeness: Likeness) -> dict[str, str]:
    """Why each value was not read."""
    return {item.what: item.why for item in likeness.unread}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A whole one."""
    return write_wheel(tmp_path, torch_members())


def test_a_wheel_says_what_it_was_built_with(wheel: Path, tmp_path: Path) -> None:
    """Version, label, interpreter, machine, C library, toolkit and compiler come out of its files."""
    found = read_likeness(wheel, scratch=tmp_path)

    values = {name: getattr(found, name).value for name in ("version", "local", "python", "machine", "glibc")}
    assert values == {
        "version": "2.6.0",
        "local": "cu124",
        "python": "3.13",
        "machine": "x86_64",
        "glibc": "2.28",
    }
    assert (found.cuda.value, found.toolkit.value, found.is_cpu) == ("12.4", "", False)
    assert found.cxx_abi.value == "1"
    assert found.compiler.value.startswith("GCC ")
    assert found.commit.value == "80afa71"


def test_config_show_is_read_without_running_it(wheel: Path) -> None:
    """All settings, the empty ones too, letter by letter, in the order in which they are printed."""
    found = read_likeness(wheel)

    assert {item.name: item.value for item in found.settings} == SETTINGS
    assert [item.name for item in found.settings] == sorted(SETTINGS)
    assert found.settings_whole
    assert found.setting("USE_NCCL") == "ON"
    assert found.setting("USE_UCC") is None


def test_switches_that_are_no_setting_come_from_other_files(wheel: Path) -> None:
    """Headers, CMake files and the compiler's options say more; what they leave out is not said."""
    found = {item.name: item.value for item in read_likeness(wheel).flags}

    assert found == {
        "CAFFE2_STATIC_LINK_CUDA": "OFF",
        "USE_DISTRIBUTED": "ON",
        "USE_FBGEMM": "ON",
        "USE_KINETO": "ON",
        "USE_MAGMA": "ON",
    }


def test_libraries_beside_torch_are_told_with_their_releases(wheel: Path) -> None:
    """A requirement, a setting, or a function that is followed on paper tells the release."""
    found = {item.name: (item.state, item.version) for item in read_likeness(wheel).libraries}

    assert found == {
        "cudnn": ("shared", "9.1.0.70"),
        "nccl": ("shared", "2.21.5"),
        "magma": ("static", "2.6.1"),
    }


def test_algebra_openmp_triton_and_numpy_are_told(wheel: Path) -> None:
    """What a recipe has tables for, and what it will have keys for."""
    found = read_likeness(wheel)

    assert (found.blas.value, found.blas_state.value) == ("mkl", "static")
    assert found.openmp.value == "libgomp.so.1"
    assert found.triton.value == "triton==3.2.0"
    assert found.numpy.value == "2"
    assert found.runtime == "depend"


def test_architectures_come_from_the_header_where_no_code_is_there(wheel: Path) -> None:
    """The list that nvcc was given stands in a header; that the code itself was not seen is said."""
    found = read_likeness(wheel)

    assert found.archs == ("8.0", "9.0+PTX")
    assert unread(found)["GPU architectures of the code"] == "no GPU code is in it"


def test_an_installed_torch_says_the_same(wheel: Path, tmp_path: Path) -> None:
    """Site-packages, the package's folder and the environment's prefix are one place."""
    site = tmp_path / "env" / "lib" / "python3.13" / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    own = {"subject", "read_bytes"}
    wanted = read_likeness(wheel)
    for place in (site, site / "torch", tmp_path / "env"):
        found = read_likeness(place)
        assert found.settings == wanted.settings
        assert found.libraries == wanted.libraries
        assert found.version.value == wanted.version.value
        assert found.model_dump(include=own)["subject"] == str(site)


def test_a_folder_without_torch_is_refused(tmp_path: Path) -> None:
    """Nothing is taken for a torch that is none."""
    with pytest.raises(UsageError) as caught:
        read_likeness(tmp_path)
    assert caught.value.reference == "like-not-found"


def test_places_that_disagree_are_both_told_and_not_taken(tmp_path: Path) -> None:
    """A value that two files tell differently is no value."""
    members = torch_members()
    members["torch/version.py"] = members["torch/version.py"].replace(b"'12.4'", b"'12.1'")
    members["torch/include/ATen/cuda/CUDAConfig.h"] = b"#define AT_CUDNN_ENABLED() 0\n"
    found = read_likeness(write_wheel(tmp_path, members))

    why = unread(found)
    assert found.cuda == Read()
    assert "torch/version.py cuda says 12.1" in why["CUDA release"]
    assert "CUDA_VERSION says 12.4" in why["CUDA release"]
    assert found.setting("USE_CUDNN") is None
    assert "says ON" in why["USE_CUDNN"]
    assert "says OFF" in why["USE_CUDNN"]
    assert not found.settings_whole


def test_a_release_that_two_places_tell_apart_is_not_taken(tmp_path: Path) -> None:
    """What was compiled with one cuDNN and requires another has none that a recipe could name."""
    wheel = write_wheel(tmp_path, torch_members(), ("nvidia-cudnn-cu12==9.10.2.21",))
    found = read_likeness(wheel)

    library = found.library("cudnn")
    assert library is not None
    assert library.version == ""
    assert "9.10.2.21" in unread(found)["release of cudnn"]
    assert "9.1.0" in unread(found)["release of cudnn"]


def test_a_tag_that_promises_too_much_is_not_believed(tmp_path: Path) -> None:
    """Where the libraries need a newer C library than the file's name promises, both are told."""
    name = "torch-2.6.0-cp313-cp313-manylinux1_x86_64.whl"
    found = read_likeness(write_wheel(tmp_path, torch_members(), name=name))

    assert not found.glibc
    assert "promises 2.5, wrongly" in unread(found)["C library"]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """A wheel without its library, its version file and its metadata is read as far as it goes."""
    wheel = tmp_path / "torch-2.6.0-cp313-cp313-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("torch/lib/libtorch_cpu.so", b"\x7fELF and then nothing")
    found = read_likeness(wheel)

    why = unread(found)
    assert found.version.value == "2.6.0"
    assert found.settings == ()
    assert not found.settings_whole
    assert {"the build settings of config.show()", "torch/version.py", "METADATA", "C library"} <= why.keys()


def test_a_wheel_for_the_cpu_is_told_as_one(tmp_path: Path) -> None:
    """No toolkit, no GPU code, the switch off: all three."""
    members = torch_members(SETTINGS | {"USE_CUDA": "0", "CUDA_VERSION": "", "USE_NCCL": "OFF"})
    del members["torch/lib/libtorch_cuda.so"], members["torch/include/ATen/cuda/CUDAConfig.h"]
    del members["torch/share/cmake/Caffe2/Caffe2Targets.cmake"]
    members["torch/version.py"] = b"__version__ = '2.6.0+cpu'\ncuda: Optional[str] = None\n"
    found = read_likeness(write_wheel(tmp_path, members, ("filelock",)))

    assert found.is_cpu
    assert found.archs == ()
    assert found.runtime == "bundle"
    nccl = found.library("nccl")
    assert nccl is not None
    assert nccl.state == "absent"


def test_libraries_that_nobody_brings_are_the_systems(tmp_path: Path) -> None:
    """Neither in the wheel nor required by it: the target's system must have them."""
    found = read_likeness(write_wheel(tmp_path, torch_members(), ("filelock",)))

    assert found.runtime == "builder"
    assert "libcudnn.so.9" in found.runtime_where


@pytest.mark.parametrize("name", ["../evil", "torch\\lib", "torch/lib"], ids=["outside", "backslash", "both"])
def test_a_hostile_wheel_is_not_unpacked(tmp_path: Path, name: str) -> None:
    """What `inspect` would not unpack is not unpacked here."""
    wheel = write_wheel(tmp_path, torch_members() | {name: b"x"})
    with pytest.raises(VerifyError) as caught:
        read_likeness(wheel)
    assert caught.value.reference == "wheel-unreadable"


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    """With the file's name, as everywhere."""
    path = tmp_path / "torch-2.6.0-cp313-cp313-linux_x86_64.whl"
    path.write_bytes(b"no archive")
    with pytest.raises(VerifyError) as caught:
        read_likeness(path)
    assert path.name in caught.value.what


def test_a_member_that_is_torn_is_a_value_less(tmp_path: Path) -> None:
    """Bytes that do not unpack cost what would be read from them, and no more."""
    wheel = write_wheel(tmp_path, torch_members())
    with zipfile.ZipFile(wheel) as archive:
        info = archive.getinfo("torch/lib/libtorch_cpu.so")
    content = bytearray(wheel.read_bytes())
    at = info.header_offset + 200
    content[at : at + 400] = bytes(400)
    wheel.write_bytes(content)
    found = read_likeness(wheel)

    assert found.settings == ()
    assert found.version.value == "2.6.0"
    assert "the build settings of config.show()" in unread(found)


def test_releases_are_read_out_of_functions(tmp_path: Path) -> None:
    """What a function returns or writes is followed on paper; one that is not there tells nothing."""
    path = tmp_path / "libtorch_cuda.so"
    path.write_bytes(torch_members()["torch/lib/libtorch_cuda.so"])

    assert told_release(path, "_ZN5torch4cuda4nccl7versionEv", "fields") == "2.21.5"
    assert told_release(path, "magma_version", "pointers") == "2.6.1"
    assert told_release(path, "nothing_of_the_kind", "fields") == ""
    assert told_release(tmp_path / "missing", "magma_version", "pointers") == ""


def test_a_function_that_depends_on_something_tells_nothing(tmp_path: Path) -> None:
    """A release that is only known at run time is not read."""
    path = tmp_path / "lib.so"
    source = 'unsigned long long seen; extern unsigned long long other(); extern "C" unsigned long long v()'
    path.write_bytes(compiled(source + " { return other() + seen; }"))

    assert told_release(path, "v", "fields") == ""


def test_a_library_without_gpu_code_says_so(tmp_path: Path) -> None:
    """No list is made up."""
    path = tmp_path / "lib.so"
    path.write_bytes(compiled("int x;"))

    assert code_archs([path]) == "no GPU code is in it"
    assert "lib.txt" in str(code_archs([path.with_suffix(".txt")]))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("-gencode;arch=compute_75,code=sm_75;-gencode;arch=compute_90a,code=sm_90a", ("7.5", "9.0a")),
        ("-gencode arch=compute_86,code=sm_86 -gencode arch=compute_86,code=compute_86", ("8.6+PTX",)),
        ("-gencode;arch=compute_120,code=[sm_120,compute_120]", ("12.0+PTX",)),
        ("-gencode;arch=compute_90,code=compute_90", None),
        ("code=lto_90", None),
        ("", None),
    ],
)
def test_options_of_nvcc_are_a_recipes_architectures(text: str, wanted: tuple[str, ...] | None) -> None:
    """What no recipe can say, PTX alone, is not turned into what it can."""
    assert archs_of_options(text) == wanted


def test_small_files_are_read_for_what_they_say() -> None:
    """The version file, macros, definitions and requirements, each in its own spelling."""
    assert version_values('cuda: Optional[str] = None\nhip = "6.1"\ndebug = False\n') == {
        "cuda": "",
        "hip": "6.1",
        "debug": "False",
    }
    assert macros("#define A() 1\n# define B  two words \n") == {"A": "1", "B": "two words"}
    assert definitions('INTERFACE_COMPILE_DEFINITIONS "A;B"', "-DC=1 x-DD -DE") == {"A", "B", "C", "E"}
    lines = ("nvidia-nccl-cu12 (==2.21.5) ; platform_system == 'Linux'", "nvidia-nccl-tests==1", "no: line")
    assert required(lines, "nvidia-nccl-cu") == ("2.21.5", "nvidia-nccl-cu12==2.21.5")
    assert required(("a>=1",), "a") == ("", "")
    assert required(("a==1", "a==2"), "a") == ("", "")


def test_texts_of_a_wheel_cannot_break_a_line(tmp_path: Path) -> None:
    """A setting with strange letters is shown with escapes."""
    odd = SETTINGS | {"BUILD_TYPE": "Re\\001lease"}
    found = read_likeness(write_wheel(tmp_path, torch_members(odd)))

    value = found.setting("BUILD_TYPE")
    assert value is not None
    assert value.isprintable()


def test_settings_source_is_what_torch_has() -> None:
    """The stand-in is the function that upstream's template makes."""
    assert "GetBuildOptions" in settings_source(SETTINGS)


@pytest.mark.parametrize("name", ["numpy-2.0.0-cp313-cp313-linux_x86_64.whl", "pytorch-2.6.0-py313.conda"])
def test_an_archive_without_torch_is_refused(tmp_path: Path, name: str) -> None:
    """Another package's release would be taken for torch's."""
    archive = tmp_path / name
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("numpy-2.0.0.dist-info/METADATA", "Name: numpy\nVersion: 2.0.0\n")
    with pytest.raises(UsageError) as caught:
        read_likeness(archive)
    assert caught.value.reference == "like-not-found"
    assert name in caught.value.what


def test_numbers_without_end_are_no_version(tmp_path: Path) -> None:
    """Whatever a file says of itself, it is read as far as it means anything."""
    digits = "9" * 5000
    members = torch_members()
    members["torch/version.py"] = f"__version__ = '{digits}'\ncuda = '{digits}'\n".encode()
    members["torch/include/ATen/Config.h"] = f"#define AT_{digits} {digits}\n".encode()
    requires = (f"nvidia-cudnn-cu12=={digits}", f"nvidia-nccl-cu12=={digits}.1", "triton" + digits)
    found = read_likeness(write_wheel(tmp_path, members, requires))

    assert found.version.value == "2.6.0"
    assert found.cuda.value == "12.4"
    assert len(found.requires) == 3


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        " ",
        "#",
        "#define a x" + " " * 9,
        "a:",
        "a = ",
        "a\n",
        "code=",
        "-Da",
        "INTERFACE_COMPILE_DEFINITIONS ",
    ],
)
def test_small_files_are_read_in_the_time_of_their_length(text: str) -> None:
    """A file that a person made to be slow is not."""
    long = text * (200_000 // len(text))
    begun = time.monotonic()
    for line_end in ("", "x", "\x00", "\n="):
        macros(long + line_end)
        version_values(long + line_end)
        definitions(long + line_end, long)
        archs_of_options(long)
    assert time.monotonic() - begun < 5
