"""The text of ``__config__.show()``: what a build says of itself, without losing a line of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchbuild.inspection.verdict import failed, not_run, warned
from torchbuild.model.finding import Finding
from torchbuild.model.frozen import Frozen

__all__ = ["ConfigShow", "compare_config", "compare_flags", "parse_config_show"]

_REFERENCE = "config-setting"
_FLAG = "config-flag"
_FLAG_PREFIX = "USE_"
_SETTINGS = "Build settings: "
_TITLE = re.compile(r"\S+ built with:")
_KEY = re.compile(r"[A-Z][A-Z0-9_]*=")

# each line of the text by the field it fills; the first group is the value
_LINES = (
    ("compiler", re.compile(r"(GCC \S+|MSVC \S+)")),
    ("clang", re.compile(r"clang (\S+)")),
    ("cxx_standard", re.compile(r"C\+\+ Version: (\d+)")),
    ("mkl", re.compile(r"(Intel\(R\) (?:oneAPI )?Math Kernel Library Version .+)")),
    ("mkldnn", re.compile(r"Intel\(R\) MKL-DNN (v\S+ \(Git Hash [^)]*\))")),
    ("openmp", re.compile(r"OpenMP (\d+)(?: \(a\.k\.a\. OpenMP [^)]*\))?")),
    ("lapack", re.compile(r"LAPACK is (enabled)(?: \(.*\))?")),
    ("nnpack", re.compile(r"NNPACK is (enabled)")),
    ("cross_compiling", re.compile(r"Cross compiling on (\S+)")),
    ("cpu_capability", re.compile(r"CPU capability usage: (.+)")),
    ("cuda_runtime", re.compile(r"CUDA Runtime (\S+)")),
    ("cuda_built_with", re.compile(r"Built with CUDA Runtime (\S+)")),
    ("nvcc_flags", re.compile(r"NVCC architecture flags:(?: (.+))?")),
    ("cudnn", re.compile(r"CuDNN (\S+)(?:\s+\(built against CUDA [^)]*\))?")),
    ("cudnn_built_with", re.compile(r"Built with CuDNN (\S+)")),
    ("magma", re.compile(r"Magma (\S+)")),
)

_ON = {"1", "ON", "TRUE", "YES", "Y"}
_OFF = {"0", "OFF", "FALSE", "NO", "N", "IGNORE"}


class ConfigShow(Frozen):
    """What a build says of itself. A field is empty where its line is missing."""

    lines: tuple[str, ...]
    """The text, line by line, nothing left out."""
    settings: dict[str, str]
    """The build settings by key. The build leaves out those that are empty."""
    unparsed: tuple[str, ...]
    """Lines, and pieces of the settings, that none of the other fields tells of."""
    compiler: str = ""
    """Such as ``GCC 13.3``; a clang build says ``GCC 4.2`` here."""
    clang: str = ""
    """Version, where clang built it."""
    cxx_standard: str = ""
    """``201402``, ``201703`` or ``202002``."""
    openmp: str = ""
    """Date of the specification, such as ``201511``."""
    mkl: str = ""
    """The whole line of a build with MKL."""
    mkldnn: str = ""
    """Version and commit of oneDNN."""
    lapack: str = ""
    """``enabled``: constant text, proves nothing."""
    nnpack: str = ""
    """``enabled`` where it was built in."""
    cross_compiling: str = ""
    """The system it was built on, where that was another."""
    cpu_capability: str = ""
    """What the machine that printed it could do; not a fact of the wheel."""
    cuda_runtime: str = ""
    """Run-time library; printed only where a GPU and a driver are."""
    cuda_built_with: str = ""
    """What it was compiled with, where that differs."""
    nvcc_flags: str = ""
    """Architecture flags; printed only where a GPU and a driver are."""
    cudnn: str = ""
    """As printed, which is wrong from 9.0 on: ``90.1`` is 9.1.0."""
    cudnn_built_with: str = ""
    """As printed, with the same error."""
    magma: str = ""
    """Version."""


def parse_config_show(text: str) -> ConfigShow:
    """Take the text apart. Never fails: what is not understood stands in `unparsed`."""
    lines = tuple(text.split("\n"))
    fields: dict[str, str] = {}
    settings: dict[str, str] = {}
    unparsed: list[str] = []
    for line in lines:
        bare = line.strip().removeprefix("- ")
        if bare.startswith(_SETTINGS):
            unparsed += _add_settings(bare.removeprefix(_SETTINGS), settings)
        elif bare and not _is_title(bare) and not _add_line(bare, fields):
            unparsed.append(line)
    return ConfigShow.model_validate(
        {**fields, "lines": lines, "settings": settings, "unparsed": tuple(unparsed)}
    )


def _is_title(bare: str) -> bool:
    return _TITLE.fullmatch(bare) is not None


def _add_line(bare: str, fields: dict[str, str]) -> bool:
    """Fill the field that the line tells of; False where there is none or it is taken."""
    for field, pattern in _LINES:
        found = pattern.fullmatch(bare)
        if found and field not in fields:
            fields[field] = found[1] or ""
            return True
    return False


def _add_settings(text: str, settings: dict[str, str]) -> Iterator[str]:
    """Fill the settings; what belongs to no key, or to a key that came before, is handed back.

    A piece that begins with no key belongs to the value before it, which then held a comma and a space.
    """
    key = ""
    for piece in text.rstrip().removesuffix(",").split(", "):
        found = _KEY.match(piece)
        if found and piece[: found.end() - 1] not in settings:
            key = piece[: found.end() - 1]
            settings[key] = piece[found.end() :]
        elif found or not key:
            yield piece
        else:
            settings[key] += f", {piece}"


def compare_config(parsed: ConfigShow, expected: Mapping[str, str]) -> tuple[Finding, ...]:
    """Hold the build settings against what was asked for: one finding for each key, in order.

    ``ON``, ``1``, ``TRUE`` and ``YES`` are one value, and so are their opposites; other values are equal when
    they are, apart from space around them. An expected empty value is a key that must not be there.
    """
    return tuple(
        _compare(_REFERENCE, key, parsed.settings.get(key, ""), value) for key, value in expected.items()
    )


def _compare(reference: str, key: str, seen: str, wanted: str) -> Finding:
    if _normal(seen) == _normal(wanted):
        return Finding(reference=reference, outcome="passed", what=key, seen=seen, wanted=wanted)
    return failed(reference, key, seen=seen or "nothing", wanted=wanted or "nothing")


def compare_flags(
    parsed: ConfigShow, expected: Mapping[str, str], *, is_whole: bool = False
) -> tuple[Finding, ...]:
    """Hold each ``USE_…`` setting that is printed against the flag that was asked for, in the order printed.

    A build can lose a feature after its configuration was compared, and this is where it says so. The text
    tells of few flags: one that is expected and not printed proves nothing, and has no finding.

    Args:
        parsed: what the build says of itself.
        expected: ``ON`` or ``OFF`` by flag.
        is_whole: whether that is every flag that is on: then any other must be off.

    Returns:
        A flag of which nothing is known is `warned` where it is on, and `not run` where it is off.
    """
    printed = {key: value for key, value in parsed.settings.items() if key.startswith(_FLAG_PREFIX)}
    return tuple(
        _compare(_FLAG, key, value, expected.get(key, "OFF"))
        if is_whole or key in expected
        else _unexpected(key, value)
        for key, value in printed.items()
    )


def _unexpected(key: str, seen: str) -> Finding:
    if _normal(seen) == "OFF":
        return not_run(_FLAG, f"{key}={seen}: the lock expects nothing of it")
    return warned(_FLAG, f"{key}: the lock expects nothing of it", seen=seen)


def _normal(value: str) -> str:
    value = value.strip()
    if value.upper() in _ON:
        return "ON"
    return "OFF" if value.upper() in _OFF else value
