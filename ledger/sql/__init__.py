"""SQL lives in .sql files: blocks that begin with `-- name: NAME`, followed by a line of comment and the query."""

import re
from collections.abc import Mapping
from importlib import resources

_BLOCK = re.compile(r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)", re.MULTILINE | re.DOTALL)


def load(package: str, file: str) -> Mapping[str, str]:
    """The queries of a file in `package`, by name."""
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    return {name: _without_comments(query) for name, query in _BLOCK.findall(text)}


def _without_comments(query: str) -> str:
    lines = (line for line in query.splitlines() if not line.lstrip().startswith("--"))
    return "\n".join(lines).strip().rstrip(";")
