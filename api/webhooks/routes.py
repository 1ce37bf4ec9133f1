"""Webhooks: where a LARP's events are sent to, for its organisers to make, change, watch and end."""

from litestar import Response
from litestar.params import JSONBody

from api import conditions
from api.answers import Items, Page, listed
from api.operations import reads, removes, writes
from api.requests import ApiRequest
from api.webhooks import store
from api.webhooks.model import MadeWebhook, NewWebhook, Replay, Rotation, TooManyWebhooks, Webhook, WebhookChange
from api.webhooks.store import Keeper
from ledger.errors import IdempotencyMismatch, NotFound, UnknownPosition
from ledger.messages import Role

_ROLES: tuple[Role, ...] = ("organiser",)
_PATH = "/larps/{larp:str}/webhooks"
_ONE = _PATH + "/{webhook:str}"


@writes(
    _PATH,
    tag="Webhooks",
    roles=_ROLES,
    refuses=(UnknownPosition, TooManyWebhooks, IdempotencyMismatch),
    is_conditional=False,
)
async def create_webhook(request: ApiRequest, data: JSONBody[NewWebhook]) -> MadeWebhook:
    """Have the events of this LARP sent to a URL.

    Each is sent as a CloudEvent in a request of its own, signed by Standard Webhooks, in the order of the journal, at
    least once, beginning with the next that is recorded, or at `from_position`. `secret` is shown this once. The URL
    must lead to a public address, whenever a connection is made, unless the service allows private ones.
    """
    once, keeper = await conditions.once(request), await _keeper(request)
    async with request.services.database.connection() as connection:
        made, before = await keeper.create(connection, request.slug_of_larp, data, once)
    conditions.mark(request, replayed=before)
    return made


@reads(_PATH, tag="Webhooks", roles=_ROLES, query=Page)
async def list_webhooks(request: ApiRequest) -> Response[Items[Webhook]]:
    """List the webhooks of this LARP and how each of them goes, the oldest first."""
    page = request.query_as(Page)
    async with request.services.database.connection() as connection:
        rows = await store.listed(connection, request.slug_of_larp, page.after, page.fetched)
    return listed(request, rows, page.limit, lambda webhook: webhook.id)


@reads(_ONE, tag="Webhooks", roles=_ROLES, refuses=(NotFound,))
async def get_webhook(request: ApiRequest) -> Webhook:
    """Read a webhook: how far it is, what arrived last, what failed last and why, and when it is tried again."""
    id_ = request.slug("webhook", NotFound)
    async with request.services.database.connection() as connection:
        return await store.one(connection, request.slug_of_larp, id_)


@writes(_ONE, method="PATCH", tag="Webhooks", roles=_ROLES, refuses=(NotFound,), is_conditional=False)
async def change_webhook(request: ApiRequest, data: JSONBody[WebhookChange]) -> Webhook:
    """Change where a webhook leads to, what it sends, or whether it does.

    What is not named stays. Whatever is changed, the next attempt is made at once. A webhook that is switched on again
    goes on where it had stopped.
    """
    id_, keeper = request.slug("webhook", NotFound), await _keeper(request)
    async with request.services.database.connection() as connection:
        return await keeper.change(connection, request.slug_of_larp, id_, data)


@removes(_ONE, tag="Webhooks", roles=_ROLES, refuses=(NotFound,))
async def delete_webhook(request: ApiRequest) -> None:
    """End a webhook for good. An attempt that is under way may still arrive."""
    id_ = request.slug("webhook", NotFound)
    async with request.services.database.connection() as connection:
        await store.delete(connection, request.slug_of_larp, id_)


@writes(
    _ONE + "/rotate-secret",
    tag="Webhooks",
    roles=_ROLES,
    refuses=(NotFound, IdempotencyMismatch),
    is_conditional=False,
)
async def rotate_webhook_secret(request: ApiRequest, data: JSONBody[Rotation]) -> MadeWebhook:
    """Make a new secret, which is shown this once.

    For `overlap_s` seconds (a day if left out) requests have a signature by each earlier secret too, so that receivers
    can change over without missing any; of many the newest four.
    """
    id_, once, keeper = request.slug("webhook", NotFound), await conditions.once(request), await _keeper(request)
    async with request.services.database.connection() as connection:
        made, before = await keeper.rotate(connection, request.slug_of_larp, id_, data, once)
    conditions.mark(request, replayed=before)
    return made


@writes(
    _ONE + "/replay",
    tag="Webhooks",
    roles=_ROLES,
    refuses=(NotFound, UnknownPosition),
    is_conditional=False,
)
async def replay_webhook(request: ApiRequest, data: JSONBody[Replay]) -> Webhook:
    """Send events again, from a position on, at once.

    They have the ids that they had, so a receiver that tells repetitions by the id has to let them in.
    """
    id_ = request.slug("webhook", NotFound)
    async with request.services.database.connection() as connection:
        return await store.replay(connection, request.slug_of_larp, id_, data)


async def _keeper(request: ApiRequest) -> Keeper:
    services = request.services
    return Keeper(await services.writers.secret_key(), services.settings.webhooks_private == "allow")


ROUTES = (
    create_webhook,
    list_webhooks,
    get_webhook,
    change_webhook,
    delete_webhook,
    rotate_webhook_secret,
    replay_webhook,
)
