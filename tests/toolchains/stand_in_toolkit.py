"""A toolkit that answers as the real one does, laid from scripts: each test makes it wrong in one way."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from torchbuild.shim.complete_cuda import complete

__all__ = ["GXX", "Toolkit", "laid"]

GXX = shutil.which("g++") or "/usr/bin/g++"
GCC = shutil.which("gcc") or "/usr/bin/gcc"

CUDA_H = """\
#define CUDAAPI
#define CUDA_VERSION {number}
typedef enum cudaError_enum {{ CUDA_SUCCESS = 0 }} CUresult;
#ifdef __cplusplus
extern "C" {{
#endif
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cuStreamWait cuStreamWait_ptsz
#endif
#ifndef __CUDA_API_VERSION_INTERNAL
#define cuMemAlloc cuMemAlloc_v2
#endif
/* CUresult cuCommented(void); */
CUresult CUDAAPI cuInit(unsigned int Flags);
CUresult CUDAAPI cuDeviceGetCount(int *count);
CUresult CUDAAPI cuMemAlloc(void **pointer, unsigned long size);
CUresult CUDAAPI
cuStreamWait(void *stream);
#ifdef __cplusplus
}}
#endif
"""
"""The shape of the driver's header: names that macros change, two lines a declaration, a comment."""

PROGRAM = """#!{python} -IS
import json, os, re, subprocess, sys
how = json.load(open({knobs!r}))
name = os.path.basename(sys.argv[0])
if name in how["broken"]:
    sys.exit(print(how["broken"][name]) or 127)
build = how["builds"][name]
words = sys.argv[1:]
line = "Cuda compilation tools, release %s, V%s" % (".".join(build.split(".")[:2]), build)
if name == "cicc":
    sys.exit(print("Missing input file") or 1)
if "--version" in words or name != "nvcc":
    sys.exit(print(line))
here = os.path.dirname(os.path.abspath(sys.argv[0]))
if "--dryrun" in words:
    print("#$ CICC_PATH=%s/../nvvm/bin" % here)
    sys.exit(print("#$ PATH=%s/../nvvm/bin:%s:%s" % (here, here, os.environ.get("PATH", ""))))
for option, prefix in (("--list-gpu-arch", "compute_"), ("--list-gpu-code", "sm_")):
    if option in words:
        sys.exit(print("\\n".join(prefix + arch for arch in how["archs"] if arch.isdigit())))
if "--help" in words:
    sys.exit(print(",".join("'compute_%s','sm_%s'" % (arch, arch) for arch in how["archs"])))
out = words[words.index("-o") + 1]
cicc = how["builds"]["cicc"]
ptx = ".version 9.%s" % cicc.split(".")[1]
if "-ptx" in words:
    with open(out, "w") as handle:
        handle.write("// Cuda compilation tools, release %s, V%s\\n\\n%s\\n" % (".".join(cicc.split(".")[:2]), cicc, ptx))
    sys.exit(0)
for arch in re.findall("(?:compute|sm)_([0-9]+[af]?)", " ".join(words)):
    if arch not in how["archs"]:
        sys.exit(print("nvcc fatal   : Unsupported gpu architecture 'compute_%s'" % arch) or 1)
if cicc != how["builds"]["ptxas"] and "-lcuda" not in words:
    sys.exit(print("ptxas x.ptx, line 9; fatal   : Unsupported %s; current version is '9.0'" % ptx) or 255)
source = next(word for word in words if word.endswith((".cu", ".cpp")))
if how["refuses"] and source.endswith("probe.cu"):
    sys.exit(print(how["refuses"]) or 2)
top = os.path.dirname(here)
ccbin = words[words.index("-ccbin") + 1]
if source.endswith(".cu"):
    source = out + ".cpp"
    with open(source, "w") as handle:
        handle.write('#include <cstdio>\\nint main() {{ std::puts("%s"); }}\\n' % how["prints"])
options = ["-c"] if "-c" in words else [*how["links"], "-L" + top + "/lib64/stubs"]
rest = ["-lcuda"] if "-lcuda" in words else []
sys.exit(subprocess.call([ccbin, "-I" + top + "/include", "-o", out, source, *options, *rest]))
"""


@dataclass(frozen=True)
class Toolkit:
    """What it is to be."""

    builds: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys(
            ("nvcc", "cicc", "cudafe++", "fatbinary", "nvlink", "ptxas"), "13.0.88"
        )
    )
    archs: tuple[str, ...] = ("75", "90", "90a", "120", "120f")
    cuda_h: int = 13000
    runtime_h: int = 13000
    broken: dict[str, str] = field(default_factory=dict)
    refuses: str = ""
    prints: str = "torchbuild probe: 0 devices, no CUDA-capable device is detected"
    links: tuple[str, ...] = ()
    thrust: str = "include/cccl"
    is_complete: bool = True

    def but(self, **builds: str) -> Toolkit:
        """The same, with other builds of some programs."""
        return replace(self, builds=self.builds | builds)


def laid(prefix: Path, toolkit: Toolkit | None = None) -> Path:
    """Lay it, as wheels are: `lib` alone, no unversioned names, modes lost; completed unless asked not to."""
    made = toolkit or Toolkit()
    for folder in ("bin", "nvvm/bin", "nvvm/libdevice", "include", "lib", made.thrust + "/thrust"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    knobs = prefix.parent / (prefix.name + ".json")
    knobs.write_text(json.dumps(asdict(made)), encoding="utf-8")
    for name in made.builds:
        path = prefix / ("nvvm/bin" if name == "cicc" else "bin") / name
        path.write_text(PROGRAM.format(python=sys.executable, knobs=str(knobs)), encoding="utf-8")
        path.chmod(0o644)
    (prefix / "bin" / "nvcc.profile").write_text("TOP = $(_HERE_)/..\n", encoding="utf-8")
    (prefix / "include/cuda.h").write_text(CUDA_H.format(number=made.cuda_h), encoding="utf-8")
    (prefix / "include/cuda_runtime_api.h").write_text(f"#define CUDART_VERSION  {made.runtime_h}\n")
    (prefix / made.thrust / "thrust/version.h").write_text("")
    (prefix / "nvvm/libdevice/libdevice.10.bc").write_bytes(b"BC")
    (prefix / "lib/libcudart.so.13").write_bytes(b"\x7fELF")
    if made.is_complete:
        request = {
            "prefix": str(prefix),
            "cc": GCC,
            "scratch": str(prefix.parent / "made"),
            "release": "13.0.2",
        }
        assert complete(request)["problems"] == []
    return prefix
