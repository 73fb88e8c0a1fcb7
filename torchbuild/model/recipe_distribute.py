"""The recipe's table of machines that compile for this one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from torchbuild.model.frozen import Documented
from torchbuild.model.recipe_words import PoolHost, PoolScheduler, PoolToken

__all__ = ["Distribute"]


class Distribute(Documented):
    """Machines that compile for this one. What they cannot compile, or do not, is compiled here."""

    engine: Literal["distcc", "icecc", "sccache-dist"] = "distcc"
    """What sends compiles to them; its program must be in the builder. ``distcc``: each machine has the
    builder's compilers. ``icecc`` and ``sccache-dist``: they are sent there, and `scheduler` chooses the
    machine."""
    scheduler: PoolScheduler | None = None
    """With ``icecc`` and ``sccache-dist``: the scheduler, as ``HOST`` or ``HOST:PORT``; for the latter also
    as ``https://HOST``. `hosts` are then the addresses by which it knows the machines, and their slots are
    added up."""
    token: PoolToken = ""
    """With ``sccache-dist``: what the scheduler asks its clients for, as ``${NAME}``, a variable of the
    environment. What is in it enters no lock, log or report. Empty: it asks for nothing."""
    hosts: tuple[PoolHost, ...] = Field(min_length=1, max_length=1000)
    """The machines, as ``HOST``, ``HOST:PORT``, ``HOST/SLOTS`` or ``HOST:PORT/SLOTS``. A build may reach them
    through a relay, and nothing else of the network; they are named in its report and its provenance."""
    slots: int = Field(default=4, ge=1, le=1024)
    """Compiles that a machine does at a time, where `hosts` does not say."""
    timeout_s: int = Field(default=600, ge=10, le=86400)
    """With ``distcc``: seconds without a word after which a machine is given up, and its compile is done by
    another or here. The others have times of their own."""
    required: bool = False
    """Whether a build ends before it compiles where none of the machines can be used. Default: it compiles
    here, and says so."""
