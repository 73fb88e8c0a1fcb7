"""Which machines of a pool compile as this one does, as JSON on stdout. Run isolated inside the builder.

``main([REQUEST.json])``, with ``{"program": PROGRAM, "environ": {…}, "variable": NAME, "hosts": [{"name": …,
"spec": …}], "compilers": [C, CXX]}`` in it. Each machine compiles a small source with each compiler; what
comes back is compared with what is compiled here, byte by byte. It answers ``{"program": WHY, "hosts": {NAME:
{"outcome": "same" | "differs" | "silent", "own": …, "seen": …}}}``; WHY is empty where the program is there.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Tuple

from .pool_engines import engine, token_beside
from .tied import tied_to_us

__all__ = ["ident", "look", "main"]

_TIMEOUT_S = 60
_AT_ONCE = 16
_SOURCES = {
    ".c": """\
static double half(double x) { return x * .5; }
int f(int a, double b) { return a / 3 + (int)half(b); }
""",
    ".cpp": """\
namespace { struct Told { ~Told(); int n; } told; }
template <class T, int N> struct Sum { static T of(const T *a) { return a[N - 1] + Sum<T, N - 1>::of(a); } };
template <class T> struct Sum<T, 0> { static T of(const T *) { return T(); } };
Told::~Told() { n = 0; }
struct Base { virtual ~Base() {} virtual double f(double) = 0; };
struct Made : Base {
  double f(double x) { try { if (x < 0) throw 1; } catch (int) { return x; } return x / 3; }
};
Base *make() { return new Made; }
double g(const double *a, const float *b, int n) { double s = Sum<double, 7>::of(a);
  for (int i = 0; i < n; i++) s += a[i] * b[i]; return s + Sum<float, 5>::of(b); }
""",
}
_IDENTS = (b"GCC: (", b"clang version ")
_LONGEST = 300


def main(argv: List[str]) -> int:
    """Print what was seen; 0 whatever that is: who asked judges."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    token = token_beside(os.path.dirname(os.path.abspath(argv[0])))
    json.dump(look(request, token), sys.stdout, indent=1, sort_keys=True)
    print()
    return 0


def look(request: Dict[str, Any], token: str = "") -> Dict[str, Any]:
    """All machines, several at a time: one that is gone is waited for.

    Args:
        request: as above.
        token: for their scheduler; empty for none. Secret.
    """
    serving = engine(request, token, tied_to_us())
    why = serving.start()
    try:
        return {"program": why, "hosts": {}} if why else _looked(request)
    finally:
        serving.stop()


def _looked(request: Dict[str, Any]) -> Dict[str, Any]:
    program = str(request["program"])
    if shutil.which(program) is None:
        return {"program": "%s: not there, or no program" % program, "hosts": {}}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as threads:
        environ = dict(os.environ, LC_ALL="C")
        own = [_compiled([compiler], suffix, folder, environ) for compiler, suffix in _pairs(request)]
        for (compiler, _), (made, why) in zip(_pairs(request), own):
            if not made:
                return {"program": "%s compiles nothing here: %s" % (compiler, why), "hosts": {}}

        def judged(host: Dict[str, Any]) -> Tuple[str, Dict[str, str]]:
            place = os.path.join(folder, str(host["name"]).replace("/", "_"))
            os.mkdir(place)
            there = dict(environ, **request["environ"])
            there.update({"DISTCC_DIR": place, str(request["variable"]): str(host["spec"])})
            return str(host["name"]), _judged(request, own, place, there)

        return {"program": "", "hosts": dict(threads.map(judged, request["hosts"]))}


def _pairs(request: Dict[str, Any]) -> List[Tuple[str, str]]:
    return list(zip(request["compilers"], (".c", ".cpp")))


def _judged(
    request: Dict[str, Any], own: List[Tuple[bytes, str]], folder: str, environ: Dict[str, str]
) -> Dict[str, str]:
    for (compiler, suffix), (here, _) in zip(_pairs(request), own):
        there, why = _compiled([str(request["program"]), compiler], suffix, folder, environ)
        if not there:
            return {"outcome": "silent", "own": ident(here), "seen": why}
        if there != here:
            return {"outcome": "differs", "own": ident(here), "seen": ident(there)}
    return {"outcome": "same", "own": ident(own[-1][0]), "seen": ident(own[-1][0])}


def _compiled(compiler: List[str], suffix: str, folder: str, environ: Dict[str, str]) -> Tuple[bytes, str]:
    """The object; or nothing, and what was said."""
    source, output = os.path.join(folder, "probe" + suffix), os.path.join(folder, "probe.o")
    with open(source, "w", encoding="utf-8") as handle:
        handle.write(_SOURCES[suffix])
    if os.path.exists(output):
        os.unlink(output)
    argv = [*compiler, "-O2", "-fPIC", "-c", "probe" + suffix, "-o", output]
    try:
        done = subprocess.run(
            argv,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return b"", str(error)[:_LONGEST]
    said = done.stdout.decode("utf-8", "replace").strip()
    try:
        with open(output, "rb") as object_file:
            made = object_file.read()
    except OSError:
        made = b""
    if done.returncode != 0 or not made:
        return b"", "exit code %d: %s" % (
            done.returncode,
            (said.splitlines() or ["nothing was said"])[0][:_LONGEST],
        )
    return made, ""


def ident(content: bytes) -> str:
    """What the compiler wrote of itself into an object."""
    for mark in _IDENTS:
        at = content.find(mark)
        if at >= 0:
            return content[at : content.find(b"\0", at)].decode("utf-8", "replace")[:_LONGEST]
    return "a compiler that does not say what it is"
