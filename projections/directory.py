"""Assets and characters: who and what there is in a LARP."""

from collections.abc import Mapping, Sequence

import msgspec

from ledger import money, purses, sql
from ledger.arrays import Int8s, Texts, columns
from ledger.book import Applied


class Directory:
    """A fold of the events that name assets and characters, the built-in assets with the LARP itself."""

    name = "directory"
    version = 1
    tables = ("asset", "character")
    of_tables = False
    statement = sql.load("projections.sql", "directory.sql")["statement"]

    def parameters(self, batch: Sequence[Applied]) -> Mapping[str, object]:
        assets: list[tuple[str, str, str, int]] = []
        added: dict[str, tuple[str, Mapping[str, int], int]] = {}
        changed: dict[str, tuple[str | None, Mapping[str, int], int]] = {}
        for applied in batch:
            position = applied.recorded.position
            match applied.recorded.event:
                case purses.LarpFounded():
                    assets += [(a.asset, a.kind, a.name, position) for a in money.BUILT_IN_ASSETS]
                case purses.AssetDefined(asset=asset, kind=kind, name=name):
                    assets.append((asset, kind, name, position))
                case purses.CharacterAdded(character=character, name=name, credit_limit=limits):
                    added[character] = (name, limits, position)
                case purses.CharacterChanged(character=character, name=new_name, credit_limit=limits):
                    if character in added:
                        known, before, _ = added[character]
                        added[character] = (new_name or known, {**before, **limits}, position)
                    else:
                        earlier, before, _ = changed.get(character, (None, {}, 0))
                        changed[character] = (new_name or earlier, {**before, **limits}, position)
                case _:
                    pass  # every other event, of whatever game, names nothing and nobody new
        return (
            columns(assets, asset=Texts, asset_kind=Texts, asset_name=Texts, asset_position=Int8s)
            | columns(
                [(character, name, _json(limits), position) for character, (name, limits, position) in added.items()],
                added=Texts,
                added_name=Texts,
                added_limit=Texts,
                added_position=Int8s,
            )
            | columns(
                [(character, name, _json(limits), position) for character, (name, limits, position) in changed.items()],
                changed=Texts,
                changed_name=Texts,
                changed_limit=Texts,
                changed_position=Int8s,
            )
        )


def _json(limits: Mapping[str, int]) -> str:
    return msgspec.json.encode(limits).decode()
