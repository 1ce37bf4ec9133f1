"""One attempt: whatever the network does is an outcome; and the schedule of the next one."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from email.utils import formatdate

import pytest
from standardwebhooks import Webhook as Verifier

from api.webhooks import attempts, message
from api.webhooks.attempts import ATTEMPTS_MAX, WAITS_S, Delivered, Failed, Sender, retry_after_s, wait_s
from api.webhooks.message import Message
from tests.webhooks.receiver import Answer, Receiver

MESSAGE = Message("019a", b'{"sequence":"7"}')
SECRET = b"0123456789abcdef0123456789abcdef"
DAY_S = 86_400


@pytest.fixture
async def sender() -> AsyncIterator[Sender]:
    async with Sender(private=True) as made:
        yield made


def test_the_schedule_is_that_of_standard_webhooks() -> None:
    hours = [round(seconds / 3600, 2) for seconds in WAITS_S]
    assert WAITS_S[:3] == (5, 300, 1800)
    assert hours[3:] == [2, 5, 10, 14, 20, 24]
    assert [wait_s(n, 0.0) for n in range(1, ATTEMPTS_MAX)] == list(WAITS_S)
    assert wait_s(ATTEMPTS_MAX, 0.0) is None


def test_waits_are_longer_by_chance_and_never_shorter() -> None:
    for n in range(1, ATTEMPTS_MAX):
        waits = [wait_s(n, chance / 10) for chance in range(11)]
        assert waits == sorted(waits, key=lambda wait: wait or 0)
        assert waits[0] == WAITS_S[n - 1]
        assert waits[-1] == pytest.approx(1.2 * WAITS_S[n - 1])


def test_retry_after_counts_where_it_is_longer_up_to_a_day() -> None:
    assert wait_s(1, 0.0, 2) == 5
    assert wait_s(1, 0.0, 600) == 600
    assert wait_s(1, 0.0, 10 * DAY_S) == DAY_S
    assert wait_s(ATTEMPTS_MAX, 0.0, 600) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("120", 120), (" 7 ", 7), ("0", 0), ("9" * 5000, DAY_S)),
        *((formatdate(1_000_060, usegmt=True), 60), (formatdate(999_000, usegmt=True), 0)),
        *(("", None), ("soon", None), ("-5", None), ("1.5", None), ("٣", None), ("Wed, 99 Foo 2026", None)),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_s(value, 1_000_000) == seconds


def test_a_signature_is_what_the_specification_says() -> None:
    """The example of the specification's reference libraries: their own test vector."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    sent = Message("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}')
    headers = message.signed(sent, [secret], 1614265330)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_is_derived_from_a_salt_and_told_in_base64() -> None:
    """Another key, webhook or salt gives another; it is as long as the specification asks for."""
    derived = {
        message.secret_of(key, webhook, salt)
        for key in (b"k" * 32, b"K" * 32)
        for webhook in ("whk_1", "whk_2")
        for salt in (b"s" * 32, b"S" * 32)
    }
    assert len(derived) == 8
    for secret in derived:
        text = message.secret_text(secret)
        assert text.startswith("whsec_")
        assert base64.b64decode(text.removeprefix("whsec_")) == secret
        assert 24 <= len(secret) <= 64


async def test_each_secret_signs_and_the_clock_is_this_attempts(receiver: Receiver) -> None:
    async with Sender(private=True, clock=lambda: 1_800_000_000.9) as sender:
        assert await sender.attempt(receiver.url, MESSAGE, [SECRET, b"x" * 24]) == Delivered(204)
    (received,) = receiver.received
    assert received.headers["webhook-timestamp"] == "1800000000"
    assert len(received.headers["webhook-signature"].split(" ")) == 2
    assert received.headers["user-agent"].startswith("skuggbok/")
    assert received.body == MESSAGE.body


async def test_a_signature_is_of_now(receiver: Receiver, sender: Sender) -> None:
    await sender.attempt(receiver.url, MESSAGE, [SECRET])
    (received,) = receiver.received
    Verifier(SECRET).verify(received.body, dict(received.headers))


async def test_a_connection_is_used_again(receiver: Receiver, sender: Sender) -> None:
    for _ in range(5):
        assert await sender.attempt(receiver.url, MESSAGE, [SECRET]) == Delivered(204)
    assert len(sender._pool.connections) == 1


async def test_an_answer_without_end_is_not_read_to_it(
    receiver: Receiver, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict is in the status, whatever the body does."""
    monkeypatch.setattr(attempts, "_ANSWER_S", 0.05)
    for answer in (Answer(200, endless=True), Answer(200, {"content-length": "9"}, stuck=True)):
        receiver.answer = lambda received, answer=answer: answer  # type: ignore[misc]  # bound now
        assert await sender.attempt(receiver.url, MESSAGE, [SECRET]) == Delivered(200)
    assert sender._pool.connections == []


@contextlib.asynccontextmanager
async def speaking(answer: bytes) -> AsyncIterator[str]:
    """A server that says the same to everybody, and hangs up."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(answer)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200", b"\x00" * 300_000])
async def test_what_is_not_http_is_a_failure(sender: Sender, answer: bytes) -> None:
    async with speaking(answer) as address:
        outcome = await sender.attempt(f"http://{address}/", MESSAGE, [SECRET])
    assert outcome == Failed("the connection broke, or what came was not HTTP")


async def test_tls_that_fails_is_told(sender: Sender) -> None:
    async with speaking(b"HTTP/1.1 200 OK\r\n\r\n") as address:
        outcome = await sender.attempt(f"https://{address}/", MESSAGE, [SECRET])
    assert isinstance(outcome, Failed)
    assert outcome.reason == "TLS failed: no certificate that can be trusted"


async def test_nobody_there(sender: Sender) -> None:
    async with speaking(b"") as address:
        pass
    assert await sender.attempt(f"http://{address}/", MESSAGE, [SECRET]) == Failed("no connection")


async def test_a_name_that_does_not_resolve() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError

    async with Sender(private=True, resolve=resolve) as sender:
        outcome = await sender.attempt("https://nowhere.example/", MESSAGE, [SECRET])
    assert outcome == Failed("the name does not resolve")
