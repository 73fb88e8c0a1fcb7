"""A real browser without a window, spoken to over two pipes; no port is opened, and it reaches nothing."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Browser", "browser"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
    "--window-size=1400,1000",
)
_KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "Escape": 27}


class Browser:
    """One page."""

    def __init__(self, asks: int, answers: int) -> None:
        self._asks, self._answers = asks, answers
        self._number, self._session = 0, ""
        self._heard = b""
        self.told: list[dict[str, Any]] = []
        """What it said unasked: errors of scripts, what a policy forbade, what was fetched."""

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        ask = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            ask["sessionId"] = self._session
        os.write(self._asks, json.dumps(ask).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result
            self.told.append(said)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._heard:
            got = os.read(self._answers, 1 << 20)
            assert got, "the browser has gone"
            self._heard += got
        line, _, self._heard = self._heard.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said

    def open(self, page: Path, *, dark: bool = False) -> None:
        """Load it, to the end of its script."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", features=scheme)
        self._call("Page.navigate", url=page.as_uri())
        while self._next_event() != "Page.loadEventFired":
            pass

    def _next_event(self) -> str:
        said = self._next()
        self.told.append(said)
        return str(said.get("method"))

    def value(self, script: str) -> Any:
        """What an expression is, in the page."""
        result = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, *keys: str) -> None:
        """Keys, as a person's."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            code = {"windowsVirtualKeyCode": _KEYS.get(key, ord(key[0].upper()) if key.isalnum() else 0)}
            self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
            self._call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot")["data"])

    def wrong(self) -> list[dict[str, Any]]:
        """Errors that scripts or policies told of."""
        return [
            said
            for said in self.told
            if said.get("method") == "Runtime.exceptionThrown"
            or (said.get("method") == "Log.entryAdded" and said["params"]["entry"]["level"] == "error")
        ]

    def fetched(self) -> set[str]:
        """Addresses that were asked for."""
        asked = (said for said in self.told if said.get("method") == "Network.requestWillBeSent")
        return {said["params"]["request"]["url"] for said in asked}


_START = """\
import os, sys
asks, answers = int(sys.argv[1]), int(sys.argv[2])
os.dup2(asks, 200), os.dup2(answers, 201), os.dup2(200, 3), os.dup2(201, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser takes descriptors 3 and 4, which may be others' here."""


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start it with a profile of its own; skips where there is none on this machine."""
    program = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("no browser here")
    asks, answers = os.pipe(), os.pipe()
    argv = [sys.executable, "-c", _START, str(asks[0]), str(answers[1]), program, *_OPTIONS]
    child = subprocess.Popen(
        [*argv, f"--user-data-dir={folder / 'profile'}"],
        pass_fds=(asks[0], answers[1]),
        env={"HOME": str(folder), "PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(asks[0])
    os.close(answers[1])
    try:
        yield Browser(asks[1], answers[0])
    finally:
        child.kill()
        child.wait()
        os.close(asks[1])
        os.close(answers[0])
