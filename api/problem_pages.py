"""The pages that the `type` of a problem leads to: what each code means, from the words of its class."""

from html import escape
from http import HTTPStatus

from litestar import Response, route

from api.errors import catalogue, title
from api.pages import html
from api.problems import type_of
from api.requests import ApiRequest
from ledger.errors import NotFound, Refused


@route("/problems", http_method=["GET", "HEAD"], status_code=200)
async def list_problems() -> Response[str]:
    """Every code there is."""
    items = "".join(
        f'<li><a href="{type_of(code)}"><code>{code}</code></a> {_sentences(kinds)}</li>'
        for code, kinds in catalogue().items()
    )
    return html("Problems", f"<p>Why a request may not be carried out.</p><ul>{items}</ul>")


@route("/problems/{code:str}", http_method=["GET", "HEAD"], status_code=200)
async def get_problem(request: ApiRequest) -> Response[str]:
    """What one code means."""
    code = str(request.path_params["code"])
    kinds = catalogue().get(code)
    if kinds is None:
        raise NotFound(f"there is no problem {code[:64]!r}: /problems has all")
    statuses = ", ".join(f"{status} {HTTPStatus(status).phrase}" for status in sorted({kind.status for kind in kinds}))
    more = "".join(f"<p>{escape(text)}</p>" for kind in kinds if (text := _more(kind)))
    return html(
        code,
        f"<p>{_sentences(kinds)}</p>{more}<p>HTTP status {statuses}. The <code>detail</code> of each answer says what"
        ' would have been right.</p><p><a href="/problems">All problems</a></p>',
    )


def _sentences(kinds: tuple[type[Refused], ...]) -> str:
    return escape(" / ".join(f"{title(kind)}." for kind in kinds))


def _more(kind: type[Refused]) -> str:
    """What the docstring says after its first line."""
    return (kind.__doc__ or "").strip().partition("\n")[2].strip()


ROUTES = (list_problems, get_problem)
