"""torchbuild: one recipe in, one verified PyTorch wheel out.

Rooms, from the outside in: ``cli`` > ``pipeline`` > ``stages`` > (``inspection``, ``resolve``) >
``knowledge`` > ``model``. Only ``edges`` touches the machine, and it is reached through ``context``.
"""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("torchbuild")
except PackageNotFoundError:  # run from a checkout that nobody installed
    __version__ = "0+unknown"
