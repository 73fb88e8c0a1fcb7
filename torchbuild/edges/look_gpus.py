"""What the driver's management library tells of GPUs, as one line of JSON. Run by our interpreter, alone.

``python -I look_gpus.py``: in a process of its own, because a library that does not fit the kernel's driver
can hang or crash, and nothing else should then end with it.
"""

import json
import sys
from typing import Any, Callable, Dict, List

__all__ = ["look", "main"]

_MOST_SAID = 300


def main() -> int:
    """Print what it tells; 0 even where it tells nothing: others judge."""
    sys.stdout.write(json.dumps(look(), sort_keys=True) + "\n")
    return 0


def look() -> Dict[str, Any]:
    """``driver``, ``cuda`` as the library's number, ``gpus``, and ``failed``: what each question ran into."""
    failed = []  # type: List[str]
    seen = {"driver": "", "cuda": 0, "gpus": [], "failed": failed}  # type: Dict[str, Any]
    try:
        import pynvml  # type: ignore[import-untyped]
    except ImportError as error:
        failed.append(str(error)[:_MOST_SAID])
        return seen
    ask = _asker(pynvml, failed)
    if ask("nvmlInit", lambda: pynvml.nvmlInit() or True) is None:
        return seen
    seen["driver"] = _text(ask("nvmlSystemGetDriverVersion", pynvml.nvmlSystemGetDriverVersion))
    seen["cuda"] = ask("nvmlSystemGetCudaDriverVersion", pynvml.nvmlSystemGetCudaDriverVersion_v2) or 0
    for index in range(ask("nvmlDeviceGetCount", pynvml.nvmlDeviceGetCount) or 0):
        gpu = _gpu(pynvml, index, ask)
        if gpu:
            seen["gpus"].append(gpu)
    return seen


def _asker(pynvml: Any, failed: List[str]) -> Callable[..., Any]:
    """Asks one question; a library that is too old for it, or that fails, leaves a word and no answer."""

    def ask(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (pynvml.NVMLError, OSError, AttributeError, ValueError) as error:
            failed.append(("%s: %s" % (name, error))[:_MOST_SAID])
            return None

    return ask


def _gpu(pynvml: Any, index: int, ask: Callable[..., Any]) -> Dict[str, Any]:
    handle = ask("GPU %d" % index, pynvml.nvmlDeviceGetHandleByIndex, index)
    if handle is None:
        return {}
    capability = ask("capability of GPU %d" % index, pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = ask("memory of GPU %d" % index, pynvml.nvmlDeviceGetMemoryInfo, handle)
    return {
        "name": _text(ask("name of GPU %d" % index, pynvml.nvmlDeviceGetName, handle)),
        "uuid": _text(ask("number of GPU %d" % index, pynvml.nvmlDeviceGetUUID, handle)),
        "capability": 10 * capability[0] + capability[1] if capability else None,
        "memory": int(memory.total) if memory else None,
    }


def _text(value: Any) -> str:
    """Releases of the package differ in whether a name is text or bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


if __name__ == "__main__":
    sys.exit(main())
