"""Traces: a span for each request and each commit, and nothing at all unless somebody asks for it."""

import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from litestar import Litestar
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from api import tracing
from api.app import create_app
from api.metrics import Metrics
from api.tracing import Tracing
from ledger.database import Database
from ledger.journal import Journals
from ledger.settings import Settings
from ledger.writer import Writers
from tests.api.support import BASE, NORTH, Api

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def metrics(exporter: InMemorySpanExporter) -> Metrics:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Metrics(Tracing(provider))


@pytest.fixture
async def writers(journals: Journals, metrics: Metrics) -> AsyncIterator[Writers]:
    made = Writers(journals, metrics)
    yield made
    await made.close()


@pytest.fixture
def app(database: Database, writers: Writers, metrics: Metrics) -> Litestar:
    return create_app(database, writers, Settings(), metrics=metrics)


async def test_a_request_and_its_commit_have_a_span_each(api: Api, exporter: InMemorySpanExporter) -> None:
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 1, "memo": "canary"}
    answer = await api.call("POST", f"{NORTH}/transfers", "alva", body, headers={"traceparent": PARENT})
    assert answer.is_success
    commit, request = exporter.get_finished_spans()
    assert commit.name == "commit"
    assert dict(commit.attributes or {}) == {"skuggbok.larp": "north", "skuggbok.commands": 1, "skuggbok.events": 1}
    assert request.name == f"POST {BASE}/larps/{{larp}}/transfers"
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == PARENT.split("-")[2]
    assert (request.attributes or {})["http.response.status_code"] == 201
    assert (request.attributes or {})["skuggbok.request_id"] == answer.headers["x-request-id"]
    assert request.start_time is not None
    assert commit.start_time is not None
    assert request.start_time <= commit.start_time, "it took at least as long"
    shown = commit.to_json() + request.to_json()
    assert "canary" not in shown
    assert api.tokens["alva"] not in shown


@pytest.mark.parametrize(
    "environ", [{}, {"PATH": "/bin"}, {"OTEL_TRACES_EXPORTER": "none"}, {"OTEL_SDK_DISABLED": "true"}]
)
def test_nobody_asked(environ: dict[str, str]) -> None:
    assert tracing.from_environment(environ) is None


def test_somebody_asked() -> None:
    made = tracing.from_environment({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    assert made is not None
    made.close()


def test_without_being_asked_nothing_of_it_is_loaded() -> None:
    code = "import sys, api.serving; print([m for m in sys.modules if m.startswith('opentelemetry.sdk')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
