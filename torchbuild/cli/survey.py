"""Looking at the builder at lock time: which interpreter, C library and compilers it has."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

from torchbuild.cli.compiler_survey import CompilerSurvey
from torchbuild.cli.managed_python import Managed
from torchbuild.cli.places import Places
from torchbuild.context import Executor
from torchbuild.edges.archive import unpack
from torchbuild.edges.atomic import workroom, write_text
from torchbuild.edges.process import capture
from torchbuild.errors import ConflictError, HostError, TorchbuildError
from torchbuild.model.artifact import ImageRef
from torchbuild.model.command import BUILD_ROOT, Command
from torchbuild.model.lock import LockedPython
from torchbuild.model.recipe import Machine, Recipe
from torchbuild.model.recipe_toolchain import Toolchain
from torchbuild.resolve.assemble import Survey
from torchbuild.resolve.environment import BASE
from torchbuild.toolchains.python_part import is_version

__all__ = [
    "UNPACKING",
    "check_builder",
    "executor_alone",
    "executor_for",
    "find_image",
    "settled",
    "survey_builder",
]


UNPACKING = ("rootfs", "apptainer")
"""Engines that are none: they use unpacked images."""


def executor_for(machine: Machine, image: ImageRef | None, here: Places, root: Path, run: str) -> Executor:
    """The executor that the recipe and this machine ask for.

    Raises:
        ConflictError: ``executor-contradicts-image``.
        HostError: ``no-container-engine``, ``not-writable``, ``disk-full``, ``path-not-mountable``; for a
            root ``image-missing``, ``image-archive-damaged``.
    """
    wanted = "local" if image is None else "container"
    if machine.executor not in ("auto", wanted):
        raise ConflictError(
            "executor-contradicts-image",
            f"machine.executor is {machine.executor}, and the build is one for {wanted}",
            why="the table [image] decides that: [machine] decides nothing of the wheel",
            fix="Leave machine.executor out; name an image, or none, in the table [image].",
        )
    jobs = settled(machine).jobs
    dirs = {"root": root, "store": here.store, "cache": here.compiler_cache}
    if image is None:
        from torchbuild.edges.local import LocalExecutor  # noqa: PLC0415  only one of them is used

        return LocalExecutor(**dirs, jobs=jobs, memory_gib=machine.memory_gib)
    if machine.engine in UNPACKING:
        from torchbuild.edges.roots import rootfs_for  # noqa: PLC0415

        place = rootfs_for(here.roots, image)
        if machine.engine == "apptainer":
            from torchbuild.edges.apptainer import ApptainerExecutor, find_apptainer  # noqa: PLC0415

            program, limit = find_apptainer(), machine.memory_gib
            return ApptainerExecutor(
                program=program, image=image, directory=place, **dirs, jobs=jobs, memory_gib=limit
            )
        from torchbuild.edges.rootfs import RootfsExecutor  # noqa: PLC0415

        return RootfsExecutor(image=place, **dirs, jobs=jobs, memory_gib=machine.memory_gib)
    from torchbuild.edges.container import ContainerExecutor  # noqa: PLC0415
    from torchbuild.edges.engine import find_engine  # noqa: PLC0415

    return ContainerExecutor(
        engine=find_engine(machine.engine),
        image=image,
        **dirs,
        jobs=jobs,
        memory_gib=machine.memory_gib,
        labels={"torchbuild.run": run},
    )


def executor_alone(machine: Machine, image: ImageRef | None, here: Places, root: Path, run: str) -> Executor:
    """The same for a workspace that the caller holds: what a killed run left in an engine is removed first.

    Raises:
        ConflictError: ``executor-contradicts-image``.
        HostError: as `executor_for`; ``query-failed``.
    """
    executor = executor_for(machine, image, here, root, run)
    remove_stale = getattr(executor, "remove_stale", None)
    if remove_stale is not None:
        remove_stale()
    return executor


def settled(machine: Machine) -> Machine:
    """With the number of jobs that the build will use: by default, the cores that this process may use.

    A control group's share of them counts: one more compiler than cores takes memory and saves no time.
    """
    return machine.model_copy(update={"jobs": machine.jobs or _cores()})


def _cores() -> int:
    from torchbuild.edges.host_files import HostFiles  # noqa: PLC0415  only where the recipe names no number
    from torchbuild.edges.host_limits import cores_of  # noqa: PLC0415

    try:
        return cores_of(HostFiles())
    except OSError:  # a /proc that is hidden from us
        return len(os.sched_getaffinity(0))


def find_image(recipe: Recipe, here: Places) -> ImageRef | None:
    """The builder image as the engine has it, the recipe's id asserted; None for builds on this machine.

    Raises:
        HostError: ``image-missing``, ``image-other-id``, ``no-container-engine``.
    """
    if recipe.image is None:
        return None
    found = _image_called(recipe.image.name, recipe.machine.engine, here)
    if recipe.image.id is not None and found.id != recipe.image.id:
        raise HostError(
            "image-other-id",
            f"the engine's {recipe.image.name} is not the image that the recipe names",
            why=(f"seen {found.id}", f"wanted {recipe.image.id}"),
            fix="Make or load the image with that id, or change image.id of the recipe.",
        )
    return found


def _image_called(name: str, engine: str, here: Places) -> ImageRef:
    if engine in UNPACKING:
        from torchbuild.edges.roots import find_root  # noqa: PLC0415  only one of the two is used

        return find_root(here.roots, name)
    from torchbuild.edges.engine import find_engine  # noqa: PLC0415
    from torchbuild.edges.image import inspect_image  # noqa: PLC0415

    return inspect_image(find_engine(engine), name)


def survey_builder(
    recipe: Recipe, image: ImageRef | None, here: Places, managed: Managed | None = None
) -> Survey:
    """What the builder has; HostError for what a build needs and it lacks.

    A managed interpreter does the asking itself, at the place where it will be: the builder may have none.
    """
    with workroom(here.cache, "survey") as folder:
        root = folder / "root"
        if managed is not None:
            place = root / PurePosixPath(managed.part.prefix).relative_to(BUILD_ROOT)
            unpack(managed.archive, place, strip=managed.part.pieces[0].strip)
        script = files("torchbuild.shim").joinpath("survey.py").read_text(encoding="utf-8")
        write_text(root / "shim" / "survey.py", script)
        executor = executor_for(recipe.machine, image, here, root, f"{recipe.name}-survey")
        ours = [managed.python.executable] if managed else None
        programs = ours or _candidates(recipe, local=image is None)
        seen = _ask(recipe, executor, folder / "survey.log", programs)
        check_builder(recipe, seen)
        look = CompilerSurvey(executor=executor, root=root, python=seen["executable"], logs=folder)
        found = look.look(recipe, recipe.cuda) if recipe.cuda is not None else None
    python = managed.python if managed else None
    python = python or LockedPython(
        executable=seen["executable"],
        version=seen["version"],
        soabi=seen["soabi"],
        tag=seen["tag"],
        include=seen["include"],
    )
    chosen = found.chosen if found is not None else None
    return Survey(
        python=python,
        glibc=seen["glibc"],
        cc=chosen.cc if chosen else seen["cc"],
        cxx=chosen.cxx if chosen else seen["cxx"],
        compiler=chosen.compiler if chosen else seen["compiler"],
        compiler_c=chosen.compiler_c if chosen else seen["compiler_c"],
        launcher=seen["launcher"],
        launcher_version=seen.get("launcher_version", ""),
        toolkit=found.toolkit if found else {},
        notes=(f"host compiler {chosen.cxx}: {chosen.why}", *chosen.warnings) if chosen else (),
    )


def _candidates(recipe: Recipe, *, local: bool) -> Iterator[str]:
    python = recipe.python
    if python.source == "path":
        yield from _behind(python.path or "", local=local)
        yield python.path or ""
        return
    if python.version is None:
        # of a virtual environment that was made with copies, the interpreter behind it
        yield os.path.realpath(getattr(sys, "_base_executable", sys.executable))
        return
    free = "t" if python.version.endswith("t") else ""
    name = "python" + ".".join(python.version.removesuffix("t").split(".")[:2]) + free
    yield from _behind(shutil.which(name) or "", local=local)
    yield from (f"/usr/local/bin/{name}", f"/usr/bin/{name}")


def _behind(program: str, *, local: bool) -> Iterator[str]:
    """What a version manager's shim starts: only the shim needs the caller's environment."""
    if local and program:
        with contextlib.suppress(HostError):
            yield capture([program, "-c", "import sys; print(sys.executable)"]).strip()


def _ask(recipe: Recipe, executor: Executor, log: Path, programs: Iterable[str]) -> Mapping[str, Any]:
    toolchain = recipe.toolchain
    asked = [toolchain.cc, toolchain.cxx, toolchain.compiler_cache]
    tried: list[str] = []
    for program in programs:
        argv = (program, "-I", "{shim}/survey.py", *asked)
        command = Command(argv=argv, environ=tuple(sorted(BASE.items())))
        try:
            done = executor.run(command, log=log)
        except TorchbuildError as error:
            if error.reference != "program-missing":
                raise
            tried.append(f"{program}: not there")
            continue
        seen = _answer(log.read_text(encoding="utf-8", errors="replace"))
        if seen is not None:
            return seen
        tried.append(f"{program}: exit code {done.exit_code}, {' '.join(done.tail[-1:])}")
    raise HostError(
        "interpreter-missing",
        f"the builder has no Python {recipe.python.version or recipe.python.path}",
        why=tuple(tried) or "nothing by that name on PATH",
        fix="Install it in the builder, or set python.version to one that is there.",
    )


_TOLD = {"executable", "version", "soabi", "machine", "headers", "cc", "cxx", "launcher"}


def _answer(log: str) -> Mapping[str, Any] | None:
    """The one line that is the answer; an engine may have words of its own beside it, in JSON too."""
    for line in reversed(log.splitlines()):
        with contextlib.suppress(ValueError):
            seen = json.loads(line)
            if isinstance(seen, dict) and seen.keys() >= _TOLD:
                return seen
    return None


def check_builder(recipe: Recipe, seen: Mapping[str, Any]) -> None:
    """Refuse what was seen of a builder where a build of the recipe needs more.

    Raises:
        HostError: ``interpreter-other-version``, ``python-headers-missing``, ``python-venv-missing``,
            ``compiler-missing``, ``libc-unknown``, ``compiler-cache-missing``, ``machine-other``.
    """
    wanted = recipe.python.version
    if wanted is not None and not is_version(wanted, seen["version"], seen["soabi"]):
        raise HostError(
            "interpreter-other-version",
            f"the builder's interpreter is {seen['version']}",
            why=(f"seen {seen['executable']}, ABI {seen['soabi']}", f"wanted Python {wanted}"),
            fix="Install that version in the builder, or change python.version.",
        )
    _require_parts(recipe.toolchain, seen)
    asked = recipe.toolchain.compiler_cache
    if asked not in ("none", "auto") and not seen["launcher"]:
        raise _missing("compiler-cache-missing", asked, f"Install {asked} in the builder.")
    if seen["machine"] != recipe.target.machine:
        raise HostError(
            "machine-other",
            f"the builder is {seen['machine']}",
            why=(f"seen {seen['machine']}", f"wanted {recipe.target.machine}"),
            fix="Set target.machine, or build on such a machine.",
        )


def _require_parts(toolchain: Toolchain, seen: Mapping[str, Any]) -> None:
    """What every build needs."""
    cc, cxx = toolchain.cc, toolchain.cxx
    headers_fix = "Install python3-dev (Debian) or python3-devel (Fedora)."
    cc_fix = f"Install {cc} in the builder, or correct toolchain.cc."
    cxx_fix = f"Install {cxx} there, or correct toolchain.cxx."
    needs = (
        ("headers", "python-headers-missing", "Python.h", headers_fix),
        ("venv", "python-venv-missing", "the venv module", "Install python3-venv."),
        ("cc", "compiler-missing", f"the C compiler {cc}", cc_fix),
        ("cxx", "compiler-missing", f"the C++ compiler {cxx}", cxx_fix),
        ("glibc", "libc-unknown", "the C library's version", "Use a builder with glibc."),
    )
    for key, reference, what, fix in needs:
        if not seen[key]:
            raise _missing(reference, what, fix)


def _missing(reference: str, what: str, fix: str) -> HostError:
    message = f"the builder lacks {what}"
    why = "looked in /usr/local/bin, /usr/bin and /bin, at absolute paths, and asked the interpreter"
    return HostError(reference, message, why=why, fix=fix)
