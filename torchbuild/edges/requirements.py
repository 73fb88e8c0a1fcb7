"""Requirements to exact wheels for a target that is not this machine, blind to this machine's settings."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from torchbuild.edges.package_index import machine_authorities
from torchbuild.edges.wheel_tags import python_platform, target_tags
from torchbuild.errors import FetchError, HostError, RecipeError
from torchbuild.model.artifact import Artifact, is_sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["resolve_requirements"]

_KEPT = (
    *("PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "UV_CACHE_DIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC", "UV_HTTP_TIMEOUT", "UV_HTTP_RETRIES"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
"""How the network is reached and where a cache lies; nothing of it decides what is chosen."""

_UNREACHABLE = (
    "failed to fetch",
    "request failed",
    "error sending request",
    "failed to download",
    "dns error",
)


def resolve_requirements(
    requirements: Sequence[str],
    *,
    python_version: str,
    machine: str,
    glibc: str,
    constraints: Sequence[str] = (),
    index_url: str = "",
    authorities: Callable[[], str] = machine_authorities,
) -> tuple[Artifact, ...]:
    """Each wheel that an empty environment of the target needs, by its digest, sorted by locator.

    Args:
        requirements: PEP 508 lines, without addresses.
        python_version: of the target, such as ``3.13`` or ``3.13.5``.
        machine: of the target, ``x86_64`` or ``aarch64``.
        glibc: of the target, such as ``2.28``: no wheel needs a newer one.
        constraints: requirements that narrow what is chosen and add nothing.
        index_url: the index to choose from; empty: the resolver's own default.
        authorities: the file of certificate authorities, asked where no variable of the environment has it.

    Raises:
        RecipeError: ``requirement-invalid``, ``requirements-unsolvable``, ``no-wheel-for-target``.
        FetchError: ``index-not-reachable``, ``no-digest-published``.
        HostError: ``resolver-failed``.
    """
    if not requirements:
        return ()
    wanted = {"requirements": requirements, "constraints": constraints}
    with tempfile.TemporaryDirectory(prefix="torchbuild-resolve-") as directory:
        for name, lines in wanted.items():
            (Path(directory) / f"{name}.txt").write_text("".join(f"{_checked(line)}\n" for line in lines))
        arguments = _arguments(python_version, machine, glibc)
        environ = _environ(index_url, authorities)
        lock = tomllib.loads(_compile(Path(directory), arguments, environ))
    tags = target_tags(python_version, machine, glibc)
    chosen = [_artifact(package, tags) for package in lock.get("packages", [])]
    return tuple(sorted(chosen, key=lambda artifact: artifact.locator))


def _checked(line: str) -> str:
    """One requirement: a file of them, an option or an address would bring what nobody locked."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement as error:
        raise _bad_requirement(line, str(error).partition("\n")[0]) from error
    if requirement.url:
        raise _bad_requirement(line, "an address")
    return str(requirement)


def _bad_requirement(line: str, seen: str) -> RecipeError:
    return RecipeError(
        "requirement-invalid",
        f"{line!r}: not a requirement that can be locked",
        why=(f"seen: {seen}", "wanted: a name and versions, such as numpy>=2,<3"),
        fix="Write it as NAME, or NAME with a range of versions.",
    )


def _arguments(python_version: str, machine: str, glibc: str) -> list[str]:
    return [
        "requirements.txt",
        "--constraint=constraints.txt",
        # Else uv looks for an interpreter of the target's version, which takes a second and decides nothing.
        f"--python={sys.executable}",
        f"--python-version={python_version.rstrip('t')}",
        f"--python-platform={python_platform(machine, glibc)}",
    ]


def _environ(index_url: str, authorities: Callable[[], str]) -> dict[str, str]:
    """How the index is reached, and nothing else of this machine."""
    environ = {name: os.environ[name] for name in _KEPT if name in os.environ}
    # Only uv's own variable names the authorities to uv; requests and pip have others.
    if not environ.get("SSL_CERT_FILE"):
        file = os.environ.get("PIP_CERT") or os.environ.get("REQUESTS_CA_BUNDLE") or authorities()
        environ |= {"SSL_CERT_FILE": file} if file else {}
    if index_url:
        environ["UV_DEFAULT_INDEX"] = (
            index_url  # not an option: it may hold a password, and options are public
        )
    return environ | {"LC_ALL": "C.UTF-8", "PIP_CONFIG_FILE": os.devnull}


def _compile(directory: Path, arguments: list[str], environ: dict[str, str]) -> str:
    """What uv writes as pylock.toml."""
    from uv import find_uv_bin  # noqa: PLC0415  looks for the program when it is imported

    fixed = [
        *("pip", "compile", "--format=pylock.toml", "--no-config", "--only-binary=:all:", "--no-header"),
        *("--no-python-downloads", "--color=never", "--no-progress", "--output-file=pylock.toml"),
    ]
    try:
        ended = subprocess.run(
            [find_uv_bin(), *fixed, *arguments],
            cwd=directory,
            env=environ,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as error:
        raise _no_resolver(str(error)) from error
    if ended.returncode:
        raise _resolver_error(ended.stderr)
    return (directory / "pylock.toml").read_text()


def _no_resolver(seen: str) -> HostError:
    return HostError(
        "resolver-failed",
        "uv cannot resolve requirements on this machine",
        why=(f"seen: {seen}", "wanted: the uv that torchbuild was installed with"),
        fix="Install torchbuild again: python -m pip install --force-reinstall torchbuild",
    )


def _resolver_error(stderr: str) -> RecipeError | FetchError | HostError:
    lines = tuple(
        line.strip() for line in stderr.splitlines() if line.strip() and not line.startswith("warning:")
    )
    why = tuple(f"uv: {line}" for line in lines)
    said = stderr.lower()
    if "no solution found" in said:
        return RecipeError(
            "requirements-unsolvable",
            "no set of wheels fulfils the requirements",
            why=why,
            fix="Change or remove the requirement that uv names.",
        )
    if any(sign in said for sign in _UNREACHABLE):
        return FetchError(
            "index-not-reachable",
            "the Python package index did not answer",
            why=why,
            fix="Check the network and the proxy settings, or set [machine] index_url.",
        )
    return _no_resolver("; ".join(lines) or "uv said nothing")


def _artifact(package: dict[str, Any], tags: dict[Tag, int]) -> Artifact:
    """The wheel that pip would take on the target."""
    name = canonicalize_name(package["name"])
    ranked = []
    for wheel in package.get("wheels", ()):
        file = wheel.get("name") or unquote(urlsplit(wheel["url"]).path.rpartition("/")[2])
        rank = _rank(file, tags)
        if rank is not None:
            ranked.append((rank, file, wheel))
    if not ranked:
        raise _no_wheel(name, package, tags)
    _, file, wheel = min(ranked, key=lambda row: row[:2])
    sha256 = wheel.get("hashes", {}).get("sha256", "")
    if not is_sha256(sha256):
        raise FetchError(
            "no-digest-published",
            f"{file}: the index publishes no SHA-256 of it",
            why=("wanted: a digest of each file, as the simple repository API has it",),
            fix="Use an index that publishes digests ([machine] index_url).",
        )
    return Artifact(locator=f"pypi:{name}/{file}", sha256=sha256, size=wheel.get("size"))


def _rank(file: str, tags: dict[Tag, int]) -> tuple[int, int] | None:
    """How well a wheel fits, best first: by best tag, then by highest build number; None: it does not."""
    try:
        _, _, build, its = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None
    ranks = [tags[tag] for tag in its if tag in tags]
    return (min(ranks), -(build[0] if build else 0)) if ranks else None


def _no_wheel(name: str, package: dict[str, Any], tags: dict[Tag, int]) -> RecipeError:
    best = next(iter(tags), None)
    wheels = package.get("wheels", ())
    seen = [str(wheel.get("name") or wheel.get("url", "")).rpartition("/")[2] for wheel in wheels]
    return RecipeError(
        "no-wheel-for-target",
        f"{name} {package.get('version', '')}: no wheel fits the target",
        why=(f"seen: {', '.join(seen) or 'no wheel at all'}", f"wanted: {best} or a tag that it can run"),
        fix=f"Choose a version of {name} that has such a wheel, or raise target.glibc.",
    )
