"""One build's directories on this machine, held by one process at a time.

Layout: ``BASE/RUN/{root,logs,state,lock}`` and ``BASE/RUN/about.json``. ``root`` is what a build sees at the
fixed path. ``state/STAGE.json`` says that a stage is done; it is written last, in one piece.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from torchbuild.edges import manifest as manifests
from torchbuild.edges.atomic import leftovers, remove_tree, translated, write_text
from torchbuild.edges.manifest import Manifest
from torchbuild.edges.mounts import LeadsOutError, Mounts
from torchbuild.errors import HostError, RecipeError, UsageError
from torchbuild.model.command import BUILD_ROOT, expand

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

__all__ = ["DirectoryWorkspace", "StageRecord", "about", "held", "open_workspace", "refuse_busy"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_FORMAT = 1
_NO_PARTS: Mapping[str, str] = MappingProxyType({})
_NOTHING = Manifest()


@dataclass(frozen=True, kw_only=True, slots=True)
class StageRecord:
    """That a stage is done, and what it made."""

    stage: str
    """The stage's name."""
    key: str
    """The key of the plan that was run."""
    result: dict[str, Any]
    """The stage's result, as JSON."""
    manifest: Manifest
    """What it made, relative to the workspace's root."""
    parts: dict[str, str] = field(default_factory=dict)
    """The key, piece by piece; empty where an older version recorded it."""
    also: Manifest = _NOTHING
    """What a later stage made of it, and that must be intact as well."""


class DirectoryWorkspace:
    """A workspace in one directory. `open_workspace` makes and holds it."""

    def __init__(self, path: Path, store: Path, cache: Path) -> None:
        self._path = path
        self._mounts = Mounts(root=path / "root", store=store, cache=cache)

    @property
    def run(self) -> str:
        """Its name."""
        return self._path.name

    @property
    def path(self) -> Path:
        """All of it: root, logs, state, report."""
        return self._path

    @property
    def root(self) -> Path:
        """What is mounted at the build's fixed path."""
        return self._path / "root"

    @property
    def logs(self) -> Path:
        """Complete logs, one a stage."""
        return self._path / "logs"

    @property
    def state(self) -> Path:
        """What is done."""
        return self._path / "state"

    def inside(self, path: str) -> Path:
        """Where a path of the build lies on this machine.

        Links in the directories above it are followed as the build would follow them, the last part is
        not: what is written at the answer lies in the workspace, the store or the cache. That holds for the
        answer itself, not for what the caller joins to it.

        Args:
            path: ``/torchbuild/…``, or one that begins with a placeholder such as ``{venv}/bin/python``.

        Raises:
            RecipeError: ``path-outside-build``.
            HostError: ``file-operation-failed``, ``not-writable`` (no right to look there).
        """
        exact = expand(path)
        if (not exact.startswith(f"{BUILD_ROOT}/") and exact != BUILD_ROOT) or ".." in exact.split("/"):
            _refuse_path(path, f"{exact!a} is not below {BUILD_ROOT}, or has '..'")
        try:
            return self._mounts.place(self._mounts.below(path, follow_last=False))
        except LeadsOutError as error:
            _refuse_path(path, str(error))

    def record(
        self,
        stage: str,
        key: str,
        result_json: dict[str, Any],
        manifest: Manifest,
        *,
        parts: Mapping[str, str] = _NO_PARTS,
        also: Manifest = _NOTHING,
    ) -> None:
        """Say that the stage is done. The last thing that happens in a stage.

        Args:
            stage: its name.
            key: the key of its plan.
            result_json: its result, as values that JSON has.
            manifest: what it made, relative to `root`.
            parts: the key, piece by piece.
            also: what else must be intact for it.

        Raises:
            HostError: ``disk-full``, ``not-writable``, ``file-operation-failed``.
        """
        content = {
            "format": _FORMAT,
            "stage": stage,
            "key": key,
            "parts": dict(parts),
            "result": result_json,
            "manifest": manifests.dump(manifest),
            "also": manifests.dump(also),
        }
        write_text(self._record_path(stage), json.dumps(content, sort_keys=True) + "\n")

    def recorded(self, stage: str) -> StageRecord | None:
        """What was recorded, or None where the stage is not done.

        A record that cannot be read, or that another version wrote, counts as none: the stage runs again.
        """
        try:
            content = json.loads(self._record_path(stage).read_bytes())
            if (content["format"], content["stage"]) != (_FORMAT, stage):
                return None
            key, result, parts = content["key"], content["result"], content.get("parts", {})
            if not isinstance(key, str) or not isinstance(result, dict) or not isinstance(parts, dict):
                return None
            made = manifests.load(content["manifest"])
            also = manifests.load(content.get("also", []))
            return StageRecord(stage=stage, key=key, result=result, manifest=made, parts=parts, also=also)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def forget(self, stage: str) -> None:
        """Make the stage run again. One that was never done is forgotten already.

        Raises:
            HostError: ``not-writable``, ``file-operation-failed``.
        """
        place = self._record_path(stage)
        with translated(place):
            place.unlink(missing_ok=True)

    def _record_path(self, stage: str) -> Path:
        _check_name(stage, "stage")
        return self.state / f"{stage}.json"


@contextlib.contextmanager
def open_workspace(
    base: Path, run: str, *, store: Path, cache: Path, recipe: str = ""
) -> Iterator[DirectoryWorkspace]:
    """Make the workspace where it is not there, and hold it: nobody else can open it meanwhile.

    Args:
        base: the directory of all workspaces.
        run: the workspace's name.
        store: what the build sees at ``/torchbuild/store``.
        cache: what the build sees at ``/torchbuild/cache``.
        recipe: the recipe's name, for `torchbuild store`; what was noted before stays where it is empty.

    Raises:
        HostError: ``workspace-busy``, at once; ``disk-full``, ``not-writable``, ``file-operation-failed``.
        UsageError: ``name-invalid``.
    """
    _check_name(run, "run")
    path = base / run
    workspace = DirectoryWorkspace(path, store, cache)
    with translated(path):
        path.mkdir(parents=True, exist_ok=True)
    with held(path) as is_ours:
        if not is_ours:
            refuse_busy(path)
        noted = {
            "recipe": recipe or about(path).get("recipe", ""),
            "pid": os.getpid(),
            "machine": socket.gethostname(),
        }
        write_text(path / "about.json", json.dumps(noted) + "\n")
        for directory in (workspace.root, workspace.logs, workspace.state):
            with translated(directory):
                directory.mkdir(parents=True, exist_ok=True)
        with translated(workspace.root):
            below = [entry for entry in workspace.root.iterdir() if entry.is_dir() and not entry.is_symlink()]
        for place in (path, workspace.root, workspace.state, *below):
            for left in leftovers(place):
                remove_tree(left)
        yield workspace


@contextlib.contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold the workspace at `path` for the body; False where another process does, or this one already.

    The kernel gives the lock back when its holder dies, however that happens.

    Raises:
        HostError: ``disk-full``, ``not-writable``, ``file-missing``, ``file-operation-failed``.
    """
    lock, is_ours = FileLock(path / "lock", timeout=0), True
    with translated(path / "lock"):
        try:
            lock.acquire()
        except Timeout:
            is_ours = False
    try:
        # a workspace that was removed between the opening of its lock and the holding of it is nobody's
        yield is_ours and (path / "lock").exists()
    finally:
        if is_ours:
            lock.release()


def about(path: Path) -> dict[str, Any]:
    """What `open_workspace` noted: ``recipe``, and ``pid`` and ``machine`` of the last holder."""
    try:
        noted = json.loads((path / "about.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}


def refuse_busy(path: Path) -> NoReturn:
    """Say who holds the workspace.

    Raises:
        HostError: ``workspace-busy``, always.
    """
    holder = about(path)
    pid, machine = holder.get("pid", "unknown"), holder.get("machine", "unknown")
    raise HostError(
        "workspace-busy",
        f"{path}: another build works in there",
        why=f"seen: the lock is held by process {pid} on {machine}",
        fix=f"Wait for process {pid}, or end it, then run the same command again.",
    )


def _refuse_path(path: str, seen: str) -> NoReturn:
    raise RecipeError(
        "path-outside-build",
        f"{path!a} is no place in a build",
        why=(f"seen: {seen}", f"wanted: a path below {BUILD_ROOT}, or one that begins with a placeholder"),
        fix="Name a path such as {source}/third_party/NAME, without '..'.",
    )


def _check_name(name: str, what: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(
            "name-invalid",
            f"{name[:200]!a} cannot be the name of a {what}",
            why="wanted: letters, digits and . _ + -, beginning with a letter or a digit",
            fix=f"Choose another name for the {what}.",
        )
