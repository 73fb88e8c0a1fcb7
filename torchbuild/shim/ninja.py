"""The ninja that CMake finds. Probes pass through; the first real build call meets the gate.

Orders come from ``order.json`` beside this package, written by the stage that starts the front end:
``{"mode": "gate" | "build", "build_dir": …, "target": … | null, "expect": […], "statslog": …}``.
What was found is left there as ``gate.json`` and ``compile.json``. Exit codes of our own: 90 stopped after
configure as asked, 91 refused by the gate, 92 stopped after the target as asked.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from .cache import parse_cache
from .gate import compare
from .memory import MemoryWatch

__all__ = ["REFUSED", "STOPPED_AFTER_CONFIGURE", "STOPPED_AFTER_TARGET", "main", "split_arguments"]

STOPPED_AFTER_CONFIGURE = 90
REFUSED = 91
STOPPED_AFTER_TARGET = 92

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_WITH_VALUE = ("-C", "-f", "-j", "-k", "-l", "-d", "-w", "-t")


def main(argv: Optional[List[str]] = None) -> int:
    """Be ninja. Returns the exit code; does not return where the real ninja takes over."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    real = os.path.join(_HERE, "ninja-real")
    order = _order()
    if order is None or not _is_build(arguments, order["build_dir"]):
        os.execv(real, [real, *arguments])
    findings = _gate(order)
    if any(finding["outcome"] == "failed" for finding in findings):
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
    """Options, targets, the directory of ``-C`` and whether it is only a query (``-t``, ``--version``…)."""
    options, targets, directory, query = [], [], ".", False
    index = 0
    while index < len(arguments):
        part = arguments[index]
        if part in _WITH_VALUE and index + 1 < len(arguments):
            options += arguments[index : index + 2]
            directory = arguments[index + 1] if part == "-C" else directory
            query = query or part == "-t"
            index += 2
            continue
        if part.startswith("-"):
            options.append(part)
            directory = part[2:] if part.startswith("-C") else directory
            query = query or part.startswith("-t") or part in ("--version", "--help", "-h", "-n")
        else:
            targets.append(part)
        index += 1
    return options, targets, directory, query


def _is_build(arguments: List[str], build_dir: str) -> bool:
    """A real call is one in the build tree itself; compiler probes run in scratch trees below it."""
    _, _, directory, query = split_arguments(arguments)
    return not query and os.path.realpath(directory) == os.path.realpath(build_dir)


def _gate(order: Dict[str, Any]) -> List[Dict[str, str]]:
    with open(
        os.path.join(order["build_dir"], "CMakeCache.txt"), encoding="utf-8", errors="replace"
    ) as handle:
        cache = parse_cache(handle.read())
    findings = compare(cache, order["expect"])
    _write("gate.json", {"findings": findings})
    for finding in findings:
        if finding["outcome"] == "failed":
            sys.stderr.write(
                "torchbuild: the gate refuses [%s] %s: wanted %s, got %s\n"
                % (finding["reference"], finding["what"], finding["wanted"], finding["seen"])
            )
    return findings


def _build(real: str, arguments: List[str], order: Dict[str, Any]) -> int:
    options, targets, _, _ = split_arguments(arguments)
    if order.get("target"):
        targets = [order["target"]]
    environ = dict(os.environ)
    if order.get("statslog"):
        environ["CCACHE_STATSLOG"] = order["statslog"]
    started = time.time()
    child = subprocess.Popen([real, *options, *targets], env=environ)
    memory = MemoryWatch()
    memory.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: child.send_signal(received))
    code = child.wait()
    memory.stop()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    _write(
        "compile.json",
        {
            "exit_code": code,
            "seconds": round(time.time() - started, 3),
            "user_seconds": round(usage.ru_utime, 3),
            "system_seconds": round(usage.ru_stime, 3),
            "largest_process_bytes": usage.ru_maxrss * 1024,
            "peak_memory_bytes": memory.peak,
        },
    )
    if code == 0 and order.get("target"):
        sys.stderr.write("torchbuild: built %s; stopped, as asked\n" % order["target"])
        return STOPPED_AFTER_TARGET
    return code if code >= 0 else 128 - code


def _write(name: str, value: Dict[str, Any]) -> None:
    path = os.path.join(_HERE, name)
    with open(path + ".tmp", "w", encoding="utf-8") as handle:
        json.dump(value, handle, indent=1, sort_keys=True)
    os.replace(path + ".tmp", path)
