"""Write docs/reference/compatibility.md from the tables of facts. --check: is it what they say?

The facts are in torchbuild/knowledge/data/*.toml: there is no other place to edit. A value that nobody read
is marked, and every row that is unconfirmed is listed at the end.
"""

# ruff: noqa: INP001, T201  a script of the repository

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from torchbuild.knowledge.cuda import ArchWindow, CudaRelease, compat_floor, cuda_releases
from torchbuild.knowledge.declared import Row, Table, declared_tables, natural
from torchbuild.knowledge.distributions import distributions
from torchbuild.knowledge.drivers import EligibleLine, ForwardCompat, JetPack
from torchbuild.knowledge.fact import Fact, facts, facts_file, in_range
from torchbuild.knowledge.gpus import GpuFamily, GpuProduct, gpu_families, gpu_products
from torchbuild.knowledge.host_compilers import GlibcFact, glibc_facts, nvcc_fact, packages_fact, torch_fact
from torchbuild.knowledge.interpreters import torch_python
from torchbuild.knowledge.libraries import LowestChip, lowest_chips, minimums
from torchbuild.knowledge.library_releases import LibraryReleases
from torchbuild.knowledge.requirements import numpy_fact
from torchbuild.knowledge.torch_releases import (
    OfficialBuild,
    official_builds,
    torch_archs,
    torch_cmake,
    torch_lines,
)

__all__ = ["MARK", "main", "page"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "compatibility.md"
MARK = "†"
"""Behind what nobody read."""
_UNCONFIRMED = "unconfirmed"
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
"""What a page would take for its own."""
_NOBODY = "?"
_MACHINES = ("x86_64", "aarch64")
HEAD = f"""\
# What goes with what

<!-- Made by tools/compatibility.py from torchbuild/knowledge/data. Not written by hand. -->

The facts by which `torchbuild init`, `doctor` and `lock` decide, as tables. `{MARK}` marks what rests on a
row that nobody read at its source; those rows are listed at the [end](#unconfirmed-rows). `{_NOBODY}`: nobody
knows. A range is written as in PEP 440. What upstream's wheels were released with says what was tried; it
binds nobody. Facts of your own lie over these: [Teach a fact](../how-to/teach-a-fact.md).
"""


def main() -> int:
    """Exit code 0 where the page is what the tables say; with ``--check`` nothing is written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = parser.parse_args()
    wanted = page()
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == wanted:
        return 0
    if options.check:
        print(f"{PAGE} is not what the tables say: run tools/compatibility.py", file=sys.stderr)
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    print(PAGE)
    return 0


def page() -> str:
    """The whole page."""
    sections = (
        HEAD,
        _section("PyTorch: what builds it", _TORCH, _torch_rows()),
        _section("PyTorch: what its wheels were released with", _OFFICIAL, _official_rows()),
        _section("PyTorch: architectures that its build can name", _ARCHS, _arch_rows()),
        _section("CUDA: drivers and compilers", _CUDA, _cuda_rows()),
        _section("CUDA: architectures", _WINDOWS, _window_rows()),
        _section("GPUs by compute capability", _FAMILIES, _family_rows()),
        _section("GPUs by name", _PRODUCTS, _product_rows()),
        _section("Libraries: the GPUs of a release", _CHIPS, _chip_rows()),
        _section("Forward compatibility: packages", _FORWARD, _forward_rows()),
        _section("Forward compatibility: GPUs", _LINES, _line_rows()),
        _section("Jetson", _JETSON, _jetson_rows()),
        _section("Distributions", _DISTRIBUTIONS, _distribution_rows()),
        _section("Unconfirmed rows", _OPEN, _unconfirmed_rows()),
    )
    return "\n".join(sections)


Cells = tuple[str, ...]

_TORCH = """\
Python in brackets is built by upstream and not promised. CUDA: what the tree itself accepts, and the newest
toolkit that upstream's own scripts build it with. cuDNN and NCCL: the oldest that the tree takes.

torch | Python | C++ | gcc | CMake | CUDA | newest tried | cuDNN | NCCL | NumPy ABI | front end
"""
_OFFICIAL = """\
A machine in brackets: upstream calls that wheel experimental.

torch | CUDA | machines | glibc | cuDNN | NCCL | architectures
"""
_ARCHS = """\
What TORCH_CUDA_ARCH_LIST can say while torch is built. Suffixes: letters that may stand behind a number.

torch | architectures | suffixes
"""
_CUDA = """\
Native: the driver from which on nothing is limited, and the patch that it was read for. Starts on: the
driver on which programs start by minor-version compatibility. gcc and clang: what nvcc's own header takes.
glibc: releases whose headers contradict the toolkit's.

CUDA | patches | native driver | starts on | gcc | clang | glibc breaks it
"""
_WINDOWS = """\
Toolkits whose compilers know an architecture.

architecture | toolkits
"""
_FAMILIES = """\
Driver: the oldest that is known to drive one of these chips. Last branch: of the driver. Toolkits: those
whose compilers know it. cuDNN and NCCL: the newest release on the Python index that holds code for it, by the
major release of CUDA that it is for.

capability | name | chips | driver | last branch | kernel modules | toolkits | cuDNN | NCCL
"""
_PRODUCTS = """\
A name with several capabilities does not tell which chip is inside: ask the device. The driver, where known,
is the oldest that lists the product.

capability | line | products
"""
_CHIPS = """\
By what the publisher's own files hold. Newer chips of the same major capability run the highest one's code.

library | for CUDA | releases | lowest capability | highest
"""
_FORWARD = """\
NVIDIA's packages cuda-compat: a newer CUDA above an older branch of the driver.

CUDA | branches
"""
_LINES = """\
Who gets an error where such a package is installed.

line | takes such packages
"""
_JETSON = """\
The CUDA that a board's system brings, and the further ones that its upgrade package makes run.

JetPack | capabilities | CUDA | upgrades
"""
_DISTRIBUTIONS = """\
gcc: major releases that it has packages of.

distribution | also | glibc | gcc | Python | suite
"""
_OPEN = """\
Whoever can read one of these at its source: please tell. A decision that hangs on one says so.

row | what is known of it
"""


def _section(title: str, about: str, rows: Iterable[Cells]) -> str:
    words, _, columns = about.rstrip("\n").rpartition("\n\n")
    head = columns.split(" | ")
    lines = [f"## {title}", "", words, "", _line(head), _line(["---"] * len(head)), *map(_line, rows), ""]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_TAG.sub("&lt;", cell.replace("|", "\\|")) for cell in cells) + " |"


def _cell(text: str, *rows: Fact | None) -> str:
    """A value with its mark; a question mark where no row says anything."""
    if rows and all(row is None for row in rows):
        return _NOBODY
    mark = MARK if any(row is not None and row.checked == _UNCONFIRMED for row in rows) else ""
    return f"{text}{mark}" if text else ""


def _torch_rows() -> Iterator[Cells]:
    for line in torch_lines():
        release = line.releases[-1]
        python, cpp, cmake, numpy = (
            torch_python(release), torch_fact(release), torch_cmake(release), numpy_fact(release),
        )  # fmt: skip
        yield (
            line.minor,
            _cell(_pythons(release), python),
            _cell(cpp.standard if cpp else "", cpp),
            _cell(cpp.gcc if cpp else "", cpp),
            _cell(cmake.cmake if cmake else "", cmake),
            _cell(line.cuda or _NOBODY, line),
            _cell(line.exercised or _NOBODY, line),
            _least("cudnn", release),
            _least("nccl", release),
            _cell(str(numpy.abi) if numpy else "", numpy),
            _cell(line.era, line),
        )


def _pythons(release: str) -> str:
    fact = torch_python(release)
    if fact is None:
        return ""
    return f"{fact.python} ({fact.experimental})" if fact.experimental else fact.python


def _least(library: str, release: str) -> str:
    """Every floor that a row names: what was read in the tree, and what is suspected."""
    rows = sorted(minimums(library, release), key=lambda row: Version(row.least))
    return ", ".join(_cell(f">={row.least}", row) for row in rows) or _NOBODY


def _official_rows() -> Iterator[Cells]:
    for line in torch_lines():
        by_cuda: dict[str, list[OfficialBuild]] = {}
        for build in (build for machine in _MACHINES for build in official_builds(line.minor, machine)):
            by_cuda.setdefault(build.cuda, []).append(build)
        for cuda, builds in sorted(by_cuda.items(), key=lambda item: natural(item[0])):
            yield (
                line.minor,
                _cell(cuda or "CPU", *builds),
                ", ".join(item.machine if item.is_stable else f"({item.machine})" for item in builds),
                _alike([(item.machine, item.glibc) for item in builds]),
                _alike([(item.machine, item.cudnn) for item in builds]),
                _alike([(item.machine, item.nccl) for item in builds]),
                _alike([(item.machine, " ".join(item.archs)) for item in builds]),
            )


def _alike(values: list[tuple[str, str]]) -> str:
    """One value where all machines have the same, else each with its machine."""
    known = [(machine, value) for machine, value in values if value]
    if len({value for _, value in known}) <= 1 and len(known) == len(values):
        return known[0][1]
    return "; ".join(f"{value} ({machine})" for machine, value in known)


def _arch_rows() -> Iterator[Cells]:
    for line in torch_lines():
        row = torch_archs(line.releases[-1])
        yield (
            line.minor,
            _cell(" ".join(row.archs) if row else "", row),
            _cell(" ".join(row.suffixes) if row else "", row),
        )


def _cuda_rows() -> Iterator[Cells]:
    for minor, rows in _minors().items():
        newest = rows[-1]
        floor, nvcc = compat_floor(newest.version), nvcc_fact(newest.version)
        yield (
            minor,
            ", ".join(row.version for row in rows),
            _native(rows),
            _cell(floor.driver if floor else "", floor),
            _cell(nvcc.gcc if nvcc else "", nvcc),
            _cell(nvcc.clang if nvcc else "", nvcc),
            _breaking_glibc(newest.version),
        )


def _native(rows: list[CudaRelease]) -> str:
    row = next((row for row in reversed(rows) if row.native), None)
    return _cell(f"{row.native} ({row.version})", row) if row else _NOBODY


def _minors() -> dict[str, list[CudaRelease]]:
    found: dict[str, list[CudaRelease]] = {}
    for row in cuda_releases():
        found.setdefault(row.minor, []).append(row)
    return found


def _breaking_glibc(cuda: str) -> str:
    """The widest range that somebody read, and wider ones that are suspected."""
    known: dict[str, GlibcFact] = {}
    for glibc in {row.glibc for row in distributions()}:
        known |= {row.glibc: row for row in glibc_facts(cuda, glibc)}
    cells: list[str] = []
    for glibc in sorted(known, key=natural):
        cells.append(_cell(glibc, known[glibc]))
        if known[glibc].checked != _UNCONFIRMED:
            break
    return ", ".join(cells)


def _window_rows() -> Iterator[Cells]:
    for row in facts(ArchWindow, "cuda", "arch"):
        yield (f"sm_{row.sm}", _cell(row.cuda, row))


def _family_rows() -> Iterator[Cells]:
    windows = {row.sm: row for row in facts(ArchWindow, "cuda", "arch")}
    for row in gpu_families():
        window = windows.get(str(row.sm))
        yield (
            _cell(_dotted(row.sm), row),
            row.title,
            ", ".join(row.chips),
            _cell(row.driver or _NOBODY, row),
            _last_branch(row),
            row.modules + (f", open from {row.open_driver}" if row.open_driver else ""),
            _cell(
                window.cuda if window is not None else "none known", *([window] if window is not None else [])
            ),
            _newest("cudnn", row, window),
            _newest("nccl", row, window),
        )


def _last_branch(row: GpuFamily) -> str:
    if row.last_branch is not None:
        return _cell(str(row.last_branch), row)
    return "the board's own" if row.modules == "tegra" else "none yet"


def _newest(library: str, family: GpuFamily, window: ArchWindow | None) -> str:
    """By major release of CUDA that compiles for a chip, the newest release that holds code for it."""
    if family.modules == "tegra":
        return "the board's own"
    found = []
    for row in facts(LibraryReleases, "library_releases", "library"):
        if row.library == library and window is not None and _knows(row.cuda, window):
            found += [f"{row.cuda}: {text}" for text in _holding(row, family.sm)][:1]
    return ", ".join(found) or "none"


def _knows(major: str, window: ArchWindow) -> bool:
    """Whether some release of a major one compiles for an architecture."""
    versions = (row.version for row in cuda_releases() if row.version.startswith(f"{major}."))
    return any(in_range(version, window.cuda) for version in versions)


def _holding(row: LibraryReleases, sm: int) -> Iterator[str]:
    """Releases that hold code for a chip, newest first."""
    for version in reversed(row.versions):
        chips = lowest_chips(row.library, version, row.cuda)
        if chips and all(chip.has(sm) for chip in chips):
            yield _cell(version, row, *chips)


def _product_rows() -> Iterator[Cells]:
    groups: dict[tuple[tuple[int, ...], str], list[GpuProduct]] = {}
    for row in gpu_products():
        groups.setdefault((row.capabilities, row.line), []).append(row)
    for (capabilities, line), rows in groups.items():
        names = (_cell(f"{row.name} ({row.driver})" if row.driver else row.name, row) for row in rows)
        yield (" or ".join(_dotted(sm) for sm in capabilities), line, ", ".join(names))


def _chip_rows() -> Iterator[Cells]:
    for row in facts(LowestChip, "library_floors", "chips"):
        releases = f">={row.first},<{row.before}" if row.before else f">={row.first}"
        highest = _cell(_dotted(row.highest), row) if row.highest else _NOBODY
        yield (row.library, row.cuda or "any", releases, _cell(_dotted(row.lowest), row), highest)


def _forward_rows() -> Iterator[Cells]:
    for row in facts(ForwardCompat, "forward_compat", "package"):
        yield (row.cuda, _cell(", ".join(str(branch) for branch in row.branches) or "none", row))


def _line_rows() -> Iterator[Cells]:
    for row in facts(EligibleLine, "forward_compat", "line"):
        yield (row.line, _cell("yes" if row.is_eligible else "no", row))


def _jetson_rows() -> Iterator[Cells]:
    for row in facts(JetPack, "jetpacks", "jetpack"):
        capabilities = ", ".join(_dotted(sm) for sm in row.sms)
        yield (row.jetpack, capabilities, _cell(row.cuda, row), _cell(", ".join(row.upgrades) or "none", row))


def _distribution_rows() -> Iterator[Cells]:
    for row in distributions():
        packages = packages_fact(row.id, row.release)
        yield (
            row.name,
            ", ".join(row.names),
            _cell(row.glibc, row),
            _cell(", ".join(packages.gcc) if packages else "", packages),
            _cell(row.python, row) if row.python else _NOBODY,
            row.suite,
        )


def _unconfirmed_rows() -> Iterator[Cells]:
    for table in declared_tables():
        for name, row in _named_rows(table):
            if row.get("checked") == _UNCONFIRMED:
                yield (f"{table.title} {name}".strip(), str(row["source"]))


def _named_rows(table: Table) -> Iterator[tuple[str, Row]]:
    tables = facts_file(table.file)
    if table.shape == "rows":
        yield from (
            (" / ".join(part or '""' for part in table.key_of(row)), row) for row in tables[table.table]
        )
    elif table.shape == "one":
        yield "", tables[table.table]
    else:
        yield from (tables[table.table] if table.table else tables).items()


def _dotted(sm: int) -> str:
    return f"{sm // 10}.{sm % 10}"


if __name__ == "__main__":
    sys.exit(main())
