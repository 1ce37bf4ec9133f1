"""What can be seen of the service from outside, as Prometheus reads it.

Labels are what the code knows beforehand: methods, templates of paths, classes of status. No name of a LARP,
table or character is among them, so that their number is bounded and nobody's business shows.
"""

from collections.abc import Callable, Iterator

from litestar.types import HTTPScope
from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from api.tracing import Tracing

MEDIA_TYPE = "text/plain"
CONTENT_TYPE = f"{MEDIA_TYPE}; version=0.0.4"  # the charset is added to whatever is text

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PATCH", "PUT", "DELETE"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_COMMANDS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000)


class Metrics:
    """The measures of one process, and its traces, if it has any. It is a `ledger.observing.Observer`, too."""

    def __init__(self, tracing: Tracing | None = None) -> None:
        self._tracing = tracing
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        GCCollector(registry=registry)
        self._requests = _counter(registry, "skuggbok_requests", "Requests answered.", "method", "route", "status")
        self._seconds = _seconds(
            registry, "skuggbok_request_seconds", "How long answers took, streams left out.", "method", "route"
        )
        self._events = _counter(registry, "skuggbok_events_recorded", "Events recorded.")
        self._races = _counter(registry, "skuggbok_append_conflicts", "Appends that another process was before.")
        self._commit = _seconds(registry, "skuggbok_commit_seconds", "How long commits took.")
        self._loads = _seconds(registry, "skuggbok_book_load_seconds", "How long loading a LARP took.")
        self._batch = Histogram(
            "skuggbok_batch_commands", "Commands recorded by a commit.", buckets=_COMMANDS, registry=registry
        )
        self._known = dict[tuple[str, str | None, int], tuple[Counter, Histogram]]()
        self._watched = _Watched()
        self.registry.register(self._watched)

    def watch(self, name: str, what: str, value: Callable[[], float]) -> None:
        """A gauge whose value is asked for whenever somebody looks. A later one replaces one of the same name."""
        self._watched.gauges[name] = (what, value)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)

    # ---- requests ----

    def answered(self, scope: HTTPScope, status: int, seconds: float, *, is_stream: bool) -> None:
        """A request was answered, in so many seconds. `status` 0: nobody was there any more."""
        if self._tracing is not None:
            self._tracing.answered(scope, status, seconds)
        method, route = scope["method"], scope.get("path_template")
        key = (method if method in _METHODS else "other", route, status // 100)
        children = self._known.get(key)
        if children is None:
            labels = (key[0], route or "none")
            of_class = f"{key[2]}xx" if status else "none"
            children = self._requests.labels(*labels, of_class), self._seconds.labels(*labels)
            self._known[key] = children
        children[0].inc()
        if not is_stream:
            children[1].observe(seconds)

    # ---- the writer's work ----

    def batch_written(self, larp: str, commands: int, events: int, seconds: float) -> None:
        self._batch.observe(commands)
        self._events.inc(events)
        self._commit.observe(seconds)
        if self._tracing is not None:
            self._tracing.batch_written(larp, commands, events, seconds)

    def race_lost(self, larp: str) -> None:
        self._races.inc()

    def book_loaded(self, larp: str, seconds: float) -> None:
        self._loads.observe(seconds)


class _Watched:
    """Gauges that are asked for."""

    def __init__(self) -> None:
        self.gauges = dict[str, tuple[str, Callable[[], float]]]()

    def collect(self) -> Iterator[Metric]:
        for name, (what, value) in self.gauges.items():
            yield GaugeMetricFamily(name, what, value=value())


def _counter(registry: CollectorRegistry, name: str, what: str, *labels: str) -> Counter:
    return Counter(name, what, labels, registry=registry)


def _seconds(registry: CollectorRegistry, name: str, what: str, *labels: str) -> Histogram:
    return Histogram(name, what, labels, buckets=_SECONDS, registry=registry)
