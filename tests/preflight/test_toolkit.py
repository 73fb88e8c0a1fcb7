"""The toolkit: real compilers, providers, the installer's traps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CUDA, case, host, nvcc, outcome
from torchbuild.preflight.toolkit import device_compilers, foreign_installer, providers_can, real_nvcc

SYSTEM = CUDA.replace('from = "redist"', 'from = "system"\npath = "/opt/cuda"')


def found(*nvccs: Any, text: str = SYSTEM) -> Any:
    """What is said of these compilers."""
    return real_nvcc(case(text, machine=host(nvccs=nvccs)))


def test_the_real_nvcc_is_asked_for_each_architecture() -> None:
    """The first classic trap's other half: an nvcc that cannot target what the recipe names."""
    old = nvcc("12.4.131").model_copy(update={"archs": ("compute_50", "compute_75")})

    item = outcome(found(old), "nvcc-architectures")

    assert (item.outcome, item.is_fatal) == ("failed", True)
    assert item.wanted == "compute_90"
    assert "compute_50 to compute_75" in item.seen


def test_an_nvcc_that_can_do_it_passes() -> None:
    """Release and architectures, both as it says itself."""
    assert {item.outcome for item in found(nvcc())} == {"passed"}


def test_a_variant_of_a_chip_is_its_chip_s() -> None:
    """No nvcc lists compute_90a, and each that lists compute_90 of 12 and later compiles for it."""
    text = SYSTEM.replace('archs = ["7.5", "9.0"]', 'archs = ["9.0a", "10.0f"]')

    item = outcome(found(nvcc(), text=text), "nvcc-architectures")

    assert (item.outcome, item.wanted) == ("failed", "compute_100")
    assert "9.0a" not in item.what


@pytest.mark.parametrize(
    ("there", "seen"),
    [
        (nvcc("11.8.89"), "11.8.89"),
        (nvcc(headers="12.2"), "cuda.h 12.2"),
        (nvcc("", why="Exec format error"), "Exec format error"),
        (nvcc(place="/usr/local/cuda-13.0"), "/usr/local/cuda-13.0/bin/nvcc"),
    ],
    ids=["other release", "other headers", "does not start", "elsewhere"],
)
def test_the_nvcc_of_the_recipe_is_the_one_that_is_meant(there: Any, seen: str) -> None:
    """A folder's name proves nothing; headers of another toolkit, a dead program, an absent one are told."""
    item = outcome(found(there), "nvcc-of-recipe")

    assert item.outcome == "failed"
    assert seen in item.seen


def test_the_image_s_nvcc_is_not_this_machine_s() -> None:
    """What lies here says nothing of a builder image."""
    text = SYSTEM + '[image]\nname = "builder"\n'

    (item,) = found(nvcc("11.8.89"), text=text)

    assert item.outcome == "not run"


def test_several_toolkits_are_told() -> None:
    """CMake takes the first; two ways to one toolkit are one."""
    link = nvcc().model_copy(update={"path": "/usr/local/bin/nvcc"})

    one = outcome(device_compilers(case(machine=host(nvccs=(nvcc(), link)))), "nvcc-several")
    two = outcome(device_compilers(case(machine=host(nvccs=(nvcc(), nvcc(place="/opt/b"))))), "nvcc-several")

    assert (one.outcome, two.outcome) == ("passed", "warned")


def test_a_name_in_a_variable_is_no_toolkit() -> None:
    """CUDA_HOME often names what was removed: that is neither the recipe's nor a second one."""
    absent = nvcc("", place="/opt/gone", kind="absent", why="No such file or directory", toolkit="")
    named = absent.model_copy(update={"path": "/opt/cuda/bin/nvcc", "found_by": "recipe"})

    several = outcome(device_compilers(case(machine=host(nvccs=(absent, nvcc())))), "nvcc-several")
    missing = outcome(found(named, absent), "nvcc-of-recipe")

    assert several.outcome == "passed"
    assert (missing.what, missing.seen) == ("nvcc of /opt/cuda is not there", "no nvcc at all")


def test_a_provider_that_cannot_have_it_is_told_under_its_own_name() -> None:
    """What locking would refuse after minutes is refused now, with the same reference."""
    text = CUDA + '[nccl]\nversion = "2.99.9"\nfrom = "tarball"\n'

    item = outcome(providers_can(case(text)), "nccl-tarball-unknown")

    assert (item.outcome, item.blames) == ("failed", "recipe")


@pytest.mark.parametrize(
    ("provider", "namespaces", "wanted"),
    [("runfile", False, "failed"), ("runfile", True, "passed"), ("redist", False, "")],
)
def test_another_user_s_installer_log_is_in_the_way(provider: str, namespaces: bool, wanted: str) -> None:
    """It crashes an installer that has no /tmp of its own; other providers do not care."""
    here = host(installer_logs=("/tmp/cuda-installer.log",), has_namespaces=namespaces)

    found = list(foreign_installer(case(CUDA.replace("redist", provider), machine=here)))

    assert "".join(item.outcome for item in found) == wanted
