"""What a wheel's file name says, and where its members will lie once it is installed."""

from __future__ import annotations

from functools import lru_cache

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from torchbuild.model.frozen import Frozen

__all__ = ["WheelName", "installed_path", "parse_name"]


class WheelName(Frozen):
    """A wheel's file name, taken apart."""

    distribution: str
    """Normalised name."""
    version: str
    """Version as PEP 440 writes it."""
    tags: tuple[str, ...]
    """Every tag the name stands for, such as ``cp313-cp313-linux_x86_64``, sorted."""

    def parts(self, index: int) -> tuple[str, ...]:
        """The interpreters (0), ABIs (1) or platforms (2) of its tags, each once, sorted."""
        return tuple(sorted({tag.split("-")[index] for tag in self.tags}))


@lru_cache(maxsize=64)
def parse_name(file_name: str) -> WheelName | str:
    """The name taken apart, or why it is no wheel's name."""
    try:
        distribution, version, _, tags = parse_wheel_filename(file_name)
    except (InvalidWheelFilename, ValueError) as error:
        return str(error)
    return WheelName(
        distribution=str(distribution), version=str(version), tags=tuple(sorted(str(tag) for tag in tags))
    )


def installed_path(member: str) -> str:
    """Where a member lies, relative to site-packages; what goes elsewhere keeps its own name.

    ``NAME.data/platlib/x`` and ``NAME.data/purelib/x`` are ``x``.
    """
    parts = member.split("/")
    if parts[0].endswith(".data") and parts[1:2] in (["platlib"], ["purelib"]):
        return "/".join(parts[2:])
    return member
