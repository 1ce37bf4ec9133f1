"""The settings, from the environment. A SKUGGBOK_ variable that is not one of them is an error, not ignored."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from ledger.errors import SkuggbokError

PREFIX = "SKUGGBOK_"

_RATE = r"^(off|writes=[1-9][0-9]{0,6},reads=[1-9][0-9]{0,6})$"
_ORIGIN = r"https?://[a-z0-9.-]+(:[0-9]{1,5})?"


class SettingsError(SkuggbokError):
    """A setting is unknown or has no possible value; the message says what would be right."""


def default_data_dir() -> Path:
    """Where the embedded database lives, if nothing else is said: the user's data folder."""
    base = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_DATA_HOME")
    return Path(base or Path.home() / ".local" / "share") / "skuggbok"


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """Each field is the environment variable SKUGGBOK_ and its name in capitals.

    database_url: PostgreSQL 15 or newer, several hosts allowed; without it an embedded one runs in data_dir.
    pg_bin: a folder with PostgreSQL's programs for the embedded one. admin_token: the first admin's token.
    rate_limit: what a token of a banker, player or tool may send a second, or `off`. cors_origins: the web pages of
    others that may ask, such as `https://tools.example`, separated by commas; without it none may.
    webhooks_private: whether webhooks may lead to addresses that are not public, such as this machine's own.
    """

    database_url: str | None = None
    data_dir: Path = msgspec.field(default_factory=default_data_dir)
    pg_bin: Path | None = None
    admin_token: str | None = None
    log: Literal["debug", "info", "warning", "error"] = "info"
    rate_limit: Annotated[str, Meta(pattern=_RATE)] = "writes=100,reads=300"
    cors_origins: Annotated[str, Meta(pattern=f"^({_ORIGIN}(,{_ORIGIN})*)?$")] = ""
    webhooks_private: Literal["refuse", "allow"] = "refuse"


def read(environ: Mapping[str, str] = os.environ) -> Settings:
    """Raises SettingsError. An empty variable counts as not set."""
    given = {k.removeprefix(PREFIX).lower(): v for k, v in environ.items() if k.startswith(PREFIX) and v}
    unknown = sorted(given.keys() - set(Settings.__struct_fields__))
    if unknown:
        known = ", ".join(PREFIX + name.upper() for name in Settings.__struct_fields__)
        raise SettingsError(f"{PREFIX}{unknown[0].upper()} is no setting; there are {known}")
    if len(given.get("admin_token", "x" * 32)) < 16:
        raise SettingsError(f"{PREFIX}ADMIN_TOKEN must have 16 characters or more")
    try:
        return msgspec.convert(given, Settings, strict=False, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        field = str(error).rpartition("$.")[2].strip("`")
        raise SettingsError(f"{PREFIX}{field.upper()}: {str(error).partition(' - at')[0]}") from None
