"""Schocken: whole matches at random beside a second, plainer telling of the rules."""

from collections.abc import Iterator, Mapping
from random import Random

import pytest

from tests.games.schocken_support import EIGHT, MARKS, SCHNAPPS, Table, bodies


def plain_rank(dice: list[int], one_throw: bool, throws: int, place: int) -> tuple[int, ...]:
    """A hand as numbers: group, height, then fewer throws, then earlier."""
    text = "".join(str(die) for die in sorted(dice, reverse=True))
    if text == "111":
        group, height = 9, int(one_throw)
    elif text.endswith("11"):
        group, height = 8, int(text[0])
    elif one_throw and len(set(text)) == 1:
        group, height = 3, int(text[0])
    elif one_throw and text in ("321", "432", "543", "654"):
        group, height = 2, int(text[0])
    else:
        group, height = 1, int(text)
    return group, height, -throws, -place


class Model:
    """Lids, halves and the order of play, told without events."""

    def __init__(self, seats: list[str], starter: str, lids: int) -> None:
        self.seats, self.total = seats, lids
        self.losers: list[str] = []
        self.loser: str | None = None
        self.new_half(seats, starter)

    def new_half(self, members: list[str], starter: str) -> None:
        self.members, self.starter = members, starter
        self.middle, self.lids = self.total, dict.fromkeys(self.seats, 0)

    def order(self) -> list[str]:
        at = self.seats.index(self.starter)
        around = self.seats[at:] + self.seats[:at]
        return [s for s in around if s in self.members and (self.middle > 0 or self.lids[s] > 0)]

    def score(self, ranks: Mapping[str, tuple[int, ...]]) -> None:
        best, worst = max(ranks, key=lambda s: ranks[s]), min(ranks, key=lambda s: ranks[s])
        group, height, *_ = ranks[best]
        if group == 9:
            self.middle, self.lids = 0, {s: self.total if s == worst else 0 for s in self.seats}
        else:
            worth = height if group == 8 else group
            if self.middle > 0:
                moved = min(worth, self.middle)
                self.middle -= moved
            else:
                moved = min(worth, self.lids[best])
                self.lids[best] -= moved
            self.lids[worst] += moved
        self.starter = worst
        if self.lids[worst] == self.total:
            self.half_lost(worst)

    def half_lost(self, loser: str) -> None:
        if len(self.losers) == 2:
            self.loser = loser
            return
        self.losers.append(loser)
        if len(self.losers) == 1:
            self.new_half(self.seats, loser)
        elif self.losers[0] == loser:
            self.loser = loser
        else:
            self.new_half([s for s in self.seats if s in self.losers], loser)


class Hands:
    """What the seats hold in this round, cups included."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.dice: dict[str, list[int]] = {}
        self.ranks: dict[str, tuple[int, ...]] = {}
        self.blind: dict[str, list[int]] = {}

    def go(self, table: Table, seat: str, place: int, limit: int) -> int:
        """One seat's whole go, as the dice and its mood will have it; how often it threw."""
        held: list[int] = []
        wanted = self.chance.randint(1, limit)
        for throw in range(1, wanted + 1):
            keep = self.chance.sample(held, self.chance.randint(0, 2)) if held else []
            thrown = [self.chance.randint(1, 6) for _ in range(3 - len(keep))]
            held = keep + thrown
            if throw == 3 and self.chance.random() < 0.5:
                self.blind[seat] = thrown
                self.ranks[seat] = plain_rank(held, not keep, throw, place)
                table.act("throw", seat, keep=keep)
                return throw
            self.ranks[seat] = plain_rank(held, not keep, throw, place)
            table.act("throw", seat, keep=keep, dice=thrown)
        if wanted < limit:
            table.stand(seat)
        return wanted


def play_round(table: Table, model: Model, chance: Random) -> None:
    hands, limit = Hands(chance), 3
    for place, seat in enumerate(model.order()):
        assert (table.view["turn"], table.view["limit"]) == (seat, None if place == 0 else limit)
        if chance.random() < 0.1:
            table.act("drop", seat)
        throws = hands.go(table, seat, place, limit)
        limit = throws if place == 0 else limit
    blind = list(hands.blind)
    chance.shuffle(blind)
    for at, seat in enumerate(blind):
        assert table.view["phase"] == "uncovering" and table.view["turn"] is None
        assert sorted(table.view["waiting_for"]) == sorted(blind[at:])
        table.act("uncover", seat, dice=hands.blind[seat])
    model.score(hands.ranks)


def as_modelled(table: Table, model: Model) -> Iterator[bool]:
    view = table.view
    yield view["loser"] == model.loser
    yield view["half_losers"] == model.losers[:2]
    if model.loser is None:
        yield (view["phase"], view["turn"], view["middle"]) == ("throwing", model.starter, model.middle)
        yield {s["character"]: s["lids"] for s in view["seats"]} == model.lids
        yield [s["character"] for s in view["seats"] if s["playing"]] == [s for s in model.seats if s in model.order()]


@pytest.mark.parametrize("seed", range(24))
def test_matches_at_random(seed: int) -> None:
    """Turns, limits, lids, losers and phases as the model has them after every round; all that must hold at the end."""
    chance = Random(seed)
    seats = list(EIGHT[: chance.randint(4, 8)])
    starter, lids = chance.choice(seats), chance.randint(1, 13)
    rules = {
        "lids": lids,
        "starter": starter,
        "dropped_die_forfeit": SCHNAPPS,
        "hand_schock_forfeit": chance.choice([None, SCHNAPPS]),
        "forfeit": chance.choice([MARKS, {"asset": "drink", "amount": 1}]),
    }
    marks = {seat: chance.randint(1, 21) for seat in seats}
    table = Table(seats=seats, marks=marks, limits=dict.fromkeys(seats, 21), rules=rules, credit=True)
    model = Model(seats, starter, lids)
    for _ in range(400):
        play_round(table, model, chance)
        assert all(as_modelled(table, model))
        if model.loser is not None:
            break
    else:
        table.void()
    table.is_closed_and_empty()
    assert sum(table.account(f"purse/{seat}").get("mark", 0) for seat in seats) == sum(marks.values())
    table.is_sound()


@pytest.mark.parametrize("seed", range(6))
def test_matches_with_the_services_dice(seed: int) -> None:
    """No cup is lifted before the round is scored, and every round is scored at once."""
    chance = Random(seed)
    table = Table(dice="service", entropy=bytes([seed]), rules={"lids": 4, "no_walling": True})
    while (seat := table.view["turn"]) is not None:
        hand = [die for die in table.seat(seat)["hand"] or [] if die is not None]
        ones = [die for die in hand if die == 1][:2]
        if hand and chance.random() < 0.3:
            table.stand(seat)
        else:
            throws = table.seat(seat)["throws"]
            table.throw(seat, keep=tuple(ones))
            if throws == 2 and table.view["phase"] == "throwing" and table.seat(seat)["standing"]:
                assert table.seat(seat)["hand"] == ones + [None] * (3 - len(ones))
    assert table.view["phase"] == "closed"
    assert '"phase":"uncovering"' not in bodies(table)
    table.is_closed_and_empty()
    table.is_sound()
