"""cuDNN and NCCL: code for every GPU, releases that exist, and as near as can be to what upstream took."""

from __future__ import annotations

from torchbuild.advice.solve import solve
from torchbuild.advice.wish import Wish


def test_a_list_of_architectures_does_not_hide_the_gpu_from_the_libraries() -> None:
    """PTX of torch runs on a newer chip; cuDNN's own code must be for that chip all the same."""
    wish = Wish(torch="2.6", gpus=("RTX 5090",), driver="570", archs=("8.6+PTX",), cuda="12.4")
    assert solve(wish).value("cudnn.version").split(".")[:2] >= ["9", "7"]
    refused = solve(wish.model_copy(update={"cudnn": "9.1.0.70"}))
    assert {item.reference for item in refused.conflicts} == {"cudnn-lacks-chip"}


def test_a_library_that_torch_refuses_is_the_only_thing_that_is_told() -> None:
    """What no toolkit can mend is not told against drivers and toolkits that have nothing to do with it."""
    old = solve(Wish(torch="2.6", gpus=("P100",), driver="470", cudnn="8.3.2.44"))
    new = solve(Wish(torch="2.4", gpus=("K80",), driver="470", cudnn="9.1.0.70"))
    assert [item.reference for item in old.conflicts] == ["cudnn-lacks-chip"]
    assert "cudnn-lacks-chip" in {item.reference for item in new.conflicts}


def test_a_cudnn_that_was_never_made_for_a_toolkit_is_no_way_out() -> None:
    """9.10 is the last cuDNN for CUDA 11: a newer one is not offered for it, nor taken with it."""
    advice = solve(Wish(torch="2.14", gpus=("P100",), driver="580", cudnn="9.20.0.48"))
    assert not any(
        choice.key == "cuda.version" and choice.value.startswith("11.")
        for way in advice.ways
        for choice in way.choices
        if way.wish.cudnn
    )
    eleven = solve(Wish(torch="2.6", gpus=("A100",), cuda="11.8", cudnn="9.20.0.48"))
    assert {item.reference for item in eleven.conflicts} == {"cudnn-lacks-chip"}
    assert solve(Wish(torch="2.6", gpus=("A100",), cuda="11.8", cudnn="9.1.0")).is_possible


def test_without_a_pin_the_nearest_release_to_upstreams_is_taken() -> None:
    """Where upstream built for no such toolkit or machine, its other builds say what the tree was tried with."""
    arm = solve(Wish(torch="2.6", gpus=("GH200",), driver="560", machine="aarch64"))
    assert arm.value("nccl.version") == "2.21.5"
    newer = solve(Wish(torch="2.8", gpus=("A100",), driver="580", cuda="13.0"))
    assert (newer.value("cudnn.version"), newer.value("nccl.version")) == ("9.12.0.46", "2.27.7")
