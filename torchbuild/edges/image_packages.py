"""Which packages an image needs, asked of apt with a state of its own: nothing of this machine's counts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from torchbuild.edges.atomic import translated, write_text
from torchbuild.edges.process import run_process
from torchbuild.errors import FetchError, HostError, RecipeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torchbuild.context import Completed

__all__ = ["KEYRING", "PackageQuestion"]

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""The keys that a suite's lists must be signed with."""

_WORDS = 20
"""Lines of apt that an error shows."""

_EVERY_ROOT = ("?essential", "?priority(required)", "apt")
"""What a root has, whatever else is asked for."""

_CONFIGURATION = """\
Dir "{state}";
Dir::State::status "{state}/var/lib/dpkg/status";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::ForceHash "SHA256";
Acquire::Languages "none";
Acquire::Retries "3";
"""
_SOURCES = """\
Types: deb
URIs: {mirror}
Suites: {suite}
Components: {components}
Signed-By: {keyring}
"""


class PackageQuestion:
    """A suite of a mirror, and the state that apt keeps of it."""

    def __init__(
        self,
        state: Path,
        *,
        mirror: str,
        suite: str,
        components: Sequence[str],
        architecture: str,
        keyring: Path = KEYRING,
    ) -> None:
        """Nothing is read or written yet.

        Args:
            state: an empty directory.
            mirror: its address, the directory of ``dists`` and ``pool``.
            suite: such as ``trixie``.
            components: such as ``main``.
            architecture: such as ``amd64``.
            keyring: who must have signed the suite's lists.
        """
        self._state = state
        self._suite = suite
        self._keyring = keyring
        self._configuration = _CONFIGURATION.format(state=state, architecture=architecture)
        self._sources = _SOURCES.format(
            mirror=mirror, suite=suite, components=" ".join(components), keyring=keyring
        )

    def uris(self, packages: Sequence[str]) -> str:
        """What a bare root with `packages` would fetch, as ``apt-get --print-uris`` says it.

        Other lines may be among them.

        Raises:
            HostError: ``keyring-missing``, ``apt-missing``.
            FetchError: ``package-lists-refused`` where the lists cannot be had or are not signed.
            RecipeError: ``image-packages-impossible`` where apt cannot install these together.
        """
        self._prepare()
        update = self._apt("update", "--error-on=any")
        if update.exit_code != 0:
            raise _refused(self._suite, update)
        asked = self._apt("install", "--print-uris", "--yes", *_EVERY_ROOT, "--", *packages)
        if asked.exit_code != 0:
            raise _impossible(self._suite, asked)
        with translated(asked.log):
            return asked.log.read_text(encoding="utf-8", errors="replace")

    def _prepare(self) -> None:
        if not self._keyring.is_file():
            raise HostError(
                "keyring-missing",
                f"{self._keyring}: not there",
                why="wanted: the keys that the distribution signs its package lists with",
                fix="Run apt-get install debian-archive-keyring",
            )
        with translated(self._state):
            for folder in ("var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
                (self._state / folder).mkdir(parents=True, exist_ok=True)
            for folder in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d"):
                (self._state / folder).mkdir(parents=True, exist_ok=True)
        write_text(self._state / "var/lib/dpkg/status", "")
        write_text(self._state / "etc/apt/sources.list.d/suite.sources", self._sources)
        write_text(self._state / "apt.conf", self._configuration)

    def _apt(self, *words: str) -> Completed:
        kept = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
        own = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "APT_CONFIG": str(self._state / "apt.conf"),
        }
        try:
            return run_process(
                ["apt-get", "-q", *words], environ=kept | own, log=self._state / f"{words[0]}.log"
            )
        except HostError as error:
            if error.reference != "program-missing":
                raise
            raise HostError(
                "apt-missing",
                "this machine has no apt-get, which knows what packages need",
                why="wanted: apt, mmdebstrap and dpkg, as every Debian and Ubuntu has or can have them",
                fix="Run torchbuild lock on a machine that has them; its lock holds here too.",
            ) from error


def _impossible(suite: str, asked: Completed) -> RecipeError:
    return RecipeError(
        "image-packages-impossible",
        f"{suite}: these packages cannot be installed together",
        why="wanted: names of packages of that suite, none of which excludes another",
        fix="Correct image.packages by apt's own words above.",
        evidence=asked.tail[-_WORDS:],
    )


def _refused(suite: str, update: Completed) -> FetchError:
    return FetchError(
        "package-lists-refused",
        f"{suite}: its package lists cannot be had, or are not signed as they must be",
        why=(f"seen: exit code {update.exit_code} from apt-get update", "wanted: lists signed by those keys"),
        fix="Check image.suite and image.components, and [machine] debian_mirror.",
        evidence=update.tail[-_WORDS:],
    )
