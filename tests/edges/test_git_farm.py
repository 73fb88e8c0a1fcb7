"""Sources from servers as the world has them: 37 submodules, two deep, some of them in trouble."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import git_farm
import pytest

from torchbuild.edges.git import GitEdge
from torchbuild.edges.manifest import tree_digest
from torchbuild.errors import FetchError
from torchbuild.model.lock import LockedSubmodule


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The farm, without latency."""
    with git_farm.farm(tmp_path_factory.mktemp("grown") / "farm") as here:
        yield here


@pytest.fixture
def farm(grown: Any) -> Any:
    """The same farm for each test, in good health, and asked nothing yet."""
    for host in (grown.good, grown.busy, grown.hanging):
        host.busy = 0
        host.asked.clear()
    return grown


@pytest.fixture
def patient(tmp_path: Path, pauses: list[float]) -> GitEdge:
    """An edge that gives up early: a line that is silent for a second is dead, and twice is enough."""
    return GitEdge(tmp_path / "cache", pause=pauses.append, stalled_s=1, tries=3)


def lay(edge: GitEdge, here: Any, modules: tuple[LockedSubmodule, ...], tree: Path) -> None:
    """Check out everything from the cache, each submodule after the one that it lies in."""
    everything = (LockedSubmodule(path=".", url=here.url, commit=here.ids["main"]), *modules)
    for item in sorted(everything, key=lambda item: item.path.count("/") if item.path != "." else -1):
        bare = edge.cached(item.url, item.commit)
        assert bare is not None
        edge.check_out(bare, item.commit, tree / item.path, item.url)


def test_all_submodules_arrive_as_git_would_lay_them(
    farm: Any, patient: GitEdge, pauses: list[float], tmp_path: Path
) -> None:
    """Nested, by relative address, pinned off every branch, moved, and on a host that is busy at first."""
    farm.busy.busy = 2

    modules = patient.locked_submodules(farm.url, farm.ids["main"])
    lay(patient, farm, modules, tmp_path / "ours")

    assert tuple(item.path for item in modules) == farm.paths
    assert len(modules) == 37
    assert len(pauses) == 2
    by_path = {item.path: item for item in modules}
    assert by_path["third_party/lib5"].commit == farm.ids["lib5"]
    assert "extern/lib3" in by_path
    assert "extern/lib3/deps/below" in by_path
    environ = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}
    clone = ["git", "clone", "--quiet", "--recursive", farm.url, str(tmp_path / "gits")]
    subprocess.run(clone, env=environ, capture_output=True, check=True)
    assert tree_digest(tmp_path / "ours", without=(".git",)) == tree_digest(
        tmp_path / "gits", without=(".git",)
    )


def test_what_is_there_costs_no_request(farm: Any, patient: GitEdge) -> None:
    """A second lock, and every build after it, can do without any of the servers."""
    modules = patient.locked_submodules(farm.url, farm.ids["main"])
    for host in (farm.good, farm.busy):
        host.asked.clear()

    assert patient.locked_submodules(farm.url, farm.ids["main"]) == modules
    patient.fetch_commits([(item.url, item.commit) for item in modules], lambda _index: None)

    assert (farm.good.asked, farm.busy.asked) == ([], [])


def test_an_earlier_commit_has_the_submodule_at_its_old_place(farm: Any, patient: GitEdge) -> None:
    """And costs only what changed: the libraries are in the cache already."""
    patient.locked_submodules(farm.url, farm.ids["main"])
    farm.good.asked.clear()

    before = {item.path for item in patient.locked_submodules(farm.url, farm.ids["before"])}

    assert {"third_party/lib3", "third_party/lib3/deps/below"} < before
    assert {path.split("/")[1] for path in farm.good.asked} == {"super.git"}


def test_a_host_that_hangs_ends_in_an_error(farm: Any, patient: GitEdge, pauses: list[float]) -> None:
    """Its time is limited, it is asked again, and then it is named; what the others gave is kept."""
    with pytest.raises(FetchError) as caught:
        patient.locked_submodules(farm.url, farm.ids["hangs"])

    assert caught.value.reference == "git-not-reachable"
    assert f"{farm.hanging.url}/hanging.git" in caught.value.what
    assert "too slow" in " ".join(caught.value.why).lower()
    assert (len(farm.hanging.asked), len(pauses)) == (3, 2)
    assert patient.cached(f"{farm.good.url}/lib29.git", farm.ids["lib29"])


def test_a_host_that_stays_busy_is_named(farm: Any, patient: GitEdge) -> None:
    """With what it answered."""
    farm.busy.busy = 99

    with pytest.raises(FetchError) as caught:
        patient.locked_submodules(farm.url, farm.ids["main"])

    assert caught.value.reference == "git-not-reachable"
    assert "502" in " ".join(caught.value.why)
    assert len(farm.busy.asked) == 3
