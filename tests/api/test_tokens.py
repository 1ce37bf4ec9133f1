"""Tokens: shown once, kept as hashes, ended at once; and the first of them."""

import asyncio
import hashlib
import re
from collections.abc import Iterable, Mapping

import pytest

from api import tokens
from api.app import create_app
from ledger.database import Connection, Database
from ledger.errors import Unavailable
from ledger.journal import Journals
from ledger.settings import Settings
from ledger.writer import Writers
from projections.runner import PROJECTIONS
from tests.api.conftest import answering
from tests.api.support import BASE, NORTH, Api, problem

GIVEN = Settings(admin_token="a-token-that-somebody-chose")


async def test_a_token_is_shown_once_and_kept_as_a_hash(api: Api) -> None:
    body = {"role": "player", "character": "alva", "label": "alva's", "expires_at": "2099-01-01T00:00:00+02:00"}
    made = await api.ok("POST", f"{NORTH}/tokens", "organiser", body)
    assert re.fullmatch(r"skb_[A-Za-z0-9_-]{43}", made["token"]), "256 random bits"
    assert re.fullmatch(r"tok_[0-9a-f]{32}", made["id"])
    assert made["expires_at"] == "2098-12-31T22:00:00Z"
    listed = await api.call("GET", f"{NORTH}/tokens", "organiser")
    assert {key: value for key, value in made.items() if key != "token"} in listed.json()["items"]
    assert made["token"] not in listed.text
    async with api.database.connection() as connection:
        cursor = await connection.execute("SELECT token::text FROM skuggbok.token")
        kept = "".join(row[0] for row in await cursor.fetchall())
    assert made["token"] not in kept
    assert hashlib.sha256(made["token"].encode()).hexdigest() in kept


async def test_a_revoked_token_is_refused_from_the_next_request_on(api: Api) -> None:
    made = await api.ok("POST", f"{NORTH}/tokens", "organiser", {"role": "tool", "label": "x"})
    api.tokens["x"] = made["token"]
    assert (await api.call("GET", NORTH, "x")).is_success
    assert (await api.call("DELETE", f"{NORTH}/tokens/{made['id']}", "organiser")).status_code == 204
    assert problem(await api.call("GET", NORTH, "x")) == (401, "unauthenticated")
    listed = await api.ok("GET", f"{NORTH}/tokens", "organiser")
    first = listed["items"][-1]["revoked_at"]
    assert first is not None
    assert (await api.call("DELETE", f"{NORTH}/tokens/{made['id']}", "admin")).status_code == 204, "twice is as once"
    assert (await api.ok("GET", f"{NORTH}/tokens", "organiser"))["items"][-1]["revoked_at"] == first


async def test_a_token_that_one_process_revokes_is_refused_by_every_other(api: Api, database: Database) -> None:
    """At once, also where it was used a moment ago and may be used faster than others."""
    other = Writers(Journals(database, PROJECTIONS))
    async with answering(create_app(database, other, Settings())) as client:
        elsewhere = Api(client, database, api.tokens)
        made = await api.ok("POST", f"{NORTH}/tokens", "organiser", {"role": "tool", "label": "x"})
        api.tokens["x"] = made["token"]
        for asked in (api, elsewhere):
            assert (await asked.call("GET", NORTH, "x")).is_success
        assert (await api.call("DELETE", f"{NORTH}/tokens/{made['id']}", "organiser")).status_code == 204
        for asked in (elsewhere, api):
            assert problem(await asked.call("GET", NORTH, "x")) == (401, "unauthenticated")
    await other.close()


async def test_tokens_of_another_larp_and_of_admins_are_out_of_an_organisers_reach(api: Api) -> None:
    foreign = await api.ok("POST", f"{BASE}/larps/south/tokens", "stranger", {"role": "tool", "label": "x"})
    admins = await api.ok("POST", f"{NORTH}/tokens", "admin", {"role": "admin", "label": "second"})
    for id_ in (foreign["id"], admins["id"], "tok_none"):
        assert problem(await api.call("DELETE", f"{NORTH}/tokens/{id_}", "organiser")) == (404, "not_found")
    listed = await api.ok("GET", f"{NORTH}/tokens", "organiser")
    assert not {foreign["id"], admins["id"]} & {item["id"] for item in listed["items"]}
    api.tokens["second"] = admins["token"]
    assert (await api.call("DELETE", f"{NORTH}/tokens/{admins['id']}", "second")).status_code == 204
    assert problem(await api.call("GET", f"{BASE}/larps", "second")) == (401, "unauthenticated")


async def test_a_players_character_exists(api: Api) -> None:
    body = {"role": "player", "character": "nobody", "label": "x"}
    assert problem(await api.call("POST", f"{NORTH}/tokens", "organiser", body)) == (404, "unknown_character")


@pytest.mark.parametrize("settings", [Settings(), GIVEN])
async def test_the_first_admin_token_is_made_by_one_of_many_processes(database: Database, settings: Settings) -> None:
    async with database.connection() as connection:
        await connection.execute("RESET ROLE")
        await connection.execute("DELETE FROM skuggbok.token")
        await connection.execute("SET ROLE skuggbok_service")

    async def start() -> str | None:
        async with database.connection() as connection:
            return await tokens.ensure_admin(connection, settings)

    made = [token for token in await asyncio.gather(*(start() for _ in range(8))) if token is not None]
    assert len(made) == (0 if settings is GIVEN else 1)
    async with database.connection() as connection:
        cursor = await connection.execute("SELECT count(*) FROM skuggbok.token")
        assert await cursor.fetchone() == (1,)
        hash_ = tokens.hash_of((made[0] if made else "a-token-that-somebody-chose").encode())
        asker = (await tokens.find(connection, [hash_]))[hash_]
    assert (asker.role, asker.larp) == ("admin", None)
    assert await start() is None, "and once only"


async def test_a_revoked_first_admin_token_is_not_made_anew(api: Api) -> None:
    """Whoever revoked the last one meant it; SKUGGBOK_ADMIN_TOKEN is the way back in."""
    async with api.database.connection() as connection:
        await connection.execute("UPDATE skuggbok.token SET revoked_at = now() WHERE role = 'admin'")
        assert await tokens.ensure_admin(connection, Settings()) is None
        assert await tokens.ensure_admin(connection, GIVEN) is None
    api.tokens["given"] = GIVEN.admin_token or ""
    assert (await api.call("GET", f"{BASE}/larps", "given")).is_success


async def test_a_time_that_utc_does_not_have_is_malformed(api: Api) -> None:
    """Not a row that nobody can read again."""
    for time in ("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"):
        body = {"role": "tool", "label": "x", "expires_at": time}
        answer = await api.call("POST", f"{NORTH}/tokens", "organiser", body)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/expires_at")
    assert (await api.call("GET", f"{NORTH}/tokens", "organiser")).status_code == 200


async def test_tokens_that_come_at_once_are_looked_up_together_each_for_itself(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[int]()

    async def counted(connection: Connection, hashes: Iterable[bytes]) -> Mapping[bytes, tokens.Asker]:
        asked.append(len(list(hashes)))
        return await find(connection, hashes)

    find = tokens.find
    monkeypatch.setattr(tokens, "find", counted)
    api.tokens["nobody"] = "skb_nobodys"
    whose = ["organiser", "alva", "nobody", "berit", "tool", "organiser", None] * 5
    answers = await asyncio.gather(*(api.call("GET", f"{NORTH}/purses/alva", who) for who in whose))
    statuses = {"nobody": 401, None: 401, "berit": 403}
    assert [answer.status_code for answer in answers] == [statuses.get(who, 200) for who in whose]
    assert len(asked) < 10, "and not once a request"
    assert max(asked) == 5, "each token once, however many show it"


async def test_a_lookup_answers_nobody_who_came_after_it_began(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was revoked meanwhile is looked up again."""
    found, go_on = asyncio.Event(), asyncio.Event()

    async def slow(connection: Connection, hashes: Iterable[bytes]) -> Mapping[bytes, tokens.Asker]:
        rows = await find(connection, hashes)
        found.set()
        await go_on.wait()
        return rows

    find = tokens.find
    monkeypatch.setattr(tokens, "find", slow)
    made = await _made_tool(database)
    askers, hash_ = tokens.Askers(database), tokens.hash_of(made.token.encode())
    before = asyncio.create_task(askers.of(hash_))
    await found.wait()
    async with database.connection() as connection:
        await tokens.revoke(connection, "north", made.id, admins=False)
    after = asyncio.create_task(askers.of(hash_))
    await asyncio.sleep(0)
    go_on.set()
    assert await before is not None
    assert await after is None


async def test_a_fault_of_a_lookup_is_heard_by_all_who_wait_and_by_nobody_else(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> Mapping[bytes, tokens.Asker]:
        raise Unavailable("the database is away", 1)

    made = await _made_tool(database)
    askers, hash_ = tokens.Askers(database), tokens.hash_of(made.token.encode())
    with monkeypatch.context() as patched:
        patched.setattr(tokens, "find", away)
        waiting = [asyncio.create_task(askers.of(hash_)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        heard = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in heard] == [asyncio.CancelledError, Unavailable, Unavailable]
    assert await askers.of(hash_) is not None


async def _made_tool(database: Database) -> tokens.MadeToken:
    async with database.connection() as connection:
        made, _ = await tokens.create(connection, "north", tokens.NewToken(role="tool", label="x"))
    return made
