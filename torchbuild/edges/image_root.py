"""A root made of stored packages: a repository of exactly these files, and mmdebstrap without a network."""

from __future__ import annotations

import hashlib
import os
import shutil
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated, write_bytes, write_text
from torchbuild.edges.oci_documents import PATH
from torchbuild.edges.process import capture, run_process
from torchbuild.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchbuild.context import Completed
    from torchbuild.model.locked_image import LockedImage

__all__ = ["make_root", "write_repository"]

_ALONE = (
    *("setpriv", "--pdeathsig", "KILL", "--"),
    *("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"),
)
"""No network. Whoever is killed, no process and no mount is left behind: the root can be removed safely."""

_LEFT_OUT = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/lintian/*",
)
"""What dpkg does not unpack: nobody reads in a builder."""

_TIDY = (
    'cd "$1"; : >etc/apt/sources.list; '
    "rm -f etc/resolv.conf etc/hostname etc/machine-id; "
    "rm -f etc/apt/sources.list.d/* etc/apt/apt.conf.d/99mmdebstrap; "
    "rm -f var/log/apt/* var/log/*.log var/cache/ldconfig/aux-cache; "
    "rm -f var/lib/dpkg/*-old var/lib/apt/extended_states"
)
"""Takes out what tells of this machine: where it got the packages, its name, its resolver, its day."""


def write_repository(folder: Path, image: LockedImage, files: Mapping[str, Path]) -> None:
    """Lay out the image's packages as a suite that apt can read, and nothing else.

    Args:
        folder: an empty directory.
        image: what the suite is called and holds.
        files: digest -> the stored file. Each is trusted to have it.

    Raises:
        HostError: ``package-unreadable``; as `torchbuild.edges.atomic.translated` says.
    """
    pool = folder / "pool"
    with translated(pool):
        pool.mkdir(parents=True)
    paragraphs = []
    for package in image.packages:
        place = pool / package.name
        _lay(files[package.sha256], place)
        size = place.stat().st_size
        own = f"Filename: pool/{package.name}\nSize: {size}\nSHA256: {package.sha256}\n"
        paragraphs.append(_control(place) + own)
    index = "\n".join(paragraphs).encode()
    listed = f"main/binary-{image.architecture}/Packages"
    write_bytes(folder / "dists" / image.suite / listed, index)
    write_text(folder / "dists" / image.suite / "Release", _release(image, listed, index))


def _lay(stored: Path, place: Path) -> None:
    """Another name of the stored file, or a copy where it lies on another file system."""
    with translated(place):
        try:
            os.link(stored, place)
        except FileExistsError:
            raise  # a copy would be written into the store's file that the name already means
        except OSError:
            shutil.copyfile(stored, place)


def _control(package: Path) -> str:
    try:
        return capture(["dpkg-deb", "--field", str(package)]).strip() + "\n"
    except HostError as error:
        raise HostError(
            "package-unreadable",
            f"{package.name}: what the package says of itself cannot be read",
            why=error.why,
            fix="Install dpkg, in a version that reads packages of that suite.",
            evidence=error.evidence,
        ) from error


def _release(image: LockedImage, listed: str, index: bytes) -> str:
    return (
        f"Suite: {image.suite}\nCodename: {image.suite}\nComponents: main\n"
        f"Architectures: {image.architecture}\nDate: {formatdate(image.epoch, usegmt=True)}\n"
        f"SHA256:\n {hashlib.sha256(index).hexdigest()} {len(index)} {listed}\n"
    )


def make_root(image: LockedImage, repository: Path, root: Path, log: Path) -> None:
    """Make a root that holds the repository's packages, as an uncompressed tar at `root`.

    What is written on the way lies in `root`'s directory. As root, mmdebstrap runs without a network.

    Raises:
        HostError: ``mmdebstrap-missing``, ``image-root-failed``; as `torchbuild.edges.process.run_process`.
    """
    names = [package.name.partition("_")[0] for package in image.packages]
    argv = [
        *(_ALONE if os.geteuid() == 0 else ()),
        "mmdebstrap",
        "--variant=apt",
        f"--architectures={image.architecture}",
        "--skip=download/empty,essential/unlink",
        *(f"--dpkgopt={option}" for option in _LEFT_OUT),
        f"--include={','.join(names)}",
        f"--customize-hook={_TIDY}",
        "--format=tar",
        image.suite,
        str(root),
        f"deb [trusted=yes] copy://{repository} {image.suite} main",
    ]
    if shutil.which("mmdebstrap", path=PATH) is None:
        raise _missing()
    environ = {
        "PATH": PATH,
        "LC_ALL": "C.UTF-8",
        "TMPDIR": str(root.parent),
        "SOURCE_DATE_EPOCH": str(image.epoch),
    }
    done = run_process(argv, environ=environ, log=log)
    if done.exit_code != 0:
        raise _failed(done)


def _missing() -> HostError:
    return HostError(
        "mmdebstrap-missing",
        "this machine has no mmdebstrap, which makes a root out of packages",
        why=f"seen: nothing of that name in {PATH}",
        fix="Run apt-get install mmdebstrap, or load what torchbuild image --out FILE wrote elsewhere.",
    )


def _failed(done: Completed) -> HostError:
    return HostError(
        "image-root-failed",
        "no root could be made of the locked packages",
        why=(f"seen: exit code {done.exit_code} from mmdebstrap", "wanted: exit code 0"),
        fix="Mend what mmdebstrap reports above: run as root, or as a user with a line in /etc/subuid.",
        evidence=done.tail[-40:],
        link=str(done.log),
    )
