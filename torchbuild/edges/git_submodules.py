"""The submodules of one commit: what .gitmodules says, joined with the commits that the tree itself names."""

from __future__ import annotations

import re
from pathlib import Path

from torchbuild.edges.git_address import check_url, scheme, shown_address
from torchbuild.edges.git_command import local_git
from torchbuild.edges.locators import without_credentials
from torchbuild.errors import FetchError, RecipeError
from torchbuild.model.lock import LockedSubmodule

__all__ = ["absolute_url", "declared_paths", "submodules_of"]

_GITLINK = re.compile(rb"160000 commit ([0-9a-f]{40})\t(.*)", re.DOTALL)
_KEY = re.compile(r"submodule\.(.*)\.(path|url|update)", re.DOTALL)


def submodules_of(bare: Path, commit: str, url: str) -> tuple[LockedSubmodule, ...]:
    """What `git submodule update --init` would check out at that commit, sorted by path.

    Nested ones are not included. A submodule that .gitmodules declares with ``update = none`` is left out, as
    git leaves it out.

    Args:
        bare: repository that holds the commit.
        commit: 40 hexadecimal digits.
        url: the repository's own address, against which relative ones are resolved.

    Raises:
        FetchError: ``submodule-unmapped``, ``submodule-url-refused``, ``submodule-path-refused``,
            ``git-modules-unreadable``.
    """
    links = _gitlinks(bare, commit)
    if not links:
        return ()
    declared = {entry["path"]: entry for entry in _declared(bare, commit).values() if "path" in entry}
    found = []
    for path, pinned in sorted(links.items()):
        entry = declared.get(path, {})
        if entry.get("update") == "none":
            continue
        if "url" not in entry:
            raise FetchError(
                "submodule-unmapped",
                f"{without_credentials(url)}: submodule {path} has no address at commit {commit}",
                why=("seen: a submodule in the tree", "wanted: an entry with path and url in .gitmodules"),
                fix="Choose a commit whose .gitmodules names each submodule.",
            )
        address = _checked_url(entry["url"], url, path)
        found.append(LockedSubmodule(path=_checked_path(path), url=address, commit=pinned))
    return tuple(found)


def declared_paths(content: bytes) -> tuple[str, ...]:
    """Where a .gitmodules file wants submodules, sorted; those with ``update = none`` are left out.

    Raises:
        FetchError: ``git-modules-unreadable``.
    """
    listed = local_git(["config", "--file", "-", "-z", "--list"], cwd=Path("/"), stdin=content)
    if listed.status:
        raise _unreadable("the tree", listed.err)
    entries = _entries(listed.out).values()
    return tuple(sorted(item["path"] for item in entries if "path" in item and item.get("update") != "none"))


def _gitlinks(bare: Path, commit: str) -> dict[str, str]:
    listed = local_git(["ls-tree", "-r", "-z", "--full-tree", commit], cwd=bare)
    if listed.status:
        raise _unreadable(f"commit {commit}", listed.err)
    matches = (_GITLINK.fullmatch(row) for row in listed.out.split(b"\0"))
    return {match[2].decode(errors="surrogateescape"): match[1].decode() for match in matches if match}


def _declared(bare: Path, commit: str) -> dict[str, dict[str, str]]:
    """Submodule name -> its keys; empty where the commit has no .gitmodules."""
    if local_git(["cat-file", "-e", f"{commit}:.gitmodules"], cwd=bare).status:
        return {}
    listed = local_git(["config", "--blob", f"{commit}:.gitmodules", "-z", "--list"], cwd=bare)
    if listed.status:
        raise _unreadable(f"commit {commit}", listed.err)
    return _entries(listed.out)


def _entries(listed: bytes) -> dict[str, dict[str, str]]:
    entries: dict[str, dict[str, str]] = {}
    for row in listed.decode(errors="surrogateescape").split("\0"):
        key, _, value = row.partition("\n")
        if match := _KEY.fullmatch(key):
            entries.setdefault(match[1], {})[match[2]] = value
    return entries


def _unreadable(where: str, stderr: str) -> FetchError:
    return FetchError(
        "git-modules-unreadable",
        f".gitmodules of {where} cannot be read",
        why=tuple(line for line in stderr.splitlines() if line),
        fix="Choose a commit or an archive whose .gitmodules git itself can read.",
    )


def _checked_path(path: str) -> str:
    parts = path.split("/")
    if not path.isprintable() or any(part in {"", ".", ".."} or part.lower() == ".git" for part in parts):
        raise FetchError(
            "submodule-path-refused",
            f"submodule {path!r} does not lie inside the tree",
            why=("wanted: a relative path without '..' and '.git'",),
            fix="Choose another commit: this one would write outside of its tree.",
        )
    return path


def _checked_url(declared: str, parent: str, path: str) -> str:
    address = absolute_url(declared, parent)
    try:
        kind = check_url(address)
    except RecipeError:
        kind = ""
    if not kind or (kind == "file" and scheme(parent) != "file"):
        raise FetchError(
            "submodule-url-refused",
            f"submodule {path}: git may not be given its address",
            why=(
                f"seen: {shown_address(declared)!r}",
                "wanted: https, http, ssh or git, without a query; file only below file",
            ),
            fix="Choose another commit, or mirror that repository and give its address in [machine.mirrors].",
        )
    return without_credentials(address)


def absolute_url(declared: str, parent: str) -> str:
    """The address that git makes of ``./x`` and ``../x``; any other stays as it is."""
    if not declared.startswith(("./", "../")):
        return declared
    base, rest, separator = parent.rstrip("/"), declared, "/"
    while rest.startswith(("./", "../")):
        if rest.startswith("../"):
            cut = max(base.rfind("/"), base.rfind(":"))
            if cut < 0:
                return declared
            base, separator = base[:cut], base[cut]
        rest = rest.partition("/")[2]
    return f"{base}{separator}{rest}".rstrip("/")
