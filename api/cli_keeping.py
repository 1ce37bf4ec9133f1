"""The commands for what is kept outside of the database: checkpoints, exports, imports and backups."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import IO

import click

from api import serving
from api.cli_tools import DATA, bar, read_settings, with_connection, with_database
from ledger import backup as backups
from ledger.database import Connection, Database
from ledger.embedded_programs import Programs
from ledger.journal import Journals
from ledger.migrations import migrate
from ledger.settings import Settings
from projections import exports, queries
from projections.checkpoints import Issued, notary_of
from projections.exports import Csv, Format, Ndjson, beancount, hledger
from projections.imports import Imported, import_journal
from projections.runner import PROJECTIONS

FORMATS = ("journal.ndjson", "journal.csv", "hledger", "beancount")
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("larp")
@click.option("--svg", type=FILE, help="Write the note as a QR code, too.")
@click.option("--key", is_flag=True, help="Print the key to check notes of this LARP with, and sign nothing.")
@DATA
def checkpoint(larp: str, svg: Path | None, key: bool, data: Path | None) -> None:
    """Sign the head of a LARP's journal, keep the note beside the database, and print it.

    Who has the note can check later that nothing before it was changed. Hand it out, or pin it up as a QR code.

    \b
    Examples:
      skuggbok checkpoint north-2026
      skuggbok checkpoint north-2026 --svg friday.svg
      skuggbok checkpoint north-2026 --key
    """
    settings = read_settings(data)
    notary = notary_of(settings)

    async def sign(connection: Connection) -> Issued | str:
        await queries.larp(connection, larp)
        return str(await notary.verifier(connection, larp)) if key else await notary.issue(connection, larp)

    issued = with_connection(settings, sign)
    if isinstance(issued, str):
        click.echo(issued)
        return
    if svg is not None:
        import segno  # not before it is needed: it takes longer to import than to draw

        segno.make(issued.note, error="m", encoding="utf-8", micro=False).save(str(svg), kind="svg", scale=4)
    click.echo(issued.note, nl=False)
    click.echo(f"It is checked with the key {issued.verifier}", err=True)


@click.command()
@click.argument("larp")
@click.option("--format", "format_", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True)
@click.option("--output", type=FILE, help="A file to write; standard output, if left out.")
@DATA
def export(larp: str, format_: str, output: Path | None, data: Path | None) -> None:
    """Write a LARP's journal as text. Hidden values are not in it.

    \b
    Examples:
      skuggbok export north-2026 --output north.ndjson
      skuggbok export north-2026 --format hledger | hledger -f - balance
    """

    async def write(database: Database) -> None:
        parts = exports.journal(database, larp, _format(format_))
        first = await anext(parts)
        if output is None:
            await _pour(first, parts, sys.stdout.buffer)
        else:
            with output.open("wb") as file:
                await _pour(first, parts, file)

    with_database(read_settings(data), write)


def _format(name: str) -> Format:
    """Raises KeyError for a name that is not in FORMATS."""
    made: Mapping[str, Callable[[], Format]] = {
        "journal.ndjson": Ndjson,
        "journal.csv": Csv,
        "hledger": hledger,
        "beancount": beancount,
    }
    return made[name]()


async def _pour(first: bytes, parts: AsyncIterator[bytes], file: IO[bytes]) -> None:
    file.write(first)
    async for part in parts:
        file.write(part)


@click.command("import")
@click.argument("file", type=click.File("rb"))
@DATA
def import_(file: IO[bytes], data: Path | None) -> None:
    """Make a LARP of an exported journal.ndjson again: the same events, hashes, purses and tables.

    Each line is verified; all of it is imported or nothing, and never over a LARP that is there. An export holds
    neither tokens nor what lies hidden at tables: tables at which something does can be voided, and little else.

    \b
    Examples:
      skuggbok import north.ndjson
      skuggbok import - < north.ndjson
    """

    async def bring(database: Database) -> Imported:
        journals = Journals(database, PROJECTIONS)
        async with database.connection() as connection:
            with bar("Importing") as advance:
                return await import_journal(connection, journals, file, advance)

    done = with_database(read_settings(data), bring, makes=True)
    click.echo(f"{done.larp}: {done.position} events imported. Make tokens with `skuggbok token create`.")
    if done.hiding:
        click.echo(f"What lies hidden there is lost, so these tables can only be voided: {', '.join(done.hiding)}")


@click.command()
@click.argument("file", type=FILE)
@DATA
def backup(file: Path, data: Path | None) -> None:
    """Write a backup of the embedded database, while it is used. It holds everything: keep it as safe as the folder.

    What lies beside the database (checkpoint-key, checkpoints/) is not in it: copy that to another place.

    \b
    Examples:
      skuggbok backup friday.backup
      skuggbok backup /media/stick/friday.backup --data /srv/skuggbok
    """
    settings = _embedded(read_settings(data))
    with serving.database_of(settings) as url:
        size = backups.backup(url, _programs(settings), file)
    click.echo(f"{file}: {size} bytes")


@click.command()
@click.argument("file", type=FILE)
@DATA
def restore(file: Path, data: Path | None) -> None:
    """Put a backup into an embedded database that is empty, and compare it with the checkpoints that were kept.

    Nothing is overwritten. Ends with status 1 if the journals are not those that were signed last.

    \b
    Examples:
      skuggbok restore friday.backup --data ./restored
    """
    settings = _embedded(read_settings(data))
    with serving.database_of(settings) as url:
        backups.restore(url, _programs(settings), file)
        migrate(url, tell=click.echo)

    async def compare(connection: Connection) -> bool:
        notary, good = notary_of(settings), True
        for row in await queries.larps(connection, None, None, limit=1_000_000):
            click.echo(f"{row.larp}: {row.position} events")
            for finding in await notary.compare(connection, row.larp):
                click.echo(f"  {finding.check} at position {finding.position}: {finding.detail}")
                good = False
        return good

    if not with_connection(settings, compare):
        sys.exit(1)


def _embedded(settings: Settings) -> Settings:
    if settings.database_url is not None:
        raise click.ClickException(
            "this is for the embedded database: back up the one in SKUGGBOK_DATABASE_URL with its own pg_dump"
        )
    return settings


def _programs(settings: Settings) -> Programs:
    """As the caller: only servers are not run as root."""
    return Programs.find(settings.pg_bin, settings.data_dir, None)


COMMANDS = (checkpoint, export, import_, backup, restore)
