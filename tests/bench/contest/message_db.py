"""message-db: its function `write_message`, as its documentation has it, by psycopg's async connections.

Streams are `account-NAME`, without an expected version. The function takes a lock on the category, `account`, so
appends wait for each other's commits, and more than a few connections bring nothing; that is what its order is made
of. A batch is a transaction of so many calls in one round trip: there is no function that writes several.
"""

from collections.abc import Sequence
from pathlib import Path

import psycopg
import uuid_utils.compat as uuid
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo

from tests.bench.contest import payloads
from tests.bench.contest.driving import Config, Outcome, Turns, drive, told_async
from tests.bench.contest.payloads import Payload

CONNECTIONS = 4
WRITE = "SELECT message_store.write_message(%s::varchar, %s::varchar, 'Transferred'::varchar, %s::jsonb)"
FILES = (
    "schema/message-store",
    "tables/messages",
    "types/message",
    "functions/message-store-version",
    "functions/hash-64",
    "functions/acquire-lock",
    "functions/category",
    "functions/is-category",
    "functions/id",
    "functions/cardinal-id",
    "functions/stream-version",
    "functions/write-message",
    "indexes/messages-id",
    "indexes/messages-stream",
    "indexes/messages-category",
)
"""In the order of its install.sh. Left out: what only reads, privileges, and pgcrypto, of which it uses nothing that
PostgreSQL itself has not had since version 13."""
SEARCH_PATH = "-c search_path=message_store,public"


def install(url: str, package: Path) -> None:
    with psycopg.connect(make_conninfo(url, options=SEARCH_PATH), autocommit=True) as connection:
        for name in FILES:
            connection.execute((package / "database" / f"{name}.sql").read_bytes())


async def measure(config: Config) -> Outcome:
    rows = payloads.read(config.payloads)
    opened = [
        await AsyncConnection.connect(
            make_conninfo(config.url, options=SEARCH_PATH), autocommit=True, prepare_threshold=0
        )
        for _ in range(min(CONNECTIONS, config.callers))
    ]
    connections = Turns(opened)

    async def one(number: int) -> None:
        async with connections.one() as connection:
            await connection.execute(WRITE, _arguments(rows[number % len(rows)]))

    async def several(number: int) -> None:
        first = number * config.batch % len(rows)
        async with connections.one() as connection, connection.transaction(), connection.cursor() as cursor:
            await cursor.executemany(WRITE, [_arguments(row) for row in rows[first : first + config.batch]])

    clock = await drive(config, one if config.batch == 1 else several)
    for connection in opened:
        await connection.close()
    return clock.outcome()


def _arguments(payload: Payload) -> Sequence[str]:
    """An id of its own, as each message must have; the stream; the body."""
    return str(uuid.uuid7()), f"account-{payload.account}", payload.body.decode()


if __name__ == "__main__":
    told_async(measure)
