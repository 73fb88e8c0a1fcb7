"""Libraries of the builder, and the NCCL that a tree brings."""

from __future__ import annotations

import pytest

from tests.toolchains.library_samples import library, recipe
from torchbuild.errors import ConflictError
from torchbuild.toolchains.library_builder import (
    BUNDLED,
    BUNDLED_ANSWER,
    SYSTEM,
    bundled_answer,
    surveyed,
)
from torchbuild.toolchains.provider import Answers, Questions


def test_a_system_library_is_only_looked_at() -> None:
    """It has no pieces, lies where the recipe says or in /usr, and asks nobody."""
    wished = recipe(nccl=library("2.22.3", "system"), cudnn=library("", "system", path="/opt/cudnn"))

    nccl, cudnn = (SYSTEM[name].part(wished, Answers()) for name in ("nccl", "cudnn"))

    assert SYSTEM["nccl"].questions(wished) == Questions()
    assert (nccl.prefix, nccl.version, nccl.is_ours) == ("/usr", "2.22.3", False)
    assert (cudnn.prefix, cudnn.version) == ("/opt/cudnn", "")


def test_what_the_survey_found_of_a_system_library_is_locked() -> None:
    """Real prefix, include directory and file, so that configure is compared with the very paths."""
    found = {
        "nccl.prefix": "/opt/nccl-2.22",
        "nccl.include": "/opt/nccl-2.22/include",
        "nccl.library": "/opt/nccl-2.22/lib/libnccl.so",
    }

    part = SYSTEM["nccl"].part(recipe(nccl=library("", "system", path="/opt/nccl")), Answers(builder=found))

    assert part.prefix == "/opt/nccl-2.22"
    assert part.says == {"include": found["nccl.include"], "library": found["nccl.library"]}


@pytest.mark.parametrize(
    ("late", "submodules", "laid", "pin"),
    [
        ([("third_party/nccl", "v2.26.2-1")], [], [], "v2.26.2-1"),
        ([], [("third_party/nccl/nccl", "ab" * 20)], [], "ab" * 20),
        ([("third_party/eigen", "3.4")], [("third_party/fmt", "cd" * 20)], [], ""),
        ([], [], ["third_party/nccl/"], "laid"),
    ],
)
def test_which_nccl_a_tree_brings(
    late: list[tuple[str, str]], submodules: list[tuple[str, str]], laid: list[str], pin: str
) -> None:
    """A submodule, a late source or what somebody lays there; nothing where it brings none."""
    assert bundled_answer(late, submodules, laid) == pin


def test_a_bundled_nccl_is_the_trees_own() -> None:
    """Its version is that of the tree's tag, and it lies where the tree builds it."""
    part = BUNDLED["nccl"].part(
        recipe(nccl=library("", "bundled")), Answers(builder={BUNDLED_ANSWER: "v2.26.2-1"})
    )

    assert (part.version, part.says, part.is_ours) == ("2.26.2", {"pin": "v2.26.2-1"}, False)
    assert part.prefix == "/torchbuild/source/build/nccl"


@pytest.mark.parametrize(
    ("pin", "version", "reference"),
    [("", "", "bundled-nccl-missing"), ("v2.26.2-1", "2.21.5", "bundled-nccl-differs")],
)
def test_a_bundled_nccl_that_cannot_be_is_refused(pin: str, version: str, reference: str) -> None:
    """The build would clone it without a network, or build another one than was asked for."""
    wished = recipe(nccl=library(version, "bundled"))

    with pytest.raises(ConflictError) as caught:
        BUNDLED["nccl"].part(wished, Answers(builder={BUNDLED_ANSWER: pin}))

    assert caught.value.reference == reference


def test_a_commit_says_no_version() -> None:
    """The recipe's version is then what the build must turn out to have."""
    answers = Answers(builder={BUNDLED_ANSWER: "ab" * 20})

    assert BUNDLED["nccl"].part(recipe(nccl=library("", "bundled")), answers).version == ""
    assert BUNDLED["nccl"].part(recipe(nccl=library("2.21.5", "bundled")), answers).version == "2.21.5"


def test_a_library_needs_a_toolkit() -> None:
    """CPU builds have no use for it: the rules of a recipe refuse it first, so here it is a mistake of ours."""
    for provider in (SYSTEM["nccl"], BUNDLED["nccl"]):
        with pytest.raises(ValueError, match="without \\[cuda\\]"):
            provider.questions(recipe(cuda="", nccl=library("", "system")))


def test_a_library_of_the_builder_is_the_file_that_was_seen() -> None:
    """The gate then compares with that file, and not with everything below the prefix."""
    seen = {
        "prefix": "/usr",
        "header": {"path": "/usr/include/nccl.h", "kind": "file"},
        "library": {"path": "/usr/lib/x86_64-linux-gnu/libnccl.so", "kind": "file"},
    }
    asked = recipe(nccl=library("2.22.3", "system"))

    part = SYSTEM["nccl"].part(asked, Answers(builder=surveyed("nccl", seen)))

    assert part.says == {"include": "/usr/include", "library": "/usr/lib/x86_64-linux-gnu/libnccl.so"}


def test_a_library_that_the_builder_lacks_is_refused_at_once() -> None:
    """A run-time package without headers is no library to build with."""
    seen = {"prefix": "/usr", "header": {"path": "/usr/include/nccl.h", "kind": "missing"}, "library": None}

    with pytest.raises(ConflictError) as caught:
        SYSTEM["nccl"].part(recipe(nccl=library("2.22.3", "system")), Answers(builder=surveyed("nccl", seen)))

    assert caught.value.reference == "library-not-in-builder"
