"""What a build says of itself is read without losing a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchbuild.inspection.config_show import compare_config, compare_flags, parse_config_show
from torchbuild.model.finding import failures

_SHOW_1_13 = """PyTorch built with:
  - GCC 9.3
  - C++ Version: 201402
  - Intel(R) oneAPI Math Kernel Library Version 2021.4-Product Build 20210904 for Intel(R) 64 architecture applications
  - Intel(R) MKL-DNN v2.6.0 (Git Hash 52b5f107dd9cf10910aaa19cb47f3abf9b349815)
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - LAPACK is enabled (usually provided by MKL)
  - NNPACK is enabled
  - CPU capability usage: AVX2
  - CUDA Runtime 11.7
  - NVCC architecture flags: -gencode;arch=compute_37,code=sm_37;-gencode;arch=compute_50,code=sm_50
  - CuDNN 8.9.2  (built against CUDA 11.8)
    - Built with CuDNN 8.5
  - Magma 2.6.1
  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, CUDA_VERSION=11.7, CUDNN_VERSION=8.5.0, CXX_COMPILER=/opt/rh/devtoolset-9/root/usr/bin/c++, CXX_FLAGS= -fabi-version=11 -Wno-deprecated -Werror=format, LAPACK_INFO=mkl, PERF_WITH_AVX=1, TORCH_VERSION=1.13.1, USE_CUDA=ON, USE_EXCEPTION_PTR=1, USE_MKLDNN=ON, USE_ROCM=OFF,
"""

_SHOW_2_6 = """PyTorch built with:
  - GCC 14.2
  - C++ Version: 201703
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - LAPACK is enabled (usually provided by MKL)
  - CPU capability usage: NO AVX
  - Build settings: BLAS_INFO=open, BUILD_TYPE=Release, COMMIT_SHA=1eba9b3aa3c43f86f4a2c807ac8e12c4a7767340, CXX_COMPILER=/usr/bin/c++, CXX_FLAGS= -D_GLIBCXX_USE_CXX11_ABI=1 -O2, FORCE_FALLBACK_CUDA_MPI=1, LAPACK_INFO=open, TORCH_VERSION=2.6.0, USE_CUDA=0, USE_CUDNN=OFF, USE_NCCL=OFF,

"""

_SHOW_2_13 = """PyTorch built with:
  - GCC 13.3
  - C++ Version: 202002
  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications
  - Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa71049cd69a3df32adcccb623b12cd7baa22)
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - LAPACK is enabled (usually provided by MKL)
  - NNPACK is enabled
  - CPU capability usage: AVX512
  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, COMMIT_SHA=cf30153c4c131c8164ee7798e5022d810682e2cb, CUDA_FLAGS= -Xfatbin -compress-all -DCUDA_HAS_FP16=1, CXX_COMPILER=/opt/rh/gcc-toolset-13/root/usr/bin/c++, CXX_FLAGS= -O2 -fPIC, PERF_WITH_AVX=1, TORCH_VERSION=2.13.0, USE_CUDA=0, USE_CUDNN=OFF, USE_XPU=OFF,
"""

_SHOW_2_14 = """PyTorch built with:
  - GCC 4.2
  - C++ Version: 202002
  - clang 18.1.8
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - CPU capability usage: SVE256
  - CUDA Runtime 12.4
    - Built with CUDA Runtime 13.0
  - NVCC architecture flags:
  - CuDNN 92.4  (built against CUDA 13.0)
  - Build settings: CUDA_FLAGS= -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a, CUDA_VERSION=13.0, CUDNN_VERSION=9.24.0, TORCH_VERSION=2.14.1, USE_CUDA=1, USE_CUDNN=ON, USE_HIPSPARSELT=OFF,
"""

_SHOWS = {"1.13": _SHOW_1_13, "2.6": _SHOW_2_6, "2.13": _SHOW_2_13, "2.14": _SHOW_2_14}


@pytest.mark.parametrize("text", _SHOWS.values(), ids=_SHOWS)
def test_every_line_is_understood(text: str) -> None:
    """Each line of each era is told of by a field; none is lost."""
    parsed = parse_config_show(text)

    assert parsed.unparsed == ()
    assert text == "\n".join(parsed.lines)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (_SHOW_1_13, {"compiler": "GCC 9.3", "cxx_standard": "201402", "cuda_runtime": "11.7", "cudnn": "8.9.2",
                      "cudnn_built_with": "8.5", "magma": "2.6.1", "cpu_capability": "AVX2"}),
        (_SHOW_2_6, {"compiler": "GCC 14.2", "cxx_standard": "201703", "mkl": "", "nnpack": "",
                     "cpu_capability": "NO AVX"}),
        (_SHOW_2_13, {"cxx_standard": "202002", "openmp": "201511", "nnpack": "enabled", "cuda_runtime": "",
                      "mkldnn": "v3.12.0 (Git Hash 80afa71049cd69a3df32adcccb623b12cd7baa22)"}),
        (_SHOW_2_14, {"clang": "18.1.8", "cuda_runtime": "12.4", "cuda_built_with": "13.0", "nvcc_flags": ""}),
    ],
    ids=_SHOWS,
)  # fmt: skip
def test_lines_fill_their_fields(text: str, fields: dict[str, str]) -> None:
    """Compiler, standard, libraries and the block that only a machine with a GPU prints."""
    assert fields == {name: getattr(parse_config_show(text), name) for name in fields}


def test_values_with_commas_and_equals_stay_whole() -> None:
    """Flags hold `=` and `,`: a value ends only where a key begins."""
    settings = parse_config_show(_SHOW_2_14).settings

    assert (
        settings["CUDA_FLAGS"] == " -gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=sm_90a"
    )
    assert (settings["CUDA_VERSION"], settings["USE_HIPSPARSELT"]) == ("13.0", "OFF")
    parsed = parse_config_show("  - Build settings: A= -Wl,-x -DY=a, b=c, B=1, \n")
    assert parsed.settings == {"A": " -Wl,-x -DY=a, b=c", "B": "1"}


@pytest.mark.parametrize(
    ("text", "unparsed"),
    [
        ("  - Flux capacitor 1.21", ("  - Flux capacitor 1.21",)),
        ("  - GCC 1\n  - GCC 2", ("  - GCC 2",)),
        ("  - Build settings: junk, A=1, A=2", ("junk", "A=2")),
        ("", ()),
    ],
    ids=["unknown line", "line twice", "settings without key, key twice", "nothing"],
)
def test_what_is_not_understood_is_kept(text: str, unparsed: tuple[str, ...]) -> None:
    """Nothing disappears: what no field tells of stands in `unparsed`."""
    assert unparsed == parse_config_show(text).unparsed


@given(
    st.text(alphabet=st.sampled_from("AB_=,1 -\n\tx:Guild stngCuDN()"), max_size=200) | st.text(max_size=100)
)
def test_parsing_never_fails(text: str) -> None:
    """Any text is taken apart, and put together again from its lines."""
    assert text == "\n".join(parse_config_show(text).lines)


@pytest.mark.parametrize(
    ("key", "wanted", "outcome"),
    [
        ("USE_CUDA", "OFF", "passed"),
        ("USE_CUDA", "0", "passed"),
        ("USE_CUDA", "ON", "failed"),
        ("USE_CUDNN", "0", "passed"),
        ("PERF_WITH_AVX", "ON", "passed"),
        ("BLAS_INFO", "mkl", "passed"),
        ("BLAS_INFO", "open", "failed"),
        ("CXX_FLAGS", "-O2 -fPIC", "passed"),
        ("CUDA_VERSION", "13.0", "failed"),
        ("CUDA_VERSION", "", "passed"),
        ("BLAS_INFO", "", "failed"),
    ],
)
def test_settings_are_compared_by_meaning(key: str, wanted: str, outcome: str) -> None:
    """`ON` is `1`; a missing key is an empty value; everything else must be equal."""
    (finding,) = compare_config(parse_config_show(_SHOW_2_13), {key: wanted})

    assert (key, outcome) == (finding.what, finding.outcome)


def test_every_asked_setting_has_a_finding() -> None:
    """What was asked for is answered key by key, in order, with the value seen."""
    findings = compare_config(parse_config_show(_SHOW_2_6), {"USE_NCCL": "ON", "USE_CUDA": "0"})

    assert [finding.what for finding in findings] == ["USE_NCCL", "USE_CUDA"]
    assert [(finding.seen, finding.wanted) for finding in failures(findings)] == [("OFF", "ON")]


@pytest.mark.parametrize(
    ("printed", "wanted", "outcome"),
    [
        ("USE_X=ON", "ON", "passed"),
        ("USE_X=1", "ON", "passed"),
        ("USE_X=True", "ON", "passed"),
        ("USE_X=0", "OFF", "passed"),
        ("USE_X=False", "OFF", "passed"),
        ("USE_X=OFF", "ON", "failed"),
        ("USE_X=0", "ON", "failed"),
        ("USE_X=1", "OFF", "failed"),
        ("USE_X=maybe", "ON", "failed"),
    ],
)
def test_a_printed_flag_is_compared_with_the_one_that_was_asked_for(
    printed: str, wanted: str, outcome: str
) -> None:
    """However the build spells it: a feature lost after configure is found in what the wheel says."""
    parsed = parse_config_show(f"  - Build settings: BLAS_INFO=open, {printed}, ")

    (finding,) = compare_flags(parsed, {"USE_X": wanted})

    assert (finding.reference, finding.what, finding.outcome) == ("config-flag", "USE_X", outcome)


def test_a_printed_flag_that_nobody_asked_for_is_never_passed() -> None:
    """On, it is a feature that the lock knows nothing of: a warning. Off, there is nothing to compare."""
    parsed = parse_config_show("  - Build settings: USE_X=1, USE_Y=OFF, ")

    findings = compare_flags(parsed, {})

    assert [(finding.what, finding.outcome) for finding in findings] == [
        ("USE_X: the lock expects nothing of it", "warned"),
        ("USE_Y=OFF: the lock expects nothing of it", "not run"),
    ]


def test_a_flag_that_is_not_printed_proves_nothing() -> None:
    """The text tells of few flags; one that it leaves out is neither passed nor failed."""
    assert compare_flags(parse_config_show("  - Build settings: BUILD_TYPE=Release, "), {"USE_X": "ON"}) == ()


def test_a_real_build_agrees_with_what_was_asked_of_it() -> None:
    """The real text of a CPU build has no flag that contradicts the minimal preset."""
    off = ("USE_CUDA", "USE_CUDNN", "USE_NCCL")

    findings = compare_flags(parse_config_show(_SHOW_2_6), dict.fromkeys(off, "OFF"))

    assert failures(findings) == ()
    assert {finding.what for finding in findings if finding.outcome == "passed"} == set(off)


def test_where_every_flag_is_known_any_other_must_be_off() -> None:
    """With all that is on named, a feature that crept in fails, and one that is off is as expected."""
    parsed = parse_config_show("x built with:\n  - Build settings: USE_A=ON, USE_B=1, USE_C=OFF, \n")

    found = {item.what: item.outcome for item in compare_flags(parsed, {"USE_A": "ON"}, is_whole=True)}

    assert found == {"USE_A": "passed", "USE_B": "failed", "USE_C": "passed"}
