"""What a second `torchbuild build` believes: metadata by default, every byte with `--paranoid`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def flipped(desk: Any) -> Path:
    """A file that the stage fetch made, one byte of it another one, its time put back."""
    desk.lock()
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    (made,) = (desk.only_run() / "root" / "inputs").rglob("*.whl")
    before = made.stat()
    with made.open("r+b") as file:
        first = file.read(1)
        file.seek(0)
        file.write(bytes([first[0] ^ 1]))
    os.utime(made, ns=(before.st_atime_ns, before.st_mtime_ns))
    return Path(made)


def outcome(desk: Any, *options: str) -> str:
    """How the stage fetch ends when the build is run again."""
    value = desk.run("build", "tiny.toml", "--locked", "--until", "fetch", "--json", *options).json
    (stage,) = value["stages"]
    return str(stage["outcome"])


def test_the_fast_check_does_not_see_a_flipped_byte(desk: Any) -> None:
    """Its limit, which the help and the documentation name: size, time, inode and mode are as before."""
    flipped(desk)

    assert outcome(desk) == "reused"


def test_paranoia_finds_a_flipped_byte_and_mends_it(desk: Any) -> None:
    """The stage runs again, and afterwards the file is what it was."""
    made = flipped(desk)

    assert outcome(desk, "--paranoid") == "done"
    assert made.read_bytes() == b"not pip"
    assert outcome(desk, "--paranoid") == "reused"


def test_paranoia_fetches_a_damaged_stored_file_again(desk: Any) -> None:
    """Nobody has to look for it by hand; the fast check does not see it."""
    wheel = desk.folder / "pip-26.0-py3-none-any.whl"
    wheel.write_bytes(b"not pip")
    stored = desk.stored(f"file:{wheel.name}", b"not pip")
    desk.lock(build_requires=(stored,))
    desk.run("build", "tiny.toml", "--locked", "--until", "fetch")
    (place,) = desk.places.store.glob("sha256/??/*")
    place.chmod(0o644)
    place.write_bytes(b"not pop")

    assert outcome(desk) == "reused"
    assert outcome(desk, "--paranoid") == "done"
    assert place.read_bytes() == b"not pip"
    assert outcome(desk, "--paranoid") == "reused"
