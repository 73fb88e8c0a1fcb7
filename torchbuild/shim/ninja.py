"""The ninja that CMake finds. Probes pass through; the first real build call meets the gate.

Orders come from ``order.json`` beside this package, written by the stage that starts the front end:
``{"mode": "gate" | "build", "build_dir": …, "target": … | null, "expect": […], "fingerprint": {…},
"statslog": …, "cache": …}``.
What was found is left there as ``gate.json``, ``compile.json``, ``samples.jsonl`` and, where ``pool.json``
names machines that compile for us, ``pool-used.json``. Exit codes of our own: 90 stopped after configure as
asked, 91 refused by the gate, 92 stopped after the target as asked, 95 stopped with what ran, because
``stop-asked`` lies there.
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from . import fingerprint
from .cache import parse_cache
from .compiler_cache import CompilerCache
from .counts import together
from .device_flags import read_device_entries
from .gate import compare
from .jobserver import NINJA, allowed_jobs, without_jobs
from .live import Live
from .memory import MemoryWatch
from .pool_engines import open_pool, token_beside
from .samples import Samples
from .stopping import INTERRUPTED
from .supervisor import SOCKET, Supervisor
from .tied import tied_to_us

__all__ = [
    "REFUSED",
    "STOPPED",
    "STOPPED_AFTER_CONFIGURE",
    "STOPPED_AFTER_TARGET",
    "main",
    "split_arguments",
]

STOPPED_AFTER_CONFIGURE = 90
REFUSED = 91
STOPPED_AFTER_TARGET = 92
STOPPED = 95

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STOP_MARK = os.path.join(_HERE, "stop-asked")
_WITH_VALUE = "Cdfjkltw"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_OLDEST_CLIENT = (1, 13)
"""The first ninja that takes its jobs from a jobserver."""


def main(argv: Optional[List[str]] = None) -> int:
    """Be ninja. Returns the exit code; does not return where the real ninja takes over."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    real = os.path.join(_HERE, "ninja-real")
    order = _order()
    if SOCKET in os.environ and "--jobserver-auth=" in os.environ.get("MAKEFLAGS", ""):
        os.execv(real, [real, *without_jobs(arguments, NINJA)[0]])  # an edge of ours: tokens are shared
    if order is None or not _is_build(arguments, order["build_dir"]):
        os.execv(real, [real, *arguments])
    if _stale(order):
        return REFUSED
    if order["mode"] != "gate":
        code = _regenerate(real, order["build_dir"])
        if code != 0:
            return code
    findings = _gate(order, real)
    if findings is None or any(finding["outcome"] == "failed" for finding in findings):
        return REFUSED
    if order["mode"] == "gate":
        sys.stderr.write("torchbuild: configured and compared; stopped before compiling, as asked\n")
        return STOPPED_AFTER_CONFIGURE
    return _build(real, arguments, order)


def _order() -> Optional[Dict[str, Any]]:
    try:
        with open(os.path.join(_HERE, "order.json"), encoding="utf-8") as handle:
            order = json.load(handle)
    except OSError:
        return None
    return dict(order)


def split_arguments(arguments: List[str]) -> Tuple[List[str], List[str], str, bool]:
    """Options, targets, the directory of ``-C`` and whether it is only a query (``-t``, ``--version``…).

    As getopt reads them: letters may stand together, values may be attached, targets may come first.
    """
    options, targets, directory, query = [], [], ".", False
    left = list(arguments)
    while left:
        part = left.pop(0)
        if part == "--":
            options.append(part)
            targets += left
            break
        if not part.startswith("-") or part == "-":
            targets.append(part)
            continue
        options.append(part)
        if part.startswith("--"):
            query = query or _is_query(part)
            continue
        letters, letter, value = _cluster(part)
        query = query or letter == "t" or "n" in letters or "h" in letters
        if letter == "t":  # what follows is the tool's
            options += left
            break
        if letter and not value and left:
            value = left.pop(0)
            options.append(value)
        directory = value if letter == "C" else directory
        query = query or (letter in ("d", "w") and value == "list")
    return options, targets, directory, query


def _is_query(part: str) -> bool:
    """``--version`` and ``--help``, shortened too."""
    return "--help".startswith(part) or ("--version".startswith(part) and not "--verbose".startswith(part))


def _cluster(part: str) -> Tuple[str, str, str]:
    """``-nvCdir`` taken apart: letters alone, the letter that takes a value, and what is attached to it."""
    for index, letter in enumerate(part):
        if letter in _WITH_VALUE:
            return part[1:index], letter, part[index + 1 :]
    return part[1:], "", ""


def _is_build(arguments: List[str], build_dir: str) -> bool:
    """A real call is one in the build tree itself; compiler probes run in scratch trees below it."""
    _, _, directory, query = split_arguments(arguments)
    return not query and os.path.realpath(directory) == os.path.realpath(build_dir)


def _regenerate(real: str, build_dir: str) -> int:
    """Let CMake run again now if its files changed: ninja would do so by itself, after the comparison."""
    try:
        with open(os.path.join(build_dir, "build.ninja"), encoding="utf-8", errors="replace") as handle:
            may = any(line.startswith("build build.ninja") for line in handle)
    except OSError:
        may = False
    if not may:  # a tree may forbid it
        return 0
    return _run(_start([real, "--quiet", "-C", build_dir, "build.ninja"], dict(os.environ)))


def _stale(order: Dict[str, Any]) -> bool:
    """Whether what the build tree holds was made with something else."""
    if "fingerprint" not in order:
        return False
    findings = fingerprint.compare(order["build_dir"], order["fingerprint"], _tools())
    if findings:
        _write("gate.json", {"findings": findings})
    for finding in findings:
        sys.stderr.write("torchbuild: made with another %(what)s: was %(wanted)s, now %(seen)s\n" % finding)
    return bool(findings)


def _tools() -> List[str]:
    """What the toolchain stage says that all rests on."""
    try:
        with open(os.path.join(_HERE, "tools.json"), encoding="utf-8") as handle:
            return [str(path) for path in json.load(handle)]
    except OSError:
        return []


def _gate(order: Dict[str, Any], real: str) -> Optional[List[Dict[str, str]]]:
    """What was found; None where there is no cache to compare."""
    path = os.path.join(order["build_dir"], "CMakeCache.txt")
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as handle:
            cache = parse_cache(handle.read())
    except OSError as error:
        sys.stderr.write("torchbuild: the gate refuses: nothing to compare: %s\n" % error)
        return None
    cache.update(read_device_entries(order["build_dir"]))
    findings = compare(cache, order["expect"]) + _not_a_client(real)
    _write("gate.json", {"findings": findings})
    for finding in findings:
        if finding["outcome"] == "failed":
            sys.stderr.write(
                "torchbuild: the gate refuses [%s] %s: wanted %s, got %s\n"
                % (finding["reference"], finding["what"], finding["wanted"] or "nothing", finding["seen"])
            )
    return findings


def _not_a_client(real: str) -> List[Dict[str, str]]:
    """A finding where ninja would start as many jobs as it likes."""
    said = subprocess.run([real, "--version"], stdout=subprocess.PIPE, check=False).stdout.decode(
        "utf-8", "replace"
    )
    match = re.match(r"(\d+)\.(\d+)", said)
    if match is not None and tuple(int(part) for part in match.groups()) >= _OLDEST_CLIENT:
        return []
    wanted = "%d.%d or newer: older ones are no clients of a jobserver" % _OLDEST_CLIENT
    return [
        {
            "reference": "gate-ninja",
            "outcome": "failed",
            "what": "ninja",
            "seen": said.strip() or "no version",
            "wanted": wanted,
        }
    ]


def _build(real: str, arguments: List[str], order: Dict[str, Any]) -> int:
    if os.path.exists(_STOP_MARK):
        _write("compile.json", {"exit_code": STOPPED, "stopped": True})
        return STOPPED
    options, targets, _, _ = split_arguments(arguments)
    if order.get("target"):
        options = [part for part in options if part != "--"] + ["--"]  # a target is never an option
        targets = [order["target"]]
    options, jobs = without_jobs(options, NINJA)
    environ = dict(os.environ)
    pool, leave_pool = open_pool(_told("pool.json"), token_beside(_HERE), tied_to_us())
    supervisor = Supervisor(
        allowed_jobs(jobs, environ),
        order["build_dir"],
        _told("expected-peaks.json"),
        os.path.join(_HERE, "peaks.jsonl"),
        stop_mark=_STOP_MARK,
        live=Live(os.path.join(_HERE, "live.json"), order.get("statslog")),
        pool=pool,
    )
    environ.update(supervisor.environ(os.path.join(_HERE, "launch")))
    cache = CompilerCache(order, _HERE, supervisor.folder)
    started = time.time()
    try:
        environ.update(cache.start(tied_to_us()))
        supervisor.server = cache.server
        code, peak = _work([real, *options, *targets], environ, supervisor)
        supervised = supervisor.stop()  # first: what the cache's server still runs is nobody's any more
    finally:
        cached = cache.stop(supervisor.asked)
        leave_pool()
        supervisor.clear()
    if pool.slots or pool.unserved:
        _write("pool-used.json", together(_told("pool-used.json"), pool.told()))
    is_stopped = supervisor.stopping.is_over and code in INTERRUPTED
    told = {"exit_code": code, "stopped": is_stopped, "seconds": round(time.time() - started, 3)}
    told.update(_price(), peak_memory_bytes=peak, **supervised)
    _write("compile.json", {**told, **({"compiler_cache": cached} if cached else {})})
    if is_stopped:
        sys.stderr.write("torchbuild: what ran is finished; stopped, as asked\n")
        return STOPPED
    if code == 0 and order.get("target"):
        sys.stderr.write("torchbuild: built %s; stopped, as asked\n" % order["target"])
        return STOPPED_AFTER_TARGET
    return code


def _work(argv: List[str], environ: Dict[str, str], supervisor: Supervisor) -> Tuple[int, int]:
    """Ninja, from its begin to its end: its exit code, and the most memory that was seen."""
    memory = MemoryWatch(Samples(os.path.join(_HERE, "samples.jsonl")))
    child = _start(argv, environ, supervisor.jobserver.inherited)  # one thread as yet
    memory.watch(child.pid, lambda: {"tokens": supervisor.jobserver.jobs})
    supervisor.ninja = child.pid
    supervisor.start()
    memory.start()
    code = _run(child)
    memory.stop()
    return code, memory.peak


def _price() -> Dict[str, Any]:
    """What all that ran took."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "user_seconds": round(usage.ru_utime, 3),
        "system_seconds": round(usage.ru_stime, 3),
        "largest_process_bytes": usage.ru_maxrss * 1024,
    }


def _told(name: str) -> Dict[str, Any]:
    """What the stage has written for us; empty where it has not."""
    try:
        with open(os.path.join(_HERE, name), encoding="utf-8") as handle:
            return dict(json.load(handle))
    except (OSError, ValueError):
        return {}


def _start(argv: List[str], environ: Dict[str, str], *files: int) -> "subprocess.Popen[bytes]":
    """Start it with these files; signals are passed on: ninja alone would go on compiling."""
    child = None  # type: Optional[subprocess.Popen[bytes]]
    early = []  # type: List[int]

    def forward(number: int, _frame: Any) -> None:
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    for name in _SIGNALS:
        signal.signal(name, forward)
    child = subprocess.Popen(argv, env=environ, pass_fds=files, preexec_fn=tied_to_us())  # noqa: PLW1509
    for received in early:
        child.send_signal(received)
    return child


def _run(child: "subprocess.Popen[bytes]") -> int:
    """Wait for the end; the code is a shell's."""
    code = child.wait()
    return code if code >= 0 else 128 - code


def _write(name: str, value: Dict[str, Any]) -> None:
    path = os.path.join(_HERE, name)
    with open(path + ".tmp", "w", encoding="utf-8") as handle:
        json.dump(value, handle, indent=1, sort_keys=True)
    os.replace(path + ".tmp", path)
