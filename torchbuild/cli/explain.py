"""``torchbuild explain``: what a name means: a reference, else a recipe key, else a path."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from torchbuild.cli.options import dev_option, json_option
from torchbuild.cli.output import print_result

if TYPE_CHECKING:
    from torchbuild.cli.why_rerun import Answer

__all__ = ["Explanation", "explain", "explanation"]

_LONGEST = 100
_MOST = 3


class Explanation(NamedTuple):
    """What a name was taken for, and what is known of it."""

    taken_as: str
    """``reference``, ``recipe key`` or ``path``."""
    name: str
    """The name as it is known."""
    facts: dict[str, str]
    """Label -> text."""
    also: tuple[str, ...]
    """What else the name could have meant."""


@click.command()
@click.argument("name")
@click.option("--why-rerun", is_flag=True, help="NAME is a recipe: say which stages run again, and why.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Of a recipe: as in build.")
@click.option("--lock", metavar="FILE", type=click.Path(path_type=Path), help="Of a recipe: as in build.")
@click.option(
    "--allow-path", "allowed", metavar="FOLDER", type=click.Path(path_type=Path), multiple=True,
    help="Of a recipe: as in build.",
)  # fmt: skip
@dev_option("Of a recipe: as build --dev builds it.")
@click.option("--paranoid", is_flag=True, help="With --why-rerun: read every made file again.")
@json_option
def explain(
    *,
    name: str,
    why_rerun: bool,
    overrides: tuple[str, ...],
    lock: Path | None,
    allowed: tuple[Path, ...],
    is_dev: bool,
    paranoid: bool,
    as_json: bool,
) -> None:
    """Explain NAME: a reference of an error or a check, else a key of a recipe, else a file.

    Of a recipe: why each line of it, and of the lock beside it, is what it is: who wrote it or what it
    follows from, what the facts say of it, who provides each part and where its digest is from.

    With --why-rerun, NAME is a recipe with a lock. For each stage: reused or run again, and why: which part
    of its key changed, which made path is not as it was left, which earlier stage runs again. Nothing is run.
    """
    if why_rerun:
        answer = _rerun(Path(name), lock, overrides, allowed, paranoid=paranoid, is_dev=is_dev)
        print_result(answer.json(), as_json=as_json, text="\n".join(answer.lines()))
        return
    found = explanation(name)
    if found.taken_as == "path" and not paranoid and _is_recipe(name):
        _explain_recipe(Path(name), lock, overrides, allowed, is_dev=is_dev, as_json=as_json)
        return
    if overrides or lock is not None or allowed or paranoid or is_dev:
        raise _without_why_rerun()
    value: dict[str, Any] = {
        "taken_as": found.taken_as,
        "name": found.name,
        **found.facts,
        "also": list(found.also),
    }
    print_result(value, as_json=as_json, text="\n".join(_lines(found)))


def _rerun(
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    *,
    paranoid: bool,
    is_dev: bool,
) -> Answer:
    from torchbuild.cli.facts_overlay import user_facts  # noqa: PLC0415  help must not pay for the pipeline
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.cli.recipe_files import lock_path, read_lock, read_recipe  # noqa: PLC0415
    from torchbuild.cli.why_rerun import why_rerun  # noqa: PLC0415

    with user_facts():
        wanted = read_recipe(recipe, overrides=overrides, allowed=allowed, is_dev=is_dev)
        made = read_lock(lock or lock_path(recipe, is_dev=is_dev), wanted, recipe.absolute().parent)
        return why_rerun(made, places(), paranoid=paranoid, is_dev=is_dev)


def _is_recipe(name: str) -> bool:
    from torchbuild.cli.explain_recipe import is_recipe  # noqa: PLC0415  as above

    return is_recipe(Path(name))


def _explain_recipe(
    recipe: Path,
    lock: Path | None,
    overrides: tuple[str, ...],
    allowed: tuple[Path, ...],
    *,
    is_dev: bool,
    as_json: bool,
) -> None:
    from torchbuild.cli.explain_recipe import explain_recipe  # noqa: PLC0415  as above
    from torchbuild.cli.facts_overlay import user_facts  # noqa: PLC0415
    from torchbuild.cli.recipe_files import recipe_redactor  # noqa: PLC0415

    with user_facts():
        found = explain_recipe(recipe, overrides=overrides, lock=lock, allowed=allowed, is_dev=is_dev)
    print_result(
        found.json(), as_json=as_json, text="\n".join(found.text()), clean=recipe_redactor(found.recipe)
    )


def _without_why_rerun() -> Exception:
    from torchbuild.errors import UsageError  # noqa: PLC0415  as above

    return UsageError(
        "explain-options",
        "--set, --lock, --allow-path and --dev belong to a recipe, --paranoid to --why-rerun",
        why="seen one of them without it",
        fix="Name a recipe, add --why-rerun, or leave them out.",
    )


def explanation(name: str) -> Explanation:
    """What `name` means.

    Raises:
        UsageError: ``explain-unknown``, with the nearest names.
    """
    readings = [reading for reading in (_reference(name), _key(name), _path(name)) if reading is not None]
    if readings:
        also = tuple(f"a {reading.taken_as}" for reading in readings[1:])
        return readings[0]._replace(also=also)
    raise _unknown(name)


def _reference(name: str) -> Explanation | None:
    from torchbuild.knowledge.references import references  # noqa: PLC0415  help must not pay for it

    row = references().get(name)
    if row is None:
        return None
    facts = {"what": row.what, "why": row.why, "fix": row.fix, "family": _family(row.family)}
    return Explanation("reference", row.name, facts, ())


def _family(family: str) -> str:
    from torchbuild import errors  # noqa: PLC0415  as above

    kind = getattr(errors, family, None)
    if kind is None:
        return family
    return f"{family}, exit code {kind.exit_code}: {(kind.__doc__ or '').strip()}"


def _key(name: str) -> Explanation | None:
    from torchbuild.cli.recipe_keys import key_doc  # noqa: PLC0415  help must not pay for pydantic

    doc = key_doc(name)
    if doc is None:
        return None
    facts = {"what": doc.text, "value": doc.kind, "default": doc.default}
    if doc.keys:
        facts["keys"] = ", ".join(doc.keys)
    return Explanation("recipe key", doc.key, facts, ())


def _path(name: str) -> Explanation | None:
    from torchbuild.cli.known_files import describe  # noqa: PLC0415  help must not pay for it

    path = Path(name)
    try:
        if not name or not path.exists():
            return None
    except (OSError, ValueError):  # a name too long for a path, or one with a NUL
        return None
    return Explanation("path", str(path), describe(path), ())


def _unknown(name: str) -> Exception:
    from torchbuild.errors import UsageError  # noqa: PLC0415  as above

    near = _near(name[:_LONGEST])
    return UsageError(
        "explain-unknown",
        f"nothing is known of {name[:_LONGEST]!r}",
        why="it is no reference, no key of a recipe and no path that exists",
        fix=f"Try {' or '.join(near)}." if near else "Give a name from an error, a recipe or a report.",
    )


def _near(name: str) -> tuple[str, ...]:
    """The names that were probably meant, at most three, the likeliest first."""
    from torchbuild.cli.recipe_keys import all_keys  # noqa: PLC0415  as above
    from torchbuild.knowledge.references import references  # noqa: PLC0415

    known = (*references(), *all_keys())
    last = {key: key.rpartition(".")[2] for key in known}
    word = name.lower()
    if name.isupper() and name.isidentifier():  # a variable of CMake
        yours = "build.flags" if name.startswith(("USE_", "BUILD_")) else "build.cmake"
        return (f"{yours}.{name}",)
    found = [key for key in known if last[key] == word]
    found += get_close_matches(word, known, n=_MOST)
    close = get_close_matches(word, sorted(set(last.values())), n=1, cutoff=0.75)
    found += [key for key in known if last[key] in close]
    found += [key for key in known if len(word) > _MOST and word in key]
    return tuple(dict.fromkeys(found))[:_MOST]


def _lines(found: Explanation) -> Iterator[str]:
    yield f"{found.taken_as} {found.name}"
    width = max(len(label) for label in found.facts)
    for label, text in found.facts.items():
        first, *rest = text.splitlines() or [""]
        yield f"  {label:{width}}  {first}".rstrip()
        yield from (f"  {'':{width}}  {line}".rstrip() for line in rest)
    for other in found.also:
        yield f"  (the same name is {other} as well)"
