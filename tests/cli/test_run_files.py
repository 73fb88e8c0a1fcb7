"""A run's files are found, and read as what a build may have made of them. The rest is in `test_report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torchbuild.cli.run_files import find_run


def test_a_name_comes_before_a_path(desk: Any) -> None:
    """A folder of the same name in the current directory does not hide a run."""
    ours = Path(desk.places.builds) / "tiny-1"
    for place in (ours, desk.folder / "tiny-1"):
        place.mkdir(parents=True)
        (place / "about.json").write_text("{}")

    assert find_run("tiny-1", desk.places).workspace == ours
    assert find_run("./tiny-1", desk.places).workspace == Path("tiny-1")


def test_the_folder_one_stands_in_is_a_run(desk: Any) -> None:
    """Its name is that of the folder."""
    (desk.folder / "about.json").write_text("{}")

    found = find_run(".", desk.places)

    assert (found.name, found.report) == (desk.folder.name, None)
