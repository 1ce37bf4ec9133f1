"""eventsourcing: one of its recorders on PostgreSQL, called directly, with nothing of an application above it.

`application`: what its applications use. It keeps one order of all events, which projections follow, and for that
takes a lock on the table: appends wait for each other's commits, so more than a few connections bring nothing. It is
called as a function of the database, the faster of the two ways that it offers.

`aggregate`: the same without an order of all events and without the lock. Nothing can follow such a journal, so it is
told beside the peers and is none of them.

Its client is synchronous: callers are threads, which take a pool's connections. It must be told the next version of
a stream, so callers keep count, and none takes an account that another is at. A batch is one call.
"""

import queue
import sys
import uuid
from functools import partial

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresAggregateRecorder, PostgresApplicationRecorder, PostgresDatastore
from psycopg.conninfo import conninfo_to_dict

from tests.bench.contest import payloads
from tests.bench.contest.driving import Config, Outcome, drive_threads, told

APPLICATION, AGGREGATE = "application", "aggregate"
CONNECTIONS = {APPLICATION: 4, AGGREGATE: 16}
PATIENCE_S = 60.0


class Stream:
    """An account's events so far."""

    def __init__(self) -> None:
        self.id = uuid.uuid4()
        self.version = 0

    def next(self, body: bytes) -> StoredEvent:
        self.version += 1
        return StoredEvent(self.id, self.version, "ledger:Transferred", body)


def measure(kind: str, config: Config) -> Outcome:
    bodies = [payload.body for payload in payloads.read(config.payloads)]
    count, batch = len(bodies), config.batch
    free = queue.SimpleQueue[Stream]()
    for _ in payloads.ACCOUNTS:
        free.put(Stream())
    with _datastore(config, CONNECTIONS[kind]) as datastore:
        recorder = (PostgresApplicationRecorder if kind == APPLICATION else PostgresAggregateRecorder)(datastore)
        recorder.create_table()

        def append(number: int) -> None:
            taken = [free.get() for _ in range(batch)]
            first = number * batch
            recorder.insert_events([stream.next(bodies[(first + at) % count]) for at, stream in enumerate(taken)])
            for stream in taken:
                free.put(stream)

        return drive_threads(config, append).outcome()


def _datastore(config: Config, connections: int) -> PostgresDatastore:
    given = {name: str(value) for name, value in conninfo_to_dict(config.url).items()}
    return PostgresDatastore(
        dbname=given["dbname"],
        host=given["host"],
        port=given["port"],
        user=given["user"],
        password=given["password"],
        connect_timeout=PATIENCE_S,  # also how long a thread waits for one of the pool
        pool_size=min(connections, config.callers),
        enable_db_functions=True,
    )


if __name__ == "__main__":
    told(partial(measure, sys.argv[1]))
