"""Container engines: which answer, and whether they can hand GPUs on; and namespaces without an engine."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from torchbuild.edges.engine import engine_argv
from torchbuild.edges.host_programs import Answer, ask
from torchbuild.edges.sandbox import launcher
from torchbuild.model.host import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchbuild.edges.host_files import HostFiles
    from torchbuild.edges.host_glances import Glances
    from torchbuild.edges.host_programs import Programs

__all__ = [
    "ENGINES",
    "apptainer_told",
    "docker_told",
    "engine_blank",
    "has_device_specs",
    "look_at_engine",
    "look_at_namespaces",
    "podman_told",
]

ENGINES = ("podman", "docker", "apptainer")
_RUNTIME = "nvidia-container-runtime"
_SPECS = ("/etc/cdi", "/var/run/cdi")
_HOOKS = ("/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d")
_OWN = ("APPTAINER", "SINGULARITY")
_SETTINGS = ("/usr/share/containers/containers.conf", "/etc/containers/containers.conf")
_RUNTIME_SET = r'^\s*runtime\s*=\s*"[^"\n]*nvidia'
_TRUE = "/bin/true"


def engine_blank(name: str, why: str = "no answer") -> Engine:
    """One that does not work."""
    return Engine(name=name, version="", works=False, why=why, gpu_runtime="")


def has_device_specs(files: HostFiles) -> bool:
    """Whether descriptions of NVIDIA devices lie where engines read them."""
    for folder in _SPECS:
        for name in files.names(folder):
            if name.endswith((".json", ".yaml", ".yml")) and "nvidia.com/" in files.text(f"{folder}/{name}"):
                return True
    return False


def look_at_engine(
    name: str, programs: Programs, files: HostFiles, environ: Mapping[str, str], glances: Glances
) -> Engine:
    """Ask one of `ENGINES`, as builds ask it: one that is merely installed does not work."""
    path = programs.first(name) or (programs.first("singularity") if name == "apptainer" else "")
    if not path:
        return engine_blank(name, "no such program in PATH")
    if name == "apptainer":
        own = {key: value for key, value in environ.items() if not key.startswith(_OWN)}
        return apptainer_told(ask([path, "--version"], own, glances))
    specs = has_device_specs(files)
    if name == "docker":
        information = ask(engine_argv(path, "info", "--format", "{{json .}}"), environ, glances)
        return docker_told(information, has_specs=specs)
    # its `info` asks the packages of the machine as well, which takes ten times as long
    containers = ask(engine_argv(path, "ps", "--quiet", "--last=1"), environ, glances)
    version = ask([path, "--version"], environ, glances)
    return podman_told(containers, version, gpu_runtime=_podmans_runtime(files, has_specs=specs))


def _podmans_runtime(files: HostFiles, *, has_specs: bool) -> str:
    """Descriptions of devices; older ones have a hook, or the runtime itself in their configuration."""
    if has_specs:
        return "cdi"
    has_hook = any("nvidia" in name for folder in _HOOKS for name in files.names(folder))
    is_set = any(re.search(_RUNTIME_SET, files.text(name), re.MULTILINE) for name in _SETTINGS)
    return _RUNTIME if has_hook or is_set else ""


def apptainer_told(answer: Answer) -> Engine:
    """What stands in ``apptainer version 1.3.4``. It hands GPUs on by itself."""
    match = re.search(r"\b([0-9]+\.[0-9][\w.+-]*)", answer.text)
    why = answer.why or ("" if match else f"no version in {answer.text.strip()[:200]!r}")
    return Engine(
        name="apptainer", version=match[1] if match else "", works=not why, why=why, gpu_runtime=""
    )  # fmt: skip


def podman_told(containers: Answer, version: Answer, *, gpu_runtime: str) -> Engine:
    """Podman works where it can list containers: for that it needs its storage and its runtime."""
    why = containers.why or version.why
    if why:
        return engine_blank("podman", why)
    match = re.search(r"\bversion ([0-9][\w.+-]*)", version.text)
    return Engine(
        name="podman",
        version=match[1] if match else "",
        works=True,
        why="",
        gpu_runtime=gpu_runtime,
        is_rootless=os.geteuid() != 0,
    )


def docker_told(answer: Answer, *, has_specs: bool) -> Engine:
    """What stands in docker's ``info``; podman can stand behind that name."""
    if answer.why:
        return engine_blank("docker", answer.why)
    told = _table(answer.text)
    host = _inner(told, "host")
    if host:
        return Engine(
            name="docker",
            version=str(_inner(told, "version").get("Version", "")),
            works=True,
            why="",
            gpu_runtime="cdi" if has_specs else "",
            is_rootless=_inner(host, "security").get("rootless") is True,
        )
    errors = told.get("ServerErrors") or ()
    if errors or not told.get("ServerVersion"):
        return engine_blank("docker", str(next(iter(errors), "its daemon tells no version"))[:300])
    runtimes = _inner(told, "Runtimes")
    knows_specs = has_specs and bool(told.get("CDISpecDirs"))
    return Engine(
        name="docker",
        version=str(told["ServerVersion"]),
        works=True,
        why="",
        gpu_runtime=_RUNTIME if "nvidia" in runtimes else "cdi" if knows_specs else "",
        is_rootless=any("rootless" in str(option) for option in told.get("SecurityOptions") or ()),
    )


def _table(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _inner(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    inner = table.get(name)
    return inner if isinstance(inner, dict) else {}


def look_at_namespaces(environ: Mapping[str, str], glances: Glances) -> Engine:
    """Start a program in namespaces as a build without an engine does: all of them, or it does not work."""
    own = {name: value for name, value in environ.items() if name == "LD_LIBRARY_PATH"}  # our interpreter's
    answer = ask([*launcher(), "--no-network", "--", _TRUE], {**own, "LC_ALL": "C.UTF-8"}, glances)
    why = str(_table(answer.why).get("text") or answer.why)
    return Engine(name="rootfs", version="", works=not why, why=why, gpu_runtime="")
