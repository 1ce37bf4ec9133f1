"""Group commit: whatever waits is decided on a fork of the Book and written in one statement, one commit.

One writer per LARP and process. While one batch is on its way the next gathers and is decided already, on the state
that the first will leave; should it fail, the next is decided anew. A command alone goes at once.
Nobody is told yes before the commit, and nobody is told no on grounds that another process has changed since:
a refusal stands only if the journal's head is still the one it was decided on.
"""

import asyncio
import time
from collections import deque
from collections.abc import Sequence

import psycopg
import structlog

from ledger import purses, snapshot
from ledger.book import Book, Request
from ledger.database import Connection
from ledger.errors import IdempotencyMismatch, ProjectionHalted, Refused, Unavailable
from ledger.journal import Batch, Journal, Journals, KeyUsed, may_be_recorded
from ledger.messages import Actor
from ledger.observing import Observer, Unobserved
from ledger.pending import Pending, Receipt, not_tried
from ledger.sending import Carried, Sent
from ledger.turn import Turn

log = structlog.get_logger()

QUEUE_MAX = 10_000
"""Commands that may wait for one LARP; past it the next is told 503."""
BATCH_MAX = 1_000
"""Commands that are decided and written together."""
MANY = 32
"""Commands from which on two turns that overlap take less time than one."""
YIELD_EVERY = 50
"""Commands after which others of this process get their turn: probes, reads, other LARPs."""
PATIENCE_S = 10.0
"""How long a command waits for a database that is away."""
RETRY_S = 0.1
SNAPSHOT_EVERY = 2_000
"""Events after which a Book is kept, so that a start folds no more than about so many."""


class LarpWriter:
    """All commands of one LARP in this process."""

    def __init__(self, journals: Journals, slug: str, observer: Observer) -> None:
        self._observer = observer
        self._database = journals.database
        self._journals = journals
        self._slug = slug
        self._journal: Journal | None = None
        self._book: Book | None = None
        self._waiting: deque[Pending] = deque()
        self._running: asyncio.Task[None] | None = None
        self._snapshot: asyncio.Task[None] | None = None
        self._snapshot_position = 0
        self._secret_key = b""
        self._ahead: Turn | None = None
        """What was decided while the turn before it was being written."""
        self._arrival: asyncio.Future[None] | None = None
        """Is done when something happens that a writer with nothing to decide waits for."""
        self._unsure: list[Pending] = []
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
        pending = Pending(sent)
        self._waiting.append(pending)
        self._wake()
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._drain())
        return pending.answer

    def _wake(self, _: object = None) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    async def close(self) -> None:
        """Finish what waits."""
        for task in (self._running, self._snapshot):
            if task is not None:
                await asyncio.gather(task, return_exceptions=True)

    async def _drain(self) -> None:
        while self._waiting or self._ahead is not None:
            await self._carry_out(self._take(set()) if self._ahead is None else self._ahead.batch)
            self._keep_snapshot()

    def _take(self, keys: set[tuple[str, str]]) -> list[Pending]:
        """What waits, in order; of many the first half, so that the other can be decided while that is written.

        A key that is in the batch already waits on: it will be found where it went.
        """
        waiting = len(self._waiting)
        most = min(BATCH_MAX, waiting if waiting < MANY else waiting // 2)
        batch, later = list[Pending](), list[Pending]()
        while self._waiting and len(batch) < most:
            pending = self._waiting.popleft()
            if pending.key is not None and pending.key in keys:
                later.append(pending)
                continue
            if pending.key is not None:
                keys.add(pending.key)
            batch.append(pending)
        self._waiting.extendleft(reversed(later))
        return batch

    async def _carry_out(self, batch: Sequence[Pending]) -> None:
        """Answer every command of the batch, whatever happens."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while batch:
            try:
                await self._write(batch)
                assert all(pending.answer.done() for pending in batch), "whoever waits is answered"
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

    async def _carry_out_singly(self, batch: Sequence[Pending], error: Exception) -> None:
        """One command of the batch is at fault; the others need not suffer."""
        log.error("batch_failed", larp=self._slug, commands=len(batch), exc_info=error)
        if len(batch) == 1:
            self._book = None
            batch[0].fail(error)
            return
        for pending in batch:
            if not pending.answer.done():
                await self._carry_out([pending])

    def _give_up(self, batch: Sequence[Pending], error: Unavailable) -> None:
        for pending in batch:
            known = "whether it was recorded is not known" if pending.tried else "nothing was recorded"
            pending.fail(Unavailable(f"{error.detail}; {known}", error.retry_after_s))

    async def _write(self, batch: Sequence[Pending]) -> None:
        """Answer every command of the batch, or raise. Raises Unavailable when the connection breaks."""
        if self._ahead is not None and self._ahead.batch is not batch:  # it is not its turn yet
            self._drop_ahead()
        ahead, self._ahead = self._ahead, None
        if self._journal is None:
            try:
                self._journal = await self._journals.open(self._slug)
            except Refused as refused:
                for pending in batch:
                    pending.fail(refused)
                return
        journal, self._secret_key = self._journal, await self._journals.secret_key()
        async with self._database.connection() as connection:
            if self._book is None:
                for pending in self._unsure:  # the Book went with a fault: what was sent cannot be recognised any more
                    if pending.tried:
                        pending.fail(Unavailable("whether it was recorded is not known: look before you send it again"))
                begun = time.perf_counter()
                self._book = await journal.load(connection)
                self._observer.book_loaded(self._slug, time.perf_counter() - begun)
                self._snapshot_position = journal.kept_at  # a long tail is worth keeping at once
            elif any(pending.tried for pending in batch):  # a connection broke: what became of it?
                await self._catch_up(connection, journal, self._book)
            book = self._book
            try:
                if ahead is None or not ahead.follows(book):
                    ahead = await self._decided(connection, journal, book, batch)
                await self._answer_known(connection, journal, ahead.refused)
                if await self._append_looking_ahead(connection, journal, book, ahead):
                    return
                self._observer.race_lost(self._slug)
            except KeyUsed:
                log.debug("key_used", larp=self._slug)
            # Somebody else appended first, or a key was used before. Take the turn for certain, or a busy neighbour
            # could starve us, and look all keys up.
            async with journal.locked(connection):
                await self._catch_up(connection, journal, book)
                await self._answer_known(connection, journal, batch)
                turn = await self._decided(connection, journal, book, batch)
                appended = await self._append(connection, journal, book, turn)
                assert appended, "nobody appends while the head is locked"
            self._confirm(turn)

    async def _catch_up(self, connection: Connection, journal: Journal, book: Book) -> None:
        """Learn what others recorded, and what we recorded without hearing of it: whoever sent it, it is seen once."""
        fork = book.fork()  # if the connection breaks half-way, the Book is as it was
        by_id = {applied.recorded.id: applied async for applied in journal.catch_up(connection, fork)}
        fork.merge()
        for pending in self._unsure:
            for tried in pending.tried:
                if tried.applied[0].recorded.id in by_id:
                    recorded = tuple(by_id[applied.recorded.id] for applied in tried.applied)
                    pending.resolve(Carried(recorded, tried.ends))

    async def _decided(self, connection: Connection, journal: Journal, book: Book, batch: Sequence[Pending]) -> Turn:
        """The commands of the batch that are not answered yet, decided."""
        open_ = [pending for pending in batch if not pending.answer.done()]
        asked = [position for pending in open_ for position in pending.reversals]
        turn = Turn(book, await journal.events_at(connection, asked) if asked else {})
        for begin in range(0, len(open_), YIELD_EVERY):
            if begin:
                await asyncio.sleep(0)
            turn.decide(open_[begin : begin + YIELD_EVERY], self._secret_key)
        return turn

    async def _answer_known(self, connection: Connection, journal: Journal, batch: Sequence[Pending]) -> None:
        """Answer those whose key was used before with what came of it then. Nobody but us can use it meanwhile:
        a receipt is written with a move of the head, which would make our append fail."""
        open_ = [pending for pending in batch if not pending.answer.done()]
        keyed = {once: pending for pending in open_ if (once := pending.hashed_key(self._secret_key)) is not None}
        if not keyed:
            return
        known = await journal.receipts(connection, list(keyed))
        for once, pending in keyed.items():
            before = known.get((once.token, once.key_hash))
            if before is None:
                continue
            if before.once.said_hash != once.said_hash:
                pending.fail(IdempotencyMismatch("the key was used with another body or path before: take a new one"))
            else:
                applied = await journal.again(connection, before.first, before.last)
                pending.resolve(Carried(applied, before.ends or (before.last,)), replayed=True)

    async def _append_looking_ahead(self, connection: Connection, journal: Journal, book: Book, turn: Turn) -> bool:
        """Write a turn, and decide meanwhile what waits as if it were written. False: the head has moved on, and
        nothing was written or answered. Raises KeyUsed: likewise."""
        writing = asyncio.get_running_loop().create_task(self._append(connection, journal, book, turn))
        appended = False
        try:
            await self._look_ahead(turn, writing)
            appended = await writing
        except BaseException:
            await asyncio.wait([writing])  # the connection is not given back before
            raise
        finally:
            if not appended:
                self._drop_ahead()
        if appended:
            self._confirm(turn)
            if self._ahead is not None:
                self._ahead.fork.lie_on(book)
                if len(self._ahead.batch) < YIELD_EVERY:  # a turn of a few takes nearly as long as one of many
                    self._decide_ahead(self._ahead)
        return appended

    async def _look_ahead(self, before: Turn, writing: asyncio.Task[bool]) -> None:
        """Decide what waits and what comes in, for as long as the turn before is being written."""
        turn = self._ahead = Turn(before.fork)
        turn.keys = {pending.key for pending in before.batch if pending.key is not None}
        writing.add_done_callback(self._wake)
        while not writing.done() and self._ahead is turn and len(turn.batch) < BATCH_MAX:
            if self._decide_ahead(turn):
                await asyncio.sleep(0)
            else:
                self._arrival = asyncio.get_running_loop().create_future()
                await self._arrival
        if not turn.batch:
            self._ahead = None

    def _decide_ahead(self, turn: Turn) -> bool:
        """Decide some of what waits, up to the first that cannot be decided before the turn before is written.

        False: there is no such command.
        """
        batch, taken = list[Pending](), set[tuple[str, str]]()
        while self._waiting and len(batch) < YIELD_EVERY:
            pending = self._waiting[0]
            if pending.reversals or pending.key in turn.keys or pending.key in taken:
                break
            if pending.key is not None:
                taken.add(pending.key)
            batch.append(self._waiting.popleft())
        try:
            turn.decide(batch, self._secret_key)
        except Exception:  # it will be met again in its own turn, where it can be told
            self._drop_ahead()
        return bool(batch)

    def _drop_ahead(self) -> None:
        """What was decided ahead waits again: it was decided on what is not so."""
        if self._ahead is not None:
            self._waiting.extendleft(reversed(self._ahead.batch))
            self._ahead = None

    async def _append(self, connection: Connection, journal: Journal, book: Book, turn: Turn) -> bool:
        """False: the head has moved on, and nothing was written. Raises KeyUsed: likewise."""
        accepted = turn.accepted
        if not accepted:
            return not turn.batch or await journal.is_head(connection, book.position)
        for pending in accepted:
            pending.tried.append(pending.attempt)
        unsure = [pending for pending in self._unsure if not pending.answer.done()]
        self._unsure = list({*unsure, *accepted}) if unsure else accepted
        applied, receipts = turn.applied, [kept for pending in accepted if (kept := pending.kept()) is not None]
        batch = Batch(book.position, book.hash, applied, turn.secrets, receipts)
        begun, appended = time.perf_counter(), False
        try:
            appended = await journal.append(connection, batch)
        except (KeyUsed, ProjectionHalted, psycopg.Error) as error:
            if not may_be_recorded(error):
                not_tried(accepted)
            raise
        if appended:
            self._observer.batch_written(self._slug, len(accepted), len(applied), time.perf_counter() - begun)
        else:
            not_tried(accepted)
        return appended

    def _confirm(self, turn: Turn) -> None:
        """It is committed: the Book has it, and the callers are told."""
        turn.fork.merge()
        for pending in turn.batch:
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
        return await self.enqueue(larp, Sent(request=command, actor=actor))

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
