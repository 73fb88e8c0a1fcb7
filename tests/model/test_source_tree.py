"""A source directory as a value."""

from __future__ import annotations

from torchbuild.model.source_tree import SourceTree


def test_nothing_is_wrong_with_a_directory_of_which_nothing_is_said() -> None:
    """Each field tells of one thing that would stop a build."""
    tree = SourceTree(path="tree")

    assert tree.exists
    assert tree.has_front_end
    assert not any((tree.git, tree.empty_submodules, tree.cache, tree.cache_says, tree.future))
