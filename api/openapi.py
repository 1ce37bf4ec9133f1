"""The OpenAPI 3.1 document, made once from the routes themselves.

Types become schemas by msgspec, which decodes by the same types; what a handler's docstring says is its description.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata, resources
from typing import Any, get_origin, get_type_hints

import msgspec
from litestar import Litestar, Response
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from msgspec import Struct

from api import schemas
from api.errors import (
    RateLimited,
    RequestTimeout,
    ServiceUnavailable,
    TooLarge,
    Unauthenticated,
    UnsupportedMediaType,
    title,
)
from api.operations import Operation
from api.problems import MEDIA_TYPE, type_of
from api.webhooks import documented
from api.webhooks.message import CloudEvent
from ledger.errors import Forbidden, Malformed, Refused, UnknownLarp

Json = dict[str, Any]

JSON = "application/json"
_DESCRIPTION = """\
Every roll, claim, challenge and transfer of a LARP is an event in its journal; purses, pots and debts follow from it.

Writes are answered once they are durable. Whatever is not carried out is answered with `application/problem+json`
and changes nothing; of several reasons the first in this order is told: 401, 403, 400, 404, 409. Times are RFC 3339;
amounts are whole numbers. Every answer carries `X-Request-ID`.
"""
_TAGS: Mapping[str, str] = {
    "LARPs": "Each with a journal of its own.",
    "Tokens": "Who may ask, and for what.",
    "Characters and assets": "Who and what there is.",
    "Purses": "What characters have, owe and are owed.",
    "Money": "Tokens moved by hand, and corrections.",
    "Notes": "IOUs: who owes whom what.",
    "Tables": "Games, played.",
    "Journal": "What happened, event by event.",
    "Batches": "Many commands at once.",
    "Webhooks": "Events, sent to where other tools want them.",
    "Health": "Probes.",
}
_PATH_PARAMETERS: Mapping[str, Json] = {
    "larp": {"$ref": "#/components/parameters/larp"},
    "character": {"$ref": "#/components/parameters/character"},
    "table": {"$ref": "#/components/parameters/table"},
    "token": {"$ref": "#/components/parameters/token"},
    "webhook": {"$ref": "#/components/parameters/webhook"},
    "position": {"$ref": "#/components/parameters/position"},
}
_SENT = "webhook event"
_EVERYWHERE: tuple[type[Refused], ...] = (ServiceUnavailable,)
_WITH_TOKEN: tuple[type[Refused], ...] = (Unauthenticated, RateLimited, Forbidden, Malformed)
_WITH_BODY: tuple[type[Refused], ...] = (RequestTimeout, TooLarge, UnsupportedMediaType)


class Described(Struct, frozen=True):
    """A route, as far as the document is concerned."""

    path: str
    method: str
    handler: HTTPRouteHandler
    operation: Operation

    @property
    def id(self) -> str:
        return str(self.handler.fn.__name__)

    @property
    def body(self) -> Any:
        """What the body is decoded as, None where there is none."""
        field = self.handler.parsed_data_field
        return self.operation.body if field is None else field.annotation

    @property
    def answer(self) -> Any:
        """What the answer's JSON is, None where there is none."""
        if self.operation.answer is not None:
            return self.operation.answer
        returned = get_type_hints(self.handler.fn)["return"]
        returned = returned.__args__[0] if get_origin(returned) is Response else returned
        return None if returned is type(None) else returned

    @property
    def types(self) -> Mapping[str, Any]:
        """Everything that needs a schema, by names that are this route's."""
        kinds = {"body": self.body, "answer": self.answer, "query": self.operation.query}
        return {self.named(kind): type_ for kind, type_ in kinds.items() if type_ is not None}

    def named(self, kind: str) -> str:
        return f"{self.id} {kind}"


def document(app: Litestar) -> bytes:
    """The document as JSON."""
    described = list(operations(app))
    types = {name: type_ for each in described for name, type_ in each.types.items()}
    made = schemas.of(types | {_SENT: CloudEvent})
    # Queries are documented parameter by parameter.
    queries = {made.component(each.named("query")) for each in described if each.operation.query is not None}
    paths: dict[str, Json] = {}
    for each in described:
        paths.setdefault(each.path, {})[each.method] = _operation(each, made, _examples())
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Skuggbok",
                "version": _version(),
                "summary": "The ledger of a LARP's games.",
                "description": _DESCRIPTION,
                "license": {"name": "MIT", "identifier": "MIT"},
            },
            "servers": [{"url": "/"}],
            "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
            "security": [{"token": []}],
            "paths": paths,
            "webhooks": documented.webhooks(made.named[_SENT], documented.example(_examples()["get_event"]["answer"])),
            "components": {
                "schemas": {name: schema for name, schema in made.components.items() if name not in queries},
                "parameters": _parameters(),
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer", "description": "A token, such as `skb_...`."}
                },
            },
        }
    )


def _version() -> str:
    """Of the distribution; a source tree that was never installed has none."""
    try:
        return metadata.version("skuggbok")
    except metadata.PackageNotFoundError:
        return "0"


def operations(app: Litestar) -> Iterator[Described]:
    """Every documented route, by path and method; of a route with several paths the first."""
    seen = set()
    for route in sorted((r for r in app.routes if isinstance(r, HTTPRoute)), key=lambda r: (len(r.path), r.path)):
        for handler in route.route_handlers:
            operation = handler.opt.get("operation")
            if not isinstance(operation, Operation):
                continue
            path = sorted(handler.paths)[0] if len(handler.paths) > 1 else route.path_format
            (method,) = handler.http_methods - {"HEAD"}
            if (path, method) not in seen:
                seen.add((path, method))
                yield Described(path, method.lower(), handler, operation)


def _examples() -> Mapping[str, Mapping[str, Any]]:
    """A request and an answer for each operation, from an evening that was really played."""
    text = (resources.files("api") / "assets" / "examples.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, dict[str, Any]])


def _operation(each: Described, made: schemas.Schemas, examples: Mapping[str, Mapping[str, Any]]) -> Json:
    operation, example = each.operation, examples.get(each.id, {})
    summary, _, more = inspect.cleandoc(each.handler.fn.__doc__ or "").partition("\n")
    described: Json = {
        "operationId": each.id,
        "tags": [operation.tag],
        "summary": summary.rstrip("."),
        "description": "\n\n".join(text for text in (more.strip(), _who(operation)) if text),
        "parameters": [*_path_parameters(each.path), *_query_parameters(each, made), *_conditions(operation)],
        "responses": {**_answer(each, made, example), **_problems(each)},
    }
    if each.body is not None:
        content = {"schema": made.named[each.named("body")], "example": example.get("request")}
        described["requestBody"] = {"required": True, "content": {operation.body_media_type: content}}
    if operation.access is None:
        described["security"] = []
    return described


def _who(operation: Operation) -> str:
    if operation.access is None:  # a route that asks for a token by itself says to whom it is open
        return "" if Unauthenticated in operation.refuses else "Open to anybody."
    roles = (
        f"{role} (own only)" if role == "player" and role in operation.access.restricted else role
        for role in operation.access.roles
    )
    return f"Roles: {', '.join(roles)}."


def _answer(each: Described, made: schemas.Schemas, example: Mapping[str, Any]) -> Json:
    status = str(each.handler.status_code)
    if each.answer is None:
        return {status: {"description": "Done."}}
    content = {"schema": made.named[each.named("answer")], "example": example.get("answer")}
    answer: Json = {
        "description": "Recorded, durably." if status == "201" else "What was asked for.",
        "content": {each.operation.media_type: content},
    }
    if "limit" in getattr(each.operation.query, "__struct_fields__", ()):
        answer["headers"] = {
            "Link": {
                "description": 'The next page, rel="next"; absent on the last.',
                "schema": {"type": "string"},
            }
        }
    answers = {status: answer}
    if each.operation.is_conditional:
        answers["200"] = {**answer, "description": "Recorded before, when the same key was used."}
    return answers


# ---- parameters ----


def _parameters() -> Json:
    """Names in paths."""
    slug = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$", "maxLength": 64}
    return {
        "IdempotencyKey": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "The same key and body again: the first receipt again, with 200; nothing is recorded twice.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        },
        "IfMatch": {
            "name": "If-Match",
            "in": "header",
            "description": "A position in quotes: 412 if the table, or else the journal, has moved on from it.",
            "schema": {"type": "string"},
            "example": '"42"',
        },
        "larp": {**_in_path("larp", "a LARP"), "schema": slug, "example": "ravenmoor"},
        "character": {**_in_path("character", "a character"), "schema": slug, "example": "alva"},
        "table": {**_in_path("table", "a game table"), "schema": slug, "example": "eagle"},
        "token": {
            **_in_path("token", "a token's id"),
            "schema": slug,
            "example": "tok_019acd3e5f4b7d10a1b2c3d4e5f60718",
        },
        "webhook": {
            **_in_path("webhook", "a webhook's id"),
            "schema": slug,
            "example": "whk_01a229736d0177f2b4c8d1e0a9f35b62",
        },
        "position": {
            **_in_path("position", "a position in the journal"),
            "schema": {"type": "integer", "minimum": 1},
            "example": 7,
        },
    }


def _in_path(name: str, what: str) -> Json:
    return {"name": name, "in": "path", "required": True, "description": what}


def _path_parameters(path: str) -> list[Json]:
    return [_PATH_PARAMETERS[part[1:-1]] for part in path.split("/") if part.startswith("{")]


def _query_parameters(each: Described, made: schemas.Schemas) -> list[Json]:
    if each.operation.query is None:
        return []
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in made.properties(each.named("query")).items()
    ]


def _conditions(operation: Operation) -> list[Json]:
    """The headers of conditional writes."""
    names = ("IdempotencyKey", "IfMatch") if operation.is_conditional else ()
    return [{"$ref": f"#/components/parameters/{name}"} for name in names]


# ---- problems ----


def _problems(each: Described) -> Json:
    """The refusals by status, each with an example."""
    refusals = [*each.operation.refuses, *_EVERYWHERE]
    if each.operation.access is not None:
        refusals += [*_WITH_TOKEN, UnknownLarp] if "{larp}" in each.path else _WITH_TOKEN
    if each.body is not None:
        refusals += _WITH_BODY
    by_status: dict[int, dict[str, type[Refused]]] = {}
    for refusal in refusals:
        by_status.setdefault(refusal.status, {}).setdefault(refusal.code, refusal)
    return {str(status): _problem(list(by_status[status].values())) for status in sorted(by_status)}


def _problem(refusals: Sequence[type[Refused]]) -> Json:
    refusals = sorted(refusals, key=lambda refusal: refusal.code)
    return {
        "description": "\n".join(f"- `{refusal.code}`: {title(refusal)}" for refusal in refusals),
        "content": {
            MEDIA_TYPE: {
                "schema": {"$ref": f"#/components/schemas/{schemas.PROBLEM}"},
                "example": {
                    "type": type_of(refusals[0].code),
                    "title": title(refusals[0]),
                    "status": refusals[0].status,
                    "detail": f"{title(refusals[0])}.",
                    "code": refusals[0].code,
                },
            }
        },
    }
