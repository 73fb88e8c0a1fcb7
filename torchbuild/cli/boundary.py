"""The end of every error: made one of ours, redacted, shown on stderr or as JSON, turned to an exit code."""

from __future__ import annotations

import os
import platform
import select
import sys
import tempfile
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from torchbuild.cli import output
from torchbuild.cli.output import CLOSED_PIPE, machine_redactor, print_json, silence_stdout, wants_json
from torchbuild.errors import HostError, InternalError, TorchbuildError, UsageError
from torchbuild.model.stopped import stopped
from torchbuild.report.errors_text import error_json, error_rich, error_text
from torchbuild.report.redaction import Redactor

__all__ = ["show_error"]


def show_error(error: BaseException, argv: Sequence[str]) -> int:
    """Show what went wrong, without secrets, on stderr; with ``--json`` as ``{"error": {...}}`` on stdout.

    Args:
        error: anything that reached the boundary.
        argv: the command line.

    Returns:
        The exit code of the error's family.
    """
    if isinstance(error, BrokenPipeError) and _reader_has_gone():
        silence_stdout()
        return CLOSED_PIPE
    redactor = machine_redactor()
    ours = redactor.redact_error(_as_ours(error, argv, redactor))
    try:
        if wants_json(argv):
            print_json({"error": error_json(ours)})
        elif sys.stderr is not None:
            _show(ours)
        _annotate(ours)
    except OSError:
        silence_stdout()  # nobody can be told; the exit code still says it
    return ours.exit_code


def _as_ours(error: BaseException, argv: Sequence[str], redactor: Redactor) -> TorchbuildError:
    """The error itself where it is ours, else the one of ours that says the same."""
    match error:
        case TorchbuildError():
            return error
        case KeyboardInterrupt() | click.Abort():
            return stopped("interrupt")
        case click.ClickException():
            return _usage(error)
        case OSError() if _came_from_printing(error):
            return _unwritable(error)
        case _:
            return _internal(error, argv, redactor)


def _reader_has_gone() -> bool:
    """Whether stdout is a pipe that nobody reads any more."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(state & select.POLLERR for _, state in poll.poll(0))
    except (OSError, ValueError, AttributeError):
        return False


def _came_from_printing(error: OSError) -> bool:
    """Whether it was stdout or stderr that raised: every result is printed in one of these modules."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename in (click.utils.__file__, output.__file__)


def _unwritable(error: OSError) -> HostError:
    silence_stdout()
    return HostError(
        "output-not-writable",
        "the result cannot be written",
        why=str(error),
        fix="Send stdout and stderr to files or programs that take them.",
    )


def _usage(error: click.ClickException) -> UsageError:
    ctx = getattr(error, "ctx", None)
    command = ctx.command_path if isinstance(ctx, click.Context) else "torchbuild"
    return UsageError(
        "usage-wrong", error.format_message(), fix=f"Run {command} --help for what may be given."
    )


def _internal(error: BaseException, argv: Sequence[str], redactor: Redactor) -> InternalError:
    text = redactor.redact(_crash_text(error, argv))
    path = _keep(text)
    return InternalError(
        "internal-error",
        f"torchbuild itself failed: {type(error).__name__}: {error}",
        why="this should never happen, whatever the recipe and the machine",
        fix=f"Report it with {path}." if path else "Report it with the lines above.",
        evidence=() if path else tuple(text.splitlines()),
        link=str(path or ""),
    )


def _crash_text(error: BaseException, argv: Sequence[str]) -> str:
    from torchbuild import __version__  # noqa: PLC0415  the version is slow to find

    head = (
        f"torchbuild {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"command line: {list(argv)!r}",
        "",
    )
    return "\n".join(head) + "\n" + "".join(traceback.format_exception(error))


def _keep(text: str) -> Path | None:
    """The file that holds the text: in the user's state directory, else among the temporary files."""
    from platformdirs import user_state_path  # noqa: PLC0415  only where something went wrong

    name = f"crash-{datetime.now(tz=UTC):%Y%m%dT%H%M%S}-{os.getpid()}.txt"
    for folder in (user_state_path("torchbuild"), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("x", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(text)
        except OSError:
            continue
        return folder / name
    return None


def _show(error: TorchbuildError) -> None:
    from torchbuild.report.console import is_live  # noqa: PLC0415  JSON does without

    stream = sys.stderr
    if is_live(stream, os.environ):
        from rich.console import Console  # noqa: PLC0415  slow to import, needed at a terminal only

        Console(file=stream, highlight=False).print(error_rich(error), soft_wrap=True)
    else:
        from torchbuild.report.github import harmless, is_github  # noqa: PLC0415  as above

        text = error_text(error)
        stream.write((harmless(text) if is_github(os.environ) else text) + "\n")
    stream.flush()


def _annotate(error: TorchbuildError) -> None:
    """Where GitHub's runner reads, the error stands beside the commit too, with ``--json`` as well."""
    from torchbuild.report.github import error_command, is_github  # noqa: PLC0415  an error in a pipe alone

    if is_github(os.environ) and sys.stderr is not None:
        sys.stderr.write(error_command(error) + "\n")
        sys.stderr.flush()
