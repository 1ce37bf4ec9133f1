"""What the log tells of deliveries, and what it must not."""

from collections.abc import Iterator

import pytest
import structlog
from structlog.testing import LogCapture

from api.webhooks import delivery
from api.webhooks.model import NewWebhook
from tests.ledger.test_writer import ACTOR, transfer
from tests.webhooks.conftest import Hooks
from tests.webhooks.receiver import Answer, Receiver


@pytest.fixture
def lines() -> Iterator[list[object]]:
    capture = LogCapture()
    before = structlog.get_config()
    structlog.configure(processors=[capture], cache_logger_on_first_use=False)
    yield capture.entries  # type: ignore[misc]  # a list of dicts is a list of objects
    structlog.configure(**before)


async def test_the_log_tells_that_it_failed_and_no_secret(
    hooks: Hooks, receiver: Receiver, lines: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "log", structlog.get_logger())
    made = await hooks.create(NewWebhook(url=receiver.url + "/canary-of-the-url"))
    receiver.answer = lambda received: Answer(500, {"x-canary": "canary-of-the-headers"}, endless=True)
    await hooks.writers.submit("north", transfer(), ACTOR)
    async with hooks.delivering():
        await hooks.until(made.id, lambda webhook: webhook.attempts == 1)
    (line,) = [line for line in lines if isinstance(line, dict) and line["event"] == "webhook_failed"]
    assert line == {
        **{"event": "webhook_failed", "log_level": "warning", "larp": "north", "webhook": made.id},
        **{"position": 7, "attempts": 1, "reason": "the answer was 500", "switched_off": None},
    }
    assert "canary" not in str(lines)
    assert made.secret.removeprefix("whsec_") not in str(lines)
