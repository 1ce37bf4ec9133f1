"""A demonstration: a LARP with purses and an evening of Skuggkast, played with real requests by real tokens.

Nobody at the table knows more than the API tells: each player asks for its own cup, bluffs, believes or challenges.
"""

import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import httpx

from api import tokens
from ledger.database import Connection
from ledger.errors import UnknownLarp

LARP = "krakans-vila"
TABLE = "langbordet"
PLAYERS: Mapping[str, str] = {
    "alva": "Alva Tistel",
    "birk": "Birk Järnros",
    "embla": "Embla Mossa",
    "frej": "Frej Korp",
}
STAKE = 5
PURSE = 60
ACTIONS_MAX = 400
"""An evening ends; a game that has not by then is left open for whoever tries the API."""
SEED = 1313
"""The players' characters; the dice are the service's and differ each evening."""


async def play(address: str, connection: Connection, tell: Callable[[str], None]) -> tuple[str, bool]:
    """Make the LARP and play, unless it is there already. An organiser's token, and whether it was played just now.

    `address` is the running service's. Raises httpx.HTTPStatusError if a request is refused that must not be.
    """
    async with httpx.AsyncClient(base_url=f"{address}/api/v1", timeout=30) as client:
        try:
            organiser = await _token(connection, "organiser")
            return organiser, False
        except UnknownLarp:
            pass
        # Whoever runs the service has its database, and needs no token from anybody: as with `token create`.
        admin = await tokens.make_admin(connection, "demonstration", timedelta(minutes=1))
        await _request(client, admin.token, "/larps", {"larp": LARP, "name": "Kråkans Vila", "language": "sv"})
        organiser = await _token(connection, "organiser")
        tell("an evening of Skuggkast at Kråkans Vila")
        await _prepare(client, organiser)
        await _Evening(client, organiser, {c: await _token(connection, "player", c) for c in PLAYERS}).play()
    return organiser, True


def told(address: str, organiser: str, played: bool) -> str:
    """What to try next."""
    api = f"{address}/api/v1/larps/{LARP}"
    header = f'-H "Authorization: Bearer {organiser}"'
    how = (
        "An evening of Skuggkast was played just now"
        if played
        else "The evening that was played here before is still there"
    )
    return f"""
{how} in the LARP {LARP}.
Skuggbok answers at {address}, its documentation is at {address}/schema
An organiser's token: {organiser}

Try
  curl {header} {api}/purses
  curl {header} {api}/tables/{TABLE}
  curl {header} "{api}/events?table={TABLE}&limit=20"

Stop with Ctrl-C."""


async def _token(connection: Connection, role: Any, character: str | None = None) -> str:
    new = tokens.NewToken(role=role, label="demonstration", character=character)
    made, _ = await tokens.create(connection, LARP, new)
    return made.token


async def _request(client: httpx.AsyncClient, token: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    answer = await client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
    answer.raise_for_status()
    receipt: dict[str, Any] = answer.json()
    return receipt


async def _prepare(client: httpx.AsyncClient, organiser: str) -> None:
    """Money, characters, purses, a debt, and a table."""
    larp = f"/larps/{LARP}"
    await _request(client, organiser, f"{larp}/assets", {"asset": "krona", "kind": "token", "name": "Krona"})
    for character, name in PLAYERS.items():
        limits = {"krona": 20} if character == "frej" else {}
        body = {"character": character, "name": name, "credit_limit": limits}
        await _request(client, organiser, f"{larp}/characters", body)
        amount = PURSE // 4 if character == "frej" else PURSE
        grant = {"to": character, "asset": "krona", "amount": amount, "memo": "for the first evening"}
        await _request(client, organiser, f"{larp}/grants", grant)
    loan = {"debtor": "frej", "creditor": "alva", "asset": "krona", "amount": 8, "memo": "lost at the bar"}
    await _request(client, organiser, f"{larp}/ious", loan)
    opening = {
        "table": TABLE,
        "game": "skuggkast",
        "seats": list(PLAYERS),
        "stake": {"asset": "krona", "amount": STAKE},
        "dice": "service",
        "credit": True,
        "rules": {"turn_raise": 1},
        "place": "Kråkans Vila",
    }
    await _request(client, organiser, f"{larp}/tables", opening)


class _Evening:
    """Four players and their phones."""

    def __init__(self, client: httpx.AsyncClient, organiser: str, players: Mapping[str, str]) -> None:
        self._client = client
        self._organiser = organiser
        self._tokens = players
        self._minds = random.Random(SEED)  # noqa: S311  # bluffing is no cryptography
        self._path = f"/larps/{LARP}/tables/{TABLE}"

    async def play(self) -> None:
        view = (await self._get(self._organiser, self._path)).json()
        for _ in range(ACTIONS_MAX):
            if view["phase"] == "closed":
                return
            seat = self._minds.choice(view["waiting_for"])
            view = await self._act(seat, await self._decide(view, seat))

    async def _get(self, token: str, path: str) -> httpx.Response:
        answer = await self._client.get(path, headers={"Authorization": f"Bearer {token}"})
        answer.raise_for_status()
        return answer

    async def _act(self, seat: str, action: Mapping[str, Any]) -> dict[str, Any]:
        """What the seat wants; if its purse does not let it, it leaves the table."""
        for body in (action, {"action": "leave"}):
            answer = await self._client.post(
                f"{self._path}/actions",
                json={**body, "seat": seat},
                headers={"Authorization": f"Bearer {self._tokens[seat]}"},
            )
            if answer.status_code != httpx.codes.CONFLICT:
                break
        answer.raise_for_status()
        view: dict[str, Any] = answer.json()["table"]
        return view

    async def _decide(self, view: Mapping[str, Any], seat: str) -> Mapping[str, Any]:
        me = next(s for s in view["seats"] if s["character"] == seat)
        match view["phase"]:
            case "roll_off":
                return {"action": "roll_off"}
            case "turn" if not me["in_contention"] and self._minds.random() < 0.5:
                return {"action": "rebuy"}
            case "turn":
                return {"action": "roll"}
            case "claim":
                return {"action": "claim", **await self._claimed(seat, me["casts"])}
            case _:  # response: nobody reports dice here, so nothing is ever left to reveal
                suspicious = view["claim"]["symbol"] == "star" and self._minds.random() < 0.25
                return {"action": "challenge" if suspicious else "believe"}

    async def _claimed(self, seat: str, casts: list[str]) -> Mapping[str, Any]:
        """The truth where it helps, now and then a Skuggkast that nobody saw."""
        items = (await self._get(self._tokens[seat], f"{self._path}/sealed")).json()["items"]
        dice: dict[str, Any] = items[0]["value"]
        if dice["symbol"] == "star" or self._minds.random() < 0.5:
            return dice
        missing = [
            {"symbol": "star", "number": number, "shadow": shadow}
            for number in range(1, 7)
            for shadow in ("neutral", "blessed", "cursed")
            if f"star-{number}-{shadow}" not in casts
        ]
        return self._minds.choice(missing)
