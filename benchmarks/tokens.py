"""How many jobs run at once, counted every 10 ms: ninja's, and those of makes and ninjas below it.

Prints a table; benchmarks/tokens.md holds one. A job is a copy of sleep: one process that starts none. The
edge that calls make does so as bundled NCCL does: with a -j and -l of its own, and makes below make.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from supervised import Yard

__all__ = ["main"]

_EVERY_S = 0.01
_JOB = "tb-token-job"
"""Its name as /proc shows it: 15 characters at the most."""
_MAKE = """\
all: {jobs} device
{jobs}:
\t@{job} 0.1
device:
\t$(MAKE) $(OWN) -f {root}/Device
"""
_DEVICE = "all: {jobs}\n{jobs}:\n\t@{job} 0.1\n"


@dataclass
class Case:
    """One kind of build."""

    name: str
    command: str
    """Of the edge beside ninja's own jobs; empty for none."""
    is_bare: bool = False
    most: list[int] = field(default_factory=list)
    recovered: int = 0
    """Tokens that were taken for lost; none was."""


class Count(threading.Thread):
    """Looks every 10 ms at how many processes are jobs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = self.looks = 0
        self._over = threading.Event()

    def run(self) -> None:
        """Until `stop`."""
        while not self._over.wait(_EVERY_S):
            self.looks += 1
            self.most = max(self.most, jobs_now())

    def stop(self) -> None:
        """And tell."""
        self._over.set()
        self.join()


def jobs_now() -> int:
    """Jobs at one moment, the one between two looks: who is seen before and after it was there."""
    before = [place.name for place in Path("/proc").iterdir() if place.name.isdigit() and is_job(place.name)]
    return sum(is_job(name) for name in before)


def is_job(pid: str) -> bool:
    """One that is about to become one, or has ended, is none."""
    try:
        text = Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return f"({_JOB})" in text and text.rpartition(")")[2].split()[0] not in "ZX"


def lay(yard: Yard) -> Path:
    """The job, and what makes build."""
    job = yard.root / _JOB
    shutil.copy(shutil.which("sleep") or "/bin/sleep", job)
    names = " ".join(f"m{number}" for number in range(24))
    text = _MAKE.format(jobs=names, job=job, root=yard.root)
    (yard.root / "Makefile").write_text(text, encoding="utf-8")
    names = " ".join(f"d{number}" for number in range(24))
    (yard.root / "Device").write_text(_DEVICE.format(jobs=names, job=job), encoding="utf-8")
    nested = yard.root / "nested"
    nested.mkdir()
    edges = "".join(f"build n{number}: job\n" for number in range(24))
    (nested / "build.ninja").write_text(f"rule job\n  command = {job} 0.1\n{edges}", encoding="utf-8")
    return job


def measure(case: Case, yard: Yard, job: Path, tokens: int) -> None:
    """Build once, and count."""
    yard.clean()
    rules = f"rule job\n  command = {job} 0.1\n" + "".join(f"build j{number}: job\n" for number in range(48))
    if case.command:
        rules += f"rule one\n  command = {case.command}\nbuild one: one\n"
    yard.write(rules)
    count = Count()
    count.start()
    code, said = yard.run(yard.real if case.is_bare else yard.ninja, f"-j{tokens}")
    count.stop()
    if code:
        raise RuntimeError(said)
    case.most.append(count.most)
    if not case.is_bare:
        case.recovered += int(yard.left()["tokens_recovered"])


def cases(yard: Yard, new_make: str) -> list[Case]:
    """All that can be run here."""
    options = f"-j8 -l99 OWN='-j9 -l99' -f {yard.root}/Makefile"
    real = shutil.which("make", path="/usr/bin:/usr/local/bin:/bin") or "make"
    found = [
        Case("ninja alone", ""),
        Case(f"ninja and {version(real)}, `make -j8 -l99`", f"make {options}"),
        Case(f"ninja and {version(real)} by its path, no -j", f"{real} -f {yard.root}/Makefile"),
        Case("ninja and a nested `ninja -j8`", f"ninja -C {yard.root}/nested -j8"),
        Case(f"bare ninja and {version(real)}, `make -j8 -l99`", f"make {options}", is_bare=True),
    ]
    if new_make:
        folder = yard.root / "new"
        folder.mkdir()
        (folder / "make").symlink_to(new_make)
        path = f"PATH={yard.bin}:{folder}:$$PATH"
        found[3:3] = [
            Case(f"ninja and {version(new_make)}, `make -j8 -l99`", f"{path} make {options}"),
            Case(f"ninja and {version(new_make)} by its path, no -j", f"{new_make} -f {yard.root}/Makefile"),
        ]
    return found


def version(make: str) -> str:
    """As it says itself."""
    said = subprocess.run([make, "--version"], capture_output=True, text=True, check=True).stdout
    return said.splitlines()[0].removeprefix("GNU ").lower()


def main() -> int:
    """Count and print; exit code 1 where more jobs ran than there are tokens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=4)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--make", default="", help="path of a further make, of 4.4 or later")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yard = Yard(Path(folder, "yard"))
        job = lay(yard)
        rows = cases(yard, options.make)
        for _ in range(options.runs):
            for case in rows:
                measure(case, yard, job, options.tokens)
                print(case.name, case.most[-1], case.recovered, file=sys.stderr, flush=True)
    print(f"{options.tokens} tokens, {options.runs} runs in turns, ", end="")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    print("| | most jobs at once: least | median | most | tokens taken for lost |\n|---|---|---|---|---|")
    for case in rows:
        low, middle, high = min(case.most), statistics.median(case.most), max(case.most)
        print(f"| {case.name} | {low} | {middle:.0f} | {high} | {case.recovered} |")
    ours = [most for case in rows if not case.is_bare for most in case.most]
    return 0 if max(ours) <= options.tokens else 1


if __name__ == "__main__":
    sys.exit(main())
