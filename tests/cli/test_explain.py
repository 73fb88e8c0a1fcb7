"""`torchbuild explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchbuild.cli.explain import explanation
from torchbuild.cli.main import run_main
from torchbuild.errors import UsageError
from torchbuild.knowledge.references import references


@pytest.mark.parametrize("name", sorted(references()))
def test_every_reference_is_explained(name: str) -> None:
    """Each name that an error or a check can carry has an explanation."""
    found = explanation(name)

    assert (found.taken_as, found.name) == ("reference", name)
    assert {"what", "why", "fix", "family"} == set(found.facts)


def test_an_error_is_explained_with_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """The text says first what the name was taken for, then what to do."""
    assert run_main(["explain", "digest-mismatch"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "reference digest-mismatch"
    assert lines[1].startswith("  what    ")
    assert any(line.startswith("  family  FetchError, exit code 7: ") for line in lines)


def test_a_recipe_key_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """The text of a key is the one in the model; a key of a list needs no index."""
    assert run_main(["explain", "source.overlay[0].to"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "recipe key source.overlay.to",
        "  what     Where it is laid, relative to the tree.",
        "  value    text",
        "  default  required",
    ]


def test_a_path_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file says what it is to us."""
    path = tmp_path / "x.txt"
    path.write_text("hello")

    assert run_main(["explain", str(path)]) == 0

    assert capsys.readouterr().out.splitlines() == [
        f"path {path}",
        "  what  a file that torchbuild did not write",
    ]


def test_the_first_meaning_wins_and_the_others_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file with the name of a key does not hide the key, and is not hidden either."""
    (tmp_path / "source").mkdir()
    monkeypatch.chdir(tmp_path)

    assert run_main(["explain", "source", "--json"]) == 0

    value = json.loads(capsys.readouterr().out)
    assert value["taken_as"] == "recipe key"
    assert value["also"] == ["a path"]
    assert run_main(["explain", "source"]) == 0
    assert "(the same name is a path as well)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("digest-mismach", "digest-mismatch"),
        ("source.overlay.tu", "source.overlay.to"),
        ("memory_gib", "machine.memory_gib"),
        ("indx_url", "machine.index_url"),
        ("Machine.Jobs", "machine.jobs"),
        ("local", "Try wheel.local "),
        ("USE_CUDA", "Try build.flags.USE_CUDA."),
        ("CMAKE_CXX_FLAGS", "Try build.cmake.CMAKE_CXX_FLAGS."),
        ("error[lock-stale]", "Try lock-stale"),
        ("unsolvable", "requirements-unsolvable"),
        ("lock-stal", "Try lock-stale"),
    ],
)
def test_an_unknown_name_brings_the_nearest(name: str, near: str) -> None:
    """A misspelt name is answered with the one that was probably meant."""
    with pytest.raises(UsageError) as caught:
        explanation(name)

    assert caught.value.reference == "explain-unknown"
    assert near in caught.value.fix


@pytest.mark.parametrize(
    "name", ["", "\0", "x" * 5000, "../nowhere", "☃"], ids=["empty", "nul", "long", "path", "snowman"]
)
def test_nonsense_is_unknown(name: str) -> None:
    """Whatever is typed, the answer is an error of ours."""
    with pytest.raises(UsageError):
        explanation(name)
