"""The OpenAPI document says what the service does."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest
from litestar import Litestar
from litestar.routes import HTTPRoute

from api import schemas
from api.openapi import Described, _examples, operations
from ledger import wire
from ledger.book import BY_NAME, EVENTS
from ledger.games import GAMES
from ledger.messages import Command
from ledger.recorded import split_tag
from tests.api.support import BASE, Api

Json = Any
EXPORTED = ("application/x-ndjson", "text/csv", "text/plain")
LARGE = 1_000_000
"""Bytes that nobody wants to load on a phone."""


@pytest.fixture
async def document(client: httpx.AsyncClient) -> Json:
    answer = await client.get("/schema/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert len(answer.content) < LARGE
    return answer.json()


def nodes(value: Json) -> Iterator[dict[str, Json]]:
    """Every object in the document, but for examples, which are nobody's schema."""
    if isinstance(value, dict):
        yield value
        for key, below in value.items():
            if key not in ("example", "examples", "default"):
                yield from nodes(below)
    elif isinstance(value, list):
        for below in value:
            yield from nodes(below)


def each_operation(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def test_every_route_of_the_api_is_documented(app: Litestar) -> None:
    documented = {(each.path, each.method.upper()) for each in operations(app)}
    served = {
        (route.path_format, method)
        for route in app.routes
        if isinstance(route, HTTPRoute) and route.path.startswith(BASE)
        for method in route.methods
        if method not in ("HEAD", "OPTIONS")
    }
    assert documented == served


async def test_it_is_openapi_3_1(document: Json) -> None:
    assert document["openapi"] == "3.1.0"
    assert {"title", "version", "description", "license"} <= document["info"].keys()
    ids = [operation["operationId"] for _, _, operation in each_operation(document)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", id_) for id_ in ids)
    tags = {tag["name"] for tag in document["tags"]}
    assert {tag for _, _, operation in each_operation(document) for tag in operation["tags"]} == tags


async def test_every_reference_leads_somewhere_and_every_component_is_used(document: Json) -> None:
    text = json.dumps(document)
    for reference in set(re.findall(r'"(#/[^"]+)"', text)):
        found = document
        for part in reference.split("/")[1:]:
            found = found[part]
        assert found, reference
    for kind in ("schemas", "parameters"):
        for name in document["components"][kind]:
            assert f'"#/components/{kind}/{name}"' in text, f"nothing refers to {name}"
            assert re.fullmatch(r"[A-Za-z]+", name), f"{name} is no clean name"


async def test_every_operation_says_all_there_is_to_say(document: Json) -> None:
    for path, method, operation in each_operation(document):
        where = f"{method} {path}"
        assert operation["summary"], where
        assert operation["description"], where
        parameters = [p for p in operation["parameters"] if "$ref" in p]
        names = [p["$ref"].rpartition("/")[2] for p in parameters]
        in_path = [name for name in names if document["components"]["parameters"][name]["in"] == "path"]
        assert in_path == re.findall(r"{(\w+)}", path), where
        responses = operation["responses"]
        assert "503" in responses, where
        if operation.get("security") != []:
            assert {"400", "401", "403", "503"} <= responses.keys(), where
        if "requestBody" in operation:
            assert {"413", "415"} <= responses.keys(), where
            (kind,) = operation["requestBody"]["content"]
            assert kind == (
                "application/x-ndjson" if operation["operationId"] == "run_commands" else "application/json"
            )
        for status, response in responses.items():
            (kind,) = response.get("content", {"none": None})
            wanted = "none" if status == "204" else "application/json" if status < "300" else "application/problem+json"
            assert kind == wanted or (status == "200" and kind in EXPORTED), f"{where} {status}"
            assert response["description"], where


async def test_everything_has_an_example(document: Json) -> None:
    for path, method, operation in each_operation(document):
        answers = [r["content"] for r in operation["responses"].values() if "content" in r]
        for content in [*answers, operation.get("requestBody", {"content": {}})["content"]]:
            for media in content.values():
                assert media["example"] is not None, f"{method} {path}"


def test_the_examples_are_what_the_types_say(app: Litestar) -> None:
    """A request in an example is decoded as a request is; an answer as its type."""
    examples = _examples()
    described = {each.id: each for each in operations(app)}
    assert set(examples) <= set(described)
    for id_, example in examples.items():
        if "request" in example:
            _decode_request(described[id_], msgspec.json.encode(example["request"]))
        msgspec.json.decode(msgspec.json.encode(example["answer"]), type=described[id_].answer)
        for event in example["answer"].get("events", []) if isinstance(example["answer"], dict) else []:
            assert (event["type"], event["version"]) in {split_tag(each.TYPE) for each in EVENTS}


def _decode_request(each: Described, content: bytes) -> None:
    if each.id == "act":
        wire.decoder_of(*BY_NAME["skuggkast"].actions).decode(content)
    else:
        msgspec.json.decode(content, type=each.body)


async def test_unions_are_told_apart_by_their_tag(document: Json) -> None:
    """Every branch of a `oneOf` requires the tag, as the one constant that the mapping names."""
    schemas_ = document["components"]["schemas"]
    found = [node for node in nodes(document) if "discriminator" in node]
    assert len(found) >= 3 + len(GAMES)
    for node in found:
        tag, mapping = node["discriminator"]["propertyName"], node["discriminator"]["mapping"]
        assert [branch["$ref"] for branch in node["oneOf"]] == list(mapping.values())
        for value, reference in mapping.items():
            branch = schemas_[reference.rpartition("/")[2]]
            assert branch["properties"][tag] == {"type": "string", "const": value}
            assert tag in branch["required"]
    assert set(schemas_["Event"]["discriminator"]["mapping"]) == {split_tag(event.TYPE)[0] for event in EVENTS}
    assert set(schemas_["Table"]["discriminator"]["mapping"]) == {game.name for game in GAMES}
    for game in GAMES:
        words = {action.__struct_config__.tag for action in game.actions}
        assert set(schemas_[f"{game.name.title()}Action"]["discriminator"]["mapping"]) == words


async def test_what_is_sent_has_no_unknown_keys(app: Litestar, document: Json) -> None:
    """Every object that a request may hold is closed, and names no command: the path does."""
    schemas_ = document["components"]["schemas"]
    waiting = [
        operation["requestBody"]
        for _, _, operation in each_operation(document)
        if "requestBody" in operation and operation["operationId"] != "run_commands"  # a line names its command
    ]
    seen: set[str] = set()
    while waiting:
        for node in nodes(waiting.pop()):
            reference = node.get("$ref", "").rpartition("/")[2]
            if reference and reference not in seen:
                seen.add(reference)
                waiting.append(schemas_[reference])
            if "properties" in node and node.get("type") == "object":
                assert node["additionalProperties"] is False
                assert "command" not in node["properties"]
    assert len(seen) > 20
    for each in operations(app):
        if isinstance(each.body, type) and issubclass(each.body, Command):
            named = set(schemas_[each.body.__name__]["properties"])
            assert named == {field.encode_name for field in msgspec.structs.fields(each.body)}


async def test_schemas_are_those_of_msgspec(document: Json) -> None:
    """The oracle: constraints, defaults and descriptions as the decoder has them."""
    schemas_ = document["components"]["schemas"]
    for game in GAMES:
        for type_ in (game.opening, *game.actions):
            (_,), components = msgspec.json.schema_components([type_], ref_template="{name}")
            expected = json.loads(json.dumps(components[type_.__name__]))
            ours = schemas_[schemas._name_of(type_)]
            assert ours["description"] == expected["description"]
            assert ours["required"] == expected["required"]
            assert ours["properties"].keys() == expected["properties"].keys()
            for name, property_ in expected["properties"].items():
                if not set(re.findall(r'"(\$ref|title|enum)"', json.dumps(property_))):
                    for node in nodes(property_):
                        if node.get("items") is False:  # it is said by `maxItems` alone
                            assert node.pop("items") is False
                            assert node["maxItems"] == len(node["prefixItems"])
                    assert ours["properties"][name] == property_, f"{type_} {name}"


async def test_query_parameters_are_those_that_are_read(api: Api, document: Json) -> None:
    """Each documented parameter is accepted, and no other."""
    path = f"{BASE}/larps/{{larp}}/events"
    names = [parameter["name"] for parameter in document["paths"][path]["get"]["parameters"][1:]]
    assert names == ["limit", "after", "before", "type", "table", "character", "account", "since", "until"]
    values = {"limit": 1, "after": 1, "before": 9, "since": "2020-01-01T00:00:00Z", "until": "2099-01-01T00:00:00Z"}
    for name in names:
        await api.ok("GET", f"{path.format(larp='north')}?{name}={values.get(name, 'alva')}", "tool")
