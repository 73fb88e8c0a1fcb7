"""``torchbuild report``: what a run did, how long each part of it took, and a picture of its compilation."""

from __future__ import annotations

from pathlib import Path

import click

from torchbuild.cli.options import json_option

__all__ = ["report"]

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("run")
@click.option("--html", "page", metavar="FILE", type=_FILE, help="Where the page goes.")
@click.option("--trace", "trace", metavar="FILE", type=_FILE, help="Where the Chrome trace goes.")
@json_option
def report(*, run: str, page: Path | None, trace: Path | None, as_json: bool) -> None:
    """Say what RUN did; write its timeline.

    RUN is a name that `torchbuild store` lists, a workspace, or a report.json, also one beside a wheel. The
    timeline comes out of ninja's log in the workspace: a page that needs nothing but a browser, and a trace
    for chrome://tracing or Perfetto. Without --html and --trace both go beside the run's report.
    """
    from torchbuild.cli.output import machine_redactor, print_result  # noqa: PLC0415  as in build
    from torchbuild.cli.places import places  # noqa: PLC0415
    from torchbuild.cli.run_files import find_run, timeline_for, write_timeline  # noqa: PLC0415
    from torchbuild.report.run_text import run_lines, timeline_lines  # noqa: PLC0415
    from torchbuild.report.timeline_json import timeline_json  # noqa: PLC0415

    here, clean = places(), machine_redactor()
    found = find_run(run, here)
    timeline = timeline_for(found, here, clean, is_needed=bool(page or trace))
    files = write_timeline(timeline, found, page, trace) if timeline is not None else {}
    lines = list(run_lines(found.report)) if found.report else [f"{found.name}: no report; it did not end"]
    lines += timeline_lines(timeline) if timeline else ["no timeline: no log of ninja is on this machine"]
    lines += [f"  {label:19} {path}" for label, path in files.items()]
    value = {
        "run": found.name,
        "report": found.report,
        "timeline": timeline_json(timeline) if timeline else None,
        "files": {label: str(path) for label, path in files.items()},
    }
    print_result(value, as_json=as_json, text="\n".join(lines), clean=clean)
