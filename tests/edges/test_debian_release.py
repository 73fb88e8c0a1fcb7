"""A suite's list of sources is Debian's, or the lock says that nobody answers for it."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.debian import DebianMirror
from torchbuild.edges.debian_release import check_signature, listed_digest, split_signed
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.web import Web
from torchbuild.errors import FetchError

# Made once by gpg with two keys that were thrown away: the first one's public part, the other one's, two
# signatures of RELEASE by the first, and the list that RELEASE names.
KEY = base64.b64decode(
    "mDMEaDuYABYJKwYBBAHaRw8BAQdAW4NAczHaTaCIgOEr4JdzIxeFL81RKx+w4+A0OiPp4sq0GW5vYm9keSA8bm9ib2R5QGxvY2Fs"
    "aG9zdD6IjwQTFggAOBYhBMfYsqQ09Fdh7WMz+SVRPSPy2hCgBQJoO5gAAhsDBQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJECVR"
    "PSPy2hCgnBsA/RyY3DRqYwjhX/m2sl5LDRLC8KztTKkZ+XXmHGdnKelJAPiw1cR5da0GKAtXjk6FcV3fcL3Icy+8owkQIJsLgdMD"
)
OTHER_KEY = base64.b64decode(
    "mDMEaDuYABYJKwYBBAHaRw8BAQdAg92p9cYUtUf73M2mLbAj1duBfPqnutAJL0GpRCg/IxS0F290aGVyIDxvdGhlckBsb2NhbGhv"
    "c3Q+iJAEExYIADgWIQT0dOok/rYfwNR8gS65W+Ydjt+TXgUCaDuYAAIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRC5W+Yd"
    "jt+TXludAQDheYlA9XqaHgItGQNRITteSTGEcXu+Xnt7IdNuEn63YQEAgvfMwuRYQVdqjh/phVv/H04kEkbIJ6K9A1uBex6OwA4="
)
SIGNATURE = base64.b64decode(
    "iIcEABYIAC8WIQTH2LKkNPRXYe1jM/klUT0j8toQoAUCaDuYPBEcbm9ib2R5QGxvY2FsaG9zdAAKCRAlUT0j8toQoHrUAQDSvfXS"
    "kh3RpbsiFbRnYTVeKGD2uuE5YnL+2pG007Vb1wD/dee5/2xAN67F+M5iWDU02wZ21z0vRlj+zl7fbq+7BQo="
)
SOURCES = base64.b64decode(
    "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4ADhAF1dACgYSGbb2jCF/hbwfJrZVdZ5wWLng4O4xVuhFIvdTNbmSdaxWVOfTRfNRWjc"
    "viG8EJk6Ak9P/RAwB+bcgGSNFy3jGJpttWYwJggg4EGVS7hrAeMA4ObWv8CDw9wAAAAAAAA1mdCj3y0yOwABeeIBAAAADnvQBbHE"
    "Z/sCAAAAAARZWg=="
)
RELEASE = b"""\
Origin: Nobody
Suite: unstable
Codename: sid
Date: Sun, 01 Jun 2025 00:00:00 UTC
MD5Sum:
 00000000000000000000000000000000 160 main/source/Sources.xz
SHA256:
 dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd 7 main/source/Sources.gz
 83a5d43eee9c1362fa6754761068eea776545a0ea5b6aba58cdf023f53b02350 160 main/source/Sources.xz
"""
IN_RELEASE = (
    b"-----BEGIN PGP SIGNED MESSAGE-----\nHash: %s\n\n" % b"SHA256"
    + RELEASE
    + b"""\
-----BEGIN PGP SIGNATURE-----

iIcEARYIAC8WIQTH2LKkNPRXYe1jM/klUT0j8toQoAUCaDuYPBEcbm9ib2R5QGxv
Y2FsaG9zdAAKCRAlUT0j8toQoI0mAP9JIR6viXJI3CGFBh+1Pm8PtoWF9l45v+I/
Xgbpw6+fuAEA99+kOURPKi1Vta676/vFxoz8BQ2Gb0qtkP2DXpBLMwc=
=yS/+
-----END PGP SIGNATURE-----
"""
)
DISTS = "/debian/dists/sid"

needs_gpgv = pytest.mark.skipif(shutil.which("gpgv") is None, reason="gpgv is not installed")


@pytest.fixture
def keyring(tmp_path: Path) -> Path:
    """The publisher's key, as a package of keys installs it."""
    path = tmp_path / "publisher.gpg"
    path.write_bytes(KEY)
    return path


@pytest.fixture
def mirror(tmp_path: Path, keyring: Path, web_server: Any, pauses: list[float]) -> Any:
    """A mirror of a signed suite."""
    web_server.files |= {
        f"{DISTS}/Release": RELEASE,
        f"{DISTS}/Release.gpg": SIGNATURE,
        f"{DISTS}/main/source/Sources.xz": SOURCES,
    }
    web = Web(pause=pauses.append)
    settings = MirrorSettings(debian=f"{web_server.url}/debian/")
    yield DebianMirror(web, tmp_path / "cache", settings, keyrings=(keyring,))
    web.close()


@needs_gpgv
def test_a_signed_list_is_taken_without_doubt(mirror: DebianMirror) -> None:
    """From the key on this machine to the digest of the file, nothing is only believed."""
    files = [file.locator for file in mirror.source_files("sid", "thing")]

    assert files == ["debian:sid/thing/thing_1.10.dsc", "debian:sid/thing/thing_1.10.orig.tar.xz"]
    assert mirror.doubt("sid") == ""


@needs_gpgv
def test_one_file_with_text_and_signature_will_do(mirror: DebianMirror, web_server: Any) -> None:
    """And it goes first: of two files a cache on the way may give an old one and a new one."""
    web_server.files |= {f"{DISTS}/InRelease": IN_RELEASE, f"{DISTS}/Release.gpg": b"an old one"}

    assert mirror.source_files("sid", "thing")
    assert mirror.doubt("sid") == ""


@needs_gpgv
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Nobody", b"Somebody"),
        (b"Codename: sid", b"Codename: sid\n- - x"),
        (b"SHA256:", b"SHA256:\n 00 1 x"),
    ],
)
def test_one_file_that_was_changed_on_the_way_is_refused(keyring: Path, old: bytes, new: bytes) -> None:
    """What is read is what was signed."""
    parts = split_signed(IN_RELEASE.replace(old, new))
    assert parts is not None

    with pytest.raises(FetchError):
        check_signature("sid", *parts, (keyring,))


@pytest.mark.parametrize(
    "around",
    [b"SHA256:\n" + IN_RELEASE, IN_RELEASE + b"SHA256:\n", IN_RELEASE + IN_RELEASE, RELEASE, b""],
    ids=["before", "after", "twice", "unsigned", "empty"],
)
def test_text_around_what_was_signed_is_not_read(around: bytes) -> None:
    """A file with anything else in it is no signed file."""
    assert split_signed(around) is None


@needs_gpgv
def test_a_release_that_was_changed_on_the_way_is_refused(mirror: DebianMirror, web_server: Any) -> None:
    """Whoever stands between cannot put a digest of his own into the lock."""
    web_server.files[f"{DISTS}/Release"] = RELEASE.replace(b"Nobody", b"Somebody")

    with pytest.raises(FetchError) as caught:
        mirror.source_files("sid", "thing")

    assert caught.value.reference == "debian-signature-bad"


@needs_gpgv
def test_a_list_that_was_changed_on_the_way_is_refused(mirror: DebianMirror, web_server: Any) -> None:
    """The signature covers the digests of the lists, and they are compared."""
    web_server.files[f"{DISTS}/main/source/Sources.xz"] = SOURCES[::-1]

    with pytest.raises(FetchError) as caught:
        mirror.source_files("sid", "thing")

    assert caught.value.reference == "debian-list-differs"


@needs_gpgv
def test_a_mirror_that_changes_in_between_is_asked_again(mirror: DebianMirror, web_server: Any) -> None:
    """An old copy of the list beside a new Release file is no attack."""
    web_server.files[f"{DISTS}/main/source/Sources.xz"] = SOURCES[::-1]
    with pytest.raises(FetchError):
        mirror.source_files("sid", "thing")
    web_server.files[f"{DISTS}/main/source/Sources.xz"] = SOURCES

    assert mirror.source_files("sid", "thing")


@needs_gpgv
def test_a_release_of_another_suite_is_refused(keyring: Path) -> None:
    """Its signature is good, and it is not what was asked for."""
    with pytest.raises(FetchError) as caught:
        check_signature("trixie", RELEASE, SIGNATURE, (keyring,))

    assert caught.value.reference == "debian-signature-bad"
    assert check_signature("unstable", RELEASE, SIGNATURE, (keyring,)).doubt == ""


@needs_gpgv
def test_without_a_signature_or_its_key_there_is_doubt(tmp_path: Path, keyring: Path) -> None:
    """Each with its reason, for the lock."""
    other = tmp_path / "other.gpg"
    other.write_bytes(OTHER_KEY)

    doubts = [
        check_signature("sid", RELEASE, None, (keyring,)).doubt,
        check_signature("sid", RELEASE, SIGNATURE, (tmp_path / "none.gpg",)).doubt,
        check_signature("sid", RELEASE, SIGNATURE, (other,)).doubt,
        check_signature("sid", RELEASE, SIGNATURE, (other, keyring)).doubt,
    ]

    assert doubts == [
        "the mirror has no signature of the suite",
        "this machine has no none.gpg",
        "no key on this machine made the suite's signature",
        "",
    ]


SQV = """\
#!/bin/sh
case "$*" in
*--keyring*publisher.gpg*Release.gpg*Release) ;;
*) echo "unexpected: $*" >&2; exit 2 ;;
esac
echo "{said}" >&2
exit {code}
"""
"""What sqv 1.1 says in each case, in its own words."""


@pytest.mark.parametrize(
    ("code", "said", "doubt"),
    [
        (0, "", ""),
        (
            1,
            "Missing key 00, which is needed to verify signature.",
            "no key on this machine made the suite's signature",
        ),
    ],
)
def test_sqv_will_do_as_well(
    keyring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str, doubt: str
) -> None:
    """Systems whose package manager no longer brings gpgv have it."""
    program = tmp_path / "bin" / "sqv"
    program.parent.mkdir()
    program.write_text(SQV.format(said=said, code=code), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))

    assert check_signature("sid", RELEASE, SIGNATURE, (keyring,)).doubt == doubt


def test_without_a_program_there_is_doubt(
    keyring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no error: the files can still be had."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "neither" in check_signature("sid", RELEASE, SIGNATURE, (keyring,)).doubt


def test_a_suite_without_a_release_file_is_doubted(mirror: DebianMirror, web_server: Any) -> None:
    """A folder of lists is a mirror too; that nobody signed it is said."""
    del web_server.files[f"{DISTS}/Release"]

    assert mirror.source_files("sid", "thing")
    assert mirror.doubt("sid") == "the mirror has no Release file of the suite"


def test_digests_are_read_from_the_right_table() -> None:
    """Other tables have rows of the same shape."""
    text = RELEASE.decode() + "SHA512:\n " + "e" * 64 + " 1 other/source/Sources.xz\n"

    assert listed_digest(text, "main/source/Sources.gz") == "d" * 64
    assert listed_digest(text, "other/source/Sources.xz") is None
    assert listed_digest("", "main/source/Sources.xz") is None
