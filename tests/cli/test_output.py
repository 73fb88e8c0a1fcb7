"""What commands print."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from torchbuild.cli.output import machine_redactor, print_json, print_result, print_text, wants_json
from torchbuild.model.finding import Finding


def test_a_result_is_text_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The same result, for a person or for a program."""
    print_result({"a": 1}, as_json=False, text="a is 1")
    print_result({"a": 1}, as_json=True, text="a is 1")

    text, _, rest = capsys.readouterr().out.partition("\n")
    assert text == "a is 1"
    assert json.loads(rest) == {"a": 1}


def test_models_and_paths_become_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Values of ours need no conversion by hand."""
    print_json({"finding": Finding(reference="a-b", outcome="passed", what="x"), "path": Path("/w")})

    value = json.loads(capsys.readouterr().out)
    assert value["finding"]["outcome"] == "passed"
    assert value["path"] == "/w"


def test_a_stream_that_cannot_carry_a_letter_gets_its_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result in ASCII surroundings is still a result."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))

    print_text("ä ✓ \udc80")

    assert raw.getvalue() == b"\\xe4 \\u2713 \\udc80\n"


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        ([], False),
        (["build", "--json"], True),
        (["shell", "r", "--", "--json"], False),
        (["--json", "--", "x"], True),
    ],
    ids=str,
)
def test_json_is_seen_before_the_command_line_is_understood(argv: list[str], wanted: bool) -> None:
    """A program gets JSON even for a command line that is wrong."""
    assert wants_json(argv) is wanted


def test_the_redactor_knows_environment_and_netrc(tmp_path: Path) -> None:
    """Secrets of this machine are known without being handed in."""
    (tmp_path / ".netrc").write_text("machine x.example login me password from-netrc-1")
    other = tmp_path / "other"
    other.write_text("machine x.example login me password from-other-2")

    first = machine_redactor({"HOME": str(tmp_path), "MY_TOKEN": "from-environ-3"})
    second = machine_redactor({"HOME": str(tmp_path), "NETRC": str(other)})

    assert first.redact("from-netrc-1 from-environ-3 from-other-2") == "*** *** from-other-2"
    assert second.redact("from-netrc-1 from-other-2") == "from-netrc-1 ***"


@pytest.mark.parametrize("home", [None, "", "/nonexistent"])
def test_no_home_is_no_crash(home: str | None) -> None:
    """A build account may have no home at all."""
    environ = {} if home is None else {"HOME": home}

    assert machine_redactor(environ).redact("x") == "x"


def test_no_secret_of_this_machine_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a command prints, as text or as JSON, in a value or in a name: the machine's secrets are not in it."""
    monkeypatch.setenv("MY_TOKEN", "planted-secret-1")
    value = {
        "planted-secret-1": ["https://me:planted-secret-2@x.example/", {"a": Path("/planted-secret-1")}],
        "n": 1,
    }

    print_result(value, as_json=False, text="planted-secret-1 https://me:planted-secret-2@x.example/")
    print_result(value, as_json=True, text="")

    text, _, rest = capsys.readouterr().out.partition("\n")
    assert text == "*** https://***@x.example/"
    assert json.loads(rest) == {"***": ["https://***@x.example/", {"a": "/***"}], "n": 1}


def test_json_stays_json_whatever_is_taken_out(capsys: pytest.CaptureFixture[str]) -> None:
    """A secret is taken out of each text, not out of the document: quotes and brackets stay."""
    print_json({"line": 'export API_TOKEN="abc def", password: "x"', "next": True})

    assert json.loads(capsys.readouterr().out)["next"] is True
