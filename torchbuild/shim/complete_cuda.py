"""Complete a toolkit of wheels or archives, so that CMake's finders and linkers find all of it.

``python -I complete_cuda.py REQUEST.json`` with

    prefix    where the toolkit lies
    cc        host C compiler, absolute: it makes the link stub of the driver
    scratch   a directory of our own
    versions  what the lock says of its programs: {"nvcc": "13.0.88", …}
    release   what the recipe calls it: 13.0.2

Prints one line: ``made``, the paths below the prefix that are new, and ``problems``, what could not be made.
Run twice it makes nothing the second time.
"""

import glob
import json
import os
import re
import subprocess
import sys
from typing import Any, Dict, List, Set, Tuple

__all__ = ["complete", "main"]

_SONAME = "libcuda.so.1"
_STUB = "lib/stubs/libcuda.so"
_MODES = ("", "-D__CUDA_API_VERSION_INTERNAL", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM")
"""The driver's header declares other names under each: older entry points, and one stream a thread."""
_DECLARED = re.compile(r"\bCUresult\s+(?:CUDAAPI\s+)?(cu[A-Z]\w{1,200})\s*\(")
_BESIDE = ("cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h")
"""Headers of the same library that need headers of others: their text is searched as it is."""
_STUB_ERROR = 34
"""CUDA_ERROR_STUB_LIBRARY: what a stub answers, should it ever be loaded."""
_PROGRAM = 0o755
_NOTE = "written by torchbuild from the lock: the provider brings no version.json"


def main(argv: List[str]) -> int:
    """Complete it and print what was made; 0 even where something could not be: the stage judges."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    sys.stdout.write(json.dumps(complete(request), sort_keys=True) + "\n")
    return 0


def complete(request: Dict[str, Any]) -> Dict[str, List[str]]:
    """All that is missing, in an order in which each step finds what it needs."""
    prefix = str(request["prefix"])
    made: List[str] = []
    problems: List[str] = []
    for step in (
        _let_run,
        _link_lib64,
        _link_libraries,
        _link_libdevice,
        _link_cupti,
        _make_stub,
        _write_versions,
    ):
        try:
            made += step(prefix, request)
        except (OSError, ValueError) as error:  # noqa: PERF203  the next step may be possible all the same
            problems.append(str(error)[:2000])
    return {"made": made, "problems": problems}


def _let_run(prefix: str, _request: Dict[str, Any]) -> List[str]:
    """Programs can be started by everybody; archives and unpackers lose that."""
    made = []
    for path in sorted(glob.glob(prefix + "/bin/*") + glob.glob(prefix + "/nvvm/bin/*")):
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        with open(path, "rb") as handle:
            is_program = handle.read(4)[:4] == b"\x7fELF" or _is_script(path)
        mode = os.stat(path).st_mode & 0o7777
        if is_program and mode & _PROGRAM != _PROGRAM:
            os.chmod(path, mode | _PROGRAM)
            made.append(os.path.relpath(path, prefix))
    return made


def _is_script(path: str) -> bool:
    with open(path, "rb") as handle:
        return handle.read(2) == b"#!"


def _link_lib64(prefix: str, _request: Dict[str, Any]) -> List[str]:
    """``lib64``, where nvcc's own profile and FindCUDA look."""
    if not os.path.isdir(prefix + "/lib") or os.path.lexists(prefix + "/lib64"):
        return []
    os.symlink("lib", prefix + "/lib64")
    return ["lib64"]


def _link_libraries(prefix: str, _request: Dict[str, Any]) -> List[str]:
    """``libX.so`` beside ``libX.so.N``, which linkers look for; the newest where there are several."""
    made = []
    for folder in _library_folders(prefix):
        plain: Dict[str, List[str]] = {}
        for name in sorted(os.listdir(folder)):
            stem, mark, version = name.partition(".so.")
            if mark and name.startswith("lib") and re.match(r"[0-9]+(\.[0-9]+)*$", version):
                plain.setdefault(stem + ".so", []).append(name)
        for name, versions in sorted(plain.items()):
            if not os.path.lexists(os.path.join(folder, name)):
                os.symlink(max(versions, key=_by_version), os.path.join(folder, name))
                made.append(os.path.relpath(os.path.join(folder, name), prefix))
    return made


def _library_folders(prefix: str) -> List[str]:
    names = ("lib", "lib64", "nvvm/lib64", "extras/CUPTI/lib64", "targets/*/lib")
    found = [path for name in names for path in sorted(glob.glob(os.path.join(prefix, name)))]
    return [path for path in found if os.path.isdir(path) and not os.path.islink(path)]


def _by_version(name: str) -> Tuple[List[int], int]:
    """Newest last; of ``libX.so.13`` and ``libX.so.13.0`` the shorter, which is the name that counts."""
    numbers = [int(part) for part in name.partition(".so.")[2].split(".")]
    return numbers[:1], -len(numbers)


def _link_libdevice(prefix: str, _request: Dict[str, Any]) -> List[str]:
    """The device's mathematics, where nvcc and those who imitate it look."""
    if glob.glob(prefix + "/nvvm/libdevice/libdevice*.bc"):
        return []
    found = sorted(glob.glob(prefix + "/libdevice/libdevice*.bc"))
    if not found:
        raise ValueError("no libdevice*.bc below " + prefix)
    os.makedirs(prefix + "/nvvm/libdevice", exist_ok=True)
    name = os.path.basename(found[-1])
    os.symlink("../../libdevice/" + name, prefix + "/nvvm/libdevice/" + name)
    return ["nvvm/libdevice/" + name]


def _link_cupti(prefix: str, _request: Dict[str, Any]) -> List[str]:
    """The profiler's library below ``extras``, where FindCUDA alone looks."""
    made = []
    if glob.glob(prefix + "/lib/libcupti.so*") and not os.path.lexists(prefix + "/extras/CUPTI"):
        os.makedirs(prefix + "/extras/CUPTI")
        for name, target in (("include", "../../include"), ("lib64", "../../lib")):
            os.symlink(target, prefix + "/extras/CUPTI/" + name)
            made.append("extras/CUPTI/" + name)
    return made


def _make_stub(prefix: str, request: Dict[str, Any]) -> List[str]:
    """A library of the driver's names, to link with on machines that have no driver."""
    if any(
        glob.glob(prefix + place) for place in ("/lib*/stubs/libcuda.so", "/targets/*/lib/stubs/libcuda.so")
    ):
        return []
    cc, scratch = str(request["cc"]), str(request["scratch"])
    names = _driver_names(prefix, cc)
    if not names:
        raise ValueError("cuda.h below " + prefix + " declares no function of the driver")
    os.makedirs(scratch, exist_ok=True)
    source = os.path.join(scratch, "libcuda-stub.c")
    with open(source, "w", encoding="ascii") as handle:
        handle.writelines("int %s(void) { return %d; }\n" % (name, _STUB_ERROR) for name in sorted(names))
    target = os.path.join(prefix, _STUB)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    options = ("-shared", "-fPIC", "-nostdlib", "-s", "-w", "-fno-builtin")
    linking = ("-Wl,--build-id=none", "-Wl,-soname," + _SONAME)
    code, text = _run([cc, *options, *linking, "-o", target + ".new", source])
    if code != 0:
        raise ValueError("%s made no link stub of the driver: exit code %d: %s" % (cc, code, text.strip()))
    os.replace(target + ".new", target)
    return [_STUB]


def _driver_names(prefix: str, cc: str) -> Set[str]:
    """Every function that the driver's headers declare, under all the names that it may be linked by."""
    names: Set[str] = set()
    header = os.path.join(prefix, "include", "cuda.h")
    for mode in _MODES:
        code, text = _run([cc, "-E", "-P", "-x", "c", *filter(None, [mode]), header])
        if code != 0:
            raise ValueError("%s cannot read %s: exit code %d: %s" % (cc, header, code, text.strip()[-1500:]))
        names.update(_DECLARED.findall(text))
    for name in _BESIDE:
        path = os.path.join(prefix, "include", name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as handle:
                names.update(_DECLARED.findall(handle.read()))
    return names


def _write_versions(prefix: str, request: Dict[str, Any]) -> List[str]:
    """``version.json`` in its usual shape, marked as ours: nobody may take it for the provider's word."""
    path, release = os.path.join(prefix, "version.json"), str(request.get("release", ""))
    versions = dict(request.get("versions", {}))
    if os.path.lexists(path) or not release:
        return []
    table = {"cuda_" + name: {"name": name, "version": str(text)} for name, text in sorted(versions.items())}
    table["cuda"] = {"name": "CUDA SDK", "version": release}
    table["torchbuild"] = {"name": _NOTE, "version": release}
    with open(path + ".new", "w", encoding="utf-8") as handle:
        json.dump(table, handle, indent=2, sort_keys=True)
        handle.write("\n")
    os.replace(path + ".new", path)
    return ["version.json"]


def _run(argv: List[str]) -> Tuple[int, str]:
    """Exit code, and what was said on both ways out."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, LC_ALL="C"),
            timeout=300,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
