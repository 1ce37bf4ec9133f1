"""Skuggbok's writer beside its peers, and beside a bare INSERT."""

from tests.bench.measured import Told
from tests.bench.options import Options
from tests.bench.place import Place


def run(place: Place, options: Options) -> Told:
    """Transfers and Skuggkast actions through the writer, and the same bodies appended by everybody else."""
    from tests.bench.contest import findings, rounds  # not before a contestant of this package is run as a program

    contest = rounds.Rounds(place, options)
    contest.play()
    return findings.told(contest)
