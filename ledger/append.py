"""The one statement that appends a batch, put together from the parts that have something to write.

Most batches hide nothing and open no table, so most parts would run over empty arrays: they are left out. There are
few combinations in practice, each of which a connection prepares once.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ledger import sql
from ledger.database import Connection

SQL = sql.load("ledger.sql", "journal.sql")
_PLACEHOLDER = re.compile(r"%\((\w+)\)b")


class Part:
    """A common table expression over `head`, and its arrays. It is left out where all of them are empty."""

    def __init__(self, statement: str, parameters: Mapping[str, Any]) -> None:
        self.statement = statement
        self.parameters = parameters

    @property
    def is_needed(self) -> bool:
        return any(self.parameters.values())


class Appender:
    """Statements by what they consist of. psycopg's own placeholders would be parsed anew at each call."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[bytes, Sequence[str]]] = {}

    async def run(self, connection: Connection, parts: Sequence[Part], values: Mapping[str, Any]) -> bool:
        """Append; False if the head has moved on. `values`: the parameters of head, event and end."""
        needed = [part for part in parts if part.is_needed]
        statement, names = self._of(tuple(part.statement for part in needed))
        parameters = dict(values)
        for part in needed:
            parameters |= part.parameters
        cursor = connection.numbered
        await cursor.execute(statement, [parameters[name] for name in names], prepare=True)
        return cursor.rowcount == 1

    def _of(self, statements: tuple[str, ...]) -> tuple[bytes, Sequence[str]]:
        found = self._known.get(statements)
        if found is None:
            found = self._known[statements] = composed(statements)
        return found


def composed(statements: Sequence[str]) -> tuple[bytes, Sequence[str]]:
    """The whole statement with numbered placeholders, and the names of its parameters in order."""
    expressions = ", ".join((SQL["append_head"], SQL["append_event"], *statements))
    text = f"WITH {expressions} {SQL['append_end']}"
    names: list[str] = []

    def numbered(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    return _PLACEHOLDER.sub(numbered, text).encode(), names
