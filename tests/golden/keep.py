"""Keep a new golden journal: `python -m tests.golden.keep --help`. None that is there is ever written again."""

import argparse
import json
from pathlib import Path

from tests.golden.files import FOLDER, folded, journal, last_views
from tests.support.played import play, tavern


def main() -> None:
    asked = _arguments()
    file, shown = FOLDER / f"{asked.name}.ndjson", FOLDER / f"{asked.name}.views.ndjson"
    if file.exists() or shown.exists():
        raise SystemExit(f"{file.name} is kept for ever: choose another name")
    file.write_bytes(asked.journal.read_bytes() if asked.journal else played(asked))
    try:
        _, applied = folded(journal(file))
    except BaseException:
        file.unlink()
        raise
    shown.write_bytes(b"".join(view + b"\n" for view in last_views(applied).values()))
    print(f"{file.name}: {len(applied)} events, {file.stat().st_size + shown.stat().st_size} bytes")


def played(asked: argparse.Namespace) -> bytes:
    """One table in a LARP of its own, as the API shows its events."""
    larp = tavern("golden", krona=asked.krona)
    play(larp, asked.game, "eagle", asked.seed, void_after=asked.void_after, **json.loads(asked.opening))
    return b"".join(recorded.to_json() + b"\n" for recorded in larp.journal)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.golden.keep", description="Keep a new golden journal.")
    parser.add_argument("name", help="of the new files, such as skuggkast-runes")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--journal", type=Path, help="events as the API shows them, one a line, from position 1 on")
    source.add_argument("--game", help="let the bots play it")
    parser.add_argument("--seed", default="1", help="another seed, another game")
    parser.add_argument("--opening", default="{}", help="in place of what the bot would open, as JSON")
    parser.add_argument("--krona", type=int, default=60, help="in each purse at the beginning")
    parser.add_argument("--void-after", type=int, help="actions after which the table is voided")
    return parser.parse_args()


if __name__ == "__main__":
    main()
