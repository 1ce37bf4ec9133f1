"""One place to play at: table after table of all games, each from its opening to its end."""

import random
from collections import Counter

from api.simulation.larp import Larp
from api.simulation.players import Json, Player, player_of
from ledger.games import GAMES

OPENINGS_MAX = 20
"""Attempts to find people who can pay for a table."""
ACTIONS_MAX = 4_000
"""A table that goes on for longer is closed by the organiser, as when the tavern burns down."""
CLOSING_ACTIONS_MAX = 400
"""How much longer a table may go on when the weekend is over."""
BRAWL = 0.03
"""How often a table is broken off in the middle."""
BY_KEEPER = 0.2
"""How often the keeper notes down what a seat does, where real dice are rolled."""
WAGE = 30

ENDED = ("closed", "voided")


class Tavern:
    """`ended`: how many tables of each game came to which end."""

    def __init__(self, larp: Larp, number: int, name: str, rng: random.Random) -> None:
        self._larp = larp
        self._client = larp.client
        self._number = number
        self._name = name
        self._rng = rng
        self._keeper = ""
        self.ended: Counter[tuple[str, str]] = Counter()

    async def open_all_weekend(self) -> None:
        """Play until the weekend is over; whatever is being played then is played to its end."""
        self._keeper = await self._larp.token("keeper")
        tables = 0
        while not self._client.tally.is_over:
            game = GAMES[(self._number + tables) % len(GAMES)].name
            tables += 1
            player = player_of(game)
            view = await self._open(player, f"{self._name}-{self._larp.first_table + tables - 1}")
            if view is not None:
                view = await self._play(player, view)
                self.ended[game, "voided" if view["phase"] == "voided" else "played"] += 1

    async def _open(self, player: Player, table: str) -> Json | None:
        """The view of a new table; None if nobody can pay for one. Who cannot is paid a wage for the next time."""
        larp = self._larp
        for _ in range(OPENINGS_MAX):
            body = player.opening(self._rng, table, larp.present) | {"place": self._name, "at": self._at()}
            opened = await self._client.write(self._keeper, f"{larp.path}/tables", body, f"table {body['game']}")
            if opened is not None:
                return _view(opened)
            for character in body["seats"]:
                await larp.pay_out(character, WAGE, "wages")
        return None

    async def _play(self, player: Player, view: Json) -> Json:
        brawl = self._rng.randrange(60) if self._rng.random() < BRAWL else ACTIONS_MAX
        closing = 0
        for action in range(ACTIONS_MAX + 1):
            closing += self._client.tally.is_over
            if action == brawl or closing > CLOSING_ACTIONS_MAX:
                break
            view = await self._one_action(player, view)
            if view["phase"] in ENDED:
                return view
        return await self._void(view["table"])

    async def _one_action(self, player: Player, view: Json) -> Json:
        """Somebody does something, or wants to; the view after it."""
        body = await self._proposed(player, view)
        if body is None:
            return view
        token = self._keeper
        if "seat" in body and (view["dice"] == "service" or self._rng.random() >= BY_KEEPER):
            token = self._larp.players[body["seat"]]
        path = f"{self._larp.path}/tables/{view['table']}"
        receipt = await self._client.write(token, f"{path}/actions", body | {"at": self._at()}, "action")
        return _view(receipt) if receipt is not None else await self._client.read(self._keeper, path)

    async def _proposed(self, player: Player, view: Json) -> Json | None:
        """Mostly what a seat does that the table waits for, now and then any seat or the keeper."""
        if self._rng.random() < 0.05 and (action := player.keeper(view, self._rng)) is not None:
            return action
        seats = [seat["character"] for seat in view["seats"] if not seat.get("left")]
        self._rng.shuffle(seats)
        if self._rng.random() < 0.9:
            seats.sort(key=lambda seat: seat not in view["waiting_for"])
        for seat in seats:
            sealed = await self._sealed(view["table"], seat) if player.peeks(view, seat) else []
            if (action := player.propose(view, seat, sealed, self._rng)) is not None:
                return action
        return player.keeper(view, self._rng)

    async def _sealed(self, table: str, seat: str) -> list[Json]:
        """What a player sees under its own cup."""
        path = f"{self._larp.path}/tables/{table}/sealed"
        items: list[Json] = (await self._client.read(self._larp.players[seat], path))["items"]
        return items

    async def _void(self, table: str) -> Json:
        path = f"{self._larp.path}/tables/{table}"
        body = {"reason": "the tavern closed its doors", "at": self._at()}
        await self._client.write(self._larp.organiser, f"{path}/void", body, "void")
        return await self._client.read(self._keeper, path)

    def _at(self) -> str:
        return self._larp.clock.now().isoformat()


def _view(receipt: Json) -> Json:
    view: Json = receipt["table"]
    return view
