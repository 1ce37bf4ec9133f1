"""Where a webhook may lead to: nowhere into the network that the service itself stands in.

Addresses that are written out are refused when they are given; names when a connection is made, after they were
resolved, and the connection goes to the very address that was looked at: a name that leads elsewhere the next
moment does not help. Source: RFC 6890 and the IANA registries of special addresses, which `ipaddress` knows.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

import httpcore
from msgspec import Struct

from ledger.errors import Malformed, SkuggbokError

URL_LENGTH_MAX = 2000
CONNECT_S = 5.0
"""How long one address is tried before the next one is."""
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_PORTS = {"http": 80, "https": 443}

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host; raises OSError if there is none."""


class TargetRefused(SkuggbokError):
    """The target is an address that webhooks do not reach."""


class Target(Struct, frozen=True):
    """An address on the web, taken apart once. `authority`: as the header Host has it. `path`: with the query."""

    scheme: str
    host: str
    port: int
    authority: str
    path: str


def target_of(url: str) -> Target:
    """Raises Malformed for what is no plain http or https URL: no password, no fragment, no way to read it twice."""
    if not url.isascii() or not url.isprintable() or set(url) & set(' \\<>"^`{|}') or len(url) > URL_LENGTH_MAX:
        raise _malformed(f"be a URL of at most {URL_LENGTH_MAX} ASCII characters (names in their xn-- form)")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _malformed("be a URL") from None
    if parts.scheme not in _PORTS or "//" not in url:
        raise _malformed("begin with https:// or http://")
    if "@" in parts.netloc:
        raise _malformed("hold no name and password: requests are signed instead")
    if "#" in url:
        raise _malformed("have no #fragment, which would not be sent")
    host = parts.hostname or ""
    if not _is_host(host) or port == 0:
        raise _malformed("name a host, and a port from 1 to 65535 if any")
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], authority, path)


def require_public(target: Target) -> None:
    """Raises Malformed for an address, in whatever form, that is not public. Names are looked up when connecting."""
    name = target.host.rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        raise _refused()
    try:
        # 127.1, 0x7f000001 and 2130706433 are addresses too: whatever the system takes for one without asking DNS.
        found = socket.getaddrinfo(target.host, target.port, flags=socket.AI_NUMERICHOST, type=socket.SOCK_STREAM)
    except socket.gaierror:
        return
    if not all(map(is_public, _addresses(found))):
        raise _refused()


def _is_host(host: str) -> bool:
    if ":" not in host:
        return len(host) <= 253 and _NAME.fullmatch(host) is not None
    try:
        return IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _refused() -> Malformed:
    return _malformed("lead to a public address, unless the service is started with SKUGGBOK_WEBHOOKS_PRIVATE=allow")


def _malformed(must: str) -> Malformed:
    return Malformed(f"url must {must}", "/url")


# ---- connecting ----


def is_public(address: str) -> bool:
    """Whether anybody on the internet could mean this address: not private, loopback, link-local, multicast, ..."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved
    within = _within(parsed)
    if within is not None:
        return is_public(str(within))
    return parsed in _GLOBAL_UNICAST and parsed.is_global


def _within(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for: mapped, by NAT64 or by 6to4."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


async def resolved(host: str, port: int) -> Sequence[str]:
    """As the system resolves it. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return _addresses(found)


def _addresses(found: Iterable[tuple[object, ...]]) -> Sequence[str]:
    """Each once, in the order of preference."""
    sockaddrs = (entry[4] for entry in found)
    return list(dict.fromkeys(str(sockaddr[0]) for sockaddr in sockaddrs if isinstance(sockaddr, tuple)))


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only, or with `private` to any. The host's name still stands in TLS and `Host`."""

    def __init__(
        self,
        *,
        private: bool,
        resolve: Resolve = resolved,
        within: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._private = private
        self._resolve = resolve
        self._within = within or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's own interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Raises TargetRefused if any of the host's addresses is not public, OSError and httpcore's errors."""
        addresses = await self._resolve(host, port)
        if not self._private and not all(map(is_public, addresses)):
            raise TargetRefused(host)
        failed: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in addresses:
            try:
                return await self._within.connect_tcp(address, port, CONNECT_S, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed or httpcore.ConnectError()

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's own interface
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise TargetRefused(path)

    async def sleep(self, seconds: float) -> None:
        await self._within.sleep(seconds)
