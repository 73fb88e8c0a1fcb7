"""Evidence that a build survives SIGKILL at any instant: not a test by itself, `test_kill_anywhere.py` runs a few.

    .ci/podman.sh exec .venv/bin/python tests/e2e/kill_anywhere.py --executor podman --kills 100 --kept DIR

DIR keeps repositories, locks, downloads and, for rootfs, the unpacked image from one call to the next: with
`--kills 0` they are brought, and a call that finds them needs no network. What is tried is the torchbuild beside
this file, also where another one is installed.

torchlet is built again and again in fresh workspaces. Each build is killed at random instants: of the clock; of a
random stage, so that short ones are met too; or just before or just after one of its renames, which is
where a record is about to count. After each kill
nothing of it may be alive within a second; then the same command goes on. In the end the wheel's digest must be the
undisturbed one's, and nothing half-written may be left. The seed is printed; the same seed kills at the same
instants, as far as a clock can.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "examples" / "torchlet"
IMAGE = "localhost/torchbuild/debian-trixie"
GRACE_S = 1.0
ENGINE_GRACE_S = 10.0
PATIENCE_S = 900.0
MARK = "TORCHBUILD_KILL_MARK"
STAGES = ("fetch", "toolchain", "source", "configure", "compile", "package", "verify", "publish")
TEMPORARY = ".torchbuild-tmp-"

DRIVER = """
import os, signal, sys
kill_at, told = int(sys.argv[1]), sys.argv[2]
seen = 0
def instant():
    global seen
    if seen == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    seen += 1
    if told:
        with open(told, "w") as file:
            file.write(str(seen))
def watched(original):
    def call(*arguments, **options):
        instant()
        original(*arguments, **options)
        instant()
    return call
os.rename, os.replace = watched(os.rename), watched(os.replace)
from torchbuild.cli.main import main
main(sys.argv[3:])
"""
"""torchbuild itself, which ends itself before (even numbers) or after (odd ones) one of its renames."""


ENDED = re.compile(r"^✓ (\w+) +([0-9.]+) s", re.MULTILINE)


class Broken(Exception):  # noqa: N818  it is what the tool looks for
    """A promise that was not kept."""


@dataclass
class Found:
    """What was seen."""

    kills: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    builds: int = 0
    deaths_s: list[float] = field(default_factory=list)
    engine_s: list[float] = field(default_factory=list)
    too_late: int = 0


@dataclass(frozen=True)
class Bench:
    """Where and how torchlet is built."""

    folder: Path
    executor: str
    cache: Path
    kept: Path

    @property
    def lock(self) -> Path:
        """An engine's image and its unpacked root are one: so is their lock."""
        return self.kept / ("local.lock" if self.executor == "local" else "image.lock")

    @property
    def overrides(self) -> list[str]:
        """What chooses the executor."""
        pairs = [f"source.git={self.kept / 'repos' / 'torchlet'}"]
        if self.executor != "local":
            pairs += [f"image.name={IMAGE}", "python.version=3.13", f"machine.engine={self.executor}"]
        return [word for pair in pairs for word in ("--set", pair)]

    def start(
        self, *argv: str, place: Path, kill_at: int = -1, told: str = "", token: str = ""
    ) -> subprocess.Popen[bytes]:
        """Begin a command of torchbuild whose log is in `place`."""
        places = {"TORCHBUILD_CACHE": str(self.cache), "TORCHBUILD_BUILDS": str(place / "builds")}
        places["PYTHONPATH"] = str(REPOSITORY)
        with (place / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(kill_at), told, *argv, *self.overrides],
                env=os.environ | places | ({MARK: token} if token else {}),
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def build(self, place: Path, **options: object) -> subprocess.Popen[bytes]:
        """Begin the build: always the same command."""
        recipe = str(EXAMPLE / "recipe.toml")
        argv = ["build", recipe, "--locked", "--lock", str(self.lock), "--out", str(place / "out")]
        return self.start(*argv, place=place, **options)  # type: ignore[arg-type]


def finish(process: subprocess.Popen[bytes], place: Path) -> None:
    """Wait for a command that must end well."""
    try:
        code = process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise Broken(f"it hangs: {tail(place)}") from error
    if code != 0:
        raise Broken(f"exit code {code}: {tail(place)}")


def log_of(place: Path) -> str:
    """All that the commands said."""
    path = place / "log"
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def tail(place: Path) -> str:
    """The end of the log."""
    return log_of(place)[-3000:]


def wheel_digest(place: Path) -> str:
    """Of the one wheel that was published, with nothing half-written beside it or in the workspace."""
    wheels = list((place / "out").glob("*.whl"))
    left = [str(path) for path in place.rglob(f"{TEMPORARY}*")]
    if len(wheels) != 1 or left:
        raise Broken(f"wheels {wheels}, left behind {left}")
    return hashlib.sha256(wheels[0].read_bytes()).hexdigest()


def alive(token: str) -> tuple[list[str], list[str]]:
    """Processes of a killed run: those that see its workspace, and those of the engine that only know of it."""
    inside, engine = [], []
    for process in Path("/proc").glob("[0-9]*"):
        texts = {name: content(process / name) for name in ("mountinfo", "environ", "cmdline")}
        words = f"{process.name} {texts['cmdline'].replace(chr(0), ' ')[:200]}"
        is_engine = any(
            f"/{name}" in texts["cmdline"][:200] for name in ("podman", "conmon", "crun", "docker")
        )
        if token in texts["mountinfo"]:
            inside.append(words)
        elif token in texts["environ"] or token in texts["cmdline"]:
            (engine if is_engine else inside).append(words)
    return inside, engine


def content(path: Path) -> str:
    """The text of a file of /proc; nothing where its process has ended."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def await_death(token: str, found: Found) -> None:
    """Wait until nothing of the killed run is alive; never longer than is promised."""
    began = time.monotonic()
    dead_s: float | None = None
    while True:
        inside, engine = alive(token)
        passed = time.monotonic() - began
        if not inside and dead_s is None:
            dead_s = passed
        if inside and passed > GRACE_S:
            raise Broken(f"alive {passed:.1f} s after the kill: {inside}")
        if engine and passed > ENGINE_GRACE_S:
            raise Broken(f"the engine still works {passed:.1f} s after the kill: {engine}")
        if not inside and not engine:
            found.deaths_s.append(dead_s or passed)
            found.engine_s.append(passed)
            return
        time.sleep(0.02)


@dataclass(frozen=True)
class Known:
    """A build in peace."""

    digest: str
    instants: int
    """Before and after each rename."""
    seconds: float
    stages: dict[str, float]
    """Seconds of each, in order."""


def killed(
    bench: Bench, place: Path, chance: random.Random, known: Known, share: float, found: Found
) -> bool:
    """Begin the build and kill it; False where it was quicker than the instant."""
    token, before = place.name, len(log_of(place))
    kind = chance.choice(("clock", "rename", "stage", "stage"))
    kill_at = chance.randrange(known.instants) if kind == "rename" else -1
    ended = {name for name, _ in ENDED.findall(log_of(place))}
    stage = chance.choice([name for name in known.stages if name not in ended] or list(known.stages))
    limit_s = {
        "clock": chance.uniform(0, 1.2 * known.seconds * share),
        "rename": PATIENCE_S,
        "stage": chance.uniform(0, known.stages[stage]),
    }[kind]
    process = bench.build(place, kill_at=kill_at, token=token)
    while kind == "stage" and f"{stage}: begins" not in log_of(place)[before:] and process.poll() is None:
        time.sleep(0.01)
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.returncode == 0:
        found.too_late += 1
        return False
    if process.returncode != -signal.SIGKILL:
        raise Broken(f"exit code {process.returncode}: {tail(place)}")
    found.kills[kind] += 1
    found.stages[stage_of(log_of(place)[before:])] += 1
    await_death(token, found)
    return True


def stage_of(log: str) -> str:
    """Where the killed run was, as its own words say."""
    lines = [line.partition(": ") for line in log.splitlines()]
    begun = [stage for stage, _, rest in lines if rest.startswith("begins")]
    return begun[-1] if begun else "before the first"


def stale_containers(bench: Bench, place: Path) -> list[str]:
    """What the engine still has of the workspaces in `place`."""
    if bench.executor != "podman":
        return []
    left = []
    for root in (place / "builds").glob("*/root"):
        mark = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        query = ["podman", "ps", "--all", "--quiet", f"--filter=label=torchbuild.root={mark}"]
        left += subprocess.run(query, check=True, capture_output=True, text=True).stdout.split()
    return left


def one_build(bench: Bench, kills: int, chance: random.Random, known: Known, found: Found) -> None:
    """A fresh workspace, so many kills in it, then the same command to its end."""
    place = bench.folder / f"kill-{secrets.token_hex(8)}"
    place.mkdir()
    for _ in range(kills):
        if not killed(bench, place, chance, known, 1 / kills, found):
            break
    finish(bench.build(place, token=place.name), place)
    await_death(place.name, found)
    seen = wheel_digest(place)
    if seen != known.digest:
        raise Broken(f"the wheel is {seen}, undisturbed it is {known.digest}")
    if stale_containers(bench, place):
        raise Broken(f"containers are left: {stale_containers(bench, place)}")
    found.builds += 1
    shutil.rmtree(place)


def bring(bench: Bench) -> None:
    """Whatever is not kept yet of what needs a network or an engine before the first build."""
    if not (bench.kept / "repos").is_dir():
        maker = [sys.executable, str(EXAMPLE / "make_repo.py"), str(bench.kept / "repos")]
        subprocess.run(maker, check=True, capture_output=True)
    roots = bench.cache / "roots"
    if bench.executor == "rootfs" and not (any(roots.glob("*.json")) or any(roots.glob("*.tar"))):
        roots.mkdir(parents=True, exist_ok=True)
        saved = ["podman", "save", "--output", str(roots / "image.tar"), IMAGE]
        subprocess.run(saved, check=True, capture_output=True)
    if not bench.lock.exists():
        place = bench.folder / "lock"
        place.mkdir()
        words = ["lock", str(EXAMPLE / "recipe.toml"), "--lock", str(bench.lock)]
        finish(bench.start(*words, place=place), place)


def undisturbed(bench: Bench) -> Known:
    """Two builds in peace: the first brings what is fetched, the second is measured."""
    place = bench.folder / "peace"
    place.mkdir()
    counted = place / "instants"
    finish(bench.build(place), place)
    digest = wheel_digest(place)
    shutil.rmtree(place / "builds")
    before, began = len(log_of(place)), time.monotonic()
    finish(bench.build(place, told=str(counted)), place)
    seconds = time.monotonic() - began
    if wheel_digest(place) != digest:
        raise Broken("two undisturbed builds differ")
    stages = {name: float(text) for name, text in ENDED.findall(log_of(place)[before:]) if name in STAGES}
    return Known(digest, int(counted.read_text()), seconds, stages)


def run(options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """All of it; what was seen."""
    kept = Path(options.kept).absolute() if options.kept else folder
    kept.mkdir(parents=True, exist_ok=True)
    cache = Path(options.cache).absolute() if options.cache else kept / "cache"
    bench = Bench(folder, options.executor, cache, kept)
    bring(bench)
    began = time.monotonic()
    known = undisturbed(bench)
    found, chance = Found(), random.Random(options.seed)  # noqa: S311  to repeat, not to hide
    while found.kills.total() < options.kills:
        wanted = min(options.kills - found.kills.total(), chance.randint(1, options.per_build))
        one_build(bench, wanted, chance, known, found)
        sys.stderr.write(f"{found.kills.total()} kills, {time.monotonic() - began:.0f} s\n")
    return {
        "executor": options.executor,
        "seed": options.seed,
        "kills": dict(found.kills),
        "stages": dict(found.stages),
        "builds": found.builds,
        "ended before the kill": found.too_late,
        "slowest death, s": round(max(found.deaths_s, default=0), 3),
        "slowest engine, s": round(max(found.engine_s, default=0), 3),
        "undisturbed, s": round(known.seconds, 1),
        "all, s": round(time.monotonic() - began),
        "instants around renames": known.instants,
        "wheel": known.digest,
    }


def main() -> int:
    """Exit code 1 where a promise was not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--executor", choices=("local", "podman", "rootfs"), default="local")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--per-build", type=int, default=3, help="kills of one build, at most")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--kept", help="what is brought stays here: locks, repositories, a cache")
    parser.add_argument("--cache", help="another cache than the kept one")
    parser.add_argument("--work", help="where to work; kept where a promise was broken")
    options = parser.parse_args()
    sys.stderr.write(f"seed {options.seed}\n")
    folder = Path(tempfile.mkdtemp(prefix="torchbuild-kill-", dir=options.work))
    try:
        result = run(options, folder)
    except Broken as error:
        sys.stderr.write(f"seed {options.seed}: {error}\nlook into {folder}\n")
        return 1
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
