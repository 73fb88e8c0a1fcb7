"""What commands print: results on stdout, as text for a person or as JSON for a program, without secrets."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchbuild.report.redaction import Redactor

__all__ = [
    "CLOSED_PIPE",
    "flush_stdout",
    "machine_redactor",
    "print_json",
    "print_result",
    "print_text",
    "silence_stdout",
    "wants_json",
]


CLOSED_PIPE = 141
"""Exit code where the reader of stdout has gone: 128 + SIGPIPE, what a shell sees of any such program."""


def wants_json(argv: Sequence[str]) -> bool:
    """Whether ``--json`` was given, even where the command line as a whole is wrong."""
    options = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in options


def print_text(text: str, clean: Redactor | None = None) -> None:
    """A result for a person, on stdout; what the stream cannot carry is escaped.

    Args:
        text: the result.
        clean: takes the secrets out; default: one that knows those of this machine.

    Raises:
        OSError: stdout takes nothing; `torchbuild.cli.boundary` says so.
    """
    _write((clean or machine_redactor()).redact(text))


def _write(text: str) -> None:
    stream = sys.stdout
    if stream is None:
        raise OSError(errno.EBADF, "stdout is closed")
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()


def flush_stdout() -> None:
    """Push out what is buffered, while an error can still be told. Raises as `print_text`."""
    if sys.stdout is not None:
        sys.stdout.flush()


def print_json(value: object, clean: Redactor | None = None) -> None:
    """A result for a program, on stdout: models, mappings, lists, texts, numbers. Else as `print_text`."""
    # text by text: what is taken out of the finished document could take its quotes along
    plain = _cleaned(json.loads(json.dumps(value, default=_plain)), clean or machine_redactor())
    _write(json.dumps(plain, indent=2))


def _cleaned(value: object, clean: Redactor) -> object:
    match value:
        case str():
            return clean.redact(value)
        case list():
            return [_cleaned(item, clean) for item in value]
        case dict():
            return {clean.redact(key): _cleaned(item, clean) for key, item in value.items()}
        case _:
            return value


def print_result(value: object, *, as_json: bool, text: str, clean: Redactor | None = None) -> None:
    """`value` as JSON where that was asked for, else `text`; see `print_text`."""
    if as_json:
        print_json(value, clean)
    else:
        print_text(text, clean)


def silence_stdout() -> None:
    """Send what is still buffered nowhere, or the interpreter complains once more when it ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return  # not a real stream: nothing is buffered that could complain


def machine_redactor(environ: Mapping[str, str] | None = None) -> Redactor:
    """A redactor that knows the secrets of this machine's environment and netrc file."""
    from torchbuild.report.redaction import Redactor, secrets_of  # noqa: PLC0415  --help does without

    environ = os.environ if environ is None else environ
    return Redactor(secrets_of(environ, _netrc(environ)))


def _netrc(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME")
    named = environ.get("NETRC") or (f"{home}/.netrc" if home else "")
    try:
        return Path(named).read_text(encoding="utf-8", errors="replace") if named else ""
    except OSError:
        return ""


def _plain(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", by_alias=True)
    return str(value)
