"""What guests print is a stranger's: nothing in it crashes a judge, and what nobody saw never passes."""

from __future__ import annotations

import copy
import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.toolchains import (
    test_blas_proof,
    test_cuda_proof,
    test_host_compiler_proof,
    test_library_proof,
    test_openmp,
    test_python_proof,
    test_runfile_proof,
)
from tests.toolchains.compilers_seen import debian_13
from tests.toolchains.library_samples import ours
from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.toolchains import (
    blas_proof,
    cuda_proof,
    host_compiler_proof,
    library_proof,
    nccl_source,
    openmp_proof,
    python_proof,
    runfile_proof,
)
from torchbuild.toolchains.proof import Checks, Seen, Wanted, judge

MOST = 1000  # characters of each text of a finding


class Case(NamedTuple):
    """A judge, and something of which it has nothing bad to say."""

    checks: Checks
    part: LockedPart
    wanted: Wanted
    good: dict[str, Any]
    rests: dict[str, str]
    """What was seen, by its way into the report, and the checks that rest on it."""
    free: str = ""
    """Checks that rest on the lock alone."""


def _source_of_nccl(part: LockedPart, _wanted: Wanted, seen: Seen) -> Iterator[Finding]:
    yield from nccl_source.source_findings(part, seen)


TREE = {"tree-links-tools-ext": "no", "tree-knows-cccl": "yes"}
SOURCE: dict[str, Any] = {"scripts": {"a.sh": True}, "starts": {"/b": True}, "version": "2.21.5"}
COMPILERS = (
    "cuda-host-compiler cuda-host-compiler-limit cuda-host-compiler-kernel cuda-host-config-release "
    "torch-host-compiler cuda-host-compiler-pair cuda-glibc-headers"
)
BLAS = "blas-program blas-result blas-lapack blas-library blas-version blas-threading openmp-one"
OPENMP = "openmp-program openmp-threads openmp-runtime openmp-one"
CASES = {
    "cuda": Case(
        cuda_proof.CHECKS,
        test_cuda_proof.PART.model_copy(update={"says": test_cuda_proof.PART.says | TREE}),
        test_cuda_proof.WANTED,
        test_cuda_proof.recorded("cuda-13.0-wheels")
        | {"version_json": {"release": "13.0.2", "ours": False, "path": "version.json"}},
        {
            "programs": "cuda-programs-start cuda-one-release cuda-release cuda-as-locked",
            "headers": "cuda-headers",
            "version_json": "cuda-version-json",
            "version_json.ours": "cuda-version-json",
            "archs": "cuda-architecture",
            "lists": "cuda-architecture",
            "probe": "cuda-probe cuda-probe-starts",
            "driver": "cuda-driver-stub",
            "driver.dynamic.run_paths": "cuda-driver-stub",
            "real": "cuda-one-path",
            "names": "cuda-one-path",
            "before": "cuda-first-nvcc",
            "libraries": "torch-thrust",
        },
    ),
    "debian": Case(
        cuda_proof.CHECKS,
        test_cuda_proof.DEBIAN.model_copy(
            update={"says": {"nvcc": "12.4.131", "tree-links-tools-ext": "yes"}}
        ),
        test_cuda_proof.OF_DEBIAN,
        test_cuda_proof.recorded("debian-12.4"),
        {"libraries": "torch-tools-extension torch-thrust", "programs.nvcc": "cuda-as-locked cuda-release"},
        free="cuda-programs-start cuda-one-release cuda-headers cuda-architecture cuda-probe "
        "cuda-probe-starts cuda-driver-stub cuda-one-path cuda-first-nvcc",
    ),
    "host compiler": Case(
        host_compiler_proof.CHECKS,
        test_host_compiler_proof.PART,
        Wanted(cxx=test_host_compiler_proof.CXX, torch="2.6.0", cuda="12.4"),
        debian_13(device=test_host_compiler_proof.COMPILED),
        dict.fromkeys(
            ("compilers", "device", "glibc", "host_config", "host_config.path", "cc_is"), COMPILERS
        ),
    ),
    "library": Case(
        library_proof.CHECKS,
        ours("nccl", "2.21.5"),
        test_library_proof.WANTED,
        test_library_proof.SEEN,
        {
            "header": "library-header library-header-agrees",
            "header.version": "library-header library-header-agrees",
            "library": "library-file library-header-agrees library-cuda",
            "library.cuda": "library-cuda",
            "program": "library-program",
            "program.exit": "library-program",
            "program.built": "library-program",
            "others": "library-others",
            "distributions": "library-one-distribution",
        },
        free="library-chips library-version library-minimum",
    ),
    "python": Case(
        python_proof.CHECKS,
        test_python_proof.OURS,
        test_python_proof.WANTED,
        test_python_proof.SEEN,
        {
            "version": "python-version",
            "soabi": "python-abi",
            "executable": "python-path",
            "kind": "python-path",
            "machine": "python-machine",
            "bits": "python-machine",
            "headers": "python-headers",
            "include": "python-headers",
            "libdir": "python-libdir",
            "libdir_found": "python-libdir",
            "shared": "python-library",
            "library": "python-library",
            "library_found": "python-library",
            "gone": "python-options",
            "tools_missing": "python-tools",
            "free_threaded": "python-free-threaded",
            "extension": "python-extension",
        },
        free="python-for-torch",
    ),
    "blas": Case(
        blas_proof.CHECKS,
        test_blas_proof.MKL,
        Wanted(),
        {"blas": test_blas_proof._program(), "completed": {"missing": []}},
        {
            "completed": "blas-links",
            "completed.missing": "blas-links",
            "blas": BLAS,
            "blas.error": BLAS,
            "blas.maps": "blas-threading openmp-one",
            "blas.values": "blas-result blas-lapack blas-library blas-version",
            "blas.values.dgemm_from": "blas-library",
        },
    ),
    "openmp": Case(
        openmp_proof.CHECKS,
        test_openmp.IOMP_PART,
        Wanted(),
        {"openmp": test_openmp._program(test_openmp.OURS), "completed": {"missing": []}},
        {
            "completed": "openmp-links",
            "completed.missing": "openmp-links",
            "openmp": OPENMP,
            "openmp.error": OPENMP,
            "openmp.maps": "openmp-one",
            "openmp.values": "openmp-threads openmp-runtime",
        },
    ),
    "runfile": Case(
        runfile_proof.CHECKS,
        test_runfile_proof.PART,
        Wanted(),
        test_runfile_proof.WELL,
        {
            "file": "runfile-file",
            "file.size": "runfile-file",
            "space": "runfile-space",
            "temp_refuses": "runfile-executable",
            "foreign": "runfile-foreign-log",
            "left": "runfile-left",
            "isolated": "runfile-isolation",
            "exit_code": "runfile-exit",
            "timed_out": "runfile-exit",
            "logs": "runfile-log",
            "programs": "runfile-programs",
            "driver_touched": "runfile-driver",
            "outside": "runfile-outside",
        },
    ),
    "source of nccl": Case(
        {"source": _source_of_nccl},
        ours("nccl", "2.21.5", provider="source"),
        Wanted(),
        SOURCE,
        {"scripts": "nccl-source-scripts", "starts": "nccl-source-noexec", "version": "nccl-source-version"},
    ),
}
HUGE = "x" * 300_000
JUNK: tuple[Any, ...] = (None, 7, 1.5, HUGE, ["x", 3, None], {"a": {"b": [1]}}, 10**400, "\ud800")
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, -1, 10**400, 1e308, float("nan"), "", HUGE, "\ud800", "1.0", "/"])
    | st.integers()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just(HUGE), inner),
    max_leaves=6,
)
DROP = object()
named = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def _ways(seen: object) -> list[tuple[Any, ...]]:
    """All ways into a report, through tables and lists."""
    items: list[tuple[Any, Any]] = []
    if isinstance(seen, dict):
        items = list(seen.items())
    elif isinstance(seen, list):
        items = list(enumerate(seen))
    return [(key, *rest) for key, value in items for rest in ((), *_ways(value))]


@functools.cache
def _ways_of(name: str) -> list[tuple[Any, ...]]:
    return _ways(CASES[name].good)


def _with(seen: dict[str, Any], way: tuple[Any, ...], value: object) -> dict[str, Any]:
    """The report, with something else at one place; as it is where an earlier change took the place away."""
    changed = copy.deepcopy(seen)
    place: Any = changed
    for key in way[:-1]:
        if not _has(place, key):
            return changed
        place = place[key]
    if not _has(place, way[-1]):
        return changed
    if value is DROP:
        del place[way[-1]]
    else:
        place[way[-1]] = value
    return changed


def _has(place: object, key: object) -> bool:
    return key in (range(len(place)) if isinstance(place, list) else place if isinstance(place, dict) else ())


def _judged(case: Case, seen: Mapping[str, Any]) -> tuple[Finding, ...]:
    found = judge(case.checks, case.part, case.wanted, seen)
    assert all(len(item) < MOST for one in found for item in (one.what, one.seen, one.wanted))
    return found


def _passed(case: Case, seen: Mapping[str, Any]) -> Counter[str]:
    return Counter(item.reference for item in _judged(case, seen) if item.outcome == "passed")


@named
def test_each_check_of_a_good_report_rests_on_something(case: Case) -> None:
    """All of it is well, and of each check it is known which part of the report it rests on."""
    assert [item for item in _judged(case, case.good) if item.outcome == "failed"] == []
    known = {name for names in (*case.rests.values(), case.free) for name in names.split()}

    assert set(_passed(case, case.good)) == known


@pytest.mark.parametrize(
    ("name", "way"),
    [(name, way) for name, case in CASES.items() for way in case.rests],
)
def test_what_nobody_saw_never_passes(name: str, way: str) -> None:
    """Absent, empty of sense, or of another kind: the checks that rest on it do not pass."""
    case, path = CASES[name], tuple(way.split("."))
    good, value = _passed(case, case.good), functools.reduce(lambda place, key: place[key], path, case.good)

    for junk in (DROP, *(item for item in JUNK if type(item) is not type(value))):
        found = _passed(case, _with(case.good, path, junk))

        assert [item for item in case.rests[way].split() if found[item] >= good[item]] == [], str(junk)[:80]


@named
def test_a_report_of_nothing_passes_nothing(case: Case) -> None:
    """No keys, and nothing but nonsense under the right ones."""
    from_lock = {"library-chips", "python-for-torch"}

    for junk in JUNK:
        assert set(_passed(case, dict.fromkeys(case.good, junk))) <= from_lock
    assert set(_passed(case, {})) <= from_lock


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_nothing_in_a_report_crashes_its_judge(name: str, data: st.DataObject) -> None:
    """Any value at any place is judged, in texts that people can read, and makes nothing better than good."""
    case = CASES[name]
    seen, good = case.good, _passed(case, case.good)

    for way in data.draw(st.lists(st.sampled_from(_ways_of(name)), min_size=1, max_size=4)):
        seen = _with(seen, way, data.draw(st.just(DROP) | VALUES))

    assert _passed(case, seen) <= good


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_nonsense_mends_nothing(name: str, data: st.DataObject) -> None:
    """What failed, or was not there, does not pass because something beside it became unreadable."""
    case = CASES[name]
    way = tuple(data.draw(st.sampled_from(sorted(case.rests))).split("."))
    bad = _with(case.good, way, data.draw(st.sampled_from([DROP, None, {"a": 1}])))
    before = _passed(case, bad)

    for other in data.draw(st.lists(st.sampled_from(_ways_of(name)), min_size=1, max_size=3)):
        bad = _with(bad, other, data.draw(st.sampled_from([DROP, *JUNK])))

    assert _passed(case, bad) <= before


COMPLETED = {
    "cuda": (cuda_proof.completed, {"made": ["lib64"], "problems": []}),
    "library": (library_proof.completed, {"links": ["lib/libx.so"], "programs": [], "errors": []}),
    "python": (
        python_proof.completed,
        {"built_at": "/install", "variables": ["CC"], "files": ["a.py"], "refused": []},
    ),
}


@pytest.mark.parametrize("name", COMPLETED)
@given(data=st.data())
def test_a_completion_passes_only_as_a_whole(name: str, data: st.DataObject) -> None:
    """Whatever was printed is one finding; it passed where all that counts is there."""
    judged, good = COMPLETED[name]
    assert judged(good).outcome == "passed"
    key = data.draw(st.sampled_from(sorted(set(good) - {"variables"})))

    found = judged(_with(good, (key,), data.draw(st.just(DROP) | st.sampled_from(JUNK))))

    assert found.outcome == "failed" or (name, key) == ("python", "built_at")
    assert max(len(found.what), len(found.seen)) < MOST
    assert judged(_with(good, (key,), data.draw(VALUES))).wanted == "complete"


def test_errors_of_a_completion_are_told() -> None:
    """What could not be made ends the build where it is known, and not at a linker."""
    broken = library_proof.completed({"links": [], "programs": [], "errors": ["lib/libx.so: read-only"]})
    crashed = library_proof.completed({"errors": ["KeyError: 'prefix'"]})
    unplaced = python_proof.completed({"built_at": "", "variables": [], "files": [], "refused": []})

    assert (broken.outcome, broken.seen) == ("failed", "lib/libx.so: read-only")
    assert crashed.outcome == "failed"
    assert unplaced.outcome == "warned"


@pytest.mark.parametrize(("part", "outcome"), [(test_python_proof.OURS, "failed"), (test_python_proof.SYSTEM, "not run")])  # fmt: skip
def test_an_interpreter_of_which_the_lock_says_nothing_does_not_pass(part: LockedPart, outcome: str) -> None:
    """Nothing is no promise: ours fails, and for a builder's own in an older lock it is not run."""
    found = judge(
        python_proof.CHECKS,
        part.model_copy(update={"says": {}}),
        test_python_proof.WANTED,
        {"kind": "program"},
    )
    about = {"ABI of the interpreter", "path of the interpreter", "directory of its headers", "free-threaded"}

    assert [item.outcome for item in found if item.what.split(":")[0] in about] == [outcome] * 4


def test_an_openmp_runtime_that_nobody_knows_fails() -> None:
    """A lock that names none, or one that we have never heard of, is no proof."""
    good = CASES["openmp"]

    for says in ({}, {"openmp": "x"}):
        found = judge(good.checks, good.part.model_copy(update={"says": says}), good.wanted, good.good)
        assert {item.reference for item in found if item.outcome == "failed"} == {"openmp-runtime"}


def test_a_blas_that_the_lock_does_not_name_passes_by_no_file() -> None:
    """Any file would do for it."""
    good = CASES["blas"]

    found = judge(good.checks, good.part.model_copy(update={"says": {}}), good.wanted, good.good)

    assert {item.outcome for item in found if item.reference == "blas-library"} == {"failed"}
