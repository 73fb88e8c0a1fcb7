"""Files of the recipe into the store, also from folders that the caller allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from torchbuild.context import Network, Store
from torchbuild.errors import RecipeError
from torchbuild.model.artifact import Artifact, locator_kind

__all__ = ["LocalFiles", "is_inside"]


def is_inside(path: Path, roots: Sequence[Path]) -> bool:
    """Whether `path`, links followed, is one of `roots` or lies below one.

    Raises:
        RecipeError: ``recipe-path-circular``.
    """
    try:
        resolved = path.resolve()
        places = [root.resolve() for root in roots]
    except (OSError, RuntimeError) as error:  # links that lead to themselves
        raise RecipeError(
            "recipe-path-circular",
            f"{path} cannot be followed",
            why=str(error),
            fix="Name a path whose links lead somewhere.",
        ) from error
    return any(resolved.is_relative_to(place) for place in places)


class LocalFiles:
    """A network whose ``file:`` artifacts may lie in the recipe's folder or in an allowed one."""

    def __init__(self, network: Network, store: Store, recipe_dir: Path, allowed: Sequence[Path]) -> None:
        """Nothing is read yet.

        Args:
            network: brings everything else, and refuses what lies in no allowed folder.
            store: where files go.
            recipe_dir: what ``file:`` locators are relative to.
            allowed: further folders, from the command line.
        """
        self._network, self._store = network, store
        self._recipe_dir, self._allowed = recipe_dir, allowed

    def fetch(self, artifacts: Sequence[Artifact], on_progress: Callable[[int, int, str], None]) -> None:
        """Bring each into the store; see `torchbuild.context.Network.fetch`.

        Raises:
            FetchError: ``digest-mismatch``, and what the network raises.
        """
        for artifact in artifacts:
            path = self._recipe_dir / artifact.locator.removeprefix("file:")
            if locator_kind(artifact.locator) == "file" and path.is_file() and is_inside(path, self._allowed):
                self._store.add(path, artifact.sha256)
        self._network.fetch(artifacts, on_progress)
