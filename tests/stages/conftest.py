"""A world for stages: real directories, store and records; executor, network and git that are scripted."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from torchbuild.context import Completed, Context
from torchbuild.edges.records import StageRecords
from torchbuild.edges.store import DirectoryStore
from torchbuild.edges.trees import StoreTrees
from torchbuild.edges.workspace import DirectoryWorkspace, open_workspace
from torchbuild.model.artifact import Artifact
from torchbuild.model.command import Command
from torchbuild.model.stage import StageResult, stage_key
from torchbuild.report.events import Event

Answer = tuple[int, Sequence[str]]
"""Exit code, and the lines that the command prints."""
Reply = Callable[[Command, "World"], Answer]


@dataclass
class FakeExecutor:
    """Replays one reply a command, in order; keeps the commands. Without a reply a command ends well."""

    replies: list[Reply | Answer] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    world: World | None = None
    name: str = "fake"

    def run(
        self,
        command: Command,
        *,
        log: Path,
        on_line: Callable[[str], None] | None = None,
        append: bool = False,
    ) -> Completed:
        """The next reply."""
        self.commands.append(command)
        reply = self.replies.pop(0) if self.replies else (0, ())
        assert self.world is not None
        code, lines = reply(command, self.world) if callable(reply) else reply
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a" if append else "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        for line in lines if on_line else ():
            on_line(line)
        return Completed(exit_code=code, seconds=1.5, tail=tuple(lines)[-200:], log=log)

    def put(self, source: Path, destination: str) -> None:
        """A stage that comes here has found a way around its commands."""
        raise AssertionError

    def get(self, source: str, destination: Path) -> None:
        """A stage that comes here has found a way around its commands."""
        raise AssertionError

    def environment(self) -> Mapping[str, str]:
        """What an executor of this machine adds."""
        return {"MAX_JOBS": "3"}

    def shell(self, command: Command) -> int:
        """A stage that comes here has found a way around its commands."""
        raise AssertionError


@dataclass
class FakeNetwork:
    """Serves files from memory; keeps what was asked for."""

    store: DirectoryStore
    folder: Path
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[Artifact] = field(default_factory=list)

    def fetch(self, artifacts: Sequence[Artifact], on_progress: Callable[[int, int, str], None]) -> None:
        """Into the store; digests are compared there."""
        for artifact in artifacts:
            self.asked.append(artifact)
            if self.store.get(artifact.sha256) is None:
                here = self.folder / "download"
                here.write_bytes(self.files[artifact.locator])
                self.store.add(here, artifact.sha256)
                on_progress(1, 2, artifact.name)


@dataclass
class FakeGit:
    """Repositories from memory: commit -> files."""

    trees: dict[str, dict[str, str]] = field(default_factory=dict)
    fetched: list[tuple[str, str]] = field(default_factory=list)
    applied: list[tuple[str, bytes]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def fetch_commits(self, wanted: Sequence[tuple[str, str]], on_done: Callable[[int], None]) -> None:
        """Nothing is fetched."""
        for index, item in enumerate(wanted):
            self.fetched.append(item)
            self.gone.discard(item[1])
            on_done(index)

    def cached(self, url: str, commit: str) -> Path | None:
        """There, unless a test says otherwise."""
        return None if commit in self.gone else Path("/nonexistent.git")

    def check_out(self, bare: Path, commit: str, destination: Path, url: str) -> None:
        """Write the files of the commit."""
        for name, text in self.trees[commit].items():
            path = destination / name
            if name.endswith("/"):
                path.mkdir(parents=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("-> "):
                path.symlink_to(text.removeprefix("-> "))
            else:
                path.write_text(text, encoding="utf-8")

    def check_out_all(
        self, wanted: Sequence[tuple[Path, str, Path, str]], on_done: Callable[[int], None]
    ) -> None:
        """One after the other."""
        for index, item in enumerate(wanted):
            self.check_out(*item)
            on_done(index)

    def apply_patch(self, tree: Path, patch: Path) -> None:
        """Keep the patch."""
        self.applied.append((patch.name, patch.read_bytes()))


@dataclass
class World:
    """All that a test of a stage looks at."""

    workspace: DirectoryWorkspace
    executor: FakeExecutor
    network: FakeNetwork
    git: FakeGit
    store: DirectoryStore
    context: Context
    events: list[Event]
    folder: Path

    def inside(self, path: str) -> Path:
        """Where a path of the build lies."""
        return self.workspace.inside(path)

    def write(self, path: str, text: str) -> Path:
        """A file of the build."""
        place = self.inside(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return place

    def stored(self, locator: str, content: bytes) -> Artifact:
        """A file in the store."""
        source = self.folder / "to-store"
        source.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        self.store.add(source, digest)
        return Artifact(locator=locator, sha256=digest, size=len(content))

    def with_target(self, target: str) -> Context:
        """The same world for ``--target``."""
        return _context(self, target)


def _context(world: World, target: str | None = None) -> Context:
    class Reporter:
        def emit(self, event: Event) -> None:
            world.events.append(event)

    return Context(
        workspace=world.workspace,
        executor=world.executor,
        store=world.store,
        network=world.network,
        git=world.git,
        trees=StoreTrees(DirectoryStore(world.store.root())),  # another run remembers nothing
        records=StageRecords(world.workspace),
        reporter=Reporter(),
        recipe_dir=world.folder / "recipe",
        publish_dir=world.folder / "dist",
        target=target,
    )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A fresh one."""
    store = DirectoryStore(tmp_path / "store")
    (tmp_path / "recipe").mkdir()
    with open_workspace(
        tmp_path / "builds", "run-1", store=tmp_path / "store", cache=tmp_path / "cache"
    ) as workspace:
        made = World(
            workspace=workspace,
            executor=FakeExecutor(),
            network=FakeNetwork(store, tmp_path),
            git=FakeGit(),
            store=store,
            context=None,  # type: ignore[arg-type]  # the two know each other
            events=[],
            folder=tmp_path,
        )
        made.executor.world = made
        made.context = _context(made)
        yield made


@pytest.fixture
def make_wheel() -> Callable[..., Path]:
    """Write a wheel without libraries, right in name, metadata and RECORD."""
    return _wheel


@pytest.fixture
def make_known_wheel(world: World) -> Callable[[str], Callable[..., Path]]:
    """Write such wheels, the digest of each on record as what a stage, which is named, has seen."""

    def of(stage: str) -> Callable[..., Path]:
        def build(folder: Path) -> Path:
            wheel = _wheel(folder)
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            result = StageResult(summary="", evidence=(("sha256", digest),))
            world.context.records.remember(stage, stage_key(stage, 1, None), (), result)
            return wheel

        return build

    return of


def _wheel(folder: Path, *, version: str = "1.0.0+demo", requires: Sequence[str] = ()) -> Path:
    tag = "cp313-cp313-linux_x86_64"
    info = f"torchlet-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", "Name: torchlet", f"Version: {version}"]
    metadata += [f"Requires-Dist: {line}" for line in requires]
    members = {
        "torchlet/__init__.py": b"",
        f"{info}/METADATA": "\n".join([*metadata, ""]).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    }
    record = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in members.items()]
    members[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"torchlet-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
