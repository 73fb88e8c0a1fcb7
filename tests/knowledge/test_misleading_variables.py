"""Variables that mislead a build by hand."""

from __future__ import annotations

import pytest

from torchbuild.knowledge.misleading_variables import misleading_variables


@pytest.mark.parametrize(
    "name", ["CC", "USE_CUDA", "CUDA_HOME", "NCCL_ROOT", "LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH"]
)
def test_what_a_tree_or_a_compiler_obeys_is_known(name: str) -> None:
    """Each of the variables that reports tell of is one."""
    assert misleading_variables().holds(name)


@pytest.mark.parametrize("name", ["HOME", "PATH", "LANG", "MY_CC", "cc"])
def test_what_every_shell_has_is_not(name: str) -> None:
    """Nobody is warned of a variable that no build obeys."""
    assert not misleading_variables().holds(name)


def test_the_names_are_sorted_and_said_once() -> None:
    """A name that a prefix covers already stands in no list."""
    row = misleading_variables()
    assert list(row.names) == sorted(set(row.names))
    assert list(row.prefixes) == sorted(set(row.prefixes))
    assert not [name for name in row.names if name.startswith(row.prefixes)]
