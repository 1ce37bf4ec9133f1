"""Checkpoints and proofs: what anybody in a LARP can keep, to check later that nothing was changed."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Annotated, cast

import structlog
from litestar import Litestar
from msgspec import UNSET, Meta, Struct, UnsetType

from api.access import INSIDE
from api.answers import given
from api.operations import reads
from api.requests import ApiRequest, Services
from ledger.errors import Damaged, Unavailable, UnknownPosition
from ledger.signing import SigningKeyError
from projections import queries
from projections.checkpoints import Contradicted
from projections.queries import POSITION_MAX, LarpRow

KEEP_EVERY_S = 300.0
"""How often a running service signs and keeps the head of every LARP that has moved."""
_LARPS_MAX = 1_000_000
_POSITION_DIGITS_MAX = len(str(POSITION_MAX))

log = structlog.get_logger()

Base64 = Annotated[str, Meta(description="base64 of 32 bytes")]
Note = Annotated[str, Meta(description="a signed note, https://c2sp.org/tlog-checkpoint")]
VerifierKey = Annotated[str, Meta(description="NAME+KEYID+KEY, https://c2sp.org/signed-note")]


class CheckpointAnswer(Struct, frozen=True):
    """The head of the journal, signed. `note` is what to keep; the rest repeats what it says, for programs.

    `root`: of the Merkle tree (RFC 6962) over the hashes of all events up to `position`, in their order.
    """

    position: int
    hash: str
    root: Base64
    note: Note
    verifier_key: VerifierKey


class Consistency(Struct, frozen=True, rename={"from_": "from"}):
    """That the checkpoint only appended to the first `from` events, whose root is `root`."""

    from_: int
    root: Base64
    hashes: tuple[Base64, ...]


class ProofAnswer(Struct, frozen=True):
    """That the event with this hash stands at this position of the journal of which `checkpoint` was signed.

    `inclusion`: from the leaf's sibling up. The leaf is SHA-256 over a zero byte and the event's hash of 32 bytes.
    """

    position: int
    hash: str
    inclusion: tuple[Base64, ...]
    consistency: Consistency | None
    checkpoint: Note
    verifier_key: VerifierKey


class ProofQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"from_": "from"}):
    """`from`: how many events an earlier checkpoint was over, to be proved that this one only appended to it."""

    from_: Annotated[int, Meta(ge=1, le=POSITION_MAX)] | UnsetType = UNSET


@reads("/larps/{larp:str}/checkpoint", tag="Journal", roles=INSIDE, refuses=(Contradicted,))
async def get_checkpoint(request: ApiRequest) -> CheckpointAnswer:
    """Read a signed checkpoint of the journal.

    Keep its `note`: whoever has it can check later that every event up to there is still what it was, with the
    proofs of events or with a whole `journal.ndjson`. It tells nothing of what the events say.
    """
    async with request.services.database.connection() as connection:
        issued = await request.services.notary.issue(connection, request.slug_of_larp)
    checkpoint = issued.checkpoint
    return CheckpointAnswer(
        position=checkpoint.size,
        hash=checkpoint.head.hex(),
        root=_text(checkpoint.root),
        note=issued.note,
        verifier_key=str(issued.verifier),
    )


@reads(
    "/larps/{larp:str}/events/{position:str}/proof",
    tag="Journal",
    roles=INSIDE,
    query=ProofQuery,
    refuses=(UnknownPosition, Contradicted),
)
async def prove_event(request: ApiRequest) -> ProofAnswer:
    """Prove that an event is in the journal, and that the journal was only appended to.

    A few hundred bytes, to be checked against a checkpoint; the event's own hash stands on every receipt.
    """
    position = str(request.path_params["position"])
    old = given(request.query_as(ProofQuery).from_)
    if not (position.isascii() and position.isdecimal() and len(position) <= _POSITION_DIGITS_MAX):
        raise UnknownPosition("positions are whole numbers from 1 on")
    async with request.services.database.connection() as connection:
        proof = await request.services.notary.prove(connection, request.slug_of_larp, int(position), old)
    consistency = None
    if proof.old is not None and proof.old_root is not None:
        consistency = Consistency(proof.old, _text(proof.old_root), _texts(proof.consistency))
    return ProofAnswer(
        position=proof.position,
        hash=proof.hash.hex(),
        inclusion=_texts(proof.inclusion),
        consistency=consistency,
        checkpoint=proof.issued.note,
        verifier_key=str(proof.issued.verifier),
    )


def _text(hash_: bytes) -> str:
    return base64.b64encode(hash_).decode()


def _texts(hashes: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(map(_text, hashes))


ROUTES = (get_checkpoint, prove_event)


# ---- while the service runs ----


@asynccontextmanager
async def keeping(app: Litestar) -> AsyncIterator[None]:
    """Compare every journal with what was signed, when the service starts; then sign now and then, and at the end.

    A journal that contradicts a checkpoint is served all the same: people play, and the log says what is wrong.
    """
    services = cast(Services, app.state.services)
    await _each(services, _compared)
    task = asyncio.get_running_loop().create_task(_now_and_then(services))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await _each(services, _signed)


async def _now_and_then(services: Services) -> None:
    while True:
        await asyncio.sleep(KEEP_EVERY_S)
        await _each(services, _signed)


async def _compared(services: Services, larp: LarpRow) -> None:
    async with services.database.connection() as connection:
        for finding in await services.notary.compare(connection, larp.larp):
            log.error("checkpoint_contradicted", larp=larp.larp, position=finding.position, detail=finding.detail)


async def _signed(services: Services, larp: LarpRow) -> None:
    """Most LARPs of a season have not moved, and cost a look into a file."""
    async with services.database.connection() as connection:
        newest = (await services.notary.kept(connection, larp.larp)).newest()
        if newest is None or newest.size != larp.position:
            await services.notary.issue(connection, larp.larp)


async def _each(services: Services, work: Callable[[Services, LarpRow], Awaitable[None]]) -> None:
    """Do something for every LARP; what goes wrong with one is told and does not keep the others from it."""
    try:
        async with services.database.connection() as connection:
            larps = await queries.larps(connection, None, None, _LARPS_MAX)
        for larp in larps:
            try:
                await work(services, larp)
            except (Contradicted, Damaged, SigningKeyError) as error:
                log.error("checkpoint_not_kept", larp=larp.larp, why=str(error))
    except Unavailable as error:
        log.warning("checkpoints_not_kept", why=error.detail)
