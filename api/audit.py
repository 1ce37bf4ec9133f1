"""The audit: every invariant of a LARP, checked while whoever asked waits."""

import asyncio

from api.operations import reads
from api.requests import ApiRequest
from ledger.errors import Unavailable
from projections.audit import Audit
from projections.checkpoint_audit import audit_all

RETRY_AFTER_S = 10

# One at a time in each process: an audit reads a whole journal, and must leave writers their turn and connections.
_turn = asyncio.Semaphore(1)


@reads("/larps/{larp:str}/audit", tag="Journal", roles=("organiser",))
async def get_audit(request: ApiRequest) -> Audit:
    """Check every invariant, now.

    The hash chain, the sums of each asset, no account below zero, closed tables empty, lids complete; every projection
    derived again and compared; what was uncovered against its commitment, what is hidden against the journal,
    receipts against their events, and the journal against every checkpoint that was signed. `ok` says whether all is
    as it must be; what is not is named with its position, the first hundred of each check. It holds as of `position`;
    nobody who writes waits for it. One audit runs at a time: another is answered with 503.
    """
    if _turn.locked():
        raise Unavailable("another audit is running: ask again when it is over", RETRY_AFTER_S)
    async with _turn, request.services.database.connection() as connection:
        return await audit_all(connection, request.slug_of_larp, request.services.notary)


ROUTES = (get_audit,)
