"""The HTTP service: routes, back-pressure, request ids, structured logs."""

import asyncio
import errno
import hmac
import json
import logging
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import ClientDisconnect

from sandbox.api import BatchLine, BatchRequest, JudgeRequest, JudgeResponse, RunCodeRequest, RunCodeResponse
from sandbox.batch import Lines, refusal_line, result_line
from sandbox.bodies import BODY_S, CHUNK_BYTES, Bodies, SlowBodyError, TooLargeError, memory_file, unless_gone
from sandbox.errors import BadRequestError, LanguageNotServedError, SandboxError, TranslatorLostError
from sandbox.jobs import Work
from sandbox.judge_service import JudgeService
from sandbox.languages import LANGUAGES
from sandbox.pool import OverloadedError
from sandbox.settings import Protection, ServiceSettings
from sandbox.translation import (
    SMALL_BYTES,
    Asked,
    Item,
    Report,
    aside,
    judge_report,
    read_batch,
    read_judge,
    read_run_code,
    read_stored,
    report_stored,
    run_code_report,
)

log = logging.getLogger("sandbox")

Message = MutableMapping[str, Any]

RETRY_LATER = {"Retry-After": "30"}
"""The header of a 503."""
WORTH_REPEATING = (429, 500, 503)
"""What /run_code answers with 504 in place of: SandboxFusion's clients repeat a request after that and nothing else."""
OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


class JsonLines(logging.Formatter):
    """Formats a record as a line of JSON. What the caller passes as ``extra={"fields": {...}}`` becomes its fields."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {"time": f"{record.created:.3f}", "level": record.levelname.lower(), "event": record.getMessage()}
        entry.update(getattr(record, "fields", {}))
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class Edge:
    """ASGI middleware that gives every request an id, lets in who may ask, and answers those that a drain or a
    mistake of ours cuts off.

    With a token, a request without it gets 401, but for /health, which then says no more than how the service is.
    Without one, any process of the machine may ask, but a page in a browser may not: the name under which it has
    reached a loopback address (DNS rebinding) is in the Host header, and none of ours.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], state: "ServiceState") -> None:
        self.app = app
        self.state = state
        self.token = state.token

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[..., Any]
    ) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id = headers.get(b"x-request-id", b"").decode("latin-1")[:100] or uuid.uuid4().hex
        trusted = self._trusts(headers)
        scope.setdefault("state", {}).update(request_id=request_id, trusted=trusted)

        begun = False

        async def with_id(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                if scope["path"] == "/run_code" and message["status"] in WORTH_REPEATING:
                    message["status"] = 504
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id.encode("latin-1"))]
            await send(message)

        if trusted or (self.token is not None and scope["path"] == "/health"):
            try:
                await self.app(scope, receive, with_id)
            except asyncio.CancelledError:
                if begun or not self.state.draining:
                    raise
                detail = "the service stops, and has no time left for this request"
                await JSONResponse({"detail": detail}, 503, RETRY_LATER)(scope, receive, with_id)
            except Exception:  # a mistake of ours: Starlette's own answer would not pass through here
                if not begun:
                    await JSONResponse({"detail": "Internal Server Error"}, 500)(scope, receive, with_id)
                raise  # to the log
        elif self.token is None:
            detail = "this host name is not served: use localhost, 127.0.0.1 or [::1], or a service with a token"
            await JSONResponse({"detail": detail}, 421)(scope, receive, with_id)
        else:
            detail = "the service's token is missing or wrong: send Authorization: Bearer TOKEN"
            await JSONResponse({"detail": detail}, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, with_id)

    def _trusts(self, headers: dict[bytes, bytes]) -> bool:
        if self.token is not None:
            return hmac.compare_digest(headers.get(b"authorization", b""), b"Bearer " + self.token.encode())
        try:
            host = urlsplit(f"//{headers.get(b'host', b'').decode('latin-1')}").hostname or ""
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            return False


@dataclass
class ServiceState:
    """The state that the routes share."""

    service: JudgeService
    settings: ServiceSettings
    protection: Protection
    reason: str
    """Why the protection is not full. Empty when it is."""
    token: str | None = None
    """What a client must know. None: nothing."""
    trouble: str = ""
    """Why the service can judge no more, as of its last proof. Empty when it can."""
    draining: bool = False
    started: float = field(default_factory=time.time)


def build_app(state: ServiceState) -> FastAPI:
    """The application over a service that is ready."""
    app = FastAPI(title="MaD-RL sandbox", summary="Compiles and runs programs against tests", docs_url="/docs")
    app.add_middleware(Edge, state=state)
    service, metrics = state.service, state.service.metrics
    bodies = Bodies(state.settings.max_body_mb << 20, state.settings.budget_mb << 20, service.pool.overloaded)

    @app.exception_handler(OverloadedError)
    async def overloaded(request: Request, error: OverloadedError) -> JSONResponse:
        metrics.rejected.labels(request.url.path).inc()
        return JSONResponse({"detail": str(error)}, 429, {"Retry-After": str(error.retry_after_s)})

    @app.exception_handler(OSError)
    async def out_of_descriptors(request: Request, error: OSError) -> JSONResponse:
        if error.errno not in OUT_OF_DESCRIPTORS:
            raise error
        return await overloaded(request, service.pool.overloaded())

    @app.exception_handler(BadRequestError)
    @app.exception_handler(SandboxError)
    async def refused(_: Request, error: Exception) -> JSONResponse:
        status = _status(error)
        # What is wrong may be told in the request's own words, which UTF-8 may not carry.
        detail = str(error).encode("utf-8", "replace").decode()
        return JSONResponse({"detail": detail}, status, RETRY_LATER if status == 503 else None)

    @app.exception_handler(TooLargeError)
    async def too_large(_: Request, __: Exception) -> JSONResponse:
        # The connection stays: a client whose connection is closed while it sends its body does not see the answer.
        # What it still sends is dropped, for at most HEAD_S.
        detail = f"the request is larger than {state.settings.max_body_mb} MiB (--max-body-mb)"
        return JSONResponse({"detail": detail}, 413)

    @app.exception_handler(SlowBodyError)
    async def too_slow(_: Request, __: Exception) -> JSONResponse:
        detail = f"the body of the request did not arrive in {BODY_S:.0f} s"
        return JSONResponse({"detail": detail}, 408, {"Connection": "close"})

    @app.exception_handler(ClientDisconnect)
    async def abandoned(request: Request, _: Exception) -> Response:
        count_abandoned(request)
        return Response(status_code=499)  # nobody reads it

    async def answered(request: Request, read: Callable[[bytes], Work], report: Callable[..., Report]) -> Response:
        started = time.monotonic()
        _check_type(request)
        with ExitStack() as files:
            async with bodies.of(request, files) as body:
                answer, asked = await unless_gone(request, _answer(service, body, files, read, report))
            content = answer.body if isinstance(answer.body, bytes) else answer.body.open("rb")
        note(request, asked, answer, time.monotonic() - started)
        if isinstance(content, bytes):
            return Response(content, media_type="application/json")
        return StreamingResponse(iter(partial(content.read, CHUNK_BYTES), b""), media_type="application/json")

    async def answered_in_lines(request: Request) -> Response:
        _check_type(request)
        async with AsyncExitStack() as held:
            with ExitStack() as received:
                body = await held.enter_async_context(bodies.of(request, received))
                if service.pool.full:
                    raise service.pool.overloaded()
                store = memory_file(held.enter_context(ExitStack()))
                items = await unless_gone(request, _items(body, store))
            # Two for each slot: one runs, and the next waits for its turn among other clients' requests.
            together = 2 * len(service.pool.workers)
            return Lines(items, partial(line, request), together, held.pop_all(), partial(count_abandoned, request))

    async def line(request: Request, item: Item, files: ExitStack) -> Iterable[bytes]:
        started = time.monotonic()
        try:
            if item.work is None:
                raise BadRequestError(item.problem)
            answer, asked = await _judged(service, item.work.loaded(), files, judge_report, waits=True)
            result = answer.body if isinstance(answer.body, bytes) else files.enter_context(answer.body.open("rb"))
        except (BadRequestError, SandboxError) as error:
            return [refusal_line(item, _status(error), str(error))]
        except OSError as error:
            if error.errno not in OUT_OF_DESCRIPTORS:
                raise
            return [refusal_line(item, 503, str(service.pool.overloaded()))]
        note(request, asked, answer, time.monotonic() - started, index=item.index)
        return result_line(item, result)

    def count_abandoned(request: Request) -> None:
        metrics.abandoned.labels(request.url.path).inc()

    def note(request: Request, asked: Asked, answer: Report, elapsed: float, **more: object) -> None:
        """Count a program that has its answer, and log it."""
        route = request.url.path
        metrics.duration.labels(route).observe(elapsed)
        metrics.queued.labels(route).observe(asked.queue_s)
        service.count(asked, answer)
        fields = {
            "request_id": request.state.request_id,
            "route": route,
            **more,
            "language": asked.language,
            "verdict": answer.verdict,
            "passed": answer.passed,
            "first_failed": answer.first_failed,
            "cached": asked.cached,
            "queue_s": round(asked.queue_s, 4),
            "wall_s": round(elapsed, 4),
        }
        if answer.verdict == "IE":
            log.error("judged", extra={"fields": {**fields, "message": answer.message}})
        else:
            log.info("judged", extra={"fields": fields})

    # The bodies are declared for the documentation, and read above.
    async def judge(body: JudgeRequest) -> None:
        """Compile once, run every test, compare: one verdict."""

    async def judge_batch(body: BatchRequest) -> None:
        """Judge many programs: one line of JSON (application/x-ndjson) for each, as soon as it is judged."""

    async def run_code(body: RunCodeRequest) -> None:
        """SandboxFusion's route: run a program once and give back what it printed."""

    for path, declared, model, handler in (
        ("/judge", judge, JudgeResponse, partial(answered, read=read_judge, report=judge_report)),
        ("/judge/batch", judge_batch, BatchLine, answered_in_lines),
        ("/run_code", run_code, RunCodeResponse, partial(answered, read=read_run_code, report=run_code_report)),
    ):
        app.router.add_api_route(
            path,
            declared,
            methods=["POST"],
            response_model=model,
            route_class_override=type("Route", (APIRoute,), {"get_route_handler": lambda _, handler=handler: handler}),
        )

    @app.get("/health")
    async def health(request: Request) -> JSONResponse:
        """Answer 200 while the service can judge; 503 with the reason when the last proof failed."""
        status, code = ("broken", 503) if state.trouble else ("ok", 200)
        if not request.state.trusted:
            return JSONResponse({"status": status}, code)
        missing = {name: why for name, why in service.missing.items() if not LANGUAGES[name].on_request}
        body = {
            "status": status,
            "trouble": state.trouble,
            "protection": state.protection,
            "protection_detail": state.reason,
            "backend": state.settings.backend,
            "java_loop": state.settings.java_loop,
            "languages": {
                name: name not in missing for name in LANGUAGES if name in missing or name not in service.missing
            },
            "missing": missing,
            "slots": len(service.pool.workers),
            "busy": service.pool.busy,
            "waiting": service.pool.waiting,
            "answered": service.answered,
            "queue_size": service.pool.queue_size,
            "uptime_s": round(time.time() - state.started, 1),
            "pid": os.getpid(),
            "run_folder": str(service.cache.folder),
        }
        return JSONResponse(body, code)

    @app.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """The languages that are served, with their aliases and toolchains."""
        return [
            {
                "name": name,
                "aliases": list(row.aliases),
                "available": name not in service.missing,
                "toolchain": service.toolchains[name].version if name in service.toolchains else None,
                "problem": service.missing.get(name),
            }
            for name, row in LANGUAGES.items()
        ]

    @app.get("/metrics")
    async def scrape() -> Response:
        """Prometheus text format."""
        metrics.queue.set(service.pool.waiting)
        metrics.busy.set(service.pool.busy)
        metrics.slots.set(len(service.pool.workers))
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return app


async def _answer(
    service: JudgeService,
    body: bytes | Path,
    files: ExitStack,
    read: Callable[[bytes], Work],
    report: Callable[[Asked, int], Report],
) -> tuple[Report, Asked]:
    """The answer to a request's body, and what it tells. What is large is in ``files``.

    Raises what JudgeService.do and ``read`` raise."""
    if isinstance(body, bytes):
        work = read(body)
    else:
        work = await aside(body.stat().st_size, read_stored, read, body, memory_file(files))
    return await _judged(service, work, files, report)


async def _items(body: bytes | Path, store: Path) -> list[Item]:
    """The programs of a batch, with their works in ``store``. Raises what read_batch raises."""
    if isinstance(body, bytes):
        return read_batch(body, store)
    return await aside(body.stat().st_size, read_batch, body, store)


async def _judged(
    service: JudgeService,
    work: Work,
    files: ExitStack,
    report: Callable[[Asked, int], Report],
    waits: bool = False,
) -> tuple[Report, Asked]:
    """What ``report`` makes of the work's results, and the results. What is large is in ``files``. Where the queue is
    full, waits for a place or raises OverloadedError. Raises what JudgeService.do raises, and SandboxError where the
    results cannot be told."""
    async with service.pool.admission(waits):
        asked = await service.do(work)
    if asked.size_bytes <= SMALL_BYTES:
        return report(asked, work.run.count), asked
    try:
        return await aside(asked.size_bytes, report_stored, report, asked, work.run.count, memory_file(files)), asked
    except BadRequestError as error:  # the request has been read: it is not at fault any more
        raise SandboxError("the answer takes too much memory to write") from error


def _check_type(request: Request) -> None:
    """Raises BadRequestError unless the body is declared as JSON: a page in a browser can send other types to any
    address unasked."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise BadRequestError("send the request with Content-Type: application/json")


def _status(error: Exception) -> int:
    """The HTTP status for a request that is refused with a BadRequestError or a SandboxError."""
    if isinstance(error, BadRequestError):
        return 422
    # After a 503 a client would try again at once, and would take a service that works for one that is down.
    if isinstance(error, LanguageNotServedError):
        return 501
    return 500 if isinstance(error, TranslatorLostError) else 503
