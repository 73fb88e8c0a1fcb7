"""The shared backend of a build's compiler cache."""

from __future__ import annotations

import contextlib
import json
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchbuild.cli.backing import backed, backend_of, endpoints_of, marks_of, silence_told
from torchbuild.edges.relay import RelayTold
from torchbuild.errors import UsageError
from torchbuild.model.recipe import Machine
from torchbuild.report.events import Event, Found
from torchbuild.shim.compiler_cache import REMOTE

PASSWORD = {"WORD": "s3cret"}


@pytest.fixture
def port() -> Iterator[int]:
    """Somebody takes connections there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def machine(address: str) -> Machine:
    """With another endpoint beside it."""
    return Machine(cache_backend=address, endpoints=("other:1",))


def test_its_secrets_lie_there_for_the_build_alone(tmp_path: Path, port: int) -> None:
    """Nobody else may read them, and after the build they are gone, however it ends."""
    backend = backend_of(machine(f"redis://:${{WORD}}@127.0.0.1:{port}"), PASSWORD)
    place = tmp_path / REMOTE
    place.write_text("left by a run that was killed")

    with contextlib.suppress(KeyboardInterrupt), backed(backend, "/usr/bin/ccache", tmp_path, RelayTold()):
        assert "s3cret" in json.loads(place.read_text())["CCACHE_REMOTE_STORAGE"]
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        raise KeyboardInterrupt

    assert not place.exists()


def test_what_is_shown_of_it_is_no_secret(port: int) -> None:
    """The relay needs host and port, a provenance says the scheme too."""
    asked = machine(f"redis://:${{WORD}}@127.0.0.1:{port}/3")
    backend = backend_of(asked, PASSWORD)

    assert endpoints_of(asked, backend) == ("other:1", f"127.0.0.1:{port}")
    assert marks_of(asked, backend) == ("other:1", f"redis://127.0.0.1:{port}")
    assert backend_of(Machine(), {}) is None
    assert marks_of(Machine(), None) == endpoints_of(Machine(), None) == ()


def test_one_that_does_not_answer_is_told_and_not_used(tmp_path: Path) -> None:
    """A cache would try for half a minute; the build begins at once, with what is local."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    told, heard = RelayTold(), list[Event]()
    backend = backend_of(machine(f"http://127.0.0.1:{port}"), {})

    with backed(backend, "/usr/bin/sccache", tmp_path, told):
        assert not (tmp_path / REMOTE).exists()
        told.report_to(silence_told(Heard(heard)))

    (event,) = heard
    assert isinstance(event, Found)
    assert event.finding.reference == "endpoint-unreachable"
    assert f"127.0.0.1:{port}" in event.finding.what
    assert event.finding.seen == "Connection refused"


def test_a_scheme_that_the_cache_does_not_take_ends_it_before(tmp_path: Path) -> None:
    """Before anything is built."""
    backend = backend_of(Machine(cache_backend="memcached://cache"), {})
    with pytest.raises(UsageError), backed(backend, "/usr/bin/ccache", tmp_path, RelayTold()):
        raise AssertionError


def test_without_a_cache_there_is_nothing_to_tell(tmp_path: Path) -> None:
    """A recipe without one may stand beside a machine table with a backend."""
    backend = backend_of(Machine(cache_backend="redis://cache"), {})
    with backed(backend, "none", tmp_path, RelayTold()):
        assert not (tmp_path / REMOTE).exists()


class Heard:
    """Keeps what is told."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def emit(self, event: Event) -> None:
        """Keep it."""
        self._events.append(event)
