"""The platform policy is data with sources, and answers by machine."""

from __future__ import annotations

from torchbuild.knowledge.platform_libraries import node_glibc, platform_libraries


def test_policy_depends_on_the_machine() -> None:
    """Each machine has its own loader and no libgomp."""
    assert "ld-linux-x86-64.so.2" in platform_libraries("x86_64")
    assert "ld-linux-aarch64.so.1" in platform_libraries("aarch64")
    assert "ld-linux-x86-64.so.2" not in platform_libraries("aarch64")
    assert "libgomp.so.1" not in platform_libraries("x86_64")
    assert frozenset() == platform_libraries("riscv64")


def test_a_node_without_a_number_has_its_release() -> None:
    """What is known is told; another node has none."""
    assert node_glibc("GLIBC_ABI_DT_RELR") == "2.36"
    assert node_glibc("GLIBC_ABI_OF_NOBODY") is None
