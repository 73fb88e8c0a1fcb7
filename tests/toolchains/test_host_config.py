"""nvcc's own word on host compilers, out of headers of the shapes that releases have had."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from torchbuild.knowledge.host_compilers import nvcc_fact
from torchbuild.toolchains.host_config import parse_host_config

OLD = """
#if defined(__CUDACC__)
#if defined(__GNUC__)
#if __GNUC__ > 9
#error -- unsupported GNU version! made up
#endif /* __GNUC__ > 9 */
#if defined(__clang__) && !defined(__HORIZON__)
#if (__clang_major__ >= 10) || (__clang_major__ < 3) || ((__clang_major__ == 3) &&  (__clang_minor__ < 3))
#error -- unsupported clang version! made up
#endif
#endif
#endif
#endif
"""
NEW = """
#if !__NV_NO_HOST_COMPILER_CHECK
#if defined(__GRCO_CLANG_COMPILER__)
#if (__GRCO_CLANG_COMPILER__ == 1) && ((__clang_major__ < 16) || (__clang_major__ > 21))
#error -- unsupported Grace clang version! made up
#endif
#endif
#if defined(__GNUC__)
#  if __GNUC__ > 15
#    error -- unsupported GNU version! made up
#  endif
#if defined(__HORIZON__)
#if (__clang_major__ >= 20)
#error -- unsupported HOS clang version! made up
#endif
#endif
#if defined(__clang__)
#if (__clang_major__ >= 22) || (__clang_major__ < 3)
#error -- unsupported clang version! made up
#endif
#endif
#endif
#if _MSC_VER < 1910 || _MSC_VER >= 1960
#error -- unsupported Microsoft Visual Studio version!
#elif _MSC_VER >= 1910
#pragma message("deprecated")
#endif
#endif
"""


def one(condition: str, said: str = "unsupported GNU version!") -> str:
    """A header with one refusal."""
    return f"#if defined(__GNUC__)\n#if {condition}\n#error -- {said}\n#endif\n#endif\n"


@pytest.mark.parametrize(
    ("text", "gcc", "clang"),
    [(OLD, "<10", ">=3,<10"), (NEW, "<16", ">=3,<22")],
    ids=["old", "new"],
)
def test_the_limits_are_read(text: str, gcc: str, clang: str) -> None:
    """Those of gcc and clang; what the header says of other vendors' compilers is not theirs."""
    found = parse_host_config(text)

    assert (found.gcc, found.clang, found.unread) == (gcc, clang, ())


@pytest.mark.parametrize(
    ("condition", "gcc"),
    [
        ("__GNUC__ > 13", "<14"),
        ("__GNUC__ >= 14", "<14"),
        ("(__GNUC__ > 13)", "<14"),
        ("__GNUC__ > (13)", "<14"),
        ("( __GNUC__ )>13", "<14"),
        ("__GNUC__ > 12 || (__GNUC__ == 12 && __GNUC_MINOR__ > 2)", "<12.3,<13"),
        ("__GNUC__ < 5 || __GNUC__ > 9", ">=5,<10"),
        ("__GNUC__ > 13 \\\n  && 1", "<14"),
        ("__GNUC__ /* too new */ > 13 // really", "<14"),
    ],
)
def test_a_condition_may_be_written_in_many_ways(condition: str, gcc: str) -> None:
    """Minor versions, lower limits, brackets, comments and lines that go on."""
    assert parse_host_config(one(condition)).gcc == gcc


def test_the_nearest_condition_on_the_version_counts() -> None:
    """A refusal may stand deeper than the condition that decides."""
    text = "#if __GNUC__ > 11\n#if defined(__linux__)\n#error unsupported GNU version\n#endif\n#endif\n"

    assert parse_host_config(text).gcc == "<12"


@pytest.mark.parametrize(
    "condition", ["__GNUC__ * 100 + __GNUC_MINOR__ > 1302", "TOO_NEW(__GNUC__)", "defined(SOMETHING)"]
)
def test_what_is_not_understood_is_said(condition: str) -> None:
    """A shape that we do not know gives no limit, and is told; the header itself is asked beside that."""
    found = parse_host_config(one(condition))

    assert found.gcc == ""
    assert found.unread


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00\xff" * 1000,
        "#endif\n" * 1000 + "#error unsupported GNU version",
        "#if " * 100_000,
        "/* " * 300_000,
        "(" * 300_000 + "\n#if __GNUC__ " + "> (" * 100_000,
        "#if __GNUC__ > " + "9" * 100_000 + "\n#error unsupported GNU version\n#endif",
        "#else\n#elif __GNUC__ > 3\n#error unsupported GNU version",
    ],
    ids=["empty", "bytes", "ends", "deep", "comments", "brackets", "large", "no-if"],
)
def test_a_header_of_a_stranger_does_no_harm(text: str) -> None:
    """Nothing is raised, and nothing is made up."""
    assert parse_host_config(text).gcc == ""


HEADERS = os.environ.get("TORCHBUILD_TEST_CUDA_HEADERS", "")


@pytest.mark.real
@pytest.mark.skipif(
    not HEADERS, reason="TORCHBUILD_TEST_CUDA_HEADERS names a folder of NVIDIA's nvcc and crt wheels"
)
def test_real_headers_are_read_and_the_table_agrees() -> None:
    """What the table says was read is what those headers say."""
    seen = {}
    for wheel in sorted(Path(HEADERS).glob("nvidia_cuda_*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith("crt/host_config.h"):
                    found = parse_host_config(archive.read(name).decode("utf-8", "replace"))
                    fact = nvcc_fact(wheel.name.split("-")[1])
                    assert fact is not None
                    assert (found.gcc, found.clang, found.unread) == (fact.gcc, f">=3,{fact.clang}", ())
                    seen[wheel.name.split("-")[1]] = found
    assert len(seen) >= 2
