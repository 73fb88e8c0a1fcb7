"""Archives that a recipe names."""

from __future__ import annotations

import pytest

from torchbuild.resolve.addresses import address_problems, locator_problems

GOOD = (
    "https://example.org/x.run",
    "nvidia:compute/x.tar.xz",
    "debian:sid/nvidia-nccl/x.orig.tar.gz",
    "file:installers/x.run",
    "http://[x",
)


@pytest.mark.parametrize("archive", GOOD)
def test_a_locator_is_fine(archive: str) -> None:
    """Whatever its kind is; whether anything lies there is told where it is fetched."""
    assert not [*address_problems("a", archive), *locator_problems("a", archive)]


@pytest.mark.parametrize(
    "archive", ["https://bob:s3cret@example.org/x.run", "https://example.org/x.run?token=s3cret"]
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(archive: str) -> None:
    """The lock would publish it, and so would a message."""
    for (problem,) in (address_problems("a.archive", archive), locator_problems("a.archive", archive)):
        assert problem.path == "a.archive"
        assert "~/.netrc" in problem.wanted
        assert "s3cret" not in problem.seen + problem.wanted


@pytest.mark.parametrize(
    ("archive", "advice"),
    [
        ("./x.run", "file:x.run"),
        ("../x.run", "file:x.run"),
        ("/opt/x.run", "file:x.run"),
        ("~/x.run", "file:x.run"),
        ("x.run", "file:x.run"),
        ("./a:x.run", "file:x.run"),
    ],
)
def test_who_writes_a_path_is_told_its_locator(archive: str, advice: str) -> None:
    """A path is a file of the machine; what a lock holds is a locator."""
    (problem,) = locator_problems("cuda.archive", archive)

    assert problem.seen == f'"{archive}"'
    assert advice in problem.wanted
    assert not list(address_problems("source.archive", archive))


def test_an_empty_archive_is_not_a_default() -> None:
    """Whoever writes the key means something by it."""
    assert [item.wanted for item in address_problems("a", "")] == ["a locator or a path"]
    assert [item.wanted for item in locator_problems("a", "")] == ["a locator, or no such key"]
