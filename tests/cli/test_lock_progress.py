"""What a lock says while it downloads."""

from __future__ import annotations

from torchbuild.cli.lock_progress import told_progress

MIB = 1 << 20


def test_a_long_download_is_told_in_lines() -> None:
    """How much, how fast, how long still; not a line for each chunk, and none for a short one."""
    lines: list[str] = []
    now = 0.0
    note = told_progress(lines.append, lambda: now)
    for second in range(21):
        now = float(second)
        note(10 * second * MIB, 200 * MIB, "cuda.tar.xz")

    assert lines[0].startswith("lock:   5 %  ")
    assert "MiB of 200.0 MiB  10.0 MiB/s" in lines[4]
    assert lines[4].endswith("left  cuda.tar.xz")
    assert len(lines) <= 21


def test_nothing_is_told_of_what_comes_at_once() -> None:
    """A document is a few kilobytes."""
    lines: list[str] = []
    note = told_progress(lines.append, lambda: 0.0)
    note(100, 100, "redistrib_12.4.1.json")

    assert lines == []
