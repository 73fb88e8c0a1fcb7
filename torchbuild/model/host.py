"""This machine, as `torchbuild doctor` found it. What could not be seen is None or empty."""

from __future__ import annotations

from pydantic import Field

from torchbuild.model.frozen import Frozen

__all__ = ["Compiler", "Disk", "Engine", "Gpu", "Host", "Interpreter", "Nvcc", "Unseen"]


class Gpu(Frozen):
    """One GPU."""

    name: str
    """As the driver calls it."""
    capability: int | None
    """Ten times the compute capability."""
    memory: int | None
    """Bytes."""
    uuid: str = ""
    """Its own, so that two of one name are told apart."""


class Nvcc(Frozen):
    """A device compiler that a build could meet."""

    path: str
    """As PATH or a variable leads to it."""
    real: str
    """Where that ends, links followed."""
    version: str
    """Such as ``12.4.131``; empty where it did not say."""
    archs: tuple[str, ...]
    """``compute_50`` and so on, as it lists them; empty where it does not."""
    found_by: str
    """``recipe``, ``PATH``, the variable, such as ``CUDACXX``, or the place, such as ``/usr/local``."""
    kind: str = "program"
    """``program``; ``script`` for what may start another; ``cache`` for a compiler cache under this name;
    ``absent`` where a recipe or a variable names what is not there."""
    toolkit: str = ""
    """The toolkit that it belongs to, links followed: also behind a script; empty where it does not tell."""
    headers: str = ""
    """Release that this toolkit's own ``cuda.h`` declares, such as ``12.4``; empty where there is none."""
    why: str = ""
    """Where it did not say its version: its own word."""


class Compiler(Frozen):
    """A host compiler."""

    name: str
    """Such as ``g++-12``."""
    path: str
    """Absolute."""
    kind: str
    """``gcc`` or ``clang``; empty where it did not say."""
    version: str
    """Such as ``12.2.0``; empty where it did not say."""
    real: str = ""
    """Where the path ends, links followed: another one's folder, or a compiler cache."""
    why: str = ""
    """Where it did not say its version: its own word."""
    is_of_builds: bool = True
    """Whether a build on this machine looks where it is; else only PATH leads to it."""


class Engine(Frozen):
    """A container engine."""

    name: str
    """``podman``, ``docker``, ``apptainer``, ``rootfs``."""
    version: str
    """What it says; empty where it did not."""
    works: bool
    """Whether it answered."""
    why: str
    """Where it did not: its own word."""
    gpu_runtime: str
    """What hands GPUs to containers: ``cdi``, ``nvidia-container-runtime``; empty for none."""
    is_rootless: bool = False
    """Whether its root is an ordinary user of this machine."""


class Disk(Frozen):
    """A place that a build writes to."""

    role: str
    """``store``, ``builds``, ``temp``, ``out``."""
    path: str
    """The directory, or the nearest one above it that exists."""
    free: int | None
    """Bytes that we may write."""
    inodes: int | None
    """Files that we may still make; None where the file system has no such limit."""
    kind: str
    """Of file system, such as ``ext4``, ``tmpfs``, ``nfs4``."""
    is_writable: bool
    """Whether we may write there."""
    is_noexec: bool
    """Whether programs there cannot be started."""
    device: str = ""
    """Of the file system: two roles with one device share what is free; empty where it was not seen."""
    wanted: str = ""
    """The directory that was asked for, where it is not there yet; else empty."""
    obstacle: str = ""
    """What is in its way: a file where a directory would be; empty for none."""


class Interpreter(Frozen):
    """A Python that a build could take."""

    path: str
    """As it was named."""
    version: str
    """Such as ``3.11.2``; empty where it did not start."""
    is_venv: bool
    """Whether it is a virtual environment's."""
    base: str
    """The interpreter behind a virtual environment; else the same."""
    include: str
    """Where ``Python.h`` is; empty where it is not."""
    numpy: str
    """NumPy's version; empty for none."""
    found_by: str
    """``PATH``, ``VIRTUAL_ENV``, ``recipe`` and so on."""
    why: str = ""
    """Where it did not start: its own word."""
    machine: str = ""
    """What it is compiled for, such as ``x86_64``."""
    is_free_threaded: bool = False
    """Whether it has no global lock: another ABI."""
    is_shared: bool = False
    """Whether it has a shared library of its own."""
    nccls: tuple[str, ...] = ()
    """Distributions installed in it that bring NCCL: ``nvidia-nccl-cu12 2.21.5``; two of them collide."""
    gone: tuple[str, ...] = ()
    """Directories that its own configuration names and that are not there: another machine's."""


class Unseen(Frozen):
    """What could not be looked at."""

    what: str
    """Such as ``gpus``."""
    why: str
    """Such as ``the driver's library is not there``."""


class Host(Frozen):
    """This machine."""

    machine: str
    """``x86_64`` or ``aarch64``."""
    system: str
    """The distribution as it calls itself, such as ``Debian GNU/Linux 12 (bookworm)``."""
    distribution: str
    """``ID`` of its os-release."""
    release: str
    """``VERSION_ID``."""
    kernel: str
    """Such as ``6.1.0-18``."""
    glibc: str
    """Such as ``2.36``."""
    driver: str
    """NVIDIA's, the one that runs: the kernel's; empty for none."""
    modules: str
    """``open`` or ``proprietary``; empty where it could not be seen."""
    driver_cuda: str
    """Newest CUDA that the driver says it runs, such as ``12.2``; empty where it did not."""
    gpus: tuple[Gpu, ...]
    """All that the driver tells of."""
    nvccs: tuple[Nvcc, ...]
    """In the order in which they would be found."""
    compilers: tuple[Compiler, ...]
    """Likewise."""
    interpreters: tuple[Interpreter, ...]
    """Likewise."""
    engines: tuple[Engine, ...]
    """All that were looked for."""
    has_namespaces: bool
    """Whether we may make user, mount, process and network namespaces."""
    disks: tuple[Disk, ...]
    """Where builds write."""
    cores: int
    """That this process may use."""
    memory: int | None
    """Bytes of the machine."""
    memory_limit: int | None
    """Bytes that our control group allows; None for no limit."""
    memory_available: int | None
    """Bytes free now, swap left out."""
    clock: float
    """Seconds since 1970, as this machine believes."""
    git: str
    """Version of git; empty for none."""
    proxies: dict[str, str]
    """Proxy variables, credentials removed."""
    variables: dict[str, str]
    """Environment variables that mislead a build: ``CUDA_HOME``, ``NCCL_ROOT``, ``USE_*`` and their like."""
    installer_logs: tuple[str, ...]
    """Logs in shared places of somebody else's CUDA installer, which break one of ours."""
    unseen: tuple[Unseen, ...]
    """What could not be looked at, and why."""
    driver_library: str = ""
    """Version of the driver's library, where it differs from the kernel's; empty where they are one."""
    driver_libraries: tuple[str, ...] = ()
    """Each file of the driver's library (``libcuda.so.1``) found, links followed, in the order of search."""
    platform: str = ""
    """``wsl2``, ``jetson``, ``container``; empty for a machine of its own."""
    board: str = ""
    """What the device tree calls a Jetson, such as ``NVIDIA Jetson AGX Orin Developer Kit``."""
    l4t: str = ""
    """Release of a Jetson's system, such as ``36.4.3``."""
    newest_file: float = 0.0
    """Latest change, in seconds since 1970, of files that every machine has: a clock before it is wrong."""
    limits: dict[str, int] = Field(default_factory=dict)
    """Soft limits of this process that are set: ``open files``, ``processes``, ``file size``, ``memory``."""
    swap: int | None = None
    """Bytes of swap that are free."""
