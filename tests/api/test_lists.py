"""Lists come in pages that miss nothing and repeat nothing, also while things are added."""

import asyncio
from typing import Any

import pytest

from tests.api.support import BASE, NORTH, Api

TABLE = {"game": "skuggkast", "seats": ["alva", "berit"], "stake": {"asset": "krona", "amount": 1}}


async def walk(api: Api, path: str, who: str, limit: int) -> list[list[Any]]:
    """The pages, following the links from the first to the last."""
    pages, address = [], f"{path}{'&' if '?' in path else '?'}limit={limit}"
    while address:
        answer = await api.call("GET", address, who)
        assert answer.is_success, answer.text
        assert list(answer.json()) == ["items"]
        pages.append(answer.json()["items"])
        address = answer.links["next"]["url"] if "next" in answer.links else ""
    return pages


async def fill(api: Api) -> None:
    for name in ("dana", "edda", "fenja", "gro"):
        await api.ok("POST", f"{NORTH}/characters", "organiser", {"character": name, "name": name})
        await api.ok("POST", f"{NORTH}/assets", "organiser", {"asset": f"a-{name}", "kind": "token", "name": name})
        await api.ok("POST", f"{NORTH}/tables", "keeper", TABLE | {"table": name})


@pytest.mark.parametrize(
    ("path", "who", "key"),
    [
        (f"{BASE}/larps", "admin", "larp"),
        (f"{NORTH}/characters", "alva", "character"),
        (f"{NORTH}/assets", "tool", "asset"),
        (f"{NORTH}/tokens", "organiser", "id"),
        (f"{NORTH}/purses", "banker", "character"),
        (f"{NORTH}/purses/alva/statement", "alva", "position"),
        (f"{NORTH}/tables", "alva", "table"),
        (f"{NORTH}/tables?game=skuggkast&phase=roll_off", "alva", "table"),
        (f"{NORTH}/events", "tool", "position"),
        (f"{NORTH}/events?type=table.nothing", "tool", "position"),
        (f"{NORTH}/events?type=character.added", "tool", "position"),
        (f"{NORTH}/events?character=alva", "tool", "position"),
        (f"{NORTH}/events?account=purse/berit", "tool", "position"),
        (f"{NORTH}/events?table=dana", "tool", "position"),
        (f"{NORTH}/events?after=3&before=9", "tool", "position"),
    ],
)
async def test_pages_of_any_size_hold_the_same_items(api: Api, path: str, who: str, key: str) -> None:
    await fill(api)
    (whole,) = await walk(api, path, who, 1000)
    assert [item[key] for item in whole] == sorted((item[key] for item in whole), reverse="statement" in path)
    for limit in (1, 2, 3, len(whole) or 1):
        pages = await walk(api, path, who, limit)
        assert [item for page in pages for item in page] == whole
        assert all(len(page) == limit for page in pages[:-1])
        assert pages[-1] or not whole, "the last page has something, and no link to an empty one"


async def test_the_default_is_a_hundred(api: Api) -> None:
    granting = (
        api.ok("POST", f"{NORTH}/grants", "organiser", {"to": "alva", "asset": "krona", "amount": 1})
        for _ in range(110)
    )
    await asyncio.gather(*granting)
    answer = await api.call("GET", f"{NORTH}/events", "tool")
    assert len(answer.json()["items"]) == 100
    assert answer.links["next"]["url"] == f"{NORTH}/events?after=100"


async def test_a_walk_is_right_while_things_are_added(api: Api) -> None:
    """A cursor names the last item seen: what is added before it or behind it shifts nothing."""
    first = await api.call("GET", f"{NORTH}/characters?limit=2", "tool")
    await api.ok("POST", f"{NORTH}/characters", "organiser", {"character": "aaa", "name": "before"})
    await api.ok("POST", f"{NORTH}/characters", "organiser", {"character": "zoe", "name": "behind"})
    second = await api.call("GET", first.links["next"]["url"], "tool")
    assert [item["character"] for item in first.json()["items"]] == ["alva", "berit"]
    assert [item["character"] for item in second.json()["items"]] == ["cato", "zoe"]


async def test_the_last_page_of_events_can_be_asked_for_what_is_new(api: Api) -> None:
    head = await api.head()
    assert await api.ok("GET", f"{NORTH}/events?after={head}", "tool") == {"items": []}
    await api.ok("POST", f"{NORTH}/grants", "organiser", {"to": "alva", "asset": "krona", "amount": 1})
    (new,) = (await api.ok("GET", f"{NORTH}/events?after={head}", "tool"))["items"]
    assert new["position"] == head + 1


async def test_links_keep_the_filters(api: Api) -> None:
    path = f"{NORTH}/events?type=purse.granted&limit=1&character=alva&since=2020-01-01T00:00:00%2B02:00"
    answer = await api.call("GET", path, "tool")
    assert "next" not in answer.links, "alva has one grant"
    answer = await api.call("GET", path.replace("&character=alva", ""), "tool")
    link = answer.links["next"]["url"]
    assert "type=purse.granted" in link
    assert "since=2020-01-01T00%3A00%3A00%2B02%3A00" in link
    assert (await api.ok("GET", link, "tool"))["items"][0]["postings"][0]["to"] == "purse/berit"


async def test_events_by_time_of_recording(api: Api) -> None:
    events = (await api.ok("GET", f"{NORTH}/events", "tool"))["items"]
    middle = events[len(events) // 2]
    since = (await api.ok("GET", f"{NORTH}/events?since={middle['recorded_at']}", "tool"))["items"]
    until = (await api.ok("GET", f"{NORTH}/events?until={middle['recorded_at']}", "tool"))["items"]
    assert until + since == events
    assert since[0]["recorded_at"] >= middle["recorded_at"]
