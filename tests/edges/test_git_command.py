"""Git hears the user when it fetches, nobody when it lays files down, and ends with us."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.edges.git_command import Running, git
from torchbuild.errors import FetchError, HostError


def serve(web_server: Any, upstream: Any) -> str:
    """The repository over HTTP, as a hosting service does."""
    web_server.repositories = upstream.path.parent
    return f"{web_server.url}/git/project/.git"


def test_mirrors_are_used(tmp_path: Path, upstream: Any) -> None:
    """An address prefix of [machine.mirrors] leads elsewhere, under the cache's name of the original."""
    mirrored = GitEdge(tmp_path / "cache", prefixes={"https://example.invalid/": f"{upstream.path.parent}/"})
    assert mirrored.resolve_ref("https://example.invalid/project", "main") == upstream.git(
        "rev-parse", "main"
    )


def test_the_users_rewriting_is_heard(
    edge: GitEdge, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """InsteadOf of the user's own configuration leads to another place, by another protocol."""
    config = tmp_path / "gitconfig"
    config.write_text(f'[url "file://{upstream.path.parent}/"]\n\tinsteadOf = https://example.invalid/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert edge.resolve_ref("https://example.invalid/project", "main") == upstream.git("rev-parse", "main")


def test_a_surrounding_git_is_not_heard(
    edge: GitEdge, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called from a git hook, which hands over its own repository, the edge still uses its cache."""
    commit = upstream.git("rev-parse", "main")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    bare = edge.fetch_commit(str(upstream.path), commit)
    edge.check_out(bare, commit, tmp_path / "tree", str(upstream.path))
    assert (tmp_path / "tree/a.txt").read_text() == "two\n"
    assert not (tmp_path / "elsewhere").exists()


def test_git_ends_with_a_killed_torchbuild(web_server: Any, upstream: Any, tmp_path: Path) -> None:
    """After kill -9 of torchbuild no git writes to the cache; what holds the line ends as soon as that moves."""
    url = serve(web_server, upstream)
    reached, over = threading.Event(), threading.Event()

    def hang(handler: Any) -> None:
        reached.set()
        over.wait(60)

    web_server.replies["/git/project/.git/git-upload-pack"] = [hang]
    code = (
        "from pathlib import Path; from torchbuild.edges.git import GitEdge; "
        f"GitEdge(Path({str(tmp_path / 'cache')!r})).fetch_commit({url!r}, {upstream.git('rev-parse', 'main')!r})"
    )
    run = psutil.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    try:
        assert reached.wait(60)
        children = run.children(recursive=True)
        handles = {child.pid: os.pidfd_open(child.pid) for child in children}
        run.kill()
        run.wait()
        writer = select.select([handles[children[0].pid]], [], [], 10)[0]
    finally:
        over.set()
    ended = [bool(select.select([handle], [], [], 10)[0]) for handle in handles.values()]
    for handle in handles.values():
        os.close(handle)
    assert writer
    assert all(ended)


def test_a_machine_without_git_is_told_so(
    tmp_path: Path, upstream: Any, monkeypatch: pytest.MonkeyPatch, edge: GitEdge
) -> None:
    """Without git the error names it and how to install it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "env").symlink_to(str(shutil.which("env")))
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(HostError) as caught:
        edge.resolve_ref(str(upstream.path), "main")
    assert caught.value.reference == "git-missing"


def test_a_machine_that_never_had_git_is_told_so(tmp_path: Path) -> None:
    """Where even the library that wraps git refuses to load, the user hears of git and not of an import."""
    code = (
        "from pathlib import Path; from torchbuild.edges.git import GitEdge; from torchbuild.errors import FetchError, HostError\n"
        f"try: GitEdge(Path({str(tmp_path)!r})).resolve_ref('https://127.0.0.1:1/x', 'main')\n"
        "except HostError as error: print(error.reference)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "git-missing\n", done.stderr


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "-o BatchMode=yes"),
        ({"GIT_SSH_COMMAND": "ssh -i mine"}, "-i mine"),
        (
            {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "core.sshCommand",
                "GIT_CONFIG_VALUE_0": "ssh -p 7",
            },
            "-p 7",
        ),
    ],
    ids=["default", "environment", "configuration"],
)
def test_ssh_never_asks_the_terminal(
    edge: GitEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], words: str
) -> None:
    """Ssh fails instead of asking, unless the user says how it is to be run."""
    ssh = tmp_path / "bin/ssh"
    ssh.parent.mkdir()
    ssh.write_text(
        f'#!/bin/sh\necho "$@" > {tmp_path}/asked\necho "Host key verification failed." >&2\nexit 255\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("GIT_SSH_COMMAND", "GIT_SSH", "GIT_CONFIG_COUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(FetchError) as caught:
        edge.resolve_ref("git@example.invalid:x/y.git", "main")
    assert caught.value.reference == "git-auth-failed"
    assert (tmp_path / "asked").read_text().startswith(words)


def test_ssh_that_is_not_there_is_the_machines(
    edge: GitEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ssh the error tells what to install, not that the repository is missing."""
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "no-ssh"))
    with pytest.raises(HostError) as caught:
        edge.resolve_ref("git@example.invalid:x/y.git", "main")
    assert caught.value.reference == "git-helper-missing"


def test_passwords_are_no_options(tmp_path: Path, upstream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses of mirrors, which may hold a password, do not stand in git's arguments for all to see."""
    real = str(shutil.which("git"))
    fake = tmp_path / "bin/git"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\nexec {real} "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    mirrored = GitEdge(
        tmp_path / "cache", prefixes={"https://example.invalid/": f"file://{upstream.path.parent}/"}
    )
    mirrored.resolve_ref("https://example.invalid/project", "main")
    assert str(upstream.path.parent) not in (tmp_path / "arguments").read_text()


def test_all_that_runs_can_be_ended(web_server: Any, upstream: Any, tmp_path: Path) -> None:
    """Interrupted, none of eight transfers goes on until its server says something."""
    url = serve(web_server, upstream)
    reached, over = threading.Event(), threading.Event()

    def hang(_handler: Any) -> None:
        reached.set()
        over.wait(60)

    web_server.replies["/git/project/.git/info/refs"] = [hang]
    running, ended = Running(), []
    work = threading.Thread(
        target=lambda: ended.append(git(["ls-remote", url], cwd=tmp_path, running=running))
    )
    work.start()
    try:
        assert reached.wait(30)
        running.end()
        work.join(30)
    finally:
        over.set()
    assert ended[0].status != 0


def test_what_is_started_after_the_end_ends_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that was between two commands does not go on with the next one."""
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    running = Running()
    running.end()

    assert git(["anything"], cwd=tmp_path, running=running).status != 0
