"""What no toolkit can mend, by the facts of chips, drivers and machines."""

from __future__ import annotations

import pytest

from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish


@pytest.mark.parametrize("gpu", ["A100", "T4", "RTX 3090", "sm_80"])
def test_open_modules_are_no_older_than_515(gpu: str) -> None:
    """Before 515 a driver has proprietary modules only, whatever the chip takes."""
    old = solve(Wish(torch="2.6", gpus=(gpu,), driver="470", modules="open"))
    assert {item.reference for item in old.conflicts} == {"driver-older-than-chip"}
    assert any(way.wish.driver.startswith("515") or way.wish.modules == "proprietary" for way in old.ways)
    assert solve(Wish(torch="2.6", gpus=(gpu,), driver="470", modules="proprietary")).is_possible


def test_a_product_is_held_against_its_own_first_driver() -> None:
    """T4 is listed by the open modules from 575 on, and works with the proprietary ones since 410.78."""
    assert solve(Wish(torch="2.6", gpus=("T4",), driver="450")).is_possible


@pytest.mark.parametrize("gpu", ["Jetson AGX Orin", "sm_87", "GB10", "DGX Spark", "GH200", "GB200", "GB300"])
def test_a_gpu_of_an_arm_machine_is_refused_for_x86_64(gpu: str) -> None:
    """A wheel for the wrong processor is no answer, however the GPU is named."""
    advice = solve(Wish(torch="2.9", gpus=(gpu,), driver="" if "J" in gpu or "87" in gpu else "590"))
    assert "machine-not-of-gpu" in {item.reference for item in advice.conflicts}
    assert any(way.wish.machine == "aarch64" for way in advice.ways)


def test_torch_2_15_is_for_python_3_11_and_newer() -> None:
    """What its metadata says counts; what nobody read of it is told as unconfirmed."""
    advice = solve(Wish(torch="2.15", python="3.10"))
    assert {item.reference for item in advice.conflicts} == {"python-outside-torch"}
    assert any(item.table == "torch_python.release" for item in advice.unconfirmed)
    assert solve(Wish(torch="2.15")).value("python.version") == "3.14"


def test_nothing_is_promised_of_newer_torches_where_none_helps() -> None:
    """No release of torch compiles for sm_30: the fix does not send anybody to look for one."""
    advice = solve(Wish(torch="1.13", gpus=("GTX 680",), driver="470"))
    assert advice.ways == ()
    assert not any("newer torch" in item.fix for item in advice.conflicts)
    newer = solve(Wish(torch="2.5", gpus=("RTX 5090",), driver="570"))
    assert any("newer torch" in item.fix for item in newer.conflicts)
