"""Making a recipe for a wish: solved, written, read back as any recipe is, and only then kept."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchbuild.advice.answer import Advice
from torchbuild.advice.like_line import LikeLine
from torchbuild.advice.recipe_rows import default_name, merged_rows, recipe_rows
from torchbuild.advice.recipe_text import recipe_text
from torchbuild.advice.said import cited_line
from torchbuild.advice.solve import solve
from torchbuild.cli.init_question import Question
from torchbuild.cli.init_refusal import refusal_json, refused_wish
from torchbuild.cli.init_sets import laid_over, parsed_sets, typed
from torchbuild.cli.init_wish import Asked, wish_for
from torchbuild.cli.output import print_json, print_text
from torchbuild.edges.atomic import write_text
from torchbuild.errors import RecipeError, UsageError
from torchbuild.knowledge.distributions import distributions
from torchbuild.knowledge.torch_releases import torch_line
from torchbuild.model.host import Host
from torchbuild.model.recipe import Recipe
from torchbuild.report.text import printable
from torchbuild.resolve.decode import wants_text
from torchbuild.resolve.load import load_recipe, merge
from torchbuild.resolve.overrides import Override
from torchbuild.resolve.weighed import weigh_recipe

if TYPE_CHECKING:
    from torchbuild.cli.init_like import Model

__all__ = ["new_recipe"]

_STDOUT = "-"
_EXTENSION = ".toml"
_RECIPE = "the new recipe"
"""What problems are told of: it is no file yet."""


def new_recipe(asked: Asked) -> int:
    """Write the recipe and say where it is; the exit code.

    Raises:
        ConflictError: ``wish-impossible``, ``recipe-impossible``.
        RecipeError: what ``--set`` makes of the recipe is none.
        UsageError: ``recipe-exists``, ``init-python-unknown``; what `wish_for` and `model_called` raise.
        HostError, VerifyError: as these; what writing raises.
    """
    sets = parsed_sets(asked.sets)
    like = _like(asked)
    own, has_cuda = (like.wish, like.has_cuda) if like is not None else (None, False)
    wish, seen = wish_for(asked, sets, _look, like=own, has_cuda=has_cuda)
    question = Question(asked=asked, sets=sets, wish=wish, like=own or {})
    advice, given_up = like.solved(wish) if like is not None else (solve(wish), ())
    if not advice.is_possible:
        return _refused(advice, question)
    _check_python(advice)
    name = asked.name or default_name(advice)
    path = Path(asked.out or f"{name}{_EXTENSION}")
    _check_free(path, asked)
    rows = recipe_rows(advice, name) if like is None else like.rows(advice, name)
    head = _head(advice, question, () if like is None else like.comments(given_up))
    text, doubts = _text(merged_rows(rows, _driver(asked)), tuple(head), sets, advice)
    if asked.out != _STDOUT:
        write_text(path, text)
    _tell((*seen, *given_up, *advice.notes, *_further(advice)), doubts)
    if asked.as_json:
        print_json(_result(advice, path, text))
    else:
        print_text(text.rstrip("\n") if asked.out == _STDOUT else str(path))
    return 0


def _refused(advice: Advice, question: Question) -> int:
    error = refused_wish(advice, question)
    if not question.asked.as_json:
        raise error
    print_json(refusal_json(advice, question))
    return error.exit_code


def _like(asked: Asked) -> Model | None:
    if not asked.like:
        return None
    from torchbuild.cli.init_like import model_called  # noqa: PLC0415  only where there is a wheel to read
    from torchbuild.cli.like_source import LikeSource  # noqa: PLC0415  as above

    return model_called(asked.like, LikeSource(python=asked.python, machine=asked.machine), asked.added)


def _look() -> Host:
    from torchbuild.edges.host_probe import look_at_host  # noqa: PLC0415  only where the machine is asked

    return look_at_host({})


def _check_python(advice: Advice) -> None:
    if not advice.value("python.version"):
        raise UsageError(
            "init-python-unknown",
            f"nobody knows which Python torch {advice.wish.torch} is for",
            why="seen no row for this release in knowledge/data/torch_python.toml",
            fix="Give one with --python, such as --python 3.12.",
        )


def _check_free(path: Path, asked: Asked) -> None:
    if asked.out == _STDOUT or asked.force or not os.path.lexists(path):
        return
    raise UsageError(
        "recipe-exists",
        f"{path} is there already",
        why=("seen a file of that name", "wanted a new one: no recipe is overwritten by chance"),
        fix="Give another one with --out FILE or --name NAME, or replace it with --force.",
    )


def _driver(asked: Asked) -> Iterator[LikeLine]:
    """A range of drivers stands in the recipe as it was given."""
    if asked.driver.startswith((">", "=")):
        yield LikeLine(key="target.driver", value=asked.driver, comment="as --driver says")


def _text(
    rows: tuple[LikeLine, ...], head: tuple[str, ...], sets: tuple[Override, ...], advice: Advice
) -> tuple[str, tuple[str, ...]]:
    """The file, read back by the rules of every recipe and weighed; and what a person should hear of it."""
    without = tuple(f"{table}." for table in ("cudnn", "nccl") if getattr(advice.wish, table) == "none")
    rows = tuple(row for row in rows if not row.key.startswith(without))
    sets = tuple(item for item in sets if not item.dotted.startswith(without))
    plain = _judged(recipe_text(rows, head), sets)
    text = recipe_text(laid_over(rows, sets, plain=plain), head)
    return text, weigh_recipe(_loaded(text))


def _judged(text: str, sets: tuple[Override, ...]) -> frozenset[str]:
    """What ``--set`` makes of the recipe is judged as of every recipe; the keys where it is meant as text."""
    _loaded(text, *map(typed, sets))
    if not sets:
        return frozenset()
    table = tomllib.loads(text)
    for item in sets:
        table = merge(table, item.table())
    return wants_text(table)


def _loaded(text: str, *sets: str) -> Recipe:
    try:
        return load_recipe(_RECIPE, lambda _name: text, overrides=sets)
    except RecipeError as error:
        error.fix = error.fix.replace(f"Correct {_RECIPE}", "Correct the options, for nothing was written")
        raise


def _head(advice: Advice, question: Question, comments: tuple[str, ...]) -> Iterator[str]:
    """Sentences for the top of the file."""
    wish = advice.wish
    target = "for CUDA" if advice.value("cuda.version") else "for the CPU"
    target = f"for {', '.join(wish.gpus)}" if wish.gpus else target
    driver = f" on driver {wish.driver} or newer" if wish.driver else ""
    command = question.command(with_out=False)
    yield f"torch {advice.value('wheel.version')} {target}{driver}, made by:\n {command}"
    yield "Each line says why it is there; `torchbuild explain` of this file tells all facts of it."
    yield from comments
    yield from (f"Note: {note.removesuffix('.')}." for note in (*advice.notes, *_further(advice)))


def _further(advice: Advice) -> Iterator[str]:
    """What a person must know of the release, and of where it is built: that decides where the wheel runs."""
    release, line = advice.value("wheel.version"), torch_line(advice.wish.torch)
    if line is not None and line.releases and release not in line.releases:
        yield f"{release} is none of the known releases {', '.join(line.releases)}: it may have no tag"
    glibc, suite = advice.value("target.glibc"), advice.value("image.suite")
    if suite and not glibc:
        row = next(row for row in distributions() if row.suite == suite)
        yield (
            f"the target's C library is not named: the wheel will need its builder's, glibc {row.glibc}, or a"
            " newer one; --glibc or --distro makes it older"
        )


def _tell(notes: Iterable[str], doubts: Iterable[str]) -> None:
    """On stderr: stdout holds the path alone."""
    for line in (*(f"note: {item}" for item in dict.fromkeys(notes)), *doubts):
        sys.stderr.write(printable(line) + "\n")


def _result(advice: Advice, path: Path, text: str) -> dict[str, Any]:
    value = advice.model_dump(mode="json", include={"wish", "choices", "notes"})
    unconfirmed = [cited_line(fact) for fact in advice.unconfirmed]
    recipe = None if str(path) == _STDOUT else str(path)
    return {"recipe": recipe, **value, "unconfirmed": unconfirmed, "text": text}
