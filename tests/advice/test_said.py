"""Facts, conflicts and wishes as a person reads them."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from torchbuild.advice.answer import Cited, Conflict
from torchbuild.advice.said import (
    cited_line,
    conflict_lines,
    conflicts_lines,
    init_command,
    is_proven,
)
from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish
from torchbuild.cli.init import init

READ = Cited(
    table="cuda.arch",
    row="37",
    says="CUDA >=6.5,<12 compiles for sm_37",
    source="a page",
    checked="2026-11-30",
)
GUESSED = READ.model_copy(update={"checked": "unconfirmed"})
ASKED = Cited(table="wish", row="cuda", says="cuda 12.4 is asked for")


def conflict(*facts: Cited, reference: str = "toolkit-unaware-of-chip") -> Conflict:
    """A conflict between facts."""
    return Conflict(reference=reference, what="CUDA 12.4 has no sm_37", facts=facts, fix="Take another.")


def test_a_fact_says_where_it_was_read() -> None:
    """Table, row, source and date stand behind it; a wish has none of them."""
    assert cited_line(READ) == "CUDA >=6.5,<12 compiles for sm_37 (cuda.arch 37: a page, 2026-11-30)"
    assert cited_line(ASKED) == "cuda 12.4 is asked for"


def test_a_conflict_is_told_with_its_facts() -> None:
    """The reference is there for who wants to know more."""
    assert list(conflict_lines(conflict(ASKED, READ))) == [
        "CUDA 12.4 has no sm_37 [toolkit-unaware-of-chip]",
        "  cuda 12.4 is asked for",
        f"  {cited_line(READ)}",
    ]


def test_only_what_somebody_read_proves_anything() -> None:
    """A fact from memory, or a name that nobody knows, forbids nothing."""
    assert is_proven(conflict(ASKED, READ))
    assert not is_proven(conflict(ASKED, GUESSED))
    assert not is_proven(conflict(ASKED, READ, reference="gpu-unknown"))


WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=9
)
WISHES = st.builds(
    Wish,
    torch=st.sampled_from(["2.6", "2.6.0"]),
    gpus=st.lists(WORDS.filter(lambda text: text != "auto"), max_size=3).map(tuple),
    driver=st.sampled_from(["", "535", "535.129.03"]),
    modules=st.sampled_from(["", "open", "proprietary"]),
    forward_compat=st.booleans(),
    machine=st.sampled_from(["x86_64", "aarch64"]),
    glibc=st.sampled_from(["", "2.28"]),
    python=st.sampled_from(["", "3.12", "3.13t"]),
    cuda=st.sampled_from(["", "12.4.1"]),
    archs=st.sampled_from([(), ("8.6", "9.0+PTX")]),
    cudnn=st.sampled_from(["", "9.1.0.70"]),
    nccl=st.sampled_from(["", "2.21.5"]),
    gcc=st.sampled_from(["", "12"]),
)


@given(WISHES)
def test_the_command_line_of_a_wish_asks_for_it(wish: Wish) -> None:
    """Whatever is in a name, a shell hands it back as it was, and the options are those of `init`."""
    name, command, *arguments = shlex.split(init_command(wish, more=("--out", "a b.toml")))

    context = init.make_context(command, list(arguments))
    assert (name, command) == ("torchbuild", "init")
    given = context.params
    assert given["torch"] == wish.torch
    assert given["gpus"] == wish.gpus
    assert given["driver"] == wish.driver
    assert given["is_cpu"] is (not wish.gpus and not wish.archs)
    assert (given["modules"] or "") == wish.modules
    assert given["out"] == "a b.toml"
    assert len(given["sets"]) == sum(map(bool, (wish.archs, wish.cudnn, wish.nccl, wish.gcc)))


def test_conflicts_that_collide_with_one_another_name_their_facts_once() -> None:
    """Two sides of one collision: both lines, then each fact once."""
    advice = solve(Wish(torch="2.9", gpus=("K80",), driver="470"))
    lines = tuple(conflicts_lines(advice.conflicts))
    assert len(advice.conflicts) == 2
    assert len(lines) == len(set(lines)) == 4
    assert [line.startswith("  ") for line in lines] == [False, False, True, True]
