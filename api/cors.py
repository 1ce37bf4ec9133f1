"""Which web pages of others may ask from within a browser: none, unless SKUGGBOK_CORS_ORIGINS names their origins.

Tokens go in a header that a page sets itself and no cookie is ever used, so credentials are not allowed.
Source: Fetch standard, 3.2 (CORS protocol).
"""

from collections.abc import Iterable

from litestar.types import HTTPScope

Headers = list[tuple[bytes, bytes]]

_METHODS = b"GET, HEAD, POST, PATCH, DELETE"
_SENT = b"authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, x-request-id"
_SHOWN = b"etag, link, retry-after, ratelimit, ratelimit-policy, idempotent-replayed, x-request-id"
_KEPT_S = 7200
"""How long a browser need not ask again; none keeps it for longer."""


class Cors:
    """`origins`: separated by commas, empty for none."""

    def __init__(self, origins: str) -> None:
        self._origins = frozenset(origins.encode().split(b",")) - {b""}

    def preflight(self, scope: HTTPScope) -> Headers | None:
        """The answer to a browser that asks whether a page may; None if this is no such question, or if it may not."""
        if scope["method"] != "OPTIONS":
            return None
        headers = dict(scope["headers"])
        if b"access-control-request-method" not in headers:
            return None
        if headers.get(b"origin") not in self._origins:
            return None
        return [
            *self.headers(scope["headers"]),
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", _SENT),
            (b"access-control-max-age", b"%d" % _KEPT_S),
        ]

    def headers(self, asked: Iterable[tuple[bytes, bytes]]) -> Headers:
        """What any answer says to a page that may read it; nothing at all while no origin is named."""
        if not self._origins:
            return []
        origin = next((value for name, value in asked if name == b"origin"), None)
        if origin not in self._origins or origin is None:
            return [(b"vary", b"Origin")]
        return [
            (b"vary", b"Origin"),
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _SHOWN),
        ]
