"""Skuggkast, rules 1 and 2: opening a table, its variants, and rolling for who begins."""

from typing import Any

import pytest

from ledger.games.rolloff import RolledOff
from ledger.games.skuggkast import messages as m
from tests.games.skuggkast_support import POT, TABLE, THREE, Tavern, named

# ---- rule 1 ----


def test_opening_puts_every_stake_into_the_pot() -> None:
    tavern = Tavern()
    (opened,) = tavern.open(place="Kråkans Vila")
    assert isinstance(opened, m.Opened)
    assert tavern.postings == [(f"purse/{seat}", POT, "krona", 5) for seat in THREE]
    assert tavern.view == {
        "game": "skuggkast",
        "table": TABLE,
        "dice": "reported",
        "credit": False,
        "stake": {"asset": "krona", "amount": 5},
        "place": "Kråkans Vila",
        "phase": "turn",
        "turn": "alva",
        "waiting_for": ["alva"],
        "pot": {"krona": 15},
        "winner": None,
        "opened_at": tavern.view["opened_at"],
        "closed_at": None,
        "position": tavern.larp.book.position,
        "void_reason": None,
        "rules": {
            "dice_set": "symbols",
            "medium": "dice",
            "target": 3,
            "turn_raise": 0,
            "after_lie": "rebuy",
            "burnt_stake": "pot",
            "wrong_challenge_skips_turn": False,
            "named_casts": [],
            "starter": "alva",
        },
        "seats": [
            {
                "character": seat,
                "casts": [],
                "count": 0,
                "in_contention": True,
                "misses_turn": False,
                "left": False,
            }
            for seat in THREE
        ],
        "claim": None,
        "rolls": None,
    }


def test_the_defaults_of_the_rules_are_written_out_in_the_journal() -> None:
    """What a table was opened with is in its first event, even when a default should change one day."""
    tavern = Tavern()
    tavern.larp.do(_opening_command(tavern, {}))
    body = tavern.larp.journal[-1].body
    assert b'"target":3,"turn_raise":0,"after_lie":"rebuy","burnt_stake":"pot"' in body
    assert b'"starter":null' in body


@pytest.mark.parametrize(
    ("rules", "dice"),
    [
        ({"dice_set": "symbols", "target": 18}, "service"),
        ({"dice_set": "runes", "target": 12, "medium": "cards"}, "reported"),
        ({"target": 1, "turn_raise": 10**15, "after_lie": "no_rebuy", "burnt_stake": "burnt"}, "reported"),
        ({"wrong_challenge_skips_turn": True, "starter": "embla"}, "reported"),
        ({"named_casts": [named(n, s) for n in (1, 6) for s in ("neutral", "blessed", "cursed")]}, "reported"),
        ({"dice_set": "runes", "named_casts": [named(6, "shadow", 10**15), named(6, "neutral")]}, "service"),
    ],
)
def test_every_value_of_every_rule_opens_a_table(rules: dict[str, Any], dice: str) -> None:
    tavern = Tavern()
    tavern.open(dice=dice, **rules)
    assert {**tavern.view["rules"], **rules} == tavern.view["rules"]
    assert tavern.view["dice"] == dice


@pytest.mark.parametrize(
    "rules",
    [
        {"dice_set": "tarot"},
        {"medium": "bones"},
        {"target": 0},
        {"target": 19},
        {"dice_set": "runes", "target": 13},
        {"turn_raise": -1},
        {"turn_raise": 10**15 + 1},
        {"after_lie": "forgiven"},
        {"burnt_stake": "ashes"},
        {"starter": "frej"},
        {"starter": "nobody at all"},
        {"named_casts": [named(0, "neutral")]},
        {"named_casts": [named(7, "neutral")]},
        {"named_casts": [named(6, "shadow")]},
        {"named_casts": [named(6, "unheard")]},
        {"named_casts": [named(6, "neutral", 0)]},
        {"named_casts": [named(6, "cursed"), named(6, "cursed", 2)]},
        {"dice_set": "runes", "named_casts": [named(6, "guardian")]},
        {"dice_set": "runes", "named_casts": [named(6, "blessed")]},
    ],
)
def test_a_rule_out_of_its_range_opens_nothing(rules: dict[str, Any]) -> None:
    """Wrong words and numbers are 409 invalid_rules, not 400."""
    Tavern().refuses("invalid_rules", "/tables", _opening(rules))


@pytest.mark.parametrize(
    "rules",
    [
        {"dice_sett": "runes"},
        {"target": "3"},
        {"target": 2.5},
        {"wrong_challenge_skips_turn": 1},
        {"named_casts": [{"number": 6, "shadow": "cursed", "bonus": 1}]},
        {"named_casts": [{**named(6, "cursed"), "symbol": "star"}]},
        {"named_casts": "all"},
        {"starter": 1},
        {"dice_set": None},
    ],
)
def test_wrong_types_and_unknown_keys_are_malformed(rules: dict[str, Any]) -> None:
    Tavern().refuses("malformed", "/tables", _opening(rules))


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("invalid_rules", {"seats": []}),
        ("invalid_rules", {"seats": ["alva"]}),
        ("invalid_rules", {"seats": ["alva", "birk", "alva"]}),
        ("invalid_rules", {"stake": None}),
        ("invalid_rules", {"stake": {"asset": "lid", "amount": 1}}),
        ("invalid_rules", {"stake": {"asset": "pint", "amount": 1}}),
        ("malformed", {"stake": {"asset": "krona", "amount": 0}}),
        ("malformed", {"stake": {"asset": "krona", "amount": 10**15 + 1}}),
        ("malformed", {"stake": {"asset": "krona"}}),
        ("malformed", {"seats": ["alva", "Birk"]}),
        ("malformed", {"dice": "loaded"}),
        ("malformed", {"colour": "red"}),
        ("unknown_character", {"seats": ["alva", "gurra"]}),
        ("unknown_asset", {"stake": {"asset": "guld", "amount": 1}}),
        ("insufficient_funds", {"stake": {"asset": "krona", "amount": 21}}),
        ("credit_exceeded", {"stake": {"asset": "krona", "amount": 21}, "credit": True}),
    ],
)
def test_what_opens_no_table(code: str, changes: dict[str, Any]) -> None:
    Tavern().refuses(code, "/tables", _opening({}) | changes)


def test_refusals_of_an_opening_come_in_their_order() -> None:
    """What is unknown, then the rules, then the name that is taken, then the money."""
    tavern = Tavern()
    tavern.open()
    everything = _opening({"target": 0}) | {"seats": ["alva", "gurra"], "stake": {"asset": "krona", "amount": 99}}
    tavern.refuses("unknown_character", "/tables", everything)
    everything["seats"] = ["alva", "birk"]
    tavern.refuses("invalid_rules", "/tables", everything)
    everything["rules"] = {}
    tavern.refuses("already_exists", "/tables", everything)
    everything["table"] = "t2"
    detail = tavern.refuses("insufficient_funds", "/tables", everything)
    assert detail == "alva has 15 krona, the stake is 99"


def test_a_table_that_is_over_keeps_its_name() -> None:
    tavern = Tavern()
    tavern.open()
    tavern.void()
    tavern.refuses("already_exists", "/tables", _opening({}))


def test_all_stakes_or_none() -> None:
    """The last seat cannot pay: nobody has paid."""
    tavern = Tavern(krona={"embla": 4})
    detail = tavern.refuses("insufficient_funds", "/tables", _opening({}))
    assert "embla has 4 krona" in detail


def test_a_stake_on_credit_takes_tokens_first_and_a_note_for_the_rest() -> None:
    tavern = Tavern(krona={"alva": 3}, limits={"alva": 2})
    tavern.open("alva", "birk", credit=True)
    assert tavern.postings == [
        ("purse/alva", POT, "krona", 3),
        ("debtor/alva", POT, "iou/alva/krona", 2),
        ("purse/birk", POT, "krona", 5),
    ]
    assert tavern.view["pot"] == {"iou/alva/krona": 2, "krona": 8}


def test_credit_ends_at_the_limit() -> None:
    tavern = Tavern(krona={"alva": 3}, limits={"alva": 1})
    detail = tavern.refuses("credit_exceeded", "/tables", _opening({}) | {"credit": True})
    assert detail == "alva has 3 krona and may owe 1 more, the stake is 5"


def test_a_promise_is_staked_in_notes() -> None:
    tavern = Tavern()
    tavern.open("alva", "birk", asset="pint", credit=True)
    assert tavern.view["pot"] == {"iou/alva/pint": 5, "iou/birk/pint": 5}


def test_promises_have_no_limit_but_the_largest_balance() -> None:
    """No balance leaves -(2^53 - 1) to 2^53 - 1: that is not a matter of credit."""
    tavern = Tavern()
    for _ in range(9):
        tavern._send("/ious", debtor="alva", creditor="kurt", asset="pint", amount=10**15)
    opening = _opening({}) | {"stake": {"asset": "pint", "amount": 10**15}, "credit": True}
    tavern.refuses("balance_overflow", "/tables", opening)


def test_a_pot_may_hold_more_than_one_command_may_name() -> None:
    """The winner's posting is larger than 10^15, and the journal is still read back."""
    tavern = Tavern(krona={"alva": 10**15, "birk": 10**15})
    tavern.open("alva", "birk", stake=10**15)
    tavern.do("leave", "alva")
    assert tavern.postings == [(POT, "purse/birk", "krona", 2 * 10**15)]


# ---- rule 2 ----


def roll_off(*seats: str, **more: Any) -> Tavern:
    tavern = Tavern()
    tavern.open(*seats, starter=None, **more)
    return tavern


def test_without_a_starter_the_seats_roll_for_it_in_any_order() -> None:
    tavern = roll_off()
    assert _rolling(tavern) == (None, list(THREE), {})
    assert tavern.do("roll_off", "embla", number=3) == [RolledOff(seat="embla", number=3)]
    assert _rolling(tavern) == (None, ["alva", "birk"], {"embla": 3})
    tavern.do("roll_off", "alva", number=2)
    tavern.do("roll_off", "birk", number=5)
    assert (tavern.view["phase"], tavern.view["turn"], tavern.view["rolls"]) == ("turn", "birk", None)


def test_those_who_share_the_highest_roll_again_until_one_is_left() -> None:
    tavern = roll_off("alva", "birk", "embla", "frej")
    for seat, number in (("alva", 6), ("birk", 6), ("embla", 5), ("frej", 6)):
        tavern.do("roll_off", seat, number=number)
    assert _rolling(tavern) == (None, ["alva", "birk", "frej"], {})
    assert "alva, birk, frej" in tavern.refused("already_rolled", "roll_off", "embla", number=6)
    for seat, number in (("frej", 1), ("alva", 4), ("birk", 4)):
        tavern.do("roll_off", seat, number=number)
    assert _rolling(tavern) == (None, ["alva", "birk"], {})
    tavern.refused("already_rolled", "roll_off", "frej", number=6)
    tavern.do("roll_off", "birk", number=1)
    tavern.do("roll_off", "alva", number=2)
    assert tavern.view["turn"] == "alva"


def test_refusals_of_a_roll_for_the_start_come_in_their_order() -> None:
    tavern = roll_off()
    tavern.do("roll_off", "alva", number=3)
    tavern.refused("not_seated", "roll_off", "kurt")
    tavern.refused("not_seated", "roll_off", "gurra", number=1)
    tavern.refused("dice_required", "roll_off", "alva")
    assert "alva has rolled 3" in tavern.refused("already_rolled", "roll_off", "alva", number=3)
    for number in (0, 7, "6", None):
        code = "dice_required" if number is None else "malformed"
        tavern.refused(code, "roll_off", "birk", number=number)


def test_outside_its_phase_nobody_rolls_for_the_start() -> None:
    tavern = Tavern()
    tavern.open()
    tavern.refused("not_seated", "roll_off", "kurt", number=1)
    tavern.refused("wrong_phase", "roll_off", "alva")


def test_before_there_is_a_starter_only_rolling_and_leaving_go_on() -> None:
    tavern = roll_off()
    tavern.refused("wrong_phase", "roll", "alva", "star-1-neutral")
    tavern.refused("wrong_phase", "claim", "alva", "star-1-neutral")
    tavern.refused("wrong_phase", "believe", "alva")
    tavern.refused("wrong_phase", "challenge", "alva")
    tavern.refused("wrong_phase", "accept")
    tavern.refused("wrong_phase", "reveal", "alva", refuse=True)
    tavern.refused("wrong_phase", "rebuy", "alva")


def test_the_service_rolls_for_the_start() -> None:
    tavern = roll_off(dice="service")
    tavern.refused("dice_not_accepted", "roll_off", "alva", number=3)
    rounds = 0
    while tavern.view["phase"] == "roll_off":
        (rolled,) = tavern.do("roll_off", tavern.view["waiting_for"][0])
        assert isinstance(rolled, RolledOff) and 1 <= rolled.number <= 6
        rounds += 1
    assert rounds >= 3 and tavern.view["turn"] in THREE


def test_who_leaves_takes_its_number_along() -> None:
    """Rule 11: the rest are judged without it."""
    tavern = roll_off()
    tavern.do("roll_off", "alva", number=6)
    tavern.do("roll_off", "birk", number=2)
    tavern.do("leave", "alva")
    assert _rolling(tavern) == (None, ["embla"], {"birk": 2})
    tavern.do("roll_off", "embla", number=1)
    assert tavern.view["turn"] == "birk"


def test_who_leaves_last_to_roll_ends_the_round() -> None:
    tavern = roll_off()
    tavern.do("roll_off", "alva", number=4)
    tavern.do("roll_off", "birk", number=4)
    tavern.do("leave", "embla")
    assert _rolling(tavern) == (None, ["alva", "birk"], {})
    tavern.refused("not_seated", "roll_off", "embla", number=4)


@pytest.mark.parametrize("rolled_before", [True, False])
def test_of_two_who_share_the_highest_one_leaves(rolled_before: bool) -> None:
    """The other of them begins, not a third who rolled less before."""
    tavern = roll_off()
    for seat, number in (("alva", 4), ("birk", 4), ("embla", 3)):
        tavern.do("roll_off", seat, number=number)
    if rolled_before:
        tavern.do("roll_off", "alva", number=6)
    tavern.do("leave", "alva")
    assert (tavern.view["phase"], tavern.view["turn"]) == ("turn", "birk")


def test_a_seat_out_of_the_running_leaves_and_nothing_else_changes() -> None:
    tavern = roll_off()
    for seat, number in (("alva", 4), ("birk", 4), ("embla", 3)):
        tavern.do("roll_off", seat, number=number)
    tavern.do("roll_off", "birk", number=2)
    tavern.do("leave", "embla")
    assert _rolling(tavern) == (None, ["alva"], {"birk": 2})


def test_the_last_seat_left_takes_the_pot_before_anybody_began() -> None:
    tavern = roll_off("alva", "birk")
    tavern.do("roll_off", "birk", number=2)
    tavern.do("leave", "birk")
    assert (tavern.view["phase"], tavern.view["winner"], tavern.view["turn"]) == ("closed", "alva", None)
    assert tavern.view["rolls"] is None
    assert tavern.purse("alva") == 25


# ---- helpers ----


def _rolling(tavern: Tavern) -> tuple[Any, Any, Any]:
    view = tavern.view
    assert view["phase"] == "roll_off"
    return view["turn"], view["waiting_for"], view["rolls"]


def _opening(rules: dict[str, Any]) -> dict[str, Any]:
    return {
        "table": TABLE,
        "game": "skuggkast",
        "seats": list(THREE),
        "stake": {"asset": "krona", "amount": 5},
        "rules": rules,
    }


def _opening_command(tavern: Tavern, rules: dict[str, Any]) -> Any:
    from tests.support.in_memory import command_of

    return command_of(tavern.larp.book, "POST", "/tables", _opening(rules))
