"""Commands before they run."""

from __future__ import annotations

import os
import subprocess

import pytest
from pydantic import ValidationError

from torchbuild.model.command import BUILD_ROOT, Command, expand, render


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{work}", BUILD_ROOT),
        ("{source}/build", f"{BUILD_ROOT}/source/build"),
        ("{venv}/bin:{cache}", f"{BUILD_ROOT}/venv/bin:{BUILD_ROOT}/cache"),
        ("{store}{dist}{shim}", f"{BUILD_ROOT}/store{BUILD_ROOT}/dist{BUILD_ROOT}/shim"),
        ("{unknown} ${HOME} {}", "{unknown} ${HOME} {}"),
    ],
)
def test_placeholders_become_the_fixed_paths(text: str, path: str) -> None:
    """Plans name no machine's paths; inside a build each placeholder has one path, everywhere the same."""
    assert expand(text) == path


def test_everything_of_a_command_is_expanded() -> None:
    """Program, directory and environment are all told by placeholder."""
    command = Command(argv=("{venv}/bin/python", "-c", "{x}"), cwd="{source}", environ=(("A", "{work}/a"),))

    done = command.expanded()

    assert done.argv == (f"{BUILD_ROOT}/venv/bin/python", "-c", "{x}")
    assert done.cwd == f"{BUILD_ROOT}/source"
    assert done.environ == (("A", f"{BUILD_ROOT}/a"),)
    assert command.argv[0] == "{venv}/bin/python"


def test_what_is_added_to_an_environment_does_not_replace() -> None:
    """The machine may add variables to a locked command and change none of its own."""
    command = Command(argv=("/bin/true",), environ=(("B", "locked"),))

    assert command.with_environ({"C": "1", "B": "other", "A": "2"}).environ == (
        ("A", "2"),
        ("B", "locked"),
        ("C", "1"),
    )


def test_nothing_between_source_and_package_has_a_network() -> None:
    """A command has no network unless it says so."""
    assert Command(argv=("/bin/true",)).network == "none"


@pytest.mark.parametrize("argv", [["/bin/true"], ("/bin/true", 1), "/bin/true"])
def test_argv_is_a_tuple_of_texts(argv: object) -> None:
    """A command line is never one text that somebody would have to split."""
    with pytest.raises(ValidationError):
        Command.model_validate({"argv": argv})


def test_a_rendered_command_can_be_typed() -> None:
    """What `plan` prints does in a shell what the build would do, whatever the values hold."""
    value = "a 'b' \"c\" $HOME\nnext"
    command = Command(
        argv=("/usr/bin/env", "printf", "%s", "x y", "$A"), cwd="/", environ=(("A", value), ("B", ""))
    )

    shown = render(command).replace("/usr/bin/env printf %s", "/usr/bin/env")
    done = subprocess.run(
        ["/bin/sh", "-c", shown.rpartition("/usr/bin/env")[0] + "/usr/bin/env"],
        capture_output=True,
        check=True,
    )

    assert done.stdout == f"A={value}\nB=\n".encode()
    assert os.linesep == "\n"
