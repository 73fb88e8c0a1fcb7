"""The stage that installs the wheel into nothing and uses it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from torchbuild.errors import VerifyError
from torchbuild.model.lock import Lock, LockedVerify
from torchbuild.report.events import Found
from torchbuild.stages import verify

CONFIG = "torchlet built with:\n  - Build settings: BLAS_INFO=generic, BUILD_TYPE=Release, "
OK = [(0, []), (0, ["Successfully installed torchlet"]), (0, ["No broken requirements found."])]


@pytest.fixture
def make_wheel(make_known_wheel: Callable[..., Any]) -> Callable[..., Any]:
    """A wheel that package has read."""
    maker: Callable[..., Any] = make_known_wheel("package")
    return maker


def finding(reference: str, outcome: str = "passed", **more: str) -> dict[str, str]:
    """A finding as the checks write it."""
    return {"reference": reference, "outcome": outcome, "what": "it", "seen": "", "wanted": ""} | more


def document(*findings: dict[str, str]) -> tuple[int, list[str]]:
    """What the checks print: words on stderr, then one JSON document."""
    whole = {"schema": 1, "findings": list(findings)}
    return 0, ["config: exit 0, 0.1 s {not json}", *json.dumps(whole, indent=1).splitlines(), "bye"]


def shown(config: str = CONFIG) -> tuple[dict[str, str], ...]:
    """What a good wheel shows."""
    return finding("smoke-import-identity"), finding("smoke-config", seen=config)


def test_the_plan_comes_from_the_lock_alone(
    make_lock: Callable[..., Lock], artifact: Callable[..., Any], nothing_moves: Callable[[], Any]
) -> None:
    """Requirements are the locked ones, by hash; nothing can be looked up."""
    lock = make_lock(run_requires=(artifact("filelock-3.0-py3-none-any.whl"),))
    with nothing_moves():
        plan = verify.plan(lock)

    assert plan.requirements.startswith("file:///torchbuild/inputs/run/filelock-3.0-py3-none-any.whl --hash=")
    assert {"--no-index", "--require-hashes"} <= set(plan.commands[1].argv)
    assert {command.network for command in plan.commands} == {"none"}
    assert plan.commands[3].cwd == "{work}/verify"


def test_the_wheel_is_installed_by_the_digest_of_its_bytes(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """What is proven is the very file that compile left."""
    wheel = make_wheel(world.inside("{dist}"))
    world.executor.replies = [*OK, document(*shown())]

    verify.run(verify.plan(lock), world.context)

    lines = world.inside("{work}/verify/requirements.txt").read_text(encoding="utf-8")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert lines == f"file:///torchbuild/dist/{wheel.name} --hash=sha256:{digest}\n"
    assert world.inside("{work}/verify/smoke.pyz").is_file()


def test_what_was_shown_is_kept_and_told(world: Any, lock: Lock, make_wheel: Callable[..., Any]) -> None:
    """Every check and every setting of `config.show()` is a finding of the report."""
    make_wheel(world.inside("{dist}"))
    world.executor.replies = [*OK, document(*shown(), finding("smoke-svd", "not run"))]

    result = verify.run(verify.plan(lock), world.context)

    assert [item.reference for item in result.findings] == [
        "smoke-import-identity",
        "smoke-config",
        "smoke-svd",
        "config-setting",
    ]
    assert result.summary == "3 checks passed, 1 not run"
    kept = json.loads(world.inside("{work}/verify/verify.json").read_text(encoding="utf-8"))
    assert [item["reference"] for item in kept] == [item.reference for item in result.findings]
    assert [event.finding for event in world.events if isinstance(event, Found)] == list(result.findings)


@pytest.mark.parametrize("failing", [0, 1, 2], ids=["venv", "install", "pip-check"])
def test_a_wheel_that_does_not_install_is_refused(
    world: Any, lock: Lock, make_wheel: Callable[..., Any], failing: int
) -> None:
    """A requirement that the lock does not hold shows here, before anything is imported."""
    make_wheel(world.inside("{dist}"))
    world.executor.replies = [*OK[:failing], (1, ["torchlet 1.0.0 requires filelock"])]

    with pytest.raises(VerifyError) as caught:
        verify.run(verify.plan(lock), world.context)

    assert caught.value.reference == "wheel-does-not-install"
    assert caught.value.why == ("torchlet 1.0.0 requires filelock",)
    assert caught.value.exit_code == 9
    assert len(world.executor.commands) == failing + 1


def test_a_failed_check_refuses_the_wheel(world: Any, lock: Lock, make_wheel: Callable[..., Any]) -> None:
    """All failures are told at once, with the values seen and wanted."""
    make_wheel(world.inside("{dist}"))
    bad = finding("smoke-matmul", "failed", what="float32", seen="error 1e-1", wanted="at most 1e-6")
    config = CONFIG.replace("generic", "open")
    world.executor.replies = [*OK, document(*shown(config), bad)]

    with pytest.raises(VerifyError) as caught:
        verify.run(verify.plan(lock), world.context)

    assert caught.value.reference == "wheel-fails-checks"
    assert caught.value.why == (
        "[smoke-matmul] float32: error 1e-1, wanted at most 1e-6",
        "[config-setting] BLAS_INFO: open, wanted generic",
    )
    assert not world.inside("{work}/verify/verify.json").exists()


@pytest.mark.parametrize(
    ("findings", "seen"),
    [(shown(), "no such check"), ((*shown(), finding("smoke-svd", "not run")), "not run")],
    ids=["absent", "not-run"],
)
def test_a_required_check_that_did_not_run_is_a_failure(
    world: Any,
    make_lock: Callable[..., Lock],
    make_wheel: Callable[..., Any],
    findings: tuple[dict[str, str], ...],
    seen: str,
) -> None:
    """`not run` is never `passed`."""
    make_wheel(world.inside("{dist}"))
    lock = make_lock(verify=LockedVerify(level="cpu", require=("svd",), settings={}))
    world.executor.replies = [*OK, document(*findings)]

    with pytest.raises(VerifyError) as caught:
        verify.run(verify.plan(lock), world.context)

    assert caught.value.why == (f"[verify-required] required check svd: {seen}, wanted passed",)


@pytest.mark.parametrize(
    "lines",
    [[], ["Segmentation fault"], ["{"], ["{", "}"], ['{"findings": []}'], ["{", ' "findings": [3]', "}"]],
    ids=["nothing", "crash", "half", "empty", "no-findings", "no-finding"],
)
def test_checks_that_say_nothing_prove_nothing(
    world: Any, lock: Lock, make_wheel: Callable[..., Any], lines: list[str]
) -> None:
    """A crash, or half a report, is a failure with the last words as evidence."""
    make_wheel(world.inside("{dist}"))
    world.executor.replies = [*OK, (139, lines)]

    with pytest.raises(VerifyError) as caught:
        verify.run(verify.plan(lock), world.context)

    assert caught.value.reference == "checks-did-not-report"
    assert caught.value.evidence == tuple(lines)


def test_level_static_runs_nothing_and_says_so(
    world: Any, make_lock: Callable[..., Lock], make_wheel: Callable[..., Any]
) -> None:
    """A check that was not asked for is in the report as not run, and the stage can be remembered."""
    make_wheel(world.inside("{dist}"))
    plan = verify.plan(make_lock(verify=LockedVerify(level="static", require=(), settings={})))

    result = verify.run(plan, world.context)

    assert (plan.makes, plan.commands, world.executor.commands) == ((), (), [])
    assert [item.outcome for item in result.findings] == ["not run"]
    world.context.records.remember("verify", plan.key, plan.makes, result)


@pytest.mark.parametrize("level", ["static", "cpu"])
def test_a_wheel_that_was_changed_after_it_was_inspected_is_refused(
    world: Any, make_lock: Callable[..., Lock], make_wheel: Callable[..., Any], level: str
) -> None:
    """What is installed is what was read to its last byte, at every level; nothing is run of another one."""
    wheel = make_wheel(world.inside("{dist}"))
    with wheel.open("ab") as file:
        file.write(b"more")
    lock = make_lock(verify=LockedVerify(level=level, require=(), settings={}))

    with pytest.raises(VerifyError) as caught:
        verify.run(verify.plan(lock), world.context)

    assert caught.value.reference == "wheel-changed"
    assert world.executor.commands == []


def test_a_wheel_that_package_refused_can_still_be_asked_what_it_does(
    world: Any, make_lock: Callable[..., Lock], make_wheel: Callable[..., Any]
) -> None:
    """Asked alone, verify looks at what is there; that wheel is published by nobody."""
    make_wheel(world.inside("{dist}"))
    world.context.records.forget("package")
    plan = verify.plan(make_lock(verify=LockedVerify(level="static", require=(), settings={})))

    assert dict(verify.run(plan, world.context).evidence)["sha256"]
    assert plan.needs == ("compile",)


def test_what_was_verified_is_evidence(world: Any, lock: Lock, make_wheel: Callable[..., Any]) -> None:
    """Publish compares with it: a check that changes the wheel changes nothing that is laid down."""
    wheel = make_wheel(world.inside("{dist}"))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    _, checks = document(*shown())

    def check(_command: Any, _world: Any) -> tuple[int, list[str]]:
        wheel.write_bytes(b"changed while it was verified")
        return 0, checks

    world.executor.replies = [*OK, check]

    result = verify.run(verify.plan(lock), world.context)

    assert dict(result.evidence) == {"sha256": digest, "wheel": wheel.name}


def test_a_feature_that_was_lost_after_the_gate_is_a_failure(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """The flags that were asked for are held against what the wheel says of itself."""
    make_wheel(world.inside("{dist}"))
    world.executor.replies = [*OK, document(*shown(f"{CONFIG}USE_CUDA=1, "))]

    with pytest.raises(VerifyError) as caught:
        verify.run(verify.plan(lock), world.context)

    assert caught.value.why == ("[config-flag] USE_CUDA: 1, wanted OFF",)


def test_a_feature_that_nobody_asked_for_is_told(
    world: Any, lock: Lock, make_wheel: Callable[..., Any]
) -> None:
    """It is no failure, and it is not passed either."""
    make_wheel(world.inside("{dist}"))
    world.executor.replies = [*OK, document(*shown(f"{CONFIG}USE_CUDA=0, USE_MPI=ON, USE_ITT=OFF, "))]

    result = verify.run(verify.plan(lock), world.context)

    flags = [(item.what, item.outcome) for item in result.findings if item.reference == "config-flag"]
    assert flags == [
        ("USE_CUDA", "passed"),
        ("USE_MPI: the lock expects nothing of it", "warned"),
        ("USE_ITT=OFF: the lock expects nothing of it", "not run"),
    ]
    assert result.summary == "4 checks passed, 1 not run, 1 warned"
