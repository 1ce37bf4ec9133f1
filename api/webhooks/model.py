"""What is said about webhooks: by organisers who make and change them, and by the service that shows them."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from api.webhooks import message
from ledger.errors import Refused
from ledger.messages import Name
from projections.queries import POSITION_MAX

WEBHOOKS_MAX = 50
"""How many a LARP may have."""
OVERLAP_S = 86_400
OVERLAP_MAX_S = 604_800

State = Literal["active", "failing", "disabled", "gone", "exhausted"]
EventType = Annotated[str, Meta(pattern=r"^[a-z_.]+(?!\n)$", max_length=100, examples=["purse.transferred"])]
EventTypes = Annotated[tuple[EventType, ...], Meta(min_length=1, max_length=100)]
Url = Annotated[
    str,
    Meta(
        max_length=2000,
        description="http or https",
        examples=["https://tool.example/skuggbok"],
        extra_json_schema={"pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$"},  # what is wrong is said by `target_of`
    ),
]
Position = Annotated[int, Meta(ge=1, le=POSITION_MAX)]


class TooManyWebhooks(Refused):
    """A LARP has 50 webhooks at most"""

    code = "too_many_webhooks"


class NewWebhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where events are to be sent. `types`: without their versions; null or left out: all.

    `from_position`: the first event to be sent; left out: the next that is recorded.
    """

    url: Url
    types: EventTypes | None = None
    label: Name | None = None
    from_position: Position | None = None


class WebhookChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be changed. `enabled` true switches a webhook on again, wherever it had stopped."""

    url: Url | UnsetType = UNSET
    types: EventTypes | UnsetType | None = UNSET
    label: Name | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET


class Rotation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`overlap_s`: how long earlier secrets sign beside the new one; 0 where one of them has leaked."""

    overlap_s: Annotated[int, Meta(ge=0, le=OVERLAP_MAX_S)] = OVERLAP_S


class Replay(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`from_position`: the first event to be sent again."""

    from_position: Position


class WebhookSuccess(Struct, frozen=True):
    """The last event that arrived."""

    at: datetime
    position: int
    status_code: int


class WebhookFailure(Struct, frozen=True):
    """The last attempt that failed. `status_code` null: there was no answer."""

    at: datetime
    position: int
    status_code: int | None
    reason: str


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook, how far it is, and how it goes.

    `position`: the last event that arrived, or that `types` pass over; `backlog`: how many there are behind it.
    `state`: `failing` is tried again at `next_attempt_at`; `gone` answered 410; `exhausted` failed too often.
    `attempts`: failed ones, of the next event. `next_attempt_at` null: there is nothing to send, or it is off.
    """

    id: Annotated[str, Meta(description="whk_ and 32 hex digits")]
    url: str
    types: tuple[str, ...] | None
    label: str | None
    created_at: datetime
    source: Annotated[str, Meta(description="the `source` of its CloudEvents")]
    state: State
    position: int
    backlog: int
    attempts: int
    next_attempt_at: datetime | None
    last_success: WebhookSuccess | None
    last_failure: WebhookFailure | None
    earlier_secrets_until: Annotated[datetime | None, Meta(description="until when requests have more signatures")]


class MadeWebhook(Webhook, frozen=True, kw_only=True):
    """A webhook with the secret that signs from now on, which is shown this once and kept nowhere."""

    secret: Annotated[str, Meta(description="whsec_ and base64 of 32 bytes")]


class WebhookRow(Struct, frozen=True):
    """A webhook as it is kept. `due_at`: no attempt before."""

    id: str
    url: str
    types: tuple[str, ...] | None
    label: str | None
    created_at: datetime
    switched_off: Literal["disabled", "gone", "exhausted"] | None
    position: int
    backlog: int
    attempts: int
    due_at: datetime
    success_at: datetime | None
    success_position: int | None
    success_status: int | None
    failure_at: datetime | None
    failure_position: int | None
    failure_status: int | None
    failure_reason: str | None
    founding_id: str
    earlier_secrets_until: datetime | None

    def shown(self) -> Webhook:
        success, failure = None, None
        if self.success_at and self.success_position and self.success_status:
            success = WebhookSuccess(self.success_at, self.success_position, self.success_status)
        if self.failure_at and self.failure_position and self.failure_reason:
            failure = WebhookFailure(self.failure_at, self.failure_position, self.failure_status, self.failure_reason)
        return Webhook(
            id=self.id,
            url=self.url,
            types=None if self.types is None else tuple(self.types),
            label=self.label,
            created_at=self.created_at,
            source=message.source(self.founding_id),
            state=self.switched_off or ("failing" if self.attempts else "active"),
            position=self.position,
            backlog=self.backlog,
            attempts=self.attempts,
            next_attempt_at=None if self.switched_off or not self.backlog else self.due_at,
            last_success=success,
            last_failure=failure,
            earlier_secrets_until=self.earlier_secrets_until,
        )
