"""What is known of an ELF file."""

from __future__ import annotations

import pytest

from torchbuild.inspection.facts import ElfFacts


@pytest.mark.parametrize(
    ("rpath", "runpath", "path"),
    [(("/a",), (), ("/a",)), (("/a",), ("$ORIGIN",), ("$ORIGIN",)), ((), (), ())],
    ids=["old only", "new wins", "none"],
)
def test_loader_ignores_the_old_path_beside_the_new(
    rpath: tuple[str, ...], runpath: tuple[str, ...], path: tuple[str, ...]
) -> None:
    """DT_RPATH counts only where there is no DT_RUNPATH."""
    assert ElfFacts(path="x.so", sha256="", size=0, rpath=rpath, runpath=runpath).search_path == path
