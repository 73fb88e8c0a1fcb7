"""NVIDIA's archives from end to end: a tree as they serve it, asked, locked, fetched, and merged into one toolkit."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.archive import unpack
from torchbuild.edges.download import Downloader
from torchbuild.edges.first_use import FirstUse
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import FetchError
from torchbuild.knowledge.redist import cuda_components
from torchbuild.model.part import LockedPart
from torchbuild.model.recipe import Recipe
from torchbuild.toolchains import cuda_redist, library_redist, nccl_tarball
from torchbuild.toolchains.provider import Answers, Questions

RECIPE = Recipe.model_validate(
    {
        "schema": 1,
        "name": "sample",
        "source": {"git": "https://example.org/x.git", "ref": "v1"},
        "wheel": {"version": "1.0"},
        "cuda": {"version": "12.4.1", "from": "redist"},
        "cudnn": {"version": "9.1.0.70", "from": "tarball"},
        "nccl": {"version": "2.21.5", "from": "tarball"},
    }
)
PATHS = {
    "cuda_nvcc": ("bin/nvcc", "bin/ptxas", "nvvm/bin/cicc"),
    "cuda_cudart": ("include/cuda.h", "lib/libcudart.so.12.4.127", "lib/stubs/libcuda.so"),
    "cuda_cccl": ("include/thrust/version.h",),
}
"""What some components hold; the others have a header and a library of their own name."""


def packed(top: str, paths: tuple[str, ...]) -> bytes:
    """An archive as NVIDIA packs them: one folder, a licence in it, links beside libraries."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:xz") as archive:
        for path in ("LICENSE", *paths):
            data = f"{path} of {top}\n".encode() * (5000 if "/lib" in path else 1)
            info = tarfile.TarInfo(f"{top}/{path}")
            info.size, info.mode = len(data), 0o755 if "bin/" in path else 0o644
            archive.addfile(info, io.BytesIO(data))
            if ".so." in path:
                link = tarfile.TarInfo(f"{top}/{path.partition('.so.')[0]}.so")
                link.type, link.linkname = tarfile.SYMTYPE, path.rpartition("/")[2]
                archive.addfile(link)
    return body.getvalue()


class Publisher:
    """NVIDIA, on this machine."""

    def __init__(self, server: Any) -> None:
        self.server = server
        cuda = {fact.name: self._component("cuda", fact.name) for fact in cuda_components("12.4.1")}
        self._document("cuda", "12.4.1", cuda | {"nvidia_driver": self._component("cuda", "nvidia_driver")})
        self._document("cudnn", "9.1.0", {"cudnn": self._component("cudnn", "cudnn", "cuda12", "9.1.0.70")})
        top = "nccl_2.21.5-1+cuda12.4_x86_64"
        server.files[f"/compute/redist/nccl/v2.21.5/{top}.txz"] = packed(
            top, ("include/nccl.h", "lib/libnccl.so.2.21.5")
        )

    def _component(
        self, product: str, name: str, variant: str = "", version: str = "12.4.99"
    ) -> dict[str, Any]:
        suffix = f"_{variant}" if variant else ""
        top = f"{name}-linux-x86_64-{version}{suffix}-archive"
        body = packed(top, PATHS.get(name, (f"include/{name}.h", f"lib/{name}.so.1")))
        path = f"{name}/linux-x86_64/{top}.tar.xz"
        self.server.files[f"/compute/{product}/redist/{path}"] = body
        entry = {
            "relative_path": path,
            "sha256": hashlib.sha256(body).hexdigest(),
            "md5": "not looked at",
            "size": str(len(body)),
        }
        return {"name": name, "version": version, "linux-x86_64": {variant: entry} if variant else entry}

    def _document(self, product: str, release: str, components: dict[str, Any]) -> None:
        whole = {"release_date": "2024-04-03", "release_label": release, "release_product": product}
        place = f"/compute/{product}/redist/redistrib_{release}.json"
        self.server.files[place] = json.dumps(whole | components).encode()

    def path(self, name: str) -> str:
        """Where a file of this name is."""
        return next(path for path in self.server.files if name in path.rpartition("/")[2])


class Builder:
    """The machine that locks and fetches."""

    def __init__(self, top: Path, publisher: Publisher, pauses: list[float]) -> None:
        self.top, self.publisher = top, publisher
        self.store = DirectoryStore(top / "store")
        mirrors = MirrorSettings(publishers={"nvidia": f"{publisher.server.url}/"})
        self.downloads = Downloader(self.store, top / "cache", mirrors, top, pause=pauses.append)
        self.unpinned: tuple[str, ...] = ()

    def answers(self, asked: Questions) -> Answers:
        """What the world says to a provider's questions, as `lock` asks it."""
        first = FirstUse(self.downloads)
        seen = first.files({item.locator: item.sha256 for item in asked.files}, lambda *_row: None)
        self.unpinned += seen.unpinned
        return Answers(documents=first.documents(asked.documents), files=seen.artifacts)

    def locked(self) -> tuple[LockedPart, ...]:
        """Toolkit, cuDNN and NCCL."""
        return (
            cuda_redist.part(RECIPE, self.answers(cuda_redist.questions(RECIPE))),
            library_redist.part(RECIPE, self.answers(library_redist.questions(RECIPE, "cudnn")), "cudnn"),
            nccl_tarball.part(RECIPE, self.answers(nccl_tarball.questions(RECIPE))),
        )

    def fetch(self, part: LockedPart) -> None:
        """As the stage does."""
        self.downloads.fetch([piece.artifact for piece in part.pieces], lambda *_row: None)

    def laid(self, part: LockedPart) -> Path:
        """Its pieces, unpacked and merged in their order."""
        prefix = self.top / part.name
        for number, piece in enumerate(part.pieces):
            stored = self.store.get(piece.artifact.sha256)
            assert stored is not None
            room = self.top / f"piece-{number}"
            unpack(stored, room, strip=piece.strip)
            shutil.copytree(room, prefix, symlinks=True, dirs_exist_ok=True)
        return prefix


@pytest.fixture
def publisher(web_server: Any) -> Publisher:
    """A made-up tree with real archives."""
    return Publisher(web_server)


@pytest.fixture
def builder(tmp_path: Path, publisher: Publisher, pauses: list[float]) -> Builder:
    """A machine with nothing."""
    return Builder(tmp_path, publisher, pauses)


def test_a_release_becomes_one_prefix(builder: Builder, publisher: Publisher) -> None:
    """Questions, documents, lock, fetch, merge: what is in the prefix came from the right archives alone."""
    cuda, cudnn, nccl = builder.locked()
    for part in (cuda, cudnn, nccl):
        builder.fetch(part)
    prefix = builder.laid(cuda)

    assert os.access(prefix / "bin/nvcc", os.X_OK)
    assert (prefix / "nvvm/bin/cicc").is_file()
    assert (prefix / "lib/libcudart.so").resolve() == (prefix / "lib/libcudart.so.12.4.127").resolve()
    assert {f"{name}.h" for name in ("libcublas", "libcufft", "cuda_nvrtc")} <= {
        item.name for item in (prefix / "include").iterdir()
    }
    assert not [path for path in publisher.server.paths() if "nvidia_driver" in path]
    assert (builder.laid(cudnn) / "include/cudnn.h").is_file()
    assert (builder.laid(nccl) / "lib/libnccl.so").resolve().name == "libnccl.so.2.21.5"
    assert cuda.says["nvcc"] == cuda.says["cicc"] != ""
    assert cudnn.says == {"cudnn": "9.1.0.70"}


def test_only_what_nobody_vouches_for_is_said_to_be_unpinned(builder: Builder) -> None:
    """Documents have digests; NCCL's archive has none."""
    builder.locked()

    assert [text.partition(": ")[0] for text in builder.unpinned] == [
        "nvidia:compute/redist/nccl/v2.21.5/nccl_2.21.5-1+cuda12.4_x86_64.txz"
    ]


def test_nothing_of_a_mirror_or_server_is_in_the_lock(builder: Builder, publisher: Publisher) -> None:
    """Locators are neutral: another machine resolves them as it does."""
    text = "".join(part.model_dump_json() for part in builder.locked())

    assert publisher.server.url not in text
    assert text.count("nvidia:compute/") == sum(len(part.pieces) for part in builder.locked())


def test_components_come_four_at_a_time(builder: Builder, publisher: Publisher) -> None:
    """A large library does not have the small ones wait for it."""
    cuda = builder.locked()[0]
    four = threading.Barrier(4, timeout=60)

    def together(handler: Any, body: bytes) -> None:
        four.wait()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    for piece in cuda.pieces[:4]:
        path = publisher.path(piece.artifact.name)
        body = publisher.server.files[path]
        publisher.server.replies[path] = [lambda handler, body=body: together(handler, body)]
    builder.fetch(cuda)

    assert all(builder.store.get(piece.artifact.sha256) for piece in cuda.pieces)


@pytest.mark.parametrize(
    ("body", "reference", "said"),
    [
        (lambda right: right[::-1], "digest-mismatch", "not the bytes that were locked"),
        (lambda right: right[:-1], "size-mismatch", "not as long as the file that was locked"),
        (lambda right: right + b"x", "size-mismatch", "not as long"),
        (lambda _right: None, "not-found", "not there"),
    ],
    ids=["wrong-bytes", "short-bytes", "more-bytes", "404"],
)
def test_a_bad_archive_is_named(
    builder: Builder, publisher: Publisher, body: Any, reference: str, said: str
) -> None:
    """Its address, what was seen and wanted; the other components are there, and the next run brings this one."""
    cuda = builder.locked()[0]
    path = publisher.path("libcublas")
    right = publisher.server.files[path]
    wrong = body(right)
    if wrong is None:
        del publisher.server.files[path]
    else:
        publisher.server.files[path] = wrong
    with pytest.raises(FetchError) as caught:
        builder.fetch(cuda)

    assert caught.value.reference == reference
    assert path in caught.value.what
    assert said in caught.value.what
    if reference == "digest-mismatch":
        digests = [hashlib.sha256(item).hexdigest() for item in (right, wrong)]
        assert all(digest in " ".join(caught.value.why) for digest in digests)
    there = [piece for piece in cuda.pieces if builder.store.get(piece.artifact.sha256)]
    assert len(there) == len(cuda.pieces) - 1
    publisher.server.files[path] = right
    publisher.server.asked.clear()
    builder.fetch(cuda)
    assert publisher.server.paths() == [path]


def test_a_document_that_is_a_page_is_refused(builder: Builder, publisher: Publisher) -> None:
    """Nothing is locked from what a portal says."""
    publisher.server.files["/compute/cuda/redist/redistrib_12.4.1.json"] = b"<html>log in</html>"
    with pytest.raises(FetchError) as caught:
        builder.locked()

    assert caught.value.reference == "redist-document-invalid"


FETCH = """\
import json, sys
from pathlib import Path
from torchbuild.edges.download import Downloader
from torchbuild.edges.first_use import FirstUse
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.store import DirectoryStore

top, address, locator = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
mirrors = MirrorSettings(publishers={"nvidia": address})
downloads = Downloader(DirectoryStore(top / "store"), top / "cache", mirrors, top)
FirstUse(downloads).files({locator: ""}, lambda done, total, name: print(done, flush=True))
"""


def test_a_run_that_is_killed_goes_on(builder: Builder, publisher: Publisher, tmp_path: Path) -> None:
    """SIGKILL in the middle of a first use: the next run asks for the rest alone, and the digest is the file's."""
    locator = nccl_tarball.questions(RECIPE).files[0].locator
    path = publisher.path("nccl_2.21.5")
    body = publisher.server.files[path] = publisher.server.files[path] + os.urandom(6 << 20)
    sent, over = 4 << 20, threading.Event()

    def half(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
        handler.end_headers()
        handler.wfile.write(body[:sent])
        over.wait(60)

    publisher.server.replies[path] = [half]
    command = [sys.executable, "-c", FETCH, str(tmp_path), f"{publisher.server.url}/", locator]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if int(line) >= sent:
                break
        run.send_signal(signal.SIGKILL)
    over.set()

    artifact = builder.answers(nccl_tarball.questions(RECIPE)).files[locator]
    assert run.returncode == -signal.SIGKILL
    assert artifact.sha256 == hashlib.sha256(body).hexdigest()
    assert publisher.server.asked[-1].headers["range"] == f"bytes={sent}-"
