"""A wish says what is known, and nothing that it does not say is made up."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.advice.wish import Wish


def test_what_is_not_said_is_not_known() -> None:
    """Only the release must be named; everything else is empty, and the machine the common one."""
    wish = Wish(torch="2.6")
    said = {key for key, value in wish if value}
    assert said == {"torch", "machine"}
    assert wish.machine == "x86_64"


def test_a_wish_does_not_change_under_who_weighs_it() -> None:
    """It can be a key, and a field that it has not is an error."""
    wish = Wish(torch="2.6", gpus=("A100",))
    assert hash(wish) == hash(Wish(torch="2.6", gpus=("A100",)))
    with pytest.raises(ValidationError):
        Wish.model_validate({"torch": "2.6", "gpu": "A100"})
    with pytest.raises(ValidationError):
        Wish.model_validate({"torch": "2.6", "modules": "nouveau"})
