"""Which torch it is, for whom: version, interpreter, machine, C library."""

from __future__ import annotations

import re
from collections.abc import Iterable
from email.message import Message
from email.parser import HeaderParser

from packaging.version import Version

from torchbuild.inspection.likeness_notes import Notes
from torchbuild.inspection.likeness_source import TorchFiles
from torchbuild.inspection.names import WheelName, parse_name
from torchbuild.inspection.platform import glibc_promised, release
from torchbuild.model.likeness import Read

__all__ = ["identity", "metadata"]

_LONGEST_METADATA = 4 << 20
_PYTHON = re.compile(r"cp([0-9])([0-9]{1,2})")
_EXTENSION = re.compile(r"_C\.cpython-([0-9])([0-9]{1,2})(t?)-(\w+?)-linux-gnu\.so")
_MACHINE = re.compile(r"(?:linux|manylinux\w*?)_(x86_64|aarch64)")
_PARTS = 3
_LONGEST_VERSION = 200


def metadata(files: TorchFiles, name: str) -> tuple[str, Message | None]:
    """``METADATA`` or ``WHEEL`` of the distribution that holds the package, and where it stands."""
    folders = {item.partition("/")[0] for item in files.names() if item.endswith(f".dist-info/{name}")}
    prefix = f"{files.package}-".casefold()
    wanted = sorted(item for item in folders if item.casefold().startswith(prefix) or len(folders) == 1)
    if len(wanted) != 1:
        return "", None
    where = f"{wanted[0]}/{name}"
    text = files.text(where, _LONGEST_METADATA)
    if text is None:
        return where, None
    return where, HeaderParser().parsestr(text.decode("utf-8", errors="backslashreplace"), headersonly=True)


def identity(files: TorchFiles, notes: Notes, own: dict[str, str], settings: Read) -> dict[str, Read]:
    """Fields of `Likeness`.

    Args:
        files: the build.
        notes: takes what cannot be read.
        own: what ``version.py`` says.
        settings: TORCH_VERSION of the build settings.
    """
    where, found = metadata(files, "METADATA")
    if found is None:
        notes.miss("METADATA", "there is none, or more than one that could be meant")
    own_where, name = f"{files.package}/version.py", _name(files)
    versions = [
        (where, str(found.get("Version", "")).strip() if found is not None else ""),
        (own_where, own.get("__version__", "")),
        ("the file's name", name.version if name is not None else ""),
    ]
    public = [Read(value=_public(text), where=place) for place, text in versions if _public(text)]
    locals_ = [Read(value=_local(text), where=place) for place, text in versions if _local(text)]
    commit = Read(value=own.get("git_version", ""), where=f"{own_where} git_version")
    return {
        "version": notes.agreed("version", *public, settings),
        "local": notes.agreed("local version label", *locals_),
        "commit": commit if commit.value not in ("", "Unknown") else Read(),
        **_tags(files, notes),
    }


def _name(files: TorchFiles) -> WheelName | None:
    name = parse_name(files.file_name) if files.file_name else ""
    return name if isinstance(name, WheelName) else None


def _version(text: str) -> Version | None:
    try:
        return Version(text) if len(text) <= _LONGEST_VERSION else None
    except ValueError:
        return None


def _public(text: str) -> str:
    version = _version(text)
    return version.public if version else ""


def _local(text: str) -> str:
    version = _version(text)
    return (version.local or "") if version else ""


def _tags(files: TorchFiles, notes: Notes) -> dict[str, Read]:
    """Interpreter, machine and C library, by tags and by the extension module's own name."""
    tags: list[tuple[str, tuple[str, ...]]] = []
    name = _name(files)
    if name is not None:
        tags.append(("the file's name", name.tags))
    where, found = metadata(files, "WHEEL")
    if found is not None:
        tags.append((where, tuple(str(tag).strip() for tag in found.get_all("Tag", []))))
    extension = [
        (item, match)
        for item in files.names()
        if item.startswith(f"{files.package}/") and (match := _EXTENSION.fullmatch(item.split("/")[-1]))
    ]
    pythons = [Read(value=_one(map(_python, items)), where=place) for place, items in tags]
    pythons += [Read(value=f"{m[1]}.{m[2]}{m[3]}", where=item) for item, m in extension]
    machines = [Read(value=_one(map(_machine, items)), where=place) for place, items in tags]
    machines += [Read(value=m[4], where=item) for item, m in extension if m[4] in ("x86_64", "aarch64")]
    read = {
        "python": notes.agreed("interpreter", *pythons),
        "machine": notes.agreed("machine", *machines),
        "glibc": notes.agreed(
            "C library", *(Read(value=_glibc(items), where=place) for place, items in tags)
        ),
    }
    if not read["glibc"]:
        notes.miss("C library", "no platform tag promises one")
    return read


def _one(values: Iterable[str]) -> str:
    """The only value; empty where there are several."""
    found = set(values)
    return found.pop() if len(found) == 1 else ""


def _python(tag: str) -> str:
    parts = tag.split("-")
    match = _PYTHON.fullmatch(parts[0])
    if match is None or len(parts) != _PARTS:
        return ""
    return f"{match[1]}.{match[2]}{'t' if parts[1] == parts[0] + 't' else ''}"


def _machine(tag: str) -> str:
    match = _MACHINE.fullmatch(tag.rpartition("-")[2])
    return match[1] if match else ""


def _glibc(tags: Iterable[str]) -> str:
    """The oldest C library that any of its platform tags promises to run on."""
    promised = [found for tag in tags if (found := glibc_promised(tag.rpartition("-")[2]))]
    return min(promised, key=lambda item: release(item) or (), default="")
