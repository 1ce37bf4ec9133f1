"""Exports: the journal, and the statement of a purse, as files that other programs read."""

import asyncio
from collections.abc import AsyncIterator

from litestar import Response
from litestar.response import Stream

from api.access import path_names_own_character
from api.conditions import position_tag
from api.operations import reads
from api.requests import ApiRequest
from ledger.errors import SkuggbokError, UnknownCharacter
from ledger.messages import Role
from projections import exports, queries
from projections.exports import Csv, Format, Ndjson, beancount, hledger

NDJSON, CSV, TEXT = "application/x-ndjson", "text/csv", "text/plain"
_READERS: tuple[Role, ...] = ("organiser", "tool")


class Interrupted(SkuggbokError):
    """The service stops before an export is whole. The connection breaks, so that nobody takes the part for it."""


@reads("/larps/{larp:str}/exports/journal.ndjson", tag="Journal", roles=_READERS, answer=str, media_type=NDJSON)
async def export_journal(request: ApiRequest) -> Response[bytes] | Stream:
    """Export the journal, complete.

    The first line says whose it is and where it ends; then one event a line, as it was recorded and hashed. Anybody
    can check it with `deploy/verify_journal.py`, and `skuggbok import` makes a LARP of it again. Values that no rule
    uncovered are not in it.
    """
    return await _journal(request, Ndjson(), "journal.ndjson", NDJSON)


@reads("/larps/{larp:str}/exports/journal.csv", tag="Journal", roles=_READERS, answer=str, media_type=CSV)
async def export_journal_csv(request: ApiRequest) -> Response[bytes] | Stream:
    """Export the journal for spreadsheets: one line a posting.

    Text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    return await _journal(request, Csv(), "journal.csv", CSV)


@reads("/larps/{larp:str}/exports/hledger", tag="Journal", roles=_READERS, answer=str, media_type=TEXT)
async def export_hledger(request: ApiRequest) -> Response[bytes] | Stream:
    """Export what moves something for hledger: accounts with `:` for `/`, assets and notes in quotation marks."""
    return await _journal(request, hledger(), "hledger.journal", TEXT)


@reads("/larps/{larp:str}/exports/beancount", tag="Journal", roles=_READERS, answer=str, media_type=TEXT)
async def export_beancount(request: ApiRequest) -> Response[bytes] | Stream:
    """Export what moves something for beancount.

    `purse/alva` is Assets:Purse:Alva, `iou/alva/krona` is IOU.ALVA.KRONA; our names stand there as metadata.
    """
    return await _journal(request, beancount(), "ledger.beancount", TEXT)


@reads(
    "/larps/{larp:str}/purses/{character:str}/statement.csv",
    tag="Purses",
    roles=("organiser", "banker", "player", "tool"),
    restricted={"player": path_names_own_character()},
    answer=str,
    refuses=(UnknownCharacter,),
    media_type=CSV,
)
async def export_statement(request: ApiRequest) -> Response[bytes] | Stream:
    """Export each movement of a purse for spreadsheets, the newest first. A player's token exports its own."""
    character = request.slug("character", UnknownCharacter)
    parts = exports.statement(request.services.database, request.slug_of_larp, character)
    return await _streamed(request, parts, f"{character}-statement.csv", CSV)


async def _journal(request: ApiRequest, format_: Format, file: str, media_type: str) -> Response[bytes] | Stream:
    parts = exports.journal(request.services.database, request.slug_of_larp, format_)
    return await _streamed(request, parts, file, media_type)


async def _streamed(
    request: ApiRequest, parts: AsyncIterator[bytes], file: str, media_type: str
) -> Response[bytes] | Stream:
    """What can be refused is refused before the answer begins: the first part is there by then."""
    async with request.services.database.connection() as connection:
        position = await queries.head(connection, request.slug_of_larp)
    first = await anext(parts)
    headers = {"content-disposition": f'attachment; filename="{request.slug_of_larp}-{file}"', **position_tag(position)}
    if request.method == "HEAD":
        return Response(b"", media_type=media_type, headers=headers)
    return Stream(_until_stopped(first, parts, request.app.state.stopping), media_type=media_type, headers=headers)


async def _until_stopped(first: bytes, parts: AsyncIterator[bytes], stopping: asyncio.Event) -> AsyncIterator[bytes]:
    yield first
    async for part in parts:
        if stopping.is_set():
            raise Interrupted("the service stops")
        yield part


ROUTES = (export_journal, export_journal_csv, export_hledger, export_beancount, export_statement)
