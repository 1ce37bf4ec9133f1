"""Whatever is sent to whichever route, the answer is a problem or what was asked for, and never a fault of ours."""

from collections.abc import Iterator

import httpx
import pytest
from litestar import Litestar

from api.openapi import Described, operations
from tests.api.support import Api, problem
from tests.api.test_malformed import BODIES

PARAMETERS = {"larp": "north", "character": "alva", "table": "none", "token": "tok_none", "webhook": "wh_none"}
NAMES = ("%00", "%ff", "%ED%A0%80", "%F0%9F%A6%8A", "..%2f..", "%0a", "'", "a" * 5000, "-1", "9" * 400)
QUERIES = ("%00=1", "a=%ED%A0%80", "%ff", "=", "&&&", "limit=" + "9" * 400, "limit=1e9", "cursor=%00", "at=%00", "[]=x")
HEADERS = {
    "long": b"x" * 100_000,
    "not ASCII": b"\xff\xfe\x00\xed\xa0\x80",
    "control characters": b"a\x01b\x7f",
    "empty": b"",
    "quotes": b'"' * 3000,
    "commas": b"," * 3000,
    "a huge number": b'"' + b"9" * 5000 + b'"',
}
NAMES_OF_HEADERS = (
    *("authorization", "if-match", "if-none-match", "idempotency-key", "last-event-id", "accept", "accept-encoding"),
    *("content-type", "x-request-id", "x-forwarded-for", "origin", "range", "cookie", "host", "expect"),
)


def path_of(each: Described, **others: str) -> str:
    return each.path.format(**{"position": "1", **PARAMETERS, **others})


@pytest.fixture
def routes(app: Litestar) -> list[Described]:
    return list(operations(app))


def with_body(routes: list[Described]) -> Iterator[Described]:
    """Those whose body is one JSON object."""
    for each in routes:
        if each.body is not None and each.operation.body_media_type == "application/json":
            yield each


def require_no_fault(answer: httpx.Response, what: str) -> None:
    if answer.status_code >= 300:
        status, _ = problem(answer)
        assert status < 500, f"{what}: {answer.text[:300]}"


async def test_methods_that_a_path_does_not_know(api: Api, routes: list[Described]) -> None:
    for each in routes:
        known = {other.method.upper() for other in routes if other.path == each.path}
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "BREW"} - known:
            answer = await api.call(method, path_of(each), "organiser")
            assert problem(answer) == (405, "method_not_allowed"), f"{method} {each.path}"
            assert known <= set(answer.headers["allow"].split(", "))


async def test_options_and_head_are_answered_everywhere(api: Api, routes: list[Described]) -> None:
    for each in routes:
        known = {other.method.upper() for other in routes if other.path == each.path}
        answer = await api.call("OPTIONS", path_of(each), None)
        assert (answer.status_code, answer.content) == (204, b""), each.path
        allowed = known | {"OPTIONS"} | ({"HEAD"} if "GET" in known else set())
        assert answer.headers["allow"] == ", ".join(sorted(allowed))
        answer = await api.call("HEAD", path_of(each), "organiser")
        assert answer.content == b""
        assert answer.status_code in ((200, 404) if "GET" in known else (405,)), each.path


async def test_paths_that_are_none(client: httpx.AsyncClient) -> None:
    for path in (
        "/",
        "//",
        "/%00",
        "/%ff",
        "/..",
        "/api",
        "/api/v1/",
        "/api/v2/larps",
        "/" + "a" * 50_000,
        "/%2e%2e/x",
    ):
        for method in ("GET", "HEAD", "POST", "OPTIONS", "DELETE", "BREW"):
            answer = await client.request(method, path)
            assert answer.status_code in (404, 405), f"{method} {path[:20]}"
            if method != "HEAD":
                problem(answer)


async def test_names_in_every_path(api: Api, routes: list[Described]) -> None:
    for each in routes:
        for parameter in (part[1:-1] for part in each.path.split("/") if part.startswith("{")):
            for name in NAMES:
                path = path_of(each, **{parameter: name})
                body = {} if each.body is not None else None
                require_no_fault(await api.call(each.method.upper(), path, "organiser", body), f"{each.id} {path[:80]}")


async def test_queries_at_every_route(api: Api, routes: list[Described]) -> None:
    for each in routes:
        for query in QUERIES:
            answer = await api.call(each.method.upper(), f"{path_of(each)}?{query}", "organiser")
            if each.operation.access is not None:
                assert problem(answer)[0] in (400, 403, 404, 415), f"{each.id} {query}: {answer.text[:200]}"
            require_no_fault(answer, f"{each.id} {query}")


async def test_bodies_that_no_route_takes(api: Api, routes: list[Described]) -> None:
    head = await api.head()
    for each in with_body(routes):
        for name, content in BODIES.items():
            answer = await api.call(each.method.upper(), path_of(each), "organiser", content=content)
            assert problem(answer)[0] in (400, 403, 404), f"{each.id} {name}: {answer.text[:200]}"
    assert await api.head() == head


async def test_formats_that_no_route_takes(api: Api, routes: list[Described]) -> None:
    for each in with_body(routes):
        for kind in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "application/", "x" * 5000):
            answer = await api.call(
                each.method.upper(), path_of(each), "organiser", content=b"{}", headers={"content-type": kind}
            )
            assert problem(answer)[0] in (415, 403), f"{each.id} {kind[:20]}"


async def test_headers_at_every_route(api: Api, routes: list[Described]) -> None:
    """As they might come through a server that lets more through than ours."""
    for each in routes:
        if each.id == "run_commands":
            continue
        for name in NAMES_OF_HEADERS:
            what, value = list(HEADERS.items())[(len(each.id) + len(name)) % len(HEADERS)]
            sent = [(b"authorization", f"Bearer {api.tokens['organiser']}".encode()), (name.encode(), value)]
            request = api.client.build_request(each.method.upper(), path_of(each))
            request.headers = httpx.Headers([(b"host", b"x"), *sent])
            require_no_fault(await api.client.send(request), f"{each.id} {name} {what}")
    for name in NAMES_OF_HEADERS:
        for what, value in HEADERS.items():
            request = api.client.build_request("GET", "/api/v1/larps/north/events")
            token = f"Bearer {api.tokens['organiser']}".encode()
            request.headers = httpx.Headers([(b"host", b"x"), (b"authorization", token), (name.encode(), value)])
            require_no_fault(await api.client.send(request), f"{name} {what}")
