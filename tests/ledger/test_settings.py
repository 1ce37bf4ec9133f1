"""Settings come from the environment; a mistake is said, not ignored."""

from pathlib import Path

import pytest

from ledger.settings import Settings, SettingsError, read


def test_without_any_the_embedded_database_is_in_the_users_data_folder() -> None:
    settings = read({"PATH": "/bin"})
    assert settings.database_url is None
    assert settings.data_dir.name == "skuggbok"
    assert settings.log == "info"


def test_each_field_is_a_variable() -> None:
    assert read(
        {
            "SKUGGBOK_DATABASE_URL": "postgresql://db/x",
            "SKUGGBOK_DATA_DIR": "/srv/data",
            "SKUGGBOK_PG_BIN": "/opt/pg/bin",
            "SKUGGBOK_ADMIN_TOKEN": "a-token-of-some-length",
            "SKUGGBOK_LOG": "debug",
        }
    ) == Settings("postgresql://db/x", Path("/srv/data"), Path("/opt/pg/bin"), "a-token-of-some-length", "debug")


def test_webhooks_lead_nowhere_private_unless_that_is_allowed() -> None:
    assert read({}).webhooks_private == "refuse"
    assert read({"SKUGGBOK_WEBHOOKS_PRIVATE": "allow"}).webhooks_private == "allow"
    with pytest.raises(SettingsError, match="SKUGGBOK_WEBHOOKS_PRIVATE: Invalid enum value 'yes'"):
        read({"SKUGGBOK_WEBHOOKS_PRIVATE": "yes"})


def test_an_empty_variable_is_not_set() -> None:
    assert read({"SKUGGBOK_DATABASE_URL": ""}).database_url is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SKUGGBOK_DATABSE_URL", "x", "SKUGGBOK_DATABSE_URL is no setting; there are SKUGGBOK_DATABASE_URL"),
        ("SKUGGBOK_LOG", "loud", "SKUGGBOK_LOG: Invalid enum value 'loud'"),
        ("SKUGGBOK_ADMIN_TOKEN", "short", "16 characters or more"),
        ("SKUGGBOK_RATE_LIMIT", "fast", "SKUGGBOK_RATE_LIMIT: Expected `str` matching regex"),
        ("SKUGGBOK_RATE_LIMIT", "writes=0,reads=1", "SKUGGBOK_RATE_LIMIT: Expected `str` matching regex"),
        ("SKUGGBOK_CORS_ORIGINS", "*", "SKUGGBOK_CORS_ORIGINS: Expected `str` matching regex"),
        ("SKUGGBOK_CORS_ORIGINS", "https://a.example/", "SKUGGBOK_CORS_ORIGINS: Expected `str` matching regex"),
    ],
)
def test_a_mistake_is_named(name: str, value: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as raised:
        read({name: value})
    assert value not in str(raised.value) or name != "SKUGGBOK_ADMIN_TOKEN", "a token is not shown"
