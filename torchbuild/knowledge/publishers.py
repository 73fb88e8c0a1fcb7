"""Where publishers keep what they publish."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts_file, table_cache
from torchbuild.model.frozen import frozen_value

__all__ = ["PublisherFact", "publisher_addresses"]


class PublisherFact(Fact):
    """One publisher."""

    base: str
    """Its address, with the slash at the end."""


@table_cache
def publisher_addresses() -> dict[str, str]:
    """By the kind of a locator, such as ``nvidia``, the address that its path is below."""
    rows = facts_file("publishers")
    return {kind: PublisherFact.model_validate(frozen_value(row)).base for kind, row in rows.items()}
