"""The tables of the documentation are what the tables of facts say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from torchbuild.knowledge.cuda import cuda_releases
from torchbuild.knowledge.declared import declared_tables
from torchbuild.knowledge.distributions import distributions
from torchbuild.knowledge.fact import facts_file
from torchbuild.knowledge.gpus import gpu_families, gpu_products
from torchbuild.knowledge.torch_releases import torch_lines

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("compatibility_tool", ROOT / "tools" / "compatibility.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(tool: ModuleType) -> str:
    """The page as the tool makes it."""
    text = tool.page()
    assert isinstance(text, str)
    return text


def test_the_page_is_up_to_date(page: str) -> None:
    """Whoever changes a fact runs tools/compatibility.py."""
    assert (ROOT / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8") == page


def test_the_page_names_all_that_is_known(page: str) -> None:
    """Every release, chip, product and distribution is there."""
    names = [
        *(row.version for row in cuda_releases()),
        *(f"| {row.minor} |" for row in torch_lines()),
        *(f"| {row.sm // 10}.{row.sm % 10}" for row in gpu_families()),
        *(row.name for row in gpu_products()),
        *(row.name for row in distributions()),
    ]

    assert [name for name in names if name not in page] == []


def test_every_row_that_nobody_read_is_listed(page: str) -> None:
    """At the end, with what is known of it; and what rests on one is marked where it stands."""
    rows = page.partition("## Unconfirmed rows")[2].count("\n| ") - 2
    texts = [str(facts_file(name)) for name in {item.file for item in declared_tables()}]

    assert rows == sum(text.count("'checked': 'unconfirmed'") for text in texts)


def test_every_line_of_a_table_has_its_columns(page: str) -> None:
    """No text of a row breaks the table that it stands in."""
    for table in page.split("\n\n"):
        lines = [line.replace("\\|", "") for line in table.split("\n") if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1


def test_a_value_that_nobody_read_is_marked(tool: ModuleType) -> None:
    """Any of the rows that it rests on; where no row says anything, that is said."""
    read, unread = (
        gpu_products()[0].model_copy(update={"checked": day}) for day in ("2026-11-30", "unconfirmed")
    )

    assert tool._cell("a", read) == "a"
    assert tool._cell("a", read, unread) == f"a{tool.MARK}"
    assert tool._cell("", unread) == ""
    assert tool._cell("", None) == "?"
