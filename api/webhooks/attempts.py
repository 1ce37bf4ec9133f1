"""One attempt to deliver one event, what came of it, and how long to wait before the next.

Source: Standard Webhooks 1.0, "Operational considerations".
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from importlib import metadata

import httpcore
from msgspec import Struct

from api.webhooks import message as messages
from api.webhooks.message import Message
from api.webhooks.targets import GuardedBackend, Resolve, TargetRefused, resolved, target_of

ATTEMPT_S = 15.0
"""How long resolving, connecting, sending and waiting for the answer may take together."""
WAITS_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h: after the first, second, ... failed attempt of an event."""
ATTEMPTS_MAX = len(WAITS_S) + 1
"""After as many, over three days and three hours, a webhook is switched off; its position stays."""
JITTER = 0.2
"""Waits are longer by up to this part of themselves, so that those that failed together do not return together."""
RETRY_AFTER_MAX_S = 86_400.0
ANSWER_BYTES_MAX = 16_384
"""What is read of an answer's body, only to use the connection again; nobody looks at it."""
_ANSWER_S = 2.0
_IDLE_S = 2.0

Clock = Callable[[], float]


class Delivered(Struct, frozen=True, tag=True):
    """The receiver answered with 2xx: it has the event."""

    status_code: int


class Failed(Struct, frozen=True, tag=True):
    """It is not known to have it. `reason` quotes nothing that was sent or answered. `gone`: it wants no more."""

    reason: str
    status_code: int | None = None
    retry_after_s: float | None = None
    gone: bool = False


Outcome = Delivered | Failed


def wait_s(attempts: int, chance: float, retry_after_s: float | None = None) -> float | None:
    """How long to wait after as many failed attempts; None: it has failed often enough.

    `chance`: from 0 to 1. The receiver's own Retry-After counts where it is longer, up to a day.
    """
    if attempts >= ATTEMPTS_MAX:
        return None
    own = WAITS_S[attempts - 1] * (1 + JITTER * chance)
    return max(own, min(retry_after_s or 0.0, RETRY_AFTER_MAX_S))


class Sender:
    """Use it with `async with`. It follows no redirects, takes no cookies, and goes through no proxy."""

    def __init__(self, *, private: bool, resolve: Resolve = resolved, clock: Clock = time.time) -> None:
        self._clock = clock
        self._headers = {"content-type": messages.MEDIA_TYPE, "user-agent": f"skuggbok/{_version()}"}
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpcore.default_ssl_context(),
            network_backend=GuardedBackend(private=private, resolve=resolve),
            max_connections=None,
            keepalive_expiry=_IDLE_S,
        )

    async def __aenter__(self) -> "Sender":
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._pool.aclose()

    async def attempt(self, url: str, message: Message, secrets: Sequence[bytes]) -> Outcome:
        """Send an event once. Whatever the network does is an outcome, and nothing is raised."""
        headers = {**self._headers, **messages.signed(message, secrets, int(self._clock()))}
        try:
            async with asyncio.timeout(ATTEMPT_S):
                return await self._post(url, headers, message.body)
        except TimeoutError:
            return Failed(f"no answer within {ATTEMPT_S:.0f} s")
        except TargetRefused:
            return Failed("the name leads to an address that is not public")
        except httpcore.TimeoutException:
            return Failed("no connection could be made in time")
        except httpcore.ConnectError as error:
            return Failed("TLS failed: no certificate that can be trusted" if _is_tls(error) else "no connection")
        except (httpcore.NetworkError, httpcore.ProtocolError):
            return Failed("the connection broke, or what came was not HTTP")
        except OSError:
            return Failed("the name does not resolve")

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        target = target_of(url)
        address = httpcore.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
        )
        sent = [("host", target.authority), ("content-length", str(len(body))), *headers.items()]
        async with self._pool.stream("POST", address, headers=sent, content=body) as response:
            outcome = _outcome(response, self._clock())
            with suppress(TimeoutError, httpcore.NetworkError, httpcore.ProtocolError):
                async with asyncio.timeout(_ANSWER_S):
                    await _drained(response)
            return outcome


async def _drained(response: httpcore.Response) -> None:
    """The verdict is in the status: a body that never ends, or breaks, changes nothing."""
    size = 0
    async for chunk in response.aiter_stream():
        size += len(chunk)
        if size > ANSWER_BYTES_MAX:
            return


def _outcome(response: httpcore.Response, now: float) -> Outcome:
    status = response.status
    if 200 <= status < 300:
        return Delivered(status)
    if status == 410:
        return Failed("it is gone: the answer was 410", status, gone=True)
    after = next((value for name, value in response.headers if name.lower() == b"retry-after"), b"")
    what = f"the answer was {status}" + (", and redirects are not followed" if 300 <= status < 400 else "")
    return Failed(what, status, retry_after_s(after.decode("latin-1"), now))


def retry_after_s(value: str, now: float) -> float | None:
    """RFC 9110, 10.2.3: seconds, or a date; None for neither."""
    text = value.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:10]), RETRY_AFTER_MAX_S)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)


def _is_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _version() -> str:
    """Of the distribution; a source tree that was never installed has none."""
    try:
        return metadata.version("skuggbok")
    except metadata.PackageNotFoundError:
        return "0"
