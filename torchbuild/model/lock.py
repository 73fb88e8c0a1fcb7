"""The lock: every input of one build, exactly. Byte-stable: the same answers give the same file."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from torchbuild.model.artifact import Artifact, ImageRef, Sha256
from torchbuild.model.command import BUILD_ROOT
from torchbuild.model.frozen import Frozen
from torchbuild.model.inner_path import InnerPath
from torchbuild.model.locked_image import LockedImage
from torchbuild.model.part import LockedPart, prefix_of
from torchbuild.model.recipe_words import MODULE, GpuArch

__all__ = [
    "LOCK_SCHEMA",
    "Expectation",
    "Lock",
    "LockedOverlay",
    "LockedPatch",
    "LockedPrepare",
    "LockedPython",
    "LockedSource",
    "LockedSubmodule",
    "LockedVerify",
    "LockedWheel",
]

LOCK_SCHEMA = 1

Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Strip = Annotated[int, Field(ge=0, le=10)]


class LockedSubmodule(Frozen):
    """One submodule at one commit."""

    path: InnerPath
    """Path from the top of the tree, nested ones included."""
    url: str
    """Absolute address, without credentials."""
    commit: Commit
    """40 hexadecimal digits."""


class LockedPatch(Frozen):
    """One patch, in its place in the order."""

    name: str
    """File name, for messages."""
    sha256: Sha256
    """Digest of the patch itself."""
    origin: str
    """``recipe:PATH``, or ``series:LOCATOR:PATH`` for one out of an archive."""


class LockedOverlay(Frozen):
    """Files laid over the patched tree."""

    artifact: Artifact | None = None
    """An archive."""
    path: str | None = None
    """Or a directory of the builder image."""
    to: InnerPath
    """Where, relative to the tree."""
    only: InnerPath | None = None
    """Prefix of the members taken."""
    strip: Strip = 0
    """Leading components removed."""


class LockedPrepare(Frozen):
    """One command before configure."""

    argv: tuple[str, ...] = Field(min_length=1)
    """Program and arguments."""
    cwd: InnerPath
    """Relative to the tree."""


class LockedSource(Frozen):
    """The tree, exactly."""

    kind: Literal["git", "archive", "path"]
    """Which of the following fields hold it."""
    url: str = ""
    """Of the repository, without credentials."""
    ref: str = ""
    """What the recipe asked for; the commit is what counts."""
    commit: Commit | Literal[""] = ""
    """40 hexadecimal digits."""
    submodules: tuple[LockedSubmodule, ...] = ()
    """All of them, sorted by path."""
    late: tuple[LockedSubmodule, ...] = ()
    """What the tree would fetch while it is built, laid where it looks; sorted by path."""
    artifact: Artifact | None = None
    """The archive."""
    strip: Strip = 0
    """Leading components removed from its members."""
    path: str = ""
    """The directory, relative to the recipe."""
    tree: Sha256 | None = None
    """Digest of the directory's contents."""
    series: Artifact | None = None
    """The archive that holds a quilt series."""
    patches: tuple[LockedPatch, ...] = ()
    """In the order they are applied."""
    overlays: tuple[LockedOverlay, ...] = ()
    """In order."""
    prepare: tuple[LockedPrepare, ...] = ()
    """In order."""

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        """Each kind has what makes it exact; a lock without it would build from anything."""
        exact = {"git": self.url and self.commit, "archive": self.artifact, "path": self.path and self.tree}
        if not exact[self.kind]:
            raise ValueError(f"a source of kind {self.kind} without what pins it")
        return self


class LockedPython(Frozen):
    """The interpreter, as it was found."""

    executable: str
    """Absolute path inside the builder, symbolic links resolved."""
    version: str
    """Full version, such as ``3.13.5``."""
    soabi: str
    """Such as ``cpython-313-x86_64-linux-gnu``."""
    tag: str
    """Wheel tag, such as ``cp313``."""
    include: str = ""
    """Where its ``Python.h`` is, absolute; empty in a lock that was made before this was asked."""


class Expectation(Frozen):
    """What one CMake cache entry must be after configure."""

    reference: str
    """The check that this belongs to, such as ``gate-flag``."""
    key: str
    """The entry's name; a regular expression of whole names for all kinds but the first five."""
    kind: Literal[
        "switch",
        "option",
        "text",
        "exact",
        "path",
        "every",
        "every-contains",
        "contains",
        "within",
        "each",
        "only",
        "found",
    ]
    """How it is compared.

    ``switch``: by truth; an INTERNAL, STATIC or absent entry is OFF. ``option``: by truth, and the entry is
    there and in force. ``text``: equal; an absent entry is the empty text. ``exact``: equal, and there.
    ``path``: equal after normalisation. ``every``: each entry that matches is this path, and there is one.
    ``every-contains``: each entry that matches holds the text; there may be none. ``contains``: as before,
    and there is one. ``within``: each entry that matches lies below the path, and there is one. ``each``:
    each entry that matches is this path; there may be none. ``only``: each entry that matches is named by an
    expectation of another kind. ``found``: no entry that matches is NOTFOUND, but for those whose names match
    the value, a regular expression.
    """
    value: str
    """``ON`` or ``OFF`` for switches, else the value."""
    why: str
    """Who wants it: ``build.flags.USE_CUDA``, ``build.preset``, ``python``."""


class LockedWheel(Frozen):
    """What must come out."""

    package: Annotated[str, StringConstraints(pattern=MODULE, max_length=100)]
    """Import and distribution name."""
    version: str
    """Whole version, local label included."""
    public_version: str
    """Without the local label."""
    build_number: int = Field(ge=0, le=2**31 - 1)
    """PYTORCH_BUILD_NUMBER."""
    requires: tuple[str, ...] | None
    """Requires-Dist, sorted; None where nothing is known, which is reported as not run."""
    system_libraries: tuple[str, ...]
    """Sonames that may come from the target's system."""
    runtime: str
    """As in the recipe."""


class LockedVerify(Frozen):
    """What must be shown."""

    level: str
    """static, cpu or gpu."""
    require: tuple[str, ...]
    """Run-time checks that must pass."""
    settings: dict[str, str]
    """Build settings that ``config.show()`` must print."""


class Lock(Frozen):
    """Everything that decides the wheel's bytes."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""
    name: str
    """The recipe's name."""
    recipe: Sha256
    """Digest of the merged recipe without its ``[machine]`` table."""
    machine: str
    """Processor family of the target."""
    glibc: str
    """Newest C library that the wheel may need."""
    epoch: int = Field(ge=0, le=2**40)
    """SOURCE_DATE_EPOCH."""
    era: Literal["setup-py", "scikit-build-core"]
    """The tree's front end, read at the locked commit."""
    source: LockedSource
    """The tree."""
    image: ImageRef | None = None
    """The builder; None: the locking machine itself."""
    builder: LockedImage | None = None
    """The packages that the image is made of; None where it was made elsewhere."""
    python: LockedPython
    """The interpreter."""
    cc: str
    """Host C compiler, absolute inside the builder."""
    cxx: str
    """Host C++ compiler."""
    compiler: str
    """What the C++ compiler says it is, first line of ``--version``."""
    compiler_c: str | None = None
    """What the C compiler says it is; None in a lock that was made before this was asked."""
    compiler_cache: str
    """``none``, or the program."""
    gpu_archs: tuple[GpuArch, ...] = ()
    """GPU architectures of the wheel's code, as the recipe has them; empty for a CPU build."""
    parts: tuple[LockedPart, ...] = ()
    """Toolkit and libraries, in the order in which they are laid and proven."""
    environ: dict[str, str]
    """The build's own variables, sorted."""
    defines: dict[str, str]
    """Further definitions for CMake that the environment cannot carry."""
    expect: tuple[Expectation, ...] = Field(min_length=1)
    """What the gate compares, sorted by key. A lock that expects nothing would call anything as asked."""
    build_requires: tuple[Artifact, ...]
    """The build environment, file by file."""
    run_requires: tuple[Artifact, ...]
    """The wheel's own run-time requirements, file by file."""
    verify_requires: tuple[Artifact, ...]
    """Further packages of the verify environment."""
    wheel: LockedWheel
    """What must come out."""
    verify: LockedVerify
    """What must be shown."""
    unpinned: tuple[str, ...] = ()
    """Inputs that nobody could pin, said aloud."""
    facts: tuple[str, ...] = ()
    """Rows of facts that the user's overlay changed when this was locked, a line each."""

    @model_validator(mode="after")
    def _parts_in_their_places(self) -> Self:
        """A place is emptied before a part is laid there: it is that part's own, and there is one of each."""
        names = [item.name for item in self.parts]
        if len(set(names)) != len(names):
            raise ValueError("a part is there twice")
        for item in self.parts:
            own = prefix_of(item.name)
            inside = f"{item.prefix}/".startswith(f"{BUILD_ROOT}/")
            if (item.pieces and item.prefix != own) or ".." in item.prefix.split("/"):
                raise ValueError(f"a part {item.name} with pieces lies at {own} alone")
            if inside and item.prefix != own and item.provider != "bundled":
                raise ValueError(f"a part {item.name} of the builder lies outside of {BUILD_ROOT}")
        return self

    def part(self, name: str) -> LockedPart | None:
        """The part of that name, or None."""
        return next((item for item in self.parts if item.name == name), None)

    def artifacts(self) -> tuple[Artifact, ...]:
        """Every file that must lie in the store before anything is built, each once."""
        source = self.source
        patches = [item for item in source.patches if item.origin.startswith("recipe:")]
        found = [
            *(item for item in (source.artifact, source.series) if item is not None),
            *(
                Artifact(locator="file:" + patch.origin.partition(":")[2], sha256=patch.sha256)
                for patch in patches
            ),
            *(overlay.artifact for overlay in source.overlays if overlay.artifact is not None),
            *self.build_requires,
            *self.run_requires,
            *self.verify_requires,
            *(piece.artifact for part in self.parts for piece in part.pieces),
            *(self.builder.packages if self.builder else ()),
        ]
        return tuple({item.sha256: item for item in found}.values())
