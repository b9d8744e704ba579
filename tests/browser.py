"""Headless Chromium, driven over its DevTools pipe: open a page, measure it, take a picture."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# The pipe is at 3 and 4 in the browser, whatever the numbers are here.
MOVE = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)


@dataclass
class Page:
    """One open page. `requests`: every address that it asked for."""

    to_browser: int
    from_browser: int
    session: str = ""
    requests: list[str] = field(default_factory=list[str])
    _ids: int = 0
    _rest: bytes = b""
    _events: list[str] = field(default_factory=list[str])

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send a command and return its result."""
        self._ids += 1
        command: dict[str, Any] = {"id": self._ids, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(command).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._ids:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result

    def show(self, address: str, *, width: int, dark: bool = False) -> None:
        """Open an address in a window of that width, to the end of its loading."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self.ask("Page.navigate", url=address)
        while "Page.loadEventFired" not in self._events:
            self._next()

    def value(self, expression: str) -> Any:  # noqa: ANN401 - any value of JavaScript
        """Return what an expression of JavaScript gives."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, file: Path) -> None:
        """Write the whole page as a PNG."""
        taken = self.ask("Page.captureScreenshot", captureBeyondViewport=True, **self._whole())
        file.write_bytes(base64.b64decode(taken["data"]))

    def _whole(self) -> dict[str, Any]:
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return {
            "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        }

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self.from_browser, 1 << 16)
            assert more, "the browser is gone"
            self._rest += more
        one, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        event = str(message.get("method", ""))
        self._events.append(event)
        if event == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message


@contextmanager
def browser(folder: Path) -> Generator[Page]:
    """Start Chromium with a profile in this folder; end it afterwards."""
    assert CHROMIUM is not None
    commands, to_browser = os.pipe()
    from_browser, answers = os.pipe()
    program = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    moved = [sys.executable, "-c", MOVE, str(commands), str(answers), *program]
    started = subprocess.Popen(
        moved, pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(commands)
    os.close(answers)
    page = Page(to_browser, from_browser)
    try:
        (target,) = (
            one["targetId"]
            for one in page.ask("Target.getTargets")["targetInfos"]
            if one["type"] == "page"
        )
        page.session = page.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            page.ask(f"{domain}.enable")
        yield page
    finally:
        started.kill()
        started.wait()
        os.close(to_browser)
        os.close(from_browser)
