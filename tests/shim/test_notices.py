"""What can be read of a call that waits, in a process that tries to be hard to read."""

from __future__ import annotations

from typing import Any

import pytest

LIBC = """
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket(type=socket.SOCK_DGRAM)
address = struct.pack("=H", 2) + struct.pack(">H", 99) + socket.inet_aton("192.0.2.3") + bytes(8)
held = ctypes.create_string_buffer(address)
"""
SENDMMSG = """
class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("size", ctypes.c_uint32), ("parts", ctypes.c_void_p),
                ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("length", ctypes.c_size_t),
                ("flags", ctypes.c_int64), ("sent", ctypes.c_int64)]
two = (Message * 2)()
two[1].name, two[1].size = ctypes.addressof(held), 16
libc.sendmmsg(s.fileno(), two, 2, 0)
print(ctypes.get_errno())
"""


@pytest.mark.parametrize(
    ("call", "printed", "asked"),
    [
        ("libc.connect(s.fileno(), held, 16)\nprint(ctypes.get_errno())", b"101\n", ["192.0.2.3:99"]),
        (SENDMMSG, b"101\n", ["192.0.2.3:99"]),
        ("libc.connect(s.fileno(), ctypes.c_void_p(8), 16)\nprint(ctypes.get_errno())", b"14\n", []),
        ("libc.sendmsg(s.fileno(), ctypes.c_void_p(8), 0)\nprint(ctypes.get_errno())", b"14\n", []),
        ("libc.connect(s.fileno(), held, 1)\nprint(ctypes.get_errno())", b"22\n", []),
    ],
    ids=["connect", "second of two messages", "no memory there", "no message there", "too short"],
)
def test_a_call_ends_as_it_would_without_a_network(
    guard: Any, call: str, printed: bytes, asked: list[str]
) -> None:
    """Addresses are found wherever a call may carry them; a wrong call gets the kernel's own error."""
    done = guard.python_run(LIBC + call, options=("--keep-going",))

    assert (done.code, done.out, done.asked) == (0, printed, asked), done.err


def test_a_caller_that_forbids_to_be_read_is_still_seen(guard: Any) -> None:
    """A process that may not be dumped is read where the guard may, and refused where it may not."""
    done = guard.python_run(
        LIBC + "libc.prctl(4, 0, 0, 0, 0)\nlibc.connect(s.fileno(), held, 16)\nprint('on')"
    )

    assert done.code == 93
    assert done.asked in (["192.0.2.3:99"], ["an address that nobody may read"])


STORM = """
import socket, threading
def ask():
    for _ in range(50):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect("nowhere")
        except FileNotFoundError:
            done.append(1)
        s.close()
done = []
threads = [threading.Thread(target=ask) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(len(done))
"""


def test_many_threads_ask_at_once(guard: Any) -> None:
    """Every waiting call gets its own answer."""
    assert guard.python_run(STORM).out == b"400\n"


KILLED = """
import os, signal, socket, time
for _ in range(30):
    child = os.fork()
    if child == 0:
        while True:
            socket.socket(socket.AF_UNIX).connect_ex("nowhere")
    time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print("done")
"""


def test_a_caller_killed_while_it_waits_is_no_trouble(guard: Any) -> None:
    """A process that ends between its call and our answer stops nobody."""
    done = guard.python_run(KILLED)

    assert (done.code, done.out) == (0, b"done\n"), done.err
