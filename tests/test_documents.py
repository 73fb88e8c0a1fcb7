"""What README and docs/ tell people to type exists, and what they link to is there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from torchbuild.cli.commands import COMMANDS, load_command
from torchbuild.errors import RecipeError
from torchbuild.knowledge.fact import using
from torchbuild.knowledge.invariants import broken_by
from torchbuild.knowledge.overlay import read_overlay
from torchbuild.resolve.load import load_recipe

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
IDS = [str(path.relative_to(ROOT)) for path in PAGES]
BASE = """\
[source]
git = "https://example.org/x.git"
ref = "v1"
[wheel]
version = "1.0"
"""
"""What the examples extend that refine another recipe."""


def calls(text: str) -> Iterator[list[str]]:
    """Each command line of ours, in code blocks and between backquotes."""
    for line in re.findall(r"^ {4}(torchbuild .*)$", text, re.MULTILINE) + re.findall(
        r"`(torchbuild [^`]*)`", text
    ):
        yield line.partition(" #")[0].partition(" > ")[0].split()[1:]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_each_command_can_be_typed(page: Path) -> None:
    """No page names a command or an option that is not there."""
    for words in calls(page.read_text(encoding="utf-8")):
        if words[0].startswith("-"):
            continue
        assert words[0] in COMMANDS, words
        options = {option for item in load_command(words[0]).params for option in item.opts}
        ours = words[1 : words.index("--")] if "--" in words else words[1:]
        assert {word for word in ours if re.fullmatch(r"--[a-z-]+", word)} <= options | {"--help"}, words


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_each_link_leads_somewhere(page: Path) -> None:
    """A link to a file of ours, and to a heading in it, is one that can be followed."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        name, _, heading = target.partition("#")
        if "://" in target:
            continue
        path = page.parent / name if name else page
        assert path.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {
                re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
            }, target


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_each_example_is_a_recipe(page: Path) -> None:
    """What a page shows as a recipe can be copied: it is right as it stands."""
    for text in re.findall(
        r"```toml\n(?!# [a-z_]+\.toml\n)(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
    ):
        if "extends" in tomllib.loads(text):
            assert load_recipe("top.toml", lambda path, text=text: text if path == "top.toml" else BASE)
        else:
            assert load_recipe("recipe.toml", lambda _path, text=text: text)


def test_each_example_of_facts_can_be_laid() -> None:
    """What the page on facts shows can be copied too: all of it at once, and it contradicts nothing."""
    page = (ROOT / "docs" / "how-to" / "teach-a-fact.md").read_text(encoding="utf-8")
    texts: dict[str, str] = {}
    for name, text in re.findall(r"```toml\n# ([a-z_]+)\.toml\n(.*?)```", page, re.DOTALL):
        texts[name] = texts.get(name, "") + text

    laid = read_overlay(texts)

    assert len(laid.changes) == page.count("```toml\n# ")
    with using(laid):
        assert broken_by(laid) == ()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_readme_knows_each_command(name: str) -> None:
    """A command that README does not name is found by nobody."""
    assert f"torchbuild {name}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_nothing_is_accepted_that_is_no_recipe() -> None:
    """The check above would see a mistake."""
    with pytest.raises(RecipeError):
        load_recipe("recipe.toml", lambda _path: "schema = 1")
    assert isinstance(load_command("build"), click.Command)
