"""Schattenspiel: opening, showing, both hands at once, resigning, and every way of saying no."""

from typing import Any

import pytest

from ledger.games.schattenspiel import SCHATTENSPIEL
from ledger.games.schattenspiel.messages import Hand, HandShown, Opened, Resigned, RoundJudged
from ledger.games.table import TableClosed, TableVoided
from tests.games.schattenspiel_support import POT, SEAT_A, SEAT_B, TABLE, Tavern, hand, names

# ---- opening ----


def test_opens_best_of_five_by_default() -> None:
    """All defaults are written out; there are no dice; without a stake nothing moves."""
    tavern = Tavern()
    (opened,) = tavern.open()
    assert isinstance(opened, Opened)
    assert (opened.rules.format, opened.rules.best_of, opened.rules.variants, opened.rules.matter) == (
        "best_of",
        5,
        (),
        "",
    )
    assert opened.dice is None and opened.stake is None
    assert tavern.last_postings == ()
    assert tavern.view["rules"] == {"format": "best_of", "best_of": 5, "variants": [], "matter": ""}


def test_view_of_a_new_table() -> None:
    """The game's own keys, nobody's turn, both seats awaited."""
    tavern = Tavern()
    tavern.open(place="Werkstatt")
    view = tavern.view
    assert {key: view[key] for key in ("table", "game", "phase", "turn", "dice", "winner", "place", "round")} == {
        "table": TABLE,
        "game": "schattenspiel",
        "phase": "play",
        "turn": None,
        "dice": None,
        "winner": None,
        "place": "Werkstatt",
        "round": 1,
    }
    assert view["waiting_for"] == ["anselm", "brunhild"]
    assert view["last_round"] is None and view["pot"] == {}
    assert view["seats"] == [
        {"character": "anselm", "points": 0, "markers": 0, "shown": False},
        {"character": "brunhild", "points": 0, "markers": 0, "shown": False},
    ]


def test_stake_goes_into_the_pot() -> None:
    """A stake is optional with best_of: what each puts into the pot."""
    tavern = Tavern()
    tavern.open(stake=3)
    assert tavern.view["pot"] == {"schraube": 6}
    assert tavern.markers == [0, 0]


def test_markers_lie_in_front_of_their_seats() -> None:
    """Ruled: with `markers` each seat's markers go to its own account, the pot is empty."""
    tavern = Tavern()
    tavern.open(stake=3, rules={"format": "markers"})
    assert tavern.account(SEAT_A) == tavern.account(SEAT_B) == {"schraube": 3}
    assert tavern.account(POT) == {} and tavern.view["pot"] == {}
    assert tavern.markers == [3, 3]
    assert "best_of" not in tavern.view["rules"]


def test_single_round_with_a_matter() -> None:
    """Iron Bastion says what the hand decides."""
    tavern = Tavern()
    tavern.open(rules={"format": "single", "matter": "wer wacht"})
    assert tavern.view["rules"] == {"format": "single", "variants": [], "matter": "wer wacht"}


def test_all_variants_together() -> None:
    variants = ["konklave_nord", "dust_covenant", "feu_werk"]
    tavern = Tavern()
    tavern.open(rules={"variants": variants})
    assert tavern.view["rules"]["variants"] == variants


INVALID: list[tuple[str, dict[str, Any]]] = [
    ("one seat", {"seats": ["anselm"]}),
    ("three seats", {"seats": ["anselm", "brunhild", "kurt"]}),
    ("a seat twice", {"seats": ["anselm", "anselm"]}),
    ("no such format", {"rules": {"format": "best"}}),
    ("best_of even", {"rules": {"best_of": 4}}),
    ("best_of 0", {"rules": {"best_of": 0}}),
    ("best_of below 0", {"rules": {"best_of": -1}}),
    ("best_of above 99", {"rules": {"best_of": 101}}),
    ("best_of with single", {"rules": {"format": "single", "best_of": 5}}),
    (
        "best_of with markers",
        {"rules": {"format": "markers", "best_of": 5}, "stake": {"asset": "schraube", "amount": 1}},
    ),
    ("no such variant", {"rules": {"variants": ["konklave_sued"]}}),
    ("a variant twice", {"rules": {"variants": ["feu_werk", "feu_werk"]}}),
    ("markers without a stake", {"rules": {"format": "markers"}}),
    ("a promise without credit", {"stake": {"asset": "pint", "amount": 1}}),
    ("a stake in lids", {"stake": {"asset": "lid", "amount": 1}}),
    ("reported dice", {"dice": "reported"}),
    ("dice of the service", {"dice": "service"}),
]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in INVALID])
def test_no_table_is_opened_like_that(body: dict[str, Any]) -> None:
    """Wrong words and numbers are invalid_rules, a stake missing and dice there are none of too."""
    Tavern().refuses_opening("invalid_rules", **body)


@pytest.mark.parametrize("best_of", [1, 99])
def test_best_of_reaches_from_1_to_99(best_of: int) -> None:
    tavern = Tavern()
    tavern.open(rules={"best_of": best_of})
    assert tavern.view["rules"]["best_of"] == best_of


@pytest.mark.parametrize(
    "rules",
    [{"matter": 7}, {"best_of": "5"}, {"best_of": None}, {"best_of": 5.5}, {"variants": "feu_werk"}, {"target": 3}],
    ids=str,
)
def test_malformed_rules(rules: dict[str, Any]) -> None:
    """A wrong type and an unknown key are malformed."""
    Tavern().refuses_opening("malformed", rules=rules)


def test_order_of_refusals_at_opening() -> None:
    """Unknown things, then the rules, then the name, then the money."""
    tavern = Tavern()
    bad, poor = {"rules": {"best_of": 2}}, {"stake": {"asset": "schraube", "amount": 11}}
    tavern.refuses_opening("unknown_character", seats=["anselm", "nobody"], **bad)
    tavern.refuses_opening("unknown_asset", stake={"asset": "gold", "amount": 1}, **bad)
    tavern.open()
    tavern.refuses_opening("invalid_rules", **bad, **poor)
    tavern.refuses_opening("invalid_rules", dice="reported", **poor)
    tavern.refuses_opening("already_exists", **poor)
    tavern.refuses_opening("insufficient_funds", table="t2", **poor)
    tavern.refuses_opening("credit_exceeded", table="t2", credit=True, **poor)


def test_name_of_a_closed_table_stays_taken() -> None:
    tavern = Tavern()
    tavern.open()
    tavern.resign("anselm")
    tavern.refuses_opening("already_exists")


def test_nobody_pays_where_the_second_cannot() -> None:
    """The stakes are all or nothing."""
    tavern = Tavern()
    tavern.collect("brunhild", 8)
    stake = {"asset": "schraube", "amount": 3}
    detail = tavern.refuses_opening("insufficient_funds", stake=stake)
    assert detail == "brunhild has 2 schraube, the stake is 3"
    tavern.refuses_opening("insufficient_funds", stake=stake, rules={"format": "markers"})


# ---- show ----


def test_first_hand_is_sealed() -> None:
    """Rule 1: a first `show` commits and judges nothing; the view says only that a hand is there."""
    tavern = Tavern()
    tavern.open()
    events = tavern.show("brunhild", "rH")
    assert names(events) == ["HandShown"]
    assert [seat["shown"] for seat in tavern.view["seats"]] == [False, True]
    assert tavern.view["waiting_for"] == ["anselm"] and tavern.view["turn"] is None
    assert tavern.view["round"] == 1 and tavern.view["last_round"] is None


def test_second_hand_judges_the_round_and_uncovers_both() -> None:
    """Rule 1: with the second hand the round is judged and both are uncovered."""
    tavern = Tavern()
    tavern.open()
    events = tavern.shown_round("sL", "rH")
    assert names(events) == ["HandShown", "HandShown", "RoundJudged"]
    judged = events[-1]
    assert isinstance(judged, RoundJudged)
    assert judged.hands == {"anselm": Hand("shadow", "low"), "brunhild": Hand("rift", "high")}
    assert [shown.value for shown in judged.uncovered] == [hand("sL"), hand("rH")]
    assert {shown.commitment for shown in judged.uncovered} == {s.commitment for s in tavern.sealed()}
    view = tavern.view
    assert view["last_round"] == {
        "winner": "anselm",
        "reason": "call",
        "hands": {"anselm": hand("sL"), "brunhild": hand("rH")},
    }
    assert view["waiting_for"] == ["anselm", "brunhild"] and view["round"] == 2
    assert [seat["shown"] for seat in view["seats"]] == [False, False]


def test_last_round_stays_while_the_next_is_shown() -> None:
    """`last_round` is the last one judged."""
    tavern = Tavern()
    tavern.open()
    tavern.round("sL", "rH")
    before = tavern.view["last_round"]
    tavern.show("anselm", "lH")
    assert tavern.view["last_round"] == before


def test_a_hand_is_shown_once() -> None:
    """Rule 1: a second `show` before the other hand is `already_shown`, and the first hand stands."""
    tavern = Tavern()
    tavern.open()
    tavern.show("anselm", "sL")
    detail = tavern.refuses("already_shown", action="show", seat="anselm", **hand("lH"))
    assert detail == "anselm has shown its hand; brunhild must show the other"
    tavern.show("brunhild", "rH")
    assert tavern.view["last_round"]["hands"]["anselm"] == hand("sL")


def test_who_has_no_seat_shows_nothing() -> None:
    """A character without a seat, and a seat that is no character: not_seated."""
    tavern = Tavern()
    tavern.open()
    tavern.show("anselm", "sL")
    for seat in ("kurt", "nobody"):
        tavern.refuses("not_seated", action="show", seat=seat, **hand("lH"))
        tavern.refuses("not_seated", action="resign", seat=seat)


@pytest.mark.parametrize(
    "action",
    [
        {"action": "show", "seat": "anselm", "sign": "fist", "call": "low"},
        {"action": "show", "seat": "anselm", "sign": "shadow", "call": "middle"},
        {"action": "show", "seat": "anselm", "sign": "shadow"},
        {"action": "show", "seat": "anselm", "call": "low"},
        {"action": "show", "sign": "shadow", "call": "low"},
        {"action": "show", "seat": "anselm", "sign": "shadow", "call": "low", "dice": [1]},
        {"action": "show", "seat": "Anselm!", "sign": "shadow", "call": "low"},
        {"action": "round", "shows": {}},
        {"action": "round", "shows": {"anselm": hand("sL")}},
        {"action": "round", "shows": {"kurt": hand("sL")}},
        {"action": "round", "shows": {"anselm": hand("sL"), "brunhild": {"sign": "rift"}}},
        {"action": "round", "shows": {"anselm": hand("sL"), "brunhild": {**hand("sL"), "seat": "brunhild"}}},
        {"action": "round", "shows": [hand("sL"), hand("sL")]},
        {"action": "round", "seat": "anselm", "shows": {"anselm": hand("sL"), "brunhild": hand("sL")}},
        {"action": "round"},
        {"action": "resign"},
        {"action": "roll", "seat": "anselm"},
        {"action": "believe", "seat": "anselm"},
    ],
    ids=str,
)
def test_malformed_actions(action: dict[str, Any]) -> None:
    """What no table of the game could accept; a round of one hand only among it."""
    tavern = Tavern()
    tavern.open()
    tavern.refuses("malformed", **action)


# ---- round ----


def test_round_records_both_hands_at_once() -> None:
    """Rule 1: `round` seals nothing and uncovers nothing; hands are kept in the order of the seats."""
    tavern = Tavern()
    tavern.open()
    (judged,) = tavern.act(action="round", shows={"brunhild": hand("rH"), "anselm": hand("sL")})
    assert isinstance(judged, RoundJudged) and judged.uncovered == ()
    assert list(judged.hands) == ["anselm", "brunhild"]
    assert (judged.winner, judged.reason, judged.counted) == ("anselm", "call", True)
    assert tavern.sealed() == []


def test_round_is_refused_while_a_hand_is_sealed() -> None:
    """Rule 1: `already_shown`, whichever hand it is; the hand stays."""
    for seat in ("anselm", "brunhild"):
        tavern = Tavern()
        tavern.open()
        tavern.show(seat, "rH")
        shows = {"anselm": hand("rH"), "brunhild": hand("rH")}
        assert seat in tavern.refuses("already_shown", action="round", shows=shows)
        assert tavern.view["waiting_for"] == [s for s in ("anselm", "brunhild") if s != seat]


def test_round_takes_the_hands_of_its_seats_only() -> None:
    """Rule 1: a hand of somebody else is not_seated, also beside both seats' and before already_shown."""
    tavern = Tavern()
    tavern.open()
    tavern.show("anselm", "lL")
    tavern.refuses("not_seated", action="round", shows={"anselm": hand("sL"), "kurt": hand("sL")})
    tavern.refuses("not_seated", action="round", shows={"kurt": hand("sL"), "nobody": hand("sL")})
    three = {"anselm": hand("sL"), "brunhild": hand("sL"), "kurt": hand("sL")}
    tavern.refuses("not_seated", action="round", shows=three)


def test_round_after_shown_rounds_and_the_other_way_round() -> None:
    """Both ways of playing a round can follow each other."""
    tavern = Tavern()
    tavern.open(rules={"best_of": 7})
    tavern.round("sL", "rH")
    tavern.shown_round("sL", "rH")
    tavern.round("rH", "sL")
    assert tavern.points == [2, 1] and tavern.view["round"] == 4


# ---- the end ----


def test_resign_lets_the_other_win() -> None:
    """Rule 6: the other wins, whoever is ahead."""
    tavern = Tavern()
    tavern.open(stake=2)
    tavern.round("sL", "rH")
    resigned, closed = tavern.resign("anselm")
    assert isinstance(resigned, Resigned) and resigned.seat == "anselm"
    assert isinstance(closed, TableClosed) and (closed.how, closed.winner) == ("won", "brunhild")
    assert tavern.account("purse/brunhild") == {"schraube": 12}
    view = tavern.view
    assert (view["phase"], view["winner"], view["waiting_for"]) == ("closed", "brunhild", [])
    assert tavern.points == [1, 0] and view["round"] == 2


@pytest.mark.parametrize("seat", ["anselm", "brunhild"])
def test_resign_while_a_hand_is_sealed(seat: str) -> None:
    """A seat may resign with its own hand sealed or the other's; no rule uncovers it then."""
    tavern = Tavern()
    tavern.open()
    tavern.show("anselm", "lH")
    tavern.resign(seat)
    assert tavern.view["winner"] == ("brunhild" if seat == "anselm" else "anselm")
    assert tavern.view["waiting_for"] == []
    assert tavern.uncovered() == [] and tavern.larp.book.secrets.get(TABLE) is None


@pytest.mark.parametrize("end", ["won", "resigned", "voided"])
def test_nothing_happens_at_a_table_that_is_over(end: str) -> None:
    """table_closed comes before every other refusal but malformed."""
    tavern = Tavern()
    tavern.open(rules={"format": "single"})
    match end:
        case "won":
            tavern.round("sL", "rH")
        case "resigned":
            tavern.resign("anselm")
        case _:
            tavern.void()
    tavern.refuses("table_closed", action="show", seat="anselm", **hand("sL"))
    tavern.refuses("table_closed", action="show", seat="kurt", **hand("sL"))
    tavern.refuses("table_closed", action="round", shows={"kurt": hand("sL"), "anselm": hand("sL")})
    tavern.refuses("table_closed", action="resign", seat="brunhild")
    tavern.refused("table_closed", f"tables/{TABLE}/void", reason="again")
    tavern.refuses("malformed", action="round", shows={"anselm": hand("sL")})


def test_void_is_possible_with_no_hand_one_hand_and_after_rounds() -> None:
    """Void closes without a winner; a sealed hand stays sealed."""
    for hands in (0, 1):
        tavern = Tavern()
        tavern.open(stake=2)
        tavern.round("sL", "rH")
        if hands:
            tavern.show("anselm", "lH")
        (voided,) = tavern.void()
        assert isinstance(voided, TableVoided)
        view = tavern.view
        assert (view["phase"], view["winner"], view["void_reason"], view["waiting_for"]) == ("voided", None, "rain", [])
        assert view["turn"] is None and view["pot"] == {}
        assert tavern.account("purse/anselm") == tavern.account("purse/brunhild") == {"schraube": 10}
        assert tavern.uncovered() == []


def test_events_and_actions_of_the_game_are_listed() -> None:
    """Every event that the game can record can be read back."""
    assert {Opened, HandShown, RoundJudged, Resigned, TableClosed, TableVoided} == set(SCHATTENSPIEL.events)
    tags = [event.TYPE for event in SCHATTENSPIEL.events]
    assert tags[:4] == [
        "schattenspiel.opened.v1",
        "schattenspiel.hand_shown.v1",
        "schattenspiel.round_judged.v1",
        "schattenspiel.resigned.v1",
    ]
