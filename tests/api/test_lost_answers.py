"""A client that loses every third answer and sends again plays the same evening as one that loses none."""

import itertools
import json
import random
import re
from typing import Any

import httpx

from tests.api.support import BASE, Api
from tests.games.players import player_of

CHARACTERS = [f"c{number}" for number in range(6)]
GAMES = ["schattenspiel"] * 270 + ["skuggkast"] * 30
Json = dict[str, Any]


class Client:
    """Sends every write with a key of its own, until an answer arrives."""

    def __init__(self, api: Api, larp: str, *, loses: bool) -> None:
        self.api = api
        self.larp = larp
        self.loses = loses
        self.keys = itertools.count()
        self.sent = 0
        self.replayed = 0

    async def write(self, path: str, body: Json) -> httpx.Response:
        key = f"{self.larp}-{next(self.keys)}"
        while True:
            answer = await self.api.call(
                "POST", f"{BASE}/larps/{self.larp}{path}", self.larp, body, headers={"idempotency-key": key}
            )
            self.sent += 1
            self.replayed += answer.headers.get("idempotent-replayed") == "true"
            if not self.loses or self.sent % 3:
                return answer

    async def play(self) -> None:
        rng = random.Random(300)
        await self.write("/assets", {"asset": "krona", "kind": "token", "name": "Krona"})
        for character in CHARACTERS:
            await self.write("/characters", {"character": character, "name": character})
            await self.write("/grants", {"to": character, "asset": "krona", "amount": 5000})
        for number, game in enumerate(GAMES):
            await self.game(rng, game, f"t{number}")

    async def game(self, rng: random.Random, game: str, table: str) -> None:
        opening = player_of(game).opening(rng, table, CHARACTERS)
        opening |= {"credit": False, "rules": {"format": "single"} if game == "schattenspiel" else {"target": 1}}
        opening["stake"] = {"asset": "krona", "amount": 2}
        if game == "skuggkast":
            opening["dice"] = "reported"
        answer = await self.write("/tables", opening)
        assert answer.status_code in (200, 201), answer.text
        view: Json = answer.json()["table"]
        while view["phase"] != "closed":
            seat = rng.choice(view["waiting_for"] or view["seats"][:1])
            action = player_of(game).propose(view, seat, [], rng)
            if action is None:
                continue
            answer = await self.write(f"/tables/{table}/actions", action)
            if answer.status_code in (200, 201):
                view = answer.json()["table"]


async def journal(api: Api, larp: str) -> list[str]:
    """What happened, without what differs from one evening to the next: ids, times, hashes, nonces, names of LARPs."""
    events: list[str] = []
    while True:
        page = await api.ok("GET", f"{BASE}/larps/{larp}/events?limit=1000&after={len(events)}", larp)
        for event in page["items"]:
            kept = {key: event[key] for key in ("position", "type", "version", "table", "data", "postings")}
            events.append(re.sub(r"[0-9a-f]{64}", "*", json.dumps(kept)).replace(larp, "LARP"))
        if len(page["items"]) < 1000:
            return events


async def test_three_hundred_games_are_the_same_whoever_loses_answers(api: Api) -> None:
    journals = []
    for larp, loses in (("careful", False), ("clumsy", True)):
        await api.ok("POST", f"{BASE}/larps", "admin", {"larp": larp, "name": larp})
        api.tokens[larp] = await api.token({"role": "organiser", "label": "bot"}, larp=larp)
        client = Client(api, larp, loses=loses)
        await client.play()
        assert (client.replayed > 300) == loses, "what was lost had been recorded, and was sent again"
        journals.append(await journal(api, larp))
        audit = await api.ok("GET", f"{BASE}/larps/{larp}/audit", larp)
        assert audit["ok"]
    assert journals[0] == journals[1]
    assert len(journals[0]) > 1000
