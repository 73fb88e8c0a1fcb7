"""Looking at the builder of a CUDA build at lock time: its toolkit, and which compiler goes with it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from torchbuild.context import Executor
from torchbuild.edges.atomic import write_text
from torchbuild.errors import HostError
from torchbuild.model.command import Command, expand
from torchbuild.model.recipe import Recipe
from torchbuild.model.recipe_toolchain import Cuda
from torchbuild.resolve.environment import BASE
from torchbuild.toolchains import cuda_builder, library_builder, library_look
from torchbuild.toolchains.host_compiler import Chosen, choose, limits_of, named_of
from torchbuild.toolchains.host_compiler_names import allows_unsupported, check_names
from torchbuild.toolchains.host_compiler_seen import builder_of
from torchbuild.toolchains.wished import LIBRARIES, wished_parts

__all__ = ["CompilerSurvey", "ToolkitSeen"]

_SCRATCH = "{work}/scratch"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolkitSeen:
    """What a CUDA build finds in its builder."""

    chosen: Chosen
    """The compilers."""
    toolkit: dict[str, str]
    """What is the builder's own of toolkit and libraries, as their providers read it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompilerSurvey:
    """Guest scripts, run by an interpreter of the builder."""

    executor: Executor
    """Where."""
    root: Path
    """The directory that the build sees at its fixed path."""
    python: str
    """The interpreter, absolute inside the builder."""
    logs: Path
    """A folder."""

    def look(self, recipe: Recipe, cuda: Cuda) -> ToolkitSeen:
        """The toolkit and libraries, where they are the builder's, and the compiler that the toolkit takes.

        Raises:
            HostError: ``compiler-missing``, ``compilers-unreadable``, ``survey-unreadable``.
            ConflictError: ``host-compiler-refused``, ``host-compiler-none``, ``host-compiler-two``.
        """
        toolkit = self._toolkit(recipe) if cuda.source in ("apt", "system") else {}
        named, settings = named_of(recipe.toolchain), recipe.build.env | _texts(recipe)
        asked = {
            "cc": recipe.toolchain.cc,
            "cxx": recipe.toolchain.cxx,
            "cuda": toolkit.get("cuda-prefix", ""),
            "scratch": _SCRATCH,
        }
        builder = builder_of(self._ask("look_compilers", asked))
        limits = limits_of(
            builder,
            cuda=cuda.version,
            torch=recipe.wheel.version,
            machine=recipe.target.machine,
            is_waived=allows_unsupported(settings),
        )
        chosen = choose(builder, limits, named)
        check_names(chosen.cxx, settings)
        return ToolkitSeen(chosen=chosen, toolkit=toolkit | self._libraries(recipe, toolkit, chosen.cxx))

    def _libraries(self, recipe: Recipe, toolkit: dict[str, str], cxx: str) -> dict[str, str]:
        """Libraries of the builder: which file each really is, so that configure is held to that one."""
        found: dict[str, str] = {}
        for part in wished_parts(recipe):
            if part.name in LIBRARIES and part.provider == "system":
                told = library_look.look_request(
                    part,
                    cuda_home=toolkit.get("cuda-prefix") or part.prefix,
                    cxx=cxx,
                    scratch=_SCRATCH,
                    machine=recipe.target.machine,
                )
                found |= library_builder.surveyed(part.name, self._ask("look_library", told))
        return found

    def _toolkit(self, recipe: Recipe) -> dict[str, str]:
        return cuda_builder.surveyed(self._ask("look_cuda", cuda_builder.survey_request(recipe, _SCRATCH)))

    def _ask(self, script: str, told: Mapping[str, Any]) -> dict[str, Any]:
        """What a guest script prints: the last line that is an object."""
        text = files("torchbuild.shim").joinpath(f"{script}.py").read_text(encoding="utf-8")
        write_text(self.root / "shim" / f"{script}.py", text)
        write_text(self.root / "shim" / f"{script}.json", expand(json.dumps(dict(told))))
        argv = (self.python, "-I", f"{{shim}}/{script}.py", f"{{shim}}/{script}.json")
        log = self.logs / f"{script}.log"
        done = self.executor.run(Command(argv=argv, environ=tuple(sorted(BASE.items()))), log=log)
        for line in reversed(log.read_text(encoding="utf-8", errors="replace").splitlines()):
            with contextlib.suppress(ValueError):
                seen = json.loads(line)
                if isinstance(seen, dict):
                    return seen
        raise HostError(
            "survey-unreadable",
            "what looks at the builder printed nothing that can be read",
            why=(f"exit code {done.exit_code} of {script}", *done.tail[-3:]),
            fix="Mend the builder; the lines above are its own.",
        )


def _texts(recipe: Recipe) -> dict[str, str]:
    return {name: str(value) for name, value in recipe.build.cmake.items()}
