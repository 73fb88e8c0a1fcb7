"""What the guard left, read with suspicion and told to a person."""

from __future__ import annotations

import json

import pytest

from torchbuild.edges.offline_report import OfflineRecord, asked_in, network_asked, parse_record

ASKED = {
    "event": "asked",
    "kind": "name",
    "what": "example.invalid",
    "where": "127.0.0.1:53",
    "pid": 8,
    "argv": ["/usr/lib/git-core/git-remote-https", "origin", "https://example.invalid/x"],
    "cwd": "/torchbuild/source",
    "ancestors": [
        {"argv": ["git", "clone", "https://example.invalid/x"], "pid": 7},
        {"argv": ["cmake"], "pid": 6},
    ],
}


def lines(*items: object) -> str:
    """A record of these objects."""
    return "".join(json.dumps(item) + "\n" for item in items)


def test_a_record_is_read() -> None:
    """How the command was watched, what did not start, and each thing asked for, in order."""
    text = lines({"event": "guard", "watch": "notify", "why": ""}, ASKED, ASKED | {"what": "other"})

    record = parse_record(text)

    assert (record.watch, [item["what"] for item in record.asked]) == ("notify", ["example.invalid", "other"])
    assert (
        parse_record(lines({"event": "not-started", "error": "No such file"})).program_missing
        == "No such file"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "{",
        "[1]\n3\nnull\n",
        "[" * 100_000,
        '{"event": 3}\n',
        '{"event": "guard", "watch": ["x"]}\n',
        "\0",
    ],
    ids=["empty", "blank", "cut", "other values", "deep", "other event", "other type", "zero"],
)
def test_what_is_no_record_is_an_empty_one(text: str) -> None:
    """A build may write anything where the record lies; nothing of it is believed, nothing breaks."""
    assert parse_record(text) == OfflineRecord()


def test_the_error_names_what_and_who() -> None:
    """A person reads the name, the process, its directory and what started it, nearest first."""
    error = network_asked((ASKED,), tail=("last line",), log="/x/configure.log")

    assert error.reference == "network-asked"
    assert error.what == "the build asked the network for example.invalid and was stopped there"
    assert error.why == (
        "seen: example.invalid, asked of the name server 127.0.0.1:53",
        "asked by: /usr/lib/git-core/git-remote-https origin https://example.invalid/x, in /torchbuild/source",
        "started by: git clone https://example.invalid/x",
        "started by: cmake",
        "wanted: nothing is fetched between source and package",
    )
    assert (error.evidence, error.link) == (("last line",), "/x/configure.log")


def test_an_address_is_told_once() -> None:
    """Where no name was looked up, the address stands alone."""
    error = network_asked(
        ({"what": "192.0.2.1:443", "where": "192.0.2.1:443", "argv": ["x"]},), tail=(), log=""
    )

    assert error.why[0] == "seen: 192.0.2.1:443"


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"what": 3, "argv": 4, "cwd": [], "ancestors": 5, "where": None},
        {"argv": [1, None], "ancestors": [1, {}]},
    ],
)
def test_a_hostile_record_makes_an_error_all_the_same(record: dict[str, object]) -> None:
    """Missing and wrong fields cost their part of the text, not the refusal."""
    error = network_asked((record,), tail=(), log="")

    assert error.what == "the build asked the network for something and was stopped there"


def test_control_characters_and_length_stay_out() -> None:
    """A name cannot repaint a terminal or fill a report."""
    error = network_asked(({"what": "a\x1b[2Jb\nc", "argv": ["x" * 9999]},), tail=(), log="")

    assert error.what == "the build asked the network for a [2Jb c and was stopped there"
    assert max(len(line) for line in error.why) < 400


def test_a_service_of_the_machine_is_told_as_such() -> None:
    """Who talks to a service is helped otherwise than who downloads."""
    asked = ASKED | {"kind": "service", "what": "/var/lib/x/s", "where": "/var/lib/x/s"}
    error = network_asked((asked,), tail=(), log="/x")

    assert error.what == "the build asked for a service of the machine: /var/lib/x/s and was stopped there"
    assert "listen below /torchbuild" in error.fix


def test_what_the_guard_said_aloud_stands_in_for_its_record() -> None:
    """The last such line names it; where there is none, that nothing is known is said."""
    said = (
        "torchbuild: no network here: a b asked for one",
        "torchbuild: no network here: c asked for two",
        "x",
    )

    assert asked_in(said) == ({"what": "two", "argv": ["c"]},)
    assert asked_in(("x",))[0]["what"] == "something; what it was is not on record"
