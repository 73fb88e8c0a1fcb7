"""What the driver's management library tells of GPUs, as one line of JSON. Run by our interpreter, alone.

``python -I look_gpus.py``: in a process of its own, because a library that does not fit the kernel's driver
can hang or crash, and nothing else should then end with it.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["look", "main"]

_MOST_SAID = 300


def main() -> int:
    """Print what it tells; 0 even where it tells nothing: others judge."""
    sys.stdout.write(json.dumps(look(), sort_keys=True) + "\n")
    return 0


def look() -> dict[str, Any]:
    """``driver``, ``cuda`` as the library's number, ``gpus``, and ``failed``: what each question ran into."""
    failed: list[str] = []
    seen: dict[str, Any] = {"driver": "", "cuda": 0, "gpus": [], "failed": failed}
    try:
        import pynvml  # type: ignore[import-untyped]  # noqa: PLC0415  it may be missing
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


def _asker(pynvml: Any, failed: list[str]) -> Callable[..., Any]:  # noqa: ANN401  it has no types
    """Asks one question; a library that is too old for it, or that fails, leaves a word and no answer."""

    def ask(name: str, function: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401  as above
        try:
            return function(*arguments)
        except (pynvml.NVMLError, OSError, AttributeError, ValueError) as error:
            failed.append((f"{name}: {error}")[:_MOST_SAID])
            return None

    return ask


def _gpu(pynvml: Any, index: int, ask: Callable[..., Any]) -> dict[str, Any]:  # noqa: ANN401  as above
    handle = ask(f"GPU {index}", pynvml.nvmlDeviceGetHandleByIndex, index)
    if handle is None:
        return {}
    capability = ask(f"capability of GPU {index}", pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = ask(f"memory of GPU {index}", pynvml.nvmlDeviceGetMemoryInfo, handle)
    return {
        "name": _text(ask(f"name of GPU {index}", pynvml.nvmlDeviceGetName, handle)),
        "uuid": _text(ask(f"number of GPU {index}", pynvml.nvmlDeviceGetUUID, handle)),
        "capability": 10 * capability[0] + capability[1] if capability else None,
        "memory": int(memory.total) if memory else None,
    }


def _text(value: object) -> str:
    """Releases of the package differ in whether a name is text or bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


if __name__ == "__main__":
    sys.exit(main())
