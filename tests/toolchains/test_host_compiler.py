"""Which compiler a build takes, and why no other."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.toolchains.compilers_seen import compiler, debian_13, seen
from torchbuild.errors import ConflictError, HostError
from torchbuild.model.recipe_toolchain import Toolchain
from torchbuild.toolchains.host_compiler import Chosen, Named, choose, limits_of, named_of
from torchbuild.toolchains.host_compiler_seen import builder_of

NINE, TWELVE = compiler("g++-9", version="9.4.0"), compiler("g++-12", version="12.2.0")
FOURTEEN = compiler("g++", "g++-14", version="14.2.0")
CLANG = compiler("clang++-17", version="17.0.6", kind="clang")


def take(
    told: dict[str, Any],
    *,
    cuda: str = "12.4.1",
    torch: str = "2.6.0",
    machine: str = "x86_64",
    named: Named = Named(),  # noqa: B008  frozen
    is_waived: bool = False,
) -> Chosen:
    """What is chosen."""
    builder = builder_of(told)
    limits = limits_of(builder, cuda=cuda, torch=torch, machine=machine, is_waived=is_waived)
    return choose(builder, limits, named)


def test_the_newest_that_nvcc_takes_is_taken() -> None:
    """Debian's gcc 14 is too new for its own CUDA 12.4; the gcc 13 beside it is taken, under the toolkit's name."""
    chosen = take(debian_13())

    assert (chosen.cxx, chosen.cc) == ("/usr/bin/cuda-g++", "/usr/bin/cuda-gcc")
    assert chosen.compiler == "cuda-g++ (Distribution) 13.3.0"
    assert chosen.compiler_c == "cuda-gcc (Distribution) 13.3.0"
    assert "/usr/include/crt/host_config.h" in chosen.why
    (other,) = chosen.others
    assert "14.2.0" in other
    assert "gcc <14" in other
    assert chosen.warnings == ()


def test_the_order_in_which_they_were_found_decides_nothing() -> None:
    """The same builder gives the same compiler."""
    told = debian_13()
    turned = debian_13() | {"compilers": told["compilers"][::-1]}

    assert take(told).cxx == take(turned).cxx


def test_a_cpu_build_takes_what_it_always_took() -> None:
    """The default gcc and g++, or what the recipe names, whatever else is there and however old."""
    chosen = take(debian_13(), cuda="")

    assert (chosen.cc, chosen.cxx) == ("/usr/bin/gcc", "/usr/bin/g++")
    assert (chosen.compiler, chosen.compiler_c) == ("g++ (Distribution) 14.2.0", "gcc (Distribution) 14.2.0")
    assert (chosen.others, chosen.warnings) == ((), ())


def test_what_the_recipe_names_is_taken_where_it_may_be() -> None:
    """Not the newest, but the recipe's."""
    told = seen(TWELVE, FOURTEEN, compiler("g++-13", version="13.3.0"), most=13, cxx="/usr/bin/g++-12")

    chosen = take(told, named=Named(cxx="g++-12"))

    assert (chosen.cxx, chosen.cc) == ("/usr/bin/g++-12", "/usr/bin/gcc-12")
    assert chosen.why == "the recipe names it"


def test_what_the_recipe_names_is_refused_where_it_cannot_work() -> None:
    """With what was seen and wanted, who says so, and the one beside it that would do."""
    with pytest.raises(ConflictError) as caught:
        take(debian_13(), named=Named(cxx="g++"))

    assert caught.value.reference == "host-compiler-refused"
    text = " ".join(caught.value.why)
    assert "seen 14.2.0" in text
    assert "wanted gcc <14 for CUDA 12.4.1 (/usr/include/crt/host_config.h)" in text
    assert "/usr/bin/cuda-g++ (gcc 13.3.0): would do" in caught.value.why
    assert caught.value.fix == "Set toolchain.cxx to /usr/bin/cuda-g++."


def test_where_none_can_work_the_packages_are_named() -> None:
    """Each candidate with its reason, and what the builder's own distribution has that would do."""
    told = seen(FOURTEEN, NINE, CLANG, most=13)
    told["compilers"][1] |= {"compiles": "exit code 1: cannot find -lc"}

    with pytest.raises(ConflictError) as caught:
        take(told)

    assert caught.value.reference == "host-compiler-none"
    assert [row.split(" (")[0] for row in caught.value.why] == [
        "/usr/bin/g++",
        "/usr/bin/g++-9",
        "/usr/bin/clang++-17",
    ]
    assert "cannot find -lc" in caught.value.why[1]
    assert "toolchain.cxx" in caught.value.why[2]
    assert "apt-get install gcc-13 g++-13" in caught.value.fix
    assert "nvidia-cuda-toolkit-gcc" in caught.value.fix


@pytest.mark.parametrize(
    ("system", "fix"),
    [
        ({"id": "debian", "release": "12"}, "gcc-12 g++-12"),
        ({"id": "almalinux", "release": "8.10"}, "gcc-toolset-13-gcc-c++"),
        ({"id": "fedora", "release": "43"}, "gcc13-c++"),
        ({"id": "plan9", "release": ""}, "gcc <14,>=9.3 in the builder, and name it"),
        ({"id": "", "release": ""}, "none is known of its distribution"),
    ],
    ids=lambda item: item if isinstance(item, str) else item["id"],
)
def test_the_advice_is_for_the_builders_distribution(system: dict[str, str], fix: str) -> None:
    """The newest that it has and nothing speaks against; without a row, the versions that would do."""
    with pytest.raises(ConflictError) as caught:
        take(seen(FOURTEEN, most=13, distribution=system))

    assert fix in caught.value.fix


def test_a_table_alone_refuses_nothing() -> None:
    """Where the toolkit is not in the builder yet, what is known of it only warns: its header decides later."""
    chosen = take(seen(FOURTEEN))

    assert chosen.cxx == "/usr/bin/g++"
    assert any("14.2.0" in warning and "<14" in warning for warning in chosen.warnings)
    assert "may yet work" in chosen.why


def test_a_table_decides_between_those_that_are_there() -> None:
    """A compiler without a doubt comes before a newer one with one."""
    assert take(seen(FOURTEEN, TWELVE)).cxx == "/usr/bin/g++-12"


def test_a_toolkit_nobody_knows_is_no_reason_to_refuse() -> None:
    """The newest is taken, and the toolkit's own proof decides."""
    chosen = take(seen(FOURTEEN, TWELVE), cuda="99.1")

    assert chosen.cxx == "/usr/bin/g++"
    assert chosen.warnings == ()


def test_the_trees_own_minimum_counts() -> None:
    """A gcc at which the tree stops is refused at once; one that is only said to be old is warned."""
    eight = compiler("g++", version="8.5.0")

    with pytest.raises(ConflictError) as caught:
        take(seen(eight, most=13))

    assert ">=9.3" in " ".join(caught.value.why)
    assert any(">=9" in warning for warning in take(seen(eight, most=13), torch="2.1.2").warnings)


def test_a_cache_is_not_taken_for_a_compiler() -> None:
    """A name that leads to ccache is the same compiler in disguise; the recipe says whether there is a cache."""
    cache = compiler("g++", version="13.3.0", real="/usr/bin/ccache")

    assert take(seen(cache, compiler("a-g++-13", version="13.3.0"), most=13)).cxx == "/usr/bin/a-g++-13"


def test_a_pair_that_breaks_comes_last() -> None:
    """It is taken only where nothing else is there, and then warned."""
    pair = compiler("g++", version="11.5.0", machine="aarch64")
    good = compiler("g++-11.4", version="11.4.0", machine="aarch64")

    assert take(seen(pair, good), machine="aarch64").cxx == "/usr/bin/g++-11.4"
    assert any("SVE" in warning for warning in take(seen(pair), machine="aarch64").warnings)


def test_a_compiler_for_another_machine_is_none() -> None:
    """A cross compiler compiles and does not start; an emulated one starts, and makes another wheel."""
    with pytest.raises(ConflictError) as caught:
        take(seen(compiler("g++", version="13.3.0", machine="aarch64", target="aarch64-linux-gnu"), most=13))

    assert "aarch64-linux-gnu, wanted x86_64" in caught.value.why[0]


@pytest.mark.parametrize(("kind", "version"), [("other", "2025.0.0"), ("", ""), ("gcc", "")])
def test_what_is_neither_gcc_nor_clang_is_not_taken(kind: str, version: str) -> None:
    """No other is taken by nvcc, and a compiler that does not say what it is cannot be judged."""
    with pytest.raises(ConflictError) as caught:
        take(seen(compiler("g++", version="13.3.0") | {"kind": kind, "version": version}))

    assert "gcc or clang" in caught.value.why[0]


def test_clang_is_taken_where_it_is_named_alone() -> None:
    """Nobody gets another compiler without having asked."""
    told = seen(FOURTEEN, CLANG, most=13, cxx="/usr/bin/clang++-17")

    with pytest.raises(ConflictError):
        take(told)
    chosen = take(told, named=Named(cxx="clang++-17"))

    assert (chosen.cxx, chosen.cc) == ("/usr/bin/clang++-17", "/usr/bin/clang-17")


def test_who_waives_the_check_is_warned() -> None:
    """-allow-unsupported-compiler is the recipe's word; it stays visible."""
    chosen = take(debian_13(), named=Named(cxx="g++"), is_waived=True)

    assert chosen.cxx == "/usr/bin/g++"
    assert any("unsupported GNU version" in warning for warning in chosen.warnings)


def test_a_header_that_misses_a_file_refuses_nobody() -> None:
    """A preprocessor that cannot find features.h says nothing about versions: the range does."""
    row = compiler("g++", version="13.3.0")
    told = seen(row, most=13)
    told["compilers"][0]["header"] = {"code": 1, "said": "fatal error: features.h: No such file or directory"}

    assert take(told).warnings == ()


def test_the_named_c_compiler_is_kept_and_compared() -> None:
    """A C compiler of another version beside it is the recipe's wish, and said."""
    chosen = take(debian_13(), named=Named(cc="gcc"))

    assert (chosen.cxx, chosen.cc) == ("/usr/bin/cuda-g++", "/usr/bin/gcc")
    assert any("/usr/bin/gcc (gcc 14.2.0)" in warning for warning in chosen.warnings)


@pytest.mark.parametrize(
    ("named", "gone"),
    [
        (Named(cxx="g++-99"), {"cxx": ""}),
        (Named(cc="gcc-99"), {"cc": ""}),
        (Named(cxx="/x/g++"), {"cxx": "/x/g++"}),
    ],
    ids=["cxx", "cc", "not looked at"],
)
def test_what_is_named_and_missing_is_said(named: Named, gone: dict[str, str]) -> None:
    """By the name that the recipe has."""
    with pytest.raises(HostError) as caught:
        take(debian_13() | gone, named=named)

    assert caught.value.reference == "compiler-missing"
    assert (named.cxx or named.cc) in caught.value.what


def test_torchs_own_table_is_a_third_opinion() -> None:
    """It refuses nothing here, and whoever compiles extensions for the wheel is warned."""
    chosen = take(seen(FOURTEEN, most=14), cuda="12.8.1", torch="2.11.0")

    assert chosen.cxx == "/usr/bin/g++"
    assert any("extensions" in warning for warning in chosen.warnings)
    assert take(seen(FOURTEEN, most=14), cuda="12.8.1", torch="2.13.0").warnings == ()


def test_a_default_is_not_the_recipes_word() -> None:
    """Only what stands in the recipe is named."""
    assert named_of(Toolchain()) == Named()
    assert named_of(Toolchain(cxx="g++")) == Named(cxx="g++")


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"compilers": "none"},
        debian_13() | {"compilers": [{"names": 3}]},
        debian_13() | {"host_config": []},
        debian_13() | {"compilers": [compiler("g++", version="13.x")]},
        debian_13() | {"device": {"code": "0", "said": "", "cxx": ""}},
    ],
    ids=["nothing", "text", "numbers", "list", "version", "type"],
)
def test_what_a_guest_should_not_say_is_refused(told: dict[str, Any]) -> None:
    """A builder that answers something else is the machine's fault, in words."""
    with pytest.raises(HostError) as caught:
        builder_of(told)

    assert caught.value.reference == "compilers-unreadable"


def test_a_builder_without_compilers_is_told_what_to_install() -> None:
    """Nothing to choose from is a refusal as well."""
    told = copy.deepcopy(debian_13()) | {"compilers": [], "cc": "", "cxx": ""}

    with pytest.raises(ConflictError) as caught:
        take(told)

    assert caught.value.why == ("it has none",)
