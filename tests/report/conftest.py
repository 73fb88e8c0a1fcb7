"""What several views are tried on."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from typing import TextIO

import pytest


@pytest.fixture
def terminal() -> Iterator[TextIO]:
    """A real pseudo-terminal."""
    leader, follower = pty.openpty()
    stream = os.fdopen(follower, "w")
    yield stream
    stream.close()
    os.close(leader)
