"""What happens away from the tables: purses change hands, debts are made, settled, forgiven and passed on.

Players act by their own tokens and know their own purse; now and then a banker writes down what happened hours ago.
"""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from api.simulation.larp import Larp
from api.simulation.players import Json

LATE_ENTRY = 0.15
"""How often a banker notes something down for a player, and only later."""
ARRIVAL = 0.05
"""How often somebody who comes late arrives, once a third of the weekend has passed."""
DEALS = ("transfer", "transfer", "iou", "iou", "settlement", "settlement", "forgival", "assignment", "slip", "wage")


class Market:
    """One who goes about and has something to do with everybody."""

    def __init__(self, larp: Larp, latecomers: Sequence[str], rng: random.Random) -> None:
        self._larp = larp
        self._client = larp.client
        self._latecomers = list(latecomers)
        self._rng = rng
        self._deals: Mapping[str, Callable[[str, Json], Awaitable[None]]] = {
            "transfer": self._transfer,
            "iou": self._iou,
            "settlement": self._settlement,
            "forgival": self._forgival,
            "assignment": self._assignment,
            "slip": self._slip,
            "wage": self._wage,
        }

    async def open_all_weekend(self) -> None:
        """Deal after deal, of all kinds in turn; whoever has not come by the end comes then."""
        tally, kinds = self._client.tally, list[str]()
        while not tally.is_over:
            kinds = kinds or self._rng.sample(DEALS, len(DEALS))
            if self._latecomers and 3 * tally.done > tally.actions and self._rng.random() < ARRIVAL:
                await self._larp.arrive([self._latecomers.pop()])
            character = self._rng.choice(self._larp.present)
            token = self._larp.players[character]
            purse = await self._client.read(token, f"{self._larp.path}/purses/{character}")
            await self._deals[kinds.pop()](character, purse)
        await self._larp.arrive(self._latecomers)

    async def _transfer(self, character: str, purse: Json) -> None:
        krona = purse["balances"].get("krona", 0)
        if krona:
            amount = self._rng.randint(1, min(krona, 20))
            await self._do(character, "transfer", {"from": character, "to": self._other(character)}, "krona", amount)

    async def _iou(self, character: str, purse: Json) -> None:
        asset = self._rng.choice(("krona", "krona", "drink", "soup"))
        parties = {"debtor": character, "creditor": self._other(character)}
        await self._do(character, "iou", parties, asset, self._rng.randint(1, 5))

    async def _settlement(self, character: str, purse: Json) -> None:
        """What the purse allows of a debt. Promises cost nothing but the deed."""
        notes = [note for note in purse["owes"] if "creditor" in note]
        if not notes:
            return
        note = self._rng.choice(notes)
        has = purse["balances"].get(note["asset"], 0) if note["asset"] == "krona" else note["amount"]
        if amount := min(has, note["amount"]):
            parties = {"debtor": character, "creditor": note["creditor"]}
            await self._do(character, "settlement", parties, note["asset"], amount)

    async def _forgival(self, character: str, purse: Json) -> None:
        if purse["owed"]:
            note = self._rng.choice(purse["owed"])
            parties = {"debtor": note["debtor"], "creditor": character}
            await self._do(character, "forgival", parties, note["asset"], self._rng.randint(1, note["amount"]))

    async def _assignment(self, character: str, purse: Json) -> None:
        if purse["owed"]:
            note = self._rng.choice(purse["owed"])
            parties = {"debtor": note["debtor"], "from": character, "to": self._other(character)}
            await self._do(character, "assignment", parties, note["asset"], self._rng.randint(1, note["amount"]))

    async def _slip(self, character: str, purse: Json) -> None:
        """An organiser pays twice by mistake, and corrects it."""
        paid = await self._larp.pay_out(character, self._rng.randint(1, 10), "for the play")
        twice = await self._larp.pay_out(character, self._rng.randint(1, 10), "for the play")
        if paid and twice:
            body = {"position": twice["position"], "reason": "paid twice", "at": self._larp.clock.now().isoformat()}
            await self._client.write(self._larp.organiser, f"{self._larp.path}/reversals", body, "reversal")

    async def _wage(self, character: str, purse: Json) -> None:
        await self._larp.pay_out(character, self._rng.randint(1, 10), "wages")

    async def _do(self, character: str, kind: str, parties: Mapping[str, Any], asset: str, amount: int) -> None:
        """By the player's own token and just now, or by the banker's and some hours late."""
        larp = self._larp
        late = self._rng.random() < LATE_ENTRY
        at = larp.clock.earlier(self._rng) if late else larp.clock.now()
        body = {**parties, "asset": asset, "amount": amount, "at": at.isoformat()}
        if late:
            body["memo"] = "noted down later"
        token = larp.banker if late else larp.players[character]
        await self._client.write(token, f"{larp.path}/{kind}s", body, "late entry" if late else kind)

    def _other(self, character: str) -> str:
        return self._rng.choice([other for other in self._larp.present if other != character])
