"""The API's documentation: the OpenAPI document, and Swagger UI to read it with, wholly served from here."""

import functools
import hashlib
from collections.abc import Mapping
from importlib import resources

from litestar import Litestar, Response, route
from msgspec import Struct

from api import openapi
from api.answers import json_response
from api.pages import html
from api.requests import ApiRequest
from ledger.errors import NotFound

_FOR_EVER = "public, max-age=31536000, immutable"
_DIGITS = 16


class Asset(Struct, frozen=True):
    """A file and its fingerprint, which is part of its address: another content has another address."""

    content: bytes
    media_type: str
    fingerprint: str


@functools.cache
def _assets() -> Mapping[str, Asset]:
    swagger = resources.files("mkdocs_swagger_ui_tag") / "swagger-ui"
    files = {
        "swagger-ui.css": (swagger / "stylesheets" / "swagger-ui.css", "text/css"),
        "swagger-ui-bundle.js": (swagger / "javascripts" / "swagger-ui-bundle.js", "text/javascript"),
        "start.js": (resources.files("api") / "assets" / "start.js", "text/javascript"),
    }
    return {name: _asset(file.read_bytes(), media_type) for name, (file, media_type) in files.items()}


def _asset(content: bytes, media_type: str) -> Asset:
    return Asset(content, media_type, hashlib.sha256(content).hexdigest()[:_DIGITS])


def _address(name: str) -> str:
    return f"/schema/assets/{_assets()[name].fingerprint}/{name}"


@route("/schema/openapi.json", http_method=["GET", "HEAD"], status_code=200)
async def get_openapi(request: ApiRequest) -> Response[bytes]:
    """The OpenAPI 3.1 document."""
    return json_response(_document(request.app))


@functools.lru_cache(maxsize=1)
def _document(app: Litestar) -> bytes:
    """It takes most of a second, and an application's routes do not change."""
    return openapi.document(app)


@route("/schema", http_method=["GET", "HEAD"], status_code=200)
async def get_page() -> Response[str]:
    """The page that reads it."""
    return html(
        "REST API",
        '<div id="swagger" data-document="/schema/openapi.json"></div>',
        head=f'<link rel="stylesheet" href="{_address("swagger-ui.css")}">'
        f'<script src="{_address("swagger-ui-bundle.js")}" defer></script>'
        f'<script src="{_address("start.js")}" defer></script>',
    )


@route("/schema/assets/{fingerprint:str}/{name:str}", http_method=["GET", "HEAD"], status_code=200)
async def get_asset(request: ApiRequest) -> Response[bytes]:
    """A file of the page."""
    asset = _assets().get(str(request.path_params["name"]))
    if asset is None or asset.fingerprint != request.path_params["fingerprint"]:
        raise NotFound("there is no such file: /schema links to those there are")
    return Response(asset.content, media_type=asset.media_type, headers={"cache-control": _FOR_EVER})


ROUTES = (get_openapi, get_page, get_asset)
