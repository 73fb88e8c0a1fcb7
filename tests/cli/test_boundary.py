"""The end of every error."""

from __future__ import annotations

import json
import os
import pty
import sys
from pathlib import Path

import click
import pytest

from torchbuild.cli.boundary import show_error
from torchbuild.errors import HostError, StageError, TorchbuildError

SECRET = "S3cr3t-Pa55w0rd"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory and an environment of our own, with a secret in it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    return tmp_path / "state" / "torchbuild"


def raised(error: BaseException) -> BaseException:
    """The error with a traceback."""
    with pytest.raises(type(error)) as caught:
        _raise(error)
    return caught.value


def _raise(error: BaseException) -> None:
    raise error


def families() -> list[type[TorchbuildError]]:
    """Every class of error."""
    found = []
    queue = [TorchbuildError]
    while queue:
        kind = queue.pop()
        found += kind.__subclasses__()
        queue += kind.__subclasses__()
    return found


@pytest.mark.parametrize("family", families(), ids=lambda family: family.__name__)
def test_an_error_of_ours_is_shown_and_ends_with_its_familys_code(
    family: type[TorchbuildError], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each family has its exit code, and its error is on stderr alone."""
    error = family("some-thing", "it happened", why="seen 1", fix="Look there.")

    assert show_error(error, ["build"]) == family.exit_code

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "error[some-thing]: it happened",
        "  why   seen 1",
        "  fix   Look there.",
        "  more  torchbuild explain some-thing",
    ]


def test_json_was_asked_for_so_the_error_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A program reads the error where it would have read the result."""
    assert show_error(HostError("a-b", "what", fix="Do."), ["build", "r.toml", "--json"]) == 6

    said = capsys.readouterr()
    assert said.err == ""
    assert json.loads(said.out)["error"]["reference"] == "a-b"


def test_json_after_the_end_of_options_is_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    """`torchbuild shell RUN -- tool --json` asks the tool for JSON, not us."""
    show_error(HostError("a-b", "what", fix="Do."), ["shell", "r", "--", "tool", "--json"])

    assert capsys.readouterr().err.startswith("error[a-b]")


@pytest.mark.parametrize("argv", [[], ["--json"]], ids=["text", "json"])
def test_no_error_shows_a_secret(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Secrets of the environment and in addresses are taken out of every field."""
    error = StageError(
        "some-thing",
        f"cannot reach https://u:{SECRET}@x.example/",
        why=SECRET,
        fix=f"Use {SECRET}.",
        evidence=(f"Authorization: Bearer {SECRET}",),
        link=f"/tmp/{SECRET}.log",
    )

    show_error(error, argv)

    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert "https://***@x.example/" in said.out + said.err


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    """The user's own wish is not reported as a failure of anything."""
    assert show_error(raised(KeyboardInterrupt()), []) == 130
    assert show_error(raised(click.Abort()), []) == 130
    assert "stopped as you asked" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        ValueError(f"bad {SECRET}"),
        OSError(5, "Input/output error"),
        BrokenPipeError(),
        RecursionError(),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_anything_else_is_ours_and_leaves_a_file(
    error: Exception, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bug is said to be one, with the file that tells us where; no traceback is thrown at the user."""
    assert show_error(raised(error), ["build", SECRET]) == 70

    said = capsys.readouterr().err
    (path,) = state.glob("crash-*.txt")
    assert said.startswith(f"error[internal-error]: torchbuild itself failed: {type(error).__name__}")
    assert f"  see   {path}" in said
    assert "Traceback" not in said
    assert "Traceback" in path.read_text()
    assert "in _raise" in path.read_text()
    assert SECRET not in said + path.read_text()


def test_without_a_state_directory_the_file_goes_to_the_temporary_ones(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A home that cannot be written to does not hide a bug."""
    state.parent.mkdir(parents=True)
    state.write_text("a file in the way")
    spare = tmp_path / "spare"
    spare.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spare))

    assert show_error(raised(ValueError("x")), []) == 70

    assert [path.parent for path in spare.glob("crash-*.txt")] == [spare]
    assert str(spare) in capsys.readouterr().err


def test_where_nothing_can_be_written_the_traceback_is_shown(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last resort is the terminal."""
    state.parent.mkdir(parents=True)
    state.write_text("a file in the way")
    monkeypatch.setattr("tempfile.tempdir", str(state))

    assert show_error(raised(ValueError("x")), []) == 70

    said = capsys.readouterr().err
    assert "  |     ValueError: x" in said
    assert "Report it with the lines above." in said


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person at a terminal sees at once what is the error and what the fix."""
    leader, follower = pty.openpty()
    for name, value in (("TERM", "xterm-256color"), ("NO_COLOR", ""), ("CI", "")):
        monkeypatch.setenv(name, value)
    with os.fdopen(follower, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        show_error(HostError("a-b", "what", fix="Do."), [])

    shown = os.read(leader, 10_000).decode()
    os.close(leader)
    assert "\x1b[1;31merror[a-b]: \x1b[0m" in shown


def test_without_stderr_the_exit_code_still_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon may have closed it."""
    monkeypatch.setattr(sys, "stderr", None)

    assert show_error(HostError("a-b", "what", fix="Do."), []) == 6


@pytest.mark.parametrize("argv", [["build"], ["build", "--json"]], ids=" ".join)
def test_githubs_runner_gets_an_annotation_and_no_other_order(
    argv: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failing edge stands beside the commit; what its log says gives no orders, and no secret is told."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    error = StageError(
        "compile-failed",
        "stopped at a.o",
        why=f"/s/a.cpp:7:1: error: no {SECRET}",
        fix="Correct it.",
        evidence=("::stop-commands::x", "##[add-mask]y", "/s/a.cpp:7:1: error: no"),
    )

    show_error(error, argv)

    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.lstrip().startswith("::") or "##[" in line] == [
        (
            "::error file=/s/a.cpp,line=7,col=1,title=compile-failed::stopped at a.o"
            "%0A/s/a.cpp:7:1: error: no ***%0ACorrect it."
        )
    ]
