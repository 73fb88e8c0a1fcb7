"""The recipe: what a person asks for. Attribute docstrings are the reference page and the schema.

Every table of the design is accepted; those that nothing acts on are refused by `torchbuild.resolve.support`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from torchbuild.model.artifact import Sha256
from torchbuild.model.byte_size import ByteSize
from torchbuild.model.frozen import Documented
from torchbuild.model.recipe_distribute import Distribute
from torchbuild.model.recipe_toolchain import Blas, Cuda, Library, Openmp, Python, Toolchain
from torchbuild.model.recipe_words import (
    IMAGE,
    LOCAL,
    MODULE,
    DebianWord,
    FlagValue,
    Glibc,
    Name,
    Project,
    Variable,
)

__all__ = [
    "Build",
    "Companion",
    "Image",
    "Machine",
    "Overlay",
    "Prepare",
    "Recipe",
    "Series",
    "Source",
    "Target",
    "Verify",
    "Wheel",
]


class Target(Documented):
    """What the wheel will run on. The machine that builds it is another matter."""

    machine: Literal["x86_64", "aarch64"] = "x86_64"
    """Processor family."""
    glibc: Glibc | None = None
    """Newest C library that the wheel may need, such as ``2.28``. Default: the builder's own."""
    driver: str | None = None
    """NVIDIA driver of the target, such as ``>=535`` for one or newer, or ``535.129.03``."""
    kernel_modules: Literal["open", "proprietary"] | None = None
    """Which of the driver's kernel modules the target has. Default: not known."""
    forward_compat: bool = False
    """Whether NVIDIA's forward-compatibility package of the toolkit is on the target."""
    gpus: tuple[str, ...] = ()
    """GPUs of the target: products, such as ``GTX 1080 Ti``, or architectures, such as ``sm_61``."""
    cpu: str | None = None
    """Lowest processor level, such as ``x86-64-v2``."""


class Overlay(Documented):
    """Further files, laid into the source tree after the patches."""

    archive: str | None = None
    """Locator or path of an archive."""
    sha256: Sha256 | None = None
    """Its digest. Required for archives; read from the publisher for ``debian:`` locators."""
    path: str | None = None
    """Or: a directory of the builder image (absolute), copied as it is."""
    to: str
    """Where it is laid, relative to the tree."""
    only: str | None = None
    """Lay only this directory of the archive: its contents become the directory `to`."""
    strip: int = Field(default=0, ge=0, le=10)
    """Leading components removed from member names."""


class Prepare(Documented):
    """One command run in the builder, without a network, before configure. Part of the key."""

    argv: tuple[str, ...] = Field(min_length=1)
    """Program and arguments. No shell."""
    cwd: str = "."
    """Directory, relative to the tree."""


class Series(Documented):
    """A quilt series: a directory with patches and a file ``series`` that orders them."""

    archive: str | None = None
    """Locator or path of the archive that holds the series."""
    sha256: Sha256 | None = None
    """Its digest."""
    path: str = "debian/patches"
    """The directory in the archive, or beside the recipe where no archive is named."""
    exclude: tuple[str, ...] = ()
    """Names of patches that are left out. A name that is not in the series is an error."""


class Source(Documented):
    """Where the source comes from: exactly one of `git`, `archive` and `path`."""

    git: str | None = None
    """Repository: https, ssh, file or a local path."""
    ref: str | None = None
    """Tag, branch or commit. With `git` only, and then required."""
    submodules: Literal["recursive", "system"] = "recursive"
    """``system``: submodules are not wanted, the builder's own libraries are used."""
    archive: str | None = None
    """Locator or path of an archive of the tree."""
    sha256: Sha256 | None = None
    """Digest of `archive`. Read from the publisher for ``debian:`` locators."""
    strip: int = Field(default=1, ge=0, le=10)
    """Leading components removed from the archive's member names."""
    path: str | None = None
    """A directory, taken as it is."""
    epoch: int | None = Field(default=None, ge=315532800, le=4354819198)
    """SOURCE_DATE_EPOCH, in seconds, 1980 to 2107. Default: the commit's time; archives need one here."""
    series: Series | None = None
    """Patches of a quilt series, applied first."""
    patches: tuple[str, ...] = ()
    """Patch files beside the recipe, applied in this order after the series."""
    overlay: tuple[Overlay, ...] = ()
    """Files laid over the patched tree."""
    prepare: tuple[Prepare, ...] = ()
    """Commands run last."""


class Build(Documented):
    """How the tree is configured."""

    preset: Literal["official", "minimal", "none"] = "none"
    """Flags to begin with: upstream's wheels, the least that is useful, or the tree's own defaults."""
    type: Literal["Release", "RelWithDebInfo", "Debug", "MinSizeRel"] = "Release"
    """CMAKE_BUILD_TYPE."""
    flags: dict[Variable, FlagValue] = Field(default_factory=dict)
    """``USE_*`` and ``BUILD_*`` options, each compared with what configure made of it."""
    cmake: dict[Variable, FlagValue] = Field(default_factory=dict)
    """Further ``-D`` definitions, compared likewise. ``{source}``, ``{venv}`` and ``{work}`` stand for the
    paths that the tree, the build's Python environment and the build's folder have inside the build."""
    env: dict[Variable, str] = Field(default_factory=dict)
    """Further environment variables of the build, with the same places. No secrets: the lock holds them."""
    requires: tuple[str, ...] = ()
    """Build requirements beyond those that the tree declares, as PEP 508 strings."""


class Image(Documented):
    """The builder image. Absent table: the build runs on this machine."""

    name: Annotated[str, StringConstraints(pattern=IMAGE, max_length=400)]
    """What the engine calls it, such as ``localhost/torchbuild/debian-trixie``."""
    id: Sha256 | None = None
    """Its id. Default: what the engine has under the name at lock time; the lock pins it."""
    suite: DebianWord | None = None
    """Debian suite that the image is made from, such as ``trixie``. Default: it is made elsewhere."""
    components: tuple[DebianWord, ...] = ("main",)
    """Components of the suite, with `suite`."""
    packages: tuple[DebianWord, ...] = ()
    """Debian packages in the image, with `suite`; what they need and a minimal root come with them."""


class Wheel(Documented):
    """What the wheel is."""

    package: Annotated[str, StringConstraints(pattern=MODULE, max_length=100)] = "torch"
    """Import name and distribution name: one name for both."""
    version: str
    """Public version, such as ``2.6.0``."""
    local: Annotated[str, StringConstraints(pattern=LOCAL)] | None = None
    """Local version label, such as ``cu124``: ``2.6.0+cu124``."""
    build_number: int = Field(default=1, ge=0, le=2**31 - 1)
    """PYTORCH_BUILD_NUMBER. Above 1 the tree appends ``.postN``."""
    runtime: Literal["bundle", "depend", "builder"] = "builder"
    """Shared libraries from outside: copied in, required as wheels, or left to a builder-like system."""
    requires: tuple[str, ...] | None = None
    """Run-time requirements that the wheel must declare. Default: from knowledge, by release."""
    system_libraries: tuple[str, ...] = ()
    """With ``runtime = "builder"``: sonames that may come from the target's system."""
    triton: Literal["auto", "none"] = "none"
    """Requirement on triton: from the tree's pin, or none."""
    debug: Literal["strip", "split", "keep"] = "keep"
    """Debug information."""


class Verify(Documented):
    """What must be shown before the wheel is published."""

    level: Literal["static", "cpu", "gpu"] = "cpu"
    """How far: read only, run on the CPU, run on GPUs."""
    require: tuple[str, ...] = ("import-identity", "config")
    """Run-time checks that must pass. A required check that cannot run fails the build."""
    packages: tuple[str, ...] = ()
    """Further packages in the verify environment, such as ``numpy``."""
    upstream_tests: tuple[str, ...] = ()
    """Files of the tree's own tests."""


class Companion(Documented):
    """A package built against this wheel."""

    package: Project
    """Distribution name."""
    source: Source
    """Where it comes from."""


def _companions(value: Any) -> Any:  # noqa: ANN401  any TOML value
    """The table form, sorted by name, as the list that it stands for; anything else is left to be refused."""
    if not isinstance(value, dict):
        return value
    rows = sorted(value.items())
    return tuple(row if not isinstance(row, dict) else {"package": name} | row for name, row in rows)


Companions = Annotated[
    tuple[Companion, ...],
    BeforeValidator(
        _companions, json_schema_input_type=tuple[Companion, ...] | dict[Project, dict[str, Any]]
    ),
]


class Machine(Documented):
    """What depends on this machine and not on the wheel. Never in a key, a lock or a wheel."""

    executor: Literal["auto", "local", "container"] = "auto"
    """``auto``: a container where the recipe names an image, else this machine."""
    engine: Literal["auto", "podman", "docker", "rootfs", "apptainer"] = "auto"
    """Container engine. For machines without one: ``rootfs``, which unpacks the image and needs namespaces
    only, or ``apptainer``, which starts commands in the unpacked image."""
    jobs: int | None = Field(default=None, ge=1, le=65536)
    """Compilers at a time. Default: the cores that this process may use."""
    memory_gib: float | None = Field(default=None, gt=0, le=2**20, allow_inf_nan=False)
    """Memory limit of each command, in GiB: set by the engine, else by a control group that we may make."""
    caches: dict[Variable, str] = Field(default_factory=dict)
    """Directories of caches, by what they hold: ``store``, ``compiler``. Default: the user's own."""
    index_url: str = ""
    """Python package index. Default: the client's own configuration."""
    debian_mirror: str = ""
    """Debian mirror. Default: the machine's own apt configuration."""
    mirrors: dict[str, str] = Field(default_factory=dict)
    """URL prefixes and what replaces them."""
    endpoints: tuple[str, ...] = ()
    """``HOST:PORT`` that a build may reach, such as a compiler cache's server; named in its report."""
    cache_backend: str = ""
    """A server that machines share for the compiler cache: ``redis://HOST:PORT``, ``http://HOST:PORT/PATH``;
    with sccache ``rediss``, ``https`` and ``memcached`` too. ``${NAME}`` stands for a variable of the
    environment, such as a password's. What is in it enters no lock, log or report, but for scheme, host and
    port."""
    distribute: Distribute | None = None
    """Machines that compile for this one. Absent: all is compiled here."""
    store_max: ByteSize | None = None
    """Most that stays after a build of what was fetched, as by `torchbuild store gc`. Default: all."""
    disk_floor: ByteSize = "2 GiB"
    """Least free space on the file systems of workspaces and caches; below it what a build runs or downloads
    waits; git's transfers, and the making of a lock, do not. ``0``: never."""
    disk_patience_s: int = Field(default=3600, ge=0, le=31_536_000)
    """Seconds that a build waits for it before it ends, resumable. ``0``: as long as it takes."""


class Recipe(Documented):
    """One wheel."""

    schema_version: Literal[1] = Field(alias="schema")
    """Version of this format."""
    name: Name
    """The recipe's name, which names its runs."""
    extends: str | None = None
    """A recipe that this one refines, key by key. Relative to this file, inside the folder of the first one;
    what a recipe names is relative to the file in which it stands."""
    target: Target = Target()
    """What the wheel will run on."""
    source: Source
    """Where the source comes from."""
    python: Python = Python()
    """The interpreter."""
    toolchain: Toolchain = Toolchain()
    """Compilers and build programs."""
    cuda: Cuda | None = None
    """The CUDA toolkit."""
    cudnn: Library | None = None
    """cuDNN."""
    nccl: Library | None = None
    """NCCL."""
    cusparselt: Library | None = None
    """cuSPARSELt."""
    nvshmem: Library | None = None
    """NVSHMEM."""
    magma: Library | None = None
    """MAGMA."""
    blas: Blas | None = None
    """BLAS. Absent: the tree's own choice, which is then recorded."""
    openmp: Openmp | None = None
    """OpenMP."""
    build: Build = Build()
    """How the tree is configured."""
    image: Image | None = None
    """The builder image."""
    wheel: Wheel
    """What the wheel is."""
    verify: Verify = Verify()
    """What must be shown."""
    companions: Companions = ()
    """Packages built against this wheel: a list, or a table by their names."""
    machine: Machine = Machine()
    """This machine."""
