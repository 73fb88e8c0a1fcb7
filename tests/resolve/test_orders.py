"""What is said to the ninja shim, and what it says back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchbuild.errors import StageError
from torchbuild.model.finding import Finding
from torchbuild.model.fingerprint import fingerprint_of
from torchbuild.model.lock import Lock
from torchbuild.resolve.orders import (
    build_order,
    bypassed,
    gate_findings,
    gate_order,
    printed_document,
    refuse,
)
from torchbuild.shim.gate import compare

PASSED = Finding(reference="gate-flag", outcome="passed", what="USE_CUDA (x)", seen="OFF", wanted="OFF")
FAILED = PASSED.model_copy(update={"outcome": "failed", "seen": "ON"})


def test_an_order_holds_what_the_shim_reads(lock: Lock) -> None:
    """The gate compares what the lock expects, in the tree's own build directory."""
    order = json.loads(gate_order(lock.expect, fingerprint_of(lock)))

    assert order["mode"] == "gate"
    assert order["build_dir"] == "/torchbuild/source/build"
    assert order["fingerprint"]["C++ compiler"].startswith(lock.cxx)
    assert [item["outcome"] for item in compare({}, order["expect"])] == ["passed"]


def test_a_build_order_may_name_a_target(lock: Lock) -> None:
    """And where the compiler cache counts."""
    order = json.loads(build_order(lock.expect, fingerprint_of(lock), "c10", "/torchbuild/tmp/stats"))

    assert (order["mode"], order["target"], order["statslog"]) == ("build", "c10", "/torchbuild/tmp/stats")


def test_what_the_gate_saw_is_read_back() -> None:
    """As findings, in its order."""
    text = json.dumps({"findings": [PASSED.model_dump(mode="json"), FAILED.model_dump(mode="json")]})

    assert gate_findings(text) == (PASSED, FAILED)


@pytest.mark.parametrize("text", [None, "", "null", "[]", "{}", '{"findings": [1]}', "[" * 100_000])
def test_no_answer_is_no_comparison(text: str | None) -> None:
    """Whatever else stands there, it is not taken for one."""
    assert gate_findings(text) is None


def test_all_that_failed_is_told_at_once() -> None:
    """With check, entry, both values and the log."""
    with pytest.raises(StageError) as caught:
        refuse((PASSED, FAILED), "/logs/configure.log")

    assert caught.value.reference == "gate-refused"
    assert caught.value.what.startswith("1 of 2 values")
    assert caught.value.why == ("[gate-flag] USE_CUDA (x): wanted OFF, got ON",)
    assert caught.value.link == "/logs/configure.log"


def test_nothing_failed_is_nothing_refused() -> None:
    """The build goes on."""
    refuse((PASSED,), "log")


def test_a_front_end_around_the_gate_is_an_error_of_its_own() -> None:
    """With the log that shows what it took instead."""
    error: Any = bypassed(Path("/logs/compile.log"))

    assert (error.reference, error.link) == ("gate-bypassed", "/logs/compile.log")


def test_a_report_is_found_among_other_words() -> None:
    """Before it stands the command and what libraries print, behind it whatever they say at their end."""
    text = 'env -i \\\n  A={ \\\n\nwarning {\n{\n "a": [\n  {\n  }\n ]\n}\nbye {\n'

    assert printed_document(text) == {"a": [{}]}


@pytest.mark.parametrize("text", ["", "words", "{", "words {}\n", "{\n"])
def test_a_log_without_a_report_has_none(text: str) -> None:
    """It is an error of its own, and never an empty report."""
    with pytest.raises(ValueError, match="Expecting"):
        printed_document(text)
