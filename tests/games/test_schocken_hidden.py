"""Schocken: what lies under the cup stays there until the round is scored; the service's dice."""

import json
from collections import Counter

from ledger.games.schocken.messages import RoundScored, Thrown
from ledger.sealing import commitment, holds
from tests.games.schocken_support import FOUR, HIGH, LOW, Table, bodies, names

CANARY = (4, 4, 2)
"""Dice that nobody else throws here."""


def with_canary() -> Table:
    """anna's third throw is the canary."""
    table = Table()
    for _ in range(2):
        table.throw("anna", *HIGH)
    table.throw("anna", *CANARY)
    return table


def test_the_third_throw_is_in_nothing_that_is_recorded_or_shown() -> None:
    """Only its commitment is; the value lies apart, under its owner's name."""
    table = with_canary()
    thrown = table.larp.journal[-1]
    assert isinstance(thrown.event, Thrown)
    (sealed,) = thrown.event.sealed
    assert (sealed.seat, sealed.what) == ("anna", "cup")
    assert json.loads(thrown.body)["data"]["dice"] is None
    assert table.seat("anna")["hand"] == [None, None, None]
    secrets = table.larp.book.secrets.get("t")
    assert secrets is not None and secrets[sealed.commitment].value == list(CANARY)
    assert secrets[sealed.commitment].seat == "anna"
    for text in (bodies(table), repr(table.state), repr(thrown)):
        assert "4,4,2" not in text.replace(" ", "")
        assert secrets[sealed.commitment].nonce not in text


def test_a_sealed_throw_is_in_no_refusal() -> None:
    table = with_canary()
    said = [
        table.says_no("not_your_turn", "throw", "anna", dice=[1, 1, 1]),
        table.says_no("not_your_turn", "stand", "anna"),
        table.says_no("wrong_phase", "uncover", "anna", dice=[4, 4, 2]),
        table.says_no("no_such_rule", "drop", "anna"),
    ]
    assert not any("4" in text for text in said)


def test_it_stays_sealed_while_others_uncover_theirs() -> None:
    """A blind throw is visible at once, a sealed one when the round is scored, with its nonce."""
    table = with_canary()
    for _ in range(2):
        table.throw("bernd", *HIGH)
    table.throw("bernd", keep=(6, 6))
    table.throw("carla", *HIGH)
    table.throw("carla", *HIGH)
    table.throw("carla", 1, keep=(6, 5))
    table.throw("dieter", *LOW)
    table.stand("dieter")
    assert (table.view["phase"], table.view["waiting_for"]) == ("uncovering", ["bernd"])
    assert [s["hand"] for s in table.view["seats"]] == [[None] * 3, [6, 6, None], [6, 5, None], [2, 2, 1]]
    assert "4,4,2" not in bodies(table)
    came = table.act("uncover", "bernd", dice=[3])
    assert names(came) == ["cup_lifted", "round_scored"]
    scored = came[-1]
    assert isinstance(scored, RoundScored)
    assert sorted(tuple(u.value) for u in scored.uncovered) == [(1,), CANARY]
    assert all(holds(u) for u in scored.uncovered)
    assert [commitment(bytes.fromhex(u.nonce), u.value) for u in scored.uncovered] == [
        u.commitment for u in scored.uncovered
    ]
    assert table.larp.book.secrets.get("t") is None
    table.is_sound()


def test_a_blind_throw_seals_nothing() -> None:
    """Nobody knows what lies there, the service neither."""
    table = Table()
    for _ in range(2):
        table.throw("anna", *HIGH)
    (thrown,) = table.throw("anna", keep=(6,))
    assert thrown == Thrown(seat="anna", keep=(6,), dice=None, sealed=())
    assert table.larp.book.secrets.get("t") is None


def test_what_no_rule_uncovers_stays_sealed_when_the_table_is_void() -> None:
    table = with_canary()
    table.void()
    assert table.seat("anna")["hand"] == [None, None, None]
    assert "4,4,2" not in bodies(table) and '"nonce"' not in bodies(table)
    table.is_sound()


# ---- the service's dice ----


def test_the_service_rolls_and_hides_the_third_throw() -> None:
    """As many dice as are not kept; the third lies under the cup; nothing is ever blind."""
    table = Table(dice="service", entropy=b"some chance")
    (thrown,) = table.throw("anna")
    assert isinstance(thrown, Thrown) and thrown.dice is not None and len(thrown.dice) == 3
    kept = thrown.dice[1]
    (thrown,) = table.throw("anna", keep=(kept,))
    assert isinstance(thrown, Thrown) and thrown.dice is not None and len(thrown.dice) == 2
    assert table.seat("anna")["hand"] == [kept, *thrown.dice]
    (thrown,) = table.throw("anna", keep=(kept,))
    assert isinstance(thrown, Thrown) and thrown.dice is None and len(thrown.sealed) == 1
    assert table.seat("anna")["hand"] == [kept, None, None]
    for seat in FOUR[1:]:
        table.throw(seat)
        came = table.stand(seat)
    assert names(came)[:2] == ["stood", "round_scored"]
    scored = came[1]
    assert isinstance(scored, RoundScored)
    (uncovered,) = scored.uncovered
    anna = next(h for h in scored.hands if h.seat == "anna")
    assert anna.dice == (kept, *uncovered.value) and anna.throws == 3
    table.is_sound()


def test_the_service_rolls_every_face() -> None:
    """Fair to the eye: in 600 dice none is rare."""
    faces: Counter[int] = Counter()
    table = Table(dice="service", rules={"lids": 60})
    while sum(faces.values()) < 600:
        seat = table.view["turn"]
        (thrown, *_) = table.throw(seat)
        assert isinstance(thrown, Thrown)
        faces.update(thrown.dice or ())
        if table.view["turn"] == seat and table.seat(seat)["throws"]:
            table.stand(seat)
        if table.view["phase"] == "closed":
            table = Table(dice="service", rules={"lids": 60}, entropy=bytes([len(faces)]))
    assert sorted(faces) == [1, 2, 3, 4, 5, 6] and min(faces.values()) > 60
