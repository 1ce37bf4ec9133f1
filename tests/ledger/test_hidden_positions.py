"""A hidden value is kept with the position of the event that commits to it, wherever in its command that stands."""

from ledger import purses
from ledger.book import BY_NAME
from ledger.database import Database
from ledger.games.table import Sum
from ledger.messages import Actor
from ledger.writer import Writers
from projections import queries

ACTOR = Actor(role="organiser", token="tok_test")


async def test_tiles_are_sealed_by_the_second_event_of_the_opening(writers: Writers, database: Database) -> None:
    await writers.found(purses.FoundLarp(larp="north", name="North"), ACTOR)
    await writers.submit("north", purses.DefineAsset(asset="krona", kind="token", name="Krona"), ACTOR)
    for character in ("alva", "birk"):
        await writers.submit("north", purses.AddCharacter(character=character, name=character), ACTOR)
        await writers.submit("north", purses.Grant(to=character, asset="krona", amount=3), ACTOR)
    opening = BY_NAME["takespillet"].opening(table="t", seats=("alva", "birk"), stake=Sum("krona", 3), dice="service")
    opened, sealed = (await writers.submit("north", opening, ACTOR)).applied
    assert opened.recorded.type == "takespillet.opened"
    async with database.connection() as connection:
        tiles = await queries.sealed(connection, "north", "t", None)
    assert {tile.position for tile in tiles} == {sealed.recorded.position}
    assert len(tiles) == 64
