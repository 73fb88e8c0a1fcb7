"""What a workspace remembers of its stages, and whether what they made is still there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from torchbuild.edges.atomic import translated
from torchbuild.edges.manifest import Entry, Manifest, differences, take
from torchbuild.edges.workspace import DirectoryWorkspace, StageRecord
from torchbuild.model.stage import StageKey, StageResult

__all__ = ["Doubt", "StageRecords"]

_NOT_WATCHED = (".git", "__pycache__")
"""Names in which tools write while they only look."""
_OF_NINJA = (".ninja_log", ".ninja_deps", ".ninja_lock")
"""What ninja notes for itself, also where it only looks; without it all is built again."""
_MOST_LINKS = 40


class Doubt(NamedTuple):
    """One reason why a stage is not taken for done."""

    kind: Literal["record", "key", "path"]
    """There is no record to believe; a part of the key changed; what it made is not as it was left."""
    what: str
    """The reason, one line."""


class StageRecords:
    """Records of one workspace; satisfies `torchbuild.context.Records`."""

    def __init__(self, workspace: DirectoryWorkspace, *, paranoid: bool = False) -> None:
        """Nothing is read yet.

        Args:
            workspace: whose stages.
            paranoid: read every file again before believing that it is intact, not only its metadata.
        """
        self._workspace = workspace
        self._paranoid = paranoid

    def reuse(self, stage: str, key: StageKey, makes: Sequence[str]) -> StageResult | None:
        """The recorded result, if the key is the same and every path is as the stage left it."""
        record = self._workspace.recorded(stage)
        if record is None or next(self._doubts(record, key, makes), None) is not None:
            return None
        return _result(record)

    def doubts(self, stage: str, key: StageKey, makes: Sequence[str]) -> tuple[Doubt, ...]:
        """Why `reuse` has nothing: what changed since the stage was recorded; empty where it has a result."""
        record = self._workspace.recorded(stage)
        if record is None:
            return (Doubt("record", "it is not recorded as done in this workspace"),)
        return tuple(self._doubts(record, key, makes))

    def _doubts(self, record: StageRecord, key: StageKey, makes: Sequence[str]) -> Iterator[Doubt]:
        if record.key != key.digest:
            yield from _changed_parts(record.parts, key.parts)
        watched = {entry.path for entry in record.manifest.entries}
        if not watched.issuperset(self._relative(makes)):
            yield Doubt("record", "another version recorded it, which watched less than the stage makes")
        for manifest in (record.manifest, record.also):
            for path, what in differences(self._workspace.root, manifest, paranoid=self._paranoid):
                yield Doubt("path", f"{path}: {what}")
        if _result(record) is None:
            yield Doubt("record", "another version recorded it, in words that this one does not know")

    def remember(self, stage: str, key: StageKey, makes: Sequence[str], result: StageResult) -> None:
        """Record the stage with what it made, each file by digest: a new time stamp alone is no change."""
        made = take(self._workspace.root, tuple(self._relative(makes)), without=_NOT_WATCHED)
        manifest = Manifest((*made.entries, *_outside(result.rests_on)))
        dumped = StageResult.model_dump(result, mode="json")
        self._workspace.record(stage, key.digest, dumped, manifest, parts=key.parts)

    def watch(self, stage: str, also: Sequence[str]) -> None:
        """Let a stage that is recorded stand for paths that a later one went on with, as they are now.

        Where one of them is damaged, the earlier stage runs again, which makes them anew.
        """
        record = self._workspace.recorded(stage)
        if record is None or not (also or record.also.entries):
            return
        names = tuple(self._relative(also))
        made = take(self._workspace.root, names, without=(*_NOT_WATCHED, *_OF_NINJA))
        self._workspace.record(
            stage, record.key, record.result, record.manifest, parts=record.parts, also=made
        )

    def forget(self, stage: str) -> None:
        """Make the stage run again."""
        self._workspace.forget(stage)

    def key(self, stage: str) -> str | None:
        """The digest of the key under which it is recorded."""
        record = self._workspace.recorded(stage)
        return record.key if record else None

    def evidence(self, stage: str) -> Mapping[str, str]:
        """What the stage measured when it was recorded; empty where it is not."""
        record = self._workspace.recorded(stage)
        result = None if record is None else _result(record)
        return {} if result is None else dict(result.evidence)

    def _relative(self, makes: Sequence[str]) -> Iterator[str]:
        for path in makes:
            yield self._workspace.inside(path).relative_to(self._workspace.root).as_posix()


def _outside(paths: Sequence[str]) -> Iterator[Entry]:
    """Files of this machine and the links that lead to them, each as it is now, by absolute path."""
    hops = {hop.lstrip("/") for path in paths for hop in _hops(path)}
    for entry in take(Path("/"), hops).entries:
        yield replace(entry, path=f"/{entry.path}")


def _hops(path: str) -> Iterator[str]:
    for _ in range(_MOST_LINKS):
        yield path
        place = Path(path)
        with translated(place):
            if not place.is_symlink():
                return
            path = os.path.normpath(place.parent / place.readlink())


def _result(record: StageRecord) -> StageResult | None:
    try:
        return StageResult.model_validate_json(json.dumps(record.result))
    except ValidationError:  # another version's words
        return None


def _changed_parts(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Doubt]:
    """Each part of the key that is another one; where none can be named, that the whole is."""
    changed = [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]
    if not then or not changed:
        yield Doubt("key", "its key changed; which part of it was not recorded")
        return
    for name in changed:
        how = "is new" if name not in then else "is gone" if name not in now else "changed"
        short = name == "revision" and how == "changed"
        yield Doubt("key", f"{name} {how}" + (f" from {then[name]} to {now[name]}" if short else ""))
