"""How much one nvcc does at once: each of its threads compiles for another architecture, in its own memory.

Options count wherever nvcc takes them from: its command, files of options, and two variables.
"""

import os
import shlex
import stat
from typing import Iterator, List, Optional, Sequence

__all__ = ["at_once", "threads_of"]

_FILES = ("-optf", "--options-file")
_THREADS = ("-t", "--threads")
_CODES = ("-gencode", "--generate-code")
_MOST_BYTES, _MOST_FILES = 1 << 16, 32
_MOST_DIGITS = 3


def threads_of(pid: int, program: str, folder: str) -> int:
    """Of a launcher that asks; 1 for all that is no nvcc, or cannot be looked at.

    Args:
        pid: the launcher's; 0 for one that is not known.
        program: what it is about to start.
        folder: where.
    """
    if not os.path.basename(program).startswith("nvcc") or not pid:
        return 1
    words = _zeros("/proc/%d/cmdline" % pid)
    environ = dict(item.partition("=")[::2] for item in _zeros("/proc/%d/environ" % pid))
    return at_once(
        [
            *_split(environ.get("NVCC_PREPEND_FLAGS", "")),
            *words[2:],
            *_split(environ.get("NVCC_APPEND_FLAGS", "")),
        ],
        folder,
    )


def at_once(options: Sequence[str], folder: str) -> int:
    """Architectures that are compiled for at once.

    Args:
        options: of an nvcc, without its name.
        folder: what files of options are named relative to.
    """
    threads, codes = 1, 0
    for name, value in _valued(list(_all(options, folder, [_MOST_FILES]))):
        if name in _THREADS:
            threads = _number(value)
        elif name in _CODES:
            codes += 1 + value.partition("code=")[2].count(",")
    return max(1, min(threads or os.cpu_count() or 1, codes))


def _valued(words: List[str]) -> Iterator[List[str]]:
    """Options and their values, which stand beside them, or are attached."""
    known = (*_THREADS, *_CODES)
    for index, word in enumerate(words):
        name, _, value = word.partition("=")
        if word in known:
            yield [word, words[index + 1] if index + 1 < len(words) else ""]
        elif name in known:
            yield [name, value]
        elif word.startswith("-t") and word[2:].isdigit():
            yield ["-t", word[2:]]


def _all(words: Sequence[str], folder: str, left: List[int]) -> Iterator[str]:
    """Words, those of files in the files' places; a file may name itself, so only some are read."""
    is_name = False
    for word in words:
        name, _, value = word.partition("=")
        names = word if is_name else value if name in _FILES else ""
        is_name = word in _FILES
        if not names:
            yield word
            continue
        for file in names.split(","):
            left[0] -= 1
            if left[0] >= 0:
                yield from _all(_split(_text(os.path.join(folder, file))), folder, left)


def _number(text: str) -> int:
    """0 is nvcc's word for as many as there are processors."""
    try:
        return int(text) if len(text) <= _MOST_DIGITS and text.isdigit() else 1
    except ValueError:  # some digits are no numbers
        return 1


def _split(text: str) -> List[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _zeros(path: str) -> List[str]:
    return _text(path).split("\0")[:-1]


def _text(path: str) -> str:
    """Of a plain file; whatever else a build names is never waited for."""
    file: Optional[int] = None
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        parts = []
        left = _MOST_BYTES
        while left:
            part = os.read(file, left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
    finally:
        if file is not None:
            os.close(file)
