"""The one pydantic policy of all our values."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

__all__ = ["Documented", "Frozen", "frozen_value"]


class Frozen(BaseModel):
    """A value: frozen, no unknown keys, strict types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)


class Documented(Frozen):
    """A value of which pages and a schema are made: the text below each field is its description.

    Apart from `Frozen`, because reading the source for it costs every start milliseconds a class.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)


def frozen_value(value: object) -> object:
    """Lists become tuples, all the way down: our values are frozen."""
    if isinstance(value, Mapping):
        return {key: frozen_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(frozen_value(item) for item in value)
    return value
