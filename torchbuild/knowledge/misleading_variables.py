"""Variables of the environment that reach into a build which is made by hand."""

from __future__ import annotations

from torchbuild.knowledge.fact import Fact, facts_file, table_cache
from torchbuild.model.frozen import frozen_value

__all__ = ["MisleadingVariables", "misleading_variables"]


class MisleadingVariables(Fact):
    """Their names."""

    names: tuple[str, ...]
    """Whole ones, sorted."""
    prefixes: tuple[str, ...]
    """How others begin, sorted."""

    def holds(self, name: str) -> bool:
        """Whether a variable is one of them."""
        return name in self.names or name.startswith(self.prefixes)


@table_cache
def misleading_variables() -> MisleadingVariables:
    """All that are known."""
    return MisleadingVariables.model_validate(frozen_value(facts_file("misleading_variables")["variables"]))
