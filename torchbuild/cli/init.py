"""``torchbuild init``: a recipe that can work for a target, or why none can and what could instead."""

from __future__ import annotations

from typing import Any

import click

from torchbuild.cli.options import json_option

__all__ = ["init"]


@click.command()
@click.option("--torch", metavar="VERSION", default="", help="Release. Default: the newest that is known.")
@click.option(
    "--gpu", "gpus", metavar="NAME", multiple=True,
    help='GPU of the target: a product, sm_XX, or "auto" for this machine\'s. Can be repeated.',
)  # fmt: skip
@click.option("--cpu", "is_cpu", is_flag=True, help="No GPU: a wheel for the CPU.")
@click.option(
    "--driver", metavar="VERSION", default="",
    help='Oldest NVIDIA driver that the wheel will meet, such as 535, or "auto" for this machine\'s.',
)  # fmt: skip
@click.option(
    "--kernel-modules", "modules", type=click.Choice(["open", "proprietary"]), default=None,
    help="Which kernel modules of the driver the target has. Default: not known.",
)  # fmt: skip
@click.option("--forward-compat", is_flag=True, help="The target has NVIDIA's forward-compatibility package.")
@click.option(
    "--python", metavar="VERSION", default="", help="Default: the newest that the release promises."
)
@click.option("--glibc", metavar="VERSION", default="", help="The target's C library, such as 2.28.")
@click.option("--distro", metavar="NAME", default="", help="The target's distribution, in place of --glibc.")
@click.option("--cuda", metavar="VERSION", default="", help="Toolkit. Default: the best that goes.")
@click.option(
    "--machine", type=click.Choice(["x86_64", "aarch64"]), default=None,
    help="Processor family of the target. Default: this machine's.",
)  # fmt: skip
@click.option(
    "--like", metavar="WHEEL", default="",
    help="As this one is: a wheel's file, a folder or an environment with torch in it, INSTALLED for the"
    " active one, or torch==VERSION with or without +cuXXX, which an index is asked for.",
)  # fmt: skip
@click.option("--add-gpu", "added", metavar="NAME", multiple=True, help="With --like: a further GPU.")
@click.option(
    "--set", "sets", metavar="KEY=VALUE", multiple=True,
    help="Set a key of the recipe, as in --set cudnn.version=8.9.7.29. Can be repeated.",
)  # fmt: skip
@click.option("--name", metavar="NAME", default="", help="The recipe's name. Default: by what it is for.")
@click.option(
    "--out", metavar="FILE", default="", help="Where it is written; - for stdout. Default: NAME.toml."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
def init(**options: Any) -> int:  # noqa: ANN401  click hands over what the options above name
    """Write a recipe that can work for a GPU and a driver, each line with its reason.

    Nothing is asked, and nothing is fetched but a wheel that --like names by its release. Where nothing can
    work, the facts that forbid it are told, with the command lines of what could instead, and the exit code
    is 4. The recipe's path is printed on stdout.
    """
    from torchbuild.cli.init_recipe import new_recipe  # noqa: PLC0415  help must not pay for it
    from torchbuild.cli.init_wish import Asked  # noqa: PLC0415

    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    return new_recipe(Asked(**given))
