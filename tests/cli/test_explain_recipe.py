"""`torchbuild explain RECIPE`."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchbuild.cli.explain_recipe import is_recipe

from .conftest import Desk

CUDA = """\
schema = 1
name = "pascal"
[target]
gpus = ["GTX 1080 Ti"]
driver = ">=535"
[source]
git = "https://bob:s3cret@git.example/torch.git"
ref = "v2.6.0"
[cuda]
version = "12.4.1"
[wheel]
version = "2.6.0"
"""


def test_a_recipe_is_explained_line_by_line(desk: Desk) -> None:
    """Each line with its place; what was derived with both facts; what nobody wrote apart."""
    (desk.folder / "pascal.toml").write_text(CUDA)

    ran = desk.run("explain", "pascal.toml")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "recipe pascal (pascal.toml)"
    (archs,) = (number for number, line in enumerate(lines) if line.lstrip().startswith("cuda.archs "))
    assert '["6.1"]  facts: machine code for each GPU' in lines[archs]
    assert "compute capability 6.1 (gpus.product" in lines[archs + 1]
    assert "compiles for sm_61 (cuda.arch 61" in lines[archs + 2]
    assert "lock: there is no pascal.lock [lock-missing]" in lines
    assert '  wheel.package = "torch"' in lines
    assert "s3cret" not in ran.out


def test_a_program_gets_each_line_as_data(desk: Desk) -> None:
    """Key, value, origin, place, reason and facts of each."""
    (desk.folder / "pascal.toml").write_text(CUDA)

    value = desk.run("explain", "pascal.toml", "--json").json
    assert (value["taken_as"], value["name"]) == ("path", "pascal.toml")
    rows = {item["key"]: item for item in value["lines"]}
    assert set(rows["cuda.version"]) == {"key", "value", "origin", "where", "why", "facts"}
    assert rows["cuda.archs"]["origin"] == "facts"
    assert value["conflicts"] == []
    assert value["lock"]["state"].endswith("[lock-missing]")


def test_the_lock_beside_it_is_explained_too(desk: Desk) -> None:
    """What the lock holds beyond the recipe, what nobody could pin, and which facts were the user's own."""
    desk.lock(unpinned=("the compilers of this machine",), facts=("gpus.product X: changed",))

    ran = desk.run("explain", desk.recipe)
    assert "the facts speak of torch alone: they do not weigh this recipe" in ran.out
    assert "  lock.source.tree " in ran.out
    assert "not pinned:\n  the compilers of this machine" in ran.out
    assert "facts of the user's overlay:\n  gpus.product X: changed" in ran.out
    value = desk.run("explain", desk.recipe, "--json").json
    assert value["lock"]["state"] == "fresh"
    assert value["unpinned"] == ["the compilers of this machine"]
    assert value["facts"] == ["gpus.product X: changed"]


def test_a_stale_lock_explains_nothing(desk: Desk) -> None:
    """Its lines would be those of another recipe."""
    desk.lock()
    desk.recipe.write_text(desk.recipe.read_text() + '\n[build]\ntype = "Debug"\n')

    ran = desk.run("explain", desk.recipe)
    assert "[lock-stale]" in ran.out
    assert "lock.source" not in ran.out


def test_what_cannot_work_is_said_first(desk: Desk) -> None:
    """With the facts that forbid it, and what could work instead."""
    (desk.folder / "new.toml").write_text(CUDA.replace("12.4.1", "13.0.2").replace("535", "580"))

    out = desk.run("explain", "new.toml").out
    assert "cannot work:\n" in out
    assert "could work with:\n" in out
    value = desk.run("explain", "new.toml", "--json").json
    assert value["conflicts"]
    assert value["ways"]


def test_options_of_a_recipe_are_taken(desk: Desk) -> None:
    """The recipe as a build with the same options would have it."""
    (desk.folder / "pascal.toml").write_text(CUDA)

    rows = desk.run("explain", "pascal.toml", "--set", "wheel.local=mine", "--json").json["lines"]
    assert {
        "key": "wheel.local",
        "value": '"mine"',
        "origin": "--set",
        "where": "--set",
        "why": "",
        "facts": [],
    } in rows
    assert desk.run("explain", "pascal.toml", "--dev").code == 0
    assert desk.run("explain", "wheel.local", "--set", "a=1").code == 2


def test_each_line_names_where_it_is_from(desk: Desk) -> None:
    """The file itself, what it extends, the command line, the facts, or nobody."""
    (desk.folder / "base.toml").write_text(
        'schema = 1\nname = "base"\n[target]\ndriver = ">=535"\n[cuda]\nversion = "12.4.1"\nfrom = "redist"\n'
    )
    (desk.folder / "mine.toml").write_text(
        'schema = 1\nname = "mine"\nextends = "base.toml"\n[target]\ngpus = ["H100"]\n'
        '[source]\ngit = "https://git.example/t.git"\nref = "v2.6.0"\n[wheel]\nversion = "2.6.0"\n'
    )
    ran = desk.run("explain", "mine.toml", "--set", "python.version=3.12", "--json")
    lines = {line["key"]: line for line in ran.json["lines"]}

    def origin(key: str) -> tuple[str, str]:
        return lines[key]["origin"], lines[key]["where"].rpartition("/")[2]

    assert origin("name") == ("recipe", "mine.toml:2")
    assert origin("cuda.version") == ("extends", "base.toml:6")
    assert origin("target.gpus") == ("recipe", "mine.toml:5")
    assert origin("python.version") == ("--set", "--set")
    assert origin("cuda.archs") == ("facts", "")
    assert origin("target.machine") == ("default", "")
    assert "--set --set" not in desk.run("explain", "mine.toml", "--set", "python.version=3.12").out


def test_the_users_own_facts_are_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads why a line is what it is learns whose facts say so."""
    facts = desk.folder / "facts"
    facts.mkdir()
    (facts / "cuda.toml").write_text(
        '[[floor]]\ncuda = ">=12,<13"\ndriver = "528.33"\nsource = "mine"\nchecked = "2026-11-30"\n'
    )
    monkeypatch.setenv("TORCHBUILD_KNOWLEDGE", str(facts))
    (desk.folder / "some.toml").write_text(CUDA)

    ran = desk.run("explain", "some.toml")
    assert "facts of yours:\n  cuda.floor" in ran.out
    assert desk.run("explain", "some.toml", "--json").json["own_facts"]


def test_a_wrong_recipe_is_told_as_everywhere(desk: Desk) -> None:
    """All its problems, with their lines."""
    (desk.folder / "bad.toml").write_text(CUDA.replace('">=535"', '"newest"'))

    ran = desk.run("explain", "bad.toml")
    assert ran.code == 3
    assert "target.driver" in ran.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CUDA, True),
        ('schema = 1\nname = "x"\nextends = "y.toml"\n', True),
        ('schema = 1\nname = "x"\n[source]\n', True),
        ('schema = 1\nname = "x"\n', False),
        ('schema = 1\nname = "x"\nrecipe = "0"\nbuild_requires = []\n[wheel]\n', False),
        ("not TOML", False),
        ("a = [" * 5000, False),
        ("", False),
    ],
)
def test_a_recipe_is_known_by_its_keys(tmp_path: Path, text: str, *, expected: bool) -> None:
    """Anything else is described in short, as before, whatever is in it."""
    path = tmp_path / "x.toml"
    path.write_text(text)

    assert is_recipe(path) is expected
    assert not is_recipe(tmp_path)
    assert not is_recipe(tmp_path / "nowhere")
