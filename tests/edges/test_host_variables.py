"""What reaches into a build from outside: variables, proxies, other users' files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchbuild.edges.host_files import HostFiles
from torchbuild.edges.host_variables import foreign_logs, misleading, proxies_of, without_credentials
from torchbuild.knowledge.cuda import installer_fact


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://proxy.example:3128", "http://proxy.example:3128"),
        ("http://me:secret@proxy.example:3128/", "http://proxy.example:3128/"),
        ("https://me:sec/ret@x@proxy.example", "https://proxy.example"),
        ("me:secret@proxy.example:3128", "proxy.example:3128"),
        ("socks5h://me@proxy", "socks5h://proxy"),
        ("localhost", "localhost"),
        ("", ""),
    ],
)
def test_names_and_passwords_are_not_shown(address: str, shown: str) -> None:
    """Whatever signs a password holds."""
    assert without_credentials(address) == shown


def test_proxies_are_found_in_both_cases() -> None:
    """Programs differ in which they read; an empty one is none."""
    environ = {
        "http_proxy": "http://a:b@p:1",
        "HTTPS_PROXY": "http://p:2",
        "no_proxy": "localhost, .example",
        "ALL_PROXY": "",
        "PROXY": "x",
    }

    assert proxies_of(environ) == {
        "http_proxy": "http://p:1",
        "HTTPS_PROXY": "http://p:2",
        "no_proxy": "localhost,.example",
    }


def test_variables_that_a_build_would_obey_are_told() -> None:
    """Switches of the tree, options of compilers, places of toolkits; others are nobody's concern."""
    environ = {
        "USE_NCCL": "0",
        "BUILD_TEST": "1",
        "CMAKE_PREFIX_PATH": "/conda",
        "CUDA_HOME": "/usr/local/cuda",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64/stubs",
        "NCCL_ROOT": "~/nccl",
        "CC": "gcc-9",
        "PATH": "/bin",
        "HOME": "/root",
        "USER": "me",
        "LANG": "C",
    }

    assert set(environ) - set(misleading(environ)) == {"PATH", "HOME", "USER", "LANG"}
    assert misleading(environ)["NCCL_ROOT"] == "~/nccl"


def test_secrets_in_such_variables_stay_secret() -> None:
    """CI systems have variables that begin like a tree's switches."""
    environ = {
        "BUILD_API_TOKEN": "abcdef123456",
        "BUILD_URL": "https://me:hunter2@ci.example/job/1",
        "CMAKE_ARGS": "-DX=abcdef123456",
        "USE_LONG": "x" * 5000,
    }
    shown = misleading(environ)

    assert "abcdef123456" not in str(shown)
    assert "hunter2" not in str(shown)
    assert "/job/1" in shown["BUILD_URL"]
    assert len(shown["USE_LONG"]) == 2000


def test_a_log_of_another_user_is_told(tmp_path: Path) -> None:
    """An installer of ours could not write its own there; a log of our own is no trouble."""
    log = tmp_path / installer_fact().logs[-1].lstrip("/")
    log.parent.mkdir(parents=True)
    log.touch()

    assert foreign_logs(HostFiles(tmp_path), os.geteuid()) == ()
    assert foreign_logs(HostFiles(tmp_path), os.geteuid() + 1) == (str(log),)
    assert foreign_logs(HostFiles(tmp_path / "none"), 0) == ()
