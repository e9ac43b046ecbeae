"""Chromium without a window, spoken to through a pipe (DevTools protocol).

A pipe needs no websocket client: messages are JSON, each ends with a zero byte.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time

WAIT = 120
"""Seconds; a busy machine is slow, a dead browser is silent."""
FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"),
    *("--no-first-run", "--disable-extensions", "--disable-background-networking"),
    *("--disable-dev-shm-usage", "--hide-scrollbars"),
)


def find_browser():
    """Return the path of Chromium; None: there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page in a browser of its own; everything it complains about is kept."""

    def __init__(self, program, folder):
        theirs, self._write = os.pipe()
        self._read, answers = os.pipe()
        # the protocol is spoken on descriptors 3 and 4
        line = f'exec "$0" "$@" 3<&{theirs} 4>&{answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", line, program, *FLAGS, f"--user-data-dir={folder}"],
            pass_fds=(theirs, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(answers)
        self._rest, self._number, self._session = b"", 0, None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **arguments):
        """Return the answer to one command."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": arguments}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._write, json.dumps(asked).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path):
        """Load a file, and wait until all of it is there."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._next())

    def look(self, width, *, dark=False):
        """Show the page this wide, in light or dark colours."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1}
        self.call("Emulation.setDeviceMetricsOverride", **size, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def evaluate(self, script):
        """Return the value of a JavaScript expression."""
        found = self.call(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self, path, *, whole=False):
        """Write what is seen, or the whole page, as PNG."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def print(self):
        """Return the page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def told(self, method):
        """Return the events of one kind since the page was opened."""
        return [e["params"] for e in self.events if e.get("method") == method]

    def close(self):
        """End the browser."""
        self._session = None
        self.call("Browser.close")
        self._process.wait(WAIT)
        os.close(self._write)
        os.close(self._read)

    def _next(self):
        end = time.monotonic() + WAIT
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], end - time.monotonic())
            assert ready, f"Chromium said nothing for {WAIT} s."
            part = os.read(self._read, 1 << 16)
            assert part, "Chromium ended."
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)
