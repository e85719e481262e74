"""A hub for tests: an HTTP server with the few routes that huggingface_hub needs to make a model and commit to it."""

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Hub:
    """What the server was told, and how it is to behave."""

    endpoint: str = ""
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What each model was made with."""
    commits: list[tuple[str, str, dict[str, bytes]]] = field(default_factory=list)
    """Each commit's model, message and files."""
    tokens: set[str | None] = field(default_factory=set)
    broken: bool = False
    """It answers 500 to everything."""
    attempts: int = 0
    """How many models it was asked to make, broken or not."""
    open: threading.Event = field(default_factory=threading.Event)
    """It answers nothing until this is set."""
    asked: threading.Event = field(default_factory=threading.Event)


@contextmanager
def hub_server() -> Iterator[Hub]:
    """The hub, running."""
    hub = Hub()
    hub.open.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hub.tokens.add(self.headers["Authorization"])
            hub.attempts += self.path == "/api/repos/create"
            hub.asked.set()
            hub.open.wait()
            status, answer = (500, {"error": "out of order"}) if hub.broken else answer_to(self.path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    def answer_to(path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        if path == "/api/repos/create":
            wanted = json.loads(body)
            name = f"{wanted.pop('organization', None) or 'me'}/{wanted.pop('name')}"
            known = name in hub.models
            hub.models.setdefault(name, wanted)
            return (409 if known else 200), {"url": f"{hub.endpoint}/{name}"}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        found = re.fullmatch(r"/api/models/(.+)/(preupload|commit)/main", path)
        assert found is not None, path
        name, action = found.groups()
        if action == "preupload":
            names = [file["path"] for file in json.loads(body)["files"]]
            return 200, {"files": [{"path": n, "uploadMode": "regular", "shouldIgnore": False} for n in names]}
        lines = [json.loads(line) for line in body.splitlines()]
        files = {
            line["value"]["path"]: base64.b64decode(line["value"]["content"]) for line in lines if line["key"] == "file"
        }
        (message,) = (line["value"]["summary"] for line in lines if line["key"] == "header")
        hub.commits.append((name, message, files))
        oid = f"{len(hub.commits):040x}"
        return 200, {"success": True, "commitOid": oid, "commitUrl": f"{hub.endpoint}/{name}/commit/{oid}"}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        hub.open.set()
        server.shutdown()
        server.server_close()
        thread.join()
