"""Git sources: refs to commits, commits into a cache shared by all builds, commits out as source trees."""

from __future__ import annotations

import contextlib
import re
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from torchbuild.edges import git_cache, git_checkout, git_refs, patches
from torchbuild.edges.atomic import remove_tree, translated
from torchbuild.edges.git_address import check_url
from torchbuild.edges.git_command import Ended, Running, git, local_git, rewriting, unprompted_ssh
from torchbuild.edges.git_failures import failure
from torchbuild.edges.git_submodules import submodules_of
from torchbuild.edges.locators import without_credentials
from torchbuild.edges.patience import FRUITLESS, Halt, persistently
from torchbuild.edges.together import all_of
from torchbuild.errors import FetchError, RecipeError, StageError
from torchbuild.model.lock import LockedSubmodule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["GitEdge"]

T = TypeVar("T")

_COMMIT = re.compile(r"[0-9a-f]{40}")
_AT_ONCE = 8
_UNADVERTISED = ("unadvertised object", "does not support shallow")
_DAMAGED = ("missing blob", "missing tree", "bad object", "did not send all necessary", "unable to read ")
_NOT_OURS = ("not our ref", "couldn't find remote ref")
_BRANCHES = ["+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*"]
_EVERYTHING = ["+refs/*:refs/all/*"]
_STALLED_S = 60


class GitEdge:
    """Git through the user's own credentials and address rewriting; satisfies `torchbuild.context.Git`."""

    def __init__(
        self,
        cache: Path,
        *,
        prefixes: Mapping[str, str] | None = None,
        pause: Callable[[float], None] | None = None,
        stalled_s: int = _STALLED_S,
        tries: int = FRUITLESS,
    ) -> None:
        """Nothing is made or read yet.

        Args:
            cache: directory of all caches; bare repositories lie in ``git/`` below it.
            prefixes: prefix of an address -> what replaces it on this machine, as git's ``insteadOf``.
            pause: how to wait between tries, in seconds; None: the clock.
            stalled_s: seconds without a kilobyte a second after which a line counts as dead: that is an
                error that may pass, not a reason to wait for hours.
            tries: how often to try in a row before such an error counts.
        """
        self._cache = cache / "git"
        self._prefixes = dict(prefixes or {})
        self._halt, self._running = Halt(pause), Running()
        self._stalled_s, self._tries = stalled_s, tries

    def resolve_ref(self, url: str, ref: str) -> str:
        """What `ref` names at `url` now; a whole commit id is taken as it is.

        The commit, but for an annotated tag of a bundle: that is known once it was fetched, see `locate`.

        Raises:
            RecipeError: ``git-url-refused``, ``git-ref-refused``.
            FetchError: ``git-ref-missing``, ``git-ref-ambiguous``, ``git-not-reachable``,
                ``git-auth-failed``, ``git-repository-missing``.
        """

        def ask(*options: str) -> Ended:
            return self._remote(url, f"look up {ref}", ["ls-remote", *options], after=[url])

        return git_refs.resolve(ask, url, ref)

    def locate(self, url: str, ref: str) -> tuple[Path, str]:
        """The commit that `ref` names now, fetched: the bare repository that holds it, and its id.

        Raises:
            As `resolve_ref` and `fetch_commit`.
        """
        named = self.resolve_ref(url, ref)
        bare = self.fetch_commit(url, named)
        # a bundle does not say of a tag what it tags
        commit = git_checkout.one_line(["rev-parse", "--verify", f"{named}^{{commit}}"], bare, named)
        return (bare if commit == named else self.fetch_commit(url, commit)), commit

    def fetch_commit(self, url: str, commit: str) -> Path:
        """A bare repository of the shared cache that holds the commit with its whole tree.

        Only that commit is transferred where the server allows it, else all branches and tags. What is there
        already is not fetched again. Safe against other processes that do the same.

        Raises:
            RecipeError: ``git-url-refused``, ``git-commit-invalid``.
            FetchError: ``git-commit-missing`` and those of `resolve_ref`.
            HostError: ``git-missing``, ``disk-full``, ``not-writable``.
        """
        check_url(url)
        if not _COMMIT.fullmatch(commit):
            raise RecipeError(
                "git-commit-invalid",
                f"{commit!r}: not a commit id",
                why=("wanted: 40 lower-case hexadecimal digits",),
                fix="Write the whole commit id; git rev-parse REF^{commit} prints it.",
            )
        bare = git_cache.bare_of(self._cache, url)
        with translated(bare):
            self._cache.mkdir(parents=True, exist_ok=True)
        with self._holding(bare):
            if not git_cache.is_whole(bare, commit, self._running):
                self._bring_whole(bare, url, commit)
            git_cache.note_whole(bare, commit)
        return bare

    @contextlib.contextmanager
    def _holding(self, bare: Path) -> Iterator[None]:
        """Alone with one repository of the cache; whoever interrupts need not wait for another process."""
        from filelock import FileLock, Timeout  # noqa: PLC0415

        lock = FileLock(f"{bare}.lock")
        while not lock.is_locked:
            self._halt.check()
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=1)
        try:
            yield
        finally:
            lock.release()

    def fetch_commits(self, wanted: Sequence[tuple[str, str]], on_done: Callable[[int], None]) -> None:
        """Bring commits into the cache, several at a time; those that are there cost no request.

        All are tried; what failed is raised once, together.

        Args:
            wanted: address and commit of each.
            on_done: told the index of each that is there, in the caller's thread.

        Raises:
            FetchError: ``several-not-fetched``; for a single one as `fetch_commit`.
            RecipeError, HostError: as `fetch_commit`.
        """
        self._together([partial(self.fetch_commit, *item) for item in wanted], on_done)

    def cached(self, url: str, commit: str) -> Path | None:
        """The bare repository of the cache that holds the commit; None where it must be fetched first.

        The network is never asked. As cheap as a few looks at the file system; see `git_cache.cached`.
        """
        bare = git_cache.bare_of(self._cache, url)
        return bare if git_cache.cached(bare, commit) else None

    def _together(self, jobs: Sequence[Callable[[], T]], on_done: Callable[[int], None]) -> list[T]:
        return all_of(jobs, at_once=_AT_ONCE, several=_not_fetched, on_done=on_done, give_up=self._give_up)

    def _give_up(self) -> None:
        """End what runs and wake what waits; this edge does no more."""
        self._halt.stop()
        self._running.end()

    def _bring_whole(self, bare: Path, url: str, commit: str) -> None:
        """Fetch into the cache; into a new repository where the old one has lost objects."""
        if git_cache.has_mark(bare, commit):
            remove_tree(bare)
        git_cache.make(bare)
        git_cache.drop_leftovers(bare)
        try:
            self._bring(bare, url, commit)
        except FetchError as error:
            if not any(sign in " ".join(error.why).lower() for sign in _DAMAGED):
                raise
            remove_tree(bare)
            git_cache.make(bare)
            self._bring(bare, url, commit)

    def _bring(self, bare: Path, url: str, commit: str) -> None:
        mark = git_cache.mark(commit)
        doing = f"fetch commit {commit}"
        try:
            self._fetch(bare, url, doing, ["--depth=1"], [f"+{commit}:{mark}"])
        except FetchError as error:
            said = " ".join(error.why).lower()
            if any(sign in said for sign in _NOT_OURS):
                raise _no_commit(url, commit, error.why) from error
            if not any(sign in said for sign in _UNADVERTISED):
                raise
            self._bring_history(bare, url, commit)
        if not git_cache.is_whole(bare, commit, self._running):
            local_git(["update-ref", "-d", mark], cwd=bare)
            raise _no_commit(url, commit, ("seen: the server sent no such commit with a whole tree",))

    def _bring_history(self, bare: Path, url: str, commit: str) -> None:
        """From a server that gives no single commits: all branches and tags, then all that has a name."""
        for refspecs in (_BRANCHES, _EVERYTHING):
            whole = ["--unshallow"] if (bare / "shallow").exists() else []
            self._fetch(bare, url, f"fetch the history with {commit}", whole, refspecs)
            if not local_git(["update-ref", git_cache.mark(commit), f"{commit}^{{commit}}"], cwd=bare).status:
                return

    def _fetch(self, bare: Path, url: str, doing: str, options: list[str], refspecs: list[str]) -> None:
        quiet = ["--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--no-auto-gc"]
        self._remote(url, doing, ["fetch", *quiet, *options], after=[url, *refspecs], cwd=bare)

    def _remote(
        self, url: str, doing: str, command: list[str], *, after: list[str], cwd: Path | None = None
    ) -> Ended:
        """Run what talks to `url`, again where that can help; only the protocol asked for may be spoken."""
        check_url(url)
        place = cwd or self._cache
        with translated(place):
            place.mkdir(parents=True, exist_ok=True)
        environ = rewriting(self._prefixes)
        spoken = check_url(self._real(url, environ))
        stalled = ["-c", "http.lowSpeedLimit=1000", "-c", f"http.lowSpeedTime={self._stalled_s}"]
        options = ["-c", "protocol.allow=never", "-c", f"protocol.{spoken}.allow=always", *stalled]
        if spoken == "ssh":
            environ |= unprompted_ssh(place, self._stalled_s)

        def attempt() -> Ended:
            self._halt.check()
            ended = git([*options, *command, "--", *after], cwd=place, environ=environ, running=self._running)
            if ended.status:
                raise failure(ended.err, url, doing)
            return ended

        return persistently(attempt, self._halt.pause, tries=self._tries)

    def _real(self, url: str, environ: Mapping[str, str]) -> str:
        """Where git will go: the user's own insteadOf may lead to another protocol, which is then spoken."""
        if not self._prefixes and not self._has_rules:
            return url
        asked = git(["ls-remote", "--get-url", "--", url], cwd=self._cache, environ=environ)
        return asked.out.decode().strip() or url

    @cached_property
    def _has_rules(self) -> bool:
        rules = git(["config", "--get-regexp", r"^url\..*\.insteadof$"], cwd=self._cache)
        return rules.status == 0

    def locked_submodules(self, url: str, commit: str) -> tuple[LockedSubmodule, ...]:
        """All submodules of a commit, nested ones included, paths from the top, sorted; each is cached then.

        Raises:
            FetchError: as `fetch_commit` and `submodules_of`.
        """
        level = [LockedSubmodule(path="", url=url, commit=commit)]
        found: dict[str, LockedSubmodule] = {}
        while level:
            jobs = [partial(self._children, parent) for parent in level]
            level = [child for children in self._together(jobs, lambda _index: None) for child in children]
            found |= {child.path: child for child in level}
        return tuple(found[path] for path in sorted(found))

    def _children(self, parent: LockedSubmodule) -> list[LockedSubmodule]:
        bare = self.cached(parent.url, parent.commit) or self.fetch_commit(parent.url, parent.commit)
        prefix = f"{parent.path}/" if parent.path else ""
        children = submodules_of(bare, parent.commit, parent.url)
        return [child.model_copy(update={"path": prefix + child.path}) for child in children]

    def commit_time(self, bare: Path, commit: str) -> int:
        """When the commit was made, in seconds since the epoch: what SOURCE_DATE_EPOCH becomes."""
        return git_checkout.commit_time(bare, commit)

    def check_out(self, bare: Path, commit: str, destination: Path, url: str) -> None:
        """A work tree with its own ``.git``, at the commit; see `git_checkout.check_out`."""
        git_checkout.check_out(bare, commit, destination, url, self._running)

    def check_out_all(
        self, wanted: Sequence[tuple[Path, str, Path, str]], on_done: Callable[[int], None]
    ) -> None:
        """Several work trees, none of them inside another one; each as `check_out`.

        Args:
            wanted: the arguments of `check_out` for each.
            on_done: told the index of each that is laid, in the caller's thread.

        Raises:
            StageError: ``several-not-laid``; for a single one as `check_out`.
            HostError: as `check_out`, at once: what the others do is ended.
        """
        all_of(
            [partial(self.check_out, *item) for item in wanted],
            at_once=_AT_ONCE,
            several=_not_laid,
            on_done=on_done,
            give_up=self._give_up,
        )

    def apply_patch(self, tree: Path, patch: Path) -> None:
        """Apply all of a patch or nothing; see `patches.apply`."""
        patches.apply(tree, patch)


def _not_fetched(count: str, why: tuple[str, ...], fix: str) -> FetchError:
    return FetchError("several-not-fetched", f"{count} repositories could not be fetched", why=why, fix=fix)


def _not_laid(count: str, why: tuple[str, ...], fix: str) -> StageError:
    return StageError("several-not-laid", f"{count} work trees could not be laid", why=why, fix=fix)


def _no_commit(url: str, commit: str, why: tuple[str, ...]) -> FetchError:
    place = without_credentials(url)
    return FetchError(
        "git-commit-missing",
        f"{place}: commit {commit} is not there",
        why=(*why, "wanted: a commit that a branch or tag of that repository reaches"),
        fix=f"Correct source.ref or the address; look it up: git ls-remote {place}",
    )
