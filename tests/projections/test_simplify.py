"""A simplified plan clears the debts, with the fewest settlements, explained note by note, and nobody gains by it."""

import random
from collections.abc import Mapping
from functools import cache

import pytest

from projections.simplify import EXACT_MAX, AssetPlan, Owing, simplified

Notes = Mapping[tuple[str, str], int]


def planned(notes: Notes) -> AssetPlan:
    (plan,) = simplified([Owing(debtor, creditor, "krona", amount) for (debtor, creditor), amount in notes.items()])
    assert plan.asset == "krona"
    return plan


def nets(notes: Notes) -> dict[str, int]:
    found: dict[str, int] = {}
    for (debtor, creditor), amount in notes.items():
        found[debtor] = found.get(debtor, 0) - amount
        found[creditor] = found.get(creditor, 0) + amount
    return found


def some_debts(rng: random.Random, people: int, notes: int, most: int) -> Notes:
    names = [f"c{number}" for number in range(people)]
    found: dict[tuple[str, str], int] = {}
    for _ in range(notes):
        debtor, creditor = rng.sample(names, 2)
        found[debtor, creditor] = found.get((debtor, creditor), 0) + rng.randint(1, most)
    return found


def check(notes: Notes, plan: AssetPlan) -> None:
    """Everything that a plan promises, but for being the shortest."""
    before = nets(notes)
    paid: dict[str, int] = {}
    cancelled: dict[tuple[str, str], int] = {}
    for settlement in plan.settlements:
        assert settlement.amount > 0
        assert before[settlement.debtor] < 0 < before[settlement.creditor], "only who owes more than it is owed pays"
        assert settlement.cancels, "each is explained"
        assert settlement.debtor in {note.debtor for note in settlement.cancels}
        paid[settlement.debtor] = paid.get(settlement.debtor, 0) - settlement.amount
        paid[settlement.creditor] = paid.get(settlement.creditor, 0) + settlement.amount
    for part in (*plan.settlements, *plan.circles):
        for note in part.cancels:
            assert note.amount > 0
            cancelled[note.debtor, note.creditor] = cancelled.get((note.debtor, note.creditor), 0) + note.amount
    assert cancelled == dict(notes), "every note is cancelled exactly once"
    assert paid == {character: net for character, net in before.items() if net}, "nobody's net position changes"
    for circle in plan.circles:
        assert not any(nets({(n.debtor, n.creditor): n.amount for n in circle.cancels}).values())
    assert len(plan.settlements) <= max(0, len([net for net in before.values() if net]) - 1)
    assert len({(s.debtor, s.creditor) for s in plan.settlements}) == len(plan.settlements)


def fewest(notes: Notes) -> int:
    """By looking at every grouping: slow and plain."""
    found = [net for net in nets(notes).values() if net]
    sums = [sum(net for at, net in enumerate(found) if subset >> at & 1) for subset in range(1 << len(found))]
    even = [subset for subset in range(1, len(sums)) if sums[subset] == 0]

    @cache
    def groups(left: int) -> int:
        lowest = left & -left
        return max((1 + groups(left ^ group) for group in even if group & ~left == 0 and group & lowest), default=0)

    return len(found) - groups(len(sums) - 1)


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_random_debts_are_cleared_with_the_fewest_settlements(seed: int) -> None:
    """100 each: few people with small amounts, so that groups come out even in many ways."""
    rng = random.Random(seed)
    for _ in range(100):
        people = rng.randint(2, 9)
        notes = some_debts(rng, people, rng.randint(1, 3 * people), rng.choice([2, 6, 1000]))
        plan = planned(notes)
        check(notes, plan)
        assert plan.fewest
        assert len(plan.settlements) == fewest(notes)


@pytest.mark.parametrize(("people", "notes"), [(17, 30), (40, 200), (120, 700)])
def test_many_people_take_one_settlement_less_than_there_are(people: int, notes: int) -> None:
    debts = some_debts(random.Random(people), people, notes, 10**12)
    check(debts, planned(debts))


def test_beyond_what_can_be_looked_at_it_is_not_claimed_to_be_the_fewest() -> None:
    for people, certain in ((EXACT_MAX, True), (EXACT_MAX + 10, False)):
        debts = some_debts(random.Random(5), people, 5 * people, 10**12)
        assert all(nets(debts).values()), "nobody comes out even"
        assert planned(debts).fewest == certain


def test_where_everybody_pays_once_it_is_the_fewest_however_many_there_are() -> None:
    star = {(f"c{n}", "bank"): n + 1 for n in range(EXACT_MAX + 5)}
    plan = planned(star)
    check(star, plan)
    assert plan.fewest
    assert len(plan.settlements) == EXACT_MAX + 5


def test_who_stands_between_is_left_out() -> None:
    plan = planned({("alva", "birk"): 5, ("birk", "cato"): 7})
    assert [(s.debtor, s.creditor, s.amount) for s in plan.settlements] == [("alva", "cato", 5), ("birk", "cato", 2)]
    assert [(n.debtor, n.creditor, n.amount) for n in plan.settlements[0].cancels] == [
        ("alva", "birk", 5),
        ("birk", "cato", 5),
    ]


def test_who_owe_one_another_in_a_circle_pay_nothing() -> None:
    plan = planned({("alva", "birk"): 5, ("birk", "cato"): 5, ("cato", "alva"): 5})
    assert plan.settlements == ()
    assert [[(n.debtor, n.creditor, n.amount) for n in circle.cancels] for circle in plan.circles] == [
        [("alva", "birk", 5), ("birk", "cato", 5), ("cato", "alva", 5)]
    ]


def test_strangers_pay_each_other_only_where_it_saves_a_settlement() -> None:
    """Each pays whose creditor it is, where that is as short; below, paying strangers saves one of four."""
    plan = planned({("alva", "dana"): 5, ("birk", "cato"): 5})
    assert [(s.debtor, s.creditor) for s in plan.settlements] == [("alva", "dana"), ("birk", "cato")]
    notes = {("alva", "cato"): 1, ("birk", "cato"): 2, ("dana", "edda"): 1, ("dana", "frej"): 2}
    plan = planned(notes)
    check(notes, plan)
    assert [(s.debtor, s.creditor, s.amount) for s in plan.settlements] == [
        ("alva", "edda", 1),
        ("birk", "frej", 2),
        ("dana", "cato", 3),
    ]


def test_assets_are_planned_each_for_itself() -> None:
    plans = simplified([Owing("alva", "birk", "skruv", 2), Owing("birk", "alva", "krona", 3)])
    assert [(plan.asset, [(s.debtor, s.amount) for s in plan.settlements]) for plan in plans] == [
        ("krona", [("birk", 3)]),
        ("skruv", [("alva", 2)]),
    ]
    assert simplified([]) == []


def test_the_same_debts_give_the_same_plan() -> None:
    notes = some_debts(random.Random(1), 9, 30, 9)
    shuffled = dict(random.Random(2).sample(list(notes.items()), len(notes)))
    assert planned(notes) == planned(shuffled)
