"""One process to be: argv, directory, environment; written with placeholders until it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from torchbuild.model.frozen import Frozen

__all__ = ["BUILD_ROOT", "Command", "expand", "render"]

BUILD_ROOT = "/torchbuild"
"""Where every build happens, in every executor: the fixed path that makes builds reproducible."""

_PLACES = {
    "{work}": BUILD_ROOT,
    "{source}": f"{BUILD_ROOT}/source",
    "{venv}": f"{BUILD_ROOT}/venv",
    "{store}": f"{BUILD_ROOT}/store",
    "{cache}": f"{BUILD_ROOT}/cache",
    "{dist}": f"{BUILD_ROOT}/dist",
    "{shim}": f"{BUILD_ROOT}/shim",
}


def expand(text: str) -> str:
    """`text` with each placeholder replaced by the path it has inside a build."""
    for placeholder, path in _PLACES.items():
        text = text.replace(placeholder, path)
    return text


class Command(Frozen):
    """One process. Its environment is complete: nothing is inherited from the caller's."""

    argv: tuple[str, ...]
    """Program and arguments; the program by absolute path."""
    cwd: str = "{work}"
    """Directory, absolute inside the build."""
    environ: tuple[tuple[str, str], ...] = ()
    """Every variable the process sees, sorted by name."""
    network: Literal["none", "host"] = "none"
    """``none`` for all that lies between source and package."""

    def expanded(self) -> Command:
        """The same command with the paths it really has."""
        return self.model_copy(
            update={
                "argv": tuple(expand(part) for part in self.argv),
                "cwd": expand(self.cwd),
                "environ": tuple((name, expand(value)) for name, value in self.environ),
            }
        )

    def with_environ(self, extra: Mapping[str, str]) -> Command:
        """The same command with further variables; the command's own win."""
        merged = dict(extra) | dict(self.environ)
        return self.model_copy(update={"environ": tuple(sorted(merged.items()))})


def render(command: Command) -> str:
    """The command as one could type it, environment first, for a person to read."""
    from shlex import quote  # noqa: PLC0415  printing only; nothing is ever run from this text

    lines = [f"cd {quote(command.cwd)}", "env -i \\"]
    lines += [f"  {name}={quote(value)} \\" for name, value in command.environ]
    lines.append("  " + " ".join(quote(part) for part in command.argv))
    return "\n".join(lines)
