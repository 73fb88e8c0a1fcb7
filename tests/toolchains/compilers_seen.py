"""Builders that are not there, as the survey of compilers would tell of them."""

from __future__ import annotations

from typing import Any

__all__ = ["HEADER", "REFUSAL", "compiler", "debian_13", "seen"]

REFUSAL = "host_config.h:9:2: error: #error -- unsupported GNU version! made up"
HEADER = "#if __GNUC__ > {most}\n#error -- unsupported GNU version!\n#endif"


def compiler(*names: str, version: str, kind: str = "gcc", **changed: Any) -> dict[str, Any]:
    """One that works, under some names in /usr/bin; `changed` as the survey has it."""
    twins = {name: name.replace("clang++", "clang").replace("g++", "gcc") for name in names}
    says = {
        f"/usr/bin/{name}": {
            "says": f"{name} (Distribution) {version}",
            "cc": f"/usr/bin/{twin}",
            "cc_says": f"{twin} (Distribution) {version}",
        }
        for name, twin in twins.items()
    }
    row = {
        "names": says,
        "real": f"/usr/bin/x86_64-linux-gnu-{kind}-{version}",
        "kind": kind,
        "version": version,
        "machine": "x86_64",
        "target": "x86_64-linux-gnu",
        "twin": {"kind": kind, "version": version, "says": f"{kind} (Distribution) {version}"},
        "compiles": "",
        "header": {"code": -1, "said": ""},
    }
    return row | changed


def seen(*compilers: dict[str, Any], most: int | None = None, **changed: Any) -> dict[str, Any]:
    """A builder with these; with a toolkit whose header takes gcc up to `most`, which was asked for each."""
    if most is not None:
        compilers = tuple(_asked(item, most) for item in compilers)
    config = {"path": "", "directives": ""}
    if most is not None:
        config = {"path": "/usr/include/crt/host_config.h", "directives": HEADER.format(most=most)}
    told = {
        "machine": "x86_64",
        "glibc": "2.36",
        "distribution": {"id": "debian", "release": "13"},
        "cc": "/usr/bin/gcc",
        "cc_is": {"kind": "gcc", "version": "14.2.0", "says": "gcc (Distribution) 14.2.0"},
        "cxx": "/usr/bin/g++",
        "host_config": config,
        "compilers": list(compilers),
        "left_out": 0,
        "device": {"code": -1, "said": "", "cxx": ""},
    }
    return told | changed


def _asked(row: dict[str, Any], most: int) -> dict[str, Any]:
    refused = row["kind"] == "gcc" and int(row["version"].split(".")[0]) > most
    return row | {"header": {"code": 1, "said": REFUSAL} if refused else {"code": 0, "said": ""}}


def debian_13(**changed: Any) -> dict[str, Any]:
    """Debian 13 with its toolkit: gcc 14 is the default, and cuda-g++ is gcc 13."""
    thirteen = compiler("cuda-g++", "g++-13", version="13.3.0")
    return seen(thirteen, compiler("g++", "g++-14", version="14.2.0"), most=13, **changed)
