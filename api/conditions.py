"""Requests on conditions: once only (Idempotency-Key), if nothing has moved on (If-Match), if anything has (ETag).

Sources: design/API.md; RFC 9110, 8.8.3 and 13.1; draft-ietf-httpapi-idempotency-key-header.
"""

import hashlib
import re
from contextlib import suppress
from typing import Any

import msgspec
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Send

from api import tokens
from api.requests import ApiRequest
from ledger.book import Request
from ledger.errors import Malformed
from ledger.sending import Sent, Together

KEY_LENGTH_MAX = 255
_STRING = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_ETAG = re.compile(r'(W/)?"([^"]*)"')
_POSITION = re.compile(r"0|[1-9][0-9]{0,15}")

# ---- writes ----


async def sent(request: ApiRequest, command: Request | Together) -> Sent:
    """The command with the conditions of its request. Raises Malformed."""
    return sent_with(request, command, await request.body())


def sent_with(request: ApiRequest, command: Request | Together, body: bytes) -> Sent:
    """The same where the body was read already."""
    key = idempotency_key(_header(request.scope, b"idempotency-key"))
    if_match = matched(_header(request.scope, b"if-match"))
    said = b"" if key is None else said_with(request.scope["path"], body)
    return Sent(request=command, actor=request.auth.actor, key=key, said=said, if_match=if_match)


def idempotency_key(header: str | None) -> str | None:
    """A Structured Field string (in quotes) or the bare key. Raises Malformed."""
    if header is None:
        return None
    found = _STRING.fullmatch(header)
    key = re.sub(r"\\(.)", r"\1", found[1]) if found else header
    if not 1 <= len(key) <= KEY_LENGTH_MAX or not key.isascii() or not key.isprintable():
        raise Malformed(f"Idempotency-Key must be 1 to {KEY_LENGTH_MAX} printable ASCII characters")
    return key


def said_with(path: str, body: bytes) -> bytes:
    """What a key stands for: where it was sent and what the body means, however it is spaced and ordered."""
    with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):  # it will be refused, and no key kept for it
        body = msgspec.json.encode(msgspec.json.decode(body), order="sorted") if body else b""
    return path.encode() + b"\0" + body


def matched(header: str | None) -> int | None:
    """The position that must still hold, None for any, -1 for what never holds. Raises Malformed."""
    if header is None or header.strip() == "*":
        return None
    found = _ETAG.fullmatch(header.strip())
    if found is None:
        raise Malformed('If-Match must be one position in quotes, such as "42", or *')
    return int(found[2]) if not found[1] and _POSITION.fullmatch(found[2]) else -1


async def once(request: ApiRequest) -> tokens.Once | None:
    """The same for a token that is to be made once only. Raises Malformed."""
    key = idempotency_key(_header(request.scope, b"idempotency-key"))
    if key is None:
        return None
    said = said_with(request.scope["path"], await request.body())
    return tokens.once(await request.services.writers.secret_key(), request.auth.token, key, said)


def mark(request: ApiRequest, *, replayed: bool) -> None:
    """Let the answer say that it is the first one again."""
    if replayed:
        request.scope["state"]["replayed"] = True


# ---- answers ----


def position_tag(position: int) -> dict[str, str]:
    """The ETag of what is as of a position; it is what If-Match takes."""
    return {"etag": f'"{position}"'}


def require_none(request: ApiRequest, why: str) -> None:
    """Raises Malformed if the request brings a condition that nobody would heed."""
    for name in (b"idempotency-key", b"if-match"):
        if _header(request.scope, name) is not None:
            raise Malformed(f"the header {name.decode()} has no meaning here: {why}")


async def conditioned(app: ASGIApp, scope: HTTPScope, receive: Receive, send: Send) -> None:
    """Answer with what the conditions of the request make of it: 200 for a receipt that is given again, an ETag on
    whatever can be read, 304 where the asker has it already."""
    start: Message | None = None

    async def sending(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start":
            if scope["state"].get("replayed"):
                message["status"] = 200
                message["headers"] = [*message["headers"], (b"idempotent-replayed", b"true")]
            if _is_readable(scope, message):
                start = message  # held back until the body is known
                return
        elif message["type"] == "http.response.body" and start is not None:
            begun, start = start, None
            if not message.get("more_body"):
                begun, message = _tagged(scope, begun, message)
            await send(begun)
        await send(message)

    await app(scope, receive, sending)


def _is_readable(scope: HTTPScope, start: Any) -> bool:
    return scope["method"] in ("GET", "HEAD") and start["status"] == 200


def _tagged(scope: HTTPScope, start: Any, body: Any) -> tuple[Any, Any]:
    """The answer with an ETag, or 304 if the request names it."""
    headers = list(start["headers"])
    tag = next((value for name, value in headers if name == b"etag"), None)
    if tag is None:
        tag = b'"%b"' % hashlib.sha256(body.get("body", b"")).hexdigest()[:32].encode()
        headers.append((b"etag", tag))
    names = {name for name, _ in headers}
    if b"cache-control" not in names:
        headers.append((b"cache-control", b"private, no-cache"))
    if not _has(_header(scope, b"if-none-match"), tag.decode("latin-1")):
        return {**start, "headers": headers}, body
    kept = [(name, value) for name, value in headers if name not in (b"content-length", b"content-type")]
    return {**start, "status": 304, "headers": kept}, {**body, "body": b""}


def _has(header: str | None, tag: str) -> bool:
    """Weak comparison, as If-None-Match asks for."""
    if header is None:
        return False
    return header.strip() == "*" or tag.removeprefix("W/") in {f'"{found[1]}"' for found in _ETAG.findall(header)}


def _header(scope: HTTPScope, name: bytes) -> str | None:
    """The value of a header; of several, joined as HTTP says."""
    values = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return ", ".join(values) if values else None
