"""A machine as a value: written down, read again, and nothing in it is claimed that was not seen."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from torchbuild.model.host import Disk, Gpu, Host, Interpreter, Nvcc


def least() -> dict[str, object]:
    """A machine of which next to nothing was seen."""
    texts = ("machine", "system", "distribution", "release", "kernel", "glibc", "driver", "modules", "git")
    lists = ("gpus", "nvccs", "compilers", "interpreters", "engines", "disks", "installer_logs", "unseen")
    return {
        **dict.fromkeys(texts, ""),
        **dict.fromkeys(lists, ()),
        **dict.fromkeys(("memory", "memory_limit", "memory_available"), None),
        "driver_cuda": "",
        "has_namespaces": False,
        "cores": 1,
        "clock": 0.0,
        "proxies": {},
        "variables": {},
    }


def test_what_was_not_seen_is_empty() -> None:
    """Whoever judges it says `not run`, and not `passed`."""
    host = Host.model_validate(least())

    assert (host.platform, host.l4t, host.driver_library, host.swap) == ("", "", "", None)
    assert (host.limits, host.driver_libraries, host.newest_file) == ({}, (), 0.0)


def test_a_machine_is_read_as_it_was_written() -> None:
    """`doctor --json` of one machine is understood on another."""
    seen = {
        "gpus": (Gpu(name="NVIDIA H100 PCIe", capability=90, memory=85520809984, uuid="GPU-1"),),
        "nvccs": (Nvcc(path="/a", real="/b", version="", archs=(), found_by="PATH", kind="cache", why="x"),),
        "limits": {"open files": 1024},
    }
    host = Host.model_validate({**least(), **seen})

    assert Host.model_validate_json(host.model_dump_json()) == host


def test_two_machines_share_no_table() -> None:
    """A default is each one's own."""
    assert Host.model_validate(least()).limits is not Host.model_validate(least()).limits


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Gpu, {"name": "T4", "capability": "75", "memory": None}),
        (Disk, {"role": "temp"}),
        (Interpreter, {"path": "/usr/bin/python3", "python": "3.11"}),
    ],
    ids=["text for a number", "half", "unknown field"],
)
def test_what_is_no_such_thing_is_refused(
    kind: type[Gpu | Disk | Interpreter], fields: dict[str, object]
) -> None:
    """A wrong word is found where it is made."""
    with pytest.raises(ValidationError):
        kind.model_validate(fields)
