"""What a new recipe begins with: where the source is, what an image needs, what the wheel leaves outside."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts, facts_file, in_range, table_cache
from torchbuild.model.frozen import frozen_value

__all__ = [
    "OutsideFact",
    "PackageFact",
    "RequiresFact",
    "SourceFact",
    "image_packages",
    "outside_libraries",
    "source_fact",
    "wheel_requires",
]


class SourceFact(Fact):
    """Where the releases are."""

    git: str
    """The repository."""
    tag: str
    """How a release is tagged; ``{release}`` stands for ``2.6.0``."""


class PackageFact(Fact):
    """A package of the builder image."""

    name: str
    """``{gcc}`` stands for the compiler's major release."""
    when: str
    """What it is for: ``always``, or the ``blas.provider`` that it brings."""
    why: str
    """In a few words."""


class OutsideFact(Fact):
    """Libraries that a wheel of ours leaves outside."""

    part: str
    """``compiler``, ``cuda``, ``cudnn``, ``nccl``, or a ``blas.provider``."""
    releases: str
    """Releases of the part, a range; empty for any."""
    libraries: tuple[str, ...]
    """Sonames, sorted."""


class RequiresFact(Fact):
    """What the wheel of a release requires at run time, the toolkit's packages left out."""

    torch: str
    """Releases, a range."""
    requires: tuple[str, ...]
    """As PEP 508 strings, sorted."""


@table_cache
def source_fact() -> SourceFact:
    """Where the releases are."""
    return SourceFact.model_validate(frozen_value(facts_file("recipe_defaults")["upstream"]))


def image_packages(gcc: str, *whens: str) -> tuple[PackageFact, ...]:
    """What the image needs always and for `whens`, with the compiler's major release, in order."""
    rows = facts(PackageFact, "recipe_defaults", "package")
    return tuple(
        row.model_copy(update={"name": row.name.format(gcc=gcc)})
        for row in rows
        if row.when in ("always", *whens) and (gcc or "{gcc}" not in row.name)
    )


def outside_libraries(part: str, release: str = "") -> OutsideFact | None:
    """The sonames of a part; None where nobody knows them."""
    rows = facts(OutsideFact, "recipe_defaults", "outside")
    fitting = (row for row in rows if row.part == part)
    return next((row for row in fitting if not row.releases or in_range(release, row.releases)), None)


def wheel_requires(release: str) -> RequiresFact | None:
    """What the wheel of a release requires; None where nobody read it."""
    rows = facts(RequiresFact, "recipe_defaults", "requires")
    return next((row for row in rows if in_range(release, row.torch)), None)
