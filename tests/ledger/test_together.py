"""Commands that are sent together are carried out all or none, and no dice decide which."""

import pytest

from ledger import purses
from ledger.book import ActRequest
from ledger.errors import BatchRefused, DiceInBatch
from ledger.games.skuggkast.messages import OpenSkuggkast, Rules
from ledger.games.table import Sum
from ledger.sending import Sent, Together
from ledger.writer import Writers
from tests.ledger.test_writer import ACTOR, balance, founded, rows, transfer


def together(*requests: object) -> Sent:
    return Sent(request=Together(requests), actor=ACTOR)  # type: ignore[arg-type]


async def test_each_sees_what_came_of_those_before(writers: Writers, database_url: str) -> None:
    await founded(writers, krona=5)
    receipt = await writers.send("north", together(transfer(5), transfer(10, "c1", "c0"), transfer(3)))
    assert [applied.recorded.position for applied in receipt.applied] == [7, 8, 9]
    assert await balance(database_url, "purse/c0") == 7


async def test_one_that_is_refused_takes_all_with_it(writers: Writers, database_url: str) -> None:
    await founded(writers, krona=5)
    before = await rows(database_url, "SELECT * FROM skuggbok.balance ORDER BY account, asset")
    with pytest.raises(BatchRefused, match="command 3 was refused: c1 has 10 krona") as raised:
        await writers.send(
            "north",
            together(transfer(5), purses.DefineAsset(asset="x", kind="token", name="X"), transfer(11, "c1", "c0")),
        )
    assert (raised.value.at, raised.value.refusal.code) == (2, "insufficient_funds")
    assert await rows(database_url, "SELECT * FROM skuggbok.balance ORDER BY account, asset") == before
    assert await rows(database_url, "SELECT max(position) FROM skuggbok.event") == [(6,)]
    await writers.submit("north", purses.DefineAsset(asset="x", kind="token", name="X"), ACTOR)


@pytest.mark.parametrize("dice", ["service", "reported"])
async def test_dice_that_the_service_rolls_are_refused(writers: Writers, database_url: str, dice: str) -> None:
    """Else one could try until the dice please."""
    await founded(writers)
    opening = OpenSkuggkast(table="t1", seats=("c0", "c1"), stake=Sum("krona", 3), dice=dice, rules=Rules(starter="c0"))  # type: ignore[arg-type]
    brought = b',"dice":{"symbol":"moon","number":1,"shadow":"neutral"}' if dice == "reported" else b""
    roll = ActRequest("t1", b'{"action":"roll","seat":"c0"%b}' % brought)
    if dice == "service":
        with pytest.raises(DiceInBatch):
            await writers.send("north", together(opening, roll))
        assert await rows(database_url, "SELECT count(*) FROM skuggbok.secret") == [(0,)]
        return
    await writers.send("north", together(opening, roll))
    claim = ActRequest("t1", b'{"action":"claim","seat":"c0","symbol":"moon","number":1,"shadow":"neutral"}')
    challenge = ActRequest("t1", b'{"action":"challenge","seat":"c1"}')
    with pytest.raises(DiceInBatch):
        await writers.send("north", together(claim, challenge))
    await writers.send("north", together(claim))
