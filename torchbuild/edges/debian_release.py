"""Who answers for a suite's list of sources: its signed Release file, and the keys on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchbuild.edges.atomic import translated
from torchbuild.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KEYRINGS", "Checked", "check_signature", "listed_digest", "split_signed"]

KEYRINGS = (
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
    Path("/usr/share/keyrings/debian-archive-keyring.pgp"),
)
"""Where Debian's own keys lie, on Debian and where its package of keys is installed."""

_SIGNED = re.compile(
    rb"-----BEGIN PGP SIGNED MESSAGE-----\n(?:Hash: [^\n]+\n)*\n"
    rb"(?P<text>(?:(?!-----)[^\n]*\n)*?(?!-----)[^\n]*)\n"
    rb"(?P<signature>-----BEGIN PGP SIGNATURE-----\n(?:(?!-----)[^\n]*\n)*-----END PGP SIGNATURE-----)\n*"
)
_ROW = re.compile(r" ([0-9a-f]{64}) +[0-9]+ (\S+)")


class Checked(NamedTuple):
    """What is known of a Release file."""

    text: str
    """The file's; empty where there is none."""
    doubt: str
    """Why nobody answers for it, as part of a sentence; empty where the signature is Debian's."""


def listed_digest(release: str, path: str) -> str | None:
    """The SHA-256 that a Release file gives for one of the suite's files; None: it lists no such file."""
    _, _, rows = release.partition("\nSHA256:\n")
    for row in rows.splitlines():
        match = _ROW.fullmatch(row)
        if match is None:  # the next field
            return None
        if match[2] == path:
            return match[1]
    return None


def split_signed(signed: bytes) -> tuple[bytes, bytes] | None:
    """Text and signature of a file that holds both, such as InRelease; None where it is no such file.

    The text is what the signature is of, byte by byte: nothing else that stood around it is read.
    """
    match = _SIGNED.fullmatch(signed.replace(b"\r\n", b"\n"))
    if match is None:
        return None
    lines = [line.removeprefix(b"- ").rstrip(b" \t") for line in match["text"].split(b"\n")]
    return b"\n".join(lines), match["signature"]


def check_signature(
    suite: str, release: bytes, signature: bytes | None, keyrings: Sequence[Path] = KEYRINGS
) -> Checked:
    """Whether the Release file is the publisher's own.

    Args:
        suite: its name, which the file must have too: another suite's file has a good signature as well.
        release: the file.
        signature: its detached signature; None where the mirror has none.
        keyrings: files of public keys; those that are not there do not count.

    Raises:
        FetchError: ``debian-signature-bad``.
        HostError: ``disk-full``, ``not-writable``.
    """
    text = release.decode(errors="replace")
    keys = [path for path in keyrings if path.is_file()]
    if signature is None:
        return Checked(text, "the mirror has no signature of the suite")
    if not keys:
        return Checked(text, f"this machine has no {keyrings[0].name}")
    doubt = _doubt(suite, release, signature, keys)
    names = {
        line.partition(":")[2].strip()
        for line in text.splitlines()
        if line.startswith(("Suite:", "Codename:"))
    }
    if not doubt and suite not in names:
        raise _bad(suite, f"a Release file of {', '.join(sorted(names)) or 'no suite'}", f"one of {suite}")
    return Checked(text, doubt)


def _doubt(suite: str, release: bytes, signature: bytes, keys: list[Path]) -> str:
    """Empty where one of the keys made the signature, else why that cannot be said."""
    rings = [part for path in keys for part in ("--keyring", str(path))]
    with tempfile.TemporaryDirectory(prefix="torchbuild-release-") as folder:
        files = [Path(folder, "Release.gpg"), Path(folder, "Release")]
        with translated(files[0]):
            files[0].write_bytes(signature)
            files[1].write_bytes(release)
        names = [str(path) for path in files]
        said = _said(["gpgv", "--status-fd", "1", "--homedir", folder, *rings, *names])
        if said is not None:
            is_good, is_bad = "] GOODSIG " in said, "] BADSIG " in said
        else:
            said = _said(["sqv", *rings, *names])
            if said is None:
                return "this machine has neither gpgv nor sqv"
            is_good, is_bad = said.startswith("exit 0\n"), "manipulated" in said
    if is_bad:
        raise _bad(suite, "a signature of other bytes", "the signature of this very file")
    return "" if is_good else "no key on this machine made the suite's signature"


def _said(argv: list[str]) -> str | None:
    """Exit code and words of a program; None where it cannot be started."""
    environ = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError:
        return None
    return f"exit {done.returncode}\n{done.stdout}{done.stderr}"


def _bad(suite: str, seen: str, wanted: str) -> FetchError:
    return FetchError(
        "debian-signature-bad",
        f"{suite}: the mirror's Release file is not what Debian signed",
        why=(f"seen: {seen}", f"wanted: {wanted}"),
        fix="Use another mirror: set [machine] debian_mirror, or correct apt's configuration.",
    )
