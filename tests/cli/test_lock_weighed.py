"""`torchbuild lock` of a recipe that facts forbid."""

from __future__ import annotations

from .conftest import Desk

VOLTA = """\
schema = 1
name = "volta"
[target]
gpus = ["V100"]
driver = ">=580"
[source]
git = "https://git.invalid/torch.git"
ref = "v2.11.0"
[cuda]
version = "13.0.2"
archs = ["7.0"]
[wheel]
version = "2.11.0"
"""


def test_what_facts_forbid_is_refused_before_anything_is_fetched(desk: Desk) -> None:
    """Exit code 4 with both facts and the ways out; nobody was asked for the source, and no lock is written."""
    (desk.folder / "volta.toml").write_text(VOLTA)

    ran = desk.run("lock", "volta.toml")

    assert ran.code == 4
    assert "error[recipe-impossible]" in ran.err
    assert "reading the source" not in ran.err
    assert "sm_70" in ran.err
    assert "another CUDA than 13.0.2" in ran.err
    assert not (desk.folder / "volta.lock").exists()


def test_a_build_refuses_it_as_well(desk: Desk) -> None:
    """It has no lock to build from, and none is made."""
    (desk.folder / "volta.toml").write_text(VOLTA.replace('archs = ["7.0"]\n', ""))

    ran = desk.run("build", "volta.toml")

    assert ran.code == 4
    assert "sm_70" in ran.err
    assert not (desk.folder / "volta.lock").exists()
