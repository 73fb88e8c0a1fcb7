"""Tables of facts have one form, and what can be mended by moving text is."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from packaging.specifiers import InvalidSpecifier

from torchbuild.knowledge.declared import declared_tables

ROOT = Path(__file__).parents[2]
DATA = ROOT / "torchbuild" / "knowledge" / "data"
FLOORS = """\
# Floors.

[[floor]]
cuda = "<13,>=12"
driver = "525.60.13"
source = "a page of the publisher"
checked = 2026-11-30

# the older one
[[floor]]
cuda = ">=11, <12"
driver = "450.80.02"
source = "a page of the publisher"
checked = "unconfirmed"
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location(
        "canonical_facts_tool", ROOT / "tools" / "canonical_facts.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.toml")))
def test_each_table_has_its_form(tool: ModuleType, name: str) -> None:
    """Declared, read by its class, with source and date, each key once, in order: run tools/canonical_facts.py."""
    text = (DATA / f"{name}.toml").read_bytes().decode("utf-8")

    assert tool.problems(name, text) == []
    assert tool.mended(name, text) == text


def test_each_declared_table_is_there() -> None:
    """No declaration is left over; they are sorted, and each names a class."""
    titles = [(item.file, item.table) for item in declared_tables()]

    assert titles == sorted(set(titles))
    assert {item.file for item in declared_tables()} == {path.stem for path in DATA.glob("*.toml")} - {
        "tables"
    }
    for item in declared_tables():
        columns = {field.alias or name for name, field in item.kind().model_fields.items()}
        assert {*item.key, *item.order, *item.ranges} <= columns


def test_what_can_be_mended_is(tool: ModuleType) -> None:
    """Dates in quotes, ranges in one spelling, rows in order with the comment above them; nothing else moves."""
    made = tool.mended("cuda", FLOORS.replace("\n", "\r\n"))

    assert made.startswith('# Floors.\n\n# the older one\n[[floor]]\ncuda = ">=11,<12"\n')
    assert 'cuda = ">=12,<13"' in made
    assert 'checked = "2026-11-30"' in made
    assert tool.mended("cuda", made) == made


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('checked = "unconfirmed"', "", "checked = None"),
        ('checked = "unconfirmed"', 'checked = "soon"', "checked = 'soon'"),
        ('source = "a page of the publisher"', 'source = ""', "no source"),
        ('">=11, <12"', '"11"', "is no range"),
        ('">=11, <12"', '">=11,<12"', "stands behind"),
        ('driver = "450.80.02"', "driver = 450", "does not read it"),
        ("[[floor]]", "[[flor]]", "[flor] is not declared"),
        ("# Floors.", "# Floors.\t", "a tab"),
    ],
)
def test_what_has_not_its_form_is_told(tool: ModuleType, old: str, new: str, told: str) -> None:
    """Each kind of mistake has words of its own."""
    assert any(told in line for line in tool.problems("cuda", FLOORS.replace(old, new)))


def test_a_key_that_stands_twice_is_told(tool: ModuleType) -> None:
    """Which row counts would be chance."""
    twice = FLOORS.replace("<13,>=12", ">=11,<12").replace(">=11, <12", ">=11,<12")

    assert any("stands twice" in line for line in tool.problems("cuda", twice))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("", ""), ("<14, >=12", ">=12,<14"), ("== 2.6.*", "==2.6.*"), (">=1,!=1.5,<2", ">=1,<2,!=1.5")],
)
def test_a_range_has_one_spelling(tool: ModuleType, text: str, canonical: str) -> None:
    """From its begin to its end, without spaces."""
    assert tool.canonical_range(text) == canonical
    with pytest.raises(InvalidSpecifier):
        tool.canonical_range("2.6")
