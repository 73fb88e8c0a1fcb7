"""The executor that runs each command in a container of its own, from a builder image."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Unpack

from torchbuild.edges.engine import can_limit, engine_argv, find_engine, is_rootless
from torchbuild.edges.image import has_image, image_missing
from torchbuild.edges.lifeline import ENTRY, NO_DIRECTORY, NO_PROGRAM, Lifeline, lifeline
from torchbuild.edges.mounted import MountedExecutor, Room
from torchbuild.edges.process import attach, capture, run_process
from torchbuild.edges.sandbox import CAPABILITIES
from torchbuild.edges.sandbox_limits import limited, limits_to_ask_for
from torchbuild.errors import HostError
from torchbuild.model.command import BUILD_ROOT, Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torchbuild.context import Completed
    from torchbuild.model.artifact import ImageRef

__all__ = ["ContainerExecutor", "find_engine"]

_ROOT_LABEL = "torchbuild.root"
_REMOVALS = 5
"""Tries to remove what is left: the last one is 1.5 s after the first."""
_FIRST_PAUSE_S = 0.1


class ContainerExecutor(MountedExecutor):
    """Runs commands in an engine's containers; see `torchbuild.context.Executor`.

    A container lives as long as one command, and ends within a moment of us, however we end. What an engine
    then keeps of it, `remove_stale` removes: call that before a build goes on.
    """

    def __init__(
        self,
        *,
        engine: str,
        image: ImageRef,
        labels: Mapping[str, str] | None = None,
        **room: Unpack[Room],
    ) -> None:
        """Make the directories where they are missing; no engine is asked yet.

        Args:
            engine: ``podman`` or ``docker``, or the path of one.
            image: the builder, used by its id.
            labels: put on every container, such as ``torchbuild.run``.
            **room: the build's place on this machine.

        Raises:
            HostError: ``path-not-mountable``, ``not-writable``, ``disk-full``, ``file-operation-failed``.
        """
        self._binds = _binds(room)
        super().__init__(**room)
        self._engine = engine
        self._image = image
        self._limitable: frozenset[str] | None = None
        self._labels = dict(labels or {}) | {_ROOT_LABEL: _root_mark(self._mounts.root)}

    @property
    def name(self) -> str:
        """``podman`` or ``docker``."""
        return PurePath(self._engine).name

    def run(
        self,
        command: Command,
        *,
        log: Path,
        on_line: Callable[[str], None] | None = None,
        append: bool = False,
    ) -> Completed:
        """Run to the end, whatever the exit code.

        Raises:
            HostError: ``image-missing``, ``engine-failed``, ``network-not-isolated``, ``program-missing``,
                ``program-not-runnable``, ``directory-missing``; where a memory limit is asked for,
                ``memory-not-limitable``, ``query-failed``, ``engine-answer-unreadable``; for the log and the
                workspace ``disk-full``, ``not-writable``.
        """
        self._assert_limits()
        self._assert_isolation(command)
        exact = command.expanded()
        with self._container() as (container, line), self._watched(container):
            completed = run_process(
                self._argv(exact, container, line),
                cwd=self._mounts.root.parent,  # the engine's monitor leaves a file where it stands
                environ=self._environ(),
                log=log,
                on_line=on_line,
                append=append,
            )
            self._require_started(line, exact, completed.exit_code, completed.tail)
        return completed

    def _watched(self, container: str) -> contextlib.AbstractContextManager[None]:
        if self.watch is None:
            return contextlib.nullcontext()
        return self.watch.over_container(self._engine, container)

    def shell(self, command: Command) -> int:
        """Hand the terminal to the command; its exit code.

        Raises:
            HostError: as `run`.
        """
        self._assert_limits()
        self._assert_isolation(command)
        exact = command.expanded()
        terminal = ["--interactive", *(["--tty"] if sys.stdin.isatty() else [])]
        with self._container() as (container, line):
            code = attach(self._argv(exact, container, line, *terminal), environ=self._environ())
            self._require_started(line, exact, code, ())
        return code

    def remove_stale(self) -> tuple[str, ...]:
        """Remove what a killed run of this workspace left in the engine: containers, still running or not.

        Returns:
            Their ids.

        Raises:
            HostError: ``query-failed``.
        """
        import tenacity  # noqa: PLC0415  only where something is removed

        stale = self._left()
        if stale:
            # An engine refuses a container that ends by itself in that moment, and Docker one that has ended.
            tenacity.Retrying(
                stop=tenacity.stop_after_attempt(_REMOVALS),
                wait=tenacity.wait_exponential(multiplier=_FIRST_PAUSE_S),
                retry=tenacity.retry_if_exception_type(HostError),
                reraise=True,
            )(lambda: self._remove(self._left()))
        return stale

    def _left(self) -> tuple[str, ...]:
        label = f"--filter=label={_ROOT_LABEL}={self._labels[_ROOT_LABEL]}"
        query = engine_argv(self._engine, "ps", "--all", "--quiet", "--no-trunc", label)
        return tuple(capture(query).split())

    def _remove(self, containers: Sequence[str]) -> None:
        """Kill and remove; one that is gone already is no error to podman."""
        if not containers:
            return
        at_once = ["--ignore", "--time=0"] if self.name == "podman" else []
        capture(engine_argv(self._engine, "rm", "--force", *at_once, *containers))

    @contextlib.contextmanager
    def _container(self) -> Iterator[tuple[str, Lifeline]]:
        """A free name for a container, and what it lives by; where the body raises, it is removed."""
        name = f"torchbuild-{secrets.token_hex(8)}"
        with lifeline(self._mounts.root) as line:
            try:
                yield name, line
            except BaseException:
                # The client is gone by now, while its container goes on under the engine's monitor.
                with contextlib.suppress(HostError):
                    self._remove([name])
                raise

    def _devices(self, query: Command) -> str:
        with self._container() as (container, line):
            try:
                return capture(self._argv(query, container, line), environ=self._environ())
            except HostError as error:
                raise self._not_started(error.evidence) from error

    def _argv(self, exact: Command, container: str, line: Lifeline, *options: str) -> list[str]:
        _require_runnable(exact)
        pipe = f"{BUILD_ROOT}/{line.path.name}"
        # `env -i` and not the engine's options: neither the image's variables nor the engine's own get in.
        environ = ["/usr/bin/env", "-i", "--", *(f"{name}={value}" for name, value in exact.environ)]
        entry = ["-c", ENTRY, "sh", exact.cwd, exact.argv[0], pipe, *environ, *exact.argv]
        words = [*self._shell_inside(exact.network, container, options), *entry]
        return limited(words, self._jobs) if self._inherits_processors() else words

    def _environ(self) -> dict[str, str]:
        """What the engine's own client needs to find its configuration; nothing of it gets inside."""
        return dict(os.environ)

    def _shell_inside(self, network: str, container: str, options: Sequence[str]) -> list[str]:
        """The engine's words up to the shell, whose arguments follow."""
        # A build that writes the machine's name into a file is the same everywhere, and this one resolves.
        hostname = ["--hostname=localhost"] if network == "none" else []
        return engine_argv(
            self._engine,
            *("run", "--rm", "--init", "--pull=never", f"--name={container}", f"--network={network}"),
            *("--log-driver=none", "--security-opt=label=disable", "--entrypoint=/bin/sh", "--cap-drop=ALL"),
            *(f"--cap-add={name}" for name in CAPABILITIES),
            *(f"--ulimit={name}={soft}:{hard}" for name, (soft, hard) in limits_to_ask_for().items()),
            *(f"--label={name}={value}" for name, value in self._labels.items()),
            *(*hostname, *self._limits(), *self._user()),
            *(f"--volume={bind}" for bind in self._binds),
            *options,
            self._image.id,
        )

    def _limits(self) -> list[str]:
        limits = []
        if self._jobs is not None and not self._inherits_processors():
            limits.append(f"--cpus={min(self._jobs, os.cpu_count() or self._jobs)}")
        if self._memory_gib is not None:
            size = int(self._memory_gib * (1 << 30))
            limits += [f"--memory={size}b", f"--memory-swap={size}b"]
        return limits

    def _assert_limits(self) -> None:
        """Ask once what the engine can limit: one that cannot takes the options and says nothing."""
        if self._limitable is not None or (self._jobs is None and self._memory_gib is None):
            return
        limitable = self._can_limit()
        if self._memory_gib is not None and "memory" not in limitable:
            raise HostError(
                "memory-not-limitable",
                f"a limit of {self._memory_gib:g} GiB cannot be set with {self.name} on this machine",
                why=(
                    f"seen: {self.name} info tells of no control group for memory",
                    "wanted: one, as cgroup v2 gives it to users whose session it is delegated to",
                ),
                fix="Leave machine.memory_gib out and set machine.jobs, or let the scheduler limit the job.",
            )
        self._limitable = limitable

    def _can_limit(self) -> frozenset[str]:
        """As `can_limit`; an engine that gives no answer is asked for processors all the same."""
        try:
            return can_limit(self._engine)
        except HostError:
            if self._memory_gib is not None:
                raise
            return frozenset({"cpu"})

    def _inherits_processors(self) -> bool:
        """Whether a container runs on the processors that its client may use: podman limits none itself.

        Containers of docker are its daemon's children, not the client's.
        """
        can = self._limitable
        return self.name == "podman" and self._jobs is not None and can is not None and "cpu" not in can

    def _user(self) -> list[str]:
        """Results belong to the caller: a rootless engine maps its root to them, docker's daemon is root."""
        uid = os.geteuid()
        if uid == 0 or self.name != "docker" or is_rootless(self._engine):
            return []
        return [f"--user={uid}:{os.getegid()}"]

    def _require_started(self, line: Lifeline, exact: Command, code: int, tail: tuple[str, ...]) -> None:
        """Tell an engine that failed from a command that did."""
        if line.was_taken():
            return
        if code == NO_DIRECTORY:
            raise HostError(
                "directory-missing",
                f"{exact.cwd}: a command cannot start there",
                why=(f"seen: no such directory in {self._image.name}", "wanted: a directory of the build"),
                fix="Run the stage again that makes the directory.",
            )
        if code == NO_PROGRAM:
            raise HostError(
                "program-missing",
                f"{exact.argv[0]}: no such program in the builder image",
                why=(f"seen: nothing executable there in {self._image.name}", "wanted: a program to start"),
                fix="Add the package that holds it to the image's package list and make the image again.",
            )
        raise self._not_started(tail)

    def _not_started(self, evidence: tuple[str, ...]) -> HostError:
        """Why no container began: the image is not there any more, or the engine's own words."""
        if not has_image(self._engine, self._image.id):
            return image_missing(self.name, self._image.name, f"wanted: {self._image.id}", evidence)
        return _engine_failed(self.name, self._image, evidence)


def _root_mark(root: Path) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def _binds(room: Room) -> tuple[str, ...]:
    """``PATH:PLACE:MODE`` of each directory that the build sees."""
    places = ((room["root"], "", "rw"), (room["store"], "/store", "ro"), (room["cache"], "/cache", "rw"))
    for path, _, _ in places:
        if ":" in str(path.absolute()):
            raise HostError(
                "path-not-mountable",
                f"{path}: an engine cannot mount a path with a colon",
                why=(
                    "seen: a colon, which ends the path in an engine's option",
                    "wanted: a path without one",
                ),
                fix="Name another directory for the workspace, the store or the cache.",
            )
    return tuple(f"{path.absolute()}:{BUILD_ROOT}{below}:{mode}" for path, below, mode in places)


def _require_runnable(exact: Command) -> None:
    """``env`` takes a leading word with an equals sign for a variable."""
    if "=" in exact.argv[0]:
        raise HostError(
            "program-not-runnable",
            f"{exact.argv[0]}: a program with an equals sign in its path cannot run in a container",
            why=("seen: =", "wanted: a path without one"),
            fix="Rename the program.",
        )


def _engine_failed(engine: str, image: ImageRef, evidence: tuple[str, ...]) -> HostError:
    return HostError(
        "engine-failed",
        f"{engine}: it could not start a container of {image.name}",
        why=(f"seen: {evidence[-1] if evidence else 'no message'}", "wanted: a container that starts"),
        fix=f"Run `{engine} run --rm --network=none {image.id} true` by hand and mend what it reports.",
        evidence=evidence,
    )
