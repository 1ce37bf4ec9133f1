"""Rounds, results, lids and dice are what the journal says, however its events were batched."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from ledger.book import Applied
from ledger.database import Connection, Database
from ledger.games import GAMES
from projections.derive import statement
from projections.runner import PROJECTIONS
from tests.support.in_memory import MemoryLarp
from tests.support.played import play, tavern

Json = Any
Rows = Mapping[str, Sequence[tuple[Any, ...]]]
OF_GAMES = [projection for projection in PROJECTIONS if projection.name in ("rounds", "results", "lids", "dice")]


@pytest.fixture(scope="module")
def weekend() -> MemoryLarp:
    """Tables of all games, rolled and reported, to their ends; one is voided and one is left open."""
    larp = tavern()
    for game in (game.name for game in GAMES):
        for seed in (1, 2):
            if game == "schattenspiel":
                play(larp, game, f"{game}-{seed}", seed)
            else:
                play(larp, game, f"{game}-rolled-{seed}", seed, dice="service")
                play(larp, game, f"{game}-said-{seed}", seed, dice="reported")
    play(larp, "schocken", "voided", 5, void_after=40, rules={"lids": 13})
    play(larp, "schocken", "open", 3, stop_after=40, rules={"lids": 13})
    return larp


async def derived(connection: Connection, applied: Sequence[Applied], size: int) -> Rows:
    """The rows that follow from the events, in batches of some size, written to tables of their own."""
    derivation = statement(OF_GAMES, "pg_temp")
    rows = {}
    async with connection.transaction(force_rollback=True):
        for projection in OF_GAMES:
            for table in projection.tables:
                copy = f"CREATE TEMPORARY TABLE {table} (LIKE skuggbok.{table} INCLUDING ALL) ON COMMIT DROP"
                await connection.execute(copy.encode())
        for first in range(0, len(applied), size):
            parameters: dict[str, object] = {"larp": 1}
            for projection in OF_GAMES:
                parameters |= projection.parameters(applied[first : first + size])
            await connection.execute(derivation.encode(), parameters)
        for projection in OF_GAMES:
            for table in projection.tables:
                cursor = await connection.execute(f"SELECT to_jsonb(t) FROM pg_temp.{table} t ORDER BY t".encode())
                rows[table] = [row[0] for row in await cursor.fetchall()]
                if table == "round":
                    cursor = await connection.execute("SELECT table_, round FROM pg_temp.round ORDER BY position")
                    rows["rounds"] = await cursor.fetchall()
    return rows


@pytest.fixture
async def rows(database: Database, weekend: MemoryLarp) -> Rows:
    async with database.connection() as connection:
        return await derived(connection, weekend.applied, 100)


def bodies(larp: MemoryLarp) -> Iterator[Json]:
    """The events as anybody can read them."""
    return (json.loads(recorded.body) for recorded in larp.journal)


async def test_rows_do_not_hang_on_the_batches(database: Database, weekend: MemoryLarp, rows: Rows) -> None:
    """One event at a time, a few, or all at once: the audit derives in other batches than the writer wrote."""
    async with database.connection() as connection:
        for size in (1, 7, 10_000):
            assert await derived(connection, weekend.applied, size) == rows, f"in batches of {size}"


def test_every_table_has_a_result(rows: Rows, weekend: MemoryLarp) -> None:
    results = {row["table_"]: row for row in rows["result"]}
    opened = {body["table"]: body for body in bodies(weekend) if body["type"].endswith(".opened")}
    assert results.keys() == opened.keys()
    assert (results["voided"]["how"], results["voided"]["winner"], results["voided"]["loser"]) == ("voided", None, None)
    assert (results["open"]["how"], results["open"]["closed"]) == (None, None)
    for body in bodies(weekend):
        if body["type"] == "table.closed":
            result = results[body["table"]]
            assert (result["how"], result["winner"]) == (body["data"]["how"], body["data"]["winner"])
            assert result["opened"] < result["closed"] == result["position"]
    for row in results.values():
        seats = opened[row["table_"]]["data"]["seats"]
        match row["game"], row["how"]:
            case "schocken", "lost":
                assert row["loser"] in seats
            case _, "won" if len(seats) == 2:
                assert {row["winner"], row["loser"]} == set(seats)
            case _:
                assert row["loser"] is None
    assert {row["how"] for row in results.values()} >= {"won", "lost", "voided", None}


def test_each_finished_round_is_one_row(rows: Rows, weekend: MemoryLarp) -> None:
    """Counted from the events' types alone."""
    expected: Counter[str] = Counter()
    for body in bodies(weekend):
        match body["type"], body["data"]:
            case "schattenspiel.round_judged" | "schocken.round_scored" | "takespillet.fog_rolled", _:
                expected[body["table"]] += 1
            case "takespillet.sok_rolled", {"face": "sok"}:
                expected[body["table"]] += 1
            case "takespillet.piece_moved", {"felled": "regent"}:
                expected[body["table"]] += 1
            case "skuggkast.claim_judged", {"verdict": "lie" | "guardian"}:
                expected[body["table"]] += 1
            case "skuggkast.claim_stood", _:
                expected[body["table"]] += 1
    assert Counter(table for table, _ in rows["rounds"]) == expected
    assert all(
        json.loads(round_)["game"] == table.partition("-")[0] for table, round_ in rows["rounds"] if "-" in table
    )


def test_a_round_of_skuggkast_tells_how_its_claim_was_taken(rows: Rows, weekend: MemoryLarp) -> None:
    """Dice that nobody saw are not in it; those that were judged are as the event has them."""
    rounds = [json.loads(round_) for table, round_ in rows["rounds"] if table.startswith("skuggkast")]
    for round_ in rounds:
        match round_["verdict"]:
            case "believed":
                assert round_["dice"] is None
            case "true":
                assert round_["dice"] == round_["claimed"]
            case "lie":
                assert round_["dice"] != round_["claimed"]
                assert round_["counts"] == 0
    judged = [body["data"] for body in bodies(weekend) if body["type"] == "skuggkast.claim_judged"]
    shown = [round_ for round_ in rounds if round_["verdict"] != "believed"]
    assert [(r["seat"], r["challenger"], r["dice"], r["verdict"]) for r in shown] == [
        (data["seat"], data["challenger"], data["dice"], data["verdict"]) for data in judged
    ]
    assert {"believed", "true", "lie"} <= {round_["verdict"] for round_ in rounds}


def test_lids_move_as_the_postings_say(rows: Rows, weekend: MemoryLarp) -> None:
    postings = [
        (body["table"], posting["from"], posting["to"], posting["amount"])
        for body in bodies(weekend)
        for posting in body["postings"]
        if posting["asset"] == "lid"
    ]
    moves = sorted(rows["lid_move"], key=lambda row: (row["position"], row["line"]))
    assert [(row["table_"], row["from_"], row["to_"], row["lids"]) for row in moves] == postings
    for table in {row["table_"] for row in moves}:
        of_table = [row for row in moves if row["table_"] == table]
        lids = of_table[0]["lids"]
        halves = sorted({row["half"] for row in of_table})
        for half in halves:
            in_rounds = [row["round"] for row in of_table if row["half"] == half and row["round"] is not None]
            assert in_rounds == sorted(in_rounds), "rounds are numbered from 1 on in each half"
            lying = [row for row in rows["lid"] if (row["table_"], row["half"]) == (table, half)]
            assert sum(row["lids"] for row in lying) == lids, "in each half all lids are somewhere"
            if half != halves[-1]:
                assert max(row["lids"] for row in lying) == lids, "a half ends when one seat has them all"


def test_lids_lie_as_the_view_says(rows: Rows, weekend: MemoryLarp) -> None:
    view = weekend.view("open")
    half = str(view["half"])
    lying = {row["account"]: row["lids"] for row in rows["lid"] if (row["table_"], row["half"]) == ("open", half)}
    assert lying.get("middle/open", 0) == view["middle"]
    for seat in view["seats"]:
        assert lying.get(f"seat/open/{seat['character']}", 0) == seat["lids"]
    assert any(seat["lids"] for seat in view["seats"]), "the example shows something"


def test_dice_are_counted_as_they_were_seen(rows: Rows, weekend: MemoryLarp) -> None:
    """Counted from the bytes: what lies under a cup that was never lifted is in no event and in no count."""
    dice_of = {b["table"]: b["data"]["dice"] for b in bodies(weekend) if b["type"].endswith(".opened")}
    sets = {b["table"]: b["data"]["rules"]["dice_set"] for b in bodies(weekend) if b["type"] == "skuggkast.opened"}
    expected: Counter[tuple[str, str, str]] = Counter()
    for body in bodies(weekend):
        for die, face in seen(body["type"], body["data"], sets.get(body["table"], "")):
            expected[body["table"], die, str(face)] += 1
    assert {(row["table_"], row["die"], row["face"]): row["seen"] for row in rows["die"]} == expected
    assert all(row["dice"] == dice_of[row["table_"]] for row in rows["die"])
    assert {row["dice"] for row in rows["die"]} == {"service", "reported"}


def seen(type_: str, data: Json, dice_set: str) -> Iterator[tuple[str, object]]:
    match type_:
        case "table.rolled_off":
            yield "number" if dice_set else "red", data["number"]
        case "skuggkast.claim_judged" if data["dice"]:
            yield "rune" if dice_set == "runes" else "symbol", data["dice"]["symbol"]
            yield "number", data["dice"]["number"]
            yield "rune_shadow" if dice_set == "runes" else "shadow", data["dice"]["shadow"]
        case "takespillet.sok_rolled":
            yield "sok", data["face"]
        case "takespillet.fog_rolled":
            yield from (("black", data["row"]), ("red", data["column"]))
        case "schocken.thrown" | "schocken.cup_lifted":
            yield from (("die", die) for die in data["dice"] or ())
        case "schocken.round_scored":
            yield from (("die", die) for cup in data["uncovered"] for die in cup["value"])
