"""``python -m sandbox``: prepare the languages, prove each with a canary in the real sandbox, then serve."""

import argparse
import asyncio
import dataclasses
import logging
import os
import re
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from ipaddress import ip_address
from pathlib import Path

try:
    import uvicorn
except ModuleNotFoundError:
    sys.exit('sandbox: uvicorn is not installed: pip install "madrl[sandbox]"')

from sandbox import cgroups, state
from sandbox.box import Slot
from sandbox.cache import ArtifactCache
from sandbox.connection import HeadInTime
from sandbox.errors import SandboxError, ToolchainMissingError
from sandbox.judge_service import JudgeService, canary_problem
from sandbox.judging import CHECKER, COMPILER
from sandbox.languages import LANGUAGES, Toolchain
from sandbox.metrics import Metrics
from sandbox.pool import Pool, Worker
from sandbox.service import JsonLines, ServiceState, build_app
from sandbox.settings import Protection, ServiceSettings
from sandbox.translation import aside

UID_BASE = 65100
"""The user id of the first slot when the service is root. Each slot has a user of its own, from a range that Debian
reserves."""
RANGES = {
    "port": (0, 65_535),
    "slots": (1, 400),
    "queue_size": (0, 1_000_000),
    "cpu_weight": (1, 10_000),
    "cache_mb": (0, 1 << 30),
    "max_body_mb": (1, 1 << 20),
    "budget_mb": (1, 1 << 30),
    "drain_s": (0, 86_400),
}
"""Setting -> the least and the largest value that it takes."""
BACKLOG = 4096
PROVE_S = 60.0
"""Time between two proofs of what nobody has used in the meantime."""
CUT_OFF_S = 15.0
"""Time for requests that are cut off to tell their clients."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status: 0 after a drain, 2 when the service cannot start."""
    settings = parse(arguments)
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn.access").disabled = True
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, _stop_before_serving)
    # A request takes several descriptors, and the queue alone may hold more requests than the usual limit of 1,024.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        asyncio.run(serve(settings))
    except SandboxError as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 2
    return 0


def parse(arguments: Sequence[str] | None) -> ServiceSettings:
    """The settings from the command line."""
    parser = argparse.ArgumentParser(
        prog="madrl-sandbox", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    for setting in dataclasses.fields(ServiceSettings):
        parser.add_argument(f"--{setting.name.replace('_', '-')}", default=setting.default, **setting.metadata)
    parser.set_defaults(state_dir=state.default_state_folder())
    values = parser.parse_args(arguments)
    for name, (least, most) in RANGES.items():
        if not least <= (value := getattr(values, name)) <= most:
            parser.error(f"--{name.replace('_', '-')} {value}: {least} to {most}")
    if values.budget_mb < values.max_body_mb:
        parser.error(f"--budget-mb {values.budget_mb}: below --max-body-mb {values.max_body_mb}, the largest request")
    return ServiceSettings(**vars(values))


def _stop_before_serving(number: int, _: object) -> None:
    raise SystemExit(128 + number)


async def serve(settings: ServiceSettings) -> None:
    """Start, serve, drain. Raises SandboxError when the machine cannot give what was asked for."""
    async with AsyncExitStack() as stack:
        folder = state.open_state(settings.state_dir or state.default_state_folder())
        token = read_token(settings.token_file) if settings.token_file else None
        listener = stack.enter_context(bind(settings.host, settings.port, loopback_only=token is None))
        groups, protection, reason = protect(settings)
        if groups:
            stack.callback(groups.remove)
        native = state.native_tools(folder)
        run_folder = stack.enter_context(state.scratch_folder(folder))
        toolchains, missing = find_toolchains(folder, settings.java_loop)
        workers = []
        for index in range(settings.slots):
            scratch = run_folder / f"slot-{index}"
            scratch.mkdir()
            scratch.chmod(0o755)
            slot = Slot(
                native=str(native),
                backend=settings.backend,
                uid=UID_BASE + index if os.geteuid() == 0 else 0,
                groups=groups.add_slot((*toolchains, COMPILER, CHECKER)) if groups else {},
                nice=0 if groups or settings.cpu_weight >= 100 else 10,
                scratch=str(scratch),
            )
            workers.append(Worker(slot, toolchains))
            stack.push_async_callback(workers[-1].stop)
            await workers[-1].start()
        pool = Pool(workers, settings.queue_size)
        missing |= await canaries(pool, toolchains)
        for language, problem in sorted(missing.items()):
            if language in toolchains or not LANGUAGES[language].on_request:
                print(f"sandbox: {language}: not served: {problem}", file=sys.stderr)
        if len(missing) == len(LANGUAGES):
            raise SandboxError("no language works here")
        cache = ArtifactCache(run_folder, settings.cache_mb << 20)
        service = JudgeService(pool, cache, missing, Metrics())
        shared = ServiceState(service, settings, protection, reason, token)
        proving = asyncio.create_task(_keep_proving(shared))
        try:
            await _run_server(shared, settings, listener)
        finally:
            proving.cancel()
            await asyncio.wait([proving])


async def _keep_proving(shared: ServiceState) -> None:
    """Prove every PROVE_S that the service can still judge. A failure is told by /health, and taken back by a
    success."""
    while True:
        await asyncio.sleep(PROVE_S)
        before, missing = shared.trouble, set(shared.service.missing)
        try:
            shared.trouble = await shared.service.prove(PROVE_S)
        except Exception as error:  # whatever it is: this is what /health is asked for
            shared.trouble = f"cannot prove anything: {type(error).__name__} {error}"
        if shared.trouble != before:
            print(f"sandbox: {shared.trouble or 'all languages work again'}", file=sys.stderr)
        for language in sorted(missing - shared.service.missing.keys()):
            print(f"sandbox: {language}: served again", file=sys.stderr)


def read_token(file: Path) -> str:
    """The token that the file holds. Raises SandboxError when it holds none that is hard to guess."""
    try:
        token = file.read_text().strip()
    except (OSError, ValueError) as error:
        raise SandboxError(f"cannot read the token file {file}: {error}") from error
    if not re.fullmatch(r"[!-~]{16,1000}", token):
        raise SandboxError(f"{file} holds no token: write one, for example with: openssl rand -hex 32 > {file}")
    return token


def bind(host: str, port: int, loopback_only: bool) -> socket.socket:
    """A socket bound to the address, before anything else is done. Nobody can connect until the service is ready.

    Raises SandboxError when the address cannot be had, or is not a loopback address and has to be.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if loopback_only and not ip_address(address[0]).is_loopback:
            raise SandboxError(f"other machines reach {host}: name a file with a token for clients (--token-file)")
        listener = socket.socket(family, kind, number)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise _no_listener(host, port, error) from error
    return listener


def _no_listener(host: str, port: int, error: OSError) -> SandboxError:
    return SandboxError(f"cannot listen on {host}:{port} ({error}): is another service there?")


def protect(settings: ServiceSettings) -> tuple[cgroups.Cgroups | None, Protection, str]:
    """The cgroups, the level of protection, and why it is not a higher one. Raises SandboxError below ``require``."""
    groups, reason = None, "cgroups are switched off"
    if settings.cgroups:
        try:
            groups, reason = cgroups.create(settings.cpu_weight), ""
        except SandboxError as error:
            reason = f"no cgroups: {error}"
    level = Protection.FULL if groups else Protection.PORTABLE
    if settings.backend == "firejail":
        level, reason = Protection.WEAK, f"firejail backend; {reason}".rstrip("; ")
    if not level.at_least(settings.require):
        if groups:
            groups.remove()
        raise SandboxError(f"protection is {level} ({reason}), below --require {settings.require}")
    return groups, level, reason


def find_toolchains(folder: Path, java_loop: bool) -> tuple[dict[str, Toolchain], dict[str, str]]:
    """The toolchains that are installed, and for each of the other languages what to install."""
    found, missing = {}, {}
    for name, row in LANGUAGES.items():
        try:
            toolchain = row.toolchain(folder)
            found[name] = row.loop(folder, toolchain) if row.loop and java_loop else toolchain
        except ToolchainMissingError as error:
            missing[name] = str(error)
    return found, missing


async def canaries(pool: Pool, toolchains: dict[str, Toolchain]) -> dict[str, str]:
    """Compile and run each language's canary. Returns language -> what went wrong."""
    problems = await asyncio.gather(*(canary_problem(pool, language) for language in toolchains))
    return {language: problem for language, problem in zip(toolchains, problems, strict=True) if problem}


class _Server(uvicorn.Server):
    """A server whose requests learn that it drains, and that cuts them off at a second Ctrl-C."""

    shared: ServiceState

    def handle_exit(self, sig: int, frame: object) -> None:
        self.shared.draining = True
        super().handle_exit(sig, frame)  # type: ignore[arg-type]
        if self.force_exit:
            for task in self.server_state.tasks:
                if not task.cancelling():
                    task.cancel()


async def _run_server(shared: ServiceState, settings: ServiceSettings, listener: socket.socket) -> None:
    config = uvicorn.Config(
        build_app(shared),
        http=HeadInTime,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=round(settings.drain_s),
        backlog=BACKLOG,
    )
    # Starts the process that translates large requests, or the first of them would wait for it.
    await aside(0, len, b"")
    try:
        listener.listen(BACKLOG)
    except OSError as error:  # another service was bound to the address at the same time, and was ready first
        raise _no_listener(settings.host, settings.port, error) from error
    server = _Server(config)
    server.shared = shared
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, signal.SIG_IGN)  # uvicorn raises them again when it is done: draining is not dying
    languages = ", ".join(
        f"{name} ({chain.version})"
        for name, chain in shared.service.toolchains.items()
        if name not in shared.service.missing
    )
    address = "{}:{}".format(*listener.getsockname()[:2])
    print(
        f"sandbox: http://{address}, {settings.slots} slots, protection {shared.protection}, {languages}",
        file=sys.stderr,
    )
    await server.serve(sockets=[listener])
    if cut_off := server.server_state.tasks:
        await asyncio.wait(cut_off, timeout=CUT_OFF_S)


if __name__ == "__main__":
    sys.exit(main())
