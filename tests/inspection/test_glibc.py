"""The target's C library is new enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.facts import ElfFacts
from torchbuild.inspection.glibc import newest_glibc, newest_node
from torchbuild.inspection.wheel import inspect_wheel
from torchbuild.model.finding import Finding

_RECENT = """
#include <pthread.h>
int f(void) { pthread_t t; return pthread_create(&t, 0, 0, 0); }
"""


def _findings(wheel: Path, expected: ExpectedWheel) -> list[Finding]:
    return [f for f in inspect_wheel(wheel, expected) if f.reference == "elf-glibc-ceiling"]


def _facts(*versions: str) -> tuple[ElfFacts, ...]:
    return (ElfFacts(path="torch/x.so", sha256="", size=0, versions=versions),)


def test_older_target_is_refused(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """A wheel built here that needs this machine's C library does not pass for an old one."""
    wheel = make_wheel({"torch/_C.so": make_elf(source=_RECENT)})

    (finding,) = _findings(wheel, expected.model_copy(update={"glibc": "2.17"}))

    assert (finding.outcome, finding.seen) == ("failed", "GLIBC_2.34")
    assert [finding.outcome for finding in _findings(wheel, expected)] == ["passed"]


def test_tags_promise_is_held_against_the_code(
    make_wheel: Callable[..., Path], make_elf: Callable[..., bytes], expected: ExpectedWheel
) -> None:
    """A wheel called manylinux_2_28 that needs 2.34 breaks its own promise, whatever the target has."""
    wheel = make_wheel({"torch/_C.so": make_elf(source=_RECENT)}, tag="cp313-cp313-manylinux_2_28_x86_64")

    assert [(f.outcome, f.wanted) for f in _findings(wheel, expected)] == [("failed", "glibc 2.28 at most")]


def test_versions_compare_as_numbers() -> None:
    """2.5 is older than 2.28, and named nodes count as the release that brought them."""
    assert newest_glibc(_facts("GLIBC_2.5", "GLIBC_2.28", "GLIBC_2.2.5")) == "2.28"
    assert newest_glibc(_facts("GLIBC_2.5", "GLIBC_ABI_DT_RELR")) == "2.36"
    assert newest_glibc(_facts("GLIBC_PRIVATE", "CXXABI_1.3")) == ""
    assert newest_node(_facts("GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30"), "GLIBCXX") == "3.4.30"


@pytest.mark.parametrize("node", ["GLIBC_PRIVATE", "GLIBC_9999999999999999999999"])
def test_private_parts_are_refused(node: str) -> None:
    """What no release of the C library promises must not be needed."""
    from torchbuild.inspection.glibc import _too_new

    assert [finding.outcome for finding in _too_new(_facts(node)[0], "2.41")] == ["failed"]
