"""The service over HTTP: what a request costs beside a bare handler on the same server.

Everything goes over TCP on loopback, from a process that does nothing else, to `skuggbok serve` on a database of its
own. Its log is quiet (SKUGGBOK_LOG=warning) as the bare server's is; what a line for each request costs is told beside
it. The token is an organiser's, which has no limit to its rate.
"""

from collections.abc import Sequence
from pathlib import Path

from tests.bench.http import bulk, reads, writes
from tests.bench.http.bare import Bare
from tests.bench.http.processes import Server, asking, bare_server, service
from tests.bench.http.world import CHARACTERS, World, folder_of, made
from tests.bench.measured import Line, Told
from tests.bench.options import Options, progress
from tests.bench.place import Place


def run(place: Place, options: Options) -> Told:
    """Writes, then many at once, which makes a journal worth reading, then reads."""
    folder = folder_of(place.folder)
    database = place.database("http")
    with service(database, folder) as ours:
        progress("http: the service answers")
        world = made(ours)
        with bare_server(_settings(database, ours, world), folder) as beside:
            lines = [*writes.measured(place, ours, beside, world, options)]
            lines += bulk.measured(place, ours, world, options)
            lines += reads.measured(place, ours, beside, world, options)
    return Told(lines=[*lines, *_as_it_comes(place, folder, options)])


def _as_it_comes(place: Place, folder: Path, options: Options) -> Sequence[Line]:
    database = place.database("http_as_it_comes")
    with service(database, folder, as_it_comes=True) as ours:
        world = made(ours)
        with bare_server(_settings(database, ours, world), folder) as beside:
            return writes.as_it_comes(place, ours, beside, world, options)


def _settings(database: str, ours: Server, world: World) -> Bare:
    """The bare server's, with the text of an event that the service has recorded."""
    body = {"from": CHARACTERS[0], "to": CHARACTERS[1], "asset": "krona", "amount": 1, "memo": "round 12345"}
    with asking(ours, world.organiser) as client:
        answer = client.post(f"{world.below}/transfers", json=body).raise_for_status()
    event = answer.text.partition('"events":[')[2].removesuffix("]}")
    names = {name: name.title() for name in CHARACTERS}
    return Bare(database=database, larp=1, event=event, position=answer.json()["position"], names=names)
