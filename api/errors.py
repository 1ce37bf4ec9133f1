"""The refusals that only HTTP knows, beside those of `ledger.errors`."""

import math
from collections.abc import Iterable, Mapping
from http import HTTPStatus

from ledger import book  # noqa: F401  # with the Book come all games, and with them all their refusals
from ledger.errors import Refused


class Unauthenticated(Refused):
    """A valid token is needed"""

    code = "unauthenticated"
    status = 401


class MethodNotAllowed(Refused):
    """The path does not know this method"""

    code = "method_not_allowed"
    status = 405


class RequestTimeout(Refused):
    """The request came too slowly"""

    code = "request_timeout"
    status = 408


class TooLarge(Refused):
    """The body is larger than the service takes"""

    code = "too_large"
    status = 413


class UnsupportedMediaType(Refused):
    """The body is in a format that the service does not read"""

    code = "unsupported_media_type"
    status = 415


class RateLimited(Refused):
    """Too much was asked in too short a time"""

    code = "rate_limited"
    status = 429

    def __init__(self, detail: str, retry_after_s: float, headers: Mapping[str, str] | None = None) -> None:
        """`retry_after_s`: when there is room again, told in whole seconds. `headers`: what is told beside it."""
        self.headers = headers or {}
        self.retry_after_s = max(1, math.ceil(retry_after_s))
        super().__init__(f"{detail}: it can be sent again in {self.retry_after_s} s")


class HeadersTooLarge(Refused):
    """The request line and headers are longer than the service takes"""

    code = "headers_too_large"
    status = 431


class InternalError(Refused):
    """The service has a fault"""

    code = "internal_error"
    status = 500


class ServiceUnavailable(Refused):
    """The service cannot take the request at the moment"""

    code = "unavailable"
    status = 503


def catalogue() -> Mapping[str, tuple[type[Refused], ...]]:
    """Every class of refusal by its code, in alphabetical order; games may share a code, each with its own words."""
    found: dict[str, list[type[Refused]]] = {}
    for refusal in _below(Refused):
        found.setdefault(refusal.code, []).append(refusal)
    return {code: tuple(found[code]) for code in sorted(found)}


def _below(refusal: type[Refused]) -> Iterable[type[Refused]]:
    for sub in refusal.__subclasses__():
        yield sub
        yield from _below(sub)


def title(refusal: type[Refused]) -> str:
    """The rule, the same words for each occurrence: the first line of the class's docstring."""
    return (refusal.__doc__ or HTTPStatus(refusal.status).phrase).strip().partition("\n")[0]
