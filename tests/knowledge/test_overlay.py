"""A user's own facts win row by row, and every row that they changed is on record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from torchbuild.errors import RecipeError
from torchbuild.knowledge.cuda import compat_floor, cuda_release, cuda_releases, installer_fact
from torchbuild.knowledge.fact import Overlay, facts_file, overlay, table_cache, using
from torchbuild.knowledge.gpus import gpu_product
from torchbuild.knowledge.host_compilers import nvcc_fact
from torchbuild.knowledge.interpreters import torch_python
from torchbuild.knowledge.overlay import read_overlay
from torchbuild.knowledge.own_sources import sources_digest
from torchbuild.knowledge.tables import era_fact
from torchbuild.model.lock import Lock
from torchbuild.resolve.lines import key_lines
from torchbuild.resolve.lockfile import dump_lock, parse_lock
from torchbuild.stages import package, toolchain

GPU = """
[[product]]
name = "GeForce GTX 9999"
names = ["the new one"]
chips = ["GX999"]
capabilities = [130]
line = "geforce"
driver = "700.10"
note = ""
source = "the box"
checked = "unconfirmed"
"""
SOURCED = 'source = "our own driver page"\nchecked = "2026-11-30"\n'


def test_a_new_gpu_can_be_taught() -> None:
    """A row with a new key is known while the overlay is laid, and no longer."""
    laid = read_overlay({"gpus": GPU})
    before = gpu_product("GeForce GTX 9999")

    with using(laid):
        found = gpu_product("gtx 9999")
        assert gpu_product("GeForce GTX 1080 Ti") is not None

    assert found is not None
    assert found.capabilities == (130,)
    assert before is None
    assert gpu_product("GeForce GTX 9999") is None


def test_a_row_of_the_users_takes_the_place_of_ours() -> None:
    """The same key, the whole row: nothing of ours is mixed into it, and no other row moves."""
    ours = cuda_release("12.4.1")
    row = f'[[release]]\nversion = "12.4.1"\ndriver = "550.54.15"\nnative = "550.90.01"\nlacks = "ours"\n{SOURCED}'
    versions = [item.version for item in cuda_releases()]

    with using(read_overlay({"cuda": row})):
        found = cuda_release("12.4.1")
        assert [item.version for item in cuda_releases()] == versions

    assert ours is not None
    assert found is not None
    assert (found.native, found.source, found.x86_64) == ("550.90.01", "our own driver page", None)
    assert cuda_release("12.4.1") == ours


def test_a_row_can_be_taken_away() -> None:
    """``remove = true`` with the key: what a site never has is not chosen."""
    row = f'[[release]]\nversion = "12.4.0"\nremove = true\n{SOURCED}'

    with using(read_overlay({"cuda": row})):
        assert cuda_release("12.4.0") is None
        assert cuda_release("12.4") == cuda_release("12.4.1")


def test_an_added_release_stands_where_its_number_wants_it() -> None:
    """The newest patch of a line is the newest, wherever the user wrote it."""
    row = f'[[release]]\nversion = "12.10.0"\ndriver = ""\nnative = ""\nlacks = "a test"\n{SOURCED}'

    with using(read_overlay({"cuda": row})):
        versions = [item.version for item in cuda_releases()]

    assert versions[versions.index("12.10.0") - 1].startswith("12.9.")
    assert versions[versions.index("12.10.0") + 1] == "13.0.0"


def test_a_range_of_the_users_counts_before_ours() -> None:
    """Where the first row that fits counts, the user need not cut our range in two."""
    row = f'[[nvcc]]\ncuda = "==12.4.1"\ngcc = "<99"\nclang = "<99"\nminimum = ">=6"\n{SOURCED}'

    with using(read_overlay({"host_compilers": row})):
        one, next_one = nvcc_fact("12.4.1"), nvcc_fact("12.5.0")

    assert one is not None
    assert one.gcc == "<99"
    assert next_one == nvcc_fact("12.5.0")


def test_single_rows_and_named_rows_can_be_replaced() -> None:
    """Not only lists: a table that is one row, and one whose rows have names."""
    installer = dict(facts_file("cuda")["installer"]) | {"default_path": "/opt/cuda-{minor}"}
    era = dict(facts_file("eras")["setup-py"]) | {"names": ["BLAS", "OURS"]}
    texts = {
        "cuda": _toml("installer", installer),
        "eras": _toml("setup-py", era),
    }

    with using(read_overlay(texts)):
        assert installer_fact().default_path == "/opt/cuda-{minor}"
        assert era_fact("setup-py").names == ("BLAS", "OURS")
        assert era_fact("scikit-build-core").names

    assert installer_fact().default_path == "/usr/local/cuda-{minor}"


def test_every_changed_row_is_on_record_and_no_other() -> None:
    """Added, replaced and removed rows have a line with the row's digest; one that says what we say has none."""
    same = dict(facts_file("torch_python")["release"][0])
    floor = f'[[floor]]\ncuda = ">=12,<13"\ndriver = "525.99"\n{SOURCED}'
    gone = f'[[floor]]\ncuda = ">=13,<14"\nremove = true\n{SOURCED}'

    laid = read_overlay({"cuda": floor + gone, "gpus": GPU, "torch_python": _toml("[release]", same)})

    assert [line.partition(", sha256 ")[0] for line in laid.lines()] == [
        "cuda.floor >=12,<13: replaced by the user's overlay",
        "cuda.floor >=13,<14: removed by the user's overlay",
        "gpus.product GeForce GTX 9999: added by the user's overlay",
    ]
    assert [item.file for item in laid.files] == ["cuda", "gpus"]
    assert len(laid.lines()[0].partition(", sha256 ")[2]) == 64
    with using(laid):
        assert compat_floor("13.0") is None
        assert torch_python("1.12.1") is not None


def test_the_record_tells_another_value_from_the_same() -> None:
    """A comment changes nothing; a value changes the row's digest."""
    first, second = read_overlay({"gpus": GPU}), read_overlay({"gpus": "# new\n" + GPU})
    third = read_overlay({"gpus": GPU.replace("700.10", "700.20")})

    assert first.changes == second.changes
    assert first.files == second.files
    assert first.changes != third.changes


def test_an_empty_overlay_changes_nothing() -> None:
    """No files, or files without a row: what is known is what this program knows."""
    assert read_overlay({}) == Overlay()
    assert read_overlay({"gpus": "# nothing yet\n"}).changes == ()
    assert overlay() == Overlay()


def test_what_is_computed_from_facts_is_forgotten_with_them() -> None:
    """A cache of facts never outlives them, and is kept while they stay."""
    calls = []

    @table_cache
    def native(version: str) -> str:
        calls.append(version)
        row = cuda_release(version)
        return row.native if row else ""

    row = f'[[release]]\nversion = "12.4.1"\ndriver = ""\nnative = "1.0"\nlacks = "a test"\n{SOURCED}'
    ours = native("12.4.1")
    with using(read_overlay({"cuda": row})):
        assert native("12.4.1") == native("12.4.1") == "1.0"
    assert native("12.4.1") == ours
    assert len(calls) == 3


def test_ours_count_again_however_it_ends() -> None:
    """Also where what ran with the user's facts failed."""
    with pytest.raises(ZeroDivisionError), using(read_overlay({"gpus": GPU})):
        raise ZeroDivisionError

    assert overlay() == Overlay()


def test_a_stage_that_weighs_by_a_table_runs_again_with_another_row(make_lock: Callable[..., Lock]) -> None:
    """What a check says by a fact is stale where the fact is another one, and only there."""
    row = f'[[library]]\nsoname = "libours.so.1"\nmachines = ["x86_64"]\nprovider = "us"\n{SOURCED}'
    lock = make_lock()
    before, other = package.plan(lock).key.digest, toolchain.plan(lock).key.digest

    with using(read_overlay({"platform_libraries": row})):
        assert package.plan(lock).key.digest != before
        assert toolchain.plan(lock).key.digest == other
    with using(read_overlay({"gpus": GPU})):
        assert package.plan(lock).key.digest == before
    assert package.plan(lock).key.digest == before


@pytest.mark.parametrize(
    ("file", "row"),
    [
        ("numpy", f'[[made_against]]\ntorch = "==2.6.0"\nabi = 1\npins = {{}}\n{SOURCED}'),
        ("platform_tags", f'[[oldest]]\nmachine = "x86_64"\nglibc = "2.6"\n{SOURCED}'),
    ],
)
def test_each_stage_counts_the_tables_that_it_weighs_by(
    make_lock: Callable[..., Lock], file: str, row: str
) -> None:
    """One of the two stages weighs by each of these, and the other is not disturbed."""
    lock = make_lock()
    before = [item.plan(lock).key.digest for item in (package, toolchain)]

    with using(read_overlay({file: row})):
        after = [item.plan(lock).key.digest for item in (package, toolchain)]

    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


def test_the_digest_of_a_table_counts_the_users_rows() -> None:
    """Every table that a stage names as what it weighs by is digested with the rows that are laid over it."""
    place = "knowledge/data/host_compilers.toml"
    row = f'[[nvcc]]\ncuda = "==12.4.1"\ngcc = "<99"\nclang = "<99"\nminimum = ">=6"\n{SOURCED}'
    before = sources_digest(place)

    with using(read_overlay({"host_compilers": row})):
        assert sources_digest(place) != before

    assert sources_digest(place) == before


def test_a_lock_keeps_the_record_and_one_without_stays_what_it_was(make_lock: Callable[..., Lock]) -> None:
    """The lines go through the file and back; a lock made without an overlay has no such key."""
    lines = read_overlay({"gpus": GPU}).changes

    assert "facts" not in dump_lock(make_lock())
    assert parse_lock(dump_lock(make_lock(facts=lines)), "a.lock").facts == lines


def test_problems_of_all_files_are_told_at_once_with_their_places() -> None:
    """File, line and path of each, with the nearest name where there is one."""
    texts = {
        "gpu": "",
        "cuda": '[[relase]]\nversion = "1"\n[[release]]\nversion = 12\ndrivr = "1"\n' + SOURCED,
        "eras": "this is no TOML",
    }

    with pytest.raises(RecipeError) as caught:
        read_overlay(texts, key_lines, "/home/me/facts")

    assert caught.value.reference == "facts-invalid"
    assert "/home/me/facts" in caught.value.what
    told = {(item.file, item.path): item for item in caught.value.problems}
    assert told["gpu.toml", ""].suggestion == "gpus.toml"
    assert told["cuda.toml", "relase"].suggestion == "release"
    assert told["cuda.toml", "release[0].drivr"].suggestion == "driver"
    assert told["cuda.toml", "release[0].version"].line == 4
    assert told["cuda.toml", "release[0].native"].line == 3
    assert told["eras.toml", ""].wanted == "TOML"


def _toml(header: str, row: dict[str, Any]) -> str:
    """A table of plain values: JSON's texts, numbers and lists are TOML's."""
    lines = (f"{name} = {_value(value)}" for name, value in row.items())
    return f"[{header}]\n" + "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)
