"""The keys of a recipe and what their model says of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from torchbuild.model.byte_size import ByteSize
from torchbuild.model.frozen import Frozen
from torchbuild.model.recipe import Recipe

__all__ = ["KeyDoc", "all_keys", "key_doc"]

_INDEX = re.compile(r"\[[0-9]*\]")


class KeyDoc(NamedTuple):
    """One key of a recipe."""

    key: str
    """Dotted, without list indexes."""
    kind: str
    """What may stand there, in words."""
    default: str
    """As in TOML; ``required``, or ``none`` where its absence has a meaning of its own."""
    text: str
    """What it is for."""
    keys: tuple[str, ...]
    """The keys below, where it is a table."""


def key_doc(key: str) -> KeyDoc | None:
    """What the model says of a key such as ``source.overlay[2].to`` or ``build.flags.USE_CUDA``."""
    model: type[Frozen] = Recipe
    parts = _INDEX.sub("", key).split(".")
    for position, part in enumerate(parts):
        field = _fields(model).get(part)
        if field is None:
            return None
        inner = _table(field.annotation)
        is_last = position == len(parts) - 1
        if is_last or (inner is None and _is_free(field.annotation) and position == len(parts) - 2):
            return _doc(".".join(parts[: position + 1]), field, inner)
        if inner is None:
            return None
        model = inner
    return None


def all_keys() -> tuple[str, ...]:
    """Every dotted key, in the order of the model."""
    return tuple(_keys_of(Recipe, ""))


def _keys_of(model: type[Frozen], prefix: str) -> Iterator[str]:
    for name, field in _fields(model).items():
        yield prefix + name
        inner = _table(field.annotation)
        if inner is not None:
            yield from _keys_of(inner, f"{prefix}{name}.")


def _fields(model: type[Frozen]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _doc(key: str, field: FieldInfo, inner: type[Frozen] | None) -> KeyDoc:
    below = tuple(f"{key}.{name}" for name in _fields(inner)) if inner is not None else ()
    return KeyDoc(
        key=key,
        kind="size, such as 20 GiB" if _is_size(field) else _kind(field.annotation),
        default=_default(field),
        text=(field.description or "").strip(),
        keys=below,
    )


def _is_size(field: FieldInfo) -> bool:
    """Optional or not; the pattern lies at another place then."""
    return ByteSize in get_args(field.annotation) or get_args(ByteSize)[1] in field.metadata


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "none" if value is None or isinstance(value, Frozen) else json.dumps(value)


def _table(annotation: Any) -> type[Frozen] | None:  # noqa: ANN401  an annotation can be anything
    """The model in an annotation: itself, optional, or as the item of a list."""
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        return annotation
    inner = (_table(argument) for argument in get_args(annotation))
    return next((model for model in inner if model is not None), None)


def _is_free(annotation: Any) -> bool:  # noqa: ANN401  an annotation can be anything
    """Whether the keys below are the author's own."""
    return get_origin(annotation) is dict


def _kind(annotation: Any) -> str:  # noqa: ANN401  an annotation can be anything
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        said = ", ".join(f'"{item}"' if isinstance(item, str) else str(item) for item in arguments)
        return f"one of {said}" if len(arguments) > 1 else said
    if origin is Annotated:
        arguments = arguments[:1]  # what follows are bounds and patterns
    if origin in (Annotated, Union, UnionType):
        return " or ".join(_kind(item) for item in arguments if item is not NoneType)
    if origin in (tuple, dict):
        several, position = ("list", 0) if origin is tuple else ("table of names", 1)
        return f"{several}, each {_kind(arguments[position])}"
    return _WORDS.get(annotation, "table")


_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}
