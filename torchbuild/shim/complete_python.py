"""An unpacked interpreter, told where it is. Run once by the interpreter itself, isolated.

``python -I complete_python.py REQUEST.json`` with ``prefix``, ``cc`` and ``cxx``.

Its own configuration names the machine on which it was built: directories, tools and options of a compiler
that is not there. Build front ends take all that over (``-L/install/lib``). What lies below the directory
where it was built is moved; what leads elsewhere and to nothing is dropped; the rest stays.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any, Dict, List

__all__ = ["complete", "main"]

_BEGIN_WITH_CC = ("CC", "LDSHARED", "BLDSHARED", "LINKCC", "MAINCC")
_BEGIN_WITH_CXX = ("CXX", "LDCXXSHARED")
"""Variables that begin with a compiler, which may be none of this machine."""
_BINUTILS = {"AR": "ar", "RANLIB": "ranlib", "NM": "nm", "STRIP": "strip", "READELF": "readelf"}
_FLAGS = re.compile(
    r"[A-Z_]*(CFLAGS|CPPFLAGS|CXXFLAGS|LDFLAGS|LDSHARED|LDCXXSHARED|LDLAST|LIBS|LINKCC|OPT|CC|CXX)[A-Z_]*"
)
"""Variables that are words for a compiler."""
_JOINED = ("-I", "-L", "-isystem", "-iquote", "-idirafter", "-B", "--sysroot=", "-Wl,-rpath,", "-Wl,-rpath=")
_SPLIT = ("-I", "-L", "-isystem", "-iquote", "-idirafter", "-B", "-isysroot", "--sysroot")
_TIMEOUT_S = 60
_LARGEST = 4 << 20


def main(argv: List[str]) -> int:
    """Move what can be moved, and print what was done; 0 also where there was nothing to do."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    sys.stdout.write(json.dumps(complete(**request), sort_keys=True) + "\n")
    return 0


def complete(prefix: str, cc: str, cxx: str) -> Dict[str, Any]:
    """What was changed: variables by name, and files."""
    folder = _standard_library(prefix)
    tables = [name for name in _listed(folder) if name.startswith("_sysconfigdata_") and name.endswith(".py")]
    done = {"built_at": "", "variables": [], "files": [], "refused": []}  # type: Dict[str, Any]
    for name in tables:
        path = os.path.join(folder, name)
        values = _values(path)
        built_at = str(values.get("prefix", ""))
        if not built_at.startswith("/"):
            continue
        changed = _our_tools(_moved(values, built_at, prefix), cc, cxx)
        changed, done["refused"] = _usable(changed, cc)
        done["built_at"] = built_at
        done["variables"] = sorted(key for key in values if values[key] != changed[key])
        _write(path, _module(changed))
        _forget_compiled(folder, name[: -len(".py")])
        done["files"].append(os.path.relpath(path, prefix))
        done["files"] += _move_texts(prefix, folder, built_at)
    return done


def _standard_library(prefix: str) -> str:
    lib = os.path.join(prefix, "lib")
    here = os.path.join(lib, "python%d.%d" % sys.version_info[:2])
    return next((path for path in (here + "t", here) if os.path.isdir(path)), here)


def _listed(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _values(path: str) -> Dict[str, Any]:
    """The table of the module, which is read and not run; empty where there is none."""
    try:
        nodes = [node for node in ast.parse(_read(path)).body if isinstance(node, ast.Assign)]
        values = ast.literal_eval(nodes[0].value) if nodes else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return {}
    return values if isinstance(values, dict) else {}


def _read(path: str) -> str:
    if os.path.getsize(path) > _LARGEST:
        raise ValueError(path)
    with open(path, encoding="utf-8", newline="") as handle:
        return handle.read()


def _write(path: str, text: str) -> None:
    """A new file in the place of the old one, which other names may share."""
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8", newline="") as handle:
        handle.write(text)
    shutil.copymode(path, temporary)
    os.replace(temporary, path)


def _module(values: Dict[str, Any]) -> str:
    rows = "".join(" %r: %r,\n" % (key, values[key]) for key in sorted(values))
    return "# system configuration, with the paths of this installation\nbuild_time_vars = {\n%s}\n" % rows


def _forget_compiled(folder: str, module: str) -> None:
    """Compiled modules may be kept whatever their source says."""
    cache = os.path.join(folder, "__pycache__")
    for name in _listed(cache):
        if name.startswith(module + "."):
            os.unlink(os.path.join(cache, name))


def _at(directory: str) -> "re.Pattern[str]":
    """The directory where a path begins: alone, quoted, or behind an option or a separator."""
    option = r"(?<![^\s'\"=,])-(?:I|L|B|isystem|iquote|idirafter)"
    begin = r"(^|^#!|[\s'\"=:,;(\[{]|" + option + ")"
    return re.compile(begin + re.escape(directory.rstrip("/")) + r"(?=$|[/\s'\"=:,;)\]}])", re.MULTILINE)


def _moved(values: Dict[str, Any], built_at: str, prefix: str) -> Dict[str, Any]:
    place = _at(built_at)
    return {
        key: place.sub(lambda match: match.group(1) + prefix, value) if isinstance(value, str) else value
        for key, value in values.items()
    }


def _our_tools(values: Dict[str, Any], cc: str, cxx: str) -> Dict[str, Any]:
    """With our compilers and the machine's own binutils where those that it names are not here."""
    found = dict(values)
    for names, compiler in ((_BEGIN_WITH_CC, cc), (_BEGIN_WITH_CXX, cxx)):
        found.update({name: _driven(values[name], compiler) for name in names if name in values})
    for name, tool in _BINUTILS.items():
        if name in values and shutil.which(tool):
            found[name] = _driven(values[name], tool)
    return found


def _usable(values: Dict[str, Any], cc: str) -> "tuple[Dict[str, Any], List[str]]":
    """With what exists here and what our compiler takes; and the options that it refuses."""
    flags = [key for key in values if isinstance(values[key], str) and _FLAGS.fullmatch(key)]
    refused = _refused({word for key in flags for word in values[key].split()}, cc)
    found = dict(values)
    for key in flags:
        words = [word for word in _existing(values[key].split()) if word not in refused]
        if words != values[key].split():
            found[key] = " ".join(words)
    return found, sorted(refused)


def _driven(value: Any, compiler: str) -> Any:
    """The command with our compiler where its own is not on this machine."""
    words = str(value).split()
    if not words or shutil.which(words[0]):
        return value
    return " ".join([compiler, *words[1:]])


def _existing(words: List[str]) -> List[str]:
    """Without the options whose absolute directory does not exist."""
    kept = []  # type: List[str]
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in _SPLIT and rest and not rest[0].startswith("-"):
            directory = rest.pop(0)
            if not _is_gone(directory):
                kept += [word, directory]
            continue
        if not any(word.startswith(option) and _is_gone(word[len(option) :]) for option in _JOINED):
            kept.append(word)
    return kept


def _is_gone(directory: str) -> bool:
    return directory.startswith("/") and not os.path.isdir(directory)


def _refused(words: "set[str]", cc: str) -> "set[str]":
    """Options of another compiler. Each is tried: what a compiler takes is not what a list says."""
    options = sorted(
        word for word in words if re.fullmatch(r"-[fmWg][A-Za-z0-9_=+.-]*", word) and "," not in word
    )
    if not options or _takes(cc, options):
        return set()
    return {option for option in options if not _takes(cc, [option])}


def _takes(cc: str, options: List[str]) -> bool:
    argv = [cc, "-Werror", *options, "-x", "c", "-fsyntax-only", os.devnull]
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environ,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return done.returncode == 0


def _move_texts(prefix: str, folder: str, built_at: str) -> List[str]:
    """The other files that name the place: pkg-config's, the config program, makefiles, scripts."""
    place, moved = _at(built_at), []  # type: re.Pattern[str], List[str]
    for path in _texts(prefix, folder):
        try:
            text = _read(path)
        except (OSError, ValueError):
            continue
        found = place.sub(lambda match: match.group(1) + prefix, text)
        if found != text:
            _write(path, found)
            moved.append(os.path.relpath(path, prefix))
    return moved


def _texts(prefix: str, folder: str) -> List[str]:
    found = []  # type: List[str]
    places = [os.path.join(prefix, "lib", "pkgconfig"), os.path.join(prefix, "bin")]
    configs = [name for name in _listed(folder) if name.startswith("config-")]
    places += [os.path.join(folder, name) for name in configs]
    for place in places:
        found += [os.path.join(place, name) for name in _listed(place)]
    tables = [name for name in _listed(folder) if name.endswith(".json")]
    found += [os.path.join(folder, name) for name in tables]
    return [path for path in found if os.path.isfile(path) and not os.path.islink(path)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
