"""Debts are what the postings say, as of any position; corrections and late entries are seen for what they are."""

import json
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from ledger import purses
from ledger.book import Act, LarpCommand, Void, VoidTable
from ledger.database import Database
from ledger.errors import Refused
from ledger.games.skuggkast.messages import Leave, OpenSkuggkast, Rules
from ledger.games.table import Sum
from ledger.messages import Actor
from ledger.writer import Writers
from projections import as_of, debts, queries
from projections.audit import audit
from projections.debts import Debt, Total
from projections.marks import LATE_AFTER, marked

ACTOR = Actor(role="organiser", token="tok_test")
PEOPLE = ("alva", "birk", "embla", "frej")
EVENING = datetime(2026, 11, 1, 21, 0, tzinfo=UTC)


class Larp:
    """The LARP `north` with people and krona, and its tavern's pints."""

    def __init__(self, writers: Writers, database: Database) -> None:
        self.writers, self.database = writers, database

    async def begin(self) -> None:
        await self.writers.found(purses.FoundLarp(larp="north", name="North"), ACTOR)
        await self.do(purses.DefineAsset(asset="krona", kind="token", name="Krona"))
        await self.do(purses.DefineAsset(asset="pint", kind="promise", name="Pint"))
        for who in PEOPLE:
            await self.do(purses.AddCharacter(character=who, name=who, credit_limit={"krona": 30}))

    async def do(self, command: LarpCommand) -> int:
        return (await self.writers.submit("north", command, ACTOR)).position

    async def owe(
        self, debtor: str, creditor: str, amount: int, asset: str = "krona", at: datetime | None = None
    ) -> int:
        return await self.do(purses.IssueNote(debtor=debtor, creditor=creditor, asset=asset, amount=amount, at=at))

    async def debts(self, position: int | None = None, only: str | None = None) -> list[Debt]:
        async with self.database.connection() as connection:
            now = await debts.now(connection, "north")
            then = await as_of.at_position(connection, "north", position) if position else now
            return list(await debts.debts(connection, then, only))

    async def brief(self, position: int | None = None, only: str | None = None) -> list[tuple[object, ...]]:
        """Debtor, creditor or table, asset, and the notes: amount and the position that issued them."""
        return [
            (d.debtor, d.creditor or f"at {d.table}", d.asset, [(n.amount, n.position) for n in d.notes])
            for d in await self.debts(position, only)
        ]

    async def events(self, *, with_marks: bool = False) -> list[Mapping[str, object]]:
        async with self.database.connection() as connection:
            found = await queries.events(connection, "north", queries.EventFilter(), 1000)
            rows = await marked(connection, "north", found) if with_marks else found
        return [json.loads(event) for _, event in rows]

    async def statement(self, character: str, **how: object) -> list[queries.StatementRow]:
        async with self.database.connection() as connection:
            return list(await queries.statement(connection, "north", character, None, 1000, **how))


@pytest.fixture
async def larp(writers: Writers, database: Database) -> Larp:
    made = Larp(writers, database)
    await made.begin()
    return made


async def test_a_debt_says_who_owes_whom_since_when_and_from_what(larp: Larp) -> None:
    first = await larp.owe("alva", "birk", 5, at=EVENING)
    second = await larp.owe("alva", "birk", 2)
    pint = await larp.owe("embla", "alva", 1, "pint")
    krona, pints = await larp.debts()
    assert (krona.debtor, krona.creditor, krona.table, krona.asset, krona.amount) == ("alva", "birk", None, "krona", 7)
    assert (krona.since, krona.position) == (EVENING, first)
    older, newer = krona.notes
    assert (older.amount, older.since, older.type, older.table) == (5, EVENING, "note.issued", None)
    assert older.recorded_at > older.since, "both times are there"
    assert (newer.amount, newer.position) == (2, second)
    assert (pints.debtor, pints.creditor, pints.asset, pints.position) == ("embla", "alva", "pint", pint)
    assert debts.totals([krona, pints]) == [
        Total("alva", "krona", owes=7, owed=0),
        Total("alva", "pint", owes=0, owed=1),
        Total("birk", "krona", owes=0, owed=7),
        Total("embla", "pint", owes=1, owed=0),
    ]


async def test_a_note_from_a_table_stays_from_that_table(larp: Larp) -> None:
    """Staked on credit, won, handed on, and at last home: by then nobody owes it any more."""
    await larp.do(purses.Grant(to="birk", asset="krona", amount=4))
    stake = await larp.do(
        OpenSkuggkast(
            table="t", seats=("alva", "birk"), stake=Sum("krona", 4), credit=True, rules=Rules(starter="alva")
        )
    )
    assert await larp.brief() == [("alva", "at t", "krona", [(4, stake)])]
    (staked,) = await larp.debts()
    assert (staked.creditor, staked.table) == (None, "t")
    assert debts.owing([staked]) == [], "it is played for"
    assert debts.totals([staked]) == [Total("alva", "krona", owes=4, owed=0)]
    won = await larp.do(Act("t", Leave(seat="alva")))
    (debt,) = await larp.debts()
    assert (debt.debtor, debt.creditor, debt.amount) == ("alva", "birk", 4)
    assert [(note.table, note.type, note.position) for note in debt.notes] == [("t", "skuggkast.opened", stake)]
    await larp.do(purses.Assign(debtor="alva", from_="birk", to="frej", asset="krona", amount=3))
    assert await larp.brief() == [("alva", "birk", "krona", [(1, stake)]), ("alva", "frej", "krona", [(3, stake)])]
    await larp.do(purses.Assign(debtor="alva", from_="frej", to="alva", asset="krona", amount=3))
    assert await larp.brief() == [("alva", "birk", "krona", [(1, stake)])]
    assert await larp.brief(stake) == [("alva", "at t", "krona", [(4, stake)])]
    assert await larp.brief(won) == [("alva", "birk", "krona", [(4, stake)])]


async def test_a_voided_table_leaves_no_debt(larp: Larp) -> None:
    await larp.do(OpenSkuggkast(table="t", seats=("alva", "birk"), stake=Sum("pint", 2), credit=True))
    assert len(await larp.debts()) == 2
    await larp.do(Void("t", VoidTable(reason="rain")))
    assert await larp.debts() == []


async def test_what_a_reversal_brings_back_is_as_old_as_it_was(larp: Larp) -> None:
    await larp.do(purses.Grant(to="alva", asset="krona", amount=9))
    first, wrong = await larp.owe("alva", "birk", 5), await larp.owe("alva", "birk", 3)
    settled = await larp.do(purses.Settle(debtor="alva", creditor="birk", asset="krona", amount=6))
    assert await larp.brief() == [("alva", "birk", "krona", [(2, wrong)])]
    await larp.do(purses.Reverse(position=settled, reason="not paid after all"))
    assert await larp.brief() == [("alva", "birk", "krona", [(5, first), (3, wrong)])]
    await larp.do(purses.Reverse(position=wrong, reason="never promised"))
    assert await larp.brief() == [("alva", "birk", "krona", [(5, first)])], "not the oldest: the one that was reversed"
    assert await larp.brief(settled) == [("alva", "birk", "krona", [(2, wrong)])]


async def test_who_asks_for_one_character_sees_what_it_owes_and_is_owed(larp: Larp) -> None:
    await larp.owe("alva", "birk", 5)
    await larp.owe("alva", "embla", 1)
    await larp.owe("birk", "embla", 2)
    everything = await larp.debts()
    for who in PEOPLE:
        assert await larp.debts(only=who) == [debt for debt in everything if who in (debt.debtor, debt.creditor)]


async def test_debts_agree_with_purses_at_every_position_of_a_random_evening(larp: Larp) -> None:
    """And with the journal's postings, added up; and the audit has nothing to say."""
    rng = random.Random(7)
    for _ in range(140):
        try:
            await larp.do(some_command(rng, (await larp.events())[-1]["position"]))
        except Refused:
            continue
    events = await larp.events()
    assert {"note.assigned", "note.settled", "event.reversed", "table.closed", "table.voided"} <= {
        str(event["type"]) for event in events
    }
    held: dict[tuple[str, str], int] = {}
    for event in events:
        for posting in event["postings"]:  # type: ignore[attr-defined]
            for account, change in ((posting["from"], -posting["amount"]), (posting["to"], posting["amount"])):
                held[account, posting["asset"]] = held.get((account, posting["asset"]), 0) + change
        position = int(str(event["position"]))
        if position % 5 and position != len(events):
            continue
        found = {}
        for debt in await larp.debts(position):
            assert debt.amount == sum(note.amount for note in debt.notes)
            assert all(note.position <= position for note in debt.notes)
            place = f"purse/{debt.creditor}" if debt.creditor else f"pot/{debt.table}"
            found[place, f"iou/{debt.debtor}/{debt.asset}"] = debt.amount
        assert found == {key: n for key, n in held.items() if key[1].startswith("iou/") and n > 0}, position
    async with larp.database.connection() as connection:
        result = await audit(connection, "north")
        everybody = await queries.purses(connection, "north", None, 10)
    assert result.ok, [check for check in result.checks if not check.ok]
    assert sum(note.amount for purse in everybody for note in purse.owes) == sum(d.amount for d in await larp.debts())


def some_command(rng: random.Random, head: object) -> LarpCommand:
    one, other, third = rng.sample(PEOPLE, 3)
    asset, n = rng.choice(["krona", "pint"]), rng.randint(1, 4)
    table = f"t{rng.randint(1, 6)}"
    return rng.choice(
        [
            purses.Grant(to=one, asset="krona", amount=n),
            purses.IssueNote(debtor=one, creditor=other, asset=asset, amount=2 * n),
            purses.IssueNote(debtor=one, creditor=other, asset=asset, amount=2 * n),
            purses.Settle(debtor=one, creditor=other, asset=asset, amount=n),
            purses.Forgive(debtor=one, creditor=other, asset=asset, amount=n),
            purses.Assign(debtor=one, from_=other, to=rng.choice([one, third]), asset=asset, amount=n),
            purses.Assign(debtor=one, from_=other, to=rng.choice([one, third]), asset=asset, amount=n),
            purses.Reverse(position=rng.randint(max(1, int(str(head)) - 6), int(str(head))), reason="a slip"),
            OpenSkuggkast(table=table, seats=(one, other), stake=Sum(asset, n), credit=True, rules=Rules(starter=one)),
            Act(table, Leave(seat=one)),
            Void(table, VoidTable(reason="rain")),
        ]
    )


# ---- corrections, beside what they correct ----


async def test_a_reversal_and_its_original_point_at_each_other(larp: Larp) -> None:
    note = await larp.owe("alva", "birk", 5)
    reversal = await larp.do(purses.Reverse(position=note, reason="a slip"))
    stored = await larp.events()
    shown = await larp.events(with_marks=True)
    assert shown[note - 1] == stored[note - 1] | {"reversed_by": reversal}
    assert shown[reversal - 1] == stored[reversal - 1], "its data names the original"
    rows = await larp.statement("alva")
    assert [(row.position, row.reversed_by, row.reverses) for row in rows] == [
        (reversal, None, note),
        (note, reversal, None),
    ]
    before = await larp.statement("alva", until=note)
    assert [(row.position, row.reversed_by) for row in before] == [(note, None)], "it was not reversed yet"


async def test_a_void_stands_beside_what_it_gave_back(larp: Larp) -> None:
    stake = await larp.do(OpenSkuggkast(table="t", seats=("alva", "birk"), stake=Sum("pint", 2), credit=True))
    assert [row.voided_by for row in await larp.statement("alva")] == [None]
    void = await larp.do(Void("t", VoidTable(reason="rain")))
    assert [(row.position, row.voided_by) for row in await larp.statement("alva")] == [(void, None), (stake, void)]
    shown = await larp.events(with_marks=True)
    assert [event.get("voided_by") for event in shown[stake - 1 :]] == [void, None]
    assert [row.voided_by for row in await larp.statement("alva", until=stake)] == [None]


async def test_a_marked_event_holds_the_stored_text(larp: Larp) -> None:
    note = await larp.owe("alva", "birk", 5, at=EVENING)
    await larp.do(purses.Reverse(position=note, reason="a slip"))
    async with larp.database.connection() as connection:
        plain = await queries.event(connection, "north", note)
        ((_, shown),) = await marked(connection, "north", [(note, plain)])
        assert shown.startswith(plain[:-1] + b",")
        assert await marked(connection, "north", []) == []


async def test_the_audit_finds_a_reversal_that_was_tampered_with(larp: Larp, database_url: str) -> None:
    note = await larp.owe("alva", "birk", 5)
    reversal = await larp.do(purses.Reverse(position=note, reason="a slip"))
    with psycopg.connect(database_url, autocommit=True) as superuser:
        superuser.execute("UPDATE skuggbok.reversal SET original = original - 1")
    async with larp.database.connection() as connection:
        result = await audit(connection, "north")
    assert {(f.check, f.position) for c in result.checks for f in c.findings} == {("reversals", reversal)}


# ---- late entries ----


async def test_what_was_typed_in_later_is_late(larp: Larp) -> None:
    """Some minutes of typing are not; nor is a clock that runs ahead."""
    now = datetime.now(UTC)
    times = [
        now - timedelta(days=1),
        now - LATE_AFTER - timedelta(seconds=1),
        now - LATE_AFTER / 2,
        now + LATE_AFTER * 2,
    ]
    positions = [await larp.owe("alva", "birk", 1, at=at) for at in times]
    rows = {row.position: row for row in await larp.statement("alva")}
    assert [rows[position].late for position in positions] == [True, True, False, False]
    assert [rows[position].at for position in positions] == times
    shown = await larp.events(with_marks=True)
    assert [shown[position - 1].get("late") for position in positions] == [True, True, None, None]


async def test_a_statement_is_sorted_by_either_time(larp: Larp) -> None:
    hours = (3, 1, 2, 1)
    positions = [await larp.owe("alva", "birk", 1, at=EVENING + timedelta(hours=h)) for h in hours]
    latest = await larp.owe("alva", "birk", 1)
    by_recording = [row.position for row in await larp.statement("alva")]
    assert by_recording == [latest, *reversed(positions)]
    by_at = [row.position for row in await larp.statement("alva", order="at")]
    assert by_at == [latest, positions[0], positions[2], positions[3], positions[1]]
    assert [row.position for row in await larp.statement("alva", order="at", until=positions[1])] == positions[:2]


@pytest.mark.parametrize("order", ["recorded", "at"])
async def test_pages_by_either_time_miss_and_repeat_nothing(larp: Larp, order: str) -> None:
    """Also while things are typed in that happened long ago, and many things happened at the same time."""
    rng = random.Random(3)
    for _ in range(12):
        await larp.owe("alva", "birk", 1, at=EVENING + timedelta(hours=rng.randint(0, 2)))
    whole = await larp.statement("alva", order=order)
    assert len(whole) == 12
    seen: list[queries.StatementRow] = []
    async with larp.database.connection() as connection:
        while page := await queries.statement(connection, "north", "alva", last(seen), 5, order=order):  # type: ignore[arg-type]
            seen += page
            if len(seen) <= len(whole):
                await larp.owe("alva", "frej", 1, at=EVENING + timedelta(minutes=90))
    assert [row for row in seen if row in whole] == whole
    assert len({(row.position, row.line) for row in seen}) == len(seen)


def last(seen: Sequence[queries.StatementRow]) -> tuple[int, int] | None:
    return (seen[-1].position, seen[-1].line) if seen else None


async def test_an_empty_larp_has_no_debts(larp: Larp) -> None:
    assert await larp.debts() == []
    assert await larp.debts(1) == []
