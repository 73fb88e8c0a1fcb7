"""What surrounds a build."""

from __future__ import annotations

from typing import Any

import pytest

from tests.preflight.stand_ins import CPU, case, gpu, host, outcome
from torchbuild.preflight.environment import (
    clock,
    forward_compat_in_path,
    git,
    host_driver,
    kernel_modules,
    misleading,
    proxies,
)


@pytest.mark.parametrize(
    ("check", "changed", "reference", "wanted"),
    [
        (git, {"git": ""}, "git-here", "failed"),
        (git, {}, "git-here", "passed"),
        (clock, {"clock": 1_000_000_000.0}, "clock-behind", "warned"),
        (clock, {"newest_file": 2.5e9}, "clock-behind", "warned"),
        (clock, {}, "clock-behind", "passed"),
        (proxies, {"proxies": {"ALL_PROXY": "socks5://proxy:1080"}}, "proxy-socks", "warned"),
        (proxies, {"proxies": {"https_proxy": "http://proxy:3128"}}, "proxy-socks", "passed"),
        (host_driver, {}, "driver-here", "not run"),
        (host_driver, {"driver": "535.129.03", "gpus": (gpu(),)}, "driver-here", "passed"),
        (
            host_driver,
            {"driver": "535.129.03", "driver_library": "550.54"},
            "driver-library-differs",
            "warned",
        ),
        (misleading, {"variables": {"USE_CUDA": "0", "NCCL_ROOT": "/x"}}, "variables-kept-out", "passed"),
    ],
)
def test_each_is_told(check: Any, changed: dict[str, Any], reference: str, wanted: str) -> None:
    """What is there, and whether it stops or misleads a build."""
    assert outcome(check(case(CPU, machine=host(**changed))), reference).outcome == wanted


def test_variables_are_named_and_kept_out() -> None:
    """They would change a build by hand; one here sees a list of its own."""
    item = outcome(misleading(case(machine=host(variables={"USE_CUDA": "0"}))), "variables-kept-out")

    assert item.seen == "USE_CUDA"


def test_blackwell_needs_the_open_kernel_modules() -> None:
    """With the others it does not start; a chip that either drives is not asked."""
    here = host(driver="570.86.16", modules="proprietary", gpus=(gpu("NVIDIA GeForce RTX 5090", 120),))

    assert outcome(kernel_modules(case(machine=here)), "driver-modules-here").outcome == "warned"


@pytest.mark.parametrize(
    ("name", "wanted"), [("GeForce RTX 3090", "warned"), ("NVIDIA A100-SXM4-80GB", "passed")]
)
def test_a_forward_compatibility_library_in_the_path(name: str, wanted: str) -> None:
    """On a consumer's GPU every program ends with error 804."""
    here = host(gpus=(gpu(name, 86),), variables={"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/x"})

    found = outcome(forward_compat_in_path(case(machine=here)), "forward-compat-in-path")

    assert found.outcome == wanted


def test_a_forward_compatibility_library_that_the_loader_finds_first() -> None:
    """Images of NVIDIA name its folder in the loader's configuration, and in no variable."""
    library = "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15"
    here = host(
        gpus=(gpu("GeForce RTX 3090", 86),), driver_libraries=(library, "/usr/lib/libcuda.so.470.256")
    )

    found = outcome(forward_compat_in_path(case(machine=here)), "forward-compat-in-path")

    assert (found.outcome, library in found.seen) == ("warned", True)
    later = here.model_copy(update={"driver_libraries": ("/opt/compatible/libcuda.so.470", library)})
    assert not list(forward_compat_in_path(case(machine=later)))
