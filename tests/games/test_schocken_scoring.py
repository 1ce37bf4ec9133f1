"""Schocken: who takes how many lids and from where, who plays on, and what a Handschock costs."""

import pytest

from ledger.games.schocken.messages import HalfLost, HandSchockOwed, RoundScored
from tests.games.schocken_support import FOUR, HIGH, LOW, SCHNAPPS, Table, names, won_by

LID_MIDDLE, SEAT = "middle/t", "seat/t/"


def lids_moved(table: Table) -> list[tuple[str, str, int]]:
    """The postings of lids of the last round that was scored."""
    scored = [r for r in table.larp.journal if isinstance(r.event, RoundScored)][-1]
    assert all(p.asset == "lid" for p in scored.postings)
    return [(p.from_, p.to, p.amount) for p in scored.postings]


# ---- lids in the middle ----


@pytest.mark.parametrize(
    ("best", "lids"),
    [(HIGH, 1), ((1, 2, 3), 2), ((2, 2, 2), 3), *(((1, 1, x), x) for x in range(2, 7))],
)
def test_the_highest_hand_says_how_many_and_the_lowest_takes_them(best: tuple[int, ...], lids: int) -> None:
    """From the middle; who took them starts the next round."""
    table = Table()
    (_, scored) = table.round(won_by(best))
    assert isinstance(scored, RoundScored)
    assert (scored.best, scored.worst, scored.lids) == ("anna", "carla", lids)
    assert lids_moved(table) == [(LID_MIDDLE, f"{SEAT}carla", lids)]
    view = table.view
    assert (table.lids(), view["middle"], view["half"], view["round"]) == ({"carla": lids}, 13 - lids, 1, 2)
    assert (view["turn"], view["limit"], view["phase"]) == ("carla", None, "throwing")
    assert all(s["hand"] is None and s["throws"] == 0 and not s["standing"] for s in view["seats"])
    assert view["last_round"] == {"best": "anna", "worst": "carla", "hand": scored.hand, "lids": lids}
    assert table.state.playing == ("carla", "dieter", "anna", "bernd")
    table.is_sound()


def test_the_middle_gives_what_is_left() -> None:
    """Schock 6 with fewer in the middle; and the middle being empty, seats without lids are out of the half."""
    table = Table(rules={"lids": 4})
    table.round(won_by((1, 2, 3)))
    table.round({"carla": HIGH, "dieter": (6, 5, 3), "anna": (1, 1, 6), "bernd": LOW})
    assert lids_moved(table) == [(LID_MIDDLE, f"{SEAT}bernd", 2)]
    assert table.view["last_round"] == {"best": "anna", "worst": "bernd", "hand": "schock", "lids": 2}
    assert (table.view["middle"], table.lids()) == (0, {"carla": 2, "bernd": 2})
    assert [s["playing"] for s in table.view["seats"]] == [False, True, True, False]
    assert (table.view["turn"], table.state.playing) == ("bernd", ("bernd", "carla"))


def empty_middle(lids: int = 6) -> Table:
    """anna has no lids; bernd, carla and dieter have some; the middle has none, and dieter is to start."""
    table = Table(rules={"lids": lids, "dropped_die_forfeit": SCHNAPPS})
    table.round(won_by((1, 1, 3), loser="bernd"))
    table.round({"bernd": HIGH, "carla": LOW, "dieter": (6, 4, 2), "anna": (1, 2, 3)})
    table.round({"carla": HIGH, "dieter": LOW, "anna": (6, 4, 2), "bernd": (6, 3, 1)})
    assert (table.lids(), table.view["middle"]) == ({"bernd": 3, "carla": 2, "dieter": 1}, 0)
    return table


# ---- the middle is empty ----


def test_who_has_no_lids_is_out_when_the_middle_is_empty() -> None:
    """It neither throws nor stands (not_your_turn), nor drops dice (not_playing, after no_such_rule)."""
    table = empty_middle()
    assert (table.view["turn"], table.state.playing) == ("dieter", ("dieter", "bernd", "carla"))
    table.says_no("not_your_turn", "throw", "anna", dice=[1, 1, 1])
    table.says_no("not_your_turn", "stand", "anna")
    assert table.says_no("not_playing", "drop", "anna") == "anna is out of this half: dieter, bernd, carla play"
    table.act("drop", "bernd")
    assert table.owed("anna") == {"bernd/schnapps": 2}


def test_the_highest_hand_gives_its_own_lids() -> None:
    """As many as it is worth; who took starts, not who gave."""
    table = empty_middle()
    table.round({"dieter": LOW, "bernd": (1, 2, 3), "carla": HIGH})
    assert lids_moved(table) == [(f"{SEAT}bernd", f"{SEAT}dieter", 2)]
    assert table.lids() == {"bernd": 1, "carla": 2, "dieter": 3}
    assert (table.view["turn"], table.view["round"]) == ("dieter", 5)
    table.is_sound()


def test_the_highest_hand_gives_all_it_has_and_is_out() -> None:
    table = empty_middle()
    table.round({"dieter": (1, 1, 6), "bernd": LOW, "carla": HIGH})
    assert lids_moved(table) == [(f"{SEAT}dieter", f"{SEAT}bernd", 1)]
    assert table.view["last_round"]["lids"] == 1
    assert table.state.playing == ("bernd", "carla")
    assert not table.seat("dieter")["playing"]
    table.says_no("not_your_turn", "throw", "dieter", dice=[1, 1, 1])
    table.is_sound()


def test_one_seat_with_all_the_lids_has_lost_the_half() -> None:
    """All lids go back to the middle, all seats play again, the loser starts."""
    table = empty_middle()
    table.round({"dieter": (1, 1, 6), "bernd": LOW, "carla": HIGH})
    came = table.round({"bernd": LOW, "carla": (1, 1, 4)})
    assert names(came) == ["thrown", "round_scored", "half_lost"]
    assert came[-1] == HalfLost(half=1, loser="bernd", next=2)
    view = table.view
    assert (view["half"], view["round"], view["middle"], table.lids()) == (2, 1, 6, {})
    assert (view["half_losers"], view["turn"]) == (["bernd"], "bernd")
    assert all(s["playing"] and s["hand"] is None for s in view["seats"])
    assert table.state.playing == ("bernd", "carla", "dieter", "anna")
    table.is_sound()


def test_one_lid_is_a_half() -> None:
    """The middle is empty and one seat has all the lids after one round."""
    table = Table(rules={"lids": 1})
    table.round(won_by(HIGH))
    assert (table.view["half"], table.view["half_losers"], table.view["turn"]) == (2, ["carla"], "carla")


# ---- schock aus ----


def test_schock_aus_takes_all_lids_from_the_middle_and_from_everyone() -> None:
    """The loser's own do not move; the half is lost at once."""
    table = Table(rules={"lids": 9})
    table.round(won_by((1, 2, 3)))
    table.round({"carla": (1, 1, 3), "dieter": LOW, "anna": HIGH, "bernd": HIGH})
    assert table.lids() == {"carla": 2, "dieter": 3}
    came = table.round({"dieter": (6, 5, 3), "anna": (1, 1, 1), "bernd": HIGH, "carla": LOW})
    assert names(came) == ["thrown", "round_scored", "half_lost"]
    assert sorted(lids_moved(table)) == [(LID_MIDDLE, f"{SEAT}carla", 4), (f"{SEAT}dieter", f"{SEAT}carla", 3)]
    assert table.view["last_round"] == {"best": "anna", "worst": "carla", "hand": "schock_aus", "lids": 7}
    assert (table.view["half_losers"], table.view["middle"], table.lids()) == (["carla"], 9, {})
    table.is_sound()


def test_schock_aus_with_an_empty_middle() -> None:
    table = empty_middle()
    came = table.round({"dieter": (1, 1, 1), "bernd": HIGH, "carla": LOW})
    assert names(came)[-1] == "half_lost"
    assert sorted(lids_moved(table)) == [(f"{SEAT}bernd", f"{SEAT}carla", 3), (f"{SEAT}dieter", f"{SEAT}carla", 1)]
    table.is_sound()


# ---- Handschock ----


def test_a_hand_schock_costs_its_thrower_a_round() -> None:
    """It falls due when the round is scored, for each hand that then is one; one put together costs nothing."""
    table = Table(rules={"hand_schock_forfeit": SCHNAPPS})
    table.throw("anna", 1, 1, 1)
    table.throw("anna", 1, keep=(1, 1))
    table.stand("anna")
    table.throw("bernd", 6, 5, 3)
    table.throw("bernd", 1, 1, 1)
    table.throw("carla", 1, 1, 1)
    table.stand("carla")
    table.throw("dieter", *LOW)
    assert table.owed("dieter") == {}
    came = table.stand("dieter")
    assert names(came) == ["stood", "round_scored", "hand_schock_owed", "hand_schock_owed", "half_lost"]
    assert came[2:4] == [HandSchockOwed(seat="carla"), HandSchockOwed(seat="bernd")]
    assert [table.owed(seat) for seat in FOUR] == [
        {"bernd/schnapps": 2, "carla/schnapps": 2},
        {"carla/schnapps": 2},
        {"bernd/schnapps": 2},
        {"bernd/schnapps": 2, "carla/schnapps": 2},
    ]
    assert (table.view["last_round"]["best"], table.view["half_losers"]) == ("carla", ["dieter"])
    table.is_sound()


def test_a_hand_schock_that_is_thrown_again_costs_nothing() -> None:
    table = Table(rules={"hand_schock_forfeit": SCHNAPPS})
    table.throw("anna", 1, 1, 1)
    table.throw("anna", *HIGH)
    table.stand("anna")
    for seat in FOUR[1:]:
        table.throw(seat, *LOW)
        came = table.stand(seat)
    assert names(came) == ["stood", "round_scored"]


def test_a_hand_schock_without_the_rule() -> None:
    assert names(Table().round(won_by((1, 1, 1)))) == ["thrown", "round_scored", "half_lost"]


def test_lids_are_nobodys_to_give() -> None:
    """Of all that moves money only Schocken moves lids; no event of a table is reversed by itself."""
    table = Table(rules={"lids": 4})
    table.round(won_by(HIGH))
    for path, keys in (
        ("grants", {"to": "anna"}),
        ("collections", {"from": "anna"}),
        ("transfers", {"from": "anna", "to": "bernd"}),
    ):
        table.refused("wrong_kind", path, asset="lid", amount=1, **keys)
    table.refused("not_reversible", "reversals", position=table.larp.book.position, reason="please")
