"""Run NVIDIA's installer in places of its own, and tell what came of it, as one line of JSON on stdout.

``python -I install_runfile.py REQUEST.json``

It judges nothing but whether to start the installer at all. The toolkit lies at its prefix only when it is
whole: until then it lies beside it, and shows at the prefix to the installer alone.
"""

import ctypes
import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

__all__ = ["install", "main"]

Json = Dict[str, Any]
_NEWNS, _NEWUSER = 0x20000, 0x10000000
_BIND, _REC, _PRIVATE = 0x1000, 0x4000, 0x40000
_TAIL_BYTES, _TAIL_LINES, _LINE, _MOST = 262144, 60, 1000, 20
_BACKWARDS = re.compile("[ 0-9%]*\b+")
"""A progress that is written over."""
_COVERED = {"/tmp": 0o1777, "/var/log": 0o755}  # noqa: S108  covered by a folder of our own
"""Where others may have left files that the installer stumbles over, and where it logs."""


def main(argv: List[str]) -> int:
    """Install, and print what was seen; 0 whatever came of it: the judge judges."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    print(json.dumps(install(request), sort_keys=True))
    return 0


def install(request: Json) -> Json:
    """Make places, let a process apart from ours install, and put a whole toolkit where it belongs."""
    os.umask(0o022)
    prefix, scratch = request["prefix"], request["scratch"]
    removed = _fresh(prefix) + _fresh(prefix + ".partial") + _fresh(scratch)
    places = _places(scratch)
    partial = _staging(prefix)
    seen: Json = {"user": os.geteuid(), "removed": removed, "foreign_before": _foreign(request["logs"])}
    seen.update(_apart(request, places, partial))
    lies = partial if partial and seen["isolation"] != "none" else prefix
    seen["programs"] = {name: _program(os.path.join(lies, name)) for name in request["programs"]}
    seen["installed"] = seen.get("exit_code") == 0 and set(seen["programs"].values()) == {"there"}
    _settle(prefix, lies, seen["installed"])
    _fresh(scratch)
    return seen


def _apart(request: Json, places: Dict[str, str], partial: str) -> Json:
    """What a process of its own saw: its mounts go with it, so that nothing is ever removed through them."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with os.fdopen(writing, "w", encoding="utf-8") as handle:
                handle.write(json.dumps(_inside(request, places, partial)))
            code = 0
        except Exception as error:  # noqa: BLE001  whatever it is, the parent tells it
            sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as handle:
        text = handle.read()
    os.waitpid(child, 0)
    try:
        seen: Json = json.loads(text)
    except ValueError:  # killed, or out of memory
        return {"isolation": "none", "isolation_why": "its process ended", "hindered": ["ended"]}
    return seen


def _inside(request: Json, places: Dict[str, str], partial: str) -> Json:
    """Look, run where nothing hinders, collect."""
    prefix = request["prefix"]
    kept = (os.path.dirname(request["file"]), os.path.dirname(prefix), request["scratch"])
    kind, why = _isolate(places, kept, partial, prefix)
    seen: Json = {"isolation": kind, "isolation_why": why}
    seen.update(_fitness(request, places["temp"], prefix))
    if not seen["hindered"]:
        before = _marks(request)
        seen.update(_run(request, places))
        seen.update(_left_behind(request, before, places["home"]))
    return seen


# --- places -------------------------------------------------------------------------------------------


def _fresh(folder: str) -> List[str]:
    """Empty a folder: what an installation that was cut off has left would poison the next."""
    if os.path.islink(folder):
        os.unlink(folder)  # what it leads to is somebody's
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    return [os.path.join(folder, name) for name in names[:_MOST]]


def _places(scratch: str) -> Dict[str, str]:
    """Folders of this run alone."""
    places = {name: os.path.join(scratch, name) for name in ("temp", "home", "cover")}
    for path in places.values():
        os.makedirs(path, exist_ok=True)
    for number, (target, mode) in enumerate(_COVERED.items()):
        cover = os.path.join(places["cover"], str(number))
        os.makedirs(cover, exist_ok=True)
        os.chmod(cover, mode)
        places[target] = cover
    return places


def _staging(prefix: str) -> str:
    """A folder beside the prefix that can take its place in one step, if one can. Both are made."""
    partial = prefix + ".partial"
    os.makedirs(prefix, exist_ok=True)
    os.makedirs(partial, exist_ok=True)
    try:
        os.rename(partial, prefix)
    except OSError:
        return ""  # the prefix is a mount of its own
    os.makedirs(partial)
    return partial


def _isolate(places: Dict[str, str], kept: Tuple[str, ...], partial: str, prefix: str) -> Tuple[str, str]:
    """Mounts of this process alone: its own /tmp and /var/log, and `partial` in the place of the prefix."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        kind = _leave(libc)
        _mount(libc, "none", "/", _REC | _PRIVATE)
        for target in _COVERED:
            if os.path.isdir(target):
                _keep(libc, target, places[target], kept)
                _mount(libc, places[target], target, _BIND | _REC)
        if partial:
            _mount(libc, partial, prefix, _BIND)
    except OSError as error:
        return "none", str(error)
    return kind, ""


def _leave(libc: Any) -> str:
    """Leave the others' mounts, with root's right; without it, as the same user in a namespace of its own."""
    if libc.unshare(_NEWNS) == 0:
        return "mounts"
    uid, gid = os.geteuid(), os.getegid()
    _checked(libc.unshare(_NEWNS | _NEWUSER), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", "%d %d 1" % (uid, uid)),
        ("gid_map", "%d %d 1" % (gid, gid)),
    ):
        with open("/proc/self/" + name, "w", encoding="ascii") as handle:
            handle.write(text)
    return "user"


def _keep(libc: Any, target: str, cover: str, kept: Tuple[str, ...]) -> None:
    """Folders below a place that is going to be covered stay where they are."""
    for path in sorted({os.path.realpath(path) for path in kept}):
        if os.path.commonpath([path, target]) == target and path != target:
            inside = os.path.join(cover, os.path.relpath(path, target))
            os.makedirs(inside, exist_ok=True)
            _mount(libc, path, inside, _BIND | _REC)


def _mount(libc: Any, source: str, target: str, flags: int) -> None:
    answer = libc.mount(os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(flags), None)
    _checked(answer, "mount " + target)


def _checked(answer: int, step: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (step, os.strerror(number)))


# --- what is looked at before -------------------------------------------------------------------------


def _foreign(logs: List[str]) -> List[Json]:
    """Logs that belong to somebody else: the installer crashes over its own name."""
    found = []
    for path in logs:
        try:
            owner = os.lstat(path).st_uid
        except OSError:
            continue
        if owner != os.geteuid():
            found.append({"path": path, "owner": owner})
    return found


def _fitness(request: Json, temp: str, prefix: str) -> Json:
    """Everything that would make the installer fail, and what of it is a reason not to start."""
    size, begins = _head(request["file"])
    space = _space(size, request["ratios"], temp, prefix)
    runs = _runs(temp)
    foreign = _foreign(request["logs"])
    hindered = [
        name
        for name, bad in (
            ("file", begins != "#!" or request["size"] not in (None, size)),
            ("space", any(place["free"] < place["need"] for place in space)),
            ("executable", bool(runs)),
            ("foreign", bool(foreign)),
        )
        if bad
    ]
    return {
        "file": {"path": request["file"], "size": size, "begins": begins},
        "space": space,
        "temp": temp,
        "temp_refuses": runs,
        "foreign": foreign,
        "driver_loaded": _driver_loaded(),
        "hindered": hindered,
    }


def _head(path: str) -> Tuple[int, str]:
    try:
        with open(path, "rb") as handle:
            begins = handle.read(2)
            return os.fstat(handle.fileno()).st_size, begins.decode("ascii", "replace")
    except OSError as error:
        return -1, str(error)


def _space(size: int, ratios: Json, temp: str, prefix: str) -> List[Json]:
    """Free and needed bytes of each filesystem; one that holds both is asked for both."""
    found: Dict[int, Json] = {}
    for path, ratio in ((temp, ratios["temp"]), (prefix, ratios["prefix"])):
        status = os.statvfs(path)
        fresh: Json = {"path": path, "free": status.f_bavail * status.f_frsize, "need": 0}
        place = found.setdefault(os.stat(path).st_dev, fresh)
        place["need"] += int(max(size, 0) * ratio)
    return list(found.values())


def _runs(temp: str) -> str:
    """Empty where a program in a folder can be started, as a self-extracting archive does; else why not."""
    program = os.path.join(temp, "probe")
    try:
        with open(program, "w", encoding="ascii") as handle:
            handle.write("#!/bin/sh\nexit 0\n")
        os.chmod(program, 0o700)
        code = subprocess.call([program], stdin=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        if os.path.lexists(program):
            os.unlink(program)
    return "exit code %d" % code if code else ""


def _driver_loaded() -> bool:
    try:
        with open("/proc/modules", encoding="ascii", errors="replace") as handle:
            return any(line.split(" ", 1)[0].startswith("nvidia") for line in handle)
    except OSError:
        return False


# --- the installer ------------------------------------------------------------------------------------


def _run(request: Json, places: Dict[str, str]) -> Json:
    """Exit code, signal, seconds and the end of what was said."""
    kept = {name: os.environ[name] for name in request["keep"] if name in os.environ}
    env = dict(kept, **request["env"])
    env.update({"HOME": places["home"], "TMPDIR": places["temp"]})
    output = os.path.join(os.path.dirname(places["home"]), "output")
    began, late = time.monotonic(), False
    code: Optional[int] = None
    with open(output, "wb") as said:
        try:
            child = subprocess.Popen(
                request["argv"],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=places["temp"],
                start_new_session=True,
            )
        except OSError as error:
            return {"exit_code": 127, "timed_out": False, "seconds": 0, "output": [str(error)]}
        try:
            code = child.wait(timeout=request["timeout_s"])
        except subprocess.TimeoutExpired:
            late = True
        _end(child.pid)
        code = child.wait() if code is None else code
    seconds = round(time.monotonic() - began, 1)
    return {"exit_code": code, "timed_out": late, "seconds": seconds, "output": _tail(output)}


def _end(group: int) -> None:
    """Nothing of it lives on, such as a program that it has left behind."""
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError as error:
        if error.errno != errno.ESRCH:
            raise


def _tail(path: str) -> List[str]:
    with open(path, "rb") as handle:
        handle.seek(max(0, os.fstat(handle.fileno()).st_size - _TAIL_BYTES))
        text = handle.read(_TAIL_BYTES).decode("utf-8", "replace")
    lines = (_BACKWARDS.sub("", line)[:_LINE] for line in text.replace("\r", "\n").splitlines())
    return ["".join(letter if letter.isprintable() else " " for letter in line) for line in lines][
        -_TAIL_LINES:
    ]


# --- what came of it ----------------------------------------------------------------------------------


def _marks(request: Json) -> Dict[str, Tuple[int, int, int]]:
    """What tells whether a file or folder has changed."""
    marks = {}
    for path in (*request["logs"], request["driver_log"], *request["outside"]):
        try:
            status = os.lstat(path)
        except OSError:
            continue
        marks[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return marks


def _left_behind(request: Json, before: Dict[str, Tuple[int, int, int]], home: str) -> Json:
    """Logs, and traces where nobody wanted any."""
    after = _marks(request)
    changed = {path for path, mark in after.items() if before.get(path) != mark}
    logs = [path for path in (*request["logs"], request["driver_log"]) if path in changed]
    return {
        "logs": [_log(path) for path in logs],
        "driver_touched": request["driver_log"] in changed,
        "outside": sorted(changed.intersection(request["outside"])),
        "home": _files(home),
    }


def _log(path: str) -> Json:
    try:
        lines = _tail(path) if os.path.isfile(path) else []
    except OSError as error:
        lines = [str(error)]
    errors = [line for line in lines if "[ERROR]" in line]
    return {"path": path, "errors": errors[-_MOST:], "tail": lines}


def _files(folder: str) -> List[str]:
    found: List[str] = []
    for root, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(root, name), folder) for name in names]
    return sorted(found)[:_MOST]


def _program(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError as error:
        return os.strerror(error.errno or 0)
    if not stat.S_ISREG(status.st_mode):
        return "not a file"
    if status.st_size == 0:
        return "empty"
    return "there" if status.st_mode & 0o111 and os.access(path, os.X_OK) else "not executable"


def _settle(prefix: str, lies: str, is_whole: bool) -> None:  # noqa: FBT001  the last of its kind
    """A whole toolkit comes to its prefix in one step; anything else goes."""
    if is_whole and lies != prefix:
        os.rename(lies, prefix)
    elif not is_whole:
        _fresh(lies)
    for path in (prefix + ".partial", prefix):
        if os.path.isdir(path) and not os.listdir(path) and not os.path.ismount(path):
            os.rmdir(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
