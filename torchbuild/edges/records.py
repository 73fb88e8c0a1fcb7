"""What a workspace remembers of its stages, and whether what they made is still there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from torchbuild.edges.manifest import intact, take
from torchbuild.edges.workspace import DirectoryWorkspace
from torchbuild.model.stage import StageResult

__all__ = ["StageRecords"]

_NOT_WATCHED = (".git", "__pycache__")
"""Names in which tools write while they only look."""


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

    def reuse(self, stage: str, key: str, makes: Sequence[str]) -> StageResult | None:
        """The recorded result, if the key is the same and every path is as the stage left it."""
        record = self._workspace.recorded(stage)
        if record is None or record.key != key:
            return None
        watched = {entry.path for entry in record.manifest.entries}
        if not watched.issuperset(self._relative(makes)):  # another version's record
            return None
        if intact(self._workspace.root, record.manifest, paranoid=self._paranoid):
            return None
        try:
            return StageResult.model_validate_json(json.dumps(record.result))
        except ValidationError:  # another version's words
            return None

    def remember(self, stage: str, key: str, makes: Sequence[str], result: StageResult) -> None:
        """Record the stage with what it made, each file by digest: a new time stamp alone is no change."""
        manifest = take(self._workspace.root, tuple(self._relative(makes)), hashed=True, without=_NOT_WATCHED)
        self._workspace.record(stage, key, StageResult.model_dump(result, mode="json"), manifest)

    def forget(self, stage: str) -> None:
        """Make the stage run again."""
        self._workspace.forget(stage)

    def key(self, stage: str) -> str | None:
        """The key under which it is recorded."""
        record = self._workspace.recorded(stage)
        return record.key if record else None

    def _relative(self, makes: Sequence[str]) -> Iterator[str]:
        for path in makes:
            yield self._workspace.inside(path).relative_to(self._workspace.root).as_posix()
