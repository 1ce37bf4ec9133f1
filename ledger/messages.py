"""What comes in and what is recorded: the bases of every command and event, and the words they share.

Commands are imperatives and decoded strictly; events are in the past tense and read for ever.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

from ledger.errors import Malformed

AMOUNT_MAX = 10**15
"""The largest amount of one command or posting."""

Slug = Annotated[
    str,
    Meta(
        # The look-ahead refuses a final newline, which `$` alone would let pass in Python.
        pattern=r"^[a-z0-9][a-z0-9_-]*(?!\n)$",
        min_length=1,
        max_length=64,
        description="1 to 64 of a-z 0-9 - _, beginning with a letter or digit",
        examples=["alva"],
    ),
]
Amount = Annotated[int, Meta(ge=1, le=AMOUNT_MAX, description="a whole number of units, 1 to 10^15")]
Moved = Annotated[int, Meta(ge=1, le=2**53 - 1, description="a whole number of units; a pot can hold many stakes")]
Limit = Annotated[int, Meta(ge=0, le=AMOUNT_MAX, description="a whole number of units, 0 to 10^15")]
Name = Annotated[
    str,
    Meta(
        pattern=r"^[^\x00-\x1f\x7f]+(?!\n)$",
        min_length=1,
        max_length=200,
        description="1 to 200 characters, on one line",
    ),
]
Memo = Annotated[
    str,
    Meta(pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$", max_length=2000, description="up to 2,000 characters"),
]
Instant = Annotated[datetime, Meta(tz=True, description="RFC 3339, with a UTC offset")]
Role = Literal["admin", "organiser", "banker", "keeper", "player", "tool"]


class Command(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A wish. `at`: when it happened in the field, if that was not just now."""

    at: Instant | None = None


class Event(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A fact. `TYPE` is the stored tag, a literal with its version, and never changes."""

    TYPE: ClassVar[str]

    @property
    def character_concerned(self) -> str | None:
        """Whose doing it is, or whom it is about, if that is one character: what its `seat` or `character` says."""
        found: str | None = getattr(self, "seat", None) or getattr(self, "character", None)
        return found


class Posting(Struct, frozen=True, gc=False, rename={"from_": "from"}):
    """`amount` of `asset` moves from one account to another. Source: rules/ledger.md, "Postings"."""

    from_: str
    to: str
    asset: str
    amount: Moved


class Actor(Struct, frozen=True, omit_defaults=True, gc=False):
    """Who acted: the role and id of the token, and the character it is bound to. Never a person."""

    role: Role
    token: str
    character: str | None = None


class Sealed(Struct, frozen=True, gc=False):
    """The commitment to a hidden value: SHA-256, in hex, over nonce and value. `seat` is None for what nobody holds."""

    commitment: str
    seat: str | None
    what: str


class Uncovered(Struct, frozen=True):
    """A hidden value and its nonce (64 hex digits), by which anyone can check the commitment."""

    commitment: str
    nonce: str
    value: Any


class Secret(Struct, frozen=True):
    """What a commitment hides. Kept apart from the journal, shown to its owner and to organisers only."""

    commitment: str
    table: str
    seat: str | None
    what: str
    nonce: str
    value: Any


class Draft(Struct, frozen=True, gc=False):
    """An event that was decided and is not yet recorded."""

    event: Event
    postings: tuple[Posting, ...] = ()
    table: str | None = None


class Decision(Struct, frozen=True, gc=False):
    """All that comes of one command, recorded together or not at all. `rolled`: the service's dice had a say in it."""

    drafts: tuple[Draft, ...]
    secrets: tuple[Secret, ...] = ()
    rolled: bool = False


CreditLimits = Mapping[Slug, Limit]


def in_utc(at: datetime | None, pointer: str = "/at") -> datetime | None:
    """The same instant in UTC. Raises Malformed for what no calendar in UTC has."""
    try:
        return at.astimezone(UTC) if at else None
    except OverflowError:
        raise Malformed(f"{pointer[1:]} must lie between the years 1 and 9999 in UTC", pointer) from None
