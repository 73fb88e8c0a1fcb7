"""NumPy arrays and tensors share memory, both ways. A build that lost NumPy says so only here."""

from __future__ import annotations

import importlib
from typing import Any

from .verdict import Finding, failed, passed, skipped

__all__ = ["NAME", "NEEDS", "run"]

NAME = "numpy_interop"
NEEDS = ("from_numpy", "tensor")

_REFERENCE = "smoke-numpy-interop"
_TYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64")


def run(subject: Any) -> list[Finding]:
    """Two findings: values and types survive, memory is shared. `not run` where NumPy is not installed."""
    try:
        numpy = importlib.import_module("numpy")
    except ImportError as error:
        return [skipped(_REFERENCE, "NumPy does not import here: {}".format(error))]
    return [_values(subject, numpy), _memory(subject, numpy)]


def _values(subject: Any, numpy: Any) -> Finding:
    lost = []
    for name in _TYPES:
        array = numpy.arange(12).reshape(3, 4).astype("bool" if name == "bool" else name)
        tensor = subject.from_numpy(array)
        back = tensor.numpy()
        same = back.dtype == array.dtype and back.shape == array.shape and (back == array).all()
        if not same or tensor.tolist() != array.tolist():
            lost.append(name)
    what = "types that survive the way there and back"
    seen = "lost: {}".format(" ".join(lost)) if lost else "{} types".format(len(_TYPES))
    return (failed if lost else passed)(_REFERENCE, what, seen, " ".join(_TYPES))


def _memory(subject: Any, numpy: Any) -> Finding:
    array = numpy.zeros(4, dtype="float64")
    tensor = subject.from_numpy(array)
    array[1] = 5.0
    tensor[2] = 7.0
    seen = (tensor.tolist(), array.tolist())
    wanted = ([0.0, 5.0, 7.0, 0.0],) * 2
    judge = passed if seen == wanted else failed
    return judge(_REFERENCE, "one memory, seen from both sides", seen, wanted)
