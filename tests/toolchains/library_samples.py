"""Recipes, parts and a library that can be compiled: what tests of libraries begin with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from torchbuild.model.artifact import Artifact
from torchbuild.model.part import LockedPart, LockedPiece, PartName, prefix_of
from torchbuild.model.recipe import Recipe

__all__ = ["DIGEST", "SHIM", "compiled", "guest", "lay_nccl", "library", "ours", "recipe"]

SHIM = Path(__file__).parents[2] / "torchbuild" / "shim"
DIGEST = "ab" * 32


def recipe(*, cuda: str = "12.4.1", torch: str = "2.6.0", **tables: Any) -> Recipe:
    """A recipe of torch with CUDA and further tables; a library's table has ``from`` as ``source``."""
    whole = {
        "schema": 1,
        "name": "sample",
        "source": {"git": "https://example.org/pytorch.git", "ref": "v2.6.0"},
        "wheel": {"version": torch},
        **({"cuda": {"version": cuda}} if cuda else {}),
        **tables,
    }
    return Recipe.model_validate_json(json.dumps(whole))


def library(version: str = "", source: str = "wheels", **more: str) -> dict[str, str]:
    """A library's table."""
    return {**({"version": version} if version else {}), "from": source, **more}


def ours(name: PartName, version: str, prefix: str = "", provider: str = "wheels") -> LockedPart:
    """A part of our own."""
    piece = LockedPiece(artifact=Artifact(locator=f"pypi:{name}/{name}-1-py3-none-any.whl", sha256=DIGEST))
    return LockedPart(
        name=name,
        provider=provider,
        version=version,
        prefix=prefix or prefix_of(name),
        pieces=(piece,),
    )


def lay_nccl(
    prefix: Path, header: str = "2.21.5", library: str = "", *, cuda: str = "12.4", link: bool = True
) -> Path:
    """Something that tells its version as NCCL does: a header, and a library that the compiler made."""
    major, minor, patch = (int(word) for word in header.split("."))
    code = [int(word) for word in (library or header).split(".")]
    for folder in ("include", "lib"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    (prefix / "include" / "nccl.h").write_text(
        f"#define NCCL_MAJOR {major}\n#define NCCL_MINOR {minor}\n#define NCCL_PATCH {patch}\n"
        "#define NCCL_VERSION_CODE (NCCL_MAJOR * 10000 + NCCL_MINOR * 100 + NCCL_PATCH)\n"
        "typedef enum { ncclSuccess = 0 } ncclResult_t;\n"
        '#ifdef __cplusplus\nextern "C"\n#endif\nncclResult_t ncclGetVersion(int* version);\n'
    )
    source = prefix / "nccl.c"
    source.write_text(
        f'const char says[] = "NCCL version {library or header}+cuda{cuda}";\n'
        f"int ncclGetVersion(int* version) {{ *version = {code[0] * 10000 + code[1] * 100 + code[2]}; return 0; }}\n"
    )
    compiled(source, prefix / "lib" / "libnccl.so.2")
    if link:
        (prefix / "lib" / "libnccl.so").symlink_to("libnccl.so.2")
    return prefix


def compiled(source: Path, target: Path) -> None:
    """A shared library out of one C file."""
    argv = ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{target.name}", "-o", str(target), str(source)]
    subprocess.run(argv, check=True, timeout=60)


def guest(script: str, request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What a guest script says to a request, run as it is in a build."""
    path = folder / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    argv = [sys.executable, "-I", str(SHIM / script), str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.count("\n") == 1
    said: dict[str, Any] = json.loads(done.stdout)
    return said
