"""A lock names no mirror; this machine's settings turn its names into addresses."""

from __future__ import annotations

import pytest

from torchbuild.edges.locators import (
    MirrorSettings,
    debian_paths,
    debian_pool_path,
    mirrored,
    split_debian,
    split_pypi,
    web_candidates,
    without_credentials,
)
from torchbuild.errors import FetchError, RecipeError


def test_the_longest_prefix_comes_first_and_the_original_last() -> None:
    """The most exact mirror is tried before the general one, and upstream after both."""
    prefixes = {
        "https://up/": "https://general/",
        "https://up/a/": "https://exact/",
        "https://other/": "https://x/",
    }
    assert mirrored("https://up/a/f", prefixes) == (
        "https://exact/f",
        "https://general/a/f",
        "https://up/a/f",
    )


def test_without_mirrors_there_is_the_original() -> None:
    """An address stays as it is."""
    assert web_candidates("https://up/f", MirrorSettings()) == ("https://up/f",)


@pytest.mark.parametrize("locator", ["nvidia:redist/x", "ftp://host/x", "gopher:x", "x"])
def test_a_kind_that_nobody_resolves_is_named(locator: str) -> None:
    """A locator of an unknown kind ends with the line that would make it known."""
    with pytest.raises(RecipeError) as caught:
        web_candidates(locator, MirrorSettings())
    assert caught.value.reference == "locator-unresolved"
    assert "[machine.mirrors]" in caught.value.fix


def test_mirrors_cannot_lead_to_files() -> None:
    """A prefix that leads to something other than http(s) is not tried."""
    with pytest.raises(RecipeError):
        web_candidates("nvidia:x", MirrorSettings(prefixes={"nvidia:": "file:///srv/"}))


def test_neutral_names_are_taken_apart() -> None:
    """The parts of a pypi: and of a debian: locator."""
    assert split_pypi("pypi:numpy/numpy-2.0-py3-none-any.whl") == ("numpy", "numpy-2.0-py3-none-any.whl")
    assert split_debian("debian:sid/pytorch/pytorch_2.6.0+dfsg.orig.tar.xz") == (
        "sid",
        "pytorch",
        "pytorch_2.6.0+dfsg.orig.tar.xz",
    )


@pytest.mark.parametrize(
    "locator",
    [
        "pypi:numpy",
        "pypi:../x",
        "pypi:a/b/c",
        "pypi:/x",
        "pypi:a/",
        "pypi:a/..",
        "pypi:a/b c",
        "pypi:a/b?x",
        "pypi:a/-x",
    ],
)
def test_names_that_are_paths_are_refused(locator: str) -> None:
    """No part of a locator can climb or carry a query."""
    with pytest.raises(RecipeError) as caught:
        split_pypi(locator)
    assert caught.value.reference == "locator-invalid"
    with pytest.raises(RecipeError):
        split_debian(locator.replace("pypi:", "debian:sid/", 1) + "/..")


@pytest.mark.parametrize(
    ("source", "folder"),
    [("six", "s/six"), ("libtool", "libt/libtool"), ("lib", "l/lib"), ("4ti2", "4/4ti2")],
)
def test_the_pool_has_letters(source: str, folder: str) -> None:
    """Sources lie below their first letter, libraries below their first four."""
    assert debian_paths(source, "f")[:2] == (f"pool/main/{folder}/f", f"pool/contrib/{folder}/f")


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://user:pw@host/x?y#z", "https://host/x"),
        ("https://host/x?private_token=s3cret", "https://host/x"),
        ("file:///x?y", "file:///x?y"),
        ("https://token@host:8443/x", "https://host:8443/x"),
        ("ssh://git:pw@host/x", "ssh://git@host/x"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("git@host:x/y.git", "git@host:x/y.git"),
        ("/srv/git/x@y", "/srv/git/x@y"),
        ("https://host/a@b", "https://host/a@b"),
    ],
)
def test_credentials_leave_addresses(url: str, clean: str) -> None:
    """User, password and query go; a user that is a part of the address stays."""
    assert without_credentials(url) == clean


def test_an_address_that_is_none_is_said_so() -> None:
    """What cannot be parsed at all ends as an error of ours."""
    with pytest.raises(FetchError) as caught:
        without_credentials("https://[x/")
    assert caught.value.reference == "address-invalid"


@pytest.mark.parametrize(
    ("locator", "path"),
    [
        (
            "debian:sid/pool/main/t/tool++/tool++_2.0~rc1_amd64.deb",
            "pool/main/t/tool++/tool++_2.0~rc1_amd64.deb",
        ),
        ("debian:sid/tool/tool_1.dsc", None),
        ("debian:sid/pool/pool_1.dsc", None),
        ("debian:sid/pool/main/../../etc/x.deb", None),
        ("debian:sid/pool/main//x.deb", None),
        ("debian:../pool/main/x/x.deb", None),
    ],
)
def test_a_package_is_named_by_its_path(locator: str, path: str | None) -> None:
    """A binary package lies where its locator says, below the pool and nowhere else."""
    assert debian_pool_path(locator) == path


NVIDIA = {"nvidia": "https://publisher.invalid/"}


def test_a_publisher_is_asked_without_any_setting() -> None:
    """Its own address is known; the path is taken as it is, a plus included."""
    found = web_candidates("nvidia:compute/nccl_1+cuda12.4.txz", MirrorSettings(publishers=NVIDIA))

    assert found == ("https://publisher.invalid/compute/nccl_1+cuda12.4.txz",)


def test_a_mirror_of_a_publisher_may_be_named_either_way() -> None:
    """By the locator's beginning or by the publisher's address; the publisher comes last."""
    prefixes = {
        "nvidia:": "https://near.invalid/nv/",
        "https://publisher.invalid/compute/": "https://other.invalid/",
    }
    found = web_candidates("nvidia:compute/x.txz", MirrorSettings(publishers=NVIDIA, prefixes=prefixes))

    assert found == (
        "https://near.invalid/nv/compute/x.txz",
        "https://other.invalid/x.txz",
        "https://publisher.invalid/compute/x.txz",
    )


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../b", "a//b", "a b", "a?b", "a#b", "//host/x"]
)
def test_a_path_does_not_leave_its_publisher(path: str) -> None:
    """Neither host nor directory can be changed by a locator."""
    with pytest.raises(RecipeError) as caught:
        web_candidates(f"nvidia:{path}", MirrorSettings(publishers=NVIDIA))

    assert caught.value.reference == "locator-invalid"
