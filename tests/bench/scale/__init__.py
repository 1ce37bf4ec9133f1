"""What a long journal costs: moved as a whole, kept, read, and written to."""

from tests.bench.measured import Line, Told
from tests.bench.options import Options, progress
from tests.bench.place import Place
from tests.bench.scale import chains, commands, growth, journal, larps, reading, size, starting
from tests.bench.scale.larps import Larp
from tests.bench.scale.whole import Whole


def run(place: Place, options: Options) -> Told:
    lines = list[Line]()
    whole = Whole(place, options)
    empty, small = (_imported(place, events) for events in (journal.SMALLEST, larps.SMALL))
    long = list[Larp]()
    for events in larps.sizes(options):
        long.append(larps.make(place, events))
        whole.measure(long[-1])
    sizes, middle = [size.ours(larp) for larp in long], long[0]
    their_size = size.like_pgledger(middle)
    lines += [line for our in sizes for line in size.lines(our, their_size)]
    whole.verify(middle)
    lines += chains.measure(middle, options)
    for larp in long[1:]:
        lines += reading.first_requests(larp, options)
        lines += reading.reads(larp, small, options)
    grown = growth.measure(place, [empty, small, *long], options)
    lines += starting.measure(place, options)
    return Told(lines=[*whole.lines(), *lines, *grown.lines], curves=grown.curves)


def _imported(place: Place, events: int) -> Larp:
    larp = larps.make(place, events)
    progress(f"scale: {larp.words}: import")
    commands.run(larp.environ, "import", str(larp.file))
    larps.tidy(larp)
    return larp
