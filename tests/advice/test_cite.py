"""Facts as sentences: each row said in one way, under the key that it can be found by."""

from __future__ import annotations

from typing import TypeVar

from tests.advice.raw_facts import is_row
from torchbuild.advice import cite
from torchbuild.advice.answer import Cited
from torchbuild.knowledge.cuda import arch_window, compat_floor, cuda_release
from torchbuild.knowledge.drivers import forward_compat, is_eligible, jetpacks
from torchbuild.knowledge.gpus import gpu_family, gpu_product, machine_of
from torchbuild.knowledge.host_compilers import glibc_facts, nvcc_fact, pair_facts, torch_fact
from torchbuild.knowledge.interpreters import torch_python
from torchbuild.knowledge.libraries import lowest_chips, minimums
from torchbuild.knowledge.library_releases import every_release
from torchbuild.knowledge.torch_releases import official_builds, torch_archs, torch_line

T = TypeVar("T")


def _known(row: T | None) -> T:
    assert row is not None
    return row


def _cited() -> list[Cited]:
    """One of each kind."""
    return [
        cite.family(_known(gpu_family(75))),
        cite.product(_known(gpu_product("GH200"))),
        cite.machine(_known(machine_of("GH200"))),
        cite.arch_window(_known(arch_window("90a"))),
        cite.driver_floor(_known(compat_floor("12.4"))),
        cite.native(_known(cuda_release("12.4.1"))),
        cite.forward(_known(forward_compat("12.9"))),
        cite.eligible(_known(is_eligible("titan"))),
        cite.jetpack(jetpacks(87)[0]),
        cite.lowest_chip(lowest_chips("cudnn", "9.10.2.21", "12")[0]),
        cite.minimum(minimums("cudnn", "2.6")[0]),
        cite.library_releases(every_release("cudnn")[0]),
        cite.nvcc(_known(nvcc_fact("12.4.1"))),
        cite.torch_compiler(_known(torch_fact("2.6"))),
        cite.pair(pair_facts("11.5", cuda="12.4", torch="2.6", machine="aarch64")[0]),
        cite.extension_glibc(glibc_facts("12.4", "2.41")[0]),
        cite.torch_line(_known(torch_line("2.6"))),
        cite.torch_archs(_known(torch_archs("2.6"))),
        cite.torch_python(_known(torch_python("2.6"))),
        cite.official(next(item for item in official_builds("2.6") if item.cuda)),
    ]


def test_what_is_cited_can_be_found() -> None:
    """Table and row lead to the very fact, its source is named, and it is a sentence without a full stop."""
    for item in _cited():
        assert is_row(item.table, item.row), item
        assert item.source
        assert item.checked
        assert item.says
        assert not item.says.endswith(".")


def test_what_nobody_read_of_a_release_is_told_of_the_one_that_was_read() -> None:
    """A floor that is borrowed from an older line says so, and counts as unconfirmed."""
    row = torch_line("2.14")
    assert row is not None
    borrowed = cite.torch_line(row, of="2.15")
    assert "of 2.15 nobody read it" in borrowed.says
    assert not borrowed.is_confirmed
    assert cite.torch_line(row, of="2.14").is_confirmed
