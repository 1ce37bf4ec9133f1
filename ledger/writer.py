"""Group commit: whatever waits is decided on a fork of the Book and written in one statement, one commit.

One writer per LARP and process. While one batch is on its way the next gathers; a command alone goes at once.
Nobody is told yes before the commit, and nobody is told no on grounds that another process has changed since:
a refusal stands only if the journal's head is still the one it was decided on.
"""

import asyncio
import hmac
import secrets
import time
from collections import deque
from collections.abc import Sequence

import structlog
from msgspec import Struct

from ledger import purses, snapshot
from ledger.book import Applied, Book, Request
from ledger.database import Connection
from ledger.errors import IdempotencyMismatch, Refused, Unavailable
from ledger.journal import Batch, Journal, Journals, Kept, Once
from ledger.messages import Actor, Secret
from ledger.observing import Observer, Unobserved
from ledger.sealing import ENTROPY_BYTES
from ledger.sending import Attempt, Carried, Sent

log = structlog.get_logger()

QUEUE_MAX = 10_000
"""Commands that may wait for one LARP; past it the next is told 503."""
BATCH_MAX = 1_000
"""Commands that are decided and written together."""
YIELD_EVERY = 50
"""Commands after which others of this process get their turn: probes, reads, other LARPs."""
PATIENCE_S = 10.0
"""How long a command waits for a database that is away."""
RETRY_S = 0.1
SNAPSHOT_EVERY = 2_000
"""Events after which a Book is kept, so that a start folds no more than about so many."""


class Receipt(Struct, frozen=True):
    """What was recorded of one command, durably: its events in order, and the table after each.

    `ends`: the last position of each of the commands that were carried out together, or of the one.
    `replayed`: it was recorded when the same key was used before, and nothing new was.
    """

    applied: tuple[Applied, ...]
    ends: tuple[int, ...] = ()
    replayed: bool = False

    @property
    def position(self) -> int:
        return self.applied[-1].recorded.position


class _Pending:
    """A command that waits, and what was made of it so far."""

    def __init__(self, sent: Sent) -> None:
        self.sent = sent
        self.once: Once | None = None
        self.entropy = secrets.token_bytes(ENTROPY_BYTES)
        self.answer: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self.refusal: Refused | None = None
        self.attempt = Carried()
        self.tried: list[tuple[tuple[str, ...], tuple[int, ...]]] = []
        """The ids of events that were sent and may have been recorded: a lost connection does not say."""

    def resolve(self, carried: Carried, *, replayed: bool = False) -> None:
        if not self.answer.done():
            self.answer.set_result(Receipt(carried.applied, carried.ends, replayed))

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class LarpWriter:
    """All commands of one LARP in this process."""

    def __init__(self, journals: Journals, slug: str, observer: Observer) -> None:
        self._observer = observer
        self._database = journals.database
        self._journals = journals
        self._slug = slug
        self._journal: Journal | None = None
        self._book: Book | None = None
        self._waiting: deque[_Pending] = deque()
        self._running: asyncio.Task[None] | None = None
        self._snapshot: asyncio.Task[None] | None = None
        self._snapshot_position = 0
        self._unsure: list[_Pending] = []
        """Commands that were sent to the database and not answered yet."""

    @property
    def waiting(self) -> int:
        """Commands that wait for their turn."""
        return len(self._waiting)

    def enqueue(self, sent: Sent) -> asyncio.Future[Receipt]:
        """Let a command wait its turn. The future raises a Refused, or Unavailable while the database is away.

        Raises Unavailable when too much waits already.
        """
        if len(self._waiting) >= QUEUE_MAX:
            raise Unavailable(f"{QUEUE_MAX} commands wait for {self._slug} already: send it again")
        pending = _Pending(sent)
        self._waiting.append(pending)
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._drain())
        return pending.answer

    async def close(self) -> None:
        """Finish what waits."""
        for task in (self._running, self._snapshot):
            if task is not None:
                await asyncio.gather(task, return_exceptions=True)

    async def _drain(self) -> None:
        while self._waiting:
            await self._carry_out(self._next_batch())
            self._keep_snapshot()

    def _next_batch(self) -> Sequence[_Pending]:
        """What waits; a key that is in the batch already waits for the next, where its receipt will be found."""
        batch, keys, later = list[_Pending](), set[tuple[str, str]](), list[_Pending]()
        while self._waiting and len(batch) < BATCH_MAX:
            pending = self._waiting.popleft()
            sent = pending.sent
            if sent.key is not None and (sent.actor.token, sent.key) in keys:
                later.append(pending)
                continue
            if sent.key is not None:
                keys.add((sent.actor.token, sent.key))
            batch.append(pending)
        self._waiting.extendleft(reversed(later))
        return batch

    async def _carry_out(self, batch: Sequence[_Pending]) -> None:
        """Answer every command of the batch, whatever happens."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while batch:
            try:
                await self._write(batch)
                return
            except Unavailable as error:
                if asyncio.get_running_loop().time() > deadline:
                    self._give_up(batch, error)
                    return
                await asyncio.sleep(RETRY_S)
            except Exception as error:  # the callers must hear of any fault at all: nobody else would tell them
                await self._carry_out_singly(batch, error)
                return
            batch = [pending for pending in batch if not pending.answer.done()]

    async def _carry_out_singly(self, batch: Sequence[_Pending], error: Exception) -> None:
        """One command of the batch is at fault; the others need not suffer."""
        log.error("batch_failed", larp=self._slug, commands=len(batch), exc_info=error)
        if len(batch) == 1:
            self._book = None
            batch[0].fail(error)
            return
        for pending in batch:
            if not pending.answer.done():
                await self._carry_out([pending])

    def _give_up(self, batch: Sequence[_Pending], error: Unavailable) -> None:
        for pending in batch:
            known = "whether it was recorded is not known" if pending.tried else "nothing was recorded"
            pending.fail(Unavailable(f"{error.detail}; {known}", error.retry_after_s))

    async def _write(self, batch: Sequence[_Pending]) -> None:
        """Answer every command of the batch, or raise. Raises Unavailable when the connection breaks."""
        if self._journal is None:
            try:
                self._journal = await self._journals.open(self._slug)
            except Refused as refused:
                for pending in batch:
                    pending.fail(refused)
                return
        journal = self._journal
        await self._hash_keys(batch)
        async with self._database.connection() as connection:
            if self._book is None:
                for pending in self._unsure:  # the Book went with a fault: what was sent cannot be recognised any more
                    pending.fail(Unavailable("whether it was recorded is not known: look before you send it again"))
                begun = time.perf_counter()
                self._book = await journal.load(connection)
                self._observer.book_loaded(self._slug, time.perf_counter() - begun)
                self._snapshot_position = journal.kept_at  # a long tail is worth keeping at once
            elif any(pending.tried for pending in batch):  # a connection broke: what became of it?
                await self._catch_up(connection, journal, self._book)
            if await self._attempt(connection, journal, self._book, batch):
                return
            self._observer.race_lost(self._slug)
            # Somebody else appended first. Take the turn for certain, or a busy neighbour could starve us.
            async with journal.locked(connection):
                await self._catch_up(connection, journal, self._book)
                fork = await self._attempt(connection, journal, self._book, batch, merge=False)
                assert fork is not None, "nobody appends while the head is locked"
            self._confirm(fork, batch)

    async def _catch_up(self, connection: Connection, journal: Journal, book: Book) -> None:
        """Learn what others recorded, and what we recorded without hearing of it: whoever sent it, it is seen once."""
        fork = book.fork()  # if the connection breaks half-way, the Book is as it was
        by_id = {applied.recorded.id: applied async for applied in journal.catch_up(connection, fork)}
        fork.merge()
        for pending in self._unsure:
            for ids, ends in pending.tried:
                if ids[0] in by_id:
                    pending.resolve(Carried(tuple(by_id[id_] for id_ in ids), ends))

    async def _attempt(
        self, connection: Connection, journal: Journal, book: Book, batch: Sequence[_Pending], *, merge: bool = True
    ) -> Book | None:
        """Decide and write. None: the head has moved on and nothing was written or answered."""
        await self._answer_known(connection, journal, [p for p in batch if p.once is not None and not p.answer.done()])
        open_ = [pending for pending in batch if not pending.answer.done()]
        asked = [request.position for p in open_ for request in p.sent.requests if isinstance(request, purses.Reverse)]
        originals = await journal.events_at(connection, asked) if asked else {}
        attempt = Attempt(book, originals)
        for number, pending in enumerate(open_, start=1):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            pending.refusal, pending.attempt = None, Carried()
            try:
                pending.attempt = attempt.carry_out(pending.sent, pending.entropy)
            except Refused as refused:
                pending.refusal = refused
        if not await self._append(connection, journal, book, open_, attempt.secrets):
            return None
        if merge:
            self._confirm(attempt.fork, batch)
        return attempt.fork

    async def _hash_keys(self, batch: Sequence[_Pending]) -> None:
        for pending in batch:
            if pending.sent.key is not None and pending.once is None:
                pending.once = _once(await self._journals.secret_key(), pending.sent)

    async def _answer_known(self, connection: Connection, journal: Journal, keyed: Sequence[_Pending]) -> None:
        """Answer those whose key was used before with what came of it then. Nobody but us can use it meanwhile:
        a receipt is written with a move of the head, which would make our append fail."""
        if not keyed:
            return
        known = await journal.receipts(connection, [pending.once for pending in keyed if pending.once])
        for pending in keyed:
            assert pending.once is not None
            before = known.get((pending.once.token, pending.once.key_hash))
            if before is None:
                continue
            if before.once.said_hash != pending.once.said_hash:
                pending.fail(IdempotencyMismatch("the key was used with another body or path before: take a new one"))
            else:
                applied = await journal.again(connection, before.first, before.last)
                pending.resolve(Carried(applied, before.ends or (before.last,)), replayed=True)

    async def _append(
        self,
        connection: Connection,
        journal: Journal,
        book: Book,
        batch: Sequence[_Pending],
        secrets: Sequence[tuple[int, Secret]],
    ) -> bool:
        accepted = [pending for pending in batch if pending.attempt.applied]
        if not accepted:
            return not batch or await journal.is_head(connection, book.position)
        for pending in accepted:
            ids = tuple(each.recorded.id for each in pending.attempt.applied)
            pending.tried.append((ids, pending.attempt.ends))
        self._unsure = [pending for pending in {*self._unsure, *accepted} if not pending.answer.done()]
        applied = [applied for pending in accepted for applied in pending.attempt.applied]
        receipts = [_kept(pending.once, pending.attempt) for pending in accepted if pending.once is not None]
        begun = time.perf_counter()
        appended = await journal.append(connection, Batch(book.position, book.hash, applied, secrets, receipts))
        if appended:
            self._observer.batch_written(self._slug, len(accepted), len(applied), time.perf_counter() - begun)
        else:
            for pending in accepted:
                pending.tried.pop()
        return appended

    def _confirm(self, fork: Book, batch: Sequence[_Pending]) -> None:
        """It is committed: the Book has it, and the callers are told."""
        fork.merge()
        for pending in batch:
            if pending.refusal is not None:
                pending.fail(pending.refusal)
            else:
                pending.resolve(pending.attempt)

    def _keep_snapshot(self) -> None:
        book, journal = self._book, self._journal
        if book is None or journal is None or book.position - self._snapshot_position < SNAPSHOT_EVERY:
            return
        if self._snapshot is not None and not self._snapshot.done():
            return
        self._snapshot_position = book.position
        saving = self._save_snapshot(journal, book.position, book.hash, snapshot.take(book))
        self._snapshot = asyncio.get_running_loop().create_task(saving)

    async def _save_snapshot(self, journal: Journal, position: int, hash_: bytes, content: bytes) -> None:
        try:
            async with self._database.connection() as connection:
                await journal.save_snapshot(connection, position, hash_, content)
        except Unavailable:
            log.warning("snapshot_not_saved", larp=self._slug, position=position)


class Writers:
    """The writers of all LARPs of this process."""

    def __init__(self, journals: Journals, observer: Observer | None = None) -> None:
        self._observer = observer or Unobserved()
        self._journals = journals
        self._writers: dict[str, LarpWriter] = {}

    @property
    def waiting(self) -> int:
        """Commands that wait for their turn, in all LARPs."""
        return sum(writer.waiting for writer in self._writers.values())

    async def submit(self, larp: str, command: Request, actor: Actor) -> Receipt:
        """Carry a command out in a LARP. Raises a Refused, UnknownLarp among them, or Unavailable."""
        return await self.send(larp, Sent(request=command, actor=actor))

    async def send(self, larp: str, sent: Sent) -> Receipt:
        """The same on conditions: also raises IdempotencyMismatch and StalePosition."""
        return await self.enqueue(larp, sent)

    def enqueue(self, larp: str, sent: Sent) -> asyncio.Future[Receipt]:
        """The same without waiting: many commands in order, from one sender."""
        writer = self._writers.get(larp)
        if writer is None:
            writer = self._writers[larp] = LarpWriter(self._journals, larp, self._observer)
        return writer.enqueue(sent)

    async def found(self, command: purses.FoundLarp, actor: Actor) -> Receipt:
        """Begin a LARP's journal. Raises AlreadyExists."""
        return await self.send_founding(command, Sent(request=command, actor=actor))

    async def send_founding(self, command: purses.FoundLarp, sent: Sent) -> Receipt:
        """The same on conditions; `sent` holds the command."""
        await self._journals.found(command.larp)  # an empty journal, which the first event then makes a LARP
        return await self.send(command.larp, sent)

    async def secret_key(self) -> bytes:
        """The database's own 32 bytes, for keyed hashes."""
        return await self._journals.secret_key()

    async def close(self) -> None:
        for writer in self._writers.values():
            await writer.close()


def _once(secret_key: bytes, sent: Sent) -> Once:
    """Keyed hashes: whoever reads the database can neither guess a body nor use a key."""
    assert sent.key is not None, "only what has a key is asked for"

    def keyed(purpose: bytes, value: bytes) -> bytes:
        return hmac.digest(secret_key, purpose + b"\0" + sent.actor.token.encode() + b"\0" + value, "sha256")

    return Once(sent.actor.token, keyed(b"key", sent.key.encode()), keyed(b"said", sent.said))


def _kept(once: Once, carried: Carried) -> Kept:
    first, last = carried.applied[0].recorded.position, carried.applied[-1].recorded.position
    return Kept(once, first, last, carried.ends if len(carried.ends) > 1 else ())
