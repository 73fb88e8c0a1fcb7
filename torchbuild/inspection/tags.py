"""Whether the wheel's tags agree: file name, WHEEL, the extension modules' own names, and the target."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchbuild.inspection.archive import Contents
from torchbuild.inspection.expected import ExpectedWheel
from torchbuild.inspection.headers import headers
from torchbuild.inspection.names import WheelName, parse_name
from torchbuild.inspection.platform import glibc_promised, release
from torchbuild.inspection.verdict import failed, settled
from torchbuild.model.finding import Finding

__all__ = ["REFERENCES", "check"]

REFERENCES: tuple[str, ...] = ("wheel-tags",)

_REFERENCE = "wheel-tags"
_EXTENSION = re.compile(
    r"\.(?:cpython-(?P<digits>\d+)(?P<flags>[a-z]*)|(?P<stable>abi3)|(?P<other>[a-z]+\d+-[^.]*))"
    r"(?:-(?P<platform>[\w-]+))?\.so$"
)


def check(contents: Contents, expected: ExpectedWheel) -> tuple[Finding, ...]:
    """One `passed`, or every place where two of them disagree."""
    name = parse_name(contents.wheel.name)
    if isinstance(name, str):
        wanted = "NAME-VERSION-PYTHON-ABI-PLATFORM.whl"
        return (failed(_REFERENCE, "the file's name is no wheel's name", seen=name, wanted=wanted),)
    problems = [
        *_against_target(name, expected),
        *_against_wheel_file(name, contents),
        *_against_extensions(name, contents, expected),
    ]
    return settled(
        _REFERENCE, problems, what="file name, WHEEL and extension modules agree", seen=" ".join(name.tags)
    )


def _against_target(name: WheelName, expected: ExpectedWheel) -> Iterator[Finding]:
    if name.parts(0) != (expected.python_tag,):
        seen = " ".join(name.parts(0))
        yield failed(_REFERENCE, "for another interpreter", seen=seen, wanted=expected.python_tag)
    for platform in name.parts(2):
        if not platform.endswith(f"_{expected.machine}"):
            yield failed(_REFERENCE, "for another machine", seen=platform, wanted=expected.machine)
            continue
        if not platform.startswith(("linux_", "manylinux")):
            yield failed(_REFERENCE, "for another C library", seen=platform, wanted="linux or manylinux")
        promised = glibc_promised(platform)
        if promised and (release(promised) or ()) > (release(expected.glibc) or ()):
            what = "the tag asks for a newer C library than the target has"
            yield failed(_REFERENCE, what, seen=platform, wanted=f"glibc {expected.glibc} at most")


def _against_wheel_file(name: WheelName, contents: Contents) -> Iterator[Finding]:
    found = headers(contents, "WHEEL")
    if found is None:
        yield failed(_REFERENCE, "WHEEL cannot be read", seen="nothing", wanted="one .dist-info/WHEEL")
        return
    version = str(found.get("Wheel-Version", ""))
    if version.partition(".")[0] != "1":
        yield failed(_REFERENCE, "WHEEL is of another format", seen=version or "nothing", wanted="1.0")
    tags = {str(tag).strip() for tag in found.get_all("Tag", [])}
    if tags != set(name.tags):
        seen = " ".join(sorted(tags)) or "nothing"
        wanted = " ".join(name.tags)
        yield failed(_REFERENCE, "WHEEL and the file's name differ", seen=seen, wanted=wanted)
    pure = str(found.get("Root-Is-Purelib", "")).strip().lower()
    compiled = any(elf.kind in ("library", "program") for elf in contents.elf)
    if compiled and pure != "false":
        what = "compiled code in a wheel that says it has none"
        yield failed(_REFERENCE, what, seen=f"Root-Is-Purelib: {pure or 'nothing'}", wanted="false")


def _against_extensions(name: WheelName, contents: Contents, expected: ExpectedWheel) -> Iterator[Finding]:
    abis = name.parts(1)
    for elf in contents.elf:
        file = elf.path.rpartition("/")[2]
        found = _EXTENSION.search(file)
        if found is None:
            continue
        abi = _abi(found)
        if abi not in abis and not (abi == "abi3" and abis != ("none",)):
            yield failed(_REFERENCE, f"{elf.path} is for another ABI", seen=abi, wanted=" ".join(abis))
        platform = found["platform"] or ""
        if platform and not platform.startswith(f"{expected.machine}-"):
            what = f"{elf.path} is for another machine"
            yield failed(_REFERENCE, what, seen=platform, wanted=expected.machine)


def _abi(found: re.Match[str]) -> str:
    """The ABI tag that an extension module's name stands for."""
    if found["digits"]:
        return f"cp{found['digits']}{found['flags']}"
    return found["stable"] or found["other"]
