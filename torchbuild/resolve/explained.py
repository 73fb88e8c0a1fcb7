"""Why each line of a recipe and of its lock is what it is: where it is from, and what decided it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from torchbuild.advice.answer import Choice
from torchbuild.advice.of_recipe import WISH_KEYS, has_wish, wish_of
from torchbuild.advice.said import cited_line
from torchbuild.advice.solve import solve
from torchbuild.model.frozen import Frozen
from torchbuild.model.lock import Lock
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.resolve.lines import Places
from torchbuild.resolve.load import Loaded
from torchbuild.resolve.overrides import OVERRIDE_FILE
from torchbuild.resolve.problems import shown

__all__ = ["Explained", "lock_lines", "recipe_lines"]

Origin = Literal["recipe", "extends", "--set", "default", "facts", "lock"]
_LOCATORS = {
    "pypi": "read from the package index",
    "debian": "read from the publisher's signed lists",
    "nvidia": "read from the publisher's document",
    "file": "computed from the file beside the recipe",
}
"""Where a digest is from, by the kind of locator."""
_FIRST_USE = "computed from the bytes when they were first seen: the publisher names none"
_OTHERWISE = "named by the recipe, or computed from the bytes"


_DECLARED = re.compile(r"^([^:]+):\d+: declared .*$")
_DERIVED = "cuda.archs"
_WHY_DERIVED = "what the GPUs of target.gpus need, with PTX where the driver can translate it"
_CHOSEN = (
    "python.version",
    "toolchain.cxx",
    "cuda.version",
    "cuda.archs",
    "cudnn.version",
    "nccl.version",
    "image.suite",
)
"""What the facts choose between; of all else they only say that it may be."""


class Explained(Frozen):
    """One line."""

    key: str
    """Dotted; of the lock, below ``lock``."""
    value: str
    """What stands there, in short."""
    origin: Origin
    """What it is from."""
    where: str
    """File and line, where it stands in one."""
    why: str
    """One sentence; may be empty where somebody wrote it and no fact speaks of it."""
    facts: tuple[str, ...] = ()
    """What decided it, or speaks of it, each with its source."""


def recipe_lines(loaded: Loaded, *, first: str) -> tuple[Explained, ...]:
    """Every key of the recipe, those that nobody wrote with their defaults, in the order of the model.

    Args:
        loaded: the recipe, and where its keys stand.
        first: the file that was asked for; the others are what it extends.
    """
    chosen = _chosen(loaded.recipe)
    found = []
    for key, value, is_written in _leaves(loaded.recipe, ""):
        line = _line(key, value, loaded.places, first=first, is_written=is_written)
        if loaded.is_derived and key == _DERIVED:
            line = line.model_copy(update={"origin": "facts", "where": "", "why": _WHY_DERIVED})
        found.append(_weighed(line, chosen[key], value) if key in chosen else line)
    return tuple(found)


def _chosen(recipe: Recipe) -> dict[str, Choice]:
    """By key, what the facts would choose: a toolkit, and all else for the recipe's own toolkit."""
    if not has_wish(recipe):
        return {}
    wish = wish_of(recipe)
    left = dict.fromkeys(("python", "gcc", "cudnn", "nccl", "builder_glibc"), "")
    kept = {name: "none" for name in ("cudnn", "nccl") if getattr(wish, name) == "none"}
    archs = () if wish.gpus else wish.archs
    free = wish.model_copy(update=left | kept | {"archs": archs})
    rows = {item.key: item for item in solve(free).choices}
    if recipe.cuda is not None:
        toolkit = solve(free.model_copy(update={"cuda": ""})).choices
        rows |= {item.key: item for item in toolkit if item.key == "cuda.version"}
    return {key: rows[key] for key in _CHOSEN if key in rows}


def _weighed(line: Explained, choice: Choice, value: object) -> Explained:
    """With what the facts say: that they would choose the same, or what they would choose instead."""
    own = WISH_KEYS.get(line.key)
    facts = tuple(cited_line(fact) for fact in choice.facts if (fact.table, fact.row) != ("wish", own))
    is_same = _is_same(value, choice.value)
    why = choice.why if is_same else f"the facts alone would choose {choice.value}: {choice.why}"
    if line.origin == "facts":
        return line.model_copy(update={"why": choice.why, "facts": facts})
    return line.model_copy(update={"why": why, "facts": facts})


def _is_same(written: object, chosen: str) -> bool:
    """Lists without regard to their spaces; of releases, one may say less than the other."""
    if isinstance(written, tuple):
        return ",".join(map(str, written)) == chosen.replace(" ", "")
    one, other = f"{written}.", f"{chosen}."
    return one.startswith(other) or other.startswith(one)


def _line(key: str, value: object, places: Places, *, first: str, is_written: bool) -> Explained:
    place = _place(key, places)
    if place is None or not is_written:
        return Explained(key=key, value=shown(value), origin="default", where="", why="nobody wrote it")
    file, number = place
    origin: Origin = "recipe" if file == first else "--set" if file == OVERRIDE_FILE else "extends"
    where = file if number is None else f"{file}:{number}"
    return Explained(key=key, value=shown(value), origin=origin, where=where, why="")


def _place(key: str, places: Places) -> tuple[str, int | None] | None:
    """Where a key stands; of one inside an inline table, where that does."""
    while key and key not in places:
        cut = max(key.rfind("."), key.rfind("["))
        key = key[: max(cut, 0)]
    return (places[key].file, places[key].line) if key else None


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any, bool]]:  # noqa: ANN401  models and what they hold
    """Each value that is no table, by its key, and whether somebody wrote it."""
    for name, field in type(value).model_fields.items():
        key = f"{path}.{field.alias or name}" if path else field.alias or name
        held, is_written = getattr(value, name), name in value.model_fields_set
        if isinstance(held, Frozen):
            yield from _leaves(held, key)
        elif isinstance(held, dict) and held:
            yield from ((f"{key}.{inner}", item, is_written) for inner, item in held.items())
        elif isinstance(held, tuple) and held and isinstance(held[0], Frozen):
            for index, item in enumerate(held):
                yield from _leaves(item, f"{key}[{index}]")
        elif held is not None:
            yield key, held, is_written


def lock_lines(lock: Lock, where: str) -> tuple[Explained, ...]:
    """What the lock holds beyond the recipe's own words.

    Args:
        lock: of that recipe.
        where: its file.
    """
    rows = (*_source(lock), *_builder(lock), *_parts(lock), *_told(lock), *_requirements(lock))
    return tuple(
        Explained(key=f"lock.{key}", value=value, origin="lock", where=where, why=why, facts=tuple(facts))
        for key, value, why, facts in rows
    )


_Row = tuple[str, str, str, Iterable[str]]


def _source(lock: Lock) -> Iterator[_Row]:
    source = lock.source
    if source.kind == "git":
        yield "source.commit", source.commit, f"what {source.ref or 'the ref'} was when it was locked", ()
        if source.submodules:
            why = "each at the commit that the tree names"
            yield "source.submodules", f"{len(source.submodules)} of them", why, ()
    if source.artifact is not None:
        yield "source.archive", source.artifact.sha256, _digest(lock, source.artifact.locator), ()
    if source.tree is not None:
        yield "source.tree", source.tree, "computed from the folder's contents", ()
    for module in source.late:
        why = "what the tree would fetch while it is built, laid beforehand"
        yield f"source.late.{module.path}", module.commit, why, ()
    if source.patches:
        names = tuple(f"{patch.name}: {patch.origin}" for patch in source.patches)
        yield "source.patches", f"{len(source.patches)} of them", "in the order of series and recipe", names
    yield "epoch", str(lock.epoch), "the commit's time, or source.epoch", ()
    yield "era", lock.era, "the tree's own pyproject.toml says how it is built", ()


def _builder(lock: Lock) -> Iterator[_Row]:
    if lock.image is not None:
        yield "image.id", lock.image.id, "as the engine has it, or as it was made of the packages below", ()
    if lock.builder is not None:
        count, suite = len(lock.builder.packages), lock.builder.suite
        yield "image.packages", f"{count} of {suite}", "those of the recipe and what they need, by digest", ()
    python = lock.python
    yield "python", f"{python.version} {python.soabi}", f"what the builder says of {python.executable}", ()
    yield "cxx", f"{lock.cxx}: {lock.compiler}", "toolchain.cxx, or the newest that toolkit and tree take", ()
    yield "glibc", lock.glibc, "target.glibc, or the builder's own", ()


def _parts(lock: Lock) -> Iterator[_Row]:
    if lock.gpu_archs:
        yield "gpu_archs", ", ".join(lock.gpu_archs), "cuda.archs, written or derived", ()
    for part in lock.parts:
        why = f"provided by {part.provider}" + ("" if part.is_ours else ": looked at in the builder")
        yield f"parts.{part.name}", f"{part.version or 'as it is'} in {part.prefix}", why, _pieces(lock, part)


def _pieces(lock: Lock, part: LockedPart) -> Iterator[str]:
    for piece in part.pieces:
        artifact = piece.artifact
        yield f"{artifact.locator}: sha256 {artifact.sha256}, {_digest(lock, artifact.locator)}"


def _digest(lock: Lock, locator: str) -> str:
    if any(line.startswith(f"{locator}:") for line in lock.unpinned):
        return _FIRST_USE
    return _LOCATORS.get(locator.partition(":")[0], _OTHERWISE)


def _told(lock: Lock) -> Iterator[_Row]:
    """What the build is told, and what the gate compares, by who wants it."""
    why = "preset, tables and build.env of the recipe, as the era takes them"
    wanted = {item.key: item.why for item in lock.expect}
    told = (f"{k}={v}" + (f": {wanted[k]}" if k in wanted else "") for k, v in lock.environ.items())
    yield "environ", f"{len(lock.environ)} variables", why, told
    if lock.defines:
        rows = (f"{key}={value}" for key, value in lock.defines.items())
        yield "defines", f"{len(lock.defines)} definitions", "what no variable of the era can carry", rows
    counts = Counter(_DECLARED.sub(r"what \1 declares", item.why) for item in lock.expect)
    told = (f"{count} because of {who}" for who, count in sorted(counts.items(), key=lambda i: (-i[1], i[0])))
    yield "expect", f"{len(lock.expect)} entries of the cache", "what the gate compares after configure", told


def _requirements(lock: Lock) -> Iterator[_Row]:
    kinds = (
        ("build_requires", lock.build_requires, "the era, the release, the tree, bounds and build.requires"),
        ("run_requires", lock.run_requires, "wheel.requires and what that needs"),
        ("verify_requires", lock.verify_requires, "verify.packages and what they need"),
    )
    for name, files, why in kinds:
        if files:
            yield name, f"{len(files)} files", f"{why}; digests read from the package index", ()
