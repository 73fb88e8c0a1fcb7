"""Whatever is wished: what comes back holds, is the same each time, and never gets worse with a newer driver."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.advice.checker import names_two_facts, violations
from tests.advice.raw_facts import numbers, rows
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish

TORCHES = [row["minor"] for row in rows("torch_lines.line")]
PRODUCTS = [row["name"] for row in rows("gpus.product")]
CHIPS = [f"sm_{row['sm']}" for row in rows("gpu_families.family")]
BRANCHES = [
    "418",
    "440",
    "450",
    "470",
    "515",
    "520",
    "525",
    "535",
    "550",
    "555",
    "560",
    "565",
    "570",
    "575",
    "580",
    "590",
    "595",
    "610",
    "615",
]
RELEASES = ["525.53", "525.60.13", "535.129.03", "570.86.16", "580.65.06", "580.82.07", "595.58.03"]
TOOLKITS = sorted({".".join(row["version"].split(".")[:2]) for row in rows("cuda.release")}, key=numbers)

a_gpu = st.one_of(st.sampled_from(CHIPS), st.sampled_from(PRODUCTS))
gpus = st.lists(a_gpu, min_size=1, max_size=3).map(tuple)


def rarely(values: list[str]) -> st.SearchStrategy[str]:
    """Left open in most wishes, so that most are possible."""
    return st.one_of(st.just(""), st.just(""), st.just(""), st.sampled_from(values))


wishes = st.builds(
    Wish,
    torch=st.sampled_from(TORCHES),
    gpus=gpus,
    driver=st.sampled_from(["", *BRANCHES, *RELEASES]),
    modules=rarely(["open", "proprietary"]),
    forward_compat=st.booleans(),
    machine=st.sampled_from(["x86_64", "aarch64"]),
    glibc=rarely(["2.17", "2.28", "2.31", "2.36"]),
    python=rarely(["3.8", "3.10", "3.12", "3.14"]),
    cuda=rarely(TOOLKITS),
    cudnn=rarely(["none", "8.7.0.84", "9.1.0.70", "9.10.2.21", "9.20.0.48"]),
    nccl=rarely(["none", "2.21.5", "2.27.5", "2.28.9"]),
    gcc=rarely(["9", "11", "12.2", "13", "14", "15"]),
    builder_glibc=rarely(["2.28", "2.36", "2.41", "2.42"]),
)
likely = st.builds(
    Wish,
    torch=st.sampled_from(TORCHES),
    gpus=gpus,
    forward_compat=st.booleans(),
)
junk = st.text(max_size=12)


def _last_branch(wish: Wish) -> int:
    """The last branch that drives every GPU of a wish; a large one where none ends."""
    ends = [9999]
    for name in wish.gpus:
        product: dict[str, Any] = next((row for row in rows("gpus.product") if row["name"] == name), {})
        sms = product.get("capabilities") or [int(name.removeprefix("sm_"))]
        ends += [
            row["last_branch"]
            for row in rows("gpu_families.family")
            if row["sm"] in sms and "last_branch" in row
        ]
    return min(ends)


@settings(max_examples=50)
@given(wishes)
def test_what_comes_back_keeps_every_constraint(wish: Wish) -> None:
    """A recipe that is called possible is one, to code that reads the tables by itself."""
    assert violations(wish, solve(wish)) == []


@settings(max_examples=25)
@given(wishes)
def test_a_refusal_says_why_and_every_way_out_is_one(wish: Wish) -> None:
    """Each conflict names two facts that are there; each way out is possible when it is asked for, as it was told."""
    advice = solve(wish)

    assert [item.reference for item in advice.conflicts if not names_two_facts(item)] == []
    assert not advice.is_possible or not advice.ways
    for way in advice.ways:
        again = solve(way.wish)
        assert again.is_possible, way.what
        assert violations(way.wish, again) == [], way.what
        assert again.choices == way.choices, way.what


@settings(max_examples=16)
@given(likely, st.lists(st.sampled_from(BRANCHES), min_size=2, max_size=4, unique=True))
def test_a_newer_driver_never_makes_it_worse(wish: Wish, branches: list[str]) -> None:
    """Below the last branch of its chips, what worked still does, and with no older toolkit."""
    ordered = [name for name in sorted(branches, key=int) if int(name) <= _last_branch(wish)]
    answers = [solve(wish.model_copy(update={"driver": name})) for name in ordered]

    for (older, before), (newer, after) in pairwise(zip(ordered, answers, strict=True)):
        assert after.is_possible or not before.is_possible, f"{older} works and {newer} does not"
        if before.is_possible:
            assert numbers(after.value("cuda.version")) >= numbers(before.value("cuda.version")), (
                older,
                newer,
            )


@settings(max_examples=16)
@given(wishes, st.permutations(range(3)))
def test_the_same_wish_gets_the_same_answer(wish: Wish, order: list[int]) -> None:
    """Twice the same; and the order in which GPUs are named decides nothing."""
    mixed = tuple(wish.gpus[place] for place in order if place < len(wish.gpus))
    first, second = solve(wish), solve(wish)
    other = solve(wish.model_copy(update={"gpus": mixed}))

    assert first == second
    assert [(item.key, item.value) for item in first.choices if item.key != "target.gpus"] == [
        (item.key, item.value) for item in other.choices if item.key != "target.gpus"
    ]
    assert {item.reference for item in first.conflicts} == {item.reference for item in other.conflicts}


# many wishes are refused, and a refusal is not what is looked at here
@settings(max_examples=16, suppress_health_check=[HealthCheck.filter_too_much])
@given(likely, st.sampled_from(["", *BRANCHES]))
def test_no_newer_released_toolkit_would_have_done(wish: Wish, driver: str) -> None:
    """Of the toolkits that torch was released with, the newest that can be is taken."""
    wish = wish.model_copy(update={"driver": driver})
    if any(item.reference == "machine-not-of-gpu" for item in solve(wish).conflicts):
        wish = wish.model_copy(update={"machine": "aarch64"})
    advice = solve(wish)
    assume(advice.is_possible)
    chosen = numbers(advice.value("cuda.version"))[:2]
    released = {
        row["cuda"]
        for row in rows("official_builds.build")
        if row["torch"] == wish.torch and row["machine"] == wish.machine and row["cuda"]
    }

    for cuda in released:
        if numbers(cuda) > chosen or ".".join(map(str, chosen)) not in released:
            assert not solve(wish.model_copy(update={"cuda": cuda})).is_possible, cuda


@settings(max_examples=40)
@given(
    st.builds(
        Wish,
        torch=st.one_of(junk, st.sampled_from(TORCHES)),
        gpus=st.lists(st.one_of(junk, a_gpu), max_size=3).map(tuple),
        driver=st.one_of(junk, st.sampled_from(["", *BRANCHES])),
        glibc=st.one_of(junk, st.just("")),
        python=st.one_of(junk, st.just("")),
        cuda=st.one_of(junk, rarely(TOOLKITS)),
        archs=st.one_of(st.just(()), st.lists(junk, max_size=2).map(tuple)),
        cudnn=st.one_of(junk, st.just("")),
        nccl=st.one_of(junk, st.just("")),
        gcc=st.one_of(junk, st.just("")),
        builder_glibc=st.one_of(junk, st.just("")),
    )
)
def test_nothing_that_somebody_writes_breaks_it(wish: Wish) -> None:
    """Junk is a conflict like any other, with its two facts; never a crash."""
    advice = solve(wish)

    assert [item.reference for item in advice.conflicts if len(item.facts) < 2 or not item.what] == []


@pytest.mark.parametrize(
    "field", ["torch", "driver", "glibc", "python", "cuda", "cudnn", "nccl", "gcc", "builder_glibc"]
)
@pytest.mark.parametrize(
    "text", ["-1", "2.6; rm -rf /", "٢.٦", "9" * 5000, "\x00", ">=", "2.6\n", "sm_61", "..", "1e9"]
)
def test_hostile_text_is_refused_or_said(field: str, text: str) -> None:
    """No text in any field raises, takes long, or comes back as a choice."""
    wish = Wish(torch="2.6", gpus=("GTX 1080 Ti",)).model_copy(update={field: text})

    advice = solve(wish)

    assert not advice.is_possible, f"{field} = {text[:20]!r} is accepted"
