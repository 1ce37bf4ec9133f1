"""UmaDB: its server from the wheel, on loopback, and its own client; an event is tagged with its account.

The server is as it comes: it writes what waits together, and answers after two fdatasync of it, of the pages and of
the header (seen with strace). Its pipelined writer, reading by mmap and several clients brought nothing here. The
client is synchronous and leaves the interpreter while it waits: callers are threads. A batch is one call.
"""

from umadb import Client, Event

from tests.bench.contest import payloads
from tests.bench.contest.driving import Config, Outcome, drive_threads, told


def measure(config: Config) -> Outcome:
    bodies = [(payload.body, [f"account:{payload.account}"]) for payload in payloads.read(config.payloads)]
    count, batch = len(bodies), config.batch
    client = Client(config.url)

    def append(number: int) -> None:
        several = (bodies[at % count] for at in range(number * batch, (number + 1) * batch))
        client.append([Event("Transferred", body, tags) for body, tags in several])

    return drive_threads(config, append).outcome()


if __name__ == "__main__":
    told(measure)
