"""The build as a whole: order, keys, what is done again and what is not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import torchbuild
from torchbuild.context import Context
from torchbuild.errors import HostError, Interrupted, OutOfTime, StageError, UsageError
from torchbuild.model.command import Command
from torchbuild.model.lock import Expectation, Lock, LockedPrepare
from torchbuild.model.stage import StageKey, StagePlan, StageResult, stage_key
from torchbuild.model.stopped import stopped
from torchbuild.pipeline import STAGES, Stage, StageOutcome, build, keys, plan_all, stage_slice, whole_keys
from torchbuild.report.events import Event, StageFinished, StageStarted
from torchbuild.resolve.lockfile import dump_lock

MakeLock = Callable[..., Lock]
NAMES = ("fetch", "toolchain", "source", "configure", "compile", "package", "verify", "publish")


# --- keys --------------------------------------------------------------------------------------------------


def changed_stages(before: Lock, after: Lock) -> list[str]:
    """Stages whose key is another one."""
    old, new = keys(plan_all(before)), keys(plan_all(after))
    return [name for name in NAMES if old[name] != new[name]]


def test_the_stages_are_eight_in_this_order() -> None:
    """The order is written down once, and each needs only what comes before it."""
    assert tuple(item.name for item in STAGES) == NAMES


def test_planning_touches_nothing(lock: Lock, nothing_moves: Callable[[], Any]) -> None:
    """A dry run opens no file and starts no process."""
    with nothing_moves():
        plans = plan_all(lock)
        whole = keys(plans)

    assert set(whole) == set(NAMES)
    for index, plan in enumerate(plans):
        assert set(plan.needs) <= set(NAMES[:index])


def test_the_same_lock_has_the_same_keys(make_lock: MakeLock) -> None:
    """On any machine, in any run."""
    assert changed_stages(make_lock(), make_lock()) == []


WHOLE = list(NAMES)
CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the commit": (
        {"source": {"kind": "git", "url": "https://example.org/torchlet", "commit": "b" * 40}},
        WHOLE,
    ),
    "the interpreter": (
        {
            "python": {
                "executable": "/usr/bin/python3.13",
                "version": "3.13.6",
                "soabi": "cpython-313-x86_64-linux-gnu",
                "tag": "cp313",
            }
        },
        WHOLE[1:],
    ),
    "the compiler": ({"compiler": "g++ 15"}, WHOLE[1:]),
    "the image": ({"image": {"name": "builder", "id": "c" * 64}}, WHOLE[1:]),
    "a variable": ({"environ": {"USE_CUDA": "ON"}}, WHOLE[3:]),
    "an expectation": (
        {"expect": (Expectation(reference="gate-flag", key="USE_MPI", kind="switch", value="OFF", why="x"),)},
        WHOLE[3:],
    ),
    "the epoch": ({"epoch": 1800000000}, WHOLE[1:]),
    "the era": ({"era": "scikit-build-core"}, WHOLE[3:]),
    "the C compiler": ({"compiler_c": "gcc 15"}, WHOLE[1:]),
    "the newest C library": ({"glibc": "2.28"}, ["package", "publish"]),
    "the recipe's text alone": ({"recipe": "1" * 64}, []),
}


@pytest.mark.parametrize(("change", "stages"), CHANGES.values(), ids=CHANGES)
def test_a_change_reaches_the_stages_that_it_decides_and_no_other(
    make_lock: MakeLock, change: dict[str, Any], stages: list[str]
) -> None:
    """What builds on a stage changes with it; what does not stays done."""
    assert changed_stages(make_lock(), make_lock(**change)) == stages


@pytest.mark.parametrize("name", NAMES)
def test_a_raised_revision_reaches_its_stage_and_those_after_and_none_before(
    lock: Lock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A stage that does its work otherwise does it again, and nobody pays for it who came before."""
    plans = plan_all(lock)
    before = keys(plans)
    wanted = {name}
    for plan in plans:
        if wanted & set(plan.needs):
            wanted.add(plan.stage)

    monkeypatch.setattr(f"torchbuild.stages.{name}.REVISION", 999)
    after = keys(plan_all(lock))

    assert {stage for stage in NAMES if before[stage] != after[stage]} == wanted
    assert min(map(NAMES.index, wanted)) == NAMES.index(name)


def test_a_key_knows_its_parts(make_lock: MakeLock) -> None:
    """Whoever asks why a stage runs again is answered with the field of the lock, not with a digest."""
    old = whole_keys(plan_all(make_lock()))["configure"]
    new = whole_keys(plan_all(make_lock(environ={"USE_CUDA": "ON"})))["configure"]

    changed = {name for name in {*old.parts, *new.parts} if old.parts.get(name) != new.parts.get(name)}
    assert "environ.USE_CUDA" in changed
    assert changed <= {"environ.USE_CUDA", "command 1.environ"}
    assert {"revision", "stage source", "command 1.argv"} <= set(new.parts)


def test_what_is_verified_decides_no_compile(make_lock: MakeLock) -> None:
    """Another run-time check costs no hour."""
    before = make_lock()
    verify = before.verify.model_copy(update={"require": ("import-identity", "svd")})

    assert changed_stages(before, make_lock(verify=verify)) == ["verify", "publish"]


NO_BYTE_CODE = shutil.ignore_patterns("__pycache__")
ASK_KEYS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from torchbuild.pipeline import keys, plan_all
from torchbuild.resolve.lockfile import parse_lock
for name, key in keys(plan_all(parse_lock(Path(sys.argv[2]).read_text(encoding="utf-8"), "lock"))).items():
    print(name, key)
"""


@pytest.fixture
def keys_of(tmp_path: Path, make_lock: MakeLock) -> Callable[[Path], dict[str, str]]:
    """The keys that a program at another place gives to the stages of one lock."""
    lock = tmp_path / "a.lock"
    lock.write_text(dump_lock(make_lock()), encoding="utf-8")

    def ask(program: Path) -> dict[str, str]:
        argv = [sys.executable, "-c", ASK_KEYS, str(program), str(lock)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60)
        return dict(line.split() for line in done.stdout.splitlines())

    return ask


@pytest.mark.parametrize(
    ("source", "stages"),
    [
        ("shim/gate.py", WHOLE[1:]),
        ("inspection/linkage.py", ["package", "verify", "publish"]),
        ("knowledge/data/platform_libraries.toml", ["package", "publish"]),
        ("smoke/svd.py", ["verify", "publish"]),
        ("cli/main.py", []),
    ],
    ids=["gate", "static checks", "their table", "run-time checks", "command line"],
)
def test_a_newer_torchbuild_does_not_live_on_the_word_of_an_older_one(
    tmp_path: Path, keys_of: Callable[[Path], dict[str, str]], source: str, stages: list[str]
) -> None:
    """A gate or a check that was corrected runs again; what it does not decide stays done."""
    before = keys_of(Path(torchbuild.__file__).parents[1])
    shutil.copytree(Path(torchbuild.__file__).parent, tmp_path / "newer/torchbuild", ignore=NO_BYTE_CODE)
    with (tmp_path / "newer/torchbuild" / source).open("a", encoding="utf-8") as file:
        file.write("\n# corrected\n")

    after = keys_of(tmp_path / "newer")

    assert [name for name in NAMES if before[name] != after[name]] == stages


def test_a_preparation_step_reaches_all_that_follows(make_lock: MakeLock) -> None:
    """It changes the tree."""
    before = make_lock()
    step = LockedPrepare(argv=("/bin/true",), cwd=".")
    source = before.source.model_copy(update={"prepare": (step,)})

    assert set(changed_stages(before, make_lock(source=source))) >= set(NAMES[2:])


# --- slices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        (None, None, NAMES),
        ("configure", None, NAMES[3:]),
        (None, "source", NAMES[:3]),
        ("compile", "compile", ("compile",)),
    ],
)
def test_a_slice_is_what_lies_between(first: str | None, last: str | None, names: tuple[str, ...]) -> None:
    """Both ends included."""
    assert tuple(item.name for item in stage_slice(first, last)) == names


@pytest.mark.parametrize(
    ("first", "last", "reference"),
    [("compil", None, "stage-unknown"), (None, "all", "stage-unknown"), ("verify", "fetch", "stage-order")],
)
def test_a_slice_that_is_none_is_the_callers_mistake(
    first: str | None, last: str | None, reference: str
) -> None:
    """With the names that there are."""
    with pytest.raises(UsageError) as caught:
        stage_slice(first, last)

    assert caught.value.reference == reference
    assert "fetch, toolchain, source" in caught.value.why[0]


# --- running -----------------------------------------------------------------------------------------------


@dataclass
class MemoryRecords:
    """Records in memory: what a stage made is intact until a test says otherwise."""

    done: dict[str, tuple[StageKey, StageResult]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    written: list[str] = field(default_factory=list)

    def reuse(self, stage: str, key: StageKey, makes: Sequence[str]) -> StageResult | None:
        """As `torchbuild.context.Records`."""
        record = self.done.get(stage)
        return record[1] if record and record[0] == key and stage not in self.broken else None

    def remember(self, stage: str, key: StageKey, makes: Sequence[str], result: StageResult) -> None:
        """As `torchbuild.context.Records`."""
        self.broken.discard(stage)
        self.done[stage] = (key, result)
        self.written.append(stage)

    def forget(self, stage: str) -> None:
        """As `torchbuild.context.Records`."""
        self.done.pop(stage, None)
        self.written.append(f"-{stage}")

    def key(self, stage: str) -> str | None:
        """As `torchbuild.context.Records`."""
        return self.done[stage][0].digest if stage in self.done else None


class Line:
    """Four stages, a to d, in memory: d needs b and c, which need a. What runs is written down."""

    def __init__(self) -> None:
        self.records = MemoryRecords()
        self.events: list[Event] = []
        self.ran: list[str] = []
        self.raises: dict[str, BaseException] = {}
        self.stops: set[str] = set()
        self.asks: dict[str, str] = {}
        self.revision = dict.fromkeys("abcd", 1)
        self.kept = dict.fromkeys("abcd", True)
        self.before_work: Callable[[str], None] = lambda _name: None
        self.gone: set[str] = set()
        self.restored: list[str] = []
        self.commands = {"a"}
        self.is_dev = False
        self.stopping = SimpleNamespace(reason="")
        self.needs = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}

    def stages(self) -> tuple[Stage, ...]:
        """The line."""
        return tuple(self._stage(name) for name in "abcd")

    def _stage(self, name: str) -> Stage:
        def plan(_lock: Lock) -> StagePlan:
            key = stage_key(name, self.revision[name], None)
            commands = (Command(argv=("/bin/true",)),) if name in self.commands else ()
            return StagePlan(stage=name, key=key, needs=self.needs[name], makes=(), commands=commands)

        def run(_lock: Lock, _context: Context) -> StageResult:
            self.ran.append(name)
            self.stopping.reason = self.asks.get(name, "")
            if name in self.raises:
                raise self.raises[name]
            return StageResult(summary=f"{name} is done", stopped=name in self.stops)

        def restore(_lock: Lock, _context: Context) -> bool:
            if name not in self.gone:
                return False
            if name in self.raises:
                raise self.raises[name]
            self.restored.append(name)
            return True

        return Stage(name=name, plan=plan, run=run, restore=restore, is_kept=self.kept[name])

    def build(self, lock: Lock, names: str = "abcd", *, forced: bool = False) -> list[StageOutcome]:
        """One run; the stages that ran are in `ran` afterwards."""
        self.ran = []
        return list(self.go(lock, names, forced=forced))

    def go(self, lock: Lock, names: str = "abcd", *, forced: bool = False) -> Iterator[StageOutcome]:
        """One run, outcome by outcome."""
        ticks = iter(range(1000))
        context: Any = SimpleNamespace(
            is_dev=self.is_dev,
            records=self.records,
            reporter=SimpleNamespace(emit=self.events.append),
            workspace=SimpleNamespace(run="run-1", logs=Path("/logs")),
            stopping=self.stopping,
        )
        line = self.stages()
        chosen = tuple(item for item in line if item.name in names)
        return build(
            lock,
            context,
            chosen,
            forced=forced,
            clock=lambda: float(next(ticks)),
            line=line,
            before_work=self.before_work,
        )


@pytest.fixture
def line() -> Line:
    """A fresh one."""
    return Line()


def walked(run: Iterator[StageOutcome]) -> tuple[list[StageOutcome], BaseException | None]:
    """What came, and what ended it."""
    seen: list[StageOutcome] = []
    try:
        for outcome in run:
            seen.append(outcome)  # noqa: PERF402  what came before an exception counts
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  the test looks at it
        return seen, error
    return seen, None


def test_whoever_refuses_before_a_stage_costs_nothing_that_was_done(line: Line, lock: Lock) -> None:
    """Only what is about to run is asked for, and no record is forgotten by a refusal."""
    asked: list[str] = []
    line.before_work = asked.append
    line.build(lock, "ab")
    line.build(lock, "abc")
    assert asked == ["a", "b", "c"]

    def refuse(name: str) -> None:
        raise HostError("disk-full", name, fix="Free space.")

    line.before_work = refuse
    _, error = walked(line.go(lock, "ab", forced=True))

    assert isinstance(error, HostError)
    assert set(line.records.done) == {"a", "b", "c"}


def outcomes(ended: Sequence[StageOutcome]) -> dict[str, str]:
    """Stage -> how it ended."""
    return {item.stage: item.outcome for item in ended}


def test_everything_runs_once(line: Line, lock: Lock) -> None:
    """In order; a second run does nothing again."""
    assert outcomes(line.build(lock)) == dict.fromkeys("abcd", "done")
    assert line.ran == ["a", "b", "c", "d"]

    assert outcomes(line.build(lock)) == dict.fromkeys("abcd", "reused")
    assert line.ran == []


def test_every_beginning_and_end_is_told(line: Line, lock: Lock) -> None:
    """With the log, the time, and what came out; a reused stage only ends."""
    line.build(lock, "a")
    line.build(lock, "a")

    started, finished, reused = line.events
    assert isinstance(started, StageStarted)
    assert started.log == "/logs/a.log"
    assert isinstance(finished, StageFinished)
    assert (finished.outcome, finished.summary) == ("done", "a is done")
    assert isinstance(reused, StageFinished)
    assert reused.outcome == "reused"


def test_a_log_is_named_where_there_is_one(line: Line, lock: Lock) -> None:
    """A stage that runs no command leaves none."""
    ended = line.build(lock, "ab")

    assert [event.log for event in line.events if isinstance(event, StageStarted)] == ["/logs/a.log", ""]
    assert [item.has_log for item in ended] == [True, False]


def test_an_outcome_carries_the_whole_key(line: Line, lock: Lock) -> None:
    """The key in the report is the one under which the stage is recorded."""
    ended = line.build(lock)

    assert {item.stage: item.key for item in ended} == {
        name: key.digest for name, (key, _) in line.records.done.items()
    }


@pytest.mark.parametrize(
    ("broken", "ran"),
    [("a", ["a", "b", "c", "d"]), ("b", ["b", "d"]), ("c", ["c", "d"]), ("d", ["d"])],
)
def test_what_was_changed_runs_again_and_what_builds_on_it(
    line: Line, lock: Lock, broken: str, ran: list[str]
) -> None:
    """And nothing else: a record made from what is gone is no record."""
    line.build(lock)
    line.records.broken = {broken}

    line.build(lock)

    assert line.ran == ran


def test_a_new_revision_of_a_stage_runs_it_and_what_builds_on_it(line: Line, lock: Lock) -> None:
    """A stage that was corrected does not live on its old results."""
    line.build(lock)
    line.revision["b"] = 2

    line.build(lock)

    assert line.ran == ["b", "d"]


def test_what_builds_on_a_stage_is_undone_before_it_runs(line: Line, lock: Lock) -> None:
    """Killed in between, no later stage counts as done that was made from the earlier result."""
    line.build(lock)
    line.records.written = []
    line.records.broken = {"b"}
    line.raises = {"b": SystemExit()}

    with pytest.raises(SystemExit):
        line.build(lock)

    assert line.records.written == ["-d", "-b"]
    line.raises = {}
    line.build(lock)
    assert line.ran == ["b", "d"]


def test_what_is_gone_elsewhere_comes_back_and_nothing_is_built_again(line: Line, lock: Lock) -> None:
    """A cache that was emptied costs its downloads, and not the hour of a compile."""
    line.build(lock)
    line.gone = {"a"}

    assert outcomes(line.build(lock)) == {"a": "done", "b": "reused", "c": "reused", "d": "reused"}
    assert (line.ran, line.restored) == ([], ["a"])


@pytest.mark.parametrize(("raised", "outcome"), [(OSError(), "failed"), (KeyboardInterrupt(), "stopped")])
def test_what_does_not_come_back_is_an_outcome(
    line: Line, lock: Lock, raised: BaseException, outcome: str
) -> None:
    """The report names the stage whose files are gone; what was built before stays done."""
    line.build(lock)
    line.gone, line.raises = {"a"}, {"a": raised}

    seen, error = walked(line.go(lock))

    assert (outcomes(seen), error) == ({"a": outcome}, raised)
    assert set(line.records.done) == set("abcd")


def test_a_stage_that_lies_elsewhere_looks_each_time(line: Line, lock: Lock) -> None:
    """What was published may have been removed: the workspace cannot know."""
    line.kept["d"] = False
    line.build(lock)

    line.build(lock)

    assert line.ran == ["d"]


def test_a_failure_ends_the_run_and_is_an_outcome(line: Line, lock: Lock) -> None:
    """What came before is kept, and the failed stage is in the report."""
    broke = StageError("x", "it broke", fix="Mend it.")
    line.raises = {"c": broke}

    seen, error = walked(line.go(lock))

    assert error is broke
    assert outcomes(seen) == {"a": "done", "b": "done", "c": "failed"}
    assert line.records.key("c") is None


def test_the_same_command_goes_on_after_a_failure(line: Line, lock: Lock) -> None:
    """Nothing that was done is done again."""
    line.raises = {"c": StageError("x", "it broke", fix="Mend it.")}
    with pytest.raises(StageError):
        line.build(lock)
    line.raises = {}

    line.build(lock)

    assert line.ran == ["c", "d"]


def test_an_interruption_is_no_failure(line: Line, lock: Lock) -> None:
    """The user's wish is told as stopped, and the stage is not done."""
    line.raises = {"b": KeyboardInterrupt()}

    seen, error = walked(line.go(lock))

    assert isinstance(error, KeyboardInterrupt)
    assert outcomes(seen) == {"a": "done", "b": "stopped"}
    assert line.records.key("b") is None


def test_a_stage_that_stops_as_asked_ends_the_run(line: Line, lock: Lock) -> None:
    """It does not count as done, and what follows does not begin."""
    line.stops = {"b"}

    assert outcomes(line.build(lock)) == {"a": "done", "b": "stopped"}
    assert line.records.key("b") is None


def test_a_slice_begins_only_where_all_before_is_done(line: Line, lock: Lock) -> None:
    """With the stage to begin from."""
    line.build(lock, "ab")

    with pytest.raises(UsageError) as caught:
        line.build(lock, "d")

    assert caught.value.reference == "stage-needs-earlier"
    assert caught.value.what == "d needs c, which is not done in this workspace"
    assert "--from c" in caught.value.fix


def test_a_slice_does_not_begin_on_what_was_changed(line: Line, lock: Lock) -> None:
    """A record is not enough: what it made must be there."""
    line.build(lock)
    line.records.broken = {"a"}

    with pytest.raises(UsageError) as caught:
        line.build(lock, "d", forced=True)

    assert caught.value.what == "d needs a, which is not done in this workspace"


def test_from_runs_a_stage_that_is_done(line: Line, lock: Lock) -> None:
    """And with it what builds on it, later, even where the slice ends before."""
    line.build(lock)

    line.build(lock, "b", forced=True)

    assert line.ran == ["b"]
    line.build(lock)
    assert line.ran == ["d"]


def test_where_people_edit_the_source_does_not_carry_on(make_lock: MakeLock) -> None:
    """Another source leaves the keys of what builds on it as they are, and other flags or tools do not."""

    def of(**changed: Any) -> dict[str, str]:
        whole = whole_keys(plan_all(make_lock(**changed)), is_dev=True)
        return {name: key.digest for name, key in whole.items()}

    before = of()
    source = of(epoch=1700000001)
    flags = of(environ={"USE_CUDA": "ON"})
    tools = of(cxx="/usr/bin/clang++")

    def differ(other: dict[str, str]) -> set[str]:
        return {name for name in NAMES if before[name] != other[name]}

    assert "compile" in differ(flags)
    assert {"toolchain", "configure", "compile"} <= differ(tools)
    assert "source" in differ(source)


def test_where_people_edit_each_run_asks_ninja(
    line: Line, lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was edited is known to ninja alone: compile runs each time, and what comes before it does not."""
    line.is_dev = True
    line.build(lock)
    monkeypatch.setattr("torchbuild.stages.compile.NAME", "b")

    line.build(lock)

    assert line.ran == ["b", "d"]


@pytest.mark.parametrize(("reason", "family"), [("interrupt", Interrupted), ("time", OutOfTime)])
def test_whoever_asks_while_a_stage_runs_gets_its_end(
    line: Line, lock: Lock, reason: str, family: type[Interrupted]
) -> None:
    """It is finished and counts; the next one does not begin, and the same command goes on with it."""
    line.asks = {"b": reason}

    with pytest.raises(Interrupted, match="before c") as caught:
        line.build(lock)

    assert type(caught.value) is family
    assert line.ran == ["a", "b"]
    line.asks, line.stopping.reason = {}, ""
    line.build(lock)
    assert line.ran == ["c", "d"]


def test_a_stage_that_ends_because_it_was_asked_did_not_fail(line: Line, lock: Lock) -> None:
    """It is told as stopped, and is not done."""
    line.raises = {"b": stopped("time", "after 3 of 9 edges of b")}
    outcomes = []

    with pytest.raises(OutOfTime):
        outcomes.extend(line.go(lock))

    line.raises = {}
    line.build(lock)
    assert line.ran == ["b", "c", "d"]
    assert [event.outcome for event in line.events if isinstance(event, StageFinished)][:2] == [
        "done",
        "stopped",
    ]
