"""A world that differs from another in nothing but what is hidden in it.

Both get the same requests; where one hides something, the other hides something else. Until it is uncovered,
whoever sees events, views and refusals must not be able to tell the two apart.
"""

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ledger import snapshot
from ledger.book import ActRequest, Applied, Book, LarpCommand, Request
from ledger.errors import Refused
from ledger.games.table import UncoversValues
from ledger.messages import Decision, Draft
from ledger.recorded import Recorded
from ledger.sealing import ENTROPY_BYTES
from tests.games.players import Json, Player

DIGEST = re.compile(rb"[0-9a-f]{64}")
"""A commitment or a nonce."""

_TIME = re.compile(rb'"([a-z]+_)?at":"[^"]*"')

Outcome = Decision | tuple[str, str]
"""What was decided, or code and detail of the refusal."""


def outcome_of(book: Book, command: LarpCommand, entropy: bytes, original: Recorded | None = None) -> Outcome:
    try:
        return book.decide(command, entropy, original)
    except Refused as refused:
        return refused.code, refused.detail


def all_but_secrets(book: Book) -> list[dict[Any, Any]]:
    layers = (book.kinds, book.characters, book.balances, book.tables, book.reversed)
    return [dict(layer.items()) for layer in layers]


def copy_of(book: Book, table: str) -> Book:
    """As it is restored from a snapshot, with the hidden values that are stored apart."""
    copy = snapshot.restore(book.larp, snapshot.take(book))
    copy.keep((book.secrets.get(table) or {}).values())
    assert all_but_secrets(copy) == all_but_secrets(book), "a snapshot lost something"
    return copy


def looking_back(applied: Applied) -> bytes:
    """What the game tells beside its view: rounds that are over, dice that were seen, who has lost."""
    game, table, event = applied.game, applied.table, applied.recorded.event
    if game is None or table is None:
        return b"null"
    told = [game.finished(applied.before, event), list(game.seen(applied.before, event)), game.loser(table)]
    return msgspec.json.encode(told)


class Twin:
    """The other world."""

    def __init__(self, book: Book, table: str, player: Player, rng: random.Random) -> None:
        self._book, self._table, self._player, self._rng = copy_of(book, table), table, player, rng
        self._outcome: Outcome = ("", "")
        self._is_over = False

    def decide(
        self,
        request: Request,
        body: Json | None,
        view: Json,
        entropy: bytes,
        outcome: Outcome,
        original: Recorded | None,
    ) -> None:
        """The same request, with something else to hide where the other hides something."""
        if isinstance(outcome, Decision) and _uncovers(outcome):
            self._is_over = True
            return
        if isinstance(outcome, Decision) and outcome.secrets:
            entropy = self._rng.randbytes(ENTROPY_BYTES)
            if body is not None and isinstance(request, ActRequest):
                body = self._player.disguised(body, view, self._rng)
                request = ActRequest(self._table, msgspec.json.encode(body))
        self._outcome = outcome_of(self._book, self._book.resolve(request), entropy, original)
        assert isinstance(self._outcome, Decision) == isinstance(outcome, Decision), "an answer tells what is hidden"
        assert isinstance(outcome, Decision) or self._outcome == outcome, "a refusal tells what is hidden"

    def follows(self, others: Sequence[Applied], stamp: Callable[[Book, Draft], Recorded]) -> bool:
        """Whether it goes on beside the other: not where something was uncovered."""
        if self._is_over:
            return False
        assert isinstance(self._outcome, Decision)
        self._book.keep(self._outcome.secrets)
        for draft, there in zip(self._outcome.drafts, others, strict=True):
            here = self._book.apply(stamp(self._book, draft))
            assert _seen(here.recorded.body) == _seen(there.recorded.body), "an event tells what is hidden"
            assert _seen(msgspec.json.encode(here.view())) == _seen(msgspec.json.encode(there.view())), "a view tells"
            assert looking_back(here) == looking_back(there), "a look back tells what is hidden"
        return True


def _uncovers(decision: Decision) -> bool:
    return any(isinstance(draft.event, UncoversValues) and draft.event.uncovered for draft in decision.drafts)


def _seen(text: bytes) -> Any:
    """Without commitments, and without times, which have nothing to tell."""
    return json.loads(_TIME.sub(b'"at":0', DIGEST.sub(b"#", text)))
