"""The host compiler beside the toolkit, judged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toolchains.compilers_seen import REFUSAL, compiler, debian_13, seen
from torchbuild.model.finding import Finding
from torchbuild.model.part import LockedPart
from torchbuild.toolchains.host_compiler_proof import CHECKS
from torchbuild.toolchains.proof import Wanted, judge

PART = LockedPart(name="cuda", provider="apt", version="12.4.1", prefix="/usr")
CXX = "/usr/bin/cuda-g++"
COMPILED = {"code": 0, "said": "", "cxx": CXX}
NOT_COMPILED = {"code": 2, "said": "error: exception specification is incompatible", "cxx": CXX}

PACKS = {"code": 2, "said": "error: parameter packs not expanded with '...'", "cxx": CXX}


def judged(told: dict[str, Any], **wanted: str) -> dict[str, Finding]:
    """By reference; each at most once."""
    asked = {"cxx": CXX, "torch": "2.6.0", "cuda": "12.4"} | wanted
    found = judge(CHECKS, PART, Wanted.model_validate(asked), told)
    assert len({item.reference for item in found}) == len(found)
    return {item.reference: item for item in found}


def outcomes(told: dict[str, Any], **wanted: str) -> dict[str, str]:
    """Reference to outcome."""
    return {name: item.outcome for name, item in judged(told, **wanted).items()}


def one(version: str, **changed: Any) -> dict[str, Any]:
    """A builder with one gcc, under the name that is wanted, its header's limit far away."""
    most = changed.pop("most", None)
    return seen(compiler("cuda-g++", version=version), most=most, **changed)


def test_a_good_compiler_passes_everything_that_can_be_looked_at() -> None:
    """And what could not be looked at says why."""
    assert outcomes(debian_13(device=COMPILED)) == {
        "cuda-host-compiler": "passed",
        "cuda-host-compiler-limit": "passed",
        "cuda-host-compiler-kernel": "passed",
        "cuda-host-config-release": "passed",
        "torch-host-compiler": "passed",
        "cuda-host-compiler-pair": "passed",
        "cuda-glibc-headers": "passed",
        "torch-extension-compilers": "not run",
    }


def test_the_header_that_refuses_ends_the_build() -> None:
    """With its own words."""
    found = judged(debian_13(), cxx="/usr/bin/g++")["cuda-host-compiler-limit"]

    assert found.outcome == "failed"
    assert (found.seen, found.wanted) == (REFUSAL, "gcc <14")


def test_a_kernel_that_compiles_all_the_same_is_shown_with_the_refusal() -> None:
    """Who told nvcc to take any compiler sees both."""
    told = debian_13(device=COMPILED | {"cxx": "/usr/bin/g++"})
    found = judged(told, cxx="/usr/bin/g++")["cuda-host-compiler-limit"]

    assert found.outcome == "warned"
    assert REFUSAL in found.seen
    assert "compiles all the same" in found.seen


def test_another_compilers_kernel_proves_nothing() -> None:
    """What was compiled with one compiler is not told of another."""
    told = debian_13(device=COMPILED)

    assert outcomes(told, cxx="/usr/bin/g++")["cuda-host-compiler-limit"] == "failed"


@pytest.mark.parametrize(("version", "outcome"), [("13.3.0", "passed"), ("14.2.0", "warned")])
def test_without_a_header_a_table_is_asked(version: str, outcome: str) -> None:
    """And only warns."""
    assert outcomes(one(version))["cuda-host-compiler-limit"] == outcome


def test_without_header_and_table_nothing_is_claimed() -> None:
    """Not run is not passed."""
    found = judged(one("13.3.0"), cuda="99.0")["cuda-host-compiler-limit"]

    assert found.outcome == "not run"
    assert "no table" in found.what


def test_a_header_that_was_not_asked_is_read() -> None:
    """A preprocessor that could not run leaves the header's own text, which is certain."""
    told = one("14.2.0", most=13)
    told["compilers"][0]["header"] = {"code": 127, "said": "timed out"}

    assert outcomes(told)["cuda-host-compiler-limit"] == "failed"


def test_another_toolkits_header_is_noticed() -> None:
    """A header with the limit of another release lies where this one's should."""
    found = judged(one("11.4.0", most=11))["cuda-host-config-release"]

    assert (found.outcome, found.seen) == ("warned", "gcc <12")
    assert "gcc <14 of CUDA 12.4" in found.wanted


@pytest.mark.parametrize(("release", "outcome"), [("11.4.0", "warned"), ("11.4.1", "passed")])
def test_the_exact_release_counts(release: str, outcome: str) -> None:
    """11.4.1 takes gcc 11 and 11.4.0 does not, though both are 11.4."""
    part = LockedPart(name="cuda", provider="runfile", version=release, prefix="/opt/cuda")
    wanted = Wanted(cxx=CXX, cuda="11.4", torch="1.13.1")

    found = {item.reference: item for item in judge(CHECKS, part, wanted, one("10.2.1", most=11))}

    assert found["cuda-host-config-release"].outcome == outcome


def test_a_header_that_is_not_understood_is_told() -> None:
    """With the condition."""
    told = one("13.3.0")
    told["host_config"] = {
        "path": "/h",
        "directives": "#if NEW(__GNUC__)\n#error unsupported GNU version\n#endif",
    }
    found = judged(told)["cuda-host-config-release"]

    assert found.outcome == "not run"
    assert "NEW(__GNUC__)" in found.what


@pytest.mark.parametrize(
    ("version", "torch", "outcome"),
    [
        ("9.2.0", "2.6.0", "failed"),
        ("9.3.0", "2.6.0", "passed"),
        ("8.5.0", "2.1.2", "warned"),
        ("8.5.0", "2.3.0", "failed"),
        ("11.2.0", "2.13.0", "failed"),
        ("11.3.0", "2.13.0", "passed"),
        ("9.4.0", "", "not run"),
    ],
)
def test_the_trees_minimum_depends_on_its_release(version: str, torch: str, outcome: str) -> None:
    """Fatal where the tree's own CMake file stops, a warning where it is only told."""
    assert outcomes(one(version), torch=torch)["torch-host-compiler"] == outcome


@pytest.mark.parametrize(
    ("device", "outcome"),
    [
        (COMPILED, "warned"),
        (PACKS, "failed"),
        (NOT_COMPILED, "warned"),
        ({"code": -1, "said": "", "cxx": ""}, "warned"),
    ],
    ids=["compiles", "breaks", "breaks of something else", "not tried"],
)
def test_of_a_known_bad_pair_the_probe_decides(device: dict[str, Any], outcome: str) -> None:
    """A list of pairs raises suspicion; a kernel that does not compile makes it an error, and both are shown."""
    found = judged(one("11.2.0", device=device), cuda="11.5", torch="1.13.1")["cuda-host-compiler-pair"]

    assert found.outcome == outcome
    assert "parameter packs" in found.what
    assert device is not PACKS or PACKS["said"] in found.seen


@pytest.mark.parametrize(
    ("device", "outcome"), [(COMPILED, "warned"), (NOT_COMPILED, "failed")], ids=["patched", "breaks"]
)
def test_of_contradicting_headers_the_probe_decides(device: dict[str, Any], outcome: str) -> None:
    """Debian's patched 12.4 compiles on glibc 2.41 where NVIDIA's own does not; no compiler is advised."""
    found = judged(debian_13(glibc="2.41", device=device))["cuda-glibc-headers"]

    assert found.outcome == outcome
    assert "cospi" in found.what
    assert "no other compiler helps" in found.wanted


@pytest.mark.parametrize(
    ("device", "outcome"),
    [(COMPILED, "passed"), (NOT_COMPILED, "failed"), (COMPILED | {"cxx": "/usr/bin/g++"}, "not run")],
    ids=["compiles", "breaks", "another compiler's"],
)
def test_a_kernel_is_a_check_of_its_own(device: dict[str, Any], outcome: str) -> None:
    """Whatever is known of the pair, one that does not compile ends the build."""
    assert outcomes(debian_13(device=device))["cuda-host-compiler-kernel"] == outcome


def test_a_refusal_is_not_taken_for_another_cause() -> None:
    """Seen with Debian's gcc 14: nvcc stops at the version, and the C library's headers are not to blame."""
    told = debian_13(glibc="2.41", device={"code": 1, "said": REFUSAL, "cxx": "/usr/bin/g++"})
    found = outcomes(told, cxx="/usr/bin/g++")

    assert (found["cuda-host-compiler-limit"], found["cuda-host-compiler-kernel"]) == ("failed", "failed")
    assert found["cuda-glibc-headers"] == "warned"


@pytest.mark.parametrize("changed", [{"glibc": ""}, {}], ids=["glibc", "cuda"])
def test_a_library_that_is_not_known_is_not_judged(changed: dict[str, str]) -> None:
    """Nothing is claimed of what was not seen."""
    cuda = "12.4" if changed else ""

    assert outcomes(debian_13(**changed), cuda=cuda)["cuda-glibc-headers"] == "not run"


def test_torchs_own_table_only_warns() -> None:
    """It refuses gcc 14 for CUDA 12.8, and nvcc takes it."""
    found = outcomes(one("14.2.0", most=14), cuda="12.8", torch="2.11.0")

    assert (found["cuda-host-compiler-limit"], found["torch-extension-compilers"]) == ("passed", "warned")


def test_clang_has_its_own_limit() -> None:
    """The minimum of gcc and its bad pairs are not clang's."""
    row = compiler("cuda-g++", version="18.1.0", kind="clang")
    told = seen(row | {"header": {"code": 1, "said": "error: -- unsupported clang version! made up"}})

    found = outcomes(told)

    assert found["cuda-host-compiler-limit"] == "failed"
    assert "torch-host-compiler" not in found
    assert "cuda-host-compiler-pair" not in found


@pytest.mark.parametrize(
    "told",
    [
        {},
        debian_13() | {"compilers": []},
        debian_13() | {"compilers": [compiler("cuda-g++", version="13.3.0", compiles="exit code 1: no")]},
        debian_13() | {"compilers": [compiler("cuda-g++", version="13.3.0", kind="other")]},
    ],
    ids=["nothing", "none", "broken", "other"],
)
def test_a_compiler_that_cannot_be_judged_fails(told: dict[str, Any]) -> None:
    """No silence: what is not there has not passed."""
    assert outcomes(told)["cuda-host-compiler"] == "failed"
