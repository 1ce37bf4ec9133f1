"""What the OpenAPI document says of the requests that webhooks send, under `webhooks`: they are its receivers' API."""

from typing import Any

import msgspec

from api.webhooks import message
from api.webhooks.attempts import ATTEMPT_S, ATTEMPTS_MAX
from projections.marks import Marks

Json = dict[str, Any]

_MARKS = frozenset(Marks.__struct_fields__)

_DESCRIPTION = f"""\
Every event of the types that a webhook wants is sent to its URL in a request of its own: a CloudEvent
(https://cloudevents.io, 1.0, structured mode), signed by Standard Webhooks (https://www.standardwebhooks.com).
`data` is the event as it was recorded and hashed, whatever corrected it since.

Events come in the order of the journal, each at least once: the next one is sent after this one was answered with
2xx. Whoever gets an `id` again has to answer 2xx again. After any other answer, a redirect too, or none within
{ATTEMPT_S:.0f} seconds, it is sent again after 5 seconds, 5 minutes, 30 minutes, 2, 5, 10, 14, 20 and 24 hours, each
longer by up to a fifth, or later where `Retry-After` asks for it, up to a day. After {ATTEMPTS_MAX} failed attempts
in a row the webhook is switched off; nothing is lost, and it goes on from there when it is switched on again. Answer
410 to switch it off at once.
"""


def webhooks(event: Json, example: Json) -> Json:
    """`event`: the schema of what is sent."""
    return {
        "event": {
            "post": {
                "operationId": "receive_event",
                "summary": "Receive an event of a LARP",
                "description": _DESCRIPTION,
                "tags": ["Webhooks"],
                "security": [],
                "parameters": [
                    _header("webhook-id", "The CloudEvent's `id`, the same at every attempt.", "string"),
                    _header("webhook-timestamp", "When this attempt was made, in seconds since 1970.", "integer"),
                    _header(
                        "webhook-signature",
                        "`v1,` and base64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body`, by the bytes that"
                        " follow `whsec_` in base64. While secrets overlap one by each, separated by spaces.",
                        "string",
                    ),
                ],
                "requestBody": {
                    "required": True,
                    "content": {message.MEDIA_TYPE: {"schema": event, "example": example}},
                },
                "responses": {
                    "2XX": {"description": "It arrived; the next event may come. The body is not looked at."},
                    "410": {"description": "No more events are wanted: the webhook is switched off."},
                    "default": {
                        "description": "It is sent again later.",
                        "headers": {
                            "Retry-After": {
                                "description": "Not before so many seconds, or not before this date.",
                                "schema": {"type": "string"},
                            }
                        },
                    },
                },
            }
        }
    }


def _header(name: str, description: str, type_: str) -> Json:
    return {"name": name, "in": "header", "required": True, "description": description, "schema": {"type": type_}}


def example(event: Json) -> Json:
    """An event of the documentation as it would be sent."""
    recorded = {name: value for name, value in event.items() if name not in _MARKS}
    source = message.source("01a22973-6bb1-7f21-9d5f-6a2f4c1be7aa")
    sent = message.message("ravenmoor", source, event["position"], msgspec.json.encode(recorded))
    decoded: Json = msgspec.json.decode(sent.body)
    return decoded
