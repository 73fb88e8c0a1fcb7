"""What is asked of an engine, seen by one that writes it down; real engines are in tests/contract."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchbuild.edges.container import ContainerExecutor
from torchbuild.edges.sandbox_limits import limits_to_ask_for
from torchbuild.errors import HostError
from torchbuild.model.artifact import ImageRef
from torchbuild.model.command import Command

IMAGE = ImageRef(name="localhost/some/image", id="ab" * 32)
PODMAN_LIMITS = """{"host": {"cgroupControllers": ["cpu", "memory"], "cgroupManager": "systemd",
 "security": {"rootless": true}}}"""
PODMAN_LIMITS_NOTHING = PODMAN_LIMITS.replace('["cpu", "memory"]', "[]")
ISOLATED = "printf '    lo: 0 0\\n'"


class Engine:
    """An executor, and a program that takes the engine's place and keeps every argument it was given."""

    def __init__(self, top: Path, name: str) -> None:
        self.top = top
        self.program = top / "bin" / name
        self.program.parent.mkdir()
        self.answers(ISOLATED)

    def answers(self, script: str, *, starts: bool = True) -> None:
        """Make it do so; an engine that starts the command takes the line that says so."""
        mark = 'for w in "$@"; do case $w in /torchbuild/.torchbuild-tmp-*) read -r _ <"$ROOT/${w##*/}" ;; esac; done'
        lines = [
            "#!/bin/sh",
            f"ROOT={self.top}/root",
            f"for w in \"$@\"; do printf '%s\\0' \"$w\"; done >>{self.top}/asked; printf '\\1\\0' >>{self.top}/asked",
            mark if starts else ":",
            script,
        ]
        self.program.write_text("\n".join(lines) + "\n")
        self.program.chmod(0o755)

    def executor(self, **options: object) -> ContainerExecutor:
        """A fresh one, in directories of its own."""
        places = {name: self.top / name for name in ("root", "store", "cache")}
        return ContainerExecutor(engine=str(self.program), image=IMAGE, **places | options)  # type: ignore[arg-type]

    def asked(self) -> list[list[str]]:
        """Every call's arguments."""
        calls = (self.top / "asked").read_text().split("\1\0")[:-1]
        return [call.split("\0")[:-1] for call in calls]


@pytest.fixture
def podman(tmp_path: Path) -> Engine:
    """One that is called podman."""
    return Engine(tmp_path, "podman")


@pytest.fixture
def docker(tmp_path: Path) -> Engine:
    """One that is called docker."""
    return Engine(tmp_path, "docker")


def run(executor: ContainerExecutor, top: Path, **fields: object) -> int:
    """Run a command; its exit code."""
    command = Command.model_validate({"argv": ("/bin/true",), **fields})
    return executor.run(command, log=top / "log").exit_code


def test_container_is_closed(podman: Engine) -> None:
    """A container gets no network, the exact image, nothing pulled, and the three directories."""
    run(podman.executor(), podman.top)
    words = set(podman.asked()[-1])
    assert words >= {
        "run",
        "--rm",
        "--init",
        "--pull=never",
        "--network=none",
        f"--volume={podman.top}/root:/torchbuild:rw",
        f"--volume={podman.top}/store:/torchbuild/store:ro",
        f"--volume={podman.top}/cache:/torchbuild/cache:rw",
        IMAGE.id,
    }


def test_limits_are_asked_for(podman: Engine) -> None:
    """Jobs limit the processors, never above those that there are, and memory is limited with its swap."""
    podman.answers(f"case $2 in info) echo '{PODMAN_LIMITS}' ;; *) {ISOLATED} ;; esac")
    run(podman.executor(jobs=10_000, memory_gib=1.5), podman.top)
    words = set(podman.asked()[-1])
    assert words >= {f"--cpus={os.cpu_count()}", "--memory=1610612736b", "--memory-swap=1610612736b"}


def test_processors_that_the_engine_cannot_limit_are_inherited(podman: Engine) -> None:
    """Where podman has no control group for them, its client may use as many as there are jobs; so may all."""
    podman.answers(
        f"case $2 in info) echo '{PODMAN_LIMITS_NOTHING}' ;; *)"
        f" grep Cpus_allowed_list /proc/self/status >{podman.top}/seen; {ISOLATED} ;; esac"
    )
    run(podman.executor(jobs=1), podman.top)
    (number,) = (podman.top / "seen").read_text().split()[1:]
    assert number.isdecimal()
    assert [word for word in podman.asked()[-1] if word.startswith("--cpus")] == []


@pytest.mark.parametrize("answer", ["exit 125", "echo '{}'"], ids=["no answer", "it limits nothing"])
def test_docker_is_asked_for_processors_whatever_it_says(docker: Engine, answer: str) -> None:
    """Its containers are no children of ours; and without a memory limit nothing is lost by asking."""
    docker.answers(f"case $2 in info) {answer} ;; *) {ISOLATED} ;; esac")
    run(docker.executor(jobs=1), docker.top)
    assert "--cpus=1" in docker.asked()[-1]


def test_memory_is_not_left_to_an_engine_that_does_not_say(docker: Engine) -> None:
    """Where a limit is asked for, a build without one does not begin."""
    docker.answers(f"case $2 in info) exit 125 ;; *) {ISOLATED} ;; esac")
    with pytest.raises(HostError) as caught:
        run(docker.executor(memory_gib=1.5), docker.top)
    assert caught.value.reference == "query-failed"


def test_a_limit_that_the_engine_ignores_is_an_error(podman: Engine) -> None:
    """Podman of an ordinary user takes the option and limits nothing where it has no control group for it."""
    podman.answers(f"case $2 in info) echo '{PODMAN_LIMITS_NOTHING}' ;; *) {ISOLATED} ;; esac")
    with pytest.raises(HostError) as caught:
        run(podman.executor(memory_gib=1.5), podman.top)
    assert (caught.value.reference, [call for call in podman.asked() if "run" in call]) == (
        "memory-not-limitable",
        [],
    )


def test_fixed_limits_are_asked_for(podman: Engine) -> None:
    """Those that every executor gives are the engine's words, whatever its own defaults are."""
    run(podman.executor(), podman.top)
    seen = {word.removeprefix("--ulimit=") for word in podman.asked()[-1] if word.startswith("--ulimit")}
    assert seen == {f"{name}={soft}:{hard}" for name, (soft, hard) in limits_to_ask_for().items()}


def test_no_limits_by_default(podman: Engine) -> None:
    """Without a number the engine is asked for no limit of processors or memory."""
    run(podman.executor(), podman.top)
    assert [word for word in podman.asked()[-1] if word.startswith(("--cpus", "--memory"))] == []


def test_labels_are_on_the_container(podman: Engine) -> None:
    """Each container carries the run's labels, by which a person finds it."""
    run(podman.executor(labels={"torchbuild.run": "r1"}), podman.top)
    assert "--label=torchbuild.run=r1" in podman.asked()[-1]


def test_isolation_is_asked_once(podman: Engine) -> None:
    """The network is looked at from inside before the first command, and not again."""
    executor = podman.executor()
    run(executor, podman.top)
    run(executor, podman.top)
    looked = ["/proc/net/dev" in call for call in podman.asked()]
    assert looked == [True, False, False]


def test_command_does_not_run_where_there_is_a_network(podman: Engine) -> None:
    """Where the look from inside shows a way out, the command is never started."""
    podman.answers("printf '    lo: 0\\n  eth0: 9\\n'")
    with pytest.raises(HostError) as caught:
        run(podman.executor(), podman.top)
    assert (caught.value.reference, len(podman.asked())) == ("network-not-isolated", 1)


def test_engine_that_cannot_start_one_is_the_machines_error(podman: Engine) -> None:
    """An engine that fails is told from a command that fails, with the engine's own words."""
    podman.answers("echo no space for layers >&2; exit 125", starts=False)
    with pytest.raises(HostError) as caught:
        run(podman.executor(), podman.top, network="host")
    assert (caught.value.reference, caught.value.evidence) == ("engine-failed", ("no space for layers",))


def test_image_that_is_gone_is_named(podman: Engine) -> None:
    """A lock's image that the engine no longer has is told as that, with how to make it again."""
    podman.answers("echo Error: image not known >&2; exit 125", starts=False)
    for network in ("none", "host"):
        with pytest.raises(HostError) as caught:
            run(podman.executor(), podman.top, network=network)
        assert (caught.value.reference, IMAGE.id in caught.value.why[1]) == ("image-missing", True)
        assert "torchbuild image RECIPE" in caught.value.fix
        assert caught.value.fix.endswith("podman load.")  # no registry has one of this machine


def test_first_look_that_fails_is_the_machines_error(podman: Engine) -> None:
    """The same before the first command."""
    podman.answers("echo no cgroup >&2; exit 125", starts=False)
    with pytest.raises(HostError) as caught:
        run(podman.executor(), podman.top)
    assert (caught.value.reference, caught.value.evidence) == ("engine-failed", ("no cgroup",))


def test_same_exit_code_of_the_command_is_the_commands(podman: Engine) -> None:
    """A command may end with the code that the engine uses for its own failures."""
    podman.answers("exit 125")
    assert run(podman.executor(), podman.top, network="host") == 125


@pytest.mark.parametrize(
    ("code", "reference"), [(64, "directory-missing"), (65, "program-missing"), (66, "engine-failed")]
)
def test_what_is_missing_inside_is_named(podman: Engine, code: int, reference: str) -> None:
    """A container that starts and finds no directory or no program says which."""
    podman.answers(f"exit {code}", starts=False)
    with pytest.raises(HostError) as caught:
        run(podman.executor(), podman.top, network="host")
    assert caught.value.reference == reference


@pytest.mark.parametrize("name", ["root", "store", "cache"])
def test_path_with_a_colon_is_refused(podman: Engine, name: str) -> None:
    """An engine would take a colon for the end of the path: it is refused before anything is mounted."""
    with pytest.raises(HostError) as caught:
        podman.executor(**{name: podman.top / "a:b"})
    assert (caught.value.reference, (podman.top / "a:b").exists()) == ("path-not-mountable", False)


def test_program_with_an_equals_sign_is_refused(podman: Engine) -> None:
    """Such a program would be taken for a variable and another one would run."""
    with pytest.raises(HostError) as caught:
        run(podman.executor(), podman.top, argv=("/a=b/tool", "x"), network="host")
    assert caught.value.reference == "program-not-runnable"


def test_stale_containers_are_found_by_workspace(podman: Engine) -> None:
    """What a killed run left is found by its workspace, and removed without waiting."""
    podman.answers('test "$2" != ps || echo one two')
    removed = podman.executor().remove_stale()
    ask, _, remove = podman.asked()
    label = next(word for word in ask if word.startswith("--filter=label=torchbuild.root="))
    assert (removed, remove[1:], len(label)) == (
        ("one", "two"),
        ["rm", "--force", "--ignore", "--time=0", "one", "two"],
        len("--filter=label=torchbuild.root=") + 16,
    )


@pytest.mark.parametrize("name", ["podman", "docker"])
@pytest.mark.parametrize("refusals", [1, 3])
def test_a_container_that_ends_meanwhile_is_removed(tmp_path: Path, name: str, refusals: int) -> None:
    """An engine refuses to remove what ends in that moment; it is asked again, and the next build begins."""
    engine = Engine(tmp_path, name)
    engine.answers(
        f"case $2 in ps) test -e {tmp_path}/gone || echo one ;;\n"
        f"rm) echo x >>{tmp_path}/tries; test $(wc -l <{tmp_path}/tries) -gt {refusals} || "
        f'{{ echo "Error: container state improper: stopped" >&2; exit 2; }}; touch {tmp_path}/gone ;; esac'
    )
    removed = engine.executor().remove_stale()
    assert (removed, (tmp_path / "gone").exists()) == (("one",), True)


def test_a_container_that_has_ended_meanwhile_is_no_error(docker: Engine) -> None:
    """Docker refuses to remove what is gone: nothing is left, and that is what was wanted."""
    gone = docker.top / "gone"
    docker.answers(f"case $2 in ps) test -e {gone} || echo one ;; rm) touch {gone}; exit 1 ;; esac")
    assert docker.executor().remove_stale() == ("one",)


def test_a_container_that_stays_is_an_error(podman: Engine) -> None:
    """What cannot be removed at all is said, with the engine's words: two builds in one place would mix."""
    podman.answers('case $2 in ps) echo one ;; rm) echo "device busy" >&2; exit 2 ;; esac')
    with pytest.raises(HostError) as caught:
        podman.executor().remove_stale()
    assert (caught.value.reference, caught.value.evidence) == ("query-failed", ("device busy",))


def test_no_stale_container_is_no_work(podman: Engine) -> None:
    """Where nothing is left, nothing is removed."""
    podman.answers(":")
    assert (podman.executor().remove_stale(), len(podman.asked())) == ((), 1)


def test_docker_needs_no_podman_options(docker: Engine) -> None:
    """Removing uses only what docker knows."""
    docker.answers('test "$2" != ps || echo one')
    docker.executor().remove_stale()
    assert docker.asked()[-1][1:] == ["rm", "--force", "one"]


@pytest.mark.parametrize(
    ("uid", "options", "expected"),
    [
        pytest.param(0, "[]", [], id="root"),
        pytest.param(1000, "[name=seccomp]", ["--user=1000:1000"], id="a user and a daemon that is root"),
        pytest.param(1000, "[name=rootless]", [], id="a user and a daemon of theirs"),
    ],
)
def test_results_of_docker_belong_to_the_caller(
    docker: Engine, uid: int, options: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Docker's daemon is root: it is asked to run as the caller, unless it maps root to them itself."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(os, "getegid", lambda: uid)
    docker.answers(f"test \"$2\" != info || echo '{options}'")
    run(docker.executor(), docker.top, network="host")
    assert [word for word in docker.asked()[-1] if word.startswith("--user")] == expected


def test_rootless_podman_maps_by_itself(podman: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Podman's root is the caller: no other user is asked for."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    run(podman.executor(), podman.top, network="host")
    assert [word for word in podman.asked()[-1] if word.startswith("--user")] == []


def test_interrupt_removes_the_container(podman: Engine) -> None:
    """Where the caller is interrupted, the container is removed by its name: it would outlive its client."""

    def stop(_: str) -> None:
        raise KeyboardInterrupt

    podman.answers('test "$2" != run || { echo line; exec sleep 1000; }')
    command = Command(argv=("/bin/true",), network="host")
    with pytest.raises(KeyboardInterrupt):
        podman.executor().run(command, log=podman.top / "log", on_line=stop)
    started, removed = podman.asked()
    name = next(word for word in started if word.startswith("--name=")).removeprefix("--name=")
    assert (removed[1:], list((podman.top / "root").glob(".*"))) == (
        ["rm", "--force", "--ignore", "--time=0", name],
        [],
    )
