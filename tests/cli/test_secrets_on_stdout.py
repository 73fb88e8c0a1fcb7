"""Each command's stdout, with secrets planted in every place where a user can put one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchbuild.cli.commands import COMMANDS
from torchbuild.cli.plan_text import plan_json, plan_text
from torchbuild.pipeline import keys, plan_all
from torchbuild.report.redaction import Redactor
from torchbuild.resolve.lockfile import parse_lock

REAL_LOCK = Path(__file__).parents[1] / "data" / "torch-2.6-cpu.lock"
PLANTED = {
    "source.git": "planted-in-git-1",
    "machine.index_url": "planted-in-index-2",
    "machine.debian_mirror": "planted-in-mirror-3",
    "machine.mirrors": "planted-in-mirrors-4",
    "MY_TOKEN": "planted-in-environ-5",
    "netrc": "planted-in-netrc-6",
}
GIT = {
    "kind": "git",
    "url": "https://git.example/tiny.git",
    "ref": "v1",
    "commit": "ab" * 20,
}
COMMAND_LINES = {
    "init": ("init", "--torch", "2.6", "--gpu", PLANTED["MY_TOKEN"], "--out", "-"),
    "doctor": ("doctor", "tiny.toml"),
    "build": ("build", "tiny.toml", "--locked", "--until", "fetch"),
    "plan": ("plan", "tiny.toml"),
    "lock": ("lock", "tiny.toml", "--check"),
    "image": ("image", "tiny.toml"),
    "report": ("report", PLANTED["MY_TOKEN"]),
    "shell": ("shell", PLANTED["MY_TOKEN"]),
    "clean": ("clean", "--builds", "--json"),
    "store": ("store",),
    "explain": ("explain", PLANTED["MY_TOKEN"]),
    "schema": ("schema",),
}


@pytest.fixture
def planted(desk: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The desk's recipe with a secret in each of its addresses; further ones in the environment and in netrc."""
    desk.recipe.write_text(f"""\
schema = 1
name = "tiny"
[source]
git = "https://me:{PLANTED["source.git"]}@git.example/tiny.git"
ref = "v1"
[wheel]
package = "tiny"
version = "1.0"
requires = []
[machine]
index_url = "https://me:{PLANTED["machine.index_url"]}@127.0.0.1:1/simple"
debian_mirror = "https://me:{PLANTED["machine.debian_mirror"]}@127.0.0.1:1/debian"
mirrors = {{ "https://x.example/" = "https://me:{PLANTED["machine.mirrors"]}@127.0.0.1:1/" }}
""")
    home = Path(desk.folder.parent / "home")
    home.mkdir()
    (home / ".netrc").write_text(f"machine x.example login me password {PLANTED['netrc']}\n")
    monkeypatch.setenv("MY_TOKEN", PLANTED["MY_TOKEN"])
    (desk.folder / PLANTED["MY_TOKEN"]).touch()
    return desk


def test_every_command_is_tried() -> None:
    """A new command is added to these command lines."""
    assert set(COMMAND_LINES) == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(COMMAND_LINES))
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_no_secret_is_printed(planted: Any, command: str, form: tuple[str, ...]) -> None:
    """Results, errors and progress: none holds what was planted, and the lock does not either."""
    from torchbuild.cli.recipe_files import public, read_recipe
    from torchbuild.model.lock import LockedSource
    from torchbuild.resolve.assemble import recipe_digest

    digest = recipe_digest(public(read_recipe(planted.recipe)))
    planted.lock(recipe=digest, source=LockedSource.model_validate(GIT), build_requires=())

    ended = planted.run(*COMMAND_LINES[command], *form)

    said = ended.out + ended.err + (planted.folder / "tiny.lock").read_text()
    assert said
    assert [place for place, secret in PLANTED.items() if secret in said] == []


def test_the_plan_of_a_real_build_is_printed_whole() -> None:
    """Nothing in an honest plan is taken for a secret: what is shown is what will run."""
    plans = plan_all(parse_lock(REAL_LOCK.read_text(encoding="utf-8"), str(REAL_LOCK)))
    rows = [(item, keys(plans)[item.stage]) for item in plans]
    document = json.dumps(plan_json(rows))

    assert Redactor().redact(plan_text(rows)) == plan_text(rows)
    assert Redactor().redact_value(json.loads(document)) == json.loads(document)
