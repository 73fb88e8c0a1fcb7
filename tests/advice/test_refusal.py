"""Why no toolkit will do: the fewest facts, told against one another."""

from __future__ import annotations

from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish


def _told(wish: Wish) -> dict[str, tuple[str, ...]]:
    return {item.reference: tuple(fact.table for fact in item.facts) for item in solve(wish).conflicts}


def test_two_facts_that_leave_nothing_are_told_against_each_other() -> None:
    """Torch's floor and the chip's last toolkit: each names the other, and nothing else."""
    told = _told(Wish(torch="2.9", gpus=("K80",), driver="470"))
    assert set(told) <= {"toolkit-unaware-of-chip", "torch-refuses-toolkit", "toolkit-newer-than-driver"}
    assert all(len(set(tables)) > 1 for tables in told.values())
    assert len(told) == 2


def test_against_a_wished_toolkit_everything_is_told() -> None:
    """Who insists on one hears all that is against it."""
    told = _told(Wish(torch="2.9", gpus=("K80",), driver="470", cuda="12.4"))
    assert set(told) == {"toolkit-unaware-of-chip", "toolkit-newer-than-driver"}
    assert all("wish" in tables for tables in told.values())


def test_the_driver_that_asks_for_the_least_is_told() -> None:
    """Of all toolkits that are too new for a driver the oldest is the one to install a driver for."""
    fixes = {
        item.reference: item.fix for item in solve(Wish(torch="2.9", gpus=("A100",), driver="470")).conflicts
    }
    assert "525.60.13" in fixes["toolkit-newer-than-driver"]


def test_chips_without_a_common_toolkit_are_one_conflict() -> None:
    """Both windows in one sentence."""
    (shared,) = [
        item
        for item in solve(Wish(torch="2.8", archs=("3.7", "12.0"))).conflicts
        if item.reference == "chips-share-no-toolkit"
    ]
    assert [fact.row for fact in shared.facts] == ["37", "120"]
