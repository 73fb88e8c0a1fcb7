"""From the name of a ref to a commit, as the server tells it."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from torchbuild.edges.git_address import check_ref
from torchbuild.edges.locators import without_credentials
from torchbuild.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchbuild.edges.git_command import Ended

__all__ = ["resolve"]

_COMMIT = re.compile(r"[0-9a-fA-F]{40}")
_PEELED = "^{}"


def resolve(ask: Callable[..., Ended], url: str, ref: str) -> str:
    """The commit behind `ref`: annotated tags are followed to the commit they tag.

    Args:
        ask: runs ``git ls-remote OPTIONS… URL`` for the options it is given.
        url: for messages.
        ref: a tag, a branch, a whole ref name, HEAD, or a whole commit id, which is taken as it is.

    Raises:
        RecipeError: ``git-ref-refused``.
        FetchError: ``git-ref-missing``, ``git-ref-ambiguous``.
    """
    if _COMMIT.fullmatch(check_ref(ref)):
        return ref.lower()
    whole = ref == "HEAD" or ref.startswith("refs/")
    listed = _listed(ask() if whole else ask("--heads", "--tags"))
    names = [ref] if whole else [f"refs/tags/{ref}", f"refs/heads/{ref}"]
    commits = {name: listed.get(name + _PEELED, listed[name]) for name in names if name in listed}
    if not commits:
        raise _missing(url, ref, sorted(name for name in listed if not name.endswith(_PEELED)))
    if len(set(commits.values())) > 1:
        raise FetchError(
            "git-ref-ambiguous",
            f"{without_credentials(url)}: {ref} is a tag and a branch, at different commits",
            why=tuple(f"seen: {name} = {commit}" for name, commit in commits.items()),
            fix=f"Write refs/tags/{ref} or refs/heads/{ref}.",
        )
    return next(iter(commits.values()))


def _listed(ended: Ended) -> dict[str, str]:
    rows = (row.partition("\t") for row in ended.out.decode(errors="replace").splitlines())
    return {name: commit for commit, tab, name in rows if tab}


def _missing(url: str, ref: str, there: list[str]) -> FetchError:
    short = {name.removeprefix("refs/tags/").removeprefix("refs/heads/"): name for name in there}
    near = difflib.get_close_matches(ref, short, n=5, cutoff=0.6)
    fix = (
        f'Write source.ref = "{near[0]}".' if near else "Write a tag's name, or all 40 digits of a commit id."
    )
    why = [f"seen: {len(there)} branches and tags", f"near: {', '.join(near)}" if near else "near: none"]
    if re.fullmatch(r"[0-9a-f]{7,39}", ref):
        why.append("an abbreviated commit id cannot be asked of a server")
    return FetchError(
        "git-ref-missing",
        f"{without_credentials(url)}: no branch or tag is called {ref}",
        why=tuple(why),
        fix=fix,
    )
