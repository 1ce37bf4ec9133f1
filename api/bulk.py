"""Many commands at once: NDJSON in, NDJSON out, a line each in order, in memory that does not grow with their number.

Lines are decided in the order in which they come; hundreds of them wait in the writer while the next are read, so
that they are written together. Who sends without reading is not waited for: results are kept until they are read.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Annotated, Any

import msgspec
import structlog
from litestar.types import ASGIApp, Receive, Scope, Send
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from api import conditions, tokens
from api.errors import RequestTimeout, TooLarge, Unauthenticated, UnsupportedMediaType
from api.limits import Allowance
from api.lines import COMMANDS, LINE_BYTES_MAX, Line, read
from api.operations import streams_in
from api.requests import ApiRequest
from api.spool import Spool
from ledger.errors import BatchRefused, Malformed, ProjectionHalted, Refused, Unavailable
from ledger.listener import REVOKED
from ledger.messages import Role
from ledger.pending import Receipt
from ledger.sending import Together

ROLES: tuple[Role, ...] = ("organiser", "banker", "keeper", "player")
MEDIA_TYPE = "application/x-ndjson"
WAITING_MAX = 2_000
"""Lines that wait for their result; no more are read meanwhile."""
ATOMIC_LINES_MAX = 10_000
ATOMIC_BYTES_MAX = 10_000_000
LOOK_EVERY_S = 5.0
"""How often the token of a stream is looked up, beside when a revocation is heard."""
_BUSY_S = 0.01

log = structlog.get_logger()

_encode = msgspec.json.Encoder().encode


class LineResult(Struct, frozen=True, omit_defaults=True):
    """What came of a line: `position` of its last event, or the `code` and `detail` of the refusal."""

    status: int
    position: int | UnsetType = UNSET
    code: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET


LineJson = Annotated[
    Raw,
    Meta(
        extra_json_schema={
            "type": "object",
            "description": "One line: the body of the single request, with the name of the command.",
            "required": ["command"],
            "properties": {
                "command": {"type": "string", "enum": list(COMMANDS)},
                "key": {"type": "string", "minLength": 1, "maxLength": 255},
            },
            "additionalProperties": True,
        }
    ),
]


class BatchQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`atomic`: all lines or none."""

    atomic: bool = False


def refusal(refused: Refused | Unavailable) -> LineResult:
    if isinstance(refused, Unavailable):
        return LineResult(503, code="unavailable", detail=refused.detail)
    return LineResult(refused.status, code=refused.code, detail=refused.detail)


@streams_in(
    "/larps/{larp:str}/commands",
    tag="Batches",
    roles=ROLES,
    query=BatchQuery,
    body=LineJson,
    answer=LineResult,
    media_type=MEDIA_TYPE,
)
async def run_commands(request: ApiRequest) -> ASGIApp:
    """Carry out many commands: one JSON object a line, one result a line, in order.

    A line is the body of the single request with `command` (`transfer`, `action`, ...) and, if it is to be carried
    out once only, `key`; `action` and `void` name their `table`. Each line stands alone. With `atomic=true` all are
    carried out or none; a batch in which the service would roll dice or uncover something is then refused whole.
    """
    if request.content_type[0] not in (MEDIA_TYPE, "application/ndjson", "application/jsonl"):
        raise UnsupportedMediaType(f"the body is {request.content_type[0] or 'untyped'}, it must be {MEDIA_TYPE}")
    if request.query_as(BatchQuery).atomic:
        lines = await _collected(request)
        allowance: Allowance = request.scope["state"]["allowance"]
        allowance.take(len(lines))
        return _answering(await _together(request, lines))
    conditions.require_none(request, "give each line a key of its own, or send an atomic batch")

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        spool = Spool()
        running = asyncio.get_running_loop().create_task(_run(request, receive, spool))
        try:
            await _start(send)
            while chunk := await spool.get():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await running
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            running.cancel()
            spool.close()

    return answer


_Waiting = asyncio.Future[Receipt] | LineResult | None
"""A result, or what will be one; None: that was all."""


async def _run(request: ApiRequest, receive: Receive, spool: Spool) -> None:
    """Read lines and let them wait in the writer, while their results are put into the spool in order."""
    waiting: asyncio.Queue[_Waiting] = asyncio.Queue(WAITING_MAX)
    allowance: Allowance = request.scope["state"]["allowance"]
    telling = asyncio.get_running_loop().create_task(_tell(waiting, spool))
    with ExitStack() as stack:
        stack.callback(spool.end)
        stack.callback(telling.cancel)
        validity = stack.enter_context(_Validity.of(request))
        try:
            async for line in _lines(_chunks(receive)):
                if wait_s := allowance.take_one_more():  # slower, and not refused: a stream has no other speed
                    await asyncio.sleep(wait_s)
                await validity.require()
                await waiting.put(await _enqueued(request, line))
        # A line without end, too slow, or a token that is no longer valid: nothing behind it is read.
        except (Malformed, RequestTimeout, Unauthenticated) as error:
            await waiting.put(refusal(error))
        await waiting.put(None)
        await telling


class _Validity:
    """Whether the token of a stream is still valid: looked up when a revocation is heard, and now and then."""

    def __init__(self, request: ApiRequest) -> None:
        self._request = request
        self._doubted = False
        self._looked = asyncio.get_running_loop().time()

    @classmethod
    @contextmanager
    def of(cls, request: ApiRequest) -> Iterator["_Validity"]:
        validity, listener = cls(request), request.app.state.get("listener")
        with listener.calling(REVOKED, request.auth.token, validity.doubt) if listener else nullcontext():
            yield validity

    def doubt(self) -> None:
        self._doubted = True

    async def require(self) -> None:
        """Raises Unauthenticated."""
        now = asyncio.get_running_loop().time()
        if not self._doubted and now - self._looked < LOOK_EVERY_S:
            return
        self._doubted, self._looked = False, now
        async with self._request.services.database.connection() as connection:
            if not await tokens.is_valid(connection, self._request.auth.token):
                raise Unauthenticated("the token is no longer valid: neither this line nor any behind it was read")


async def _tell(waiting: asyncio.Queue[_Waiting], spool: Spool) -> None:
    while (next_ := await waiting.get()) is not None:
        spool.put(await _told(next_))


async def _enqueued(request: ApiRequest, line: bytes) -> asyncio.Future[Receipt] | LineResult:
    try:
        sent = read(line, request.auth).sent(request.auth)
    except Refused as refused:
        return refusal(refused)
    except Exception as error:  # a fault with one line must not break the stream of all others
        return _fault(error)
    while True:
        try:
            return request.services.writers.enqueue(request.slug_of_larp, sent)
        except Unavailable:  # the queue is full: this sender waits, and reads no further
            await asyncio.sleep(_BUSY_S)


async def _told(waiting: asyncio.Future[Receipt] | LineResult) -> bytes:
    if not isinstance(waiting, LineResult):
        try:
            receipt = await waiting
            waiting = LineResult(200 if receipt.replayed else 201, receipt.ends[-1])
        except (Refused, Unavailable) as refused:
            waiting = refusal(refused)
        except Exception as error:  # the same
            waiting = _fault(error)
    return _encode(waiting) + b"\n"


def _fault(error: Exception) -> LineResult:
    if isinstance(error, ProjectionHalted):
        return LineResult(503, code="unavailable", detail=str(error))
    log.error("line_failed", exc_info=error)
    return LineResult(500, code="internal_error", detail="the service has a fault; its log says which")


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            return
        yield message.get("body", b"")
        if not message.get("more_body"):
            return


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines without their ends, empty ones left out. Raises Malformed for one that is too long."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if len(line) > LINE_BYTES_MAX:
                raise _too_long()
            if line.strip():
                yield line
        if len(rest) > LINE_BYTES_MAX:
            raise _too_long()
    if rest.strip():
        yield rest


def _too_long() -> Malformed:
    return Malformed(f"a line has at most {LINE_BYTES_MAX} bytes; nothing behind this one was read")


# ---- all or none ----


async def _collected(request: ApiRequest) -> list[bytes]:
    """Raises TooLarge."""
    lines, size = list[bytes](), 0
    async for line in _lines(request.stream()):
        size += len(line)
        lines.append(line)
        if len(lines) > ATOMIC_LINES_MAX or size > ATOMIC_BYTES_MAX:
            raise TooLarge(f"an atomic batch has at most {ATOMIC_LINES_MAX} lines and {ATOMIC_BYTES_MAX} bytes")
    return lines


async def _together(request: ApiRequest, lines: list[bytes]) -> list[LineResult]:
    """A result for each line: all were carried out, or one says why not and the others that it was not them."""
    read_lines: list[Line] = []
    for at, line in enumerate(lines):
        try:
            read_lines.append(read(line, request.auth))
            if read_lines[-1].key is not None:
                raise Malformed("in an atomic batch a line has no key of its own: the header has it", pointer="/key")
        except Refused as refused:
            return _none(len(lines), at, refused)
    if not lines:
        return []
    together = Together(tuple(line.request for line in read_lines))
    sent = conditions.sent_with(request, together, b"[" + b",".join(lines) + b"]")
    try:
        receipt = await request.services.writers.send(request.slug_of_larp, sent)
    except BatchRefused as refused:
        return _none(len(lines), refused.at, refused.refusal)
    except (Refused, Unavailable) as refused:
        return [refusal(refused)] * len(lines)
    conditions.mark(request, replayed=receipt.replayed)
    return [LineResult(200 if receipt.replayed else 201, end) for end in receipt.ends]


def _none(count: int, at: int, refused: Refused) -> list[LineResult]:
    others = refusal(BatchRefused(at, refused))
    return [others] * at + [refusal(refused)] + [others] * (count - at - 1)


def _answering(results: list[LineResult]) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await _start(send)
        body = b"".join(_encode(result) + b"\n" for result in results)
        await send({"type": "http.response.body", "body": body, "more_body": False})

    return answer


async def _start(send: Send) -> None:
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


ROUTES = (run_commands,)
