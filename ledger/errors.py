"""Every way in which Skuggbok says no.

`Refused` is an answer to a caller: rules or state do not allow the command, nothing was recorded, and
`detail` says what would have been needed. `Unavailable` is a temporary state of the service. Everything
else that is raised is a fault of ours.

    SkuggbokError
    ├── Refused                 a command that is not carried out (HTTP 4xx)
    │   ├── Malformed           400, with one entry per fault
    │   ├── Forbidden           403
    │   ├── Unknown...          404
    │   └── the rest            409, one class per code; the games add their own
    ├── Unavailable             503, try again later
    ├── Damaged                 the journal is not what its hashes say
    └── ProjectionHalted        503 where it is met, until the projection is rebuilt
"""

from typing import ClassVar


class SkuggbokError(Exception):
    """The root of all errors of this package."""


class Refused(SkuggbokError):
    """Refused"""

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 409

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    @property
    def title(self) -> str:
        """The rule that was met, the same words for each occurrence: the first line of the class's docstring."""
        return (type(self).__doc__ or "").strip().partition("\n")[0]


class Malformed(Refused):
    """The request is not well-formed"""

    code = "malformed"
    status = 400

    def __init__(self, detail: str, pointer: str = "") -> None:
        super().__init__(detail)
        self.pointer = pointer


class Forbidden(Refused):
    """This token may not do that"""

    code = "forbidden"
    status = 403


class UnknownLarp(Refused):
    """There is no such LARP"""

    code = "unknown_larp"
    status = 404


class UnknownCharacter(Refused):
    """There is no such character in this LARP"""

    code = "unknown_character"
    status = 404


class UnknownAsset(Refused):
    """There is no such asset in this LARP"""

    code = "unknown_asset"
    status = 404


class UnknownTable(Refused):
    """There is no such table in this LARP"""

    code = "unknown_table"
    status = 404


class UnknownPosition(Refused):
    """The journal has no such position"""

    code = "unknown_position"
    status = 404


class NotFound(Refused):
    """There is nothing here"""

    code = "not_found"
    status = 404


class AlreadyExists(Refused):
    """The name is taken"""

    code = "already_exists"


class SameAccount(Refused):
    """Nothing moves from an account to itself"""

    code = "same_account"


class WrongKind(Refused):
    """The asset is of another kind"""

    code = "wrong_kind"


class InsufficientFunds(Refused):
    """An account holds less than it would have to give"""

    code = "insufficient_funds"


class CreditExceeded(Refused):
    """A character would owe more than its credit limit"""

    code = "credit_exceeded"


class BalanceOverflow(Refused):
    """A balance would leave the range from -(2^53 - 1) to 2^53 - 1"""

    code = "balance_overflow"


class NotOwed(Refused):
    """There is no such note to settle, forgive or assign"""

    code = "not_owed"


class AlreadyReversed(Refused):
    """An event is reversed once at most"""

    code = "already_reversed"


class NotReversible(Refused):
    """An event of this kind is not reversed"""

    code = "not_reversible"


class TableClosed(Refused):
    """The table is closed"""

    code = "table_closed"


class NotSeated(Refused):
    """The character has no seat at the table"""

    code = "not_seated"


class WrongPhase(Refused):
    """The game is not at that point"""

    code = "wrong_phase"


class NotYourTurn(Refused):
    """It is another seat's turn"""

    code = "not_your_turn"


class DiceRequired(Refused):
    """The dice of this table are reported: the action must bring what they show"""

    code = "dice_required"


class DiceNotAccepted(Refused):
    """The action must not bring dice"""

    code = "dice_not_accepted"


class IllegalMove(Refused):
    """The rules of the game do not allow the move"""

    code = "illegal_move"


class InvalidRules(Refused):
    """No table can be opened like that"""

    code = "invalid_rules"


class HiddenValueLost(Refused):
    """What lies hidden at the table is not in this database"""

    code = "hidden_value_lost"


class StalePosition(Refused):
    """What was to be changed has moved on"""

    code = "stale_position"
    status = 412


class IdempotencyMismatch(Refused):
    """The idempotency key was used for another request"""

    code = "idempotency_mismatch"
    status = 422


class DiceInBatch(Refused):
    """An atomic batch must not depend on dice that the service rolls, or on what is sealed"""

    code = "dice_in_batch"


class BatchRefused(Refused):
    """One of several commands was refused, so none was carried out"""

    code = "batch_refused"

    def __init__(self, at: int, refusal: Refused) -> None:
        super().__init__(f"command {at + 1} was refused: {refusal.detail}")
        self.at = at
        self.refusal = refusal


class Unavailable(SkuggbokError):
    """The service cannot take the request at the moment; it can be sent again after `retry_after_s` seconds."""

    def __init__(self, detail: str, retry_after_s: int = 1) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s


class Damaged(SkuggbokError):
    """The journal is not what it must be; the message names the position."""


class ProjectionHalted(SkuggbokError):
    """A projection cannot apply an event. Nothing is skipped: it stays as it was before `position`."""

    def __init__(self, projection: str, position: int, reason: str) -> None:
        super().__init__(f"projection {projection} cannot apply the event at position {position}: {reason}")
        self.projection = projection
        self.position = position
        self.reason = reason
