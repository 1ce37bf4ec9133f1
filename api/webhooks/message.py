"""What is sent: an event as a CloudEvent, and the headers by which its receiver knows that it is ours. Pure.

Sources: CloudEvents 1.0.2, its JSON format (structured mode) and its extension `sequence`; Standard Webhooks 1.0.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from api.answers import EventJson

MEDIA_TYPE = "application/cloudevents+json"
TYPE_PREFIX = "org.skuggbok."
SECRET_PREFIX = "whsec_"  # noqa: S105  # the one that Standard Webhooks names
_SEQUENCE_DIGITS = 16
"""As many as the largest position has, so that the texts sort as the numbers do."""


class CloudEvent(Struct, frozen=True, kw_only=True):
    """One event of a journal, as a webhook sends it."""

    specversion: Literal["1.0"] = "1.0"
    id: Annotated[str, Meta(description="the event's own `id`, the same at every attempt")]
    source: Annotated[str, Meta(description="urn:uuid: and the `id` of the LARP's first event: no two LARPs share it")]
    type: Annotated[str, Meta(description="org.skuggbok. and the event's type with its version")]
    subject: Annotated[str, Meta(description="table/TABLE or character/CHARACTER")] | UnsetType = UNSET
    time: Annotated[datetime, Meta(description="the event's `at`")]
    datacontenttype: Literal["application/json"] = "application/json"
    sequence: Annotated[str, Meta(description="the event's position in 16 digits: texts sort as positions do")]
    larp: Annotated[str, Meta(description="the LARP's name in the paths of this API")]
    data: EventJson


class Message(Struct, frozen=True):
    """A CloudEvent as bytes, the same at every attempt, and its id."""

    id: str
    body: bytes


class _Said(Struct, frozen=True):
    id: str
    type: str
    version: int
    at: datetime
    table: str | None
    data: Raw


class _Concerned(Struct, frozen=True):
    seat: str | None = None
    character: str | None = None


_said = msgspec.json.Decoder(_Said)
_concerned = msgspec.json.Decoder(_Concerned)
_encoder = msgspec.json.Encoder()


def source(founding_id: str) -> str:
    """Who sends: a LARP, by the id of its first event. Slugs repeat from one database to the next."""
    return f"urn:uuid:{founding_id}"


def message(larp: str, source: str, position: int, event: bytes) -> Message:
    """An event as the journal shows it, ready to be sent."""
    said = _said.decode(event)
    made = CloudEvent(
        id=said.id,
        source=source,
        type=f"{TYPE_PREFIX}{said.type}.v{said.version}",
        subject=_subject(said),
        time=said.at,
        sequence=str(position).zfill(_SEQUENCE_DIGITS),
        larp=larp,
        data=Raw(event),
    )
    return Message(said.id, _encoder.encode(made))


def _subject(said: _Said) -> str | UnsetType:
    if said.table is not None:
        return f"table/{said.table}"
    concerned = _concerned.decode(said.data)
    character = concerned.seat or concerned.character
    return UNSET if character is None else f"character/{character}"


# ---- secrets and signatures ----


def secret_of(key: bytes, webhook: str, salt: bytes) -> bytes:
    """The 32 bytes that sign. They are kept nowhere: `key` is the database's own, `salt` is the secret's."""
    return hmac.digest(key, b"webhook-secret\0" + webhook.encode() + b"\0" + salt, hashlib.sha256)


def secret_text(secret: bytes) -> str:
    """A secret as its receiver is told it."""
    return SECRET_PREFIX + base64.b64encode(secret).decode()


def signed(message: Message, secrets: Sequence[bytes], timestamp: int) -> Mapping[str, str]:
    """The headers, with a signature by each secret. `timestamp`: of this attempt, in seconds since 1970."""
    content = b"%b.%d.%b" % (message.id.encode(), timestamp, message.body)
    signatures = (base64.b64encode(hmac.digest(secret, content, hashlib.sha256)).decode() for secret in secrets)
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
