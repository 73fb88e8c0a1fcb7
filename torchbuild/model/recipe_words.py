"""The words of a recipe: what a name, a release, a program may look like, and each shape in words."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from torchbuild.model.byte_size import BYTE_SIZE, BYTE_SIZE_WORDS

__all__ = [
    "IMAGE",
    "LOCAL",
    "MODULE",
    "PATTERNS",
    "BuilderPath",
    "CudaVersion",
    "DebianWord",
    "FlagValue",
    "Glibc",
    "GpuArch",
    "Name",
    "PoolHost",
    "PoolScheduler",
    "PoolToken",
    "Program",
    "Project",
    "Release",
    "Variable",
]

_NAME = r"^[a-z0-9][a-z0-9._-]*$"
_RELEASE = r"^[0-9]+(\.[0-9]+)*([a-z0-9.+-]*[a-z0-9+])?$"
_CUDA = r"^[1-9][0-9]?\.(0|[1-9][0-9]?)(\.(0|[1-9][0-9]{0,2}))?$"
_BUILDER_PATH = r"^(/\.?[A-Za-z0-9_+@~-][A-Za-z0-9._+@~-]*)+/?$"
_GPU_ARCH = r"^[1-9][0-9]?\.[0-9][af]?(\+PTX)?$"
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
LOCAL = r"^[a-z0-9]+(\.[a-z0-9]+)*$"
_GLIBC = r"^[0-9]{1,4}\.[0-9]{1,4}$"
_PROGRAM = r"^((/[A-Za-z0-9._+@~-]+)+|[A-Za-z0-9_][A-Za-z0-9._+-]*)$"
_DEBIAN_WORD = r"^[a-z0-9]([a-z0-9.+-]*[a-z0-9.+])?$"
MODULE = r"^[a-z]([a-z0-9_]*[a-z0-9])?$"
_PROJECT = r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"
_IMAGE_PART = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
IMAGE = (
    r"^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?/)?"
    rf"{_IMAGE_PART}(/{_IMAGE_PART})*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$"
)
_HOST_AND_PORT = r"([A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]{0,4})?"
_POOL_HOST = rf"^{_HOST_AND_PORT}(/[1-9][0-9]{{0,3}})?$"
_POOL_SCHEDULER = rf"^(https?://)?{_HOST_AND_PORT}$"
_POOL_VARIABLE = r"^(\$\{[A-Za-z_][A-Za-z0-9_]*\})?$"

PATTERNS = {
    BYTE_SIZE: BYTE_SIZE_WORDS,
    _NAME: "lower-case letters, digits and . _ -, first a letter or a digit",
    _RELEASE: "a version such as 12.4.1",
    _CUDA: "a release of two or three numbers, such as 12.4 or 12.4.1",
    _BUILDER_PATH: "an absolute path inside the builder: letters, digits and . _ + @ ~ -, and no ..",
    _GPU_ARCH: "N.N, then perhaps a or f, then perhaps +PTX",
    _VARIABLE: "a variable's name: letters, digits and _, first no digit",
    LOCAL: "lower-case letters and digits, in parts separated by dots",
    _GLIBC: "two numbers, such as 2.28",
    _POOL_SCHEDULER: "HOST, HOST:PORT, or either behind http:// or https://, an IPv6 address in brackets",
    _POOL_VARIABLE: "${NAME} for a variable of the environment: a token itself never stands in a recipe",
    _POOL_HOST: "HOST, HOST:PORT, HOST/SLOTS or HOST:PORT/SLOTS, an IPv6 address in brackets",
    _PROGRAM: "a program's name or absolute path, without spaces and options; options go to build.env",
    _DEBIAN_WORD: "a Debian name: lower-case letters, digits and . + -, first a letter or a digit",
    MODULE: "a name that can be imported: lower-case letters, digits and _, first a letter",
    _PROJECT: "lower-case letters, digits and . _ -, first and last a letter or a digit",
    IMAGE: "an image's name in lower case, such as localhost/builder:1, or with @sha256: and its digest",
}
"""Each pattern of the recipe in words, for messages."""

Name = Annotated[str, StringConstraints(pattern=_NAME, max_length=100)]
Release = Annotated[str, StringConstraints(pattern=_RELEASE, max_length=64)]
CudaVersion = Annotated[str, StringConstraints(pattern=_CUDA)]
BuilderPath = Annotated[str, StringConstraints(pattern=_BUILDER_PATH, max_length=1000)]
GpuArch = Annotated[str, StringConstraints(pattern=_GPU_ARCH)]
DebianWord = Annotated[str, StringConstraints(pattern=_DEBIAN_WORD, max_length=100)]
Glibc = Annotated[str, StringConstraints(pattern=_GLIBC)]
PoolHost = Annotated[str, StringConstraints(pattern=_POOL_HOST, max_length=300)]
PoolScheduler = Annotated[str, StringConstraints(pattern=_POOL_SCHEDULER, max_length=300)]
PoolToken = Annotated[str, StringConstraints(pattern=_POOL_VARIABLE, max_length=100)]
Program = Annotated[str, StringConstraints(pattern=_PROGRAM, max_length=1000)]
Project = Annotated[str, StringConstraints(pattern=_PROJECT, max_length=100)]
Variable = Annotated[str, StringConstraints(pattern=_VARIABLE)]
FlagValue = bool | int | str
