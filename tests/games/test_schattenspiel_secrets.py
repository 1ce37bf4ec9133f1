"""Schattenspiel: sealed hands stay sealed, what is uncovered can be checked, and any game is a fold of its bytes."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import snapshot
from ledger.book import OpenTable
from ledger.games.table import UncoversValues
from ledger.messages import Event
from tests.games.schattenspiel_support import POT, SEAT_A, SEAT_B, TABLE, Tavern, hand

HANDS = [sign + call for sign in "srl" for call in "LH"]
WORDS = ("shadow", "rift", "light", "low", "high")


def words_in(text: str) -> set[str]:
    """Signs and calls that stand in `text`."""
    return {word for word in WORDS if word in text}


def bodies(tavern: Tavern, last: int) -> str:
    return b"".join(recorded.body for recorded in tavern.larp.journal[-last:]).decode()


@pytest.mark.parametrize("short", HANDS)
def test_nothing_tells_a_sealed_hand(short: str) -> None:
    """Not the event, the view, a refusal, a snapshot, nor how Python shows the event and the state."""
    tavern = Tavern()
    tavern.open()
    events = tavern.show("anselm", short)
    refusals = [
        tavern.refuses("already_shown", action="show", seat="anselm", **hand("rL")),
        tavern.refuses("already_shown", action="round", shows={"anselm": hand("rL"), "brunhild": hand("rL")}),
    ]
    assert words_in(bodies(tavern, 1)) == set()
    assert words_in(json.dumps(tavern.view)) == set()
    assert words_in(repr(events) + repr(tavern.state) + repr(tavern.larp.applied[-1])) == set()
    assert words_in(snapshot.take(tavern.larp.book).decode()) == set()
    assert words_in("".join(refusals)) == set()


def test_second_hand_is_sealed_too() -> None:
    """Rule 1: each hand has its own commitment, recorded before both are uncovered."""
    tavern = Tavern()
    tavern.open()
    tavern.show("brunhild", "lH")
    tavern.show("anselm", "rH")
    first, second, judged = tavern.larp.journal[-3:]
    assert words_in(first.body.decode() + second.body.decode()) == set()
    assert words_in(judged.body.decode()) == {"light", "rift", "high"}
    assert [(sealed.seat, sealed.what) for sealed in tavern.sealed()] == [("brunhild", "hand"), ("anselm", "hand")]


def test_commitment_is_what_the_ruling_says() -> None:
    """SHA-256 over the 32 bytes of the nonce and the value as RFC 8785 canonical JSON."""
    tavern = Tavern()
    tavern.open()
    tavern.shown_round("sL", "lH")
    shown = {uncovered.commitment: uncovered for uncovered in tavern.uncovered()}
    texts = {"anselm": b'{"call":"low","sign":"shadow"}', "brunhild": b'{"call":"high","sign":"light"}'}
    for sealed in tavern.sealed():
        assert sealed.seat is not None
        nonce = bytes.fromhex(shown[sealed.commitment].nonce)
        assert len(nonce) == 32
        assert hashlib.sha256(nonce + texts[sealed.seat]).hexdigest() == sealed.commitment


def test_like_hands_have_unlike_commitments() -> None:
    """There are six hands: without a nonce of its own each could be guessed."""
    tavern = Tavern()
    tavern.open()
    for _ in range(5):
        tavern.shown_round("rL", "rL")
    assert len({sealed.commitment for sealed in tavern.sealed()}) == 10
    assert len({uncovered.nonce for uncovered in tavern.uncovered()}) == 10


def test_uncovered_hands_are_forgotten_by_the_book() -> None:
    """What everybody can see is no secret any more."""
    tavern = Tavern()
    tavern.open()
    tavern.show("anselm", "rL")
    assert len(tavern.larp.book.secrets.get(TABLE) or {}) == 1
    tavern.show("brunhild", "rL")
    assert not tavern.larp.book.secrets.get(TABLE)


@pytest.mark.parametrize("end", ["resigned", "voided"])
def test_hand_that_no_rule_uncovers_stays_sealed(end: str) -> None:
    """Also when the table is closed or void; the view still says that it is there."""
    tavern = Tavern()
    tavern.open(stake=1, rules={"format": "markers"})
    tavern.show("anselm", "lH")
    events: Sequence[Event] = tavern.resign("brunhild") if end == "resigned" else tavern.void()
    assert not any(isinstance(event, UncoversValues) for event in events)
    assert words_in(bodies(tavern, 3)) == set() and words_in(json.dumps(tavern.view)) == set()
    assert [seat["shown"] for seat in tavern.view["seats"]] == [True, False]
    assert tavern.view["waiting_for"] == []


def test_table_goes_on_from_a_snapshot() -> None:
    """A snapshot holds no hand, and the same state."""
    tavern = Tavern()
    tavern.open(stake=3, rules={"format": "markers", "variants": ["feu_werk"]})
    tavern.round("sL", "lL")
    tavern.show("anselm", "lH")
    restored = snapshot.restore(tavern.larp.book.larp, snapshot.take(tavern.larp.book))
    found = restored.tables.get(TABLE)
    assert isinstance(found, OpenTable) and found.state == tavern.state


def test_view_has_no_more_than_the_ruling_names() -> None:
    """The keys of every table, and the game's own."""
    tavern = Tavern()
    tavern.open()
    tavern.round("sL", "rL")
    own = {"rules", "seats", "round", "last_round"}
    common = {"table", "game", "dice", "credit", "stake", "place", "phase", "turn", "waiting_for", "pot", "winner"}
    assert set(tavern.view) == own | common | {"opened_at", "closed_at", "position", "void_reason"}
    assert set(tavern.view["last_round"]) == {"winner", "reason", "hands"}


# ---- any game ----

SHORTS = st.sampled_from(HANDS)
MOVES = st.one_of(
    st.tuples(st.just("shown"), SHORTS, SHORTS),
    st.tuples(st.just("round"), SHORTS, SHORTS),
    st.tuples(st.just("sealed then void"), SHORTS, SHORTS),
    st.tuples(st.just("sealed then resign"), SHORTS, SHORTS),
)
RULES = st.builds(
    lambda format_, variants, best_of: {
        "format": format_,
        "variants": sorted(variants),
        **({"best_of": best_of} if format_ == "best_of" else {}),
    },
    st.sampled_from(["best_of", "single", "markers"]),
    st.sets(st.sampled_from(["konklave_nord", "dust_covenant", "feu_werk"])),
    st.sampled_from([1, 3, 5, 7]),
)


@settings(max_examples=60, deadline=None)
@given(rules=RULES, stake=st.integers(1, 12), moves=st.lists(MOVES, max_size=25))
def test_any_game_keeps_the_books(rules: dict[str, Any], stake: int, moves: list[tuple[str, str, str]]) -> None:
    """Money is conserved, nothing below zero, commitments hold, bytes refold (all checked by the tavern), and
    the end gives the loser back exactly what it had not lost."""
    tavern = Tavern()
    for character in ("anselm", "brunhild"):
        tavern.credit(character, 5)
    before = tavern.larp.balances()
    tavern.open(stake=stake, credit=True, rules=rules)
    for how, of_a, of_b in moves:
        if tavern.view["phase"] != "play":
            break
        match how:
            case "shown":
                tavern.shown_round(of_a, of_b)
            case "round":
                tavern.round(of_a, of_b)
            case "sealed then void":
                tavern.show("anselm", of_a)
                tavern.void()
            case _:
                tavern.show("anselm", of_a)
                tavern.resign("brunhild")
    view = tavern.view
    msgspec.json.encode(view)
    if view["phase"] == "voided":
        assert tavern.larp.balances() == before
    elif view["phase"] == "closed":
        lost = lost_markers(tavern, view) if rules["format"] == "markers" else stake
        assert worth(tavern, view["winner"]) == 10 + lost
        assert worth(tavern, other(view["winner"])) == 10 - lost
    else:
        on_table = [*(tavern.account(a).values() for a in (POT, SEAT_A, SEAT_B))]
        assert sum(sum(amounts) for amounts in on_table) == 2 * stake


def other(character: str) -> str:
    return "brunhild" if character == "anselm" else "anselm"


def worth(tavern: Tavern, character: str) -> int:
    """All that a character has and is owed, less what it owes."""
    return sum(tavern.account(f"purse/{character}").values()) + sum(tavern.account(f"debtor/{character}").values())


def lost_markers(tavern: Tavern, view: dict[str, Any]) -> int:
    """How many rounds the loser of the table lost."""
    judged = [json.loads(r.body)["data"] for r in tavern.larp.journal if r.type == "schattenspiel.round_judged"]
    return sum(data["winner"] == view["winner"] for data in judged)
