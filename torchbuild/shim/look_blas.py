"""What BLAS and OpenMP do in a process that is linked as the tree will be, as JSON on stdout.

``python -I look_blas.py REQUEST.json``, where the request is::

    {"cc": COMPILER, "scratch": DIRECTORY,
     "openmp": {"names": [NAME], "folders": [DIRECTORY], "is_ours": BOOL} or null,
     "blas": {"names": [NAME], "folders": [DIRECTORY], "lapack": [NAME], "is_static": BOOL} or null}

Two programs: one with OpenMP alone, one that multiplies matrices and takes one apart with OpenMP beside. Each
tells what is loaded in it.
"""

import json
import os
import subprocess
import sys
from typing import Any, Dict, List, Optional, Tuple

__all__ = ["look", "main"]

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
static void look_openmp(void) {
  int threads = 0, i;
  long sum = 0;
  #pragma omp parallel for num_threads(2) schedule(dynamic, 8) reduction(+ : sum)
  for (i = 1; i <= 1000; ++i) {
    #pragma omp critical
    if (omp_get_num_threads() > threads) threads = omp_get_num_threads();
    sum += i;
  }
  Dl_info info;
  void *from = dlsym(RTLD_DEFAULT, "omp_get_num_threads");
  printf("openmp_threads=%d\nopenmp_sum=%ld\nopenmp_date=%d\n", threads, sum, _OPENMP);
  printf("openmp_from=%s\n", from && dladdr(from, &info) ? info.dli_fname : "");
}
#endif

#ifdef WITH_BLAS
#define N 192
#define ROWS 40
#define COLS 24
extern void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *,
                   const double *, const int *, const double *, const int *, const double *, double *,
                   const int *);
extern void dgesdd_(const char *, const int *, const int *, double *, const int *, double *, double *,
                    const int *, double *, const int *, double *, const int *, int *, int *);
extern const char *openblas_get_config(void) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));
extern const char *bli_info_get_version_str(void) __attribute__((weak));
#ifdef WITH_STATIC_MKL
extern void mkl_get_version_string(char *, int);
extern int mkl_get_max_threads(void);
#else
extern void mkl_get_version_string(char *, int) __attribute__((weak));
extern int mkl_get_max_threads(void) __attribute__((weak));
#endif

static void from(const char *key, const char *name) {
  Dl_info info;
  void *address = dlsym(RTLD_DEFAULT, name);
  printf("%s=%s\n", key, address && dladdr(address, &info) ? info.dli_fname : "");
}

static void look_product(void) {
  static double a[N * N], b[N * N], c[N * N];
  const double one = 1, zero = 0;
  const int n[2] = {N, -1}; /* for who reads 64 bits it is another number */
  long wrong = 0;
  int i, j, k;
  for (i = 0; i < N * N; ++i) {
    a[i] = i * 7 % 17 - 8;
    b[i] = i * 5 % 13 - 6;
  }
  dgemm_("N", "N", n, n, n, &one, a, n, b, n, &zero, c, n);
  for (j = 0; j < N; ++j)
    for (i = 0; i < N; ++i) {
      double sum = 0;
      for (k = 0; k < N; ++k) sum += a[i + k * N] * b[k + j * N];
      wrong += c[i + j * N] != sum;
    }
  printf("dgemm_wrong=%ld\n", wrong);
  from("dgemm_from", "dgemm_");
}

#ifdef WITH_LAPACK
static void look_singular_values(void) {
  static double a[ROWS * COLS], kept[ROWS * COLS], s[COLS], u[ROWS * COLS], vt[COLS * COLS], work[20000];
  static int iwork[8 * COLS];
  const int rows[2] = {ROWS, -1}, cols[2] = {COLS, -1}, room[2] = {20000, -1};
  double worst = 0;
  int info = -1, i, j, k;
  for (i = 0; i < ROWS * COLS; ++i) kept[i] = a[i] = (i * 37 % 101 - 50) / 50.0;
  dgesdd_("S", rows, cols, a, rows, s, u, rows, vt, cols, work, room, iwork, &info);
  for (j = 0; j < COLS; ++j)
    for (i = 0; i < ROWS; ++i) {
      double sum = 0;
      for (k = 0; k < COLS; ++k) sum += u[i + k * ROWS] * s[k] * vt[k + j * COLS];
      if (!(fabs(sum - kept[i + j * ROWS]) <= worst)) worst = fabs(sum - kept[i + j * ROWS]);
    }
  printf("dgesdd_info=%d\ndgesdd_worst=%.3g\n", info, worst);
  from("dgesdd_from", "dgesdd_");
}
#endif

static void look_version(void) {
  char text[512] = "";
#ifdef WITH_STATIC_MKL
  mkl_get_version_string(text, 511);
  printf("version=%s\nblas_threads=%d\n", text, mkl_get_max_threads());
#else
  if (mkl_get_version_string) {
    mkl_get_version_string(text, 511);
    printf("version=%s\n", text);
    if (mkl_get_max_threads) printf("blas_threads=%d\n", mkl_get_max_threads());
  } else if (openblas_get_config) {
    printf("version=%s\n", openblas_get_config());
    if (openblas_get_num_threads) printf("blas_threads=%d\n", openblas_get_num_threads());
  } else if (bli_info_get_version_str) {
    printf("version=BLIS %s\n", bli_info_get_version_str());
  }
#endif
}
#endif

int main(void) {
  char line[8192];
  FILE *maps;
#ifdef _OPENMP
  look_openmp();
#endif
#ifdef WITH_BLAS
  look_product();
#ifdef WITH_LAPACK
  look_singular_values();
#endif
  look_version();
#endif
  maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    char *path = strchr(line, '/');
    if (path) printf("map=%s", path);
  }
  return 0;
}
"""
_SECONDS = 180
_MOST = 2000
_MOST_OUTPUT = 1 << 20
_TAIL = ("-lpthread", "-lm", "-ldl")


def main(argv: List[str]) -> int:
    """Print what was seen; 0 even where nothing links: the stage judges."""
    with open(argv[0], encoding="utf-8") as handle:
        request = json.load(handle)
    json.dump(look(request), sys.stdout, sort_keys=True)
    return 0


def look(request: Dict[str, Any]) -> Dict[str, Any]:
    """Both programs, as far as they are asked for."""
    os.makedirs(request["scratch"], exist_ok=True)
    openmp, blas = request.get("openmp"), request.get("blas")
    seen = {}  # type: Dict[str, Any]
    if openmp:
        seen["openmp"] = _program(request, "look-openmp", [], openmp, None)
    if blas:
        macros = ["-DWITH_BLAS"] + (["-DWITH_STATIC_MKL"] if blas.get("is_static") else [])
        whole = _program(request, "look-blas", [*macros, "-DWITH_LAPACK"], openmp, blas)
        if whole["error"]:  # a BLAS without LAPACK is one, too
            alone = _program(request, "look-blas-alone", macros, openmp, dict(blas, lapack=[]))
            whole = dict(alone, lapack_error=whole["error"])
        seen["blas"] = whole
    return seen


def _program(
    request: Dict[str, Any],
    name: str,
    macros: List[str],
    openmp: Optional[Dict[str, Any]],
    blas: Optional[Dict[str, Any]],
) -> Dict[str, Any]:
    """Compile, link as the tree does, start; what it said by key, and what was loaded in it."""
    program = os.path.join(request["scratch"], name)
    source = program + ".c"
    with open(source, "w", encoding="utf-8") as handle:
        handle.write(_SOURCE)
    compiled = ["-fopenmp"] if openmp else []
    # a runtime that is not the compiler's is linked by its path: the option would bring the compiler's too
    linked = _libraries(openmp) if openmp and openmp.get("is_ours") else compiled
    objects = [request["cc"], "-O1", *compiled, *macros, "-c", source, "-o", program + ".o"]
    parts = [] if blas is None else [blas, dict(blas, names=blas.get("lapack", []))]
    libraries = [item for part in parts for item in _libraries(part)]
    if blas is not None and blas.get("is_static"):
        libraries = ["-Wl,--start-group", *libraries, "-Wl,--end-group"]
    link = [request["cc"], program + ".o", "-o", program, "-Wl,--no-as-needed", *libraries, *linked, *_TAIL]
    text = ""
    for argv in (objects, link, [program]):
        code, text = _run(argv)
        if code != 0:
            return {"error": "%s: exit code %d: %s" % (_shown(argv), code, text.strip()[-_MOST:])}
    return dict(_told(text), error="")


def _libraries(part: Dict[str, Any]) -> List[str]:
    """Each by its file where one of the folders has it, with that folder as its run path; else by name."""
    found = []  # type: List[str]
    ending = ".a" if part.get("is_static") else ".so"
    for name in part["names"]:
        paths = [os.path.join(folder, "lib" + name + ending) for folder in part.get("folders", [])]
        path = next((item for item in paths if os.path.isfile(item)), "")
        if path and ending == ".so":
            found.append("-Wl,-rpath," + os.path.dirname(path))
        found.append(path or "-l" + name)
    return found


def _run(argv: List[str]) -> Tuple[int, str]:
    """Nothing of our own environment: LD_LIBRARY_PATH would decide what is loaded."""
    environ = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
            env=environ,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return done.returncode, done.stdout[:_MOST_OUTPUT].decode("utf-8", "replace")


def _shown(argv: List[str]) -> str:
    return os.path.basename(argv[0]) + (" -c" if "-c" in argv else "")


def _told(text: str) -> Dict[str, Any]:
    """Lines KEY=VALUE; each file that is mapped, once."""
    values, maps = {}, []  # type: Dict[str, str], List[str]
    for line in text.splitlines():
        key, sign, value = line.partition("=")
        if key == "map":
            maps.append(value)
        elif sign:
            value = value.strip()[:_MOST]
            values[key] = os.path.realpath(value) if key.endswith("_from") and value else value
    return {"values": values, "maps": sorted(set(maps))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
