"""Going back into a run's workspace."""

from __future__ import annotations

from pathlib import Path

from torchbuild.cli.revisit import unknown_run


def test_a_misspelt_run_is_answered_with_the_nearest(tmp_path: Path) -> None:
    """Names of runs are long; nobody types them right."""
    error = unknown_run("torch-2.6-cpu-012345", tmp_path / "nowhere")

    assert (error.reference, error.exit_code) == ("run-unknown", 2)
    assert "torch-2.6-cpu-012345" in error.what
