"""The one pydantic policy of all our values."""

from pydantic import BaseModel, ConfigDict

__all__ = ["Documented", "Frozen"]


class Frozen(BaseModel):
    """A value: frozen, no unknown keys, strict types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)


class Documented(Frozen):
    """A value of which pages and a schema are made: the text below each field is its description.

    Apart from `Frozen`, because reading the source for it costs every start milliseconds a class.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)
