"""What a CUDA toolkit really is: each program started, headers read, a probe compiled, linked and started.

``python -I look_cuda.py REQUEST.json`` with

    prefix       where it is, as the lock has it
    cxx          host C++ compiler, absolute
    standard     C++ standard of the tree: "17"
    archs        architectures asked for: ["7.5", "9.0a", "12.0+PTX"]
    environment  the build's environment, whole: PATH and every name of the toolkit in it
    scratch      a directory of our own
    brief        true: only where it really is and what nvcc says, to make a lock from

Prints one line of JSON, see `look`. What is missing is empty: the judge judges.
"""

import glob
import json
import os
import re
import subprocess
import sys
import time
from typing import Any, Dict, List, Tuple

__all__ = ["look", "main"]

_PROGRAMS = ("cicc", "cudafe++", "fatbinary", "nvcc", "nvlink", "ptxas")
_NAMES = (
    "CMAKE_CUDA_COMPILER",
    "CMAKE_CUDA_HOST_COMPILER",
    "CUDACXX",
    "CUDAHOSTCXX",
    "CUDAToolkit_ROOT",
    "CUDA_BIN_PATH",
    "CUDA_HOME",
    "CUDA_NVCC_EXECUTABLE",
    "CUDA_PATH",
    "NVCC_CCBIN",
)
"""What PyTorch's and CMake's finders read."""
_PATH = "/usr/local/bin:/usr/bin:/bin"
_DEBIAN = "/usr/lib/nvidia-cuda-toolkit/bin"
"""Where Debian keeps what nvcc alone starts."""
_RELEASE = re.compile(r"release ([0-9]+\.[0-9]+), V([0-9]+(?:\.[0-9]+)+)")
_ASSIGNED = re.compile(r"^#\$ ([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.MULTILINE)
_NO_LOADER = "error while loading shared libraries"
_NOT_STARTED = 126
"""From this exit code on a program was not found, could not be started, or was ended by a signal."""
_MOST = 3000
"""Characters kept of what a program says."""

_SMALL = "__global__ void torchbuild_small(float *x) { x[threadIdx.x] *= 2.0f; }\n"
_DRIVER = """#include <cuda.h>
int main() { int count = 0; return cuInit(0) == CUDA_SUCCESS ? cuDeviceGetCount(&count) : 0; }
"""
# thrust is included and not used: that its headers are there and go with the others is the question,
# and to sort something takes minutes for a list of architectures
_PROBE = """#include <cmath>
#include <math.h>
#include <cstdio>
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>

__global__ void torchbuild_probe(float *x, double *y) {
  x[0] = cospif(x[0]) + sinpif(x[0]) + std::sqrt(std::fabs(x[0]));
  y[0] = cospi(y[0]) + rsqrt(y[0]);
}

int main() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  const char *word = cudaGetErrorString(error);
  std::printf("torchbuild probe: %d devices, %s\\n", error == cudaSuccess ? count : 0, word);
  return 0;
}
"""


def main(argv: List[str]) -> int:
    """Print what is there; 0 even where nothing is."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    sys.stdout.write(json.dumps(look(request), sort_keys=True) + "\n")
    return 0


def look(request: Dict[str, Any]) -> Dict[str, Any]:
    """All of it.

    ``real``: the prefix without links. ``programs``: by name path, whether it started, release and build.
    ``headers``: releases by file. ``version_json``: release, and whether we wrote it. ``lists``: what nvcc
    says it can. ``limits``: of ``host_config.h``. ``probe``, ``driver``, ``archs``: what came of compiling.
    ``names``: the environment's, as given and without links. ``before``: each other nvcc that PATH names
    first. ``libraries``: what old trees ask for. ``glibc``. ``seconds`` by step: wall and processor's.
    """
    toolkit = Toolkit(request)
    real = os.path.realpath(toolkit.prefix)
    if request.get("brief"):
        return {"real": real, "nvcc": toolkit.program(toolkit.nvcc)}
    os.makedirs(toolkit.scratch, exist_ok=True)
    seen = {
        "real": real,
        "programs": toolkit.programs(),
        "headers": toolkit.headers(),
        "version_json": toolkit.version_json(),
        "lists": toolkit.lists(),
        "limits": toolkit.limits(),
        "names": {name: _real(toolkit.environment[name]) for name in _NAMES if name in toolkit.environment},
        "before": toolkit.others_before(),
        "libraries": toolkit.libraries(),
        "glibc": _glibc(),
    }
    if os.path.isfile(toolkit.nvcc):
        seen.update(probe=toolkit.probe(), driver=toolkit.driver(), archs=toolkit.archs())
    return dict(seen, seconds=toolkit.seconds)


class Toolkit:
    """One toolkit, asked what it is."""

    def __init__(self, request: Dict[str, Any]) -> None:
        self.prefix = str(request["prefix"])
        self.nvcc = os.path.join(self.prefix, "bin", "nvcc")
        self.cxx = str(request.get("cxx", ""))
        self.standard = str(request.get("standard", "17"))
        self.asked = [str(arch) for arch in request.get("archs", ())]
        self.environment = {str(key): str(value) for key, value in request.get("environment", {}).items()}
        self.scratch = str(request["scratch"])
        self.seconds: Dict[str, List[float]] = {}

    def run(self, *argv: str, **more: str) -> Tuple[int, str]:
        """In the build's own environment: exit code, and what was said on both ways out."""
        known = {"PATH": _PATH, "HOME": self.scratch, "TMPDIR": self.scratch}
        env = dict(dict(known, **self.environment), LC_ALL="C", **more)
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=self.scratch if os.path.isdir(self.scratch) else None,
                timeout=900,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            return 127, str(error)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def timed(self, step: str, *argv: str, **more: str) -> Dict[str, Any]:
        """One step of the probe."""
        begin, used = time.monotonic(), _processor_s()
        code, text = self.run(*argv, **more)
        self.seconds[step] = [round(time.monotonic() - begin, 2), round(_processor_s() - used, 2)]
        return {"code": code, "said": text.strip()[-_MOST:], "starts": _starts(code, text)}

    def compile(self, step: str, *options: str) -> Dict[str, Any]:
        """nvcc, with the host compiler and the standard that the build will use."""
        return self.timed(step, self.nvcc, "-ccbin", self.cxx, "-std=c++" + self.standard, *options)

    def program(self, path: str) -> Dict[str, Any]:
        """One program, started."""
        if not os.path.isfile(path):
            return {"path": "", "starts": False, "release": "", "build": "", "said": "is not there"}
        code, text = self.run(path, "--version")
        found = _RELEASE.search(text)
        release, build = found.groups() if found else ("", "")
        said = "" if found else text.strip()[:300]
        return {"path": path, "starts": _starts(code, text), "release": release, "build": build, "said": said}

    def programs(self) -> Dict[str, Dict[str, Any]]:
        """Those that a compilation starts, found as nvcc does. cicc says what it is in the PTX it makes."""
        places = self._program_places()
        found = {}
        for name in _PROGRAMS:
            paths = (os.path.join(place, name) for place in places)
            found[name] = self.program(next((path for path in paths if os.path.isfile(path)), ""))
        if found["cicc"]["path"]:
            found["cicc"].update(self._word_of_cicc())
        return found

    def _program_places(self) -> List[str]:
        """Where nvcc looks, in its order: it prints that with ``--dryrun``."""
        source = self._write("places.cu", _SMALL)
        _, text = self.run(self.nvcc, "--dryrun", "-ccbin", self.cxx, "-c", source, "-o", source + ".o")
        said = dict(_ASSIGNED.findall(text))
        known = [os.path.join(self.prefix, "bin"), os.path.join(self.prefix, "nvvm", "bin"), _DEBIAN]
        told = [said.get("CICC_PATH", ""), *said.get("PATH", "").split(":")]
        return [os.path.normpath(os.path.join(self.scratch, place)) for place in told if place] + known

    def _word_of_cicc(self) -> Dict[str, str]:
        source = self._write("word.cu", _SMALL)
        listed = re.findall(r"compute_[0-9]+", self.run(self.nvcc, "--list-gpu-arch")[1])
        arch = ["-arch=" + listed[0]] if listed else []
        options = ("-allow-unsupported-compiler", "-ptx", "-o", source + ".ptx", source)
        code, text = self.run(self.nvcc, "-ccbin", self.cxx, *arch, *options)
        found = _RELEASE.search(_text(source + ".ptx", 4000)) if code == 0 else None
        if found is None:
            return {"said": "made no PTX that names its release: " + text.strip()[-300:]}
        ptx = re.search(r"^\.version ([0-9.]+)", _text(source + ".ptx", 4000), re.MULTILINE)
        return {"release": found[1], "build": found[2], "said": "", "ptx": ptx[1] if ptx else ""}

    def headers(self) -> Dict[str, str]:
        """Releases that the headers declare, ``13.0``, by the header's path."""
        found = {}
        for name, word in (("cuda.h", "CUDA_VERSION"), ("cuda_runtime_api.h", "CUDART_VERSION")):
            for path in self._files("include/" + name, "targets/*/include/" + name)[:1]:
                match = re.search(r"^#define\s+%s\s+([0-9]+)" % word, _text(path), re.MULTILINE)
                number = int(match[1]) if match else 0
                found[path] = "%d.%d" % (number // 1000, number % 1000 // 10) if number else ""
        return found

    def version_json(self) -> Dict[str, Any]:
        """The release in ``version.json``; nothing where there is no such file."""
        path = os.path.join(self.prefix, "version.json")
        if not os.path.isfile(path):
            return {}
        try:
            table = json.loads(_text(path))
            release = str(table["cuda"]["version"])
        except (ValueError, KeyError, TypeError):
            return {"path": path, "release": "", "ours": False}
        return {"path": path, "release": release[:100], "ours": "torchbuild" in table}

    def lists(self) -> Dict[str, List[str]]:
        """``archs`` and ``codes`` that nvcc lists, and ``accepted``: every word of its help, suffixes too."""
        archs, codes, words = (
            self.run(self.nvcc, option)[1] for option in ("--list-gpu-arch", "--list-gpu-code", "--help")
        )
        return {
            "archs": sorted(set(re.findall(r"\bcompute_[0-9]+[af]?\b", archs))),
            "codes": sorted(set(re.findall(r"\bsm_[0-9]+[af]?\b", codes))),
            "accepted": sorted(set(re.findall(r"'((?:compute|sm)_[0-9]+[af]?)'", words))),
        }

    def limits(self) -> Dict[str, Any]:
        """Compilers that ``host_config.h`` refuses: gcc above a number, clang from one on; 0: not said."""
        found: Dict[str, Any] = {"path": "", "gcc_most": 0, "clang_below": 0}
        for path in self._files("include/crt/host_config.h", "targets/*/include/crt/host_config.h")[:1]:
            text = _text(path)
            gcc = re.findall(r"^#if\s+__GNUC__\s*>\s*([0-9]+)", text, re.MULTILINE)
            clang = re.findall(r"^#if\s+\(__clang_major__\s*>=\s*([0-9]+)\)", text, re.MULTILINE)
            found = {"path": path, "gcc_most": int((gcc or [0])[-1]), "clang_below": int((clang or [0])[-1])}
        return found

    def probe(self) -> Dict[str, Any]:
        """A program with mathematics and thrust, for all architectures at once: compiled, linked, started."""
        source = self._write("probe.cu", _PROBE)
        program = source[:-3]
        codes = [option for arch in self.asked for option in _gencode(arch)]
        made = self.compile("probe", "-cudart", "shared", *codes, "-o", program, source)
        if made["code"] != 0:
            return {"compiled": made, "started": {}}
        paths = [
            place for place in [*self._library_places(), self.environment.get("LD_LIBRARY_PATH", "")] if place
        ]
        started = self.timed("start", program, LD_LIBRARY_PATH=":".join(paths))
        return {"compiled": made, "started": started, "dynamic": self._dynamic(program)}

    def driver(self) -> Dict[str, Any]:
        """A program that calls the driver, linked with the stub; it is not started: here may be no driver."""
        source = self._write("driver.cpp", _DRIVER)
        made = self.compile("driver", "-o", source[:-4], source, "-lcuda")
        places = [os.path.join(place, "stubs", "libcuda.so") for place in self._library_places()]
        stub = next((path for path in places if os.path.isfile(path)), "")
        return {
            "stub": stub,
            "linked": made,
            "dynamic": self._dynamic(source[:-4]) if made["code"] == 0 else {},
        }

    def archs(self) -> Dict[str, Dict[str, Any]]:
        """A small kernel for each architecture alone."""
        source = self._write("small.cu", _SMALL)
        return {
            arch: self.compile("arch " + arch, *_gencode(arch), "-c", "-o", source + ".o", source)
            for arch in self.asked
        }

    def others_before(self) -> List[str]:
        """Each other nvcc that PATH names before ours, in order."""
        ours = os.path.realpath(self.nvcc)
        before: List[str] = []
        for place in self.environment.get("PATH", "").split(":"):
            path = os.path.join(place or ".", "nvcc")
            if os.path.realpath(path) == ours:
                return before
            if os.path.isfile(path) and os.access(path, os.X_OK):
                before.append(path)
        return before

    def libraries(self) -> Dict[str, str]:
        """What trees of some age ask for: the old tools extension, and thrust beside cuda.h."""
        tools = [path for place in self._library_places() for path in glob.glob(place + "/libnvToolsExt.so")]
        thrust = self._files("include/thrust/version.h", "include/cccl/thrust/version.h")
        return {
            "nvToolsExt": (tools or [""])[0],
            "nvtx3": (self._files("include/nvtx3/nvToolsExt.h") or [""])[0],
            "thrust": os.path.dirname(os.path.dirname(thrust[0])) if thrust else "",
        }

    def _library_places(self) -> List[str]:
        names = ("lib64", "targets/*/lib", "lib", "lib/*-linux-gnu")
        return [path for name in names for path in sorted(glob.glob(os.path.join(self.prefix, name)))]

    def _files(self, *names: str) -> List[str]:
        found = [path for name in names for path in sorted(glob.glob(os.path.join(self.prefix, name)))]
        return [path for path in found if os.path.isfile(path)]

    def _dynamic(self, program: str) -> Dict[str, Any]:
        """What a program needs and where it looks; nothing where readelf is not there."""
        code, text = self.run("readelf", "-dW", program)
        if code != 0:
            return {}
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        return {"needed": needed, "run_paths": re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text)}

    def _write(self, name: str, text: str) -> str:
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="ascii") as handle:
            handle.write(text)
        return path


def _gencode(arch: str) -> List[str]:
    """Options of nvcc for an item such as ``9.0a`` or ``8.6+PTX``, as PyTorch's own grammar makes them."""
    plain, mark, _ = arch.partition("+PTX")
    number = plain.replace(".", "")
    pairs = ["arch=compute_%s,code=sm_%s" % (number, number)]
    pairs += ["arch=compute_%s,code=compute_%s" % (number, number)] if mark else []
    return [word for pair in pairs for word in ("-gencode", pair)]


def _processor_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _starts(code: int, text: str) -> bool:
    """Whether a program itself ran, whatever it said: the loader found all, and no signal ended it."""
    return 0 <= code < _NOT_STARTED and _NO_LOADER not in text


def _real(path: str) -> Dict[str, str]:
    return {"given": path, "real": os.path.realpath(path) if os.path.lexists(path) else ""}


def _text(path: str, most: int = 4000000) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read(most)
    except OSError:
        return ""


def _glibc() -> str:
    """The C library's release, ``2.41``; empty where it is another library."""
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")[2]
    except (OSError, ValueError):
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
