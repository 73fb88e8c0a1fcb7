"""The names that a recipe may require."""

from __future__ import annotations

import re
from pathlib import Path

from torchbuild import smoke
from torchbuild.smoke.checks import CHECKS
from torchbuild.smoke.names import NAMES
from torchbuild.smoke.runner import reference_of

ROOM = Path(smoke.__file__).parent


def test_every_name_that_a_check_uses_can_be_required() -> None:
    """Nothing that is looked at is out of a recipe's reach, and no name stands for nothing."""
    used = {reference_of(check.NAME) for check in CHECKS}
    for path in ROOM.glob("*.py"):
        used |= set(re.findall(r'"(smoke-[a-z][a-z-]*[a-z])"', path.read_text(encoding="utf-8")))

    assert [f"smoke-{name}" for name in NAMES] == sorted(used)
