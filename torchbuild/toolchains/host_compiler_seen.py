"""What a builder's survey saw of its compilers, and the toolkit's header with them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import StringConstraints, ValidationError

from torchbuild.errors import HostError
from torchbuild.model.frozen import Frozen, frozen_value

__all__ = ["Answer", "Builder", "CCompiler", "Called", "Compiler", "builder_of"]


class Called(Frozen):
    """One name of a compiler."""

    says: str
    """First line of ``--version``, which tells how it was called."""
    cc: str
    """The C compiler of the same name, absolute; empty for none."""
    cc_says: str
    """What that one says."""


class CCompiler(Frozen):
    """A C compiler."""

    kind: str
    """``gcc``, ``clang``, ``other``, or empty where there is none."""
    version: str
    """In full."""
    says: str
    """First line of ``--version``."""


class Answer(Frozen):
    """How a program ended; code -1 where it was not asked."""

    code: int
    """Exit code."""
    said: str
    """The first error."""
    cxx: str = ""
    """With what it was asked."""


class Compiler(Frozen):
    """One C++ compiler of the builder, whatever it is called."""

    names: dict[str, Called]
    """By absolute path."""
    real: str
    """The file behind the names."""
    kind: str
    """``gcc``, ``clang``, ``other``, or empty for a program that does not start."""
    version: Annotated[str, StringConstraints(pattern=r"^([0-9]{1,6}(\.[0-9]{1,6}){0,3})?$")]
    """In full, as a header is told it; empty where it does not say."""
    machine: str
    """Processor family that it compiles for."""
    target: str
    """As it calls that itself."""
    twin: CCompiler
    """The C compiler of the same make."""
    compiles: str
    """Empty where a small program compiles and starts; else what was said."""
    header: Answer
    """What the toolkit's own header says to it."""

    @property
    def path(self) -> str:
        """The name to take: the one that a distribution made for its toolkit, else the plainest."""
        return min(self.names, key=lambda name: ("/cuda-" not in name, len(name), name))

    @property
    def is_cache(self) -> bool:
        """Whether a compiler cache hides behind the name; a recipe asks for one in another way."""
        return posixpath.basename(self.real) in ("ccache", "sccache", "distcc", "icecc")

    def __str__(self) -> str:
        """For people: the name, the kind and the version."""
        return f"{self.path} ({self.kind or 'unknown'} {self.version or 'of no version'})"


class Builder(Frozen):
    """What `torchbuild.shim.look_compilers` saw."""

    compilers: tuple[Compiler, ...]
    """All of them."""
    cc: str
    """The recipe's C compiler, absolute; empty where it is not there."""
    cc_is: CCompiler
    """What that is."""
    cxx: str
    """The recipe's C++ compiler, likewise."""
    glibc: str
    """The C library's version."""
    distribution: str
    """``ID`` of os-release."""
    release: str
    """``VERSION_ID``."""
    header: str
    """The toolkit's header; empty where there is none in the builder yet."""
    directives: str
    """Its conditions."""
    device: Answer
    """A small kernel compiled by nvcc with the recipe's C++ compiler."""

    def named(self, path: str) -> Compiler | None:
        """The compiler with that name."""
        return next((item for item in self.compilers if path in item.names), None)


def builder_of(seen: Mapping[str, Any]) -> Builder:
    """What the guest saw, read with suspicion.

    Raises:
        HostError: ``compilers-unreadable``: the guest said something else than it should.
    """
    try:
        fields = {key: seen[key] for key in ("cc", "cc_is", "cxx", "glibc", "device")}
        config, system = seen["host_config"], seen["distribution"]
        fields |= {"header": config["path"], "directives": config["directives"]}
        fields |= {"distribution": system["id"], "release": system["release"]}
        return Builder.model_validate(frozen_value(fields | {"compilers": seen["compilers"]}))
    except (KeyError, TypeError, ValidationError) as error:
        raise HostError(
            "compilers-unreadable",
            "what the builder said of its compilers cannot be read",
            why=f"{type(error).__name__}: {str(error)[:300]}",
            fix="Report this, with the log of the survey.",
        ) from error
