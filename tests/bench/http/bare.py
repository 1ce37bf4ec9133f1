"""What HTTP costs by itself: Litestar on the same server as ours, with handlers that do nothing but the needful.

usage: python -P bare.py < SETTINGS        (JSON: `Bare`; prints its port, then serves until SIGTERM)

A write decodes the same body into the same command and answers the bytes of a receipt that the service has given, from
the same Structs, without a database. A read runs the one query that it is about, in the same sessions from the same
kind of pool, and answers the same JSON. There are no tokens, conditions, limits, logs or measures, and nobody looks
whether a LARP exists. Litestar is set up as ours is, and uvicorn is the same, with our protocol.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import uvicorn
import uvloop
from litestar import Litestar, get, post
from litestar.datastructures import State
from msgspec import Raw, Struct
from psycopg.rows import class_row
from psycopg_pool import AsyncConnectionPool

from api.protocol import KEEP_ALIVE_S, Protocol
from api.serving import BACKLOG
from ledger import money
from ledger.database import CONNECTIONS_MAX, CONNECTIONS_MIN, Connection
from ledger.migrations import SERVICE_ROLE
from ledger.purses import Transfer
from projections.as_of import SQL as AS_OF
from projections.marks import LATE_AFTER
from projections.queries import POSITION_MAX, Purse, StatementRow, purse_row
from projections.queries import SQL as QUERIES

BASE = "/api/v1/larps/{larp:str}"
PAGE = 100


class Bare(Struct, frozen=True, kw_only=True):
    """What it answers from. `event`: the text of one event of a receipt. `names`: of the characters."""

    database: str
    larp: int
    event: str
    position: int
    names: Mapping[str, str]


class Receipt(Struct, frozen=True):
    position: int
    events: tuple[Raw, ...]


class Items(Struct, frozen=True):
    items: Sequence[StatementRow]


@post(f"{BASE}/transfers", status_code=201)
async def transfer(data: Transfer, state: State) -> Receipt:
    """Decode the command and answer a receipt."""
    return Receipt(state.bare.position, (state.event,))


@get(f"{BASE}/purses/{{character:str}}")
async def purse(character: str, state: State) -> Purse:
    """The balances of now."""
    values = {"larp": state.bare.larp, "after": "", "only": character, "limit": 1}
    async with state.pool.connection() as connection:
        cursor = await connection.execute(QUERIES["purses"], values)
        (row,) = await cursor.fetchall()
    return purse_row(*row)


@get(f"{BASE}/purses/{{character:str}}/then")
async def purse_then(character: str, state: State, at_position: int) -> Purse:
    """The balances as of a position."""
    values = {"larp": state.bare.larp, "after": "", "only": character, "limit": 1, "position": at_position}
    async with state.pool.connection() as connection:
        cursor = await connection.execute(AS_OF["purses"], values)
        ((*_, held, owes),) = await cursor.fetchall()
    return purse_row(character, state.bare.names[character], at_position, held, owes)


@get(f"{BASE}/purses/{{character:str}}/statement")
async def statement(character: str, state: State) -> Items:
    """The newest page of a statement."""
    values = {
        "larp": state.bare.larp,
        "accounts": [money.purse(character), money.debtor(character)],
        "position": POSITION_MAX,
        "line": 0,
        "until": POSITION_MAX,
        "late": LATE_AFTER,
        "limit": PAGE + 1,
    }
    async with state.pool.connection() as connection, connection.cursor(row_factory=class_row(StatementRow)) as cursor:
        await cursor.execute(QUERIES["statement"], values)
        rows = await cursor.fetchall()
    return Items(rows[:PAGE])


async def _configure(connection: Connection) -> None:
    """As `ledger.database` does."""
    await connection.execute("SET TIME ZONE 'UTC'")
    await connection.execute(f"SET ROLE {SERVICE_ROLE}")


@asynccontextmanager
async def _pooled(app: Litestar) -> AsyncIterator[None]:
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        app.state.bare.database,
        min_size=CONNECTIONS_MIN,
        max_size=CONNECTIONS_MAX,
        open=False,
        configure=_configure,
        kwargs={"autocommit": True, "prepare_threshold": 0, "application_name": "bare"},
    )
    async with pool:
        app.state.pool = pool
        yield


def _app(bare: Bare) -> Litestar:
    return Litestar(
        [transfer, purse, purse_then, statement],
        lifespan=[_pooled],
        state=State({"bare": bare, "event": Raw(bare.event.encode())}),
        openapi_config=None,
        logging_config=None,
        debug=False,
    )


async def _serve(bare: Bare) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            _app(bare),
            http=Protocol,
            ws="none",
            timeout_keep_alive=KEEP_ALIVE_S,
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            backlog=BACKLOG,
        )
        print(listening.getsockname()[1], flush=True)
        await uvicorn.Server(config).serve(sockets=[listening])


def main() -> None:
    bare = msgspec.json.decode(sys.stdin.buffer.read(), type=Bare)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(bare))


if __name__ == "__main__":
    main()
