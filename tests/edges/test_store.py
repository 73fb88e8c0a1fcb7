"""What is in the store is whole, whoever writes into it at the same time and whatever goes wrong."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import FetchError, HostError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchbuild.context import Store

CONTENT = b"wheel" * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
NOBODY = 65534


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file that was downloaded."""
    path = tmp_path / "download"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    """An empty store, whose directory is not made yet."""
    return DirectoryStore(tmp_path / "store")


@pytest.fixture
def plain_user() -> Iterator[Path]:
    """A directory of a user without privileges, who the test is from here on."""
    with tempfile.TemporaryDirectory() as name:
        was = os.geteuid()
        if was == 0:
            os.chown(name, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(name)
        finally:
            os.seteuid(was)


def files(root: Path) -> list[Path]:
    """Every file below."""
    return [path for path in root.rglob("*") if path.is_file()]


def test_is_a_store(store: DirectoryStore) -> None:
    """Stages get what the contract promises."""
    contract: Store = store
    assert contract.root() == store.root()


def test_added_file_is_found_by_its_digest(store: DirectoryStore, source: Path) -> None:
    """What was added is there with its bytes, read-only, and can be had again."""
    place = store.add(source, DIGEST)
    assert place == store.get(DIGEST) == store.root() / "sha256" / DIGEST[:2] / DIGEST
    assert place.read_bytes() == CONTENT
    assert stat.S_IMODE(place.stat().st_mode) == 0o444
    assert source.read_bytes() == CONTENT


def test_unknown_digest_is_none(store: DirectoryStore) -> None:
    """What nobody added is not there, and asking makes no directory."""
    assert store.get(DIGEST) is None
    assert not store.root().exists()


def test_other_bytes_are_refused_with_both_digests(store: DirectoryStore, source: Path) -> None:
    """Bytes that are not the locked ones leave nothing and are named with what was seen and wanted."""
    with pytest.raises(FetchError) as caught:
        store.add(source, "0" * 64)
    assert caught.value.reference == "digest-mismatch"
    assert DIGEST in caught.value.why[0]
    assert "0" * 64 in caught.value.why[1]
    assert files(store.root()) == []


def test_other_bytes_are_refused_also_where_the_right_ones_are(store: DirectoryStore, source: Path) -> None:
    """A wrong file is never taken for the right one because the right one is there already."""
    store.add(source, DIGEST)
    source.write_bytes(b"other")
    with pytest.raises(FetchError) as caught:
        store.add(source, DIGEST)
    assert caught.value.reference == "digest-mismatch"
    assert store.verify(DIGEST)


def test_missing_source_is_named(store: DirectoryStore, tmp_path: Path) -> None:
    """The error names the file that is not there, not the store."""
    with pytest.raises(HostError) as caught:
        store.add(tmp_path / "none", DIGEST)
    assert caught.value.reference == "file-missing"
    assert str(tmp_path / "none") in caught.value.what


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63])
def test_what_is_no_digest_is_refused(store: DirectoryStore, source: Path, digest: str) -> None:
    """No word of a person or a file can lead out of the store."""
    for use in (store.get, store.verify, store.remove, lambda name: store.add(source, name)):
        with pytest.raises(UsageError) as caught:
            use(digest)
        assert caught.value.reference == "digest-malformed"


def test_a_link_is_not_in_the_store(store: DirectoryStore, source: Path) -> None:
    """A link that somebody laid there is no file of the store."""
    place = store.root() / "sha256" / DIGEST[:2] / DIGEST
    place.parent.mkdir(parents=True)
    place.symlink_to(source)
    assert (store.get(DIGEST), store.entries()) == (None, ())


def test_verify_sees_changed_bytes(store: DirectoryStore, source: Path) -> None:
    """A file that rotted on the disk is told from a whole one, and from none."""
    place = store.add(source, DIGEST)
    assert store.verify(DIGEST)
    place.chmod(0o644)
    place.write_bytes(CONTENT[:-1] + b"?")
    assert not store.verify(DIGEST)
    assert not store.verify("0" * 64)


def test_get_notes_the_use(store: DirectoryStore, source: Path) -> None:
    """The list can say what was not used for long, and a use does not make a file look changed."""
    place = store.add(source, DIGEST)
    os.utime(place, (1000, 2000))
    assert store.entries()[0].last_used == 1000
    store.get(DIGEST)
    assert store.entries()[0].last_used > 2000
    assert place.stat().st_mtime == 2000


def test_entries_are_files_named_by_digests(store: DirectoryStore, source: Path) -> None:
    """The list has what is in the store and nothing else that lies there."""
    place = store.add(source, DIGEST)
    (place.parent / ".torchbuild-tmp-x").touch()
    (place.parent / ("0" * 64)).touch()
    assert [(entry.sha256, entry.size) for entry in store.entries()] == [(DIGEST, len(CONTENT))]


def test_removed_file_is_gone(store: DirectoryStore, source: Path) -> None:
    """Removal tells the bytes it freed, once."""
    store.add(source, DIGEST)
    assert (store.remove(DIGEST), store.get(DIGEST), store.remove(DIGEST)) == (len(CONTENT), None, 0)


def test_read_only_store_serves_and_refuses_clearly(plain_user: Path) -> None:
    """A store that this user may only read gives its files; adding says whose turn it is."""
    source = plain_user / "download"
    source.write_bytes(CONTENT)
    other = plain_user / "other"
    other.write_bytes(b"other")
    store = DirectoryStore(plain_user / "store")
    store.add(source, DIGEST)
    shard = store.root() / "sha256"
    for path in (shard / DIGEST[:2], shard):
        path.chmod(0o555)
    assert store.get(DIGEST) is not None
    with pytest.raises(HostError) as caught:
        store.add(other, hashlib.sha256(b"other").hexdigest())
    assert caught.value.reference == "not-writable"
    assert str(store.root()) in caught.value.what


def test_file_size_limit_leaves_nothing(store: DirectoryStore, source: Path) -> None:
    """A copy that cannot be finished is not there at all."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(HostError) as caught:
            store.add(source, DIGEST)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.reference == "disk-full"
    assert files(store.root()) == []


FULL = """
import os, sys
from pathlib import Path
from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import HostError
mounted, source, digest = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
try:
    DirectoryStore(mounted).add(source, digest)
except HostError as error:
    print(error.reference, [path.name for path in mounted.rglob("*") if path.is_file()])
"""


@pytest.mark.parametrize(
    ("options", "said"), [("size=64k", "disk-full []"), ("ro", "not-writable []")], ids=["full", "read-only"]
)
def test_real_file_systems_that_refuse(tmp_path: Path, options: str, said: str) -> None:
    """On a full or read-only file system the store says which, and leaves nothing half-done."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("only root may mount a file system")
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    source = tmp_path / "large"
    source.write_bytes(bytes(1 << 20))
    digest = hashlib.sha256(bytes(1 << 20)).hexdigest()
    mount = f'mount -t tmpfs -o {options} none "$1" && exec "$2" -c "$3" "$1" "$4" "$5"'
    argv = ["unshare", "-m", "sh", "-c", mount, "sh", mounted, sys.executable, FULL, source, digest]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said


ADD = """
import sys
from pathlib import Path
from torchbuild.edges.store import DirectoryStore
sys.stdin.read()
DirectoryStore(Path(sys.argv[1])).add(Path(sys.argv[2]), sys.argv[3])
"""


def test_processes_that_add_the_same_file_agree(store: DirectoryStore, tmp_path: Path) -> None:
    """Four builds that fetch one file at once all succeed, and one whole file is there."""
    source = tmp_path / "large"
    source.write_bytes(os.urandom(1 << 20) * 8)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    argv = [sys.executable, "-c", ADD, store.root(), source, digest]
    running = [subprocess.Popen(argv, stdin=subprocess.PIPE) for _ in range(4)]
    for process in running:
        process.communicate()
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    assert store.verify(digest)
    assert len(files(store.root())) == 1


def test_killed_add_leaves_no_entry(store: DirectoryStore, source: Path) -> None:
    """A process that dies while it copies adds nothing; the next one adds the file."""
    script = "import os; os.fchmod = lambda *_: os.kill(os.getpid(), 9)" + ADD
    argv = [sys.executable, "-c", script, store.root(), source, DIGEST]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == -9
    assert (store.get(DIGEST), store.entries(), len(files(store.root()))) == (None, (), 1)
    store.add(source, DIGEST)
    assert store.verify(DIGEST)


def test_store_may_be_a_copy(store: DirectoryStore, source: Path, tmp_path: Path) -> None:
    """A store that was copied to another machine serves there."""
    store.add(source, DIGEST)
    shutil.copytree(store.root(), tmp_path / "copy")
    assert DirectoryStore(tmp_path / "copy").verify(DIGEST)


def test_a_damaged_file_counts_as_missing_where_all_is_read(tmp_path: Path) -> None:
    """And what is added in its place replaces it; the fast look believes what is there."""
    source = tmp_path / "source"
    source.write_bytes(b"whole")
    digest = hashlib.sha256(b"whole").hexdigest()
    fast, paranoid = DirectoryStore(tmp_path / "store"), DirectoryStore(tmp_path / "store", paranoid=True)
    place = fast.add(source, digest)
    assert paranoid.get(digest) == place
    place.chmod(0o644)
    place.write_bytes(b"whale")
    later = DirectoryStore(tmp_path / "store", paranoid=True)

    assert fast.get(digest) == place
    assert later.get(digest) is None
    assert later.add(source, digest) == later.get(digest) == place
    assert place.read_bytes() == b"whole"
