"""What the uv that torchbuild comes with says of its managed interpreters: their list, and their digests.

uv carries both inside itself, so that no network is asked. It prints the list, and tells a digest only where
a file has another one: it is handed a file that cannot be the right one, and refuses it by the right digest.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from torchbuild.errors import HostError

__all__ = ["uv_document"]

_LIST, _DIGEST = "uv:python-downloads/", "uv:python-digest/"
_EXPECTED = re.compile(r"Expected:\s+([0-9a-f]{64})\b")
_TIMEOUT_S = 120
_COMMON = ("--offline", "--no-config", "--no-progress", "--color=never")


def uv_document(locator: str) -> str:
    """Text of ``uv:python-downloads/MACHINE`` (JSON) or of ``uv:python-digest/MACHINE/KEY`` (hexadecimal).

    A digest that uv does not tell is the empty text.

    Raises:
        HostError: ``uv-not-as-expected``.
    """
    kind, _, rest = locator.partition("/")
    if f"{kind}/" == _LIST:
        return json.dumps([row for row in _listed() if row.get("arch") == rest], sort_keys=True)
    machine, _, key = rest.partition("/")
    rows = (row for row in _listed() if row.get("arch") == machine and row.get("key") == key)
    row = next(rows, None) if f"{kind}/" == _DIGEST else None
    return _digest(str(row["key"]), str(row["url"])) if row else ""


def _listed() -> list[dict[str, Any]]:
    done = _uv("python", "list", "--only-downloads", "--all-versions", "--all-arches", "--output-format=json")
    try:
        rows = json.loads(done.stdout)
    except (ValueError, RecursionError) as error:
        raise _unexpected(done.stderr.strip()[-500:] or str(error)) from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "url" in row for row in rows):
        raise _unexpected("its list of interpreters has another shape")
    return rows


def _digest(key: str, url: str) -> str:
    """What uv wants the file of an address to be, by handing it another."""
    parts = [unquote(part) for part in urlsplit(url).path.split("/")[-2:]]
    if len(parts) != len(("build date", "file")) or not all(
        re.fullmatch(r"[\w.+-]+", part) for part in parts
    ):
        return ""
    with tempfile.TemporaryDirectory(prefix="torchbuild-uv-") as directory:
        file = Path(directory, "mirror", *parts)
        file.parent.mkdir(parents=True)
        file.write_bytes(_nothing())
        mirror = {"UV_PYTHON_INSTALL_MIRROR": Path(directory, "mirror").as_uri()}
        asked = ("python", "install", "--no-bin", f"--install-dir={directory}/installed", key)
        done = _uv(*asked, directory=directory, **mirror)
    found = _EXPECTED.search(done.stderr)
    return found.group(1) if found else ""


def _nothing() -> bytes:
    """An archive with one empty file: uv unpacks before it compares."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("python/none"))
    return packed.getvalue()


def _uv(*argv: str, directory: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run uv, blind to this machine's settings and to its network."""
    from uv import find_uv_bin  # noqa: PLC0415  looks for the program when it is imported

    with tempfile.TemporaryDirectory(prefix="torchbuild-uv-") as home:
        own = {"HOME": home, "UV_CACHE_DIR": f"{home}/cache", "UV_HTTP_RETRIES": "0", "LC_ALL": "C.UTF-8"}
        try:
            return subprocess.run(
                [find_uv_bin(), *argv, *_COMMON],
                cwd=directory or home,
                env={"PATH": os.defpath} | own | environ,
                capture_output=True,
                text=True,
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _unexpected(str(error)) from error


def _unexpected(seen: str) -> HostError:
    return HostError(
        "uv-not-as-expected",
        "uv does not list the interpreters that it manages",
        why=(f"seen: {seen}", "wanted: a JSON list, from the uv that torchbuild was installed with"),
        fix="Install torchbuild again: python -m pip install --force-reinstall torchbuild",
    )
