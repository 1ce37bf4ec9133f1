"""No refusal depends on what the dice show: else it would tell, and let a seat throw until they please."""

import pytest

from ledger import purses
from ledger.book import ActRequest
from ledger.errors import BalanceOverflow
from ledger.games.schocken.messages import OpenSchocken, Rules
from ledger.games.table import Sum
from ledger.messages import AMOUNT_MAX
from ledger.money import BALANCE_MAX
from tests.support.in_memory import MemoryLarp

SEATS = ("anna", "bernd", "carla", "dieter")


def table(full: str, room: int, rules: Rules, dice: str = "reported") -> MemoryLarp:
    """A table at which `full` may owe only `room` more schnapps."""
    larp = MemoryLarp()
    for seat in SEATS:
        larp.do(purses.AddCharacter(character=seat, name=seat))
    left = BALANCE_MAX - room
    while left:
        amount = min(left, AMOUNT_MAX)
        other = next(seat for seat in SEATS if seat != full)
        larp.do(purses.IssueNote(debtor=full, creditor=other, asset="schnapps", amount=amount))
        left -= amount
    larp.do(OpenSchocken(table="t1", seats=SEATS, rules=rules, dice=dice))  # type: ignore[arg-type]  # a literal
    return larp


@pytest.mark.parametrize("dice", [b"[1,1,1]", b"[6,6,5]", b"[2,2,1]"])
def test_a_throw_is_refused_whatever_the_dice_show(dice: bytes) -> None:
    larp = table("dieter", 2, Rules(hand_schock_forfeit=Sum("schnapps", 1)))
    before = len(larp.journal)
    with pytest.raises(BalanceOverflow, match="dieter owes so much schnapps"):
        larp.do(larp.book.resolve(ActRequest("t1", b'{"action":"throw","seat":"anna","dice":%b}' % dice)))
    assert len(larp.journal) == before


def test_what_just_fits_is_played() -> None:
    larp = table("dieter", 3, Rules(hand_schock_forfeit=Sum("schnapps", 1)))
    larp.do(larp.book.resolve(ActRequest("t1", b'{"action":"throw","seat":"anna","dice":[1,1,1]}')))
    assert larp.journal[-1].type == "schocken.thrown"


def test_the_match_itself_must_fit_too() -> None:
    larp = table("bernd", 2, Rules(forfeit=Sum("schnapps", 1)), dice="service")
    before = len(larp.journal)
    for _ in range(5):
        with pytest.raises(BalanceOverflow):
            larp.do(larp.book.resolve(ActRequest("t1", b'{"action":"throw","seat":"anna"}')))
    assert len(larp.journal) == before
