"""`at` and `at_position` on everything that has a past."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.api.support import NORTH, Api, problem

OPENING = {"game": "skuggkast", "seats": ["alva", "berit"], "stake": {"asset": "krona", "amount": 5}, "table": "t1"}
READERS = ("purses", "purses/alva", "purses/alva/statement", "tables", "tables/t1", "characters", "assets")


async def seen(api: Api, query: str = "") -> dict[str, Any]:
    return {path: await api.ok("GET", f"{NORTH}/{path}{query}", "organiser") for path in READERS}


@pytest.fixture
async def moved(api: Api) -> tuple[dict[str, Any], int, str]:
    """What all readers said before everything was changed, the position then, and the time that it was recorded."""
    await api.ok("POST", f"{NORTH}/tables", "organiser", OPENING | {"dice": "service"})
    before, position = await seen(api), await api.head()
    event = await api.ok("GET", f"{NORTH}/events/{position}", "organiser")
    await api.ok("POST", f"{NORTH}/grants", "organiser", {"to": "alva", "asset": "krona", "amount": 7})
    await api.ok("POST", f"{NORTH}/tables/t1/void", "organiser", {"reason": "over"})
    await api.ok("PATCH", f"{NORTH}/characters/alva", "organiser", {"name": "Alva II", "credit_limit": {"krona": 1}})
    await api.ok("POST", f"{NORTH}/assets", "organiser", {"asset": "screw", "kind": "token", "name": "Screw"})
    return before, position, event["recorded_at"]


async def test_every_reader_shows_what_it_showed_then(api: Api, moved: tuple[dict[str, Any], int, str]) -> None:
    before, position, time = moved
    assert await seen(api, f"?at_position={position}") == before
    assert await seen(api, f"?at={quote(time)}") == before
    now = await seen(api)
    assert [path for path in READERS if now[path] == before[path]] == []
    assert await seen(api, f"?at_position={await api.head()}") == now
    assert await seen(api, "?at=2999-01-01T00:00:00%2B02:00") == now
    assert before["purses/alva"]["position"] == position


async def test_what_has_no_past_is_404(api: Api, moved: tuple[dict[str, Any], int, str]) -> None:
    head = await api.head()
    for path in READERS:
        for query in (f"at_position={head + 1}", "at_position=9007199254740991", "at=1999-12-31T23:59:59Z"):
            answer = await api.call("GET", f"{NORTH}/{path}?{query}", "organiser")
            assert problem(answer) == (404, "unknown_position"), f"{path}?{query}"
    answer = await api.call("GET", f"{NORTH}/purses?at=0001-01-01T00:00:00Z", "organiser")
    assert "the journal of north begins at 20" in answer.json()["detail"]
    answer = await api.call("GET", f"{NORTH}/purses/alva?at_position=2", "organiser")
    assert problem(answer) == (404, "unknown_character")
    answer = await api.call("GET", f"{NORTH}/tables/t1?at_position=2", "organiser")
    assert problem(answer) == (404, "unknown_table")


async def test_moments_that_are_none_are_malformed(api: Api) -> None:
    for query in (
        "at_position=0",
        "at_position=-1",
        "at_position=x",
        "at_position=9007199254740992",
        "at_position=",
        "at=yesterday",
        "at=2026-01-01T00:00:00",
        "at=9999-12-31T23:59:59-02:00",
        "at=2026-01-01T00:00:00Z&at_position=1",
        "at_position=1&at_position=2",
    ):
        for path in READERS:
            answer = await api.call("GET", f"{NORTH}/{path}?{query}", "organiser")
            assert problem(answer) == (400, "malformed"), f"{path}?{query}"


async def test_the_pages_of_the_past_are_linked(api: Api, moved: tuple[dict[str, Any], int, str]) -> None:
    before, position, _ = moved
    for path in ("purses", "purses/alva/statement", "characters", "assets"):
        items, address = [], f"{NORTH}/{path}?limit=1&at_position={position}"
        while address:
            answer = await api.call("GET", address, "organiser")
            items += answer.json()["items"]
            address = answer.links["next"]["url"] if "next" in answer.links else ""
        assert items == before[path]["items"], path


async def test_a_keeper_looks_at_purses_as_they_are(api: Api, moved: tuple[dict[str, Any], int, str]) -> None:
    """What a seat can cover is what it has now; what it once had is not the keeper's business."""
    await api.ok("POST", f"{NORTH}/tables", "keeper", OPENING | {"table": "t2", "dice": "service"})
    assert (await api.call("GET", f"{NORTH}/purses/alva", "keeper")).is_success
    answer = await api.call("GET", f"{NORTH}/purses/alva?at_position={moved[1]}", "keeper")
    assert problem(answer) == (403, "forbidden")
    assert (await api.call("GET", f"{NORTH}/tables/t1?at_position={moved[1]}", "keeper")).is_success


async def test_a_player_sees_no_other_characters_limit_in_the_past_either(
    api: Api, moved: tuple[dict[str, Any], int, str]
) -> None:
    listed = (await api.ok("GET", f"{NORTH}/characters?at_position={moved[1]}", "alva"))["items"]
    assert [item.get("credit_limit") for item in listed] == [{"krona": 100}, None, None]
