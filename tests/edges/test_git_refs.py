"""A name becomes the commit that the server means by it, or the error says what there is."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.errors import FetchError

ABSENT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("ref", ["v1.0", "v1.1", "release/1.1", "refs/tags/v1.1", "refs/heads/release/1.1"])
def test_names_become_commits(edge: GitEdge, upstream: Any, ref: str) -> None:
    """A tag, an annotated tag, a branch and a whole ref name all give the commit, never a tag object."""
    assert edge.resolve_ref(str(upstream.path), ref) == upstream.git("rev-parse", "v1.0^{commit}")


def test_head_is_a_name(edge: GitEdge, upstream: Any) -> None:
    """HEAD is what upstream has checked out."""
    assert edge.resolve_ref(str(upstream.path), "HEAD") == upstream.git("rev-parse", "main")


def test_whole_commit_ids_need_no_server(edge: GitEdge) -> None:
    """Forty digits are taken as they are, in lower case, and nobody is asked."""
    assert edge.resolve_ref("https://127.0.0.1:1/x.git", ABSENT.upper()) == ABSENT


def test_near_names_are_offered(edge: GitEdge, upstream: Any) -> None:
    """A mistyped tag is answered with the tags that are near, and with the line to write."""
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(str(upstream.path), "v1.00")
    assert caught.value.reference == "git-ref-missing"
    assert "v1.0" in " ".join(caught.value.why)
    assert 'source.ref = "v1.0"' in caught.value.fix


def test_abbreviated_ids_are_explained(edge: GitEdge, upstream: Any) -> None:
    """A short commit id is refused with the reason: a server cannot be asked for it."""
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(str(upstream.path), upstream.git("rev-parse", "--short=10", "HEAD"))
    assert "abbreviated" in " ".join(caught.value.why)


def test_tag_and_branch_of_one_name_are_not_chosen_between(edge: GitEdge, upstream: Any) -> None:
    """Where a name means two commits, the user says which; nothing is guessed."""
    upstream.git("branch", "v1.0", "main")
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(str(upstream.path), "v1.0")
    assert caught.value.reference == "git-ref-ambiguous"
