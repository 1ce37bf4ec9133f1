"""Playing on credit, sentence by sentence: rules/ledger.md, "Playing on credit", "Corrections", "Whole wins"."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ledger import purses
from ledger.book import LarpCommand, Void, VoidTable
from ledger.errors import CreditExceeded, InsufficientFunds, InvalidRules, NotOwed, Refused
from ledger.games.schocken.messages import OpenSchocken
from ledger.games.skuggkast.messages import OpenSkuggkast
from tests.support.in_memory import MemoryLarp, command_of

SEATS = ("alva", "birk", "embla")


@pytest.fixture
def larp() -> MemoryLarp:
    """Everybody may owe 6 krona. alva has 2 krona and 4 krona of frej's notes, birk has 20 krona, embla none."""
    made = MemoryLarp()
    made.do(purses.DefineAsset(asset="krona", kind="token", name="Krona"))
    made.do(purses.DefineAsset(asset="pint", kind="promise", name="Pint"))
    for name in (*SEATS, "frej"):
        made.do(purses.AddCharacter(character=name, name=name, credit_limit={"krona": 6}))
    made.do(purses.Grant(to="alva", asset="krona", amount=2))
    made.do(purses.Grant(to="birk", asset="krona", amount=20))
    made.do(purses.IssueNote(debtor="frej", creditor="alva", asset="krona", amount=4))
    return made


def opening(
    stake: int = 3, *, asset: str = "krona", credit: bool = True, seats: Sequence[str] = SEATS, **rules: Any
) -> Any:
    body = {
        "game": "skuggkast",
        "table": "t",
        "seats": seats,
        "stake": {"asset": asset, "amount": stake},
        "credit": credit,
        "rules": {"starter": seats[0], **rules},
    }
    return msgspec.convert(body, OpenSkuggkast)


def action(larp: MemoryLarp, name: str, seat: str, *, table: str = "t", **more: Any) -> LarpCommand:
    return command_of(larp.book, "POST", f"/tables/{table}/actions", {"action": name, "seat": seat, **more})


def act(larp: MemoryLarp, name: str, seat: str, **more: Any) -> None:
    larp.do(action(larp, name, seat, **more))


def refused(larp: MemoryLarp, command: LarpCommand, error: type[Refused]) -> str:
    before = (larp.book.position, larp.balances())
    with pytest.raises(error) as caught:
        larp.do(command)
    assert (larp.book.position, larp.balances()) == before
    return caught.value.detail


def lie(larp: MemoryLarp, seat: str, challenger: str) -> None:
    """`seat` claims what it did not roll and is challenged."""
    act(larp, "roll", seat, dice={"symbol": "moon", "number": 2, "shadow": "neutral"})
    act(larp, "claim", seat, symbol="star", number=5, shadow="neutral")
    act(larp, "challenge", challenger)


def test_a_stake_is_paid_with_what_the_purse_has_and_a_new_note_for_the_rest(larp: MemoryLarp) -> None:
    """Own tokens first, then one's own new notes; the note that alva holds is not staked."""
    larp.do(opening())
    assert larp.account("pot/t") == {"krona": 5, "iou/alva/krona": 1, "iou/embla/krona": 3}
    assert larp.account("purse/alva") == {"iou/frej/krona": 4}
    assert larp.account("debtor/embla") == {"iou/embla/krona": -3}
    assert larp.account("purse/birk") == {"krona": 17}


def test_without_credit_it_is_refused(larp: MemoryLarp) -> None:
    assert refused(larp, opening(credit=False), InsufficientFunds) == "alva has 2 krona, the stake is 3"


def test_past_the_limit_it_is_refused(larp: MemoryLarp) -> None:
    detail = refused(larp, opening(9), CreditExceeded)
    assert detail == "alva has 2 krona and may owe 6 more, the stake is 9"


def test_all_notes_count_against_the_limit_wherever_they_lie(larp: MemoryLarp) -> None:
    """In a purse, and in the pot of another table."""
    larp.do(purses.IssueNote(debtor="embla", creditor="frej", asset="krona", amount=2))
    larp.do(opening(3))
    larp.do(purses.IssueNote(debtor="embla", creditor="frej", asset="krona", amount=1))
    second = msgspec.structs.replace(opening(1, seats=("embla", "birk")), table="t2")
    refused(larp, second, CreditExceeded)
    larp.do(purses.Forgive(debtor="embla", creditor="frej", asset="krona", amount=1))
    larp.do(second)


def test_a_limit_below_what_is_owed_only_blocks_new_notes(larp: MemoryLarp) -> None:
    larp.do(opening(3, turn_raise=1))
    larp.do(purses.ChangeCharacter("alva", purses.CharacterChanges(credit_limit={"krona": 0})))
    claim = action(larp, "claim", "alva", symbol="moon", number=1, shadow="neutral")
    assert refused(larp, claim, CreditExceeded) == "alva has 0 krona and may owe 0 more, the raise is 1"
    act(larp, "leave", "alva")
    assert larp.account("debtor/alva") == {"iou/alva/krona": -1}


def test_a_raise_is_paid_partly_in_notes(larp: MemoryLarp) -> None:
    larp.do(opening(1, turn_raise=3))
    act(larp, "roll", "alva", dice={"symbol": "moon", "number": 2, "shadow": "neutral"})
    assert larp.account("debtor/alva") == {"iou/alva/krona": -2}
    assert larp.account("pot/t") == {"krona": 3, "iou/alva/krona": 2, "iou/embla/krona": 1}


def test_a_penalty_is_paid_partly_in_notes(larp: MemoryLarp) -> None:
    """A wrong challenge costs a stake."""
    larp.do(opening(2, seats=("birk", "alva")))
    larp.do(purses.Grant(to="alva", asset="krona", amount=1))
    act(larp, "roll", "birk", dice={"symbol": "moon", "number": 2, "shadow": "neutral"})
    act(larp, "claim", "birk", symbol="moon", number=2, shadow="neutral")
    act(larp, "challenge", "alva")
    assert larp.account("pot/t") == {"krona": 5, "iou/alva/krona": 1}
    assert larp.account("purse/alva") == {"iou/frej/krona": 4}


def test_a_challenger_covers_the_penalty_with_tokens_and_room(larp: MemoryLarp) -> None:
    larp.do(opening(2, seats=("birk", "embla")))
    act(larp, "roll", "birk", dice={"symbol": "moon", "number": 2, "shadow": "neutral"})
    act(larp, "claim", "birk", symbol="star", number=5, shadow="neutral")
    larp.do(purses.IssueNote(debtor="embla", creditor="frej", asset="krona", amount=3))
    challenge = action(larp, "challenge", "embla")
    detail = refused(larp, challenge, CreditExceeded)
    assert detail == "embla has 0 krona and may owe 1 more, a challenge must cover 2"
    larp.do(purses.Grant(to="embla", asset="krona", amount=1))
    larp.do(challenge)
    assert larp.account("purse/embla") == {"krona": 1}, "it was a lie: the challenger pays nothing"


def test_a_rebuy_is_paid_partly_in_notes(larp: MemoryLarp) -> None:
    larp.do(opening(2, seats=("alva", "birk"), after_lie="rebuy"))
    lie(larp, "alva", "birk")
    larp.do(purses.Grant(to="alva", asset="krona", amount=1))
    act(larp, "rebuy", "alva")
    assert larp.account("debtor/alva") == {"iou/alva/krona": -1}
    assert larp.account("purse/alva") == {"iou/frej/krona": 4}


def schocken(credit: bool) -> OpenSchocken:
    rules = {
        "starter": "alva",
        "forfeit": {"asset": "krona", "amount": 2},
        "dropped_die_forfeit": {"asset": "schnapps", "amount": 1},
    }
    body = {"game": "schocken", "table": "s", "seats": [*SEATS, "frej"], "credit": credit, "rules": rules}
    return msgspec.convert(body, OpenSchocken)


def test_a_forfeit_in_tokens_is_put_down_partly_in_notes(larp: MemoryLarp) -> None:
    """Two krona for each of three others: frej owes 4 already and has two of room, so it needs 4 tokens."""
    refused(larp, schocken(True), CreditExceeded)
    refused(larp, schocken(False), InsufficientFunds)
    larp.do(purses.Grant(to="frej", asset="krona", amount=4))
    larp.do(schocken(True))
    assert larp.account("pot/s") == {"krona": 12, "iou/alva/krona": 4, "iou/embla/krona": 6, "iou/frej/krona": 2}


def test_a_void_sends_staked_notes_home_and_what_has_fallen_due_stays_due(larp: MemoryLarp) -> None:
    larp.do(purses.Grant(to="frej", asset="krona", amount=6))
    before = larp.balances()
    larp.do(schocken(True))
    act(larp, "drop", "alva", table="s")
    larp.do(Void("s", VoidTable(reason="rain")))
    due = {(f"purse/{who}", "iou/alva/schnapps"): 1 for who in ("birk", "embla", "frej")}
    assert larp.balances() == before | due | {("debtor/alva", "iou/alva/schnapps"): -3}


def test_a_stake_in_a_promise_is_paid_wholly_in_notes_and_needs_credit(larp: MemoryLarp) -> None:
    """Promises have no limit."""
    refused(larp, opening(90, asset="pint", credit=False), InvalidRules)
    larp.do(opening(90, asset="pint"))
    assert larp.account("pot/t") == {f"iou/{seat}/pint": 90 for seat in SEATS}


def test_the_winner_takes_tokens_and_notes_and_its_own_notes_go_home(larp: MemoryLarp) -> None:
    larp.do(opening())
    act(larp, "leave", "birk")
    act(larp, "leave", "embla")
    assert larp.account("purse/alva") == {"krona": 5, "iou/frej/krona": 4, "iou/embla/krona": 3}
    assert larp.account("debtor/alva") == {}
    assert larp.account("pot/t") == {}


def test_a_note_that_was_won_is_traded_settled_and_comes_home(larp: MemoryLarp) -> None:
    larp.do(opening())
    act(larp, "leave", "birk")
    act(larp, "leave", "embla")
    larp.do(purses.Assign(debtor="embla", from_="alva", to="birk", asset="krona", amount=2))
    larp.do(purses.Grant(to="embla", asset="krona", amount=1))
    larp.do(purses.Settle(debtor="embla", creditor="birk", asset="krona", amount=1))
    larp.do(purses.Assign(debtor="embla", from_="birk", to="embla", asset="krona", amount=1))
    assert larp.account("debtor/embla") == {"iou/embla/krona": -1}
    assert larp.account("purse/embla") == {}
    refused(larp, purses.Forgive(debtor="embla", creditor="birk", asset="krona", amount=1), NotOwed)


def test_a_void_gives_tokens_back_and_sends_notes_home(larp: MemoryLarp) -> None:
    """Also of a seat that has left, and what a raise, a penalty and a rebuy put in."""
    before = larp.balances()
    larp.do(opening(2, turn_raise=1, after_lie="rebuy"))
    lie(larp, "alva", "birk")
    act(larp, "rebuy", "alva")
    act(larp, "leave", "embla")
    assert larp.account("debtor/alva") == {"iou/alva/krona": -3}
    larp.do(Void("t", VoidTable(reason="rain")))
    assert larp.balances() == before
