"""The limit: one row and one commit for each command, in a table that has nothing but a number and the body.

By psycopg's async connections in autocommit, prepared, as Skuggbok's own are: one for each caller, up to
CONNECTIONS, which callers take in turn. A batch is one statement with an array of bodies.
"""

from psycopg import AsyncConnection

from tests.bench.contest import payloads
from tests.bench.contest.driving import Config, Outcome, Turns, drive, told_async

CONNECTIONS = 16
SCHEMA = "CREATE TABLE event (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL)"
INSERT = "INSERT INTO event (body) VALUES (%b)"
INSERT_SEVERAL = "INSERT INTO event (body) SELECT unnest(%b::bytea[])"


async def measure(config: Config) -> Outcome:
    bodies = [payload.body for payload in payloads.read(config.payloads)]
    count, batch = len(bodies), config.batch
    batches = [bodies[at : at + batch] for at in range(0, count, batch)]
    opened = [
        await AsyncConnection.connect(config.url, autocommit=True, prepare_threshold=0)
        for _ in range(min(CONNECTIONS, config.callers))
    ]
    connections = Turns(opened)

    async def append(number: int) -> None:
        async with connections.one() as connection:
            if batch == 1:
                await connection.execute(INSERT, (bodies[number % count],))
            else:
                await connection.execute(INSERT_SEVERAL, (batches[number % len(batches)],))

    clock = await drive(config, append)
    for connection in opened:
        await connection.close()
    return clock.outcome()


if __name__ == "__main__":
    told_async(measure)
