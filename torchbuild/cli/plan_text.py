"""Plans as text for a person, and as JSON for a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torchbuild.model.artifact import Artifact
from torchbuild.model.command import render
from torchbuild.model.stage import StagePlan
from torchbuild.stages import compile as compile_stage
from torchbuild.stages import configure, fetch, package, source, toolchain, verify

__all__ = ["plan_json", "plan_text"]

Plans = Sequence[tuple[StagePlan, str]]
"""Each plan with its whole key."""


def plan_json(plans: Plans) -> list[dict[str, Any]]:
    """Every field of each plan but the lock, a file of its own; commands with their real paths."""
    return [
        item.model_dump(mode="json", exclude={"lock"})
        | {"key": key, "commands": [command.expanded().model_dump(mode="json") for command in item.commands]}
        for item, key in plans
    ]


def plan_text(plans: Plans) -> str:
    """What a shell would take for comments, and the commands between them."""
    return "\n\n".join("\n".join(_stage(item, key)) for item, key in plans)


def _stage(item: StagePlan, key: str) -> Iterator[str]:
    yield f"# == {item.stage} ==  key {key[:12]}"
    for line in _details(item):
        yield f"#   {line}"
    for command in item.commands:
        yield render(command.expanded())
    if item.makes:
        yield f"#   makes {', '.join(item.makes)}"


def _details(item: StagePlan) -> Iterator[str]:
    match item:
        case fetch.Plan():
            yield from (_file(artifact) for artifact in item.artifacts)
            yield from (f"commit {module.commit}  {module.url}" for module in item.repositories)
        case toolchain.Plan():
            yield f"Python {item.python.version}, {item.compiler}"
            yield "installs " + ", ".join(f"{name} {version}" for name, version in item.packages)
        case source.Plan():
            yield from _source(item)
        case configure.Plan() | compile_stage.Plan():
            yield from (f"compares {one.key} = {one.value}  ({one.why})" for one in item.expect)
        case package.Plan():
            wanted = item.expected
            yield f"wants {wanted.distribution} {wanted.version}, {wanted.python_tag}, {wanted.machine}"
            yield f"wants glibc {wanted.glibc} or older, no path of the build, each library once"
        case verify.Plan():
            yield f"level {item.verify.level}; must pass: {', '.join(item.verify.require) or 'nothing'}"
            yield from (f"config.show() says {name}={text}" for name, text in item.verify.settings.items())
        case _:
            yield "lays the wheel, its digest, its lock and its report into the folder of --out"


def _file(artifact: Artifact) -> str:
    size = f"{artifact.size / 1e6:.1f} MB" if artifact.size is not None else "size unknown"
    return f"{artifact.locator}  sha256 {artifact.sha256}  {size}"


def _source(item: source.Plan) -> Iterator[str]:
    tree = item.source
    pinned = tree.commit or (tree.artifact.sha256 if tree.artifact else tree.tree)
    yield f"{tree.kind} {tree.url or (tree.artifact.locator if tree.artifact else tree.path)} at {pinned}"
    yield from (f"submodule {module.path} at {module.commit}" for module in tree.submodules)
    yield from (f"patch {patch.name}" for patch in tree.patches)
    yield from (f"overlay {overlay.to}" for overlay in tree.overlays)
