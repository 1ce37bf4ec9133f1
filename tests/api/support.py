"""A LARP behind the real application, and who asks what of it."""

from collections.abc import Mapping
from typing import Any

import httpx

from api import tokens
from ledger.database import Database
from ledger.settings import Settings

BASE = "/api/v1"
NORTH = f"{BASE}/larps/north"
CHARACTERS = ("alva", "berit", "cato")
ROLES = ("organiser", "banker", "keeper", "tool")

Json = Any


class Api:
    """The LARP `north`: alva, berit and cato with 50 krona each, and a token for every role and character.

    Beside it `south`, with an organiser and an alva of its own. Whoever asks is named: `alva` means her player.
    """

    def __init__(self, client: httpx.AsyncClient, database: Database, tokens: dict[str, str] | None = None) -> None:
        self.client = client
        self.database = database
        self.tokens = tokens or {}

    async def begin(self) -> None:
        """Make all of it, by requests."""
        async with self.database.connection() as connection:
            admin = await tokens.ensure_admin(connection, Settings())
        assert admin is not None
        self.tokens["admin"] = admin
        for larp in ("north", "south"):
            await self.ok("POST", f"{BASE}/larps", "admin", {"larp": larp, "name": f"The {larp}"})
        for role in ROLES:
            self.tokens[role] = await self.token({"role": role, "label": role})
        self.tokens["stranger"] = await self.token({"role": "organiser", "label": "of the other one"}, larp="south")
        await self.ok("POST", f"{BASE}/larps/south/characters", "stranger", {"character": "alva", "name": "Alva"})
        await self.ok("POST", f"{NORTH}/assets", "organiser", {"asset": "krona", "kind": "token", "name": "Krona"})
        for character in CHARACTERS:
            body = {"character": character, "name": character.title(), "credit_limit": {"krona": 100}}
            await self.ok("POST", f"{NORTH}/characters", "organiser", body)
            await self.ok("POST", f"{NORTH}/grants", "organiser", {"to": character, "asset": "krona", "amount": 50})
            new = {"role": "player", "character": character, "label": f"{character}'s"}
            self.tokens[character] = await self.token(new)

    async def token(self, new: Mapping[str, Any], larp: str = "north") -> str:
        made = await self.ok("POST", f"{BASE}/larps/{larp}/tokens", "admin", new)
        return str(made["token"])

    async def call(
        self,
        method: str,
        path: str,
        who: str | None,
        body: Json = None,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Ask as `who` (None: without a token). `path` from the root; `content`: a body as it is."""
        sent = dict(headers or {})
        if who is not None:
            sent["authorization"] = f"Bearer {self.tokens[who]}"
        if content is not None:
            sent.setdefault("content-type", "application/json")
            return await self.client.request(method, path, headers=sent, content=content)
        return await self.client.request(method, path, headers=sent, json=body)

    async def ok(self, method: str, path: str, who: str, body: Json = None) -> Json:
        """What is answered to something that is done."""
        answer = await self.call(method, path, who, body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def head(self) -> int:
        """Where the journal of `north` ends."""
        larp = await self.ok("GET", NORTH, "organiser")
        return int(larp["position"])


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a problem, whose shape is checked."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert {"type", "title", "status", "detail", "code"} <= body.keys()
    assert body["type"] == f"/problems/{body['code']}"
    assert body["status"] == answer.status_code
    assert body["title"], "a problem has a title"
    assert body["detail"], "a problem says what would have been right"
    assert ("errors" in body) == (body["code"] == "malformed")
    assert answer.headers["x-request-id"]
    return answer.status_code, body["code"]
