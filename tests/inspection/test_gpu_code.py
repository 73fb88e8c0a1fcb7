"""Which GPU code lies in a file, as nvcc of three releases made it."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torchbuild.inspection.gpu_code import GpuCodeError, gpu_code

DATA = Path(__file__).parents[1] / "data" / "gpu_code"
PTX, SASS = 1, 2
PLAIN = (("sm_75", "sm_90"), ("compute_90",))
OWN_TOO = (("sm_75", "sm_90", "sm_90a"), ("compute_90", "compute_90a"))
HOLDS = {
    "12.4-lines.o": (("sm_75",), ()),
    "12.4-link.o": (("sm_75", "sm_90"), ()),
    "12.4-linked.so": (("sm_75", "sm_90"), ()),
    "12.4-lto.o": (("sm_90",), ()),
    "12.4-lz4.o": OWN_TOO,
    "12.4-own-chip.o": (("sm_90a",), ("compute_90a",)),
    "12.4-plain.o": PLAIN,
    "12.4-to-link-one.o": PLAIN,
    "12.4-to-link-two.o": PLAIN,
    "12.4-to-link.a": PLAIN,
    "13.0-family.o": (("sm_100f", "sm_120f"), ("compute_120f",)),
    "13.0-library.so": PLAIN,
    "13.0-lz4.o": OWN_TOO,
    "13.0-plain.o": PLAIN,
    "13.0-zstd.o": OWN_TOO,
    "13.5-joined-debug.o": (("sm_75", "sm_90"), ()),
    "13.5-joined.o": (("sm_75", "sm_90", "sm_100f", "sm_120f"), ("compute_90", "compute_120f")),
}
REAL = sorted(path for path in DATA.iterdir() if path.suffix in (".o", ".a", ".so"))
REGISTER, RELA = b".nvFatBinSegment", b".rela.dyn"


def entry(
    kind: int = SASS, number: int = 90, flags: int = 0x11, *, payload: bytes = bytes(16), **changed: int
) -> bytes:
    """One entry; `header` and `length` may say something else than what follows."""
    header, length = changed.get("header", 64), changed.get("length", len(payload))
    fixed = struct.pack(
        "<HHIQIIHHIIIQQQ",
        *(kind, 0x101, header, length, 0, changed.get("options", 0), 7, 1, number),
        *(changed.get("name_at", 0), changed.get("name_size", 0), flags, 0, 0),
    )
    return fixed + payload


def container(*entries: bytes, size: int | None = None, version: int = 1, header: int = 16) -> bytes:
    """One container; `size` may say something else than what follows."""
    content = b"".join(entries)
    length = len(content) if size is None else size
    return struct.pack("<IHHQ", 0xBA55ED50, version, header, length) + content


def elf(sections: Sequence[tuple[bytes, int, int, bytes]], *, kind: int = 3, machine: int = 62) -> bytes:
    """An ELF file of sections: name, type, address, content."""
    names = b"\0" + b"\0".join(name for name, _, _, _ in sections) + b"\0.shstrtab\0"
    places, body, table = [], b"", bytes(64)
    for name, type_, address, content in sections:
        body += bytes(-len(body) % 8)
        places.append((names.index(name + b"\0"), type_, address, 64 + len(body), len(content)))
        body += content
    places.append((names.index(b".shstrtab\0"), 3, 0, 64 + len(body), len(names)))
    body += names
    body += bytes(-len(body) % 8)
    for name_at, type_, address, offset, size in places:
        table += struct.pack("<IIQQQQIIQQ", name_at, type_, 2, address, offset, size, 0, 0, 8, 0)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    count = len(places) + 1
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", ident, kind, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, count, count - 1
    )
    return head + body + table


def with_code(*containers: bytes) -> bytes:
    """A shared library with these containers."""
    return elf([(b".nv_fatbin", 1, 0x1000, b"".join(containers))])


def ar(*members: tuple[bytes, bytes], magic: bytes = b"!<arch>\n") -> bytes:
    """A static library; names as they stand in headers, sixteen bytes at most."""
    text = magic
    for name, content in members:
        text += name.ljust(16) + b"0           0     0     644     " + str(len(content)).encode().ljust(10)
        text += b"`\n" + content + b"\n" * (len(content) % 2)
    return text


def held(path: Path, content: bytes) -> Path:
    """A file with this content."""
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_what_nvcc_was_asked_for_is_listed(path: Path) -> None:
    """Suffixes `a` and `f` included, compressed by LZ4 or zstd or not, joined or not: nothing is unpacked for it."""
    code = gpu_code(path)

    assert (code.sass, code.ptx) == HOLDS[path.name]
    assert code.path == str(path)
    assert 0 < code.read_bytes < path.stat().st_size


def test_every_real_file_is_told_about() -> None:
    """No object lies among the data that no test reads."""
    assert {path.name for path in REAL} == set(HOLDS)


def test_each_compiled_file_is_an_object_of_its_own() -> None:
    """A library of two files shows both, so that one of them cannot hide behind the other."""
    code = gpu_code(DATA / "13.0-library.so")

    assert [(item.place, item.sass, item.ptx) for item in code.objects] == [("#1", *PLAIN), ("#2", *PLAIN)]


def test_members_of_a_static_library_are_named() -> None:
    """The object file is what a person looks for."""
    code = gpu_code(DATA / "12.4-to-link.a")

    assert [item.place for item in code.objects] == ["12.4-to-link-one.o #1", "12.4-to-link-two.o #1"]
    assert all(item.is_relocatable and not item.is_linked for item in code.objects)


@pytest.mark.parametrize("name", ["12.4-lines.o", "13.5-joined-debug.o"])
def test_the_source_file_is_named_where_the_compiler_left_its_name(name: str) -> None:
    """It does with -g and -lineinfo, also where entries are joined."""
    (item,) = gpu_code(DATA / name).objects

    assert item.name == "two.cu"


def test_what_went_into_a_device_link_does_not_count() -> None:
    """It lies in the file and is never loaded: PTX in it helps no newer chip."""
    code = gpu_code(DATA / "12.4-linked.so")

    assert [(item.is_linked, item.is_relocatable) for item in code.objects] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert [item.ptx for item in code.objects] == [(), ("compute_90",), ("compute_90",)]
    assert code.effective == code.objects[:1]
    assert code.ptx == ()


def test_a_device_link_is_known_in_an_object_too() -> None:
    """Before the host's linker saw it."""
    (item,) = gpu_code(DATA / "12.4-link.o").objects

    assert item.is_linked
    assert not gpu_code(DATA / "12.4-plain.o").objects[0].is_linked


def test_a_device_link_is_known_where_the_address_comes_from_the_loader(tmp_path: Path) -> None:
    """Some linkers leave zeros where the address belongs, and write it down as a relocation."""
    first, second = container(entry()), container(entry(), entry(PTX))
    wrappers = struct.pack("<IIQQ", 0x466243B1, 1, 0, 0) + struct.pack("<IIQQ", 0x466243B1, 2, 0, 0)
    relocations = struct.pack("<QQq", 0x2008, 8, 0x1000) + struct.pack("<QQq", 0x2020, 8, 0x1000 + len(first))
    made = elf(
        [
            (b".nv_fatbin", 1, 0x1000, first + second),
            (REGISTER, 1, 0x2000, wrappers),
            (RELA, 4, 0x500, relocations),
        ]
    )
    code = gpu_code(held(tmp_path / "x.so", made))

    assert [item.is_linked for item in code.objects] == [False, True]


def test_code_that_is_neither_machine_code_nor_ptx_is_told(tmp_path: Path) -> None:
    """Input of a link-time optimisation, or a kind that a newer release brings."""
    assert [item.other for item in gpu_code(DATA / "12.4-lto.o").objects] == [("lto_90",)]

    path = held(tmp_path / "x.so", with_code(container(entry(64, 103))))
    assert [item.other for item in gpu_code(path).objects] == [("kind 64: 103",)]


def test_a_file_without_gpu_code_has_none(tmp_path: Path) -> None:
    """That is an answer; whether it is a good one is for the check to say."""
    source = "int f(void) { return 1; }"
    subprocess.run(["gcc", "-x", "c", "-c", "-", "-o", tmp_path / "f.o"], input=source.encode(), check=True)
    subprocess.run(["ar", "rcs", "libf.a", "f.o"], check=True, cwd=tmp_path)

    for path in (tmp_path / "f.o", tmp_path / "libf.a", Path(sys.executable).resolve()):
        assert gpu_code(path).objects == ()


def test_a_section_of_hundreds_of_thousands_is_stepped_over(tmp_path: Path) -> None:
    """An object of a template library has more sections than the ELF header can count."""
    many = "".join(
        f'.section .text.f{number},"ax",@progbits,unique,{number}\n.byte 1\n' for number in range(70_000)
    )
    made = tmp_path / "many.o"
    code = tmp_path / "code.bin"
    code.write_bytes(container(entry(number=75)))
    text = f'.section .nv_fatbin,"a"\n.incbin "{code}"\n{many}'
    subprocess.run(["gcc", "-x", "assembler", "-c", "-", "-o", made], input=text.encode(), check=True)

    assert gpu_code(made).sass == ("sm_75",)


def test_containers_are_found_behind_padding(tmp_path: Path) -> None:
    """Linkers fill up to the alignment that they want."""
    made = with_code(bytes(40), container(entry(number=75)), bytes(70_000), container(entry()), bytes(12))

    assert gpu_code(held(tmp_path / "x.so", made)).sass == ("sm_75", "sm_90")


WRONG = {
    "empty": (b"", "neither an ELF file nor a static library"),
    "text": (b"#!/bin/sh\n", "neither an ELF file nor a static library"),
    "thin archive": (b"!<thin>\n", "its members lie elsewhere"),
    "32 bits": (b"\x7fELF\x01\x01\x01" + bytes(60), "not 64-bit"),
    "cubin": (elf([], machine=190), "device code itself"),
    "cut off": (with_code(container(entry()))[:-1], "cut off"),
    "no sections": (elf([])[:40] + bytes(8) + elf([])[48:], "no section headers"),
    "debug part": (elf([(b".nv_fatbin", 8, 0, b"")]), "for debuggers alone"),
    "no container": (with_code(b"something else that is long"), "no container of GPU code"),
    "new version": (with_code(container(version=2)), "version 2"),
    "container too long": (with_code(container(entry(), size=1000)), "bytes too late"),
    "container beyond all": (with_code(container(entry(), size=2**64 - 1)), "bytes too late"),
    "entry of no bytes": (with_code(container(entry(header=0, length=0))), "an entry of 0 and 0 bytes"),
    "entry too long": (with_code(container(entry(length=2**63))), "an entry of"),
    "header too long": (with_code(container(entry(header=2**32 - 1))), "an entry of"),
    "half an entry": (with_code(container(entry()[:30])), "64 bytes wanted"),
    "name outside": (with_code(container(entry(name_at=9000, name_size=9))), "9 bytes wanted"),
    "long name": (with_code(container(entry(name_at=64, name_size=2**31))), "a name of"),
    "joined nowhere": (with_code(container(entry(256, options=2**32 - 1))), "wanted"),
    "joined in itself": (with_code(container(entry(256, options=0))), "a table of"),
    "registered nothing": (elf([(REGISTER, 1, 0, bytes(24))]), "something else"),
    "member of no size": (b"!<arch>\n" + b"x/".ljust(48) + b"-1        `\n", "a member of '-1' bytes"),
    "member without header": (b"!<arch>\n" + bytes(60), "no header of a member"),
    "member cut off": (ar((b"a.o/", bytes(100)))[:-1], "cut off"),
    "member's code": (ar((b"a.o/", with_code(b"something else that is long"))), "a.o: no container"),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_a_file_that_is_not_what_it_says_is_refused(name: str, tmp_path: Path) -> None:
    """With one line that names the file and what is wrong with it."""
    content, says = WRONG[name]

    with pytest.raises(GpuCodeError) as caught:
        gpu_code(held(tmp_path / "x.so", content), name="lib/x.so")

    assert str(caught.value).startswith("lib/x.so: ")
    assert says in str(caught.value)


def test_sections_that_share_bytes_are_refused(tmp_path: Path) -> None:
    """Many sections over one place would make a small file endless."""
    code = container(*[entry()] * 1000)
    made = bytearray(elf([(b".nv_fatbin", 1, 0, code), (b".nv_fatbin", 1, 0, b"")]))
    table = len(made) - 4 * 64
    made[table + 128 : table + 192] = made[table + 64 : table + 128]

    with pytest.raises(GpuCodeError, match="does not fit into the file"):
        gpu_code(held(tmp_path / "x.so", bytes(made)))


def holes_as_sections() -> bytes:
    """A table of four thousand million section headers, all of zeros."""
    made = bytearray(with_code(b""))
    made[60:62] = bytes(2)  # the number of sections stands in the first one
    table = len(made) - 3 * 64
    made[table + 32 : table + 40] = struct.pack("<Q", 2**32)
    return bytes(made)


def holes_as_code() -> bytes:
    """A section of a quarter of a terabyte, all of zeros."""
    made = bytearray(with_code(b""))
    table = len(made) - 2 * 64
    made[table + 24 : table + 40] = struct.pack("<QQ", len(made), 2**38 - len(made))
    return bytes(made)


ENDLESS = {
    "sections": holes_as_sections(),
    "code": holes_as_code(),
    "empty containers": with_code(container() * 300),
    "small entries": with_code(container(*[entry(payload=b"")] * 300)),
    "empty members": ar(*[(b"a/", b"")] * 2000),
    "registrations": elf([(REGISTER, 1, 0, struct.pack("<IIQQ", 0x466243B1, 1, 0, 0) * 2000)]),
    "relocations": elf(
        [(REGISTER, 1, 0, struct.pack("<IIQQ", 0x466243B1, 2, 0, 0)), (RELA, 4, 0, bytes(24 * 40_000))]
    ),
}


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_work_is_bounded_by_headers_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may claim terabytes that lie on no disk, or consist of headers alone."""
    monkeypatch.setattr("torchbuild.inspection.bounded._MOST_STEPS", 1000)
    path = held(tmp_path / "x.so", ENDLESS[name])
    if name in ("sections", "code"):
        os.truncate(path, 2**38 + 4096)

    with pytest.raises(GpuCodeError, match="more than 1000 headers"):
        gpu_code(path)


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    """Opening a pipe would wait for whoever writes into it."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "nothing"):
        with pytest.raises(GpuCodeError, match="no file"):
            gpu_code(path)


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    """As the system says it."""
    path = held(tmp_path / "x.so", with_code())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(GpuCodeError, match="denied"):
        gpu_code(path)


@given(
    which=st.sampled_from(REAL),
    changes=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), max_size=6),
    kept=st.floats(0, 1),
    cut=st.booleans(),
)
@example(which=REAL[0], changes=[], kept=0.0, cut=True)
def test_a_damaged_file_is_read_or_refused(
    which: Path,
    changes: list[tuple[float, bytes]],
    kept: float,
    cut: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Whatever bytes are changed and wherever it ends: a list, or one clear error."""
    content = bytearray(which.read_bytes())
    for place, new in changes:
        at = int(place * (len(content) - 8))
        content[at : at + len(new)] = new
    path = tmp_path_factory.getbasetemp() / f"damaged-{os.getpid()}"
    path.write_bytes(content[: int(len(content) * kept)] if cut else content)

    try:
        gpu_code(path)
    except GpuCodeError as error:
        assert str(error).isprintable()  # noqa: PT017  either is fine


HEADERS = sorted(DATA.glob("*.o"))


@given(
    which=st.sampled_from(HEADERS),
    field=st.integers(0, 15),
    value=st.sampled_from([0, 1, 7, 63, 64, 65, 255, 256, 2**16, 2**31, 2**32 - 1]),
    nth=st.integers(0, 6),
)
def test_a_wrong_word_in_any_header_is_read_or_refused(
    which: Path, field: int, value: int, nth: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Sizes, places and counts of containers and entries, each wrong by itself."""
    content = bytearray(which.read_bytes())
    at = content.index(b"\x50\xed\x55\xba") + 16
    for _ in range(nth):
        header, length = struct.unpack_from("<IQ", content, at + 4)
        if at + header + length + 64 > len(content):
            break
        at += header + length
    struct.pack_into("<I", content, at - 16 + 4 * field, value)
    path = tmp_path_factory.getbasetemp() / f"wrong-{os.getpid()}"
    path.write_bytes(content)

    try:
        gpu_code(path)
    except GpuCodeError as error:
        assert str(error).isprintable()  # noqa: PT017  either is fine
