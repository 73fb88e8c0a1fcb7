"""Run NVIDIA's installer in places of its own, and tell what came of it, as one line of JSON on stdout.

``python -I install_runfile.py REQUEST.json``, with ``own_mounts.py`` beside it.

It judges nothing but whether to start the installer at all. The toolkit lies at its prefix only when it is
whole: until then it lies beside it, and shows at the prefix to the installer alone.
"""

import json
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from typing import Any, Dict, List, Tuple

__all__ = ["install", "main"]

Json = Dict[str, Any]
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
    """Make places, look, run where nothing hinders, and put a whole toolkit where it belongs."""
    os.umask(0o022)
    prefix, scratch = request["prefix"], request["scratch"]
    removed = _fresh(prefix) + _fresh(prefix + ".partial") + _fresh(scratch)
    places = _places(scratch)
    partial = _staging(prefix)
    why = _refusal(request, places, partial)
    seen: Json = {"user": os.geteuid(), "removed": removed, "isolated": not why, "isolation_why": why}
    lies = partial if partial and not why else prefix
    seen.update(_fitness(request, places, lies, not why))
    if not seen["hindered"]:
        before = _marks(request, places, not why)
        seen.update(_run(request, places, not why))
        seen.update(_left_behind(before, _marks(request, places, not why), request))
        seen["home"] = _files(places["home"])
    seen["programs"] = {name: _program(os.path.join(lies, name)) for name in request["programs"]}
    seen["installed"] = seen.get("exit_code") == 0 and set(seen["programs"].values()) == {"there"}
    _settle(prefix, lies, seen["installed"])
    _fresh(scratch)
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
    places["mounts"] = os.path.join(scratch, "mounts.json")
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


def _refusal(request: Json, places: Dict[str, str], partial: str) -> str:
    """Empty where a program can have mounts of its own, which are written down for it; else why not."""
    prefix = request["prefix"]
    mounts = {
        "covers": {target: places[target] for target in _COVERED},
        "kept": [os.path.dirname(request["file"]), os.path.dirname(prefix), request["scratch"]],
        "binds": {prefix: partial} if partial else {},
    }
    with open(places["mounts"], "w", encoding="utf-8") as handle:
        json.dump(mounts, handle)
    probe = _apart(places, ["/bin/sh", "-c", ":"])
    try:
        done = subprocess.run(
            probe,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_env(request, places),
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.decode("utf-8", "replace").strip()[-_LINE:]
    return "" if done.returncode == 0 else said or "exit code %d" % done.returncode


def _apart(places: Dict[str, str], argv: List[str]) -> List[str]:
    """A command with the mounts that were written down."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "own_mounts.py")
    return [sys.executable, "-I", script, places["mounts"], *argv]


def _env(request: Json, places: Dict[str, str]) -> Dict[str, str]:
    env = {name: os.environ[name] for name in request["keep"] if name in os.environ}
    env.update(request["env"], HOME=places["home"], TMPDIR=places["temp"])
    return env


def _real(path: str, places: Dict[str, str], isolated: bool) -> str:  # noqa: FBT001  one of two worlds
    """Where a log of the installer's lies for us."""
    for target in _COVERED:
        if isolated and path.startswith(target + "/"):
            return places[target] + path[len(target) :]
    return path


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


def _fitness(request: Json, places: Dict[str, str], lies: str, isolated: bool) -> Json:  # noqa: FBT001  as above
    """Everything that would make the installer fail, and what of it is a reason not to start."""
    size, begins = _head(request["file"])
    space = _space(size, request["ratios"], places["temp"], lies)
    refuses, left, foreign = (
        _refused(places["temp"]),
        sorted(os.listdir(lies))[:_MOST],
        _foreign(request["logs"]),
    )
    reasons = {
        "file": begins != "#!" or request["size"] not in (None, size),
        "space": any(place["free"] < place["need"] for place in space),
        "executable": bool(refuses),
        "foreign": bool(foreign) and not isolated,
        "left": bool(left),
    }
    return {
        "file": {"path": request["file"], "size": size, "begins": begins},
        "space": space,
        "temp": places["temp"],
        "temp_refuses": refuses,
        "foreign": foreign,
        "left": left,
        "hindered": [name for name, hinders in reasons.items() if hinders],
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


def _refused(temp: str) -> str:
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


# --- the installer ------------------------------------------------------------------------------------


def _run(request: Json, places: Dict[str, str], isolated: bool) -> Json:  # noqa: FBT001  as above
    """Exit code, seconds and the end of what was said."""
    argv = _apart(places, request["argv"]) if isolated else request["argv"]
    began = time.monotonic()
    try:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_env(request, places),
            cwd=places["temp"],
            start_new_session=True,
        )
    except OSError as error:
        return {"exit_code": 127, "timed_out": False, "seconds": 0, "output": [str(error)]}
    with child.stdout or open(os.devnull, "rb") as pipe:
        said = _listen(child, pipe.fileno(), began + request["timeout_s"])
    late = child.poll() is None
    try:
        os.killpg(child.pid, signal.SIGKILL)  # nothing that it has left running lives on
    except OSError:
        pass  # there was nothing
    code = child.wait()
    seconds = round(time.monotonic() - began, 1)
    return {"exit_code": code, "timed_out": late, "seconds": seconds, "output": _lines(said)[-_TAIL_LINES:]}


def _listen(child: Any, pipe: int, until: float) -> bytes:
    """The end of what a program says until it ends or its time is up; in memory: the disk may be full."""
    said = b""
    os.set_blocking(pipe, False)
    is_over = False
    while not is_over:
        is_over = child.poll() is not None or time.monotonic() >= until
        select.select([pipe], [], [], 0 if is_over else 0.2)
        try:
            while True:
                part = os.read(pipe, 65536)
                said = (said + part)[-_TAIL_BYTES:]
                if not part:
                    break
        except BlockingIOError:
            continue
        if not is_over:
            time.sleep(0.05)  # it has closed its output and goes on
    return said


def _lines(said: bytes) -> List[str]:
    """Lines that a person can read, and that steer no terminal."""
    text = said.decode("utf-8", "replace").replace("\r", "\n")
    lines = (_BACKWARDS.sub("", line)[:_LINE] for line in text.splitlines())
    return ["".join(letter if letter.isprintable() else " " for letter in line) for line in lines]


# --- what came of it ----------------------------------------------------------------------------------


def _marks(request: Json, places: Dict[str, str], isolated: bool) -> Json:  # noqa: FBT001  as above
    """By place: where it lies for us, and what tells whether it has changed."""
    marks = {}
    reals = {path: _real(path, places, isolated) for path in (*request["logs"], request["driver_log"])}
    reals.update((path, path) for path in request["outside"])
    for path, real in reals.items():
        try:
            status = os.lstat(real)
        except OSError:
            continue
        marks[path] = (real, status.st_ino, status.st_size, status.st_mtime_ns)
    return marks


def _left_behind(before: Json, after: Json, request: Json) -> Json:
    """Logs, and traces where nobody wanted any."""
    changed = {path for path, mark in after.items() if before.get(path) != mark}
    logs = [path for path in (*request["logs"], request["driver_log"]) if path in changed]
    return {
        "logs": [_log(path, after[path][0]) for path in logs],
        "driver_touched": request["driver_log"] in changed,
        "outside": sorted(changed.intersection(request["outside"])),
    }


def _log(path: str, real: str) -> Json:
    lines: List[str] = []
    try:
        if os.path.isfile(real):
            with open(real, "rb") as handle:
                handle.seek(max(0, os.fstat(handle.fileno()).st_size - _TAIL_BYTES))
                lines = _lines(handle.read(_TAIL_BYTES))
    except OSError as error:
        lines = [str(error)]
    errors = [line for line in lines if "[ERROR]" in line]
    return {"path": path, "errors": errors[-_MOST:], "tail": lines[-_TAIL_LINES:]}


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
