"""The command `skuggbok`."""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import msgspec

from api import cli_keeping, serving, tokens
from api.cli_tools import DATA, bar, read_settings, with_connection
from api.simulation.command import simulate
from ledger.database import Connection
from ledger.errors import SkuggbokError
from ledger.messages import Role
from ledger.migrations import migrate as migrate_database
from projections import versions
from projections.audit import Audit
from projections.audit import larps as audited_larps
from projections.checkpoint_audit import audit_all
from projections.checkpoints import notary_of
from projections.rebuild import rebuild as rebuild_projections
from projections.runner import PROJECTIONS

HOST = click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; 0.0.0.0 for all.")
PORT = click.option("--port", default=8000, show_default=True, help="Port to listen at; 0 for any that is free.")
ROLES: tuple[Role, ...] = ("organiser", "banker", "keeper", "player", "tool")


class Group(click.Group):
    """Says what went wrong in one line, instead of a traceback, where somebody can do something about it."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SkuggbokError as error:
            raise click.ClickException(str(error)) from None


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="skuggbok")
def main() -> None:
    """The event-sourced game ledger for LARP organisers.

    \b
    Settings come from the environment:
      SKUGGBOK_DATABASE_URL  a PostgreSQL of your own (15 or newer); without it an embedded one runs
      SKUGGBOK_DATA_DIR      folder of the embedded database
      SKUGGBOK_PG_BIN        PostgreSQL's programs for it, instead of those that come with Skuggbok
      SKUGGBOK_ADMIN_TOKEN   the first admin's token; without it one is made and shown at the first start
      SKUGGBOK_LOG           debug, info (default), warning or error
      SKUGGBOK_RATE_LIMIT    what a banker's, player's or tool's token may send a second, such as
                             writes=100,reads=300 (default), or off
      SKUGGBOK_CORS_ORIGINS  web pages of others that may ask, such as https://tools.example; none by default

    \b
    Examples:
      skuggbok demo
      skuggbok serve --port 8000 --data ./data
      skuggbok verify north-2026
    """


@main.command()
@HOST
@PORT
@DATA
def serve(host: str, port: int, data: Path | None) -> None:
    """Serve the REST API until it is told to stop (Ctrl-C or SIGTERM).

    \b
    Examples:
      skuggbok serve
      skuggbok serve --host 0.0.0.0 --port 8080 --data /srv/skuggbok
      SKUGGBOK_DATABASE_URL=postgresql://skuggbok@db1,db2/skuggbok skuggbok serve
    """
    settings = read_settings(data)

    async def say(ready: serving.Ready) -> None:
        click.echo(f"Skuggbok answers at {ready.address}  (read {ready.address}/schema)")
        if ready.admin_token:
            click.echo(f"The admin's token, shown this once: {ready.admin_token}")

    serving.run(settings, host, port, say)


@main.command("demo")
@HOST
@PORT
@DATA
def demo_(host: str, port: int, data: Path | None) -> None:
    """Serve, with a LARP in which an evening of Skuggkast has been played.

    \b
    Examples:
      skuggbok demo
      skuggbok demo --port 8080 --data ./data
    """
    from api import demo  # with a client, which no other command needs

    # What is printed for people must not drown in a line for each request; SKUGGBOK_LOG brings them back.
    settings = read_settings(data, quiet="SKUGGBOK_LOG" not in os.environ)

    async def play(ready: serving.Ready) -> None:
        async with ready.database.connection() as connection:
            organiser, played = await demo.play(ready.address, connection, _progress_lines("Playing"))
        click.echo(demo.told(ready.address, organiser, played))
        if ready.admin_token:
            click.echo(f"\nThe admin's token, shown this once: {ready.admin_token}")

    serving.run(settings, host, port, play)


main.add_command(simulate)


@main.command()
@DATA
def migrate(data: Path | None) -> None:
    """Bring the database to this version's schema. `serve` does it by itself.

    \b
    Examples:
      skuggbok migrate
      SKUGGBOK_DATABASE_URL=postgresql://owner@db/skuggbok skuggbok migrate
    """
    with serving.database_of(read_settings(data)) as url:
        click.echo(f"The schema is number {migrate_database(url, tell=click.echo)}, the newest.")


@main.command()
@click.argument("larp", required=False)
@DATA
def verify(larp: str | None, data: Path | None) -> None:
    """Check every invariant of one LARP, or of all: the hash chain, the money, every projection.

    Ends with status 1 if anything is not as it must be, and names it with its position.

    \b
    Examples:
      skuggbok verify
      skuggbok verify north-2026
    """

    settings = read_settings(data)

    async def check(connection: Connection) -> bool:
        names = await audited_larps(connection, larp)
        if larp is not None and not names:
            raise click.ClickException(f"there is no LARP {larp!r}")
        if not names:
            click.echo("There are no LARPs: nothing was checked.")
        results = []
        for name in names:
            with bar(f"Verifying {name}") as advance:
                result = await audit_all(connection, name, notary_of(settings), advance)
            _tell(name, result)
            results.append(result.ok)
        return all(results)

    if not with_connection(settings, check):
        sys.exit(1)


def _tell(name: str, result: Audit) -> None:
    bad = [check for check in result.checks if not check.ok]
    click.echo(
        f"{name}: {'all is well' if result.ok else 'DAMAGED'}, {result.position} events, {len(result.checks)} checks"
    )
    for check in bad:
        for finding in check.findings:
            click.echo(f"  {check.name} at position {finding.position}: {finding.detail}")


@main.command()
@click.argument("projection", required=False, type=click.Choice([each.name for each in PROJECTIONS]))
@click.option("--larp", help="The LARP to rebuild; all, if left out.")
@DATA
def rebuild(projection: str | None, larp: str | None, data: Path | None) -> None:
    """Build a projection, or all, from the journal again, while the service runs and writes.

    What is kept is replaced at once when the new rows are ready. It can be stopped and run again at any time.

    \b
    Examples:
      skuggbok rebuild
      skuggbok rebuild pots --larp north-2026
    """
    chosen = [each for each in PROJECTIONS if projection in (None, each.name)]

    async def build(connection: Connection) -> None:
        names = await versions.larps(connection, larp)
        if larp is not None and not names:
            raise click.ClickException(f"there is no LARP {larp!r}")
        for name in names:
            with bar(f"Rebuilding {name}") as advance:
                result = await rebuild_projections(connection, name, chosen, advance)
            what = "all was well" if result.rows == 0 else f"{result.rows} rows were not what the journal says"
            click.echo(f"{name}: rebuilt as of position {result.position}, {what}")

    with_connection(read_settings(data), build)


@main.group()
def token() -> None:
    """Make tokens without the API."""


@token.command()
@click.option("--larp", required=True, help="The LARP that the token is for.")
@click.option("--role", required=True, type=click.Choice(ROLES))
@click.option("--character", help="The character that a player's token is bound to.")
@click.option("--label", default="made by the command", show_default=True, help="What the list of tokens says.")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires; never, if left out.")
@DATA
def create(larp: str, role: Role, character: str | None, label: str, days: int | None, data: Path | None) -> None:
    """Make a token and show it, this once.

    \b
    Examples:
      skuggbok token create --larp north-2026 --role organiser
      skuggbok token create --larp north-2026 --role player --character alva --days 4
    """
    values = {"role": role, "character": character, "label": label}
    new = msgspec.convert({k: v for k, v in values.items() if v is not None}, tokens.NewToken)
    if days is not None:
        new = msgspec.structs.replace(new, expires_at=datetime.now(UTC) + timedelta(days=days))

    async def make(connection: Connection) -> str:
        made, _ = await tokens.create(connection, larp, new)
        return made.token

    click.echo(with_connection(read_settings(data), make))


def _progress_lines(what: str) -> Callable[[str], None]:
    return lambda line: click.echo(f"{what}: {line}", err=True)


for command in cli_keeping.COMMANDS:
    main.add_command(command)


if __name__ == "__main__":
    main()
