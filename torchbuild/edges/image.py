"""What an engine knows of a builder image."""

from __future__ import annotations

from pathlib import PurePath

from torchbuild.edges.engine import engine_argv
from torchbuild.edges.process import capture
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef, is_sha256

__all__ = ["has_image", "image_missing", "inspect_image"]

_NOT_THERE = ("no such image", "image not known", "no such object")
"""How engines say so; whatever else they say is another failure."""


def inspect_image(engine: str, name: str) -> ImageRef:
    """The image that the engine has under `name`, by its exact id; nothing is pulled.

    Raises:
        HostError: ``image-missing`` with how to make it, ``engine-answer-unreadable``, ``program-missing``.
    """
    try:
        answer = capture(_query(engine, name))
    except HostError as error:
        if error.reference != "query-failed":
            raise
        wanted = "wanted: a builder image, made here"
        raise image_missing(PurePath(engine).name, name, wanted, error.evidence) from error
    digest = answer.strip().removeprefix("sha256:")
    if not is_sha256(digest):
        raise HostError(
            "engine-answer-unreadable",
            f"{name}: {engine} does not name the image by a digest",
            why=(f"seen: {answer.strip()[:200]}", "wanted: 64 hexadecimal digits"),
            fix=f"Run `{engine} image inspect {name}` by hand; use an engine that names images by sha256.",
        )
    return ImageRef(name=name, id=digest)


def has_image(engine: str, image: str) -> bool:
    """Whether the engine has the image under this name or id. One that gives no answer has it."""
    try:
        capture(_query(engine, image))
    except HostError as error:
        words = " ".join(error.evidence).lower()
        return error.reference != "query-failed" or not any(said in words for said in _NOT_THERE)
    return True


def image_missing(engine: str, name: str, wanted: str, evidence: tuple[str, ...]) -> HostError:
    """That the engine does not have the image, and how it is made again; for the caller to raise.

    Args:
        engine: its name.
        name: what the recipe calls the image.
        wanted: the last line of the reason.
        evidence: the engine's own words.
    """
    brought = f"{engine} load" if name.startswith("localhost/") else f"{engine} pull {name}, or {engine} load"
    return HostError(
        "image-missing",
        f"{name}: {engine} has no such image",
        why=(f"seen: {' '.join(evidence[-1:]) or 'no answer'}", wanted),
        fix=f"Make it: torchbuild image RECIPE. One made elsewhere: {brought}.",
        evidence=evidence,
    )


def _query(engine: str, image: str) -> list[str]:
    return engine_argv(engine, "image", "inspect", "--format", "{{.Id}}", image)
