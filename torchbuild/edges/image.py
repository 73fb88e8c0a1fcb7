"""What an engine knows of a builder image."""

from __future__ import annotations

from torchbuild.edges.engine import engine_argv
from torchbuild.edges.process import capture
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef, is_sha256

__all__ = ["inspect_image"]


def inspect_image(engine: str, name: str) -> ImageRef:
    """The image that the engine has under `name`, by its exact id; nothing is pulled.

    Raises:
        HostError: ``image-missing`` with how to make it, ``engine-answer-unreadable``, ``program-missing``.
    """
    query = engine_argv(engine, "image", "inspect", "--format", "{{.Id}}", name)
    try:
        answer = capture(query)
    except HostError as error:
        if error.reference != "query-failed":
            raise
        raise HostError(
            "image-missing",
            f"{name}: {engine} has no such image",
            why=(
                f"seen: {' '.join(error.evidence[-1:]) or 'no answer'}",
                "wanted: a builder image, made here",
            ),
            fix=f"Run docker/{_folder(name)}/make_image.py --engine {engine} --name {name}",
            evidence=error.evidence,
        ) from error
    digest = answer.strip().removeprefix("sha256:")
    if not is_sha256(digest):
        raise HostError(
            "engine-answer-unreadable",
            f"{name}: {engine} does not name the image by a digest",
            why=(f"seen: {answer.strip()[:200]}", "wanted: 64 hexadecimal digits"),
            fix=f"Run `{engine} image inspect {name}` by hand; use an engine that names images by sha256.",
        )
    return ImageRef(name=name, id=digest)


def _folder(name: str) -> str:
    """The folder that makes the image: the last part of its name, without tag or digest."""
    return name.partition("@")[0].rpartition("/")[2].partition(":")[0]
