"""Traces by OpenTelemetry: a span for each request and each commit, if it is installed and OTEL_ variables ask for it.

Spans are made when what they tell of is over, with its times: nothing is carried along meanwhile, and without
OpenTelemetry nothing is done at all. They hold templates of paths, never names, bodies or tokens.
Source: OpenTelemetry's semantic conventions for HTTP servers, 1.29.
"""

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import structlog
from litestar.types import HTTPScope

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

log = structlog.get_logger()

_NANOSECONDS = 1_000_000_000
_CONTEXT = frozenset({b"traceparent", b"tracestate"})


class Tracing:
    """The spans of one process. Its methods are called when something is over and took so many seconds."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("skuggbok")

    def answered(self, scope: HTTPScope, status: int, seconds: float) -> None:
        """A request: a child of the span that its `traceparent` names."""
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carried = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _CONTEXT}
        route, end = scope.get("path_template"), time.time_ns()
        span = self._tracer.start_span(
            f"{scope['method']} {route}" if route else scope["method"],
            context=TraceContextTextMapPropagator().extract(carried) if carried else None,
            kind=SpanKind.SERVER,
            start_time=end - int(seconds * _NANOSECONDS),
            attributes={
                "http.request.method": scope["method"],
                "http.route": route or "none",
                "http.response.status_code": status,
                "skuggbok.request_id": str(scope["state"].get("request_id", "")),
            },
        )
        if status >= 500:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)

    def batch_written(self, larp: str, commands: int, events: int, seconds: float) -> None:
        """A commit, which belongs to all requests whose commands it holds, and so to none of them."""
        end = time.time_ns()
        span = self._tracer.start_span(
            "commit",
            start_time=end - int(seconds * _NANOSECONDS),
            attributes={"skuggbok.larp": larp, "skuggbok.commands": commands, "skuggbok.events": events},
        )
        span.end(end)

    def close(self) -> None:
        """Send what was not sent yet."""
        self._provider.shutdown()


def from_environment(environ: Mapping[str, str] = os.environ) -> Tracing | None:
    """None unless some OTEL_ variable is set, the extra `otel` is installed, and neither says no."""
    asked = any(name.startswith("OTEL_") for name in environ)
    exporter = environ.get("OTEL_TRACES_EXPORTER", "otlp")
    if not asked or environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or exporter == "none":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("tracing_not_installed", wanted="skuggbok[otel]")
        return None
    name = environ.get("OTEL_SERVICE_NAME", "skuggbok")
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)
