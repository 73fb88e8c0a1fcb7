"""How the answer of doctor is written."""

from __future__ import annotations

from tests.preflight.stand_ins import CUDA, case, host
from torchbuild.cli.doctor_text import doctor_json, doctor_lines
from torchbuild.preflight.checks import preflights

ASKED = case(CUDA + '[target]\ndriver = "470"\n', facts=True, machine=host(has_namespaces=False))


def text(encoding: str) -> list[str]:
    """All lines."""
    lines = doctor_lines(ASKED, preflights(ASKED), name="a.toml", encoding=encoding)
    return [line.head + line.rest for line in lines]


def test_failures_come_before_doubts_and_doubts_before_the_rest() -> None:
    """A person reads the top."""
    marks = [line[0] for line in text("utf-8")[1:] if line[0] in "✗!○✓"]

    assert marks == sorted(marks, key="✗!○✓".index)


def test_a_stream_without_signs_gets_words() -> None:
    """Nothing is lost in a plain terminal."""
    assert all(line.isascii() for line in text("ascii"))


def test_control_characters_do_not_reach_a_terminal() -> None:
    """What a machine says of itself is somebody else's text."""
    bad = case(machine=host(system="\x1b[31mred"))

    lines = [line.head + line.rest for line in doctor_lines(bad, preflights(bad), name="", encoding="utf-8")]

    assert "\x1b" not in "".join(lines)


def test_json_holds_all() -> None:
    """Every preflight with its concern, the machine, what the facts say, the estimates, the exit code."""
    value = doctor_json(ASKED, preflights(ASKED), name="a.toml")

    assert (value["outcome"], value["exit_code"]) == ("failed", 4)
    assert {"concern", "reference", "outcome", "what", "seen", "wanted", "fix", "is_fatal", "blames"} == set(
        value["preflights"][0]
    )
    assert value["host"]["cores"] == 8
    assert value["advice"]["conflicts"]
    assert {item["what"] for item in value["estimates"]} == {"time", "disk", "memory"}


def test_json_passes_only_what_passed() -> None:
    """A target without a driver is not run, and so is the whole: nothing failed, and nobody could say."""
    silent = case(CUDA)

    value = doctor_json(silent, preflights(silent), name="a.toml")

    assert value["exit_code"] == 0
    assert value["outcome"] == "not run"
