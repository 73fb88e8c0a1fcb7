"""The build settings out of a library's instructions: whole or not at all, whatever compiled it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.arm_library import arm_library
from tests.torch_like import SETTINGS, compiled, settings_source
from torchbuild.inspection.bounded import BoundedFile
from torchbuild.inspection.likeness_settings import SettingsUnreadError, build_settings, string_abi

Settings = tuple[tuple[str, str], ...]
WANTED: Settings = tuple(sorted(SETTINGS.items()))


def settled(folder: Path, content: bytes) -> Settings | str:
    """The settings, or why there are none."""
    try:
        return read(folder, content)
    except SettingsUnreadError as error:
        return str(error)


def read(folder: Path, content: bytes) -> Settings:
    """The settings of a library."""
    path = folder / "lib.so"
    path.write_bytes(content)
    with path.open("rb", buffering=0) as stream:
        return build_settings(BoundedFile(stream.fileno()))


@pytest.mark.parametrize(
    "options",
    [
        "-O1",
        "-O2",
        "-O3",
        "-O2 -s",
        "-O2 -mavx2",
        "-O3 -march=x86-64-v3",
        "-O2 -std=c++20",
        "-O2 -fno-omit-frame-pointer",
        "-O2 -fno-plt",
        "-O2 -fcf-protection=full",
        "-O2 -fstack-protector-all",
    ],
)
def test_settings_are_read_whatever_the_options(tmp_path: Path, options: str) -> None:
    """Optimised, stripped, with vectors, with guards: the same table comes out."""
    content = compiled(settings_source(SETTINGS), tuple(options.split()))

    assert read(tmp_path, content) == WANTED


@pytest.mark.parametrize("options", ["-O0", "-Os", "-O2 -D_GLIBCXX_USE_CXX11_ABI=0", "-O2 -flto"])
def test_code_that_is_not_understood_gives_no_settings(tmp_path: Path, options: str) -> None:
    """A part of a table is never told for the whole of it: it is all, or a reason."""
    found = settled(tmp_path, compiled(settings_source(SETTINGS), tuple(options.split())))

    assert found
    assert found == WANTED or isinstance(found, str)


def old_abi_source() -> str:
    """The same where strings are pointers: each is made by a call, as the compilers of the time did it."""
    texts = [text for pair in SETTINGS.items() for text in pair]
    calls = "".join(f'make(&table[{at}], "{text}", &allocator);' for at, text in enumerate(texts))
    return f"""
extern "C" {{
int acquire(void*); void make(void*, const char*, void*); void take(void*, void*, long);
void* _ZN6caffe215GetBuildOptionsEv() {{
  static char guard, map[48]; char allocator; void* table[{len(texts)}];
  if (!guard && acquire(&guard)) {{ {calls} take(map, table, {len(SETTINGS)}); }}
  return map;
}}
}}"""


def test_settings_of_the_old_abi_are_read(tmp_path: Path) -> None:
    """Where strings are pointers, as in upstream's wheels before 2.7."""
    assert read(tmp_path, compiled(old_abi_source())) == WANTED


def test_one_setting_more_is_one_more(tmp_path: Path) -> None:
    """The table's end is found, and not guessed from how many there usually are."""
    for extra in range(3):
        wanted = SETTINGS | {f"EXTRA_{number}": f"value {number}" for number in range(extra)}
        assert dict(read(tmp_path, compiled(settings_source(wanted)))) == wanted


def test_a_library_without_the_function_says_so(tmp_path: Path) -> None:
    """What is not exported is not looked for anywhere else."""
    with pytest.raises(SettingsUnreadError, match="does not export"):
        read(tmp_path, compiled("int x;"))


def test_a_table_that_is_too_small_is_no_table(tmp_path: Path) -> None:
    """Two settings are not what torch says of itself."""
    with pytest.raises(SettingsUnreadError, match="cannot be all"):
        read(tmp_path, compiled(settings_source({"A": "a", "B": "b"})))


def test_what_is_no_library_says_so(tmp_path: Path) -> None:
    """A text, an empty file, a file for 32 bits."""
    for content in (b"", b"text", b"\x7fELF\x01\x01\x01" + bytes(100)):
        with pytest.raises(SettingsUnreadError):
            read(tmp_path, content)


def test_a_damaged_library_never_ends_the_program(tmp_path: Path) -> None:
    """Whatever the bytes are, it is a table or a reason, within a second."""
    whole = compiled(settings_source(SETTINGS))
    chance = random.Random(5)  # noqa: S311  the same bytes in every run
    for _ in range(60):
        content = bytearray(whole)
        for _ in range(chance.randrange(1, 40)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        length = chance.randrange(len(content) // 2, len(content) + 1)
        assert settled(tmp_path, bytes(content[:length]))


def test_settings_of_aarch64_are_read(tmp_path: Path) -> None:
    """The other processor family's instructions fill the same table."""
    assert read(tmp_path, arm_library(SETTINGS)) == WANTED


def test_settings_of_another_machine_are_not(tmp_path: Path) -> None:
    """A family whose instructions nobody taught us is named."""
    content = bytearray(arm_library(SETTINGS))
    content[18] = 243
    with pytest.raises(SettingsUnreadError, match="instructions of 243"):
        read(tmp_path, bytes(content))


@pytest.mark.parametrize(("options", "wanted"), [("-O2", "1"), ("-O2 -D_GLIBCXX_USE_CXX11_ABI=0", "0")])
def test_the_abi_of_strings_is_told_by_a_name(tmp_path: Path, options: str, wanted: str) -> None:
    """A function that returns strings has the ABI in its name."""
    path = tmp_path / "lib.so"
    path.write_bytes(compiled(settings_source(SETTINGS), tuple(options.split())))
    with path.open("rb", buffering=0) as stream:
        assert string_abi(BoundedFile(stream.fileno())) == wanted
