"""No third state: each option that a tree declares has a value that is expected of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from torchbuild.errors import ConflictError
from torchbuild.knowledge.tables import era_fact
from torchbuild.model.lock import Expectation
from torchbuild.resolve.tree_options import Tree, front_end_definitions

HEAD = "include(CMakeDependentOption)\n"
TREE = HEAD + (
    'option(USE_A "a" ON)\n'
    'option(USE_B "b" OFF)\n'
    'cmake_dependent_option(USE_C "c" ON "USE_B" OFF)\n'
    'find_package(Foo)\nif(Foo_FOUND)\noption(USE_MAYBE_OFF "m" OFF)\noption(USE_MAYBE_ON "m" ON)\nendif()\n'
    'option(BUILD_PYTHON "p" ON)\noption(BUILD_TEST "t" OFF)\noption(USE_NUMPY "n" ON)\n'
    'option(USE_OBSERVERS "o" OFF)\noption(OTHER "not a switch of ours" ON)\n'
)
EITHER = HEAD + (
    'option(USE_B "b" OFF)\nif(EXISTS /opt/x)\ncmake_dependent_option(USE_A "a" ON "USE_B" OFF)\n'
    'else()\noption(USE_A "a" ON)\nendif()\n'
)
"""In one branch the option is hidden, in the other it is not, and nobody knows which is taken."""
Ask = Callable[..., dict[str, Expectation]]


def tree(text: str, era: str = "setup-py", **more: str) -> Tree:
    """A tree of one file, and more."""
    return Tree({"CMakeLists.txt": text, **more}, era_fact(era), "x86_64")


def asked(
    found: Tree, environ: Mapping[str, str], wishes: dict[str, tuple[str, str]] | None = None
) -> dict[str, Expectation]:
    """What is expected, by key."""
    rows = list(found.expect(found.followed(environ, {}).cache, wishes or {}))
    assert len({row.key for row in rows}) == len(rows)
    return {row.key: row for row in rows}


def states(rows: Mapping[str, Expectation]) -> dict[str, str]:
    """The switches among them."""
    return {key: row.value for key, row in rows.items() if row.kind in ("switch", "option")}


def test_every_option_has_a_value_that_is_expected() -> None:
    """What the tree declares, what its front end adds, and what it changes on the way; nothing else."""
    assert states(asked(tree(TREE), {})) == {
        "USE_A": "ON",
        "USE_B": "OFF",
        "USE_MAYBE_OFF": "OFF",
        "BUILD_PYTHON": "ON",
        "BUILD_TEST": "ON",  # the front end turns it on, whatever the tree says
        "USE_NUMPY": "ON",
        "USE_OBSERVERS": "ON",
        "OTHER": "ON",  # no USE_ and no BUILD_, but an option as well
    }


def test_what_is_asked_for_decides() -> None:
    """The environment reaches the tree as the front end hands it on, and what depends on it follows."""
    found = states(
        asked(
            tree(TREE),
            {"USE_A": "0", "USE_B": "1", "BUILD_TEST": "0", "BUILD_PYTHON": "0", "NOT_HANDED": "1"},
        )
    )

    assert (found["USE_A"], found["USE_B"], found["USE_C"], found["BUILD_TEST"]) == ("OFF", "ON", "ON", "OFF")
    assert found["USE_OBSERVERS"] == "OFF"


def test_what_nobody_can_know_is_left_to_the_gate() -> None:
    """An option that hangs on the machine has no row of its own: where it is found, it is unexpected by name."""
    rows = asked(tree(TREE), {})

    assert "USE_MAYBE_ON" not in rows
    assert rows[r"(USE|BUILD)_\w+"].kind == "only"
    assert rows[".*"].kind == "found"


def test_a_row_says_where_its_option_stands() -> None:
    """File and line, so that one can look."""
    assert asked(tree(TREE), {})["USE_A"].why == "CMakeLists.txt:2: declared ON"


def test_what_the_recipe_names_itself_is_named_once() -> None:
    """A flag of the recipe is compared as such, under the name that it arrives with."""
    wishes = {"USE_A": ("ON", "build.flags.USE_A")}

    assert "USE_A" not in asked(tree(TREE), {"USE_A": "1"}, wishes)


@pytest.mark.parametrize(
    ("name", "environ", "reference"),
    [
        ("USE_C", {"USE_C": "1"}, "flag-has-no-effect"),
        ("USE_AA", {"USE_AA": "1"}, "flag-unknown"),
    ],
)
def test_a_flag_that_can_do_nothing_is_refused_before_anything_is_built(
    name: str, environ: dict[str, str], reference: str
) -> None:
    """Asked is not got: where the tree's own conditions say so, it is said at lock time, with what is near."""
    with pytest.raises(ConflictError) as caught:
        asked(tree(TREE), environ, {name: ("ON", f"build.flags.{name}")})

    assert caught.value.reference == reference
    assert name in caught.value.what
    assert any("CMakeLists.txt:4" in line or "USE_A" in line for line in caught.value.why)


@pytest.mark.parametrize(
    ("name", "wish"),
    [
        ("USE_C", ("ON", "build.preset official")),  # upstream's scripts set more than a tree knows
        ("USE_AA", ("OFF", "build.flags.USE_AA")),
        ("USE_NIGHTLY", ("ON", "build.flags.USE_NIGHTLY")),  # the front end alone reads it
        ("USE_ODD", ("ON", "build.flags.USE_ODD")),
    ],
)
def test_a_flag_that_may_have_an_effect_is_not_refused(name: str, wish: tuple[str, str]) -> None:
    """Only what is sure to be lost is refused; the gate sees the rest."""
    odd = tree(TREE + 'declare_my_own_way(USE_ODD "declared by a macro from elsewhere")\n')

    assert asked(odd, {name: "1"}, {name: wish})


def test_what_is_hidden_in_one_branch_alone_is_no_certain_loss() -> None:
    """Asked for, it is not refused; not asked for, nothing firm is expected of it; and it is declared."""
    found = tree(EITHER)

    assert asked(found, {"USE_A": "1"}, {"USE_A": ("ON", "build.flags.USE_A")})
    assert "USE_A" not in asked(found, {})
    assert found.declared({}, {}) == {"USE_A", "USE_B"}


def test_a_tree_without_cmake_files_has_nothing_to_expect() -> None:
    """Then the gate compares what the recipe asks for."""
    assert asked(Tree({}, era_fact("setup-py"), "x86_64"), {"USE_A": "1"}) == {}


@pytest.mark.parametrize(
    ("pyproject", "defines"),
    [
        ("", {}),
        ("[tool.scikit-build.cmake.define]\nUSE_A = true\nUSE_B = 'OFF'\nUSE_N = 3\n", {"USE_A": "True", "USE_B": "OFF", "USE_N": "3"}),
        ("[tool.scikit-build.cmake.define]\nUSE_A = { env = 'USE_A', default = 'x' }\n", {}),
        ("[tool.scikit-build]\ncmake = 3\n", {}),
        ("[tool.scikit-build.cmake]\ndefine = []\n", {}),
        ("not toml [", {}),
        ("a = " + "[" * 3000, {}),
    ],
)  # fmt: skip
def test_what_a_tree_defines_for_itself_is_known(pyproject: str, defines: dict[str, str]) -> None:
    """The newer front end hands on what the tree's pyproject.toml defines."""
    assert front_end_definitions(pyproject) == defines


def test_the_newer_front_end_is_followed() -> None:
    """Its definitions count, and win over the environment, which is read after them."""
    define = {"pyproject.toml": "[tool.scikit-build.cmake.define]\nUSE_A = false\n"}

    assert states(asked(tree(TREE, "scikit-build-core", **define), {}))["USE_A"] == "OFF"
    assert states(asked(tree(TREE, "scikit-build-core", **define), {"USE_A": "1"}))["USE_A"] == "OFF"
