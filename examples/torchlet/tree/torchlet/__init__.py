"""Matrix products through a small C++ library."""

from collections.abc import Sequence

from torchlet import _C, __config__
from torchlet.version import __version__

__all__ = ["__config__", "__version__", "from_numpy", "matmul"]


def matmul(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], device: str = "cpu"
) -> list[list[float]]:
    """Return the product of two matrices, computed on `cpu` or `cuda`."""
    if device == "cpu":
        return _C._matmul(a, b)
    if device != "cuda":
        raise ValueError(f"device is cpu or cuda, not {device!r}")
    if not hasattr(_C, "_cuda_matmul"):
        raise RuntimeError("torchlet was built without CUDA")
    return _C._cuda_matmul(a, b)


def from_numpy(array: object) -> list[list[float]]:
    """Return a two-dimensional NumPy array as a matrix."""
    return _C._from_numpy(array)
