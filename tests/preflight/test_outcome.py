"""The value of a preflight."""

from __future__ import annotations

from torchbuild.preflight.outcome import failed, not_run, passed, warned


def test_only_a_failure_stops_a_build() -> None:
    """Doubts and what nobody could look at do not."""
    wrong = failed("disk-space", "space", seen="1", wanted="2", fix="Free space.")

    assert wrong.is_fatal
    assert not warned("disk-space", "space", seen="1").is_fatal
    assert not not_run("disk-space", "space: nobody looked").is_fatal
    assert not passed("disk-space", "space").is_fatal


def test_a_report_keeps_it_as_a_finding() -> None:
    """With the same words."""
    finding = failed("disk-space", "space", seen="1", wanted="2", fix="Free space.").finding()

    assert (finding.reference, finding.outcome, finding.seen, finding.wanted) == (
        "disk-space",
        "failed",
        "1",
        "2",
    )
