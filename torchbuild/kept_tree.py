"""A build tree that is there already: kept while it is made with the same, else begun anew, and why."""

from __future__ import annotations

from torchbuild.context import Context
from torchbuild.model.finding import Finding, failures
from torchbuild.model.fingerprint import FINGERPRINT, Fingerprint
from torchbuild.report.events import Found
from torchbuild.resolve.orders import (
    BUILD_DIR,
    CACHE,
    GATE,
    MARK,
    cache_forgotten,
    mark_text,
    tree_begun_anew,
    tree_changes,
)

__all__ = ["forget_refused", "keep_or_remove", "mark_configured"]


def keep_or_remove(
    stage: str, fingerprint: Fingerprint, context: Context
) -> tuple[bool, tuple[Finding, ...]]:
    """Keep it where people edit and it is made with the same; else it goes, before anything looks at it.

    Returns:
        Whether it is kept, and what is to be told.
    """
    place = context.workspace.inside(BUILD_DIR)
    kept = context.trees.read(place / FINGERPRINT) if context.is_dev else None
    changes = fingerprint.changes(kept)
    if kept is not None and not changes:
        return True, ()
    context.trees.remove(place)
    return False, (_told(stage, tree_begun_anew(changes), context),) if changes else ()


def forget_refused(
    stage: str, findings: tuple[Finding, ...], context: Context, *, is_kept: bool
) -> Finding | None:
    """Remove what was refused for being an earlier one's, so that the front end makes it anew.

    Args:
        stage: whose finding it is.
        findings: what our ninja saw.
        context: the world.
        is_kept: whether CMake's cache is an earlier run's.

    Returns:
        What became of the tree; None where it is not for its age that it was refused.
    """
    changes, inside = tree_changes(findings), context.workspace.inside
    if changes:
        finding, place = tree_begun_anew(changes), BUILD_DIR
    elif is_kept and failures(findings):
        finding, place = cache_forgotten(findings), CACHE
    else:
        return None
    for path in (place, GATE):
        context.trees.remove(inside(path))
    return _told(stage, finding, context)


def mark_configured(findings: tuple[Finding, ...], context: Context) -> None:
    """Note in the tree that it is the one that was compared, where nothing of it was refused."""
    if findings and not failures(findings):
        context.trees.write(context.workspace.inside(MARK), mark_text(findings))


def _told(stage: str, finding: Finding, context: Context) -> Finding:
    context.reporter.emit(Found(stage=stage, finding=finding))
    return finding
