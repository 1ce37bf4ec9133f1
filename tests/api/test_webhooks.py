"""Webhooks as organisers make, change and end them. How events get there is tests/webhooks."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from litestar import Litestar

from api.app import create_app
from api.webhooks import model
from ledger.database import Database
from ledger.settings import Settings
from ledger.writer import Writers
from tests.api.conftest import answering
from tests.api.support import BASE, NORTH, Api, problem
from tests.api.test_lists import walk

HOOKS = f"{NORTH}/webhooks"
NEW = {"url": "https://tool.example/hook"}


async def all_of(api: Api) -> Any:
    return (await api.ok("GET", HOOKS, "organiser"))["items"]


async def test_a_new_webhook_begins_with_what_comes_next(api: Api) -> None:
    head = await api.head()
    body = {**NEW, "types": ["purse.granted"], "label": "The camp's site"}
    answer = await api.call("POST", HOOKS, "organiser", body)
    assert answer.status_code == 201
    made = answer.json()
    assert re.fullmatch(r"whk_[0-9a-f]{32}", made["id"])
    assert len(base64.b64decode(made["secret"].removeprefix("whsec_"), validate=True)) == 32
    founding = await api.ok("GET", f"{NORTH}/events/1", "organiser")
    assert made.pop("secret").startswith("whsec_")
    assert made == {
        **{"id": made["id"], "created_at": made["created_at"], "source": f"urn:uuid:{founding['id']}", **body},
        **{"state": "active", "position": head, "backlog": 0, "attempts": 0, "next_attempt_at": None},
        **{"last_success": None, "last_failure": None, "earlier_secrets_until": None},
    }
    assert await api.ok("GET", f"{HOOKS}/{made['id']}", "organiser") == made, "and no secret"
    assert await all_of(api) == [made]
    assert await api.head() == head, "a webhook is no event"


async def test_or_at_a_position(api: Api) -> None:
    head = await api.head()
    for first in (1, head + 1):
        made = await api.ok("POST", HOOKS, "organiser", NEW | {"from_position": first})
        assert (made["position"], made["backlog"]) == (first - 1, head + 1 - first)
        assert (made["next_attempt_at"] is None) == (made["backlog"] == 0)
    before = await all_of(api)
    refused = await api.call("POST", HOOKS, "organiser", NEW | {"from_position": head + 2})
    assert problem(refused) == (404, "unknown_position")
    assert await all_of(api) == before


async def test_no_two_secrets_are_the_same_and_none_is_kept(api: Api) -> None:
    """The database has nothing in it that could be shown again without its key."""
    made = [await api.ok("POST", HOOKS, "organiser", NEW) for _ in range(3)]
    rotated = await api.ok("POST", f"{HOOKS}/{made[0]['id']}/rotate-secret", "organiser", {})
    secrets = {each["secret"] for each in [*made, rotated]}
    assert len(secrets) == 4
    async with api.database.connection() as connection:
        cursor = await connection.execute("SELECT salt, webhook_secret::text FROM skuggbok.webhook_secret")
        for salt, row in await cursor.fetchall():
            for secret in secrets:
                decoded = base64.b64decode(secret.removeprefix("whsec_"))
                assert decoded != bytes(salt)
                assert decoded.hex() not in row


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        *(({}, "/url"), (NEW | {"unknown": 1}, "/unknown"), (NEW | {"url": 5}, "/url")),
        *((NEW | {"label": ""}, "/label"), (NEW | {"types": []}, "/types"), (NEW | {"types": ["a.v1"]}, "/types/0")),
        *((NEW | {"types": ["purse.granted", "x.y"]}, "/types/1"), (NEW | {"from_position": 0}, "/from_position")),
        *(({"url": "http://127.0.0.1/x"}, "/url"), ({"url": "http://localhost:5432"}, "/url")),
        *(({"url": "http://[::ffff:10.0.0.1]/"}, "/url"), ({"url": "http://2130706433/"}, "/url")),
        *(({"url": "https://a:b@tool.example"}, "/url"), ({"url": "ftp://tool.example"}, "/url")),
    ],
)
async def test_what_is_malformed_makes_and_changes_nothing(api: Api, body: Any, pointer: str) -> None:
    made = await api.ok("POST", HOOKS, "organiser", NEW)
    made.pop("secret")
    answer = await api.call("POST", HOOKS, "organiser", body)
    assert problem(answer) == (400, "malformed"), answer.text
    assert answer.json()["errors"][0]["pointer"] in (pointer, ""), answer.text
    if body and "from_position" not in body:
        assert problem(await api.call("PATCH", f"{HOOKS}/{made['id']}", "organiser", body)) == (400, "malformed")
    assert await all_of(api) == [made]


async def test_what_is_changed_and_what_stays(api: Api) -> None:
    made = await api.ok("POST", HOOKS, "organiser", NEW | {"types": ["purse.granted"], "label": "x"})
    path = f"{HOOKS}/{made.pop('id')}"
    made.pop("secret")

    async def changed(body: Any) -> Any:
        answer = await api.ok("PATCH", path, "organiser", body)
        assert answer == await api.ok("GET", path, "organiser")
        return {name: value for name, value in answer.items() if name in made and value != made[name]}

    assert await changed({}) == {}
    assert await changed({"url": "https://other.example/"}) == {"url": "https://other.example/"}
    assert await changed({"types": None, "label": None, "url": NEW["url"]}) == {"types": None, "label": None}
    assert await changed({"enabled": False}) == {"types": None, "label": None, "state": "disabled"}
    await api.ok("POST", f"{NORTH}/grants", "organiser", {"to": "alva", "asset": "krona", "amount": 1})
    off = await api.ok("GET", path, "organiser")
    assert (off["state"], off["backlog"], off["next_attempt_at"]) == ("disabled", 1, None)
    on = await api.ok("PATCH", path, "organiser", {"enabled": True})
    assert (on["state"], on["backlog"]) == ("active", 1)
    assert on["next_attempt_at"] is not None


async def test_what_is_deleted_is_gone(api: Api) -> None:
    made = await api.ok("POST", HOOKS, "organiser", NEW)
    path = f"{HOOKS}/{made['id']}"
    assert (await api.call("DELETE", path, "organiser")).status_code == 204
    for method, at, body in (
        *(("GET", path, None), ("DELETE", path, None), ("PATCH", path, {})),
        *(("POST", f"{path}/rotate-secret", {}), ("POST", f"{path}/replay", {"from_position": 1})),
    ):
        assert problem(await api.call(method, at, "organiser", body)) == (404, "not_found")
    assert await all_of(api) == []


async def test_another_larps_webhooks_are_not_there(api: Api) -> None:
    made = await api.ok("POST", HOOKS, "organiser", NEW)
    south = f"{BASE}/larps/south/webhooks"
    for method, at, body in (
        *(("GET", "", None), ("DELETE", "", None), ("PATCH", "", {"enabled": False})),
        *(("POST", "/rotate-secret", {}), ("POST", "/replay", {"from_position": 1})),
    ):
        assert problem(await api.call(method, f"{south}/{made['id']}{at}", "stranger", body)) == (404, "not_found")
        assert problem(await api.call(method, f"{HOOKS}/{made['id']}{at}", "stranger", body)) == (404, "unknown_larp")
    assert (await api.ok("GET", south, "stranger"))["items"] == []
    assert (await all_of(api))[0]["state"] == "active"


async def test_a_key_makes_one_webhook_and_one_secret(api: Api) -> None:
    """An answer that was lost is given again, secret and all; the rotation that nobody saw is not done twice."""
    key = {"idempotency-key": "k-1"}
    answers = await asyncio.gather(*(api.call("POST", HOOKS, "organiser", NEW, headers=key) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.text for answer in answers}) == 1
    assert len(await all_of(api)) == 1
    path = f"{HOOKS}/{answers[0].json()['id']}/rotate-secret"
    rotated = [await api.call("POST", path, "organiser", {}, headers=key | {"idempotency-key": "k-2"}) for _ in "12"]
    assert [answer.status_code for answer in rotated] == [201, 200]
    assert rotated[1].headers["idempotent-replayed"] == "true"
    assert rotated[0].json() == rotated[1].json()
    other = await api.call("POST", HOOKS, "organiser", NEW | {"label": "x"}, headers=key)
    assert problem(other) == (422, "idempotency_mismatch")
    mismatched = await api.call("POST", path, "organiser", {"overlap_s": 1}, headers=key | {"idempotency-key": "k-2"})
    assert problem(mismatched) == (422, "idempotency_mismatch")
    assert len(await all_of(api)) == 1


async def test_a_key_that_made_a_token_makes_a_webhook_whose_salt_is_not_the_token(api: Api) -> None:
    key = {"idempotency-key": "k-1"}
    token = (await api.call("POST", f"{NORTH}/tokens", "organiser", {"role": "tool", "label": "x"}, headers=key)).json()
    made = (await api.call("POST", HOOKS, "organiser", NEW, headers=key)).json()
    kept = base64.urlsafe_b64decode(token["token"].removeprefix("skb_") + "=")
    async with api.database.connection() as connection:
        rows = await (await connection.execute("SELECT salt FROM skuggbok.webhook_secret")).fetchall()
    assert bytes(rows[0][0]) != kept
    assert base64.b64decode(made["secret"].removeprefix("whsec_")) != kept


async def test_a_larp_has_so_many_and_no_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.webhooks.store.WEBHOOKS_MAX", 3)
    for _ in range(3):
        await api.ok("POST", HOOKS, "organiser", NEW)
    assert problem(await api.call("POST", HOOKS, "organiser", NEW)) == (409, "too_many_webhooks")
    assert str(model.WEBHOOKS_MAX) in str(model.TooManyWebhooks.__doc__)
    pages = await walk(api, HOOKS, "organiser", 2)
    assert [len(page) for page in pages] == [2, 1]
    assert [item["id"] for page in pages for item in page] == sorted(item["id"] for item in await all_of(api))


@pytest.fixture
async def open_house(database: Database, writers: Writers) -> AsyncIterator[httpx.AsyncClient]:
    app: Litestar = create_app(database, writers, Settings(webhooks_private="allow"))
    async with answering(app) as client:
        yield client


async def test_private_targets_are_taken_where_the_settings_allow_them(open_house: httpx.AsyncClient, api: Api) -> None:
    allowed = Api(open_house, api.database, api.tokens)
    made = await allowed.ok("POST", HOOKS, "organiser", {"url": "http://127.0.0.1:9/x"})
    assert made["url"] == "http://127.0.0.1:9/x"
    refused = await api.call("PATCH", f"{HOOKS}/{made['id']}", "organiser", {"url": "http://10.0.0.1/"})
    assert problem(refused) == (400, "malformed")


async def test_receivers_find_their_side_documented(client: httpx.AsyncClient) -> None:
    document = (await client.get("/schema/openapi.json")).json()
    operation = document["webhooks"]["event"]["post"]
    assert [parameter["name"] for parameter in operation["parameters"]] == [
        *("webhook-id", "webhook-timestamp", "webhook-signature")
    ]
    (content,) = operation["requestBody"]["content"].items()
    assert content[0] == "application/cloudevents+json"
    schema = document["components"]["schemas"][content[1]["schema"]["$ref"].rpartition("/")[2]]
    assert set(content[1]["example"]) <= set(schema["properties"])
    assert schema["properties"]["data"] == {"$ref": "#/components/schemas/Event"}
    assert {"id", "source", "time", "type"} <= set(schema["required"])
    assert set(operation["responses"]) == {"2XX", "410", "default"}
