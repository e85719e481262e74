"""The HTTP service: routes, back-pressure, request ids, structured logs."""

import contextlib
import json
import logging
import os
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from sandbox.api import JudgeRequest, JudgeResponse, RunCodeRequest, RunCodeResponse
from sandbox.errors import LanguageNotServedError, SandboxError
from sandbox.judge_service import Asked, BadFilesError, JudgeService, UnknownLanguageError
from sandbox.languages import ALIASES
from sandbox.pool import OverloadedError
from sandbox.settings import Protection, ServiceSettings

log = logging.getLogger("sandbox")

Message = MutableMapping[str, Any]


class JsonLines(logging.Formatter):
    """Formats a record as a line of JSON. What the caller passes as ``extra={"fields": {...}}`` becomes its fields."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {"time": f"{record.created:.3f}", "level": record.levelname.lower(), "event": record.getMessage()}
        entry.update(getattr(record, "fields", {}))
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class Edge:
    """ASGI middleware that gives every request an id and refuses a body that is larger than the limit."""

    def __init__(self, app: Callable[..., Awaitable[None]], max_body_bytes: int) -> None:
        self.app = app
        self.max_body_bytes = max_body_bytes

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[..., Any]
    ) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id = headers.get(b"x-request-id", b"").decode("latin-1")[:100] or uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        received, too_large, answered = 0, int(headers.get(b"content-length", b"0")) > self.max_body_bytes, False

        async def counted() -> Message:
            nonlocal received, too_large
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.max_body_bytes:
                too_large = True
                raise _TooLargeError
            return message

        async def with_id(message: Message) -> None:
            nonlocal answered
            if too_large and not answered:
                return  # the application has seen half a body; 413 is sent below
            if message["type"] == "http.response.start":
                answered = True
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id.encode("latin-1"))]
            await send(message)

        if not too_large:
            with contextlib.suppress(_TooLargeError):
                await self.app(scope, counted, with_id)
        if too_large and not answered:
            detail = f"the request is larger than {self.max_body_bytes >> 20} MiB (--max-body-mb)"
            await JSONResponse({"detail": detail}, 413, {"x-request-id": request_id})(scope, receive, send)


class _TooLargeError(Exception):
    pass


class ServiceState:
    """The state that the routes share."""

    def __init__(self, service: JudgeService, settings: ServiceSettings, protection: Protection, reason: str) -> None:
        self.service = service
        self.settings = settings
        self.protection = protection
        self.reason = reason
        """Why the protection is not full. Empty when it is."""
        self.draining = False
        self.started = time.time()


def build_app(state: ServiceState) -> FastAPI:
    """The application over a service that is ready."""
    app = FastAPI(title="MaD-RL sandbox", summary="Compiles and runs programs against tests", docs_url="/docs")
    app.add_middleware(Edge, max_body_bytes=state.settings.max_body_mb << 20)
    service, metrics = state.service, state.service.metrics

    @app.exception_handler(OverloadedError)
    async def overloaded(request: Request, error: OverloadedError) -> JSONResponse:
        route = request.url.path
        metrics.rejected.labels(route).inc()
        # SandboxFusion's clients retry on 504 and on nothing else.
        status = 504 if route == "/run_code" else 429
        return JSONResponse({"detail": str(error)}, status, {"Retry-After": str(error.retry_after_s)})

    @app.exception_handler(UnknownLanguageError)
    @app.exception_handler(BadFilesError)
    async def unprocessable(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    @app.exception_handler(LanguageNotServedError)
    async def not_served(_: Request, error: LanguageNotServedError) -> JSONResponse:
        # After a 503 a client would try again, in vain, and would take a service that works for one that is down.
        return JSONResponse({"detail": str(error)}, 501)

    @app.exception_handler(SandboxError)
    async def unavailable(_: Request, error: SandboxError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 503, {"Retry-After": "30"})

    async def answered(request: Request, work: Awaitable[tuple[Any, Asked]]) -> Any:
        started, route = time.monotonic(), request.url.path
        response, asked = await work
        elapsed = time.monotonic() - started
        metrics.duration.labels(route).observe(elapsed)
        metrics.queued.labels(route).observe(asked.queue_s)
        fields = {
            "request_id": request.state.request_id,
            "route": route,
            "language": asked.language,
            "verdict": getattr(response, "verdict", None) or response.status,
            "cached": asked.cached,
            "queue_s": round(asked.queue_s, 4),
            "wall_s": round(elapsed, 4),
        }
        if isinstance(response, JudgeResponse):
            fields.update(passed=response.passed, total=response.total, first_failed=response.first_failed)
        if fields["verdict"] in ("IE", "SandboxError"):
            log.error("judged", extra={"fields": {**fields, "message": response.message}})
        else:
            log.info("judged", extra={"fields": fields})
        return response

    @app.post("/judge", response_model=JudgeResponse)
    async def judge(request: Request, body: JudgeRequest) -> Response:
        """Compile once, run every test, compare: one verdict."""
        async with service.pool.admission():
            response = await answered(request, service.judge(body))
        return Response(response.model_dump_json(), media_type="application/json")

    @app.post("/run_code", response_model=RunCodeResponse)
    async def run_code(request: Request, body: RunCodeRequest) -> Response:
        """SandboxFusion's route: run a program once and give back what it printed."""
        async with service.pool.admission():
            response = await answered(request, service.run_code(body))
        return Response(response.model_dump_json(), media_type="application/json")

    @app.get("/health")
    async def health() -> JSONResponse:
        """Answer 200 while programs are taken, and 503 while draining."""
        body = {
            "status": "draining" if state.draining else "ok",
            "protection": state.protection,
            "protection_detail": state.reason,
            "backend": state.settings.backend,
            "java_loop": state.settings.java_loop,
            "languages": {name: name not in service.missing for name in ALIASES},
            "missing": service.missing,
            "slots": len(service.pool.workers),
            "busy": service.pool.busy,
            "waiting": service.pool.waiting,
            "queue_size": service.pool.queue_size,
            "uptime_s": round(time.time() - state.started, 1),
            "pid": os.getpid(),
            "run_folder": str(service.cache.folder),
        }
        return JSONResponse(body, 503 if state.draining else 200)

    @app.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """The languages that are served, with their aliases and toolchains."""
        return [
            {
                "name": name,
                "aliases": list(aliases),
                "available": name not in service.missing,
                "toolchain": service.toolchains[name].version if name in service.toolchains else None,
                "problem": service.missing.get(name),
            }
            for name, aliases in ALIASES.items()
        ]

    @app.get("/metrics")
    async def scrape() -> Response:
        """Prometheus text format."""
        metrics.queue.set(service.pool.waiting)
        metrics.busy.set(service.pool.busy)
        metrics.slots.set(len(service.pool.workers))
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return app
