"""GPUs: names as people type them, and families that drivers and compilers know."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from torchbuild.knowledge.cuda import arch_window
from torchbuild.knowledge.declared import natural
from torchbuild.knowledge.drivers import driver_branch
from torchbuild.knowledge.gpus import (
    GpuFamily,
    GpuProduct,
    gpu_families,
    gpu_family,
    gpu_product,
    gpu_products,
    near_products,
)
from torchbuild.model.gpu_arch import Arch

CHIPS = {chip: family.sm for family in gpu_families() for chip in family.chips}

TYPED = [
    ("gtx 1080 ti", "GeForce GTX 1080 Ti", 61),
    ("GTX1080TI", "GeForce GTX 1080 Ti", 61),
    ("GTX-1080-Ti", "GeForce GTX 1080 Ti", 61),
    ("NVIDIA GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti", 61),
    ("NVIDIA GeForce GTX 1070 with Max-Q Design", "GeForce GTX 1070", 61),
    ("GTX 1060 6GB", "GeForce GTX 1060", 61),
    ("NVIDIA GeForce RTX 4090", "GeForce RTX 4090", 89),
    ("NVIDIA(R) GeForce(TM) RTX 4090", "GeForce RTX 4090", 89),
    ("GeForce\u2122 RTX 4090", "GeForce RTX 4090", 89),
    ("RTX4090", "GeForce RTX 4090", 89),
    ("GeForceRTX4090", "GeForce RTX 4090", 89),
    ("  rtx   4090\n", "GeForce RTX 4090", 89),
    ("rtx 3080 mobile", "GeForce RTX 3080 Laptop GPU", 86),
    ("RTX 3050 Ti", "GeForce RTX 3050 Ti Laptop GPU", 86),
    ("NVIDIA GeForce RTX 3050 6GB Laptop GPU", "GeForce RTX 3050 Mobile", 86),
    ("RTX 4050", "GeForce RTX 4050 Laptop GPU", 89),
    ("A100", "A100", 80),
    ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB", 80),
    ("A100 SXM 80 GB", "A100", 80),
    ("H100", "H100", 90),
    ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3", 90),
    ("H100 SXM5", "H100", 90),
    ("GH200", "GH200", 90),
    ("V100", "Tesla V100", 70),
    ("Tesla V100-SXM2-16GB", "Tesla V100", 70),
    ("V100S-PCIE-32GB", "Tesla V100S", 70),
    ("P100", "Tesla P100", 60),
    ("T4", "Tesla T4", 75),
    ("K80", "Tesla K80", 37),
    ("Tesla K40m", "Tesla K40", 35),
    ("Orin", "Jetson AGX Orin", 87),
    ("Orin (nvgpu)", "Jetson AGX Orin", 87),
    ("Jetson AGX Orin", "Jetson AGX Orin", 87),
    ("Jetson AGX Orin 64GB", "Jetson AGX Orin", 87),
    ("Xavier", "Jetson AGX Xavier", 72),
    ("NVIDIA Thor", "Jetson T5000", 110),
    ("B200", "B200", 100),
    ("B300", "B300 SXM6 AC", 103),
    ("GB10", "GB10", 121),
    ("DGX Spark", "GB10", 121),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Blackwell Server Edition", 120),
    ("RTX PRO 6000", "RTX PRO 6000 Blackwell Workstation Edition", 120),
    ("RTX 6000 Ada", "RTX 6000 Ada Generation", 89),
    ("Quadro RTX 6000", "Quadro RTX 6000", 75),
    ("A6000", "RTX A6000", 86),
]


@pytest.mark.parametrize(("typed", "name", "sm"), TYPED, ids=[typed for typed, _, _ in TYPED])
def test_a_product_is_found_as_people_type_it(typed: str, name: str, sm: int) -> None:
    """Maker, series, case, spaces, memory and sockets do not matter."""
    found = gpu_product(typed)

    assert found is not None
    assert (found.name, found.capabilities) == (name, (sm,))


@pytest.mark.parametrize(
    ("typed", "capabilities"),
    [
        ("GTX 860M", (30, 50)),
        ("GT 730", (21, 30, 35)),
        ("GT 740M", (30, 35)),
        ("GeForce 910M", (35, 52)),
        ("Quadro M4000M", (50, 52)),
        ("TITAN X", (52, 61)),
    ],
)
def test_a_name_of_several_chips_says_so(typed: str, capabilities: tuple[int, ...]) -> None:
    """Nobody decides by such a name; the note says why."""
    found = gpu_product(typed)

    assert found is not None
    assert found.capabilities == capabilities
    assert found.note


@pytest.mark.parametrize(
    ("typed", "sm"),
    [("RTX 2050", 86), ("RTX 3050 A Laptop GPU", 89), ("GTX TITAN X", 52), ("TITAN X (Pascal)", 61)],
)
def test_a_name_that_misleads_is_known_for_what_it_is(typed: str, sm: int) -> None:
    """The chip decides, not the series that the name is of."""
    found = gpu_product(typed)

    assert found is not None
    assert found.capabilities == (sm,)
    assert found.note


@pytest.mark.parametrize(
    "typed",
    ["", " ", "NVIDIA", "GeForce", "RTX", "GTX 1080 Tii", "RTX 9090", "A10-24Q", "sm_61", "\x00\u00df"],
)
def test_what_is_no_product_is_none(typed: str) -> None:
    """Nothing is guessed."""
    assert gpu_product(typed) is None


def test_a_typo_leads_to_near_names() -> None:
    """Nearest first, a handful, each a product."""
    assert near_products("GTX 1080Tii")[0] == "GeForce GTX 1080 Ti"
    assert near_products("RTX 4900")[:1]
    assert "A10" in near_products("NVIDIA A10-24Q")
    assert len(near_products("GTX 10")) <= 5
    assert near_products("") == ()
    assert near_products("Voodoo 3dfx") == ()


def test_near_names_are_said_once() -> None:
    """Though a product has several names."""
    near = near_products("AGX Orin Dev Kit")

    assert len(near) == len(set(near))
    assert "Jetson AGX Orin" in near


def _found(row: GpuProduct) -> set[GpuProduct | None]:
    spelled = (row.name, *row.names, row.name.lower().replace(" ", ""), f"NVIDIA {row.name.upper()}")
    return {gpu_product(name) for name in spelled}


def test_every_name_finds_its_product() -> None:
    """No two products claim one name, as people type it."""
    assert [row.name for row in gpu_products() if _found(row) != {row}] == []


def test_a_product_is_of_families_that_are_known() -> None:
    """Each capability has one, and each chip is of one of them; several have their note."""
    for row in gpu_products():
        assert None not in {gpu_family(sm) for sm in row.capabilities}, row.name
        assert list(row.capabilities) == sorted(set(row.capabilities)), row.name
        assert {CHIPS[chip] for chip in row.chips} <= set(row.capabilities), row.name
        assert len(row.capabilities) == 1 or row.note, row.name


def test_a_product_is_no_older_than_its_family() -> None:
    """As drivers know it, where both are known."""
    for row in gpu_products():
        families = [gpu_family(sm) for sm in row.capabilities]
        firsts = [Version(family.driver) for family in families if family and family.driver]
        assert not row.driver or Version(row.driver) >= min(firsts), row.name


def test_a_product_says_where_it_is_from() -> None:
    """What was read, and when."""
    for row in gpu_products():
        assert len(row.source) > 10, row.name
        assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row.checked), row.name
        assert row.note == "" or row.note.endswith("."), row.name


def test_products_are_in_the_order_that_the_file_states() -> None:
    """By capabilities, then by name, where 900 is before 1080."""
    order = [(row.capabilities, natural(row.name)) for row in gpu_products()]

    assert order == sorted(order)


def test_boards_are_boards() -> None:
    """The driver of a Jetson comes with its system; nothing else has such a chip."""
    boards = {row.name for row in gpu_products() if row.line == "jetson"}

    assert boards == {
        row.name
        for row in gpu_products()
        if any(family.modules == "tegra" for sm in row.capabilities if (family := gpu_family(sm)))
    }


def test_grace_hopper_needs_the_open_modules() -> None:
    """Though other GPUs of its family take either kind."""
    hopper, grace = gpu_product("H100"), gpu_product("GH200 480GB")

    assert hopper is not None
    assert hopper.modules is None
    assert grace is not None
    assert grace.modules == "open"


@pytest.mark.parametrize("row", gpu_families(), ids=lambda row: str(row.sm))
def test_a_family_is_whole(row: GpuFamily) -> None:
    """Its compilers are known, its driver can be read, and a last branch follows the first driver."""
    assert arch_window(str(row.sm)) is not None
    assert row.chips
    assert Arch(row.sm).real == f"sm_{row.sm}"
    assert row.last_branch is None or not row.driver or Version(row.driver).major <= row.last_branch
    assert row.modules != "tegra" or (row.driver, row.last_branch) == ("", None)
    assert len(row.source) > 10
    assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d|unconfirmed", row.checked)


def test_families_are_in_order_and_share_no_chip() -> None:
    """One row a capability, oldest first; a chip has one capability."""
    assert [row.sm for row in gpu_families()] == sorted({row.sm for row in gpu_families()})
    assert len(CHIPS) == sum(len(row.chips) for row in gpu_families())
    assert gpu_family(99) is None


@pytest.mark.parametrize(
    ("branch", "sms"),
    [
        (390, (20, 21)),
        (470, (30, 35, 37)),
        (580, (50, 52, 60, 61, 70)),
        (None, (75, 80, 86, 89, 90, 100, 103, 120, 121)),
    ],
)
def test_a_family_has_its_last_branch(branch: int | None, sms: tuple[int, ...]) -> None:
    """Fermi ends with 390, Kepler with 470, Maxwell, Pascal and Volta with 580; nothing later has ended."""
    found = [gpu_family(sm) for sm in sms]

    assert [row and row.last_branch for row in found] == [branch] * len(sms)


@pytest.mark.parametrize(
    ("modules", "sms"),
    [
        ("proprietary", (30, 37, 50, 61, 70)),
        ("either", (75, 80, 86, 89, 90)),
        ("open", (100, 103, 120, 121)),
        ("tegra", (32, 53, 62, 72, 87, 110)),
    ],
)
def test_a_family_has_its_kernel_modules(modules: str, sms: tuple[int, ...]) -> None:
    """Open ones begin with Turing, and alone drive Blackwell."""
    found = [gpu_family(sm) for sm in sms]

    assert [row and row.modules for row in found] == [modules] * len(sms)


def test_first_drivers_rise_with_the_hardware() -> None:
    """No later architecture is known to an older branch."""
    titles: dict[str, int] = {}
    for row in gpu_families():
        if row.driver:
            titles.setdefault(row.title, driver_branch(row.driver))

    assert all(older <= newer for older, newer in pairwise(titles.values()))


@pytest.mark.parametrize("row", gpu_families(), ids=lambda row: str(row.sm))
def test_dropped_chips_are_dropped_by_compilers_too(row: GpuFamily) -> None:
    """A family whose driver has ended is not compiled for without end."""
    window = arch_window(str(row.sm))

    assert window is not None
    ends = any(item.operator == "<" for item in SpecifierSet(window.cuda))
    assert row.modules == "tegra" or ends == (row.last_branch is not None)


def test_a_number_alone_leads_to_the_products_that_have_it() -> None:
    """Whoever says 4090 hears of GeForce RTX 4090 before anything that is only spelt alike."""
    assert near_products("4090")[0] == "GeForce RTX 4090"
