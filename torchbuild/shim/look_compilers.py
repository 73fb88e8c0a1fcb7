"""Which C++ compilers a builder has, and what a toolkit's own header says to each, as one line of JSON.

``python -I look_compilers.py REQUEST.json`` with an object: ``cc`` and ``cxx`` as the recipe has them,
``cuda`` the toolkit's prefix, ``nvcc`` a program, ``flags`` a list for it, ``standard`` such as ``17``,
``scratch`` a directory of our own. All may be left out but the last; without ``nvcc`` no kernel is compiled.
"""

import glob
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import IO, Any, Dict, List, Tuple

__all__ = ["look", "main"]

_PATH = "/usr/local/bin:/usr/bin:/bin"
_NAMES = re.compile(r"(?:(?:cuda-)?g\+\+(?:-[0-9]+(?:\.[0-9]+)*)?|clang\+\+(?:-[0-9]+(?:\.[0-9]+)*)?)")
_TOOLSETS = "/opt/rh/*/root/usr/bin/g++"
_TWINS = (("clang++", "clang"), ("g++", "gcc"), ("c++", "cc"))
_CACHES = ("ccache", "sccache", "distcc", "icecc")
_MOST = 40
_TIMEOUT_S = 120
_BYTES = 200000
_FILE_BYTES = 64 * 1024 * 1024
_OTHERS = ("__INTEL_COMPILER", "__INTEL_LLVM_COMPILER", "__NVCOMPILER", "__ibmxl__")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif|error)\b")
_PROGRAM = """#include <cmath>
#include <vector>
int main() { std::vector<double> v(3, 2.0); return std::sqrt(v[0]) > 1 ? 0 : 1; }
"""
_DEVICE = """#include <cmath>
#include <functional>
#include <vector>
__global__ void probe(double *out) { out[0] = cospi(out[0]) + rsqrt(out[1]) + std::sqrt(out[2]); }
std::function<void(double *)> call = [](double *out) { probe<<<1, 1>>>(out); };
"""


def main(argv: List[str]) -> int:
    """Print what is there; 0 even where things are missing: others judge."""
    with open(argv[0], encoding="utf-8") as file:
        request = json.load(file)
    sys.stdout.write(json.dumps(look(request), sort_keys=True) + "\n")
    return 0


def look(request: Dict[str, Any]) -> Dict[str, Any]:
    """Compilers, C library, distribution, and the toolkit's header where one is given."""
    scratch = str(request["scratch"])
    header = _header(str(request.get("cuda", "")))
    named = _find(str(request.get("cxx", "")))
    groups = _groups(named)
    cc = _find(str(request.get("cc", "")))
    return {
        "machine": platform.machine(),
        "glibc": platform.libc_ver()[1],
        "distribution": _distribution(),
        "cc": cc,
        "cc_is": _c_compiler(cc),
        "cxx": named,
        "host_config": {"path": header, "directives": _directives(header)},
        "compilers": [_compiler(names, header, scratch) for names in groups[:_MOST]],
        "left_out": len(groups[_MOST:]),
        "device": _device(request, named, scratch),
    }


def _find(program: str) -> str:
    return shutil.which(program, path=_PATH) or "" if program else ""


def _groups(named: str) -> List[List[str]]:
    """All names of C++ compilers, those of one file together; a cache's names are compilers of their own."""
    found = []  # type: List[str]
    folders = {os.path.realpath(folder): folder for folder in reversed(_PATH.split(":"))}
    for folder in sorted(folders.values()):
        if os.path.isdir(folder):
            found += sorted(
                os.path.join(folder, name) for name in os.listdir(folder) if _NAMES.fullmatch(name)
            )
    found += sorted(glob.glob(_TOOLSETS))
    groups = {}  # type: Dict[str, List[str]]
    for path in dict.fromkeys([*([named] if named else []), *found]):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            real = os.path.realpath(path)
            key = path if os.path.basename(real) in _CACHES else real
            groups.setdefault(key, []).append(path)
    # the recipe's own first: it is judged, however many there are
    return [groups[key] for key in sorted(groups, key=lambda key: (named not in groups[key], key))]


def _compiler(names: List[str], header: str, scratch: str) -> Dict[str, Any]:
    path = names[0]
    macros = _macros(path, "c++")
    twins = [twin for twin in map(_twin, names) if twin]
    return {
        "names": {name: _called(name) for name in names},
        "real": os.path.realpath(path),
        "kind": _kind(macros),
        "version": _version(macros),
        "machine": "x86_64" if "__x86_64__" in macros else "aarch64" if "__aarch64__" in macros else "",
        "target": _line([path, "-dumpmachine"]),
        "twin": _c_compiler(twins[0] if twins else ""),
        "compiles": _compiles(path, scratch) if macros else "does not start",
        "header": _header_says(path, header) if macros else {"code": -1, "said": ""},
    }


def _called(name: str) -> Dict[str, str]:
    """What it says it is under this name, and the C compiler of that name; it tells how it was called."""
    twin = _twin(name)
    return {"says": _says(name), "cc": twin, "cc_says": _says(twin)}


def _says(path: str) -> str:
    return _line([path, "--version"]) if path else ""


def _c_compiler(path: str) -> Dict[str, str]:
    macros = _macros(path, "c") if path else {}
    return {"kind": _kind(macros), "version": _version(macros), "says": _says(path)}


def _twin(path: str) -> str:
    """The C compiler of the same make, beside it; empty for none."""
    folder, name = os.path.split(path)
    for cxx, cc in _TWINS:
        if cxx in name:
            twin = os.path.join(folder, name.replace(cxx, cc))
            return twin if os.access(twin, os.X_OK) else ""
    return ""


def _kind(macros: Dict[str, str]) -> str:
    if not macros or any(name in macros for name in _OTHERS):
        return "other" if macros else ""
    return "clang" if "__clang__" in macros else "gcc" if "__GNUC__" in macros else "other"


def _version(macros: Dict[str, str]) -> str:
    """In full, as a header would be told it; what a program calls itself is another matter."""
    if "__clang__" in macros:
        names = ("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
    else:
        names = ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
    numbers = [macros.get(name, "") for name in names]
    return ".".join(numbers) if all(number.isdigit() for number in numbers) else ""


def _macros(path: str, language: str) -> Dict[str, str]:
    code, out, _ = _run([path, "-dM", "-E", "-x", language, os.devnull])
    rows = [line.split(" ", 2) for line in out.splitlines() if line.startswith("#define ")]
    return {row[1]: "".join(row[2:]) for row in rows} if code == 0 else {}


def _header(prefix: str) -> str:
    """The toolkit's own header; the first of the places where releases have had it."""
    if not prefix:
        return ""
    target = {"aarch64": "sbsa-linux"}.get(platform.machine(), platform.machine() + "-linux")
    for folder in ("include", "targets/%s/include" % target):
        path = os.path.join(prefix, folder, "crt", "host_config.h")
        if os.path.isfile(path):
            return path
    return ""


def _directives(header: str) -> str:
    """Its conditions and errors, which decide; the rest of the file stays where it is."""
    if not header:
        return ""
    try:
        with open(header, encoding="utf-8", errors="replace") as file:
            text = file.read(_BYTES)
    except OSError:
        return ""
    text = _COMMENT.sub(" ", text.replace("\\\n", " "))
    return "\n".join(line for line in text.splitlines() if _DIRECTIVE.match(line))


def _header_says(path: str, header: str) -> Dict[str, Any]:
    """The header asked as nvcc asks it: by this compiler's own preprocessor."""
    if not header:
        return {"code": -1, "said": ""}
    defines = ["-D__CUDACC__", "-D__CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__"]
    include = os.path.dirname(os.path.dirname(header))
    code, _, err = _run([path, "-E", "-x", "c++", *defines, "-I", include, header])
    return {"code": code, "said": _first_error(err) if code else ""}


def _compiles(path: str, scratch: str) -> str:
    """Empty if a small program compiles, links and starts; else the first thing that was said."""
    program = os.path.join(scratch, "host-probe")
    source = program + ".cpp"
    wrong = _written(source, _PROGRAM)
    if wrong:
        return wrong
    if os.path.exists(program):
        os.remove(program)  # another compiler's proves nothing
    for argv in ([path, "-O1", "-o", program, source], [program]):
        code, _, err = _run(argv)
        if code != 0:
            return "exit code %d: %s" % (code, _first_error(err))
    return ""


def _device(request: Dict[str, Any], cxx: str, scratch: str) -> Dict[str, Any]:
    """A small kernel, through nvcc, with the recipe's very compiler; code -1 where that was not asked for."""
    nvcc = str(request.get("nvcc", ""))
    if not (nvcc and cxx):
        return {"code": -1, "said": "", "cxx": ""}
    source = os.path.join(scratch, "host-probe.cu")
    wrong = _written(source, _DEVICE)
    if wrong:
        return {"code": 127, "said": wrong, "cxx": cxx}
    flags = ["-std=c++" + str(request.get("standard", "17")), *map(str, request.get("flags", []))]
    code, _, err = _run([nvcc, "-ccbin", cxx, *flags, "-c", "-o", source + ".o", source])
    return {"code": code, "said": _first_error(err) if code else "", "cxx": cxx}


def _written(path: str, text: str) -> str:
    """Write a file, in a directory that is made; empty, or why that could not be."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return str(error)
    return ""


def _first_error(text: str) -> str:
    """With the lines behind it: nvcc breaks a message wherever its line is full."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((index for index, line in enumerate(lines) if "error" in line.lower()), 0)
    return " ".join(lines[first : first + 3])[:500]


def _distribution() -> Dict[str, str]:
    """``ID`` and ``VERSION_ID`` of os-release."""
    told = {}  # type: Dict[str, str]
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                rows = [line.strip().partition("=") for line in file.read(_BYTES).splitlines()]
            told = {name: value.strip("\"'") for name, _, value in rows}
            break
    return {"id": told.get("ID", ""), "release": told.get("VERSION_ID", "")}


def _run(argv: List[str]) -> Tuple[int, str, str]:
    """Exit code, stdout, stderr; in files, since a pipe stays open in whatever a driver leaves behind."""
    environ = {"PATH": _PATH, "LC_ALL": "C"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environ,
                start_new_session=True,
                preexec_fn=_limit,  # noqa: PLW1509  this script has one thread
            )
        except (OSError, ValueError) as error:
            return 127, "", str(error)
        try:
            code = child.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return 127, "", "did not end within %d seconds" % _TIMEOUT_S
        return code, _said(out), _said(err)


def _limit() -> None:
    """No file of a program that floods us becomes larger."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))


def _said(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_BYTES).decode("utf-8", "replace")


def _line(argv: List[str]) -> str:
    code, out, _ = _run(argv)
    lines = out.splitlines()
    return lines[0].strip()[:300] if code == 0 and lines else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
