"""Where webhooks may lead: nowhere into the service's own network, by whatever name or spelling."""

from collections.abc import Iterable, Sequence

import httpcore
import pytest

from api.webhooks.attempts import Failed, Sender
from api.webhooks.message import Message
from api.webhooks.targets import GuardedBackend, TargetRefused, is_public, require_public, target_of
from ledger.errors import Malformed
from tests.webhooks.receiver import Receiver

PUBLIC = "93.184.215.14"


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "64:ff9b::8.8.8.8"])
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"),
        *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1", "fec0::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1"),
        *("64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1"),
        *("2001:0:a9fe:a9fe::1", "100::1", "5f00::1"),
    ],
)
def test_addresses_that_are_not(address: str) -> None:
    """Private, shared, loopback, link-local, documentation, multicast, reserved; and all of them within IPv6."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "https://tool.example/hook",
            "http://tool.example",
            "https://tool.example:8443/a?b=c&d=%20",
            "HTTPS://T.example",
        ),
        *(
            f"https://{PUBLIC}/",
            "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:8443/x",
            "https://xn--tken-qoa.example/",
        ),
    ],
)
def test_urls_that_are_taken(url: str) -> None:
    require_public(target_of(url))


@pytest.mark.parametrize(
    "url",
    [
        *("", "tool.example", "/hook", "ftp://tool.example", "file:///etc/passwd", "gopher://x", "javascript:alert(1)"),
        *("https:tool.example", "https://", "https:///x", "https://user@tool.example", "https://a:b@tool.example/"),
        *(
            "https://tool.example/#x",
            "https://tool.example:0/",
            "https://tool.example:65536/",
            "https://tool.example:x/",
        ),
        *(
            "https://tool example/",
            "https://tool.example/\n",
            "https://tool.example\\@127.0.0.1/",
            "https://tøken.example",
        ),
        *(
            "https://tool.example/\x00",
            "https://[::1",
            "https://[fe80::1%25eth0]/",
            "https://-a.example",
            "https://a..b",
        ),
        *(
            "https://" + "a" * 254,
            "https://tool.example/" + "a" * 2000,
            "https://%31%32%37.0.0.1/",
            "unix:///tmp/socket",
        ),
    ],
)
def test_what_is_no_plain_url(url: str) -> None:
    with pytest.raises(Malformed) as raised:
        target_of(url)
    assert raised.value.pointer == "/url"
    assert raised.value.detail.startswith("url must ")


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST", "localhost.", "db.localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001"),
        *("0177.0.0.1", "0", "10.0.0.1", "192.168.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "[fd00::1]"),
    ],
)
def test_an_address_that_is_written_out_is_refused_at_once(host: str) -> None:
    with pytest.raises(Malformed, match="public address") as raised:
        require_public(target_of(f"https://{host}/hook"))
    assert raised.value.pointer == "/url"


class Connecting(httpcore.AsyncNetworkBackend):
    """Remembers where it was to connect to, and does not."""

    def __init__(self) -> None:
        self.addresses: list[tuple[str, int]] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore's own interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.addresses.append((host, port))
        if len(self.addresses) == 1:
            raise httpcore.ConnectError
        return httpcore.AsyncMockStream([])


def resolving(*answers: Sequence[str]) -> tuple[list[str], GuardedBackend, Connecting]:
    """A backend for which the name leads elsewhere each time it is asked for."""
    asked, remaining, connecting = [], list(answers), Connecting()

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return remaining.pop(0)

    return asked, GuardedBackend(private=False, resolve=resolve, within=connecting), connecting


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    """A name that leads elsewhere the next moment is asked once; of its addresses the next one is tried."""
    asked, backend, connecting = resolving([PUBLIC, "8.8.8.8"], ["127.0.0.1"])
    await backend.connect_tcp("rebinding.example", 443)
    assert asked == ["rebinding.example"]
    assert connecting.addresses == [(PUBLIC, 443), ("8.8.8.8", 443)]
    with pytest.raises(TargetRefused):
        await backend.connect_tcp("rebinding.example", 443)
    assert len(connecting.addresses) == 2, "nothing was connected to"


@pytest.mark.parametrize("addresses", [["10.0.0.1"], [PUBLIC, "10.0.0.1"], ["::ffff:7f00:1"], ["fe80::1%1"]])
async def test_a_name_with_any_address_that_is_not_public_is_refused(addresses: list[str]) -> None:
    _, backend, connecting = resolving(addresses)
    with pytest.raises(TargetRefused):
        await backend.connect_tcp("inside.example", 80)
    assert connecting.addresses == []


async def test_nothing_but_tcp() -> None:
    with pytest.raises(TargetRefused):
        await GuardedBackend(private=True).connect_unix_socket("/var/run/docker.sock")


async def test_a_name_that_leads_inside_is_an_attempt_that_fails(receiver: Receiver) -> None:
    """The receiver is there, on loopback, and hears nothing; where private targets are allowed it does."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    url = receiver.url.replace("127.0.0.1", "inside.example")
    for private in (False, True):
        async with Sender(private=private, resolve=resolve) as sender:
            outcome = await sender.attempt(url, Message("id", b'{"sequence":"1"}'), [b"x"])
            if not private:
                assert outcome == Failed("the name leads to an address that is not public")
                assert receiver.received == []
    assert receiver.received[0].headers["host"] == url.split("/")[2], "the name, as it was given"
