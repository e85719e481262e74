"""A fleet of sandboxes on the nodes of a Ray cluster, the one that trains for example: a service on each node, several
on a large one.

An actor installs the toolchains on its node, starts the real service there, watches it and starts it again when it has
ended or takes no programs any more. Programs travel from who grades them straight to a service over HTTP: Ray only
places. The process that calls ``place`` keeps the list of the services' addresses in a file on a file system that all
nodes see, which clients read again and again (``file:`` of madrl.grading.programs.fleet). A node that leaves the
cluster leaves the list, and one that joins it gets a service.
"""

import os
import secrets
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

from madrl.errors import MadrlError
from madrl.files import locked, write_text
from madrl.grading.programs.own_sandbox import START_S, OwnSandbox, install_languages, shares_of, start_sandbox
from madrl.grading.programs.program import TOKEN_FILE_VARIABLE
from madrl.grading.programs.sandbox_health import health_of
from madrl.process import told_to_stop
from madrl.trainer.cluster import forwarded, join
from madrl.trainer.ray_cpus import CPUS_PER_GPU

LOOK_S = 2.0
"""Each node is asked for its service so often."""

UNWELL_S = 180.0
"""A service that takes no programs for so long is started again. It proves itself every minute, and a machine may be
busy."""

LONGEST_PAUSE_S = 60.0
"""The longest wait before a service that ends again and again is started once more."""

CPUS_PER_NODE = 12
"""The cores that a node keeps beside those of its GPUs: for veRL's agent loops, reward workers, queue and Ray."""


class Seen(NamedTuple):
    """What an actor found on its node."""

    url: str | None
    """Where its service takes programs; None while it has none that ever did."""
    trouble: str = ""
    """What is wrong with it; empty when nothing is."""


class Judge:
    """The actor: one service, which ends with it."""

    def __init__(self, folder: str, name: str, slots: int) -> None:
        self._folder, self._name, self._slots = Path(folder), name, slots
        self._service: OwnSandbox | None = None
        self._has_toolchains = self._was_well = False
        self._well_at = self._not_before = 0.0
        self._ends, self._trouble = 0, "it starts"

    def look(self) -> Seen:
        """The service as it is now, after it was started, or started again, where that was due."""
        service, now = self._service, time.monotonic()
        if service is not None and (code := service.process.poll()) is not None:
            self._ended(f"it has ended with exit code {code}: see {self._log}")
        elif service is not None:
            trouble = health_of([service.url])[0].trouble
            if not trouble:
                self._was_well, self._well_at, self._ends, self._trouble = True, time.monotonic(), 0, ""
            elif now - self._well_at > (UNWELL_S if self._was_well else START_S):
                service.process.kill()
                service.process.wait()
                self._ended(f"it took no programs for too long ({trouble}): see {self._log}")
            elif self._was_well:
                self._trouble = trouble
        if self._service is None and now >= self._not_before:
            self._start()
        return Seen(self._service.url if self._service and self._was_well else None, self._trouble)

    @property
    def _log(self) -> Path:
        return self._folder / f"{self._name}.log"

    def _ended(self, trouble: str) -> None:
        self._service, self._was_well, self._trouble = None, False, trouble
        self._not_before = time.monotonic() + min(LONGEST_PAUSE_S, 2.0**self._ends - 1)
        self._ends += 1

    def _start(self) -> None:
        import ray

        try:
            if not self._has_toolchains:
                install_languages(self._folder / f"{self._name}.install.log")
                self._has_toolchains = True
            self._service = start_sandbox(ray.util.get_node_ip_address(), self._log, self._slots)
            self._well_at = time.monotonic()
        except (MadrlError, OSError) as error:
            self._ended(str(error))


class _Placed:
    """What ``place`` knows of one service: its actor, the look that is under way, and what the last one found."""

    def __init__(self, node: dict[str, Any], part: int, folder: Path, slots: int) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.slots = slots
        self.name = f"{node['NodeManagerHostname']}-{node['NodeID'][:8]}-{part}"
        options: dict[str, Any] = {
            "num_cpus": slots,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
            "max_restarts": -1,
        }
        self._actor = ray.remote(Judge).options(**options).remote(str(folder), self.name, slots)
        self._look: Any = self._actor.look.remote()
        self.seen = Seen(None, f"it waits for {slots} CPUs of its node, or installs what it needs")

    def look(self) -> bool:
        """Take what the last look found, if it is over, and begin the next. Returns whether anything has changed."""
        import ray

        before = self.seen
        if not ray.wait([self._look], timeout=0)[0]:
            return False
        try:
            self.seen = ray.get(self._look)
        except ray.exceptions.RayError as error:
            self.seen = Seen(None, f"its actor has failed and starts again ({type(error).__name__})")
        self._look = self._actor.look.remote()
        return self.seen != before

    def end(self) -> None:
        """End the actor, and its service with it."""
        import ray

        ray.kill(self._actor)


def place(address: str, folder: Path, slots: int | None) -> None:
    """Keep sandboxes on every node of the Ray cluster at ``address`` until this process is told to stop, and their
    addresses in ``folder/urls``, which appears as soon as all of the beginning take programs, or after START_S some of
    them. ``folder`` lies on a file system that all nodes see; the services' logs are in it, and the token that they
    want in ``folder/token``, unless MADRL_SANDBOX_TOKEN_FILE names another.

    Each node judges ``slots`` programs at a time, for which it has as many CPUs less for what else Ray places; when it
    is None, its CPUs but madrl.trainer.ray_cpus.CPUS_PER_GPU for each GPU and CPUS_PER_NODE, and 1 at least.

    Raises MadrlError when the cluster cannot be joined, when another such process keeps ``folder``, and when no service
    takes programs after START_S.
    """
    import ray

    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    urls, token = folder / "urls", folder / "token"
    with told_to_stop(signal.SIGTERM, signal.SIGINT) as told, locked(folder / ".lock", f"another fleet is in {folder}"):
        urls.unlink(missing_ok=True)
        is_ours = not os.environ.get(TOKEN_FILE_VARIABLE)
        if is_ours:
            token.unlink(missing_ok=True)
            token.touch(mode=0o600)
            token.write_text(f"{secrets.token_hex(32)}\n")
            os.environ[TOKEN_FILE_VARIABLE] = str(token)
        try:
            join(address, runtime_env={"env_vars": forwarded()}, log_to_driver=False, logging_level="ERROR")
            _keep(folder, slots, told)
        finally:
            ray.shutdown()  # the actors end with the job, and the services with them
            urls.unlink(missing_ok=True)
            if is_ours:
                token.unlink(missing_ok=True)


def _keep(folder: Path, slots: int | None, told: list[signal.Signals]) -> None:
    import ray

    fleet: dict[str, list[_Placed]] = {}
    written, until = None, time.monotonic() + START_S
    while not told:
        nodes = {node["NodeID"]: node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")}
        for lost in fleet.keys() - nodes.keys():
            for service in fleet.pop(lost):
                print(f"{service.name}: its node has left the cluster", flush=True)
                service.end()
        for new in nodes.keys() - fleet.keys():
            shares = shares_of(slots or slots_of(nodes[new]["Resources"]))
            fleet[new] = [_Placed(nodes[new], part, folder, share) for part, share in enumerate(shares)]
        services = [service for node in fleet.values() for service in node]
        for service in services:
            if service.look():
                said = service.seen.trouble or f"{service.seen.url}, {service.slots} slots"
                print(f"{service.name}: {said}", flush=True)
        well = [service for service in services if service.seen.url]
        late = time.monotonic() > until
        if written is None and late and not well:
            troubles = "; ".join(f"{service.name}: {service.seen.trouble}" for service in services)
            raise MadrlError(
                f"no sandbox takes programs after {START_S:.0f} s: {troubles or 'the cluster has no CPUs'}"
            )
        text = "".join(f"{service.seen.url}  # {service.name}, {service.slots} slots\n" for service in well)
        if text != written and (written is not None or late or len(well) == len(services)):
            write_text(folder / "urls", text)
            written = text
            print(f"{len(well)} of {len(services)} sandboxes take programs: {folder}/urls", flush=True)
        time.sleep(LOOK_S)


def slots_of(resources: dict[str, float]) -> int:
    """The programs that a node with Ray's ``resources`` judges at a time."""
    return max(1, int(resources["CPU"] - CPUS_PER_GPU * resources.get("GPU", 0) - CPUS_PER_NODE))
