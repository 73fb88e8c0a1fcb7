#!/usr/bin/env python3
"""Make the builder image from Debian's packages alone; print its id.

No registry is asked: a root is made with mmdebstrap (or debootstrap), packed as an image and loaded into
the engine. The image's id is the digest of its configuration, which names the digest of the root, so the
same packages give the same id on every machine. A second call with the same inputs finds the image and
does nothing. Stand-alone, standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent

REVISION = 1
"""Raise it when this script makes another root from the same packages: old images are then not found."""

EPOCH = 1754697600
"""2025-08-09, the day trixie was released. Files that the installation makes get this time. Files of
packages keep their own: a compiler's time is part of the compiler cache's key."""

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
VARIABLES = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

LEFT_OUT = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/lintian/*",
)
"""What dpkg does not unpack: nobody reads in a builder."""

TIDY = (
    'cd "$1"; : >etc/apt/sources.list; '
    "rm -f etc/resolv.conf etc/hostname etc/machine-id etc/apt/sources.list.d/*; "
    "rm -f var/log/apt/* var/log/*.log var/lib/dpkg/*-old var/cache/ldconfig/aux-cache"
)
"""Takes the machine's own traces out: its mirror, its name, its resolver, the time of the installation."""

IN_CHROOT = """
mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"
export DEBIAN_FRONTEND=noninteractive
chroot "$1" apt-get -q update
root=$1; shift; archives=$1; shift
mkdir -p "$root/var/cache/apt/archives"; mount --bind "$archives" "$root/var/cache/apt/archives"
chroot "$root" apt-get -q -y --no-install-recommends install "$@"
"""


class Stop(Exception):  # noqa: N818  it ends the script with a message
    """What went wrong, and what to do about it."""


def main() -> int:
    """Find or make the image; print its id on stdout and everything else on stderr."""
    options = parse()
    try:
        with one_at_a_time(options.cache):
            print(ensure_image(options))
    except (Stop, OSError) as error:
        print(f"make_image: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(
            f"make_image: exit code {error.returncode} from: {' '.join(map(str, error.cmd))[:400]}",
            file=sys.stderr,
        )
        return 1
    return 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torchbuild" / "image"
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--engine", default="podman", help="podman or docker (default: %(default)s)")
    parser.add_argument(
        "--name", default=f"localhost/torchbuild/{HERE.name}", help="the image's name (default: %(default)s)"
    )
    parser.add_argument("--suite", default="trixie", help="Debian suite (default: %(default)s)")
    parser.add_argument("--mirror", help="Debian mirror (default: the first one this machine's apt uses)")
    parser.add_argument(
        "--packages",
        type=Path,
        default=HERE / "packages.txt",
        help="one package a line (default: %(default)s)",
    )
    parser.add_argument(
        "--cache", type=Path, default=cache, help="keeps downloaded packages (default: %(default)s)"
    )
    return parser.parse_args()


def ensure_image(options: argparse.Namespace) -> str:
    """The id of the image with these inputs, made where the engine has none."""
    packages = read_packages(options.packages)
    inputs = digest_of_inputs(options.suite, packages)
    marked = f"{options.name}:inputs-{inputs[:16]}"
    image = find_image(options.engine, marked)
    if image:
        say(f"{marked} is there already")
        run([options.engine, "tag", image, f"{options.name}:latest"])
        return image
    with tempfile.TemporaryDirectory(dir=options.cache, prefix="making-") as place:
        root = Path(place, "root.tar")
        make_root(options, packages, root)
        load_image(options.engine, root, marked, inputs)
    run([options.engine, "tag", marked, f"{options.name}:latest"])
    return find_image(options.engine, marked)


@contextlib.contextmanager
def one_at_a_time(cache: Path) -> Iterator[None]:
    """Two calls at once would share downloads; the second waits, and finds what the first made."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_packages(path: Path) -> list[str]:
    """The names in a package list; ``#`` begins a comment."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return sorted({line for line in lines if line})


def digest_of_inputs(suite: str, packages: list[str]) -> str:
    """What the image is made of, as one value."""
    inputs = [REVISION, EPOCH, architecture(), suite, packages, LEFT_OUT]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def architecture() -> str:
    """Debian's name of this machine's architecture."""
    return ARCHITECTURES.get(platform.machine(), platform.machine())


def find_image(engine: str, name: str) -> str:
    """The id of an image, 64 hexadecimal digits, or empty."""
    if not shutil.which(engine):
        raise Stop(f"no {engine} on PATH: install it (apt-get install {engine}), or pass --engine")
    query = [engine, "image", "inspect", "--format", "{{.Id}}", name]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    return found.stdout.strip().removeprefix("sha256:") if found.returncode == 0 else ""


# --- the root -----------------------------------------------------------------------------------------


def make_root(options: argparse.Namespace, packages: list[str], root: Path) -> None:
    """Write the root as an uncompressed tar."""
    mirror = options.mirror or own_mirror()
    archives = options.cache / f"{options.suite}-{architecture()}"
    archives.mkdir(parents=True, exist_ok=True)
    say(f"making a {options.suite} root with {len(packages)} packages from {mirror}")
    if shutil.which("mmdebstrap"):
        with_mmdebstrap(options.suite, mirror, packages, archives, root)
    elif shutil.which("debootstrap"):
        with_debootstrap(options.suite, mirror, packages, archives, root)
    else:
        raise Stop("neither mmdebstrap nor debootstrap on PATH: apt-get install mmdebstrap")


def own_mirror() -> str:
    """The first Debian mirror of this machine's own apt configuration."""
    listing = ""
    if shutil.which("apt-get"):
        query = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)", "Created-By: Packages"]
        listing = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    pairs = [line.partition(" ")[::2] for line in listing.splitlines()]
    for uri, origin in pairs:
        # The origin is known only where `apt-get update` has run; the path is a mirror's by convention.
        if uri.rstrip("/").endswith("/debian") and origin in {"Debian", ""}:
            return uri
    raise Stop("this machine's apt knows no Debian mirror: pass --mirror URL")


def with_mmdebstrap(suite: str, mirror: str, packages: list[str], archives: Path, root: Path) -> None:
    """Make the root so that the same packages give the same bytes."""
    keep = "/var/cache/apt/archives"
    run(
        [
            "mmdebstrap",
            "--variant=minbase",
            "--components=main",
            "--skip=download/empty,essential/unlink",
            *(f"--dpkgopt={option}" for option in LEFT_OUT),
            *([f"--include={','.join(packages)}"] if packages else []),
            f'--setup-hook=mkdir -p "$1{keep}"',
            f"--setup-hook=sync-in '{archives}' {keep}",
            f"--customize-hook=sync-out {keep} '{archives}'",
            f"--customize-hook={TIDY}",
            "--format=tar",
            suite,
            str(root),
            mirror,
        ],
        SOURCE_DATE_EPOCH=str(EPOCH),
    )


def with_debootstrap(suite: str, mirror: str, packages: list[str], archives: Path, root: Path) -> None:
    """Make the root where there is no mmdebstrap: as root, and not the same bytes every time."""
    tree = root.with_suffix("")
    run(["debootstrap", "--variant=minbase", f"--cache-dir={archives.resolve()}", suite, str(tree), mirror])
    rules = "".join(f"{option}\n" for option in LEFT_OUT)
    (tree / "etc/dpkg/dpkg.cfg.d/99builder").write_text(rules)
    shutil.copyfile("/etc/resolv.conf", tree / "etc/resolv.conf")
    run(["unshare", "--mount", "sh", "-ec", IN_CHROOT, "sh", str(tree), str(archives.resolve()), *packages])
    run(["chroot", str(tree), "sh", "-c", "rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin"])
    run(["sh", "-ec", TIDY, "sh", str(tree)])
    pack = ["tar", "--sort=name", "--numeric-owner", "--clamp-mtime", f"--mtime=@{EPOCH}", "-C", str(tree)]
    run([*pack, "-cf", str(root), "."])
    shutil.rmtree(tree)


# --- the image ----------------------------------------------------------------------------------------


def load_image(engine: str, root: Path, name: str, inputs: str) -> None:
    """Hand the engine an archive with one layer; what is written is what the id names."""
    say(f"loading {name} into {engine}")
    with root.open("rb") as layer:
        digest = hashlib.file_digest(layer, "sha256").hexdigest()
    config = json.dumps(image_config(digest, inputs), sort_keys=True).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    layer_name = f"{digest}/layer.tar"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [layer_name]}]
    load = subprocess.Popen([engine, "load"], stdin=subprocess.PIPE, stdout=sys.stderr)
    # An engine that stops early breaks the pipe; its own message and exit code say why.
    with load, contextlib.suppress(BrokenPipeError), tar_stream(load.stdin) as archive:
        add_bytes(archive, config_name, config)
        archive.add(root, layer_name)
        add_bytes(archive, "manifest.json", json.dumps(manifest).encode())
    if load.returncode != 0:
        raise Stop(f"{engine} load ended with exit code {load.returncode}: see its message above")


def image_config(layer: str, inputs: str) -> dict[str, object]:
    """The configuration whose digest is the image's id; nothing in it depends on the machine or the day."""
    return {
        "architecture": architecture(),
        "os": "linux",
        "created": "2025-08-09T00:00:00Z",
        "config": {
            "Cmd": ["/bin/bash"],
            "Env": [f"{name}={value}" for name, value in VARIABLES.items()],
            "Labels": {"torchbuild.inputs": inputs},
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
        "history": [{"created": "2025-08-09T00:00:00Z", "created_by": "make_image.py"}],
    }


def tar_stream(target: IO[bytes] | None) -> tarfile.TarFile:
    """A tar that is written from front to back."""
    return tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT)


def add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a file that exists only here."""
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def run(argv: list[str], **variables: str) -> None:
    """Run a program with its output on stderr; CalledProcessError where it fails."""
    subprocess.run(
        argv, check=True, stdout=sys.stderr, stdin=subprocess.DEVNULL, env={**os.environ, **variables}
    )


def say(text: str) -> None:
    """Tell what happens."""
    print(f"make_image: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
