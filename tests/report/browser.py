"""A real headless browser, driven over its DevTools pipe with the standard library alone."""

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
"""Debian's chromium-headless-shell is enough: `apt-get install chromium-headless-shell`."""


PATIENCE_S = 90
"""A page is drawn within a second; on two cores that run something else as well it has taken thirty."""


def find_browser() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page. ``problems`` are its uncaught errors, and everything that its security policy refused."""

    def __init__(self, program: str, profile: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe --no-first-run"
        # The browser reads commands from descriptor 3 and answers on 4; a shell can name them, Popen cannot.
        command = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, program, *flags.split(), f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.problems: list[str] = []
        target = self._call("Target.createTarget", url="about:blank", width=1280, height=900)["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Network"):
            self._call(f"{domain}.enable")
        # A capture has none, so that with them everything would stand elsewhere than it was measured.
        self._call("Emulation.setScrollbarsHidden", hidden=True)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._in.close()
        self._out.close()

    def open(self, path: Path) -> None:
        self._call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete'")

    def run(self, expression: str) -> Any:
        """The value of an expression; promises are awaited. AssertionError when it throws."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: int = PATIENCE_S) -> None:
        """Until the expression is true."""
        self.run(
            f"""new Promise((good, bad) => {{
              const end = Date.now() + {seconds * 1000};
              const look = () => {{
                if ({expression}) good(true);
                else if (Date.now() > end) bad(new Error("never: " + {json.dumps(expression)}));
                else setTimeout(look, 50);
              }};
              look();
            }})"""
        )

    def click(self, selector: str) -> None:
        """A real mouse click in the middle of the element."""
        script = f"""(() => {{
          const element = document.querySelector({json.dumps(selector)});
          element.scrollIntoView({{block: "center"}});
          const box = element.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
        x, y = self.run(script)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def prefer(self, scheme: str) -> None:
        """The reader's system prefers ``light`` or ``dark``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=features)

    def resize(self, width: int, height: int = 900) -> None:
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def print(self, path: Path) -> None:
        """The page on paper, as a PDF of Letter's size."""
        path.write_bytes(base64.b64decode(self._call("Page.printToPDF", preferCSSPageSize=True)["data"]))

    def screenshot(self, path: Path, width: int = 1280) -> None:
        """The whole page as a PNG."""
        self.resize(width)
        self.resize(width, self.run("document.documentElement.scrollHeight"))
        self._capture(path)

    def screenshot_of(self, selector: str, path: Path) -> None:
        """One element as a PNG."""
        box = self.run(f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().toJSON()")
        x, y = self.run("[scrollX, scrollY]")
        clip = {"x": x + box["x"], "y": y + box["y"], "width": box["width"], "height": box["height"], "scale": 1}
        self._capture(path, clip=clip)

    def _capture(self, path: Path, **params: Any) -> None:
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True, **params)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], 2 * PATIENCE_S)
            chunk = os.read(self._in.fileno(), 1 << 16) if ready else b""
            assert chunk, "the browser is gone" if ready else "the browser does not answer"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(
            ("file:", "data:", "blob:", "about:")
        ):
            self.problems.append(f"fetched {params['request']['url']}")
