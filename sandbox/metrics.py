"""Prometheus metrics of one service."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """The metrics, whose names start with ``sandbox_``. Rates and shares are left to queries."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        r = self.registry
        self.verdicts = Counter("sandbox_verdicts", "Programs by verdict", ["language", "verdict"], registry=r)
        self.tests = Counter("sandbox_tests", "Tests run", ["language"], registry=r)
        self.cache = Counter("sandbox_compile_cache", "Compile cache look-ups", ["language", "result"], registry=r)
        self.cache_bytes = Gauge("sandbox_compile_cache_bytes", "Size of the compiled programs kept", registry=r)
        self.cpu = Counter("sandbox_cpu_seconds", "CPU time of programs", ["language", "phase"], registry=r)
        self.rejected = Counter("sandbox_rejected", "Requests turned away by a full queue", ["route"], registry=r)
        self.abandoned = Counter("sandbox_abandoned", "Requests whose client left", ["route"], registry=r)
        self.queue = Gauge("sandbox_queue_depth", "Requests that wait for a slot", registry=r)
        self.busy = Gauge("sandbox_busy_slots", "Slots in use", registry=r)
        self.slots = Gauge("sandbox_slots", "Slots", registry=r)
        buckets = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
        self.duration = Histogram(
            "sandbox_request_seconds", "From the request to its answer", ["route"], buckets=buckets, registry=r
        )
        self.queued = Histogram(
            "sandbox_queue_seconds", "Time that a request waited for a slot", ["route"], buckets=buckets, registry=r
        )
