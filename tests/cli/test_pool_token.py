"""The token of a pool's scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.cli.pool_token import pool_token, token_laid
from torchbuild.errors import UsageError
from torchbuild.model.recipe import Machine
from torchbuild.model.recipe_distribute import Distribute
from torchbuild.shim.pool_engines import token_beside


def machine(token: str) -> Machine:
    """With a pool whose scheduler may ask for one."""
    return Machine(
        distribute=Distribute(engine="sccache-dist", scheduler="s", hosts=("10.0.0.1",), token=token)
    )


def test_it_comes_from_the_environment() -> None:
    """The recipe says which variable."""
    assert pool_token(machine("${WORD}"), {"WORD": "t0ken"}) == "t0ken"
    assert pool_token(machine(""), {"WORD": "t0ken"}) == ""
    assert pool_token(Machine(), {}) == ""


@pytest.mark.parametrize(
    ("environ", "seen"), [({}, "not set"), ({"WORD": ""}, "empty"), ({"WORD": "t0\nken"}, "other signs")]
)
def test_what_cannot_be_sent_ends_the_build_before_it_begins(environ: dict[str, str], seen: str) -> None:
    """With the variable's name, and nothing of what is in it."""
    with pytest.raises(UsageError) as caught:
        pool_token(machine("${WORD}"), environ)

    assert caught.value.reference == "pool-token-invalid"
    assert seen in caught.value.why[0]
    assert "t0" not in str(caught.value.why)


def test_the_shim_finds_it_while_the_build_runs(tmp_path: Path) -> None:
    """Beside its own folder; not before and not after."""
    with token_laid("t0ken", tmp_path):
        assert token_beside(str(tmp_path / "shim")) == "t0ken"

    assert token_beside(str(tmp_path / "shim")) == ""
