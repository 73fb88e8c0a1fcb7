"""Git sources: refs to commits, commits into a cache shared by all builds, commits out as source trees."""

from __future__ import annotations

import hashlib
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.edges import git_checkout, git_refs, patches
from torchbuild.edges.atomic import remove_tree, translated
from torchbuild.edges.git_address import check_url
from torchbuild.edges.git_command import Ended, git, local_git, rewriting, unprompted_ssh
from torchbuild.edges.git_failures import failure
from torchbuild.edges.git_submodules import submodules_of
from torchbuild.edges.locators import without_credentials
from torchbuild.edges.patience import PassingError, persistently
from torchbuild.errors import FetchError, RecipeError
from torchbuild.model.lock import LockedSubmodule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["GitEdge"]

_COMMIT = re.compile(r"[0-9a-f]{40}")
_AT_ONCE = 4
_UNADVERTISED = ("unadvertised object", "does not support shallow")
_DAMAGED = ("missing blob", "missing tree", "bad object", "did not send all necessary", "unable to read ")
_NOT_OURS = ("not our ref", "couldn't find remote ref")
_EVERYTHING = ["+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*"]
# A line that is dead for a minute is an error that may pass, not a reason to wait for hours.
_STALLED = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60")


class GitEdge:
    """Git through the user's own credentials and address rewriting; satisfies `torchbuild.context.Git`."""

    def __init__(
        self,
        cache: Path,
        *,
        prefixes: Mapping[str, str] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is made or read yet.

        Args:
            cache: directory of all caches; bare repositories lie in ``git/`` below it.
            prefixes: prefix of an address -> what replaces it on this machine, as git's ``insteadOf``.
            pause: how to wait between tries, in seconds.
        """
        self._cache = cache / "git"
        self._prefixes = dict(prefixes or {})
        self._pause = pause

    def resolve_ref(self, url: str, ref: str) -> str:
        """The commit that `ref` names at `url` now; a whole commit id is taken as it is.

        Raises:
            RecipeError: ``git-url-refused``, ``git-ref-refused``.
            FetchError: ``git-ref-missing``, ``git-ref-ambiguous``, ``git-not-reachable``,
                ``git-auth-failed``, ``git-repository-missing``.
        """

        def ask(*options: str) -> Ended:
            return self._remote(url, f"look up {ref}", ["ls-remote", *options], after=[url])

        return git_refs.resolve(ask, url, ref)

    def fetch_commit(self, url: str, commit: str) -> Path:
        """A bare repository of the shared cache that holds the commit with its whole tree.

        Only that commit is transferred where the server allows it, else all branches and tags. What is there
        already is not fetched again. Safe against other processes that do the same.

        Raises:
            RecipeError: ``git-url-refused``, ``git-commit-invalid``.
            FetchError: ``git-commit-missing`` and those of `resolve_ref`.
            HostError: ``git-missing``, ``disk-full``, ``not-writable``.
        """
        from filelock import FileLock  # noqa: PLC0415

        check_url(url)
        if not _COMMIT.fullmatch(commit):
            raise RecipeError(
                "git-commit-invalid",
                f"{commit!r}: not a commit id",
                why=("wanted: 40 lower-case hexadecimal digits",),
                fix="Write the whole commit id; git rev-parse REF^{commit} prints it.",
            )
        bare = self._bare(url)
        with translated(bare):
            self._cache.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{bare}.lock"):
            if not _is_whole(bare, commit):
                self._bring_whole(bare, url, commit)
        return bare

    def _bare(self, url: str) -> Path:
        return self._cache / f"{hashlib.sha256(without_credentials(url).encode()).hexdigest()[:20]}.git"

    def _bring_whole(self, bare: Path, url: str, commit: str) -> None:
        """Fetch into the cache; into a new repository where the old one has lost objects."""
        if _has_mark(bare, commit):
            remove_tree(bare)
        _init(bare)
        _drop_leftovers(bare)
        try:
            self._bring(bare, url, commit)
        except FetchError as error:
            if not any(sign in " ".join(error.why).lower() for sign in _DAMAGED):
                raise
            remove_tree(bare)
            _init(bare)
            self._bring(bare, url, commit)

    def _bring(self, bare: Path, url: str, commit: str) -> None:
        mark = _mark(commit)
        doing = f"fetch commit {commit}"
        try:
            self._fetch(bare, url, doing, ["--depth=1"], [f"+{commit}:{mark}"])
        except FetchError as error:
            said = " ".join(error.why).lower()
            if any(sign in said for sign in _NOT_OURS):
                raise _no_commit(url, commit, error.why) from error
            if not any(sign in said for sign in _UNADVERTISED):
                raise
            self._fetch(bare, url, doing, ["--unshallow"] if (bare / "shallow").exists() else [], _EVERYTHING)
            local_git(["update-ref", mark, f"{commit}^{{commit}}"], cwd=bare)
        if not _is_whole(bare, commit):
            local_git(["update-ref", "-d", mark], cwd=bare)
            raise _no_commit(url, commit, ("seen: the server sent no such commit with a whole tree",))

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
        # The user's own insteadOf may lead to another protocol: that is then the one asked for.
        real = (
            git(["ls-remote", "--get-url", "--", url], cwd=place, environ=environ).out.decode().strip() or url
        )
        spoken = check_url(real)
        options = ["-c", "protocol.allow=never", "-c", f"protocol.{spoken}.allow=always", *_STALLED]
        if spoken == "ssh":
            environ |= unprompted_ssh(place)

        def attempt() -> Ended:
            ended = git([*options, *command, "--", *after], cwd=place, environ=environ)
            if ended.status:
                raise failure(ended.err, url, doing)
            return ended

        return persistently(attempt, self._pause)

    def locked_submodules(self, url: str, commit: str) -> tuple[LockedSubmodule, ...]:
        """All submodules of a commit, nested ones included, paths from the top, sorted; each one fetched.

        Raises:
            FetchError: as `fetch_commit` and `submodules`.
        """
        level = [LockedSubmodule(path="", url=url, commit=commit)]
        found: dict[str, LockedSubmodule] = {}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            while level:
                below = [child for children in pool.map(self._children, level) for child in children]
                found |= {child.path: child for child in below}
                level = below
        return tuple(found[path] for path in sorted(found))

    def _children(self, parent: LockedSubmodule) -> list[LockedSubmodule]:
        bare = self.fetch_commit(parent.url, parent.commit)
        prefix = f"{parent.path}/" if parent.path else ""
        children = self.submodules(bare, parent.commit, parent.url)
        return [child.model_copy(update={"path": prefix + child.path}) for child in children]

    def submodules(self, bare: Path, commit: str, url: str) -> tuple[LockedSubmodule, ...]:
        """The submodules of one commit, nested ones not included; see `git_submodules.submodules_of`."""
        return submodules_of(bare, commit, url)

    def show(self, bare: Path, commit: str, path: str) -> bytes | None:
        """The bytes of one file at a commit, symbolic links within the tree followed; None: no such file."""
        asked = f"{commit}:{path}\n".encode()
        answer = local_git(["cat-file", "--batch", "--follow-symlinks"], cwd=bare, stdin=asked)
        head, _, body = answer.out.partition(b"\n")
        fields = head.split()
        if "\n" in path or len(fields) != 3 or fields[1] != b"blob":  # noqa: PLR2004  id, kind, size
            return None
        return body[: int(fields[2])]

    def commit_time(self, bare: Path, commit: str) -> int:
        """When the commit was made, in seconds since the epoch: what SOURCE_DATE_EPOCH becomes."""
        return git_checkout.commit_time(bare, commit)

    def tree_id(self, bare: Path, commit: str) -> str:
        """The id of the commit's tree, 40 hexadecimal digits: equal trees have equal ids."""
        return git_checkout.one_line(["rev-parse", "--verify", f"{commit}^{{tree}}"], bare, commit)

    def check_out(self, bare: Path, commit: str, destination: Path, url: str) -> None:
        """A work tree with its own ``.git``, at the commit; see `git_checkout.check_out`."""
        git_checkout.check_out(bare, commit, destination, url)

    def apply_patch(self, tree: Path, patch: Path, strip: int = 1, *, fuzz: bool = False) -> None:
        """Apply all of a patch or nothing; see `patches.apply`, which also tells how loosely it was done."""
        patches.apply(tree, patch, strip=strip, fuzz=fuzz)


def _mark(commit: str) -> str:
    """The ref that keeps a commit from being collected. Git sets it only once all objects are there."""
    return f"refs/torchbuild/{commit}"


def _has_mark(bare: Path, commit: str) -> bool:
    if not (bare / "HEAD").exists():
        return False
    return local_git(["show-ref", "--verify", "--quiet", _mark(commit)], cwd=bare).status == 0


def _is_whole(bare: Path, commit: str) -> bool:
    """Whether the commit's tree is here, each file of it."""
    if not _has_mark(bare, commit):
        return False
    walk = ["rev-list", "--objects", "--no-walk", "--quiet", f"{commit}^{{commit}}"]
    return local_git(walk, cwd=bare).status == 0


def _init(bare: Path) -> None:
    """An empty bare repository that gives any commit it holds to whoever asks on this machine."""
    for arguments in (
        ["init", "--quiet", "--bare", "--template=", str(bare)],
        ["-C", str(bare), "config", "uploadpack.allowAnySHA1InWant", "true"],
        ["-C", str(bare), "config", "gc.auto", "0"],
        ["-C", str(bare), "config", "maintenance.auto", "false"],
    ):
        ended = local_git(arguments, cwd=bare.parent)
        if ended.status:
            known = failure(ended.err, str(bare), "make a repository of the cache")
            raise known.error if isinstance(known, PassingError) else known


def _drop_leftovers(bare: Path) -> None:
    """Remove what a killed git left: its locks would stop every git after it. The caller holds ours."""
    left = [*bare.glob("*.lock"), *bare.glob("refs/**/*.lock"), *bare.glob("objects/pack/tmp_*")]
    for path in left:
        with translated(path):
            path.unlink(missing_ok=True)


def _no_commit(url: str, commit: str, why: tuple[str, ...]) -> FetchError:
    place = without_credentials(url)
    return FetchError(
        "git-commit-missing",
        f"{place}: commit {commit} is not there",
        why=(*why, "wanted: a commit that a branch or tag of that repository reaches"),
        fix=f"Correct source.ref or the address; look it up: git ls-remote {place}",
    )
