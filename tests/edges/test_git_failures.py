"""What git says at its end becomes the name of who must act."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.errors import FetchError, HostError


def serve(web_server: Any, upstream: Any) -> str:
    """The repository over HTTP, as a hosting service does."""
    web_server.repositories = upstream.path.parent
    return f"{web_server.url}/git/project/.git"


def test_passing_errors_are_tried_again(
    edge: GitEdge, web_server: Any, upstream: Any, pauses: list[float]
) -> None:
    """A server that is busy twice is asked a third time, after growing pauses."""
    url = serve(web_server, upstream)
    web_server.replies["/git/project/.git/info/refs"] = [web_server.status(502), web_server.status(503)]
    assert edge.resolve_ref(url, "main") == upstream.git("rev-parse", "main")
    assert len(pauses) == 2


def test_refusals_are_not_tried_again(
    edge: GitEdge, web_server: Any, upstream: Any, pauses: list[float]
) -> None:
    """A server that wants a password gets one question, and the user the command that checks it."""
    url = serve(web_server, upstream).replace("http://", "http://me:s3cret@")
    web_server.replies["/git/project/.git/info/refs"] = [web_server.status(403)] * 9
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(url, "main")
    assert (caught.value.reference, pauses) == ("git-auth-failed", [])
    assert "s3cret" not in f"{caught.value.what}{caught.value.why}{caught.value.fix}"


def test_nobody_is_asked_for_a_password(edge: GitEdge, web_server: Any, upstream: Any) -> None:
    """Without credentials the answer is an error, not a prompt that hangs."""
    url = serve(web_server, upstream)
    challenge = web_server.status(401, WWW_Authenticate='Basic realm="x"')
    web_server.replies["/git/project/.git/info/refs"] = [challenge] * 9
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref(url, "main")
    assert caught.value.reference == "git-auth-failed"


def test_no_repository_and_no_server_are_told_apart(edge: GitEdge, web_server: Any, tmp_path: Path) -> None:
    """A wrong address is upstream's answer; a silent one is the network's."""
    web_server.repositories = tmp_path
    with pytest.raises(FetchError) as absent:
        edge.resolve_ref(f"{web_server.url}/nothing.git", "main")
    with pytest.raises(FetchError) as silent:
        edge.resolve_ref("http://127.0.0.1:1/x.git", "main")
    assert (absent.value.reference, silent.value.reference) == ("git-repository-missing", "git-not-reachable")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_another_users_repository_needs_trust(edge: GitEdge, upstream: Any) -> None:
    """Its owner's configuration may start programs as us: whoever trusts it says so, by git's own command."""
    for path in (upstream.path, *upstream.path.rglob("*")):
        os.chown(path, 12345, -1, follow_symlinks=False)
    with pytest.raises(HostError) as caught:
        edge.resolve_ref(str(upstream.path), "main")
    assert caught.value.reference == "git-owner-differs"
    assert caught.value.fix.endswith(f"safe.directory {upstream.path}/.git")
