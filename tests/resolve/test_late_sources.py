"""What a tree would fetch in the middle of its build is known before, or the build is refused before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from torchbuild.errors import ConflictError
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Cuda
from torchbuild.resolve.cmake_scope import CacheEntry
from torchbuild.resolve.cmake_script import follow
from torchbuild.resolve.late_sources import LateSource, is_pin, late_sources, unlaid

PINS = ".ci/docker/ci_commit_pins"
ON = dict.fromkeys(("USE_DISTRIBUTED", "USE_CUDA", "USE_NCCL"), "ON")
TREE = {
    f"{PINS}/nccl-cu12.txt": "v2.26.2-1\n",
    f"{PINS}/nccl-cu11.txt": "v2.21.5-1\n",
    f"{PINS}/nccl-cu126.txt": "v2.29.3-1\n",
    f"{PINS}/nccl.txt": "v2.28.9-1\n",
}
Find = Callable[..., dict[str, LateSource]]


@pytest.fixture
def find(load: Callable[..., Recipe], least: str) -> Find:
    """What is found for a release, by name."""

    def of(
        release: str,
        tree: Mapping[str, str],
        options: Mapping[str, str] = ON,
        *,
        cuda: str = "",
        package: str = "torch",
        overlay: str = "",
        there: tuple[str, ...] = (),
    ) -> dict[str, LateSource]:
        laid = f'\n[[source.overlay]]\npath = "/x"\nto = "{overlay}"\n' if overlay else ""
        text = least.replace('version = "1.0.0"', f'version = "{release}"\npackage = "{package}"') + laid
        recipe = load(text)
        if cuda:
            recipe = recipe.model_copy(update={"cuda": Cuda(version=cuda)})
        cache = {name: CacheEntry(value, "BOOL", "CMakeLists.txt:1") for name, value in options.items()}
        return {item.name: item for item in late_sources(recipe, tree, cache, there)}

    return of


@pytest.mark.parametrize(
    ("release", "cuda", "ref"),
    [
        ("2.7.1", "12.6.3", "v2.26.2-1"),
        ("2.7.1", "11.8.0", "v2.21.5-1"),
        ("2.9.0", "12.6.3", "v2.29.3-1"),
        ("2.13.0", "12.6.3", "v2.29.3-1"),
        ("2.13.0", "13.0.3", "v2.28.9-1"),
    ],
)
def test_nccl_is_the_one_that_the_tree_pins_for_this_cuda(
    find: Find, release: str, cuda: str, ref: str
) -> None:
    """The pin file of the CUDA release counts, then that of its major number, then the general one."""
    nccl = find(release, TREE, cuda=cuda)["nccl"]

    assert (nccl.ref, nccl.to) == (ref, "third_party/nccl")
    assert nccl.url.startswith("https://")


def test_two_seven_fetches_it_for_the_cpu_too(find: Find) -> None:
    """Its front end clones NCCL whatever it is told: so it is laid there, or a build without network ends."""
    assert find("2.7.0", TREE, dict.fromkeys(ON, "OFF"))["nccl"].ref == "v2.26.2-1"


@pytest.mark.parametrize(
    "options",
    [
        {**ON, "USE_CUDA": "OFF"},
        {**ON, "USE_NCCL": "0"},
        {**ON, "USE_DISTRIBUTED": "no"},
        {**ON, "USE_SYSTEM_NCCL": "1"},
    ],
)
def test_what_is_not_built_is_not_fetched(find: Find, options: dict[str, str]) -> None:
    """The same conditions as the tree's own."""
    assert find("2.9.1", {}, options, cuda="12.8.0") == {}


def test_older_releases_and_other_trees_fetch_nothing(find: Find) -> None:
    """Up to 2.6 NCCL is a submodule; other packages have releases of their own."""
    assert find("2.6.0", {}) == {}
    assert find("2.9.0", {}, package="torchlet") == {}


def test_what_the_recipe_or_the_tree_brings_is_not_fetched(find: Find) -> None:
    """An overlay at that place, or a tree that holds it already, is what the build will find."""
    assert find("2.9.0", {}, overlay="third_party/nccl") == {}
    assert find("2.9.0", {}, there=("third_party/nccl",)) == {}


def test_a_tree_that_does_not_say_which_is_refused_before_an_hour_is_spent(find: Find) -> None:
    """Release archives leave the pins out: the error says so, and what to do."""
    with pytest.raises(ConflictError) as caught:
        find("2.7.0", {})

    assert caught.value.reference == "late-source-unpinned"
    assert "third_party/nccl" in caught.value.fix


@pytest.mark.parametrize("text", ["", "two words", "--upload-pack=x", "a\nb", "../x", "v" * 300, "a..b"])
def test_a_pin_that_is_no_name_is_refused(find: Find, text: str) -> None:
    """What stands in a file of a tree is not trusted to be a tag."""
    with pytest.raises(ConflictError) as caught:
        find("2.9.0", {f"{PINS}/nccl.txt": text})

    assert caught.value.reference == "late-source-pin-invalid"


def test_a_commit_is_a_pin_too(find: Find) -> None:
    """Upstream pinned by hash at times."""
    commit = "ab2b89c4c339bd7f816fbc114a4b05d386b66290"

    assert find("2.9.0", {f"{PINS}/nccl.txt": commit})["nccl"].ref == commit


def test_eigen_is_fetched_where_its_pin_is(find: Find) -> None:
    """A tree with a pin fetches it; one without has it as a submodule."""
    without = {**ON, "USE_NCCL": "OFF"}
    pinned = {"third_party/eigen_pin.txt": "5.0.1\n"}

    assert find("2.10.0", pinned, without)["eigen"].ref == "5.0.1"
    assert find("2.10.0", {}, without) == {}
    assert find("2.10.0", pinned, {**without, "USE_SYSTEM_EIGEN_INSTALL": "ON"}) == {}


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (f"{PINS}/nccl.txt", True),
        (f"{PINS}/nccl-cu126.txt", True),
        (f"{PINS}/nccl-cu12.txt", True),
        ("third_party/eigen_pin.txt", True),
        (f"{PINS}/triton.txt", False),
        (f"x/{PINS}/nccl.txt", False),
        (f"{PINS}/nccl-cu12xtxt", False),
    ],
)
def test_the_files_that_pin_are_known(path: str, known: bool) -> None:
    """Of a whole tree, these few are read for their pins."""
    assert is_pin(path) is known


FETCHING = """\
include(FetchContent)
FetchContent_Declare(one GIT_REPOSITORY https://example.org/one.git GIT_TAG v1)
FetchContent_Declare(two GIT_REPOSITORY https://example.org/two.git SOURCE_DIR ${PROJECT_SOURCE_DIR}/third_party/two)
ExternalProject_Add(three URL https://example.org/three.tar.gz)
ExternalProject_Add(four SOURCE_DIR ${PROJECT_SOURCE_DIR}/third_party/four)
if(EXISTS /somewhere)
  file(DOWNLOAD https://example.org/five.bin five.bin)
endif()
if(APPLE)
  FetchContent_Declare(six GIT_REPOSITORY https://example.org/six.git)
endif()
"""


def test_what_else_a_tree_may_fetch_is_said() -> None:
    """No table knows it, and no network will be there: whoever locks hears of it before the build does."""
    found = follow({"CMakeLists.txt": FETCHING}.get, asked={}, environ={}, machine="x86_64").fetches

    said = list(unlaid(found, {"third_party/two"}))

    assert [text.split(",")[0] for text in said] == [
        "https://example.org/one.git",
        "https://example.org/three.tar.gz",
        "https://example.org/five.bin",
    ]
    assert "CMakeLists.txt:2" in said[0]
