"""Requests on conditions: once only, if nothing has moved on, if anything has."""

import asyncio

import pytest

from tests.api.support import BASE, NORTH, Api

GIFT = {"from": "alva", "to": "berit", "asset": "krona", "amount": 5}
TRANSFERS = f"{NORTH}/transfers"


async def krona(api: Api, character: str) -> int:
    purse = await api.ok("GET", f"{NORTH}/purses/{character}", "organiser")
    return int(purse["balances"].get("krona", 0))


# ---- Idempotency-Key ----


async def test_the_first_receipt_is_given_again_and_nothing_recorded_twice(api: Api) -> None:
    first = await api.call("POST", TRANSFERS, "alva", GIFT, headers={"idempotency-key": "abc"})
    again = await api.call("POST", TRANSFERS, "alva", GIFT, headers={"idempotency-key": '"abc"'})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert again.content == first.content
    assert await krona(api, "alva") == 45


async def test_a_body_is_what_it_means_not_how_it_is_spaced(api: Api) -> None:
    await api.call("POST", TRANSFERS, "alva", GIFT, headers={"idempotency-key": "abc"})
    spaced = b'{ "amount": 5,\n "asset": "krona", "to": "berit", "from": "alva" }'
    again = await api.call("POST", TRANSFERS, "alva", content=spaced, headers={"idempotency-key": "abc"})
    assert again.status_code == 200


async def test_another_body_or_path_with_the_same_key_is_422_and_changes_nothing(api: Api) -> None:
    await api.call("POST", TRANSFERS, "banker", GIFT, headers={"idempotency-key": "abc"})
    head = await api.head()
    for path, body in (
        (TRANSFERS, GIFT | {"amount": 6}),
        (f"{NORTH}/ious", {"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 5}),
    ):
        answer = await api.call("POST", path, "banker", body, headers={"idempotency-key": "abc"})
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")
    assert await api.head() == head


async def test_a_refusal_is_not_remembered(api: Api) -> None:
    much = GIFT | {"amount": 60}
    refused = await api.call("POST", TRANSFERS, "alva", much, headers={"idempotency-key": "abc"})
    assert refused.status_code == 409
    await api.ok("POST", f"{NORTH}/grants", "organiser", {"to": "alva", "asset": "krona", "amount": 10})
    answer = await api.call("POST", TRANSFERS, "alva", much, headers={"idempotency-key": "abc"})
    assert answer.status_code == 201


async def test_many_at_once_are_one(api: Api) -> None:
    answers = await asyncio.gather(
        *(api.call("POST", TRANSFERS, "alva", GIFT, headers={"idempotency-key": "abc"}) for _ in range(12))
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 11 + [201]
    assert len({answer.content for answer in answers}) == 1
    assert await krona(api, "alva") == 45


async def test_a_larp_is_made_once(api: Api) -> None:
    body = {"larp": "east", "name": "East"}
    first = await api.call("POST", f"{BASE}/larps", "admin", body, headers={"idempotency-key": "k"})
    again = await api.call("POST", f"{BASE}/larps", "admin", body, headers={"idempotency-key": "k"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.content == first.content


@pytest.mark.parametrize("key", ["", "x" * 256, '""'])
async def test_a_key_that_is_none_is_malformed(api: Api, key: str) -> None:
    answer = await api.call("POST", TRANSFERS, "alva", GIFT, headers={"idempotency-key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert await krona(api, "alva") == 50


# ---- If-Match ----


async def test_a_write_may_ask_that_the_journal_has_not_moved_on(api: Api) -> None:
    tag = (await api.call("GET", f"{NORTH}/purses/alva", "organiser")).headers["etag"]
    assert tag == f'"{await api.head()}"'
    first = await api.call("POST", TRANSFERS, "alva", GIFT, headers={"if-match": tag})
    assert first.status_code == 201
    second = await api.call("POST", TRANSFERS, "alva", GIFT, headers={"if-match": tag})
    assert (second.status_code, second.json()["code"]) == (412, "stale_position")
    assert await krona(api, "alva") == 45
    assert (await api.call("POST", TRANSFERS, "alva", GIFT, headers={"if-match": "*"})).status_code == 201


async def test_an_action_asks_it_of_the_table(api: Api) -> None:
    opening = {
        "table": "eagle",
        "game": "skuggkast",
        "seats": ["alva", "berit"],
        "stake": {"asset": "krona", "amount": 2},
        "rules": {"starter": "alva"},
    }
    await api.ok("POST", f"{NORTH}/tables", "keeper", opening)
    tag = (await api.call("GET", f"{NORTH}/tables/eagle", "tool")).headers["etag"]
    await api.ok("POST", TRANSFERS, "cato", GIFT | {"from": "cato"})  # the journal moves on, the table does not
    claim = {"action": "claim", "seat": "alva", "symbol": "star", "number": 1, "shadow": "cursed"}
    path = f"{NORTH}/tables/eagle/actions"
    assert (await api.call("POST", path, "alva", claim, headers={"if-match": tag})).status_code == 201
    answer = await api.call("POST", path, "berit", {"action": "believe", "seat": "berit"}, headers={"if-match": tag})
    assert answer.status_code == 412


@pytest.mark.parametrize(("tag", "status"), [("12", 400), ('"1", "2"', 400), ('W/"1"', 412), ('"later"', 412)])
async def test_what_is_no_position_never_matches(api: Api, tag: str, status: int) -> None:
    answer = await api.call("POST", TRANSFERS, "alva", GIFT, headers={"if-match": tag})
    assert answer.status_code == status
    assert await krona(api, "alva") == 50


async def test_what_is_malformed_or_unknown_comes_before_what_is_stale(api: Api) -> None:
    body = {"action": "leave", "seat": "alva"}
    unknown = await api.call("POST", f"{NORTH}/tables/nowhere/actions", "alva", body, headers={"if-match": '"1"'})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_table")
    malformed = await api.call("POST", TRANSFERS, "alva", GIFT | {"amount": 0}, headers={"if-match": 'W/"1"'})
    assert malformed.status_code == 400


# ---- ETag, If-None-Match ----


@pytest.mark.parametrize(
    "path", ["", "/purses/alva", "/purses", "/characters", "/assets", "/events", "/events/1", "/purses/alva/statement"]
)
async def test_what_the_asker_has_already_is_not_sent_again(api: Api, path: str) -> None:
    first = await api.call("GET", NORTH + path, "organiser")
    tag = first.headers["etag"]
    again = await api.call("GET", NORTH + path, "organiser", headers={"if-none-match": f'"other", W/{tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == tag
    assert again.headers["x-request-id"]
    head = await api.call("HEAD", NORTH + path, "organiser")
    assert (head.status_code, head.headers["etag"], head.content) == (200, tag, b"")
    other = await api.call("GET", NORTH + path, "organiser", headers={"if-none-match": '"other"'})
    assert other.content == first.content


async def test_an_answer_that_has_changed_has_another_tag(api: Api) -> None:
    before = (await api.call("GET", f"{NORTH}/purses", "organiser")).headers["etag"]
    await api.ok("POST", TRANSFERS, "alva", GIFT)
    answer = await api.call("GET", f"{NORTH}/purses", "organiser", headers={"if-none-match": before})
    assert answer.status_code == 200
