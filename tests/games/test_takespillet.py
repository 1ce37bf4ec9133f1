"""Tåkespillet: opening, rolling for the start, setting up. The numbers are those of rules/takespillet.md."""

from typing import Any

import pytest

from ledger.games.rolloff import RolledOff
from ledger.games.takespillet.messages import Farmer, Opened, Placed, Rules, TilesSealed
from ledger.messages import Posting
from tests.games.takespillet_support import HOME, KRONE, NORTH, OUTSIDER, POT, SOUTH, Tavern, opened, opening

EMPTY_BOARD = ["........"] * 8

# ---- opening: rule 1 ----


def test_opening_puts_both_stakes_into_the_pot() -> None:
    tavern = Tavern()
    (event,) = tavern.open()
    assert isinstance(event, Opened)
    assert (event.seats, event.dice, event.credit, event.rules) == ((SOUTH, NORTH), "reported", False, Rules())
    assert tavern.postings() == (
        Posting(f"purse/{SOUTH}", POT, KRONE, 5),
        Posting(f"purse/{NORTH}", POT, KRONE, 5),
    )


def test_the_view_of_a_new_table() -> None:
    view = opened(place="Kråkans Vila").view
    assert view["seats"] == [{"character": SOUTH, "side": "south"}, {"character": NORTH, "side": "north"}]
    wanted = {
        "game": "takespillet",
        "rules": {},
        "dice": "reported",
        "credit": False,
        "stake": {"asset": KRONE, "amount": 5},
        "place": "Kråkans Vila",
        "phase": "roll_off",
        "turn": None,
        "waiting_for": [SOUTH, NORTH],
        "pot": {KRONE: 10},
        "winner": None,
        "board": EMPTY_BOARD,
        "pieces": [],
        "moved": [],
        "sok": None,
        "allocated": None,
        "draw_offers": [],
        "quiet_turns": 0,
        "drawn": False,
        "rolls": {},
    }
    assert {key: view[key] for key in wanted} == wanted


def test_a_credit_table_takes_tokens_first_and_then_notes() -> None:
    tavern = opened(stake=8, credit=True)
    assert tavern.view["pot"] == {KRONE: 10, f"iou/{SOUTH}/{KRONE}": 3, f"iou/{NORTH}/{KRONE}": 3}


def test_a_stake_in_a_promise_is_paid_in_notes() -> None:
    tavern = opened(stake={"asset": "mead", "amount": 3}, credit=True)
    assert tavern.view["pot"] == {f"iou/{SOUTH}/mead": 3, f"iou/{NORTH}/mead": 3}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"seats": [SOUTH]}, id="one-seat"),
        pytest.param({"seats": []}, id="no-seat"),
        pytest.param({"seats": [SOUTH, NORTH, OUTSIDER]}, id="three-seats"),
        pytest.param({"seats": [SOUTH, SOUTH]}, id="a-seat-twice"),
        pytest.param({"stake": None}, id="no-stake"),
        pytest.param({"stake": 1}, id="stake-of-1"),
        pytest.param({"stake": 2}, id="stake-of-2"),
        pytest.param({"stake": {"asset": "lid", "amount": 3}}, id="stake-in-lids"),
        pytest.param({"stake": {"asset": "mead", "amount": 3}}, id="promise-without-credit"),
    ],
)
def test_what_the_rules_do_not_allow_at_opening(body: dict[str, Any]) -> None:
    """Exactly two seats, a stake of 3 or more: else `invalid_rules`."""
    Tavern().refuses("invalid_rules", "/tables", opening(**body))


@pytest.mark.parametrize(
    ("code", "body"),
    [
        pytest.param("unknown_character", {"seats": [SOUTH, "nobody"], "stake": 1}, id="character-before-rules"),
        pytest.param("unknown_asset", {"stake": {"asset": "florin", "amount": 1}}, id="asset-before-rules"),
        pytest.param("unknown_asset", {"seats": [SOUTH], "stake": {"asset": "florin", "amount": 3}}, id="and-seats"),
        pytest.param("insufficient_funds", {"stake": 6}, id="no-credit"),
        pytest.param("credit_exceeded", {"stake": 11, "credit": True}, id="beyond-the-limit"),
        pytest.param("malformed", {"rules": {"fog": "thick"}}, id="a-rule-there-is-not"),
        pytest.param("malformed", {"rules": []}, id="rules-of-a-wrong-type"),
        pytest.param("malformed", {"dice": "loaded"}, id="dice-there-are-not"),
        pytest.param("malformed", {"stake": 0}, id="stake-of-0"),
        pytest.param("malformed", {"colour": "red"}, id="an-unknown-key"),
    ],
)
def test_other_refusals_at_opening(code: str, body: dict[str, Any]) -> None:
    """404 before the rules, the money last; what no table could accept is malformed."""
    Tavern().refuses(code, "/tables", opening(**body))


def test_a_name_is_taken_once() -> None:
    """`invalid_rules` comes before `already_exists`, the money after it."""
    tavern = opened()
    tavern.refuses("already_exists", "/tables", opening())
    tavern.refuses("invalid_rules", "/tables", opening(stake=2))
    tavern.act("resign")
    tavern.refuses("already_exists", "/tables", opening(stake=99))


def test_both_stakes_or_none() -> None:
    """The second seat cannot pay: the first keeps its stake."""
    tavern = Tavern()
    tavern.collect(NORTH, 1)
    detail = tavern.refuses("insufficient_funds", "/tables", opening())
    assert "4 krone" in detail and "5" in detail


# ---- the roll-off: rule 1 ----


@pytest.mark.parametrize(("south", "north", "starter"), [(5, 4, SOUTH), (1, 6, NORTH)])
def test_the_higher_begins(south: int, north: int, starter: str) -> None:
    tavern = opened()
    assert tavern.act("roll_off", NORTH, number=north) == [RolledOff(seat=NORTH, number=north)]
    assert (tavern.view["rolls"], tavern.view["waiting_for"], tavern.view["turn"]) == ({NORTH: north}, [SOUTH], None)
    tavern.act("roll_off", SOUTH, number=south)
    view = tavern.view
    assert (view["phase"], view["turn"], view["waiting_for"], view["rolls"]) == ("setup", starter, [starter], None)


def test_equal_numbers_are_rolled_again_by_both() -> None:
    tavern = opened()
    for _ in range(3):
        tavern.act("roll_off", SOUTH, number=4)
        tavern.act("roll_off", NORTH, number=4)
        assert (tavern.view["phase"], tavern.view["rolls"]) == ("roll_off", {})
        assert tavern.view["waiting_for"] == [SOUTH, NORTH]


def test_each_rolls_once() -> None:
    tavern = opened()
    tavern.act("roll_off", SOUTH, number=2)
    assert NORTH in tavern.refused("already_rolled", "roll_off", SOUTH, number=6)
    tavern.refused("dice_required", "roll_off", SOUTH)  # dice before the game's own


@pytest.mark.parametrize("number", [0, 7, "6", 1.5, True])
def test_the_red_die_has_six_sides(number: Any) -> None:
    opened().refused("malformed", "roll_off", number=number)


def test_where_dice_are_reported_the_number_is_needed() -> None:
    tavern = opened()
    tavern.refused("dice_required", "roll_off")
    tavern.refused("not_seated", "roll_off", OUTSIDER)
    tavern.refused("not_seated", "roll_off", "nobody")


def test_where_the_service_rolls_no_number_is_taken() -> None:
    tavern = opened(dice="service")
    tavern.refused("dice_not_accepted", "roll_off", number=3)
    (event,) = tavern.act("roll_off")
    assert isinstance(event, RolledOff) and 1 <= event.number <= 6
    tavern.refused("dice_not_accepted", "roll_off", number=3)
    tavern.refused("already_rolled", "roll_off")


def test_the_service_rolls_until_somebody_begins() -> None:
    """Both begin at times: the service's die favours nobody."""
    starters = set()
    for n in range(12):
        tavern = opened(dice="service", entropy=bytes([n]))
        while tavern.view["phase"] == "roll_off":
            for seat in tavern.view["waiting_for"]:
                tavern.act("roll_off", seat)
        starters.add(tavern.view["turn"])
    assert starters == {SOUTH, NORTH}


# ---- setting up: rule 2 ----


@pytest.mark.parametrize("starter", [SOUTH, NORTH])
def test_the_beginner_sets_up_first_and_moves_first(starter: str) -> None:
    tavern = opened()
    tavern.roll_off(starter)
    other = tavern.state.other(starter)
    tavern.refused("not_your_turn", "place", other, **HOME[other])
    (event,) = tavern.act("place", starter, **HOME[starter])
    assert isinstance(event, Placed) and event.seat == starter
    assert event.farmers[0] == Farmer(tuple(HOME[starter]["farmers"][0]["at"]), HOME[starter]["farmers"][0]["stake"])
    view = tavern.view
    assert (view["phase"], view["turn"], view["waiting_for"]) == ("setup", other, [other])
    assert {piece["seat"] for piece in view["pieces"]} == {starter}
    tavern.refused("not_your_turn", "place", starter, **HOME[starter])
    tavern.act("place", other, **HOME[other])
    assert (tavern.view["phase"], tavern.view["turn"]) == ("move", starter)


@pytest.mark.parametrize("starter", [SOUTH, NORTH])
def test_all_pieces_are_seen_south_first(starter: str) -> None:
    tavern = opened()
    tavern.set_up(starter)
    pieces = tavern.view["pieces"]
    names = ["regent", "house", "spear", "farmer1", "farmer2", "farmer3"]
    assert [(piece["seat"], piece["piece"]) for piece in pieces] == [(s, n) for s in (SOUTH, NORTH) for n in names]
    assert pieces[0] == {"seat": SOUTH, "piece": "regent", "at": [1, 4], "stake": None}
    assert pieces[5] == {"seat": SOUTH, "piece": "farmer3", "at": [2, 6], "stake": 3}


def _placing(seat: str = SOUTH, **other: Any) -> dict[str, Any]:
    return {**HOME[seat], **other}


def _farmers(*stakes: int) -> list[dict[str, Any]]:
    return [{"at": [2, 2 + 2 * n], "stake": stake} for n, stake in enumerate(stakes)]


@pytest.mark.parametrize(
    "placing",
    [
        pytest.param(_placing(regent=[3, 4]), id="third-row"),
        pytest.param(_placing(regent=[8, 4]), id="the-other's-row"),
        pytest.param(_placing(house=[1, 4]), id="two-on-a-square"),
        pytest.param(_placing(spear=[2, 2]), id="on-a-farmer"),
        pytest.param(_placing(farmers=_farmers(1, 1, 2)), id="too-little"),
        pytest.param(_placing(farmers=_farmers(1, 1, 4)), id="too-much"),
        pytest.param(_placing(farmers=_farmers(0, 1, 4)), id="a-farmer-of-0"),
        pytest.param(_placing(farmers=_farmers(-1, 3, 3)), id="a-farmer-below-0"),
    ],
)
def test_what_is_no_set_up(placing: dict[str, Any]) -> None:
    """Six squares of one's own two rows, stakes of at least 1 that are the player's stake."""
    tavern = opened()
    tavern.roll_off()
    tavern.refused("illegal_placement", "place", **placing)
    tavern.act("place", **HOME[SOUTH])


def test_north_sets_up_in_rows_7_and_8() -> None:
    tavern = opened()
    tavern.roll_off(NORTH)
    assert "7 and 8" in tavern.refused("illegal_placement", "place", NORTH, **HOME[SOUTH])
    tavern.refused("illegal_placement", "place", NORTH, **_placing(NORTH, regent=[6, 1]))
    tavern.act("place", NORTH, **HOME[NORTH])


@pytest.mark.parametrize(
    "placing",
    [
        pytest.param(_placing(regent=[0, 4]), id="row-0"),
        pytest.param(_placing(regent=[1, 9]), id="column-9"),
        pytest.param(_placing(regent=[1]), id="half-a-square"),
        pytest.param(_placing(regent=None), id="no-regent"),
        pytest.param(_placing(farmers=_farmers(2, 3)), id="two-farmers"),
        pytest.param(_placing(farmers=_farmers(1, 1, 1, 2)), id="four-farmers"),
        pytest.param(_placing(farmers=[{"at": [2, 2]}] * 3), id="farmers-without-stake"),
        pytest.param(_placing(dragon=[1, 1]), id="a-dragon"),
    ],
)
def test_what_no_table_could_accept(placing: dict[str, Any]) -> None:
    tavern = opened()
    tavern.roll_off()
    tavern.refused("malformed", "place", **placing)


# ---- where dice lie hidden ----


def test_the_service_seals_64_tiles_and_names_their_squares() -> None:
    """One commitment a tile, nobody's; four are Sok."""
    tavern = Tavern()
    was_opened, sealed = tavern.open(dice="service")
    assert isinstance(was_opened, Opened) and isinstance(sealed, TilesSealed)
    assert [s.what for s in sealed.sealed] == [
        f"tile [{row}, {column}]" for row in range(1, 9) for column in range(1, 9)
    ]
    assert {s.seat for s in sealed.sealed} == {None}
    assert len({s.commitment for s in sealed.sealed}) == 64
    values = sorted(secret.value for secret in tavern.secrets.values())
    assert values == ["blank"] * 60 + ["sok"] * 4


def test_nothing_is_sealed_where_dice_are_reported() -> None:
    tavern = opened()
    assert tavern.secrets == {} and tavern.state.covered == {}
