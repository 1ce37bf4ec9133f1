"""The LARP that bots play in: who is there, what they have, and the tokens by which they act."""

import asyncio
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from api.simulation.asking import Client, SimulationError
from api.simulation.players import Json

PURSE = 200
CREDIT_LIMIT = 60
AT_ONCE = 16
"""Characters that arrive side by side."""
FIRST_NAMES = (
    "alva",
    "birk",
    "disa",
    "embla",
    "frej",
    "gaute",
    "hilde",
    "ivar",
    "jorun",
    "kettil",
    "liv",
    "mattis",
    "nanna",
    "orm",
    "petra",
    "ragna",
    "sigrun",
    "torbern",
    "ulva",
    "vidar",
    "ylva",
    "ask",
    "brage",
    "dag",
    "edda",
    "fenja",
    "gro",
    "hedda",
    "idun",
    "joar",
    "kari",
    "lodin",
    "mara",
    "njal",
    "odd",
    "rune",
    "saga",
    "tyra",
    "unn",
    "viggo",
)
TAVERNS = ("raven", "kettle", "anchor", "lantern", "goat", "mill", "bear", "ferry")


class Clock:
    """The field's time: the weekend's hours pass as its actions are done."""

    def __init__(self, client: Client, hours: float) -> None:
        self._tally = client.tally
        self._hours = timedelta(hours=hours)
        self._begin = datetime.now(UTC) - self._hours

    def now(self) -> datetime:
        return self._begin + self._hours * min(1.0, self._tally.done / max(1, self._tally.actions))

    def earlier(self, rng: random.Random) -> datetime:
        """Some hours ago: when it happened, if somebody writes it down only now."""
        return self.now() - timedelta(minutes=rng.randint(20, 480))


class Larp:
    """`tokens` by role, and those of players by character. `present`: who has arrived."""

    def __init__(self, client: Client, slug: str, organiser: str, clock: Clock) -> None:
        self.client = client
        self.slug = slug
        self.path = f"/larps/{slug}"
        self.organiser = organiser
        self.banker = ""
        self.clock = clock
        self.players: dict[str, str] = {}
        self.first_table = 1

    @property
    def present(self) -> list[str]:
        return list(self.players)

    async def prepare(self) -> None:
        """Currencies and a banker. In a LARP that has begun, tables are numbered from its position on."""
        self.first_table = int((await self.client.read(self.organiser, self.path))["position"])
        for asset, kind, name in (
            ("krona", "token", "Krona"),
            ("screw", "token", "Screw"),
            ("soup", "promise", "Soup"),
        ):
            body = {"asset": asset, "kind": kind, "name": name}
            await self.client.write(self.organiser, f"{self.path}/assets", body, "asset")
        self.banker = await self.token("banker")

    async def arrive(self, characters: Iterable[str]) -> None:
        """Characters with purses and players come to the LARP."""
        doors = asyncio.Semaphore(AT_ONCE)

        async def one(character: str) -> None:
            async with doors:
                await self._arrive(character)

        async with asyncio.TaskGroup() as group:
            for character in characters:
                group.create_task(one(character))

    async def _arrive(self, character: str) -> None:
        limits = {"krona": CREDIT_LIMIT}
        body = {"character": character, "name": character.replace("-", " ").title(), "credit_limit": limits}
        await self.client.write(self.organiser, f"{self.path}/characters", body, "character")
        await self.pay_out(character, PURSE, "for the weekend")
        self.players[character] = await self.token("player", character)

    async def pay_out(self, character: str, amount: int, memo: str) -> Json | None:
        body = {"to": character, "asset": "krona", "amount": amount, "memo": memo}
        return await self.client.write(self.organiser, f"{self.path}/grants", body, "grant")

    async def token(self, role: str, character: str | None = None) -> str:
        body = {"role": role, "label": "simulation"} | ({"character": character} if character else {})
        made = await self.client.write(self.organiser, f"{self.path}/tokens", body, "token")
        if made is None:
            raise SimulationError(f"no token with the role {role} could be made")
        return str(made["token"])


def names(count: int) -> list[str]:
    """So many different characters: alva, birk, ..., alva-2, ..."""
    return [
        FIRST_NAMES[n % len(FIRST_NAMES)] + (f"-{n // len(FIRST_NAMES) + 1}" if n >= len(FIRST_NAMES) else "")
        for n in range(count)
    ]


def tavern_of(number: int) -> str:
    """The name of the tavern that one of the tables stands in: raven, kettle, ..., raven-2, ..."""
    again = f"-{number // len(TAVERNS) + 1}" if number >= len(TAVERNS) else ""
    return TAVERNS[number % len(TAVERNS)] + again
