"""The version of the wheel, for both front ends, and the module that repeats it.

PYTORCH_BUILD_VERSION and PYTORCH_BUILD_NUMBER decide; without them version.txt and the commit do.
"""

import argparse
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

__all__ = ["commit", "dynamic_metadata", "extra_requirements", "wheel_version"]

ROOT = Path(__file__).resolve().parent.parent

# The canonical form of PEP 440, so that nothing on the way to the file name rewrites it.
CANONICAL = re.compile(
    r"(\d+!)?\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?"
)


def commit() -> str:
    """Return the commit of the tree, or `Unknown` where git cannot tell."""
    # Without this an unpacked archive inside another repository would be given that one's commit.
    if not (ROOT / ".git").exists():
        return "Unknown"
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "Unknown"
    return answer.stdout.strip()


def wheel_version() -> str:
    """Return the version to build; end with a message if the environment asks for none there is."""
    version = os.environ.get("PYTORCH_BUILD_VERSION")
    if version is None:
        base = (ROOT / "version.txt").read_text(encoding="utf-8").strip()
        return f"{base}+git{commit()[:7]}"
    number = os.environ.get("PYTORCH_BUILD_NUMBER")
    if number is None or not number.isdecimal():
        raise SystemExit(
            f"PYTORCH_BUILD_VERSION needs a number in PYTORCH_BUILD_NUMBER, which is {number!r}"
        )
    if int(number) > 1:
        version += f".post{int(number)}"
    if CANONICAL.fullmatch(version) is None:
        raise SystemExit(f"PYTORCH_BUILD_VERSION: {version!r} is not a canonical PEP 440 version")
    return version


def extra_requirements() -> list[str]:
    """Return the requirements that the environment adds to the wheel, separated by `|` there."""
    listed = os.environ.get("PYTORCH_EXTRA_INSTALL_REQUIREMENTS", "")
    return [requirement.strip() for requirement in listed.split("|") if requirement.strip()]


def dynamic_metadata(
    settings: Mapping[str, object], project: Mapping[str, object]
) -> dict[str, object]:
    """Give scikit-build-core what pyproject.toml lists as dynamic."""
    return {"version": wheel_version(), "dependencies": extra_requirements()}


def write_module(path: Path, *, build_type: str, cuda: str) -> None:
    """Write version.py, unless it is there already with the same text."""
    lines = [
        f"__version__ = {wheel_version()!r}",
        f"debug = {build_type.casefold() == 'debug'}",
        f"cuda = {cuda or None!r}",
        f"git_version = {commit()!r}",
    ]
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main() -> None:
    """Print the version, or write the module that CMake installs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--build-type", default="")
    parser.add_argument("--cuda", default="")
    options = parser.parse_args()
    if options.write is None:
        print(wheel_version())
    else:
        write_module(options.write, build_type=options.build_type, cuda=options.cuda)


if __name__ == "__main__":
    main()
