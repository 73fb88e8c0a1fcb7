"""What a recipe or a tree calls an address or a name never becomes an option or a program."""

from __future__ import annotations

from typing import Any

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.errors import RecipeError

ABSENT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch /tmp/x",
        "ext::sh -c touch% /tmp/x",
        "-oProxyCommand=x:y",
        "ssh://-oProxyCommand=x/y",
        "ssh://user@-oProxyCommand=x/y",
        "ftp://host/x.git",
        "fd::17",
        "relative/path",
        "https://host/a b",
        "https://host/\nx",
        "",
    ],
)
def test_addresses_that_are_programs_are_refused(edge: GitEdge, url: str) -> None:
    """Options, remote helpers, relative paths and unknown schemes never reach git."""
    with pytest.raises(RecipeError) as caught:
        edge.resolve_ref(url, "main")
    assert caught.value.reference == "git-url-refused"
    with pytest.raises(RecipeError):
        edge.fetch_commit(url, ABSENT)


@pytest.mark.parametrize(
    "url",
    [
        "https://host/x.git?private_token=s3cret",
        "http://me:s3cret@host/x.git?access_token=s3cret",
        "https://host/x.git#s3cret",
        "ftp://me:s3cret@host/x.git?s3cret",
    ],
)
def test_tokens_of_refused_addresses_are_not_repeated(edge: GitEdge, url: str) -> None:
    """A query is no part of a repository's address; what it holds stands in no message."""
    with pytest.raises(RecipeError) as caught:
        edge.resolve_ref(url, "main")
    error = caught.value
    assert error.reference == "git-url-refused"
    assert "s3cret" not in f"{error.what}{error.why}{error.fix}"


@pytest.mark.parametrize("ref", ["--upload-pack=x", "-x", "a b", "a:b", "a..b", "", "a^", "a\nb"])
def test_refs_that_are_options_are_refused(edge: GitEdge, upstream: Any, ref: str) -> None:
    """What cannot be the name of a ref never reaches git."""
    with pytest.raises(RecipeError) as caught:
        edge.resolve_ref(str(upstream.path), ref)
    assert caught.value.reference == "git-ref-refused"
