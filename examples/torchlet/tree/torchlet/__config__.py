"""What the library was built with."""

from torchlet import _C

__all__ = ["show"]


def show() -> str:
    """Return compiler, language version and build settings, as CMake knew them."""
    return _C._show_config()
