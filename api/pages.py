"""The few pages for people: HTML that loads nothing from anywhere else."""

from html import escape

from litestar import Response

# Nothing runs, loads or frames that is not this service's own; scripts are files, never inline.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def html(title: str, body: str, *, head: str = "") -> Response[str]:
    """A page. `title` is text, `body` and `head` are HTML."""
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)} · Skuggbok</title>{head}</head>'
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer"}
    return Response(page, media_type="text/html", headers=headers)
