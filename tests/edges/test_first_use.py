"""Files whose digest nobody publishes: whole and unmixed, or not at all; and the lock says what was trusted."""

from __future__ import annotations

import hashlib
import lzma
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from torchbuild.edges.download import Downloader
from torchbuild.edges.first_use import MOST_OF_A_DOCUMENT, FirstUse, SeenFiles
from torchbuild.edges.locators import MirrorSettings
from torchbuild.edges.store import DirectoryStore
from torchbuild.errors import FetchError, RecipeError

if TYPE_CHECKING:
    from collections.abc import Callable

BODY = lzma.compress(hashlib.shake_256(b"one").digest(5_000_000), preset=0)
"""An archive of some megabytes, which do not compress."""
OTHER = lzma.compress(hashlib.shake_256(b"other").digest(5_000_000), preset=0)
CUT = 3 << 20
FILE = "nvidia:compute/x.txz"


def sha256(body: bytes) -> str:
    """Its digest."""
    return hashlib.sha256(body).hexdigest()


class Kit:
    """A machine, and a publisher of its own."""

    def __init__(self, top: Path, store: DirectoryStore, server: Any, pauses: list[float]) -> None:
        self.store, self.server, self.pauses = store, server, pauses
        self.cache, self.recipe_dir = top / "cache", top / "recipe"
        self.recipe_dir.mkdir()
        self.told: list[tuple[int, int, str]] = []

    def use(self, prefixes: dict[str, str] | None = None) -> FirstUse:
        """What asks; a new run each time."""
        mirrors = MirrorSettings(publishers={"nvidia": f"{self.server.url}/"}, prefixes=prefixes or {})
        return FirstUse(
            Downloader(self.store, self.cache, mirrors, self.recipe_dir, pause=self.pauses.append)
        )

    def files(self, **asked: str) -> SeenFiles:
        """Ask for files of the publisher."""
        return self.use().files({f"nvidia:compute/{name}": sha for name, sha in asked.items()}, self._tell)

    def get(self, locator: str = FILE, sha256: str = "") -> SeenFiles:
        """Ask for one."""
        return self.use().files({locator: sha256}, self._tell)

    def fails(self, locator: str = FILE, sha256: str = "") -> FetchError:
        """The error that asking for it ends in; nothing of it counts."""
        before = self.stored()
        with pytest.raises(FetchError) as caught:
            self.get(locator, sha256)
        assert self.stored() == before
        return caught.value

    def stored(self) -> set[str]:
        """Digests in the store, half-written files included."""
        return {path.name for path in self.store.root().rglob("*") if path.is_file()}

    def parts(self) -> list[int]:
        """Sizes of what is kept of unfinished files."""
        found = (self.cache / "partial").glob("*")
        return [path.stat().st_size for path in found if path.suffix not in {".lock", ".json"}]

    def _tell(self, *row: Any) -> None:
        self.told.append(row)


@pytest.fixture
def kit(tmp_path: Path, object_store: DirectoryStore, web_server: Any, pauses: list[float]) -> Kit:
    """An empty machine, and a publisher with one file."""
    web_server.files["/compute/x.txz"] = BODY
    return Kit(tmp_path, object_store, web_server, pauses)


def test_a_file_is_what_its_bytes_are_and_the_lock_says_so(kit: Kit) -> None:
    """Digest and size are computed, the file is in the store, and a sentence says that nobody vouched for it."""
    seen = kit.get()
    artifact = seen.artifacts[FILE]

    assert (artifact.locator, artifact.sha256, artifact.size) == (FILE, sha256(BODY), len(BODY))
    path = kit.store.get(artifact.sha256)
    assert path is not None
    assert path.read_bytes() == BODY
    assert seen.unpinned == (
        f"{FILE}: digest computed from the bytes seen on first use; the publisher names none",
    )
    assert kit.parts() == []


def test_a_digest_that_somebody_names_is_no_first_use(kit: Kit) -> None:
    """It is compared, and nothing is said to be unpinned."""
    seen = kit.get(sha256=sha256(BODY))

    assert seen.unpinned == ()
    assert seen.artifacts[FILE].size == len(BODY)


def test_a_digest_that_does_not_match_is_named_with_the_one_seen(kit: Kit) -> None:
    """Both, the address, and that the recipe is what to look at."""
    error = kit.fails(sha256=sha256(OTHER))

    assert error.reference == "digest-mismatch"
    assert sha256(OTHER) in " ".join(error.why)
    assert sha256(BODY) in " ".join(error.why)
    assert "named" in error.what
    assert "sha256 in the recipe" in error.fix


def test_what_was_seen_is_not_fetched_again_and_still_said(kit: Kit) -> None:
    """The second lock costs no request, and says the same."""
    first = kit.get()

    assert kit.get() == first
    assert len(kit.server.asked) == 1


def test_what_was_seen_is_what_it_must_be_again(kit: Kit) -> None:
    """Other bytes later, when the store was cleaned: both digests, and which record was the first use."""
    artifact = kit.get().artifacts[FILE]
    kit.store.remove(artifact.sha256)
    kit.server.files["/compute/x.txz"] = OTHER
    error = kit.fails()

    assert error.reference == "first-use-changed"
    assert {sha256(BODY) in " ".join(error.why), sha256(OTHER) in " ".join(error.why)} == {True}
    record = Path(error.why[-1].partition(": ")[2])
    record.unlink()
    assert kit.get().artifacts[FILE].sha256 == sha256(OTHER)


def test_a_killed_run_is_gone_on_with(kit: Kit) -> None:
    """Only the rest is asked for, if the file is the very same one."""
    kit.server.replies["/compute/x.txz"] = [kit.server.cut(BODY, CUT), *[kit.server.status(502)] * 9]
    assert kit.fails().reference == "not-reachable"
    assert kit.parts() == [CUT]
    kit.server.replies.clear()
    seen = kit.get()

    again = kit.server.asked[-1].headers
    assert (again["range"], again["if-range"]) == (f"bytes={CUT}-", f'"{sha256(BODY)}"')
    assert seen.artifacts[FILE].sha256 == sha256(BODY)


def test_a_whole_part_of_a_killed_run_is_not_fetched_again(kit: Kit) -> None:
    """Killed between the last byte and its place in the store: no byte comes twice."""
    kit.recipe_dir.joinpath("x").touch()
    store, kit.store = kit.store, DirectoryStore(kit.recipe_dir / "x")
    with pytest.raises(Exception, match="x"):
        kit.get()
    assert kit.parts() == [len(BODY)]
    kit.store = store

    assert kit.get().artifacts[FILE].sha256 == sha256(BODY)
    assert len(kit.server.asked) == 1


def test_a_file_that_changed_between_is_never_mixed(kit: Kit) -> None:
    """The server has another file now: it comes whole, and none of the old one is in it."""
    kit.server.replies["/compute/x.txz"] = [kit.server.cut(OTHER, CUT), *[kit.server.status(502)] * 9]
    kit.fails()
    kit.server.replies.clear()

    assert kit.get().artifacts[FILE].sha256 == sha256(BODY)


@pytest.mark.parametrize("tag", [None, '"other"', 'W/"weak"'], ids=str)
def test_a_rest_that_is_not_vouched_for_is_not_appended(kit: Kit, tag: str | None) -> None:
    """A server that ignores If-Range and answers with the rest of another version gets asked for the whole."""
    kit.server.replies["/compute/x.txz"] = [
        kit.server.cut(OTHER, CUT),
        lambda handler: _rest(handler, BODY, tag),
    ]

    assert kit.get().artifacts[FILE].sha256 == sha256(BODY)
    assert "range" not in kit.server.asked[2].headers


def _rest(handler: Any, body: bytes, tag: str | None) -> None:
    start = int(handler.headers["Range"].removeprefix("bytes=").rstrip("-"))
    handler.send_response(206)
    handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
    handler.send_header("Content-Length", str(len(body) - start))
    if tag:
        handler.send_header("ETag", tag)
    handler.end_headers()
    handler.wfile.write(body[start:])


@pytest.mark.parametrize("sha", ["", hashlib.sha256(BODY).hexdigest()], ids=["unknown", "named"])
@pytest.mark.parametrize("total", [len(BODY), "*"])
def test_a_rest_that_comes_in_pieces_is_put_together(kit: Kit, sha: str, total: int | str) -> None:
    """A server may send less than the rest at once: a piece is never taken for the end."""

    def some(handler: Any) -> None:
        start = int(handler.headers["Range"].removeprefix("bytes=").rstrip("-"))
        end = min(start + 500_000, len(BODY))
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {start}-{end - 1}/{total}")
        handler.send_header("Content-Length", str(end - start))
        handler.send_header("ETag", f'"{sha256(BODY)}"')
        handler.end_headers()
        handler.wfile.write(BODY[start:end])

    kit.server.replies["/compute/x.txz"] = [kit.server.cut(BODY, CUT), *[some] * 5]

    assert kit.get(sha256=sha).artifacts[FILE].sha256 == sha256(BODY)


@pytest.mark.parametrize("tag", ['W/"weak"', ""])
def test_without_a_strong_tag_all_begins_anew(kit: Kit, tag: str) -> None:
    """A date or a weak tag does not stand for the very bytes."""

    def half(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(OTHER)))
        handler.send_header("Last-Modified", "Mon, 06 May 2024 07:08:09 GMT")
        if tag:
            handler.send_header("ETag", tag)
        handler.end_headers()
        handler.wfile.write(OTHER[:CUT])
        handler.close_connection = True

    kit.server.replies["/compute/x.txz"] = [half]

    assert kit.get().artifacts[FILE].sha256 == sha256(BODY)
    assert "range" not in kit.server.asked[1].headers


def test_a_server_without_ranges_sends_all_again(kit: Kit) -> None:
    """Range ignored: status 200 and the whole file, which replaces the part."""
    kit.server.replies["/compute/x.txz"] = [kit.server.cut(BODY, CUT), lambda handler: _all(handler, BODY)]

    assert kit.get().artifacts[FILE].sha256 == sha256(BODY)


def _all(handler: Any, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def test_a_range_that_is_refused_is_no_trap(kit: Kit) -> None:
    """416 for a part that is too long by now: from the start."""
    kit.server.replies["/compute/x.txz"] = [kit.server.cut(BODY, CUT), kit.server.status(416)]

    assert kit.get().artifacts[FILE].sha256 == sha256(BODY)
    assert "range" not in kit.server.asked[2].headers


def test_short_bytes_are_never_a_file(kit: Kit) -> None:
    """A connection that breaks early again and again ends in an error, not in the digest of half a file."""
    kit.server.replies["/compute/x.txz"] = [kit.server.cut(BODY, 1000)] * 20
    error = kit.fails()

    assert error.reference == "not-reachable"
    assert "Run the same command again" in error.fix or "proxy" in error.fix


def test_an_end_that_may_be_a_break_is_refused(kit: Kit) -> None:
    """Without length and without chunks nobody can tell a whole file from a short one."""

    def bare(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(BODY)
        handler.close_connection = True

    kit.server.replies["/compute/x.txz"] = [bare, bare]
    error = kit.fails()

    assert error.reference == "length-unknown"
    assert "sha256" in error.fix
    assert kit.get(sha256=sha256(BODY)).artifacts[FILE].size == len(BODY)


@pytest.mark.parametrize("whole", [True, False])
def test_chunks_say_where_they_end(kit: Kit, whole: bool) -> None:
    """A body in chunks is whole when its last one came."""

    def chunked(handler: Any, *, end: bool) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(BODY), BODY))
        handler.wfile.write(b"0\r\n\r\n" if end else b"")
        handler.close_connection = not end

    kit.server.replies["/compute/x.txz"] = [
        lambda handler: chunked(handler, end=whole) for _ in range(1 if whole else 20)
    ]
    if whole:
        assert kit.get().artifacts[FILE].sha256 == sha256(BODY)
    else:
        assert kit.fails().reference == "not-reachable"


def test_a_page_is_not_trusted(kit: Kit) -> None:
    """A portal answers everything with status 200."""
    kit.server.files["/compute/x.txz"] = b"<html>accept the terms</html>"
    error = kit.fails()

    assert error.reference == "not-the-file"
    assert kit.parts() == []


def test_what_is_not_there_is_named(kit: Kit) -> None:
    """404 says what address was asked, and where to name another."""
    error = kit.fails("nvidia:compute/absent.txz")

    assert error.reference == "not-found"
    assert "/compute/absent.txz" in error.what
    assert "[machine.mirrors]" in error.fix


def test_four_come_at_once_and_the_whole_is_known(kit: Kit) -> None:
    """Several files share the line; what they are together is told once each server said its length."""
    bodies = {f"{name}.bin": bytes([number]) * 1000 for number, name in enumerate("abcdef")}
    four = threading.Barrier(4, timeout=60)

    def together(handler: Any, body: bytes) -> None:
        four.wait()
        _all(handler, body)

    for name, body in bodies.items():
        kit.server.files[f"/compute/{name}"] = body
    for name in list(bodies)[:4]:
        kit.server.replies[f"/compute/{name}"] = [lambda handler, body=bodies[name]: together(handler, body)]
    seen = kit.files(**dict.fromkeys(bodies, ""))

    assert {sha256(body) for body in bodies.values()} == {item.sha256 for item in seen.artifacts.values()}
    assert len(seen.unpinned) == 6
    assert kit.told[-1][:2] == (6000, 6000)


def test_what_came_before_another_failed_is_kept(kit: Kit) -> None:
    """The next run fetches only what is missing."""
    with pytest.raises(FetchError):
        kit.files(**{"x.txz": "", "absent.txz": ""})
    asked = kit.server.paths().count("/compute/x.txz")
    kit.server.files["/compute/absent.txz"] = OTHER
    kit.files(**{"x.txz": "", "absent.txz": ""})

    assert (asked, kit.server.paths().count("/compute/x.txz")) == (1, 1)


def test_a_mirror_comes_first_and_its_part_is_not_the_publishers(
    kit: Kit, start_server: Callable[[], Any]
) -> None:
    """A mirror that breaks off is passed over; its part is not continued from another address."""
    mirror = start_server()
    mirror.replies["/nv/compute/x.txz"] = [mirror.cut(OTHER, CUT), *[mirror.status(404)] * 9]
    seen = kit.use({"nvidia:": f"{mirror.url}/nv/"}).files({FILE: ""}, lambda *_row: None)

    assert mirror.paths() == ["/nv/compute/x.txz"] * 2
    assert seen.artifacts[FILE].sha256 == sha256(BODY)
    assert "range" not in kit.server.asked[0].headers


def test_a_proxy_is_asked_and_its_end_in_the_middle_survived(
    kit: Kit, start_server: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the proxy of the environment, resumed after it broke off."""
    proxy = start_server()
    monkeypatch.setenv("http_proxy", proxy.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    proxy.files["/compute/x.txz"] = BODY
    proxy.replies["/compute/x.txz"] = [proxy.cut(BODY, CUT)]
    kit.server.url = "http://publisher.invalid"
    seen = kit.get()

    assert seen.artifacts[FILE].sha256 == sha256(BODY)
    assert proxy.asked[1].headers["range"] == f"bytes={CUT}-"


def test_a_proxy_that_is_not_there_says_so(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the proxy settings as what to check."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    error = kit.fails()

    assert error.reference == "not-reachable"
    assert "proxy" in error.fix


def test_a_file_of_the_recipe_needs_no_network(kit: Kit) -> None:
    """An archive beside the recipe is taken as it is, and never from outside of its folder."""
    (kit.recipe_dir / "own.txz").write_bytes(OTHER)
    seen = kit.get("file:own.txz")

    assert (seen.artifacts["file:own.txz"].sha256, kit.server.asked) == (sha256(OTHER), [])
    assert seen.unpinned == ()
    with pytest.raises(RecipeError):
        kit.get("file:../cache/own.txz")


def test_a_file_of_the_recipe_may_change(kit: Kit) -> None:
    """Whoever edits the recipe's folder means it: the next lock takes the bytes of now."""
    own = kit.recipe_dir / "own.txz"
    for body in (OTHER, BODY):
        own.write_bytes(body)
        assert kit.get("file:own.txz").artifacts["file:own.txz"].sha256 == sha256(body)


def test_two_runs_share_the_work(kit: Kit) -> None:
    """Both want the same file at the same time: both have it, whole."""
    found: list[str] = []
    ready = threading.Barrier(2, timeout=60)

    def run() -> None:
        ready.wait()
        found.append(kit.get().artifacts[FILE].sha256)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert found == [sha256(BODY)] * 2


DOCUMENT = "nvidia:compute/cuda/redist/redistrib_12.4.1.json"
PATH = "/compute/cuda/redist/redistrib_12.4.1.json"


def test_a_document_is_its_text(kit: Kit) -> None:
    """Nothing of it is kept: it is asked for again each time."""
    kit.server.files[PATH] = b'{"x": "\xc3\xa4"}'

    assert kit.use().documents([DOCUMENT, DOCUMENT]) == {DOCUMENT: '{"x": "ä"}'}
    assert kit.server.paths() == [PATH]
    assert kit.stored() == set()
    assert kit.use().documents([]) == {}


def test_a_document_that_breaks_off_is_asked_for_again(kit: Kit) -> None:
    """Half of it is not a short one."""
    body = b'{"x": "' + b"y" * 200_000 + b'"}'
    kit.server.files[PATH] = body
    kit.server.replies[PATH] = [kit.server.cut(body, 100_000), kit.server.status(503)]

    assert kit.use().documents([DOCUMENT])[DOCUMENT] == body.decode()


@pytest.mark.parametrize(
    ("body", "reference"),
    [(b"\xff\xfe", "document-unreadable"), (b"x" * (MOST_OF_A_DOCUMENT + 1), "document-too-long")],
)
def test_what_is_no_document_is_refused(kit: Kit, body: bytes, reference: str) -> None:
    """Neither bytes nor a flood."""
    kit.server.files[PATH] = body
    with pytest.raises(FetchError) as caught:
        kit.use().documents([DOCUMENT])

    assert caught.value.reference == reference
    assert "[machine.mirrors]" in caught.value.fix


def test_a_missing_document_is_named(kit: Kit, start_server: Callable[[], Any]) -> None:
    """Where the mirror has none, the publisher is asked; where nobody has it, that is said."""
    mirror = start_server()
    kit.server.files[PATH] = b"{}"
    there = kit.use({"nvidia:": f"{mirror.url}/"})

    assert there.documents([DOCUMENT]) == {DOCUMENT: "{}"}
    assert mirror.paths() == [PATH]
    del kit.server.files[PATH]
    with pytest.raises(FetchError) as caught:
        there.documents([DOCUMENT])
    assert caught.value.reference == "not-found"
