"""Carrying a plan out: it does, it says no, it stays quiet."""

from collections.abc import Iterable

import pytest

from ledger import purses
from ledger.errors import (
    AlreadyReversed,
    InsufficientFunds,
    Malformed,
    NotOwed,
    Refused,
    SameAccount,
    UnknownAsset,
    UnknownCharacter,
    WrongKind,
)
from ledger.games.skuggkast.messages import OpenSkuggkast
from ledger.games.table import Sum
from ledger.messages import Posting
from ledger.plans import CancelledNote, Circle, NotePlanSettled, PlannedSettlement, SettlePlan
from tests.support.in_memory import MemoryLarp


@pytest.fixture
def larp() -> MemoryLarp:
    """alva owes birk 5, birk owes cato 7, cato owes alva 1, all in krona, and alva owes birk 2 pints."""
    made = MemoryLarp()
    made.do(purses.DefineAsset(asset="krona", kind="token", name="Krona"))
    made.do(purses.DefineAsset(asset="pint", kind="promise", name="Pint"))
    for name in ("alva", "birk", "cato"):
        made.do(purses.AddCharacter(character=name, name=name, credit_limit={"krona": 20}))
        made.do(purses.Grant(to=name, asset="krona", amount=4))
    for debtor, creditor, asset, amount in (
        ("alva", "birk", "krona", 5),
        ("birk", "cato", "krona", 7),
        ("cato", "alva", "krona", 1),
        ("alva", "birk", "pint", 2),
    ):
        made.do(purses.IssueNote(debtor=debtor, creditor=creditor, asset=asset, amount=amount))
    return made


def line(debtor: str, creditor: str, amount: int, *cancels: tuple[str, str, int], asset: str = "krona") -> object:
    return PlannedSettlement(debtor, creditor, asset, amount, tuple(CancelledNote(*note) for note in cancels))


KRONA = (
    line("alva", "cato", 4, ("alva", "birk", 4), ("birk", "cato", 4)),
    line("birk", "cato", 2, ("birk", "cato", 2)),
)
ROUND = Circle(
    "krona", tuple(CancelledNote(*note) for note in (("alva", "birk", 1), ("birk", "cato", 1), ("cato", "alva", 1)))
)
PINTS = line("alva", "birk", 2, ("alva", "birk", 2), asset="pint")


def plan(*lines: object, circles: Iterable[Circle] = (), memo: str | None = None) -> SettlePlan:
    return SettlePlan(plan=lines, circles=tuple(circles), memo=memo)  # type: ignore[arg-type]


def nets(larp: MemoryLarp) -> dict[str, int]:
    """Tokens, and what is owed to it less what it owes, of everybody."""
    return {
        who: larp.book.balance(f"purse/{who}", "krona")
        + sum(n for asset, n in larp.account(f"purse/{who}").items() if asset.endswith("/krona"))
        + larp.book.balance(f"debtor/{who}", f"iou/{who}/krona")
        for who in ("alva", "birk", "cato")
    }


def test_a_plan_is_carried_out_in_one_event(larp: MemoryLarp) -> None:
    before = nets(larp)
    (applied,) = larp.do(plan(*KRONA, PINTS, circles=[ROUND], memo="the last morning"))
    event = applied.recorded.event
    assert isinstance(event, NotePlanSettled)
    assert (event.plan, event.circles, event.memo) == ((*KRONA, PINTS), (ROUND,), "the last morning")
    assert applied.recorded.postings == (
        Posting("purse/alva", "purse/cato", "krona", 4),
        Posting("purse/birk", "purse/cato", "krona", 2),
        Posting("purse/birk", "debtor/alva", "iou/alva/krona", 5),
        Posting("purse/cato", "debtor/birk", "iou/birk/krona", 7),
        Posting("purse/birk", "debtor/alva", "iou/alva/pint", 2),
        Posting("purse/alva", "debtor/cato", "iou/cato/krona", 1),
    )
    assert not [key for key in larp.balances() if key[1].startswith("iou/")], "nobody owes anything"
    assert nets(larp) == before


def test_a_part_of_the_debts_can_be_a_plan(larp: MemoryLarp) -> None:
    larp.do(plan(line("birk", "cato", 3, ("birk", "cato", 3))))
    assert larp.account("debtor/birk") == {"iou/birk/krona": -4}
    larp.do(plan(circles=[ROUND]))
    assert larp.account("debtor/cato") == {}


def test_it_can_be_reversed_once(larp: MemoryLarp) -> None:
    before = larp.balances()
    (applied,) = larp.do(plan(*KRONA, PINTS, circles=[ROUND]))
    reversal = purses.Reverse(position=applied.recorded.position, reason="too early")
    larp.do(reversal)
    assert larp.balances() == before
    with pytest.raises(AlreadyReversed):
        larp.do(reversal)


def test_a_reversal_is_refused_where_somebody_has_spent_it(larp: MemoryLarp) -> None:
    (applied,) = larp.do(plan(*KRONA))
    larp.do(purses.Transfer(from_="cato", to="birk", asset="krona", amount=8))
    before = larp.balances()
    with pytest.raises(InsufficientFunds):
        larp.do(purses.Reverse(position=applied.recorded.position, reason="too late"))
    assert larp.balances() == before


REFUSED = {
    "a purse that cannot pay": (
        plan(line("alva", "birk", 5, ("alva", "birk", 5))),
        InsufficientFunds,
        "alva has 4 krona, the plan takes 5",
    ),
    "what is paid to somebody only in this plan is paid in its order": (
        plan(line("alva", "birk", 5, ("alva", "birk", 5)), line("cato", "alva", 1, ("cato", "alva", 1))),
        InsufficientFunds,
        "alva has 4 krona",
    ),
    "a note that is not there any more": (
        plan(line("cato", "alva", 2, ("cato", "alva", 2))),
        NotOwed,
        "alva holds 1 krona of cato's notes, 2 would be needed",
    ),
    "a note that is named twice": (
        plan(line("cato", "alva", 1, ("cato", "alva", 1)), line("cato", "alva", 1, ("cato", "alva", 1))),
        NotOwed,
        "2 would be needed",
    ),
    "a promise that is not there": (plan(line("birk", "alva", 1, ("birk", "alva", 1), asset="pint")), NotOwed, "alva"),
    "one who gains": (plan(line("alva", "birk", 1, ("alva", "birk", 2))), Malformed, "alva would be 1 better off"),
    "one who loses": (plan(line("alva", "birk", 3, ("alva", "birk", 2))), Malformed, "alva would be 1 worse off"),
    "a stranger who pays": (plan(line("cato", "birk", 2, ("alva", "birk", 2))), Malformed, "in krona"),
    "notes for nothing": (plan(line("alva", "birk", 2)), Malformed, "cancels no notes"),
    "nothing": (plan(), Malformed, "cancels no notes"),
    "an asset that does not balance with another": (
        plan(line("alva", "birk", 2, ("alva", "birk", 1)), line("alva", "birk", 2, ("alva", "birk", 3), asset="pint")),
        Malformed,
        "worse off in krona",
    ),
    "nobody": (plan(line("nobody", "birk", 2, ("nobody", "birk", 2))), UnknownCharacter, "nobody"),
    "no asset": (plan(line("alva", "birk", 2, ("alva", "birk", 2), asset="gold")), UnknownAsset, "gold"),
    "oneself": (plan(line("alva", "alva", 2, ("alva", "birk", 2), ("birk", "alva", 2))), SameAccount, "alva"),
    "one's own note": (plan(circles=[Circle("krona", (CancelledNote("alva", "alva", 1),))]), SameAccount, "alva"),
    "lids": (plan(line("alva", "birk", 2, ("alva", "birk", 2), asset="lid")), WrongKind, "lid"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_changes_nothing(what: str, larp: MemoryLarp) -> None:
    command, error, detail = REFUSED[what]
    before = (larp.book.position, larp.balances())
    with pytest.raises(Refused, match=detail) as refused:
        larp.do(command)
    assert type(refused.value) is error
    assert (larp.book.position, larp.balances()) == before


def test_a_part_that_cannot_be_done_takes_the_rest_with_it(larp: MemoryLarp) -> None:
    """All or nothing: the pints could be settled, the krona could not."""
    before = (larp.book.position, larp.balances())
    with pytest.raises(InsufficientFunds):
        larp.do(plan(PINTS, line("alva", "birk", 5, ("alva", "birk", 5))))
    assert (larp.book.position, larp.balances()) == before


def test_notes_that_lie_at_a_table_are_nobodys_to_cancel(larp: MemoryLarp) -> None:
    larp.do(OpenSkuggkast(table="t", seats=("alva", "birk"), stake=Sum("krona", 6), credit=True))
    assert larp.account("pot/t") == {"krona": 8, "iou/alva/krona": 2, "iou/birk/krona": 2}
    larp.do(purses.Grant(to="alva", asset="krona", amount=7))
    with pytest.raises(NotOwed, match="birk holds 5 krona of alva's notes, 7 would be needed"):
        larp.do(plan(line("alva", "birk", 7, ("alva", "birk", 7))))
