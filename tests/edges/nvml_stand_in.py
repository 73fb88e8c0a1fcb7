"""A management library of a driver that is not there: what ours calls, compiled from C, answering as told."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

__all__ = ["NAME", "compiled"]

NAME = "libnvidia-ml.so.1"

_SOURCE = """
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <stdlib.h>
typedef struct { unsigned long long total, free, used; } memory_t;
int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
#ifdef HANG
    for (;;) pause();
#endif
#ifdef CRASH
    abort();
#endif
    return INIT;
}
const char *nvmlErrorString(int code) { (void)code; return "an error"; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { snprintf(text, size, "535.129.03"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12020; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    *handle = (void *)(unsigned long)(index + 1);
    return index == LOST ? 15 : 0;
}
static int is_first(void *handle) { return (unsigned long)handle == 1; }
int nvmlDeviceGetName(void *handle, char *text, unsigned size) {
    snprintf(text, size, is_first(handle) ? "NVIDIA GeForce GTX 1080 Ti" : "NVIDIA H100 PCIe");
    return 0;
}
int nvmlDeviceGetUUID(void *handle, char *text, unsigned size) {
    snprintf(text, size, "GPU-%lu", (unsigned long)handle);
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    *major = is_first(handle) ? 6 : 9;
    *minor = is_first(handle) ? 1 : 0;
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory) {
    memset(memory, 0, sizeof *memory);
    memory->total = is_first(handle) ? 11721179136ull : 85520809984ull;
    return 0;
}
"""


def compiled(folder: Path, *defines: str) -> Path:
    """The library in a folder.

    Args:
        folder: it is made.
        defines: ``HANG``, ``CRASH``, ``INIT=18`` for what starting it returns, ``LOST=1`` for a lost GPU.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "stand_in.c"
    source.write_text(_SOURCE)
    told = {"INIT": "INIT=0", "LOST": "LOST=9"} | {define.partition("=")[0]: define for define in defines}
    options = [f"-D{define}" for define in told.values()]
    gcc = shutil.which("gcc") or "gcc"
    library = folder / NAME
    subprocess.run(
        [gcc, "-shared", "-fPIC", "-w", *options, "-o", library, source],
        check=True,
        timeout=60,
        env={"PATH": os.environ["PATH"]},
    )
    return library
