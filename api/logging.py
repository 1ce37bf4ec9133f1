"""Logging: JSON lines on stderr, one a request, without bodies, tokens or anything that is sealed.

stdout is for what people should read. Exceptions are logged by class and place: their messages may quote values.
"""

import json
import logging
import re
import secrets
import sys
import time
import traceback
from typing import Any, Literal

import msgspec
import structlog
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Send
from structlog.typing import EventDict, ExcInfo, WrappedLogger

from api.tokens import Asker
from ledger.errors import Damaged

Level = Literal["debug", "info", "warning", "error"]

_SANE_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ID_BYTES = 8
# Answers are as of now and for whoever asked alone; nothing is what its content type does not say.
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))

log = structlog.get_logger()

_encode = msgspec.json.Encoder(enc_hook=repr).encode


# ---- the form of the lines ----


def configure(level: Level) -> None:
    """To be called once, when the process starts. What libraries log gets the same form, from warnings on."""
    before: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.ExceptionRenderer(_where),
    ]
    structlog.configure(
        processors=[*before, structlog.processors.JSONRenderer(_json)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[_plain, structlog.processors.JSONRenderer(_json)], foreign_pre_chain=before
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _json(line: EventDict, **_: Any) -> str:
    """In a tenth of the time that the standard library takes, which a line for each request is worth."""
    try:
        return _encode(line).decode()
    except UnicodeEncodeError:  # the name of a folder need not be Unicode
        return json.dumps(line, default=repr)


def _plain(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """A library's line without what the standard library adds for itself."""
    return structlog.stdlib.ProcessorFormatter.remove_processors_meta(logger, name, event)


def _where(exc_info: ExcInfo) -> dict[str, Any]:
    """The class of an exception and of what caused it, and the lines it came through; no message, no value."""
    error: BaseException | None = exc_info[1]
    names, frames = [], []
    while error is not None:
        # What is damaged is the one thing that the message has to tell: a position.
        names.append(f"{error}" if isinstance(error, Damaged) else type(error).__qualname__)
        frames += [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
        error = error.__cause__ or error.__context__
    return {"raised": names, "at": frames}


# ---- one line a request ----


def request_id(scope: HTTPScope) -> str:
    """The id under which the log knows a request: its own X-Request-ID, if that is a sane one."""
    return str(scope["state"]["request_id"])


async def served(app: ASGIApp, scope: HTTPScope, receive: Receive, send: Send) -> None:
    """Answer one request: with its id on whatever is answered, without a body to HEAD, and with a line in the log."""
    id_ = _given_id(scope) or secrets.token_hex(_ID_BYTES)
    scope.setdefault("state", {})["request_id"] = id_
    id_header = (b"x-request-id", id_.encode())
    started, status = time.perf_counter(), 0

    async def sending(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = list(message["headers"])
            if scope["method"] == "OPTIONS":
                headers = [
                    (b"allow", _methods(scope)) if name == b"allow" else (name, value) for name, value in headers
                ]
            given = {name for name, _ in headers}
            message["headers"] = [*headers, id_header, *(h for h in _HEADERS if h[0] not in given)]
        elif message["type"] == "http.response.body" and scope["method"] == "HEAD":
            message["body"] = b""
        await send(message)

    bound = structlog.contextvars.bind_contextvars(request_id=id_)
    try:
        await app(scope, receive, sending)
    finally:
        _tell(scope, status, time.perf_counter() - started)
        structlog.contextvars.reset_contextvars(**bound)


def _methods(scope: HTTPScope) -> bytes:
    """What the path can be asked. The framework itself names only the handler that was registered first."""
    routes = [route for route in scope["litestar_app"].routes if route.path_format == scope["path_template"]]
    methods = {method for route in routes if isinstance(route, HTTPRoute) for method in route.methods}
    return ", ".join(sorted(methods)).encode()


def _given_id(scope: HTTPScope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _SANE_ID.fullmatch(value):
            return value.decode()
    return None


def _tell(scope: HTTPScope, status: int, seconds: float) -> None:
    """`route` is the template of the path, null for a path that there is none for. `status` 0: nobody was answered."""
    if not log.is_enabled_for(logging.INFO):
        return
    asker = scope.get("auth")
    who = {"larp": asker.larp, "role": asker.role, "token": asker.token} if isinstance(asker, Asker) else {}
    log.info(
        "request",
        method=scope["method"],
        route=scope.get("path_template"),
        status=status,
        duration_ms=round(seconds * 1000, 2),
        **who,
    )
