"""The recipe's table of machines that compile for this one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from torchbuild.model.frozen import Documented
from torchbuild.model.recipe_words import PoolHost

__all__ = ["Distribute"]


class Distribute(Documented):
    """Machines that compile for this one. What they cannot compile, or do not, is compiled here."""

    engine: Literal["distcc", "icecc"] = "distcc"
    """The program that sends compiles to them. It must be in the builder. ``distcc``: each machine has the
    builder's compilers. ``icecc``: they are sent there, and `scheduler` chooses the machine."""
    scheduler: PoolHost | None = None
    """With ``icecc``: the scheduler, as ``HOST`` or ``HOST:PORT``; `hosts` are then the addresses by which it
    knows the machines, and their slots are added up."""
    hosts: tuple[PoolHost, ...] = Field(min_length=1, max_length=1000)
    """The machines, as ``HOST``, ``HOST:PORT``, ``HOST/SLOTS`` or ``HOST:PORT/SLOTS``. A build may reach them
    through a relay, and nothing else of the network; they are named in its report and its provenance."""
    slots: int = Field(default=4, ge=1, le=1024)
    """Compiles that a machine does at a time, where `hosts` does not say."""
    timeout_s: int = Field(default=600, ge=10, le=86400)
    """With ``distcc``: seconds without a word after which a machine is given up, and its compile is done by
    another or here. ``icecc`` has times of its own."""
    required: bool = False
    """Whether a build ends before it compiles where none of the machines can be used. Default: it compiles
    here, and says so."""
