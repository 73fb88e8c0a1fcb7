"""Every file arrives whole and by its digest, or the error says which, where and why, and nothing is kept as whole."""

from __future__ import annotations

import hashlib
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torchbuild.context import Network
from torchbuild.edges.disk_watch import DiskWatch
from torchbuild.edges.download import Downloader
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import FetchError, HostError, RecipeError
from torchbuild.model.artifact import Artifact

if TYPE_CHECKING:
    from collections.abc import Callable

BODY = bytes(range(256)) * 20000
"""Five megabytes: several chunks."""


def sha256(body: bytes) -> str:
    """The digest that a lock would hold."""
    return hashlib.sha256(body).hexdigest()


def quiet(_done: int, _total: int, _name: str) -> None:
    """A listener that does not care."""


class Kit:
    """A downloader with everything it needs on this machine."""

    def __init__(self, tmp_path: Path, store: DirectoryStore, pauses: list[float]) -> None:
        self.store = store
        self.cache = tmp_path / "cache"
        self.recipe_dir = tmp_path / "recipe"
        self.recipe_dir.mkdir()
        self.pauses = pauses

    def fetch(self, *artifacts: Artifact, mirrors: MirrorSettings | None = None, tell: Any = quiet) -> None:
        """Fetch as a stage does."""
        network: Network = Downloader(
            self.store, self.cache, mirrors or MirrorSettings(), self.recipe_dir, pause=self.pauses.append
        )
        network.fetch(artifacts, tell)

    def has(self, artifact: Artifact) -> bool:
        """Whether the store holds it, with the right bytes."""
        path = self.store.get(artifact.sha256)
        return path is not None and sha256(path.read_bytes()) == artifact.sha256

    def is_empty(self) -> bool:
        """Whether the store holds nothing at all, half-written or not."""
        return not [path for path in self.store.root().rglob("*") if path.is_file()]

    def parts(self) -> list[Path]:
        """What is kept of unfinished files."""
        return [path for path in (self.cache / "partial").glob("*") if path.suffix not in {".lock", ".json"}]


@pytest.fixture
def kit(tmp_path: Path, object_store: DirectoryStore, pauses: list[float]) -> Kit:
    """A downloader on an empty machine."""
    return Kit(tmp_path, object_store, pauses)


def serve(server: Any, body: bytes = BODY, path: str = "/file.bin", size: bool = True) -> Artifact:
    """Put a file on a server; what a lock would say of it."""
    server.files[path] = body
    return Artifact(locator=f"{server.url}{path}", sha256=sha256(body), size=len(body) if size else None)


def failure(kit: Kit, *artifacts: Artifact, mirrors: MirrorSettings | None = None) -> FetchError:
    """The error that fetching them ends in."""
    with pytest.raises(FetchError) as caught:
        kit.fetch(*artifacts, mirrors=mirrors)
    return caught.value


@pytest.mark.parametrize("size", [True, False], ids=["size-known", "size-unknown"])
def test_a_file_arrives(kit: Kit, web_server: Any, size: bool) -> None:
    """A file by https address lies in the store afterwards, and no part of it anywhere else."""
    artifact = serve(web_server, size=size)
    kit.fetch(artifact)
    assert kit.has(artifact)
    assert kit.parts() == []


def test_nothing_is_fetched_twice(kit: Kit, web_server: Any) -> None:
    """What the store has costs no request, and what is named twice costs one."""
    artifact = serve(web_server)
    kit.fetch(artifact, artifact)
    kit.fetch(artifact)
    assert web_server.paths() == ["/file.bin"]


def test_progress_adds_up(kit: Kit, web_server: Any) -> None:
    """Bytes done grow to the sum of all files, and the total is known from the start."""
    artifacts = [serve(web_server, BODY + bytes([n]), f"/{n}.bin") for n in range(3)]
    told: list[tuple[int, int, str]] = []
    kit.fetch(*artifacts, tell=lambda *row: told.append(row))
    total = 3 * (len(BODY) + 1)
    assert {row[1] for row in told} == {total}
    assert [row[0] for row in told] == sorted(row[0] for row in told)
    assert told[-1][0] == total
    assert {row[2] for row in told} == {"0.bin", "1.bin", "2.bin"}


def test_an_unknown_size_makes_the_total_unknown(kit: Kit, web_server: Any) -> None:
    """Where one size is not known the total is 0, not a guess."""
    told: list[int] = []
    kit.fetch(serve(web_server, size=False), tell=lambda _done, total, _name: told.append(total))
    assert set(told) == {0}


def test_four_come_at_once(kit: Kit, web_server: Any) -> None:
    """Several files share the line, and never more than four."""
    artifacts = [serve(web_server, bytes([n]) * 100, f"/{n}.bin") for n in range(9)]
    four = threading.Barrier(4, timeout=30)
    for artifact in artifacts[:4]:
        body = web_server.files[f"/{artifact.name}"]
        web_server.replies[f"/{artifact.name}"] = [
            lambda handler, body=body: (four.wait(), _send(handler, body))
        ]
    kit.fetch(*artifacts)
    assert all(kit.has(artifact) for artifact in artifacts)


def _send(handler: Any, body: bytes, *, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content_Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def test_wrong_bytes_never_count(kit: Kit, web_server: Any) -> None:
    """Other bytes of the same length end with both digests and the address; store and parts are empty."""
    artifact = serve(web_server)
    web_server.files["/file.bin"] = BODY[::-1]
    error = failure(kit, artifact)
    assert error.reference == "digest-mismatch"
    assert artifact.sha256 in " ".join(error.why)
    assert sha256(BODY[::-1]) in " ".join(error.why)
    assert "/file.bin" in error.what
    assert kit.is_empty()
    assert kit.parts() == []


def test_another_length_ends_before_the_transfer(kit: Kit, web_server: Any) -> None:
    """A file that the server says is longer or shorter is not downloaded first to be refused then."""
    artifact = serve(web_server)
    web_server.files["/file.bin"] = BODY + b"more"
    error = failure(kit, artifact)
    assert error.reference == "size-mismatch"
    assert f"{len(BODY) + 4} bytes" in " ".join(error.why)
    assert kit.parts() == []


def test_an_endless_file_is_cut(kit: Kit, web_server: Any) -> None:
    """A server that says no length and does not stop fills neither disk nor time."""
    artifact = serve(web_server, b"x" * 1000)

    def endless(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        try:
            for _ in range(1000):
                handler.wfile.write(b"y" * (1 << 20))
        except OSError:
            pass
        handler.close_connection = True

    web_server.replies["/file.bin"] = [endless]
    assert failure(kit, artifact).reference == "size-mismatch"
    assert kit.is_empty()
    assert kit.parts() == []


def test_a_broken_line_goes_on_where_it_broke(kit: Kit, web_server: Any) -> None:
    """After a connection that breaks in the middle only the rest is asked for, and only if unchanged."""
    artifact = serve(web_server)
    web_server.replies["/file.bin"] = [web_server.cut(BODY, 3 << 20)]
    kit.fetch(artifact)
    again = web_server.asked[1].headers
    assert again["range"].startswith("bytes=")
    assert again["if-range"] == f'"{artifact.sha256}"'
    assert kit.has(artifact)


def test_an_interrupted_run_goes_on(kit: Kit, web_server: Any) -> None:
    """What a failed run brought is not brought again by the next one."""
    artifact = serve(web_server)
    web_server.replies["/file.bin"] = [web_server.cut(BODY, 3 << 20), *[web_server.status(502)] * 9]
    assert failure(kit, artifact).reference == "not-reachable"
    assert kit.is_empty()
    assert [path.stat().st_size for path in kit.parts()] == [3 << 20]
    web_server.replies.clear()
    kit.fetch(artifact)
    assert web_server.asked[-1].headers["range"] == f"bytes={3 << 20}-"
    assert kit.has(artifact)


def test_a_file_that_changed_meanwhile_starts_anew(kit: Kit, web_server: Any) -> None:
    """Where the server's file is another one by now, its parts are not mixed."""
    artifact = serve(web_server)
    web_server.replies["/file.bin"] = [web_server.cut(BODY[::-1], 3 << 20)]
    kit.fetch(artifact)
    assert kit.has(artifact)


def test_a_part_of_something_else_is_dropped_once(kit: Kit, web_server: Any) -> None:
    """A part that turns out wrong is fetched again from the start before the server is blamed."""
    artifact = serve(web_server)
    part = kit.cache / "partial" / artifact.sha256
    part.parent.mkdir(parents=True)
    part.write_bytes(b"z" * 1000)
    kit.fetch(artifact)
    assert kit.has(artifact)


@pytest.mark.parametrize("length", [len(BODY), len(BODY) + 5], ids=["whole", "too-long"])
def test_a_part_as_long_as_the_file_is_no_trap(kit: Kit, web_server: Any, length: int) -> None:
    """A wrong part that needs no more bytes, or has too many, does not block the file for ever."""
    artifact = serve(web_server, size=length == len(BODY))
    part = kit.cache / "partial" / artifact.sha256
    part.parent.mkdir(parents=True)
    part.write_bytes(b"z" * length)
    kit.fetch(artifact)
    assert kit.has(artifact)


def test_a_server_that_is_busy_twice_is_asked_again(kit: Kit, web_server: Any, pauses: list[float]) -> None:
    """502 and 503 pass, after pauses that grow."""
    artifact = serve(web_server)
    web_server.replies["/file.bin"] = [web_server.status(502), web_server.status(503)]
    kit.fetch(artifact)
    assert kit.has(artifact)
    assert len(pauses) == 2


def test_a_server_may_name_the_pause(kit: Kit, web_server: Any, pauses: list[float]) -> None:
    """429 with Retry-After is obeyed, up to two minutes."""
    artifact = serve(web_server)
    web_server.replies["/file.bin"] = [
        web_server.status(429, Retry_After="7"),
        web_server.status(503, Retry_After="86400"),
    ]
    kit.fetch(artifact)
    assert pauses == [7.0, 120.0]


def test_patience_ends(kit: Kit, web_server: Any, pauses: list[float]) -> None:
    """A server that stays down is given up after five tries, with its status."""
    artifact = serve(web_server)
    web_server.replies["/file.bin"] = [web_server.status(500)] * 20
    error = failure(kit, artifact)
    assert (error.reference, len(web_server.asked)) == ("not-reachable", 5)
    assert "500" in " ".join(error.why)


@pytest.mark.parametrize(
    ("status", "reference"),
    [
        (404, "not-found"),
        (410, "not-found"),
        (401, "access-refused"),
        (403, "access-refused"),
        (418, "not-reachable"),
    ],
)
def test_refusals_are_believed_at_once(
    kit: Kit, web_server: Any, pauses: list[float], status: int, reference: str
) -> None:
    """What will not pass by itself is not tried again."""
    artifact = serve(web_server)
    web_server.replies["/file.bin"] = [web_server.status(status)] * 9
    assert failure(kit, artifact).reference == reference
    assert pauses == []
    assert len(web_server.asked) == 1


def test_nobody_there(kit: Kit) -> None:
    """A server that does not answer at all is not reachable, after some patience."""
    artifact = Artifact(locator="http://127.0.0.1:1/x.bin", sha256=sha256(b""))
    assert failure(kit, artifact).reference == "not-reachable"
    assert len(kit.pauses) == 4


def test_failures_are_told_together(kit: Kit, web_server: Any) -> None:
    """Three of four files fail for two reasons: one error names all three, and the fourth is in the store."""
    good = serve(web_server, b"good", "/good.bin")
    absent = [
        Artifact(locator=f"{web_server.url}/absent-{n}.bin", sha256=sha256(bytes([n]))) for n in range(2)
    ]
    wrong = serve(web_server, b"wrong", "/wrong.bin")
    web_server.files["/wrong.bin"] = b"gnorw"
    error = failure(kit, *absent, good, wrong)
    text = "\n".join(error.why)
    assert error.reference == "artifacts-not-fetched"
    assert error.what.startswith("3 of 4")
    assert all(name in text for name in ("absent-0.bin", "absent-1.bin", "wrong.bin", "digest-mismatch"))
    assert kit.has(good)


def test_a_full_disk_ends_everything(kit: Kit, web_server: Any) -> None:
    """A machine that cannot go on is not asked nine more times: the error is the machine's."""
    artifacts = [serve(web_server, bytes([n]), f"/{n}.bin") for n in range(3)]
    kit.cache.mkdir()
    (kit.cache / "partial").symlink_to("/dev/full/x")
    with pytest.raises(HostError):
        kit.fetch(*artifacts)


def test_ctrl_c_is_heard(kit: Kit, web_server: Any) -> None:
    """What the listener raises, such as the user's wish to stop, ends the fetch and passes through."""
    artifact = serve(web_server)

    class WishError(Exception):
        pass

    def stop(*_row: object) -> None:
        raise WishError

    with pytest.raises(WishError):
        kit.fetch(artifact, tell=stop)
    assert kit.is_empty()


def test_redirects_are_followed(kit: Kit, web_server: Any) -> None:
    """An address that leads elsewhere gives the file."""
    artifact = serve(web_server)
    web_server.replies["/old"] = [web_server.status(302, Location="/file.bin")]
    kit.fetch(artifact.model_copy(update={"locator": f"{web_server.url}/old"}))
    assert kit.has(artifact)


def test_compression_on_the_way_does_not_change_the_file(kit: Kit, web_server: Any) -> None:
    """A server that marks a .gz as compressed content still gives the bytes that have the digest."""
    artifact = serve(web_server, b"\x1f\x8b not really gzip", "/x.tar.gz")
    body = web_server.files["/x.tar.gz"]
    web_server.replies["/x.tar.gz"] = [lambda handler: _send(handler, body, Content_Encoding="gzip")]
    kit.fetch(artifact)
    assert kit.has(artifact)
    assert web_server.asked[0].headers["accept-encoding"] == "identity"


def test_mirrors_come_first_and_the_original_after(
    kit: Kit, web_server: Any, start_server: Callable[[], Any]
) -> None:
    """A mirror that has the file is used; one that lacks it is passed over."""
    mirror = start_server()
    artifact = serve(web_server)
    mirrors = MirrorSettings(prefixes={web_server.url: f"{mirror.url}/copy"})
    kit.fetch(artifact, mirrors=mirrors)
    assert (mirror.paths(), web_server.paths()) == (["/copy/file.bin"], ["/file.bin"])
    second = serve(web_server, b"second", "/second.bin")
    mirror.files["/copy/second.bin"] = b"second"
    kit.fetch(second, mirrors=mirrors)
    assert "/second.bin" not in web_server.paths()


@pytest.fixture
def dead() -> str:
    """An address that takes no connection."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_dead_mirror_costs_nothing_and_is_told_once(kit: Kit, web_server: Any, dead: str) -> None:
    """Nobody waits for it while the original is there; it is not asked again, and the user hears of it."""
    told: list[str] = []
    mirrors = MirrorSettings(prefixes={web_server.url: dead})
    network = Downloader(kit.store, kit.cache, mirrors, kit.recipe_dir, pause=kit.pauses.append)
    network.report_to(told.append)

    for number in range(3):
        artifact = serve(web_server, b"%d" % number, f"/{number}.bin")
        network.fetch([artifact], quiet)
        assert kit.has(artifact)

    assert kit.pauses == []
    assert len(told) == 1
    assert told[0].startswith(f"{dead}/0.bin: no whole answer; asking {web_server.url}/0.bin instead")
    assert told[0].endswith("is not asked again in this run")


def test_where_all_are_dead_patience_is_spent_once(kit: Kit, dead: str) -> None:
    """A host that may only be starting is waited for; its second file is not waited for as well."""
    network = Downloader(kit.store, kit.cache, MirrorSettings(), kit.recipe_dir, pause=kit.pauses.append)
    waited = []
    for name in "ab":
        with pytest.raises(FetchError) as caught:
            network.fetch([Artifact(locator=f"{dead}/{name}", sha256=sha256(name.encode()))], quiet)
        assert caught.value.reference == "not-reachable"
        waited.append(len(kit.pauses))

    assert waited == [4, 4]


def test_a_mirror_that_answers_badly_is_told_of(kit: Kit, web_server: Any, start_server: Any) -> None:
    """It is passed over where it refuses a file, and asked again for the next one."""
    mirror, told = start_server(), []
    mirror.replies["/0.bin"].append(mirror.status(403))
    network = Downloader(
        kit.store, kit.cache, MirrorSettings(prefixes={web_server.url: mirror.url}), kit.recipe_dir
    )
    network.report_to(told.append)

    network.fetch([serve(web_server, b"0", "/0.bin")], quiet)

    assert len(told) == 1
    assert "in this run" not in told[0]


def test_transfers_stand_still_while_the_disk_is_full(kit: Kit, web_server: Any) -> None:
    """And go on once somebody made room: nothing is lost, nothing is asked for twice."""
    told: list[bool] = []
    network = Downloader(kit.store, kit.cache, MirrorSettings(), kit.recipe_dir)
    network.watch = DiskWatch((kit.recipe_dir,), 1 << 60, interval_s=0.001)
    began = threading.Event()

    def tell(_text: str, is_low: bool) -> None:
        told.append(is_low)
        if is_low:
            began.set()
            network.watch._floor = 1  # type: ignore[union-attr]

    network.watch.report_to(tell)
    artifact = serve(web_server, BODY * 50)

    network.fetch([artifact], lambda *_row: began.wait(5))

    assert kit.has(artifact)
    assert told[0]


def test_who_waits_in_vain_for_space_is_told(kit: Kit, web_server: Any) -> None:
    """A job that nobody looks at ends with the reason, and not by being taken away."""
    network = Downloader(kit.store, kit.cache, MirrorSettings(), kit.recipe_dir)
    low = threading.Event()
    network.watch = DiskWatch((kit.recipe_dir,), 1 << 60, patience_s=0.01, interval_s=0.001)
    network.watch.report_to(lambda _text, _is_low: low.set())

    with pytest.raises(HostError) as caught:
        network.fetch([serve(web_server, BODY)], lambda *_row: low.wait(5))

    assert caught.value.reference == "disk-full"


def test_a_mirror_with_other_bytes_is_not_passed_over(
    kit: Kit, web_server: Any, start_server: Callable[[], Any]
) -> None:
    """A mirror that serves something else is an error, even where the original would be right."""
    mirror = start_server()
    artifact = serve(web_server)
    mirror.files["/file.bin"] = BODY[::-1]
    assert failure(
        kit, artifact, mirrors=MirrorSettings(prefixes={web_server.url: mirror.url})
    ).reference == ("digest-mismatch")
    assert kit.is_empty()


def test_a_prefix_resolves_a_kind(kit: Kit, web_server: Any) -> None:
    """A locator of a kind that only this machine's mirrors know is fetched from there."""
    web_server.files["/redist/x.txt"] = b"toolkit"
    artifact = Artifact(locator="nvidia:redist/x.txt", sha256=sha256(b"toolkit"))
    with pytest.raises(RecipeError) as caught:
        kit.fetch(artifact)
    assert caught.value.reference == "locator-unresolved"
    kit.fetch(artifact, mirrors=MirrorSettings(prefixes={"nvidia:": f"{web_server.url}/"}))
    assert kit.has(artifact)


def test_files_beside_the_recipe(kit: Kit) -> None:
    """file: is relative to the recipe and arrives like any other."""
    (kit.recipe_dir / "patches").mkdir()
    (kit.recipe_dir / "patches/a.patch").write_bytes(b"patch")
    artifact = Artifact(locator="file:patches/a.patch", sha256=sha256(b"patch"))
    kit.fetch(artifact)
    assert kit.has(artifact)


@pytest.mark.parametrize(
    "locator", ["file:../secret", "file:/etc/passwd", "file:link", "file:a/../../secret"]
)
def test_files_elsewhere_are_refused(kit: Kit, locator: str) -> None:
    """No path and no link leads out of the recipe's folder."""
    secret = kit.recipe_dir.parent / "secret"
    secret.write_bytes(b"secret")
    (kit.recipe_dir / "link").symlink_to(secret)
    with pytest.raises(RecipeError) as caught:
        kit.fetch(Artifact(locator=locator, sha256=sha256(b"secret")))
    assert caught.value.reference == "file-outside-recipe"


def test_a_missing_file_is_the_recipes(kit: Kit) -> None:
    """A file that the recipe names and that is not there is named."""
    with pytest.raises(RecipeError) as caught:
        kit.fetch(Artifact(locator="file:nothing.patch", sha256=sha256(b"")))
    assert caught.value.reference == "recipe-file-missing"


def test_credentials_come_from_netrc_and_stay_out_of_errors(
    kit: Kit, web_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's .netrc is used for its host; a password in an address is not repeated in an error."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password s3cret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    kit.fetch(serve(web_server))
    assert web_server.asked[0].headers["authorization"].startswith("Basic ")
    address = web_server.url.replace("http://", "http://me:s3cret@")
    error = failure(kit, Artifact(locator=f"{address}/absent.bin", sha256=sha256(b"")))
    assert "s3cret" not in f"{error.what} {error.why} {error.fix}"


def test_the_proxy_is_used(kit: Kit, web_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment names a proxy, it is the one that is asked."""
    monkeypatch.setenv("http_proxy", web_server.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    artifact = Artifact(locator="http://example.invalid/through.bin", sha256=sha256(b"through"))
    web_server.files["/through.bin"] = b"through"
    kit.fetch(artifact)
    assert kit.has(artifact)


def test_pypi_locators_use_the_index(kit: Kit, web_server: Any) -> None:
    """A wheel is found on the configured index, by the project's normalised name."""
    web_server.files["/simple/two-words/"] = (
        b'{"meta": {"api-version": "1.1"}, "name": "two-words", "files": ['
        b'{"filename": "two_words-1-py3-none-any.whl", "url": "../../files/w.whl", "hashes": {}}]}'
    )
    web_server.types["/simple/two-words/"] = "application/vnd.pypi.simple.v1+json"
    web_server.files["/files/w.whl"] = b"wheel"
    artifact = Artifact(
        locator="pypi:two-words/two_words-1-py3-none-any.whl", sha256=sha256(b"wheel"), size=5
    )
    kit.fetch(artifact, mirrors=MirrorSettings(index_url=f"{web_server.url}/simple"))
    assert kit.has(artifact)


def test_debian_locators_try_each_component(kit: Kit, web_server: Any) -> None:
    """A file of a Debian source is found in whichever part of the pool holds it."""
    web_server.files["/debian/pool/contrib/libx/libxyz/libxyz_1.orig.tar.xz"] = b"source"
    artifact = Artifact(locator="debian:sid/libxyz/libxyz_1.orig.tar.xz", sha256=sha256(b"source"), size=6)
    kit.fetch(artifact, mirrors=MirrorSettings(debian=f"{web_server.url}/debian"))
    assert kit.has(artifact)
    absent = artifact.model_copy(update={"locator": "debian:sid/libxyz/absent.dsc", "sha256": sha256(b"")})
    error = failure(kit, absent, mirrors=MirrorSettings(debian=f"{web_server.url}/debian"))
    assert error.reference == "not-found"
    assert "pool/main/" in error.what


def test_two_processes_share_the_work(kit: Kit, web_server: Any) -> None:
    """Two runs that want the same file at the same time fetch it once."""
    artifact = serve(web_server)
    ready = threading.Barrier(2, timeout=30)

    def run() -> None:
        ready.wait()
        kit.fetch(artifact)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert kit.has(artifact)
    assert len(web_server.asked) == 1


def test_a_cache_that_cannot_be_written_is_the_machines(kit: Kit, web_server: Any) -> None:
    """A cache directory that cannot be made is the machine's owner's business, and is said so."""
    artifact = serve(web_server)
    kit.cache.write_text("a file where the directory should be")
    with pytest.raises(HostError):
        kit.fetch(artifact)
    assert kit.is_empty()
    assert kit.cache.is_file()
