"""What a library beside the toolkit really is, as JSON on stdout. Run in the builder, isolated.

``python -I look_library.py REQUEST.json``. `torchbuild.toolchains.library_look` makes the request, which says
where to look and how this library tells what it is; nothing here knows one library from another. What is
missing or cannot be read is told, never an error: the judge judges.
"""

import json
import mmap
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Tuple

__all__ = ["main", "observe"]

_TIMEOUT_S = 120
_MOST_TEXT = 4000
_MOST_HEADER = 1 << 20
_MOST_OTHERS = 50
_CALL = """
import ctypes, sys
path, name, shape = sys.argv[1:4]
function = getattr(ctypes.CDLL(path), name)
values = [ctypes.c_int(0) for _ in range(3)]
if shape == "number":
    function.restype = ctypes.c_size_t
    print(function())
elif shape == "status-code":
    status = function(ctypes.byref(values[0]))
    print(values[0].value if status == 0 else "status %d" % status)
elif shape == "property":
    states = [function(part, ctypes.byref(value)) for part, value in enumerate(values)]
    print(".".join(str(value.value) for value in values) if not any(states) else "status %s" % states)
else:
    function(*[ctypes.byref(value) for value in values])
    print(".".join(str(value.value) for value in values))
"""


def main(argv: List[str]) -> int:
    """Print what is there; 0 even where things are missing."""
    try:
        with open(argv[0], "r", encoding="utf-8") as handle:
            seen = observe(json.load(handle))
    except (OSError, ValueError, IndexError, AttributeError, TypeError, KeyError) as error:
        seen = {"error": "%s: %s" % (type(error).__name__, error)}
    print(json.dumps(seen, sort_keys=True))
    return 0


def observe(request: Dict[str, Any]) -> Dict[str, Any]:
    """Header, library, a small program, and every other copy that a tree could come upon."""
    header = _header(request["headers"], request["versions"], request["macros"])
    library = _library(request)
    return {
        "name": request["name"],
        "prefix": os.path.realpath(request["prefix"]),
        "header": header,
        "library": library,
        "program": _program(request, header, library),
        "others": _others(request, header, library),
        "distributions": _distributions(request),
    }


def _kind(path: str) -> str:
    """``file``, ``directory``, ``dangling``, ``unreadable`` or ``missing``."""
    if os.path.isdir(path):
        return "directory"
    if os.path.isfile(path):
        try:
            with open(path, "rb"):
                return "file"
        except OSError:
            return "unreadable"
    return "dangling" if os.path.islink(path) else "missing"


def _first(paths: List[str]) -> str:
    """The first that is there in any way, else the first."""
    return next((path for path in paths if _kind(path) != "missing"), paths[0] if paths else "")


def _header(headers: List[str], versions: List[str], macros: List[str]) -> Dict[str, Any]:
    path = _first(headers)
    folder = os.path.dirname(path)
    beside = _first([os.path.join(folder, name) for name in versions])
    found = {"path": path, "real": os.path.realpath(path), "kind": _kind(path)}  # type: Dict[str, Any]
    return dict(found, versions=beside, versions_kind=_kind(beside), version=_macros(beside, macros))


def _macros(path: str, names: List[str]) -> str:
    """The values of some macros, joined; empty where one of them is not there."""
    try:
        with open(path, "rb") as handle:
            text = handle.read(_MOST_HEADER).decode("utf-8", "replace")
    except OSError:
        return ""
    values = []
    for name in names:
        found = re.search(
            r"^[ \t]*#[ \t]*define[ \t]+%s[ \t]+\(?([0-9]{1,9})\b" % re.escape(name), text, re.MULTILINE
        )
        if found is None:
            return ""
        values.append(str(int(found.group(1))))
    return ".".join(values)


def _library(request: Dict[str, Any]) -> Dict[str, Any]:
    path = _first(request["libraries"])
    kind = _kind(path)
    found = {"path": path, "real": os.path.realpath(path), "kind": kind}  # type: Dict[str, Any]
    if kind != "file":
        return found
    said = _said(path, request.get("says") or "")
    call = request.get("call") or {}
    called, why = _called(path, call, request)
    cuda_code, _ = _called(path, request.get("cuda_call") or {}, request)
    return dict(
        found,
        soname=_soname(path),
        called=_decoded(called),
        why_not_called=why,
        said=said.get("version", ""),
        cuda=_cuda(cuda_code) or said.get("cuda", ""),
    )


def _soname(path: str) -> str:
    found = re.search(r"\(SONAME\)[^\[]*\[([^\]]+)\]", _run(["readelf", "-dW", path], {})[1])
    return found.group(1) if found else ""


def _said(path: str, pattern: str) -> Dict[str, str]:
    """What stands in the file itself, which is told without loading it."""
    if not pattern:
        return {}
    try:
        with open(path, "rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            found = re.search(pattern.encode("utf-8"), mapped)
            groups = found.groupdict() if found else {}
    except (OSError, ValueError, re.error):
        return {}
    return {name: (value or b"").decode("utf-8", "replace") for name, value in groups.items()}


def _called(path: str, call: Dict[str, str], request: Dict[str, Any]) -> Tuple[str, str]:
    """What a function of the library returns, and why there is nothing, in a process of its own."""
    if not call:
        return "", "nobody knows a function for it"
    if path.endswith(".a"):
        return "", "a static library cannot be loaded"
    argv = [sys.executable, "-I", "-c", _CALL, os.path.realpath(path), call["name"], call["shape"]]
    code, text = _run(argv, _paths(request))
    lines = text.strip().splitlines()
    if code == 0 and lines and re.match(r"[0-9]", lines[-1]):
        return lines[-1], ""
    return "", (lines[-1] if lines else "exit code %d" % code)[:500]


def _decoded(text: str) -> str:
    """2.21.5 of 22105, 8.9.7 of 8907: before 2.9 and before 9 the minor release had one digit."""
    if not text.isdigit():
        return text
    code = int(text)
    great = code >= 10000  # noqa: PLR2004  the publisher's own arithmetic, as these
    parts = (code // 10000, code // 100 % 100) if great else (code // 1000, code // 100 % 10)
    return "%d.%d.%d" % (*parts, code % 100)


def _cuda(text: str) -> str:
    """12.4 of 12040."""
    return "%d.%d" % (int(text) // 1000, int(text) // 10 % 100) if text.isdigit() else ""


def _paths(request: Dict[str, Any]) -> Dict[str, str]:
    return {"LD_LIBRARY_PATH": ":".join(request.get("library_path") or ())}


def _program(request: Dict[str, Any], header: Dict[str, Any], library: Dict[str, Any]) -> Dict[str, Any]:
    """A small program that includes the header and links the library, started."""
    text, cxx, scratch = (str(request.get(key) or "") for key in ("program", "cxx", "scratch"))
    if not (text and cxx and scratch):
        return {"why": "nobody wrote one for this library" if not text else "no compiler to try it with"}
    if header["kind"] != "file" or library["kind"] != "file":
        return {"why": "header or library is missing"}
    try:
        os.makedirs(scratch, exist_ok=True)
        source = os.path.join(scratch, "look-%s.cpp" % request["name"])
        with open(source, "w", encoding="utf-8") as handle:
            handle.write(text)
    except OSError as error:
        return {"why": "%s" % error}
    program = source[: -len(".cpp")]
    includes = [os.path.dirname(header["path"]), *(request.get("includes") or ())]
    argv = [cxx, source, "-o", program, *("-I" + path for path in includes), library["path"]]
    argv += ["-Wl,--allow-shlib-undefined", *("-L" + path for path in request.get("library_path") or ())]
    code, said = _run(argv, {})
    if code != 0:
        return {"built": False, "said": said}
    code, said = _run([program], _paths(request))
    words = said.split() if code == 0 else []
    ours, theirs = words if len(words) == 2 else ("", "")  # noqa: PLR2004  the header's and the library's
    return {"built": True, "exit": code, "said": said, "header": _decoded(ours), "library": _decoded(theirs)}


def _others(request: Dict[str, Any], header: Dict[str, Any], library: Dict[str, Any]) -> List[Dict[str, str]]:
    """Other copies of the header and the library, in each place where the tree's search may come by."""
    ours = {header["real"], library["real"]}
    found = []  # type: List[Dict[str, str]]
    for root in request.get("roots") or ():
        for path in _candidates(str(root["path"]), request):
            real = os.path.realpath(path)
            if _kind(path) not in ("missing", "dangling") and real not in ours:
                ours.add(real)
                version = _macros(
                    os.path.join(os.path.dirname(path), _beside(path, request)), request["macros"]
                )
                found.append({"where": str(root["what"]), "path": path, "real": real, "version": version})
    return found[:_MOST_OTHERS]


def _candidates(root: str, request: Dict[str, Any]) -> List[str]:
    includes = [os.path.join(root, folder) for folder in request["include_folders"]]
    folders = [os.path.join(root, folder) for folder in request["library_folders"]]
    libraries = [os.path.join(folder, name) for folder in folders for name in _matching(folder, request)]
    return [os.path.join(folder, request["header"]) for folder in includes] + libraries


def _beside(path: str, request: Dict[str, Any]) -> str:
    """The header that tells the version of another copy."""
    folder = os.path.dirname(path)
    return next((name for name in request["versions"] if os.path.isfile(os.path.join(folder, name))), "")


def _matching(folder: str, request: Dict[str, Any]) -> List[str]:
    """The library under its own name, with a version or static."""
    stem = request["library"].split(".")[0]
    pattern = re.compile(re.escape(stem) + r"(_static\.a|\.a|\.so(\.[0-9]+)*)")
    try:
        return sorted(name for name in os.listdir(folder) if pattern.fullmatch(name))
    except OSError:
        return []


def _distributions(request: Dict[str, Any]) -> List[str]:
    """Distributions in the build's Python environment that bring this library."""
    begins = re.sub(r"[-_.]+", "_", str(request.get("distributions") or "")).lower()
    found = []
    for site in request.get("sites") or ():
        try:
            names = os.listdir(site)
        except OSError:
            continue
        found += [
            n[: -len(".dist-info")]
            for n in names
            if n.endswith(".dist-info") and n.lower().startswith(begins)
        ]
    return sorted(found) if begins else []


def _run(argv: List[str], extra: Dict[str, str]) -> Tuple[int, str]:
    """Exit code and the end of what was said, however much that was."""
    environ = dict({"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, **extra)
    with tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=_TIMEOUT_S,
                env=environ,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            return 127, str(error)[:_MOST_TEXT]
        said.seek(max(0, said.seek(0, os.SEEK_END) - _MOST_TEXT))
        return done.returncode, said.read().decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
