"""Who may do what, for every route and every role; and in which order a request is refused."""

from collections.abc import Mapping
from typing import Any

import pytest
from litestar import Litestar

from api.openapi import operations
from tests.api.support import BASE, NORTH, Api, problem

EVERYBODY = ("admin", "organiser", "banker", "keeper", "tool", "alva")
OPENING = {"game": "skuggkast", "seats": ["alva", "berit"], "stake": {"asset": "krona", "amount": 1}}
NOTE = {"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 1}

# operation: method, path, body, who may. A body stands for a request of alva's own. Source: design/API.md.
MATRIX: Mapping[str, tuple[str, str, Any, tuple[str, ...]]] = {
    "list_larps": ("GET", f"{BASE}/larps", None, EVERYBODY),
    "get_larp": ("GET", NORTH, None, EVERYBODY),
    "create_larp": ("POST", f"{BASE}/larps", {"larp": "new", "name": "New"}, ("admin",)),
    "list_tokens": ("GET", f"{NORTH}/tokens", None, ("admin", "organiser")),
    "create_token": ("POST", f"{NORTH}/tokens", {"role": "tool", "label": "x"}, ("admin", "organiser")),
    "revoke_token": ("DELETE", f"{NORTH}/tokens/tok_none", None, ("admin", "organiser")),
    "list_assets": ("GET", f"{NORTH}/assets", None, EVERYBODY[1:]),
    "create_asset": ("POST", f"{NORTH}/assets", {"asset": "a", "kind": "token", "name": "A"}, ("organiser",)),
    "list_characters": ("GET", f"{NORTH}/characters", None, EVERYBODY[1:]),
    "create_character": ("POST", f"{NORTH}/characters", {"character": "dana", "name": "Dana"}, ("organiser",)),
    "change_character": ("PATCH", f"{NORTH}/characters/alva", {"name": "Alva"}, ("organiser",)),
    "list_purses": ("GET", f"{NORTH}/purses", None, ("organiser", "banker", "tool")),
    "get_purse": ("GET", f"{NORTH}/purses/alva", None, ("organiser", "banker", "tool", "alva")),
    "get_statement": ("GET", f"{NORTH}/purses/alva/statement", None, ("organiser", "banker", "tool", "alva")),
    "run_commands": ("POST", f"{NORTH}/commands", None, ("organiser", "banker", "keeper", "alva")),
    "create_grant": ("POST", f"{NORTH}/grants", {"to": "alva", "asset": "krona", "amount": 1}, ("organiser",)),
    "create_collection": (
        "POST",
        f"{NORTH}/collections",
        {"from": "alva", "asset": "krona", "amount": 1},
        ("organiser",),
    ),
    "create_transfer": (
        "POST",
        f"{NORTH}/transfers",
        {"from": "alva", "to": "berit", "asset": "krona", "amount": 1},
        ("organiser", "banker", "alva"),
    ),
    "create_iou": ("POST", f"{NORTH}/ious", NOTE, ("organiser", "banker", "alva")),
    "create_settlement": ("POST", f"{NORTH}/settlements", NOTE, ("organiser", "banker", "alva")),
    "create_forgival": (
        "POST",
        f"{NORTH}/forgivals",
        {"debtor": "berit", "creditor": "alva", "asset": "krona", "amount": 1},
        ("organiser", "banker", "alva"),
    ),
    "create_assignment": (
        "POST",
        f"{NORTH}/assignments",
        {"debtor": "berit", "from": "alva", "to": "cato", "asset": "krona", "amount": 1},
        ("organiser", "banker", "alva"),
    ),
    "list_debts": ("GET", f"{NORTH}/debts", None, ("organiser", "banker", "tool", "alva")),
    "create_reversal": ("POST", f"{NORTH}/reversals", {"position": 1, "reason": "x"}, ("organiser",)),
    "open_table": ("POST", f"{NORTH}/tables", OPENING | {"table": "t"}, ("organiser", "keeper")),
    "list_tables": ("GET", f"{NORTH}/tables", None, ("organiser", "keeper", "tool", "alva")),
    "get_table": ("GET", f"{NORTH}/tables/none", None, ("organiser", "keeper", "tool", "alva")),
    "act": (
        "POST",
        f"{NORTH}/tables/none/actions",
        {"action": "roll_off", "seat": "alva"},
        ("organiser", "keeper", "alva"),
    ),
    "void_table": ("POST", f"{NORTH}/tables/none/void", {"reason": "x"}, ("organiser",)),
    "list_sealed": ("GET", f"{NORTH}/tables/none/sealed", None, ("organiser", "alva")),
    "list_rounds": ("GET", f"{NORTH}/tables/none/rounds", None, ("organiser", "keeper", "tool", "alva")),
    "list_lids": ("GET", f"{NORTH}/tables/none/lids", None, ("organiser", "keeper", "tool", "alva")),
    "list_table_dice": ("GET", f"{NORTH}/tables/none/dice", None, ("organiser", "keeper", "tool", "alva")),
    "list_dice": ("GET", f"{NORTH}/dice", None, ("organiser", "keeper", "tool", "alva")),
    "list_events": ("GET", f"{NORTH}/events", None, ("organiser", "tool")),
    "get_event": ("GET", f"{NORTH}/events/1", None, ("organiser", "tool")),
    "get_audit": ("GET", f"{NORTH}/audit", None, ("organiser",)),
    "get_checkpoint": ("GET", f"{NORTH}/checkpoint", None, EVERYBODY[1:]),
    "prove_event": ("GET", f"{NORTH}/events/1/proof", None, EVERYBODY[1:]),
    "export_journal": ("GET", f"{NORTH}/exports/journal.ndjson", None, ("organiser", "tool")),
    "export_journal_csv": ("GET", f"{NORTH}/exports/journal.csv", None, ("organiser", "tool")),
    "export_hledger": ("GET", f"{NORTH}/exports/hledger", None, ("organiser", "tool")),
    "export_beancount": ("GET", f"{NORTH}/exports/beancount", None, ("organiser", "tool")),
    "create_webhook": ("POST", f"{NORTH}/webhooks", {"url": "https://tool.example/hook"}, ("organiser",)),
    "list_webhooks": ("GET", f"{NORTH}/webhooks", None, ("organiser",)),
    "get_webhook": ("GET", f"{NORTH}/webhooks/whk_none", None, ("organiser",)),
    "change_webhook": ("PATCH", f"{NORTH}/webhooks/whk_none", {"enabled": False}, ("organiser",)),
    "delete_webhook": ("DELETE", f"{NORTH}/webhooks/whk_none", None, ("organiser",)),
    "rotate_webhook_secret": ("POST", f"{NORTH}/webhooks/whk_none/rotate-secret", {}, ("organiser",)),
    "replay_webhook": ("POST", f"{NORTH}/webhooks/whk_none/replay", {"from_position": 1}, ("organiser",)),
    "export_statement": (
        "GET",
        f"{NORTH}/purses/alva/statement.csv",
        None,
        ("organiser", "banker", "tool", "alva"),
    ),
}
IN_LARP = {name: cell for name, cell in MATRIX.items() if cell[1].startswith(NORTH)}


def test_every_route_stands_in_the_matrix(app: Litestar) -> None:
    guarded = {each.id for each in operations(app) if each.operation.access is not None}
    assert guarded == set(MATRIX)


async def test_each_role_is_let_in_or_not_as_the_contract_says(api: Api) -> None:
    """Whoever may gets anything but 401 and 403; whoever may not gets 403, and nothing happens."""
    wrong = []
    for name, (method, path, body, may) in MATRIX.items():
        for who in EVERYBODY:
            before = await api.head()
            answer = await api.call(method, path, who, body)
            if (answer.status_code == 403) == (who in may):
                wrong.append(f"{name} as {who}: {answer.status_code} {answer.text}")
            if answer.status_code == 403:
                assert problem(answer) == (403, "forbidden")
                assert await api.head() == before
    assert not wrong, "\n".join(wrong)


async def test_without_a_valid_token_every_route_is_401(api: Api) -> None:
    """None, nonsense, another scheme, an expired and a revoked token are told apart by nobody."""
    expired = {"role": "organiser", "label": "expired", "expires_at": "2020-01-01T00:00:00Z"}
    api.tokens["expired"] = await api.token(expired)
    made = await api.ok("POST", f"{NORTH}/tokens", "organiser", {"role": "organiser", "label": "revoked"})
    api.tokens["revoked"] = made["token"]
    assert (await api.call("GET", NORTH, "revoked")).is_success
    await api.ok("DELETE", f"{NORTH}/tokens/{made['id']}", "organiser")
    api.tokens |= {"nonsense": "skb_nonsense", "long": "x" * 5000, "empty": ""}
    details = set()
    for name, (method, path, body, _) in MATRIX.items():
        for who in (None, "expired", "revoked", "nonsense", "long", "empty"):
            answer = await api.call(method, path, who, body)
            assert problem(answer) == (401, "unauthenticated"), f"{name} as {who}"
            assert answer.headers["www-authenticate"] == "Bearer"
            details.add(answer.json()["detail"])
    for value in ("Basic eDp5", f"Token {api.tokens['organiser']}", api.tokens["organiser"], "Bearer", "bearer  "):
        answer = await api.call("GET", NORTH, None, headers={"authorization": value})
        assert problem(answer) == (401, "unauthenticated"), value
        details.add(answer.json()["detail"])
    assert len(details) == 1


async def test_the_scheme_is_read_in_any_case(api: Api) -> None:
    answer = await api.call("GET", NORTH, None, headers={"authorization": f"bEARER {api.tokens['tool']}"})
    assert answer.is_success


async def test_another_larp_is_as_if_it_did_not_exist(api: Api) -> None:
    """Before anything but 401, and in the same words as for a LARP that there is not."""
    for name, (method, path, body, _) in IN_LARP.items():
        for content in (body, {"broken": True}):
            foreign = await api.call(method, path, "stranger", content)
            nowhere = await api.call(method, path.replace("/north", "/nowhere"), "stranger", content)
            assert problem(foreign) == (404, "unknown_larp"), name
            assert foreign.json() == nowhere.json() | {"detail": nowhere.json()["detail"].replace("nowhere", "north")}


async def test_an_admin_does_nothing_inside_a_larp_that_is_not_there_either(api: Api) -> None:
    assert problem(await api.call("GET", f"{BASE}/larps/nowhere/purses", "admin")) == (403, "forbidden")
    assert problem(await api.call("GET", f"{BASE}/larps/nowhere/tokens", "admin")) == (404, "unknown_larp")
    body = {"role": "tool", "label": "x"}
    assert problem(await api.call("POST", f"{BASE}/larps/nowhere/tokens", "admin", body)) == (404, "unknown_larp")
    assert problem(await api.call("GET", f"{BASE}/larps/%00/tokens", "admin")) == (404, "unknown_larp")


async def test_a_larps_token_lists_its_own_larp_only(api: Api) -> None:
    own = await api.ok("GET", f"{BASE}/larps", "banker")
    everything = await api.ok("GET", f"{BASE}/larps", "admin")
    assert [larp["larp"] for larp in own["items"]] == ["north"]
    assert [larp["larp"] for larp in everything["items"]] == ["north", "south"]


FOREIGN = [
    ("transfers", {"from": "berit", "to": "alva", "asset": "krona", "amount": 1}),
    ("ious", {"debtor": "berit", "creditor": "alva", "asset": "krona", "amount": 1}),
    ("settlements", {"debtor": "berit", "creditor": "alva", "asset": "krona", "amount": 1}),
    ("forgivals", {"debtor": "alva", "creditor": "berit", "asset": "krona", "amount": 1}),
    ("assignments", {"debtor": "alva", "from": "berit", "to": "cato", "asset": "krona", "amount": 1}),
]


@pytest.mark.parametrize(("path", "body"), FOREIGN)
async def test_a_player_acts_for_its_own_character_only(api: Api, path: str, body: Mapping[str, Any]) -> None:
    before = await api.head()
    assert problem(await api.call("POST", f"{NORTH}/{path}", "alva", body)) == (403, "forbidden")
    malformed = {**body, "amount": "much", "unknown": 1}
    assert problem(await api.call("POST", f"{NORTH}/{path}", "alva", malformed)) == (403, "forbidden"), "403 before 400"
    assert await api.head() == before


async def test_what_is_not_there_to_judge_by_is_malformed(api: Api) -> None:
    """A transfer without `from` is nobody's; broken JSON says nothing about who is meant."""
    for content in (b"{}", b"[]", b"{", b'{"from":5}', b'{"from":null}', b"null", b'"alva"', b"[" * 100_000):
        answer = await api.call("POST", f"{NORTH}/transfers", "alva", content=content)
        assert problem(answer) == (400, "malformed"), content[:20]


async def test_of_two_equal_keys_neither_lets_a_player_in(api: Api) -> None:
    """Whichever of them a decoder believed, it must not be berit's money that moves."""
    before = await api.head()
    for names in (("alva", "berit"), ("berit", "alva")):
        content = b'{"from":"%b","from":"%b","to":"cato","asset":"krona","amount":1}' % tuple(map(str.encode, names))
        answer = await api.call("POST", f"{NORTH}/transfers", "alva", content=content)
        assert problem(answer) in [(400, "malformed"), (403, "forbidden")]
    assert await api.head() == before


async def test_a_player_acts_with_its_own_seat_and_never_without_one(api: Api) -> None:
    await api.ok("POST", f"{NORTH}/tables", "keeper", OPENING | {"table": "t", "dice": "service"})
    actions = f"{NORTH}/tables/t/actions"
    for body in ({"action": "roll_off", "seat": "berit"}, {"action": "accept"}, {"action": "nonsense"}, {}):
        assert problem(await api.call("POST", actions, "alva", body)) == (403, "forbidden"), body
    assert problem(await api.call("POST", actions, "cato", {"action": "roll_off", "seat": "cato"})) == (
        409,
        "not_seated",
    )
    await api.ok("POST", actions, "alva", {"action": "roll_off", "seat": "alva"})
    await api.ok("POST", actions, "keeper", {"action": "roll_off", "seat": "berit"})


async def test_a_player_reads_its_own_purse_only(api: Api) -> None:
    for path in ("purses/berit", "purses/berit/statement", "purses/nobody", "purses/%00"):
        assert problem(await api.call("GET", f"{NORTH}/{path}", "alva")) == (403, "forbidden"), path
    assert (await api.ok("GET", f"{NORTH}/purses/alva", "alva"))["balances"] == {"krona": 50}


async def test_a_player_sees_no_other_characters_credit_limit(api: Api) -> None:
    seen = (await api.ok("GET", f"{NORTH}/characters", "alva"))["items"]
    assert [("credit_limit" in item) for item in seen] == [True, False, False]
    everything = (await api.ok("GET", f"{NORTH}/characters", "banker"))["items"]
    assert all(item["credit_limit"] == {"krona": 100} for item in everything)


async def test_a_keeper_reads_the_purses_of_those_who_sit_at_an_open_table(api: Api) -> None:
    """What its seats can cover, and only as long as they are its seats."""
    purse = f"{NORTH}/purses/alva"
    assert problem(await api.call("GET", purse, "keeper")) == (403, "forbidden")
    await api.ok("POST", f"{NORTH}/tables", "keeper", OPENING | {"table": "t", "dice": "service"})
    assert (await api.ok("GET", purse, "keeper"))["balances"] == {"krona": 49}
    for path in ("purses/cato", "purses/nobody", "purses/%00", "purses/alva/statement"):
        assert problem(await api.call("GET", f"{NORTH}/{path}", "keeper")) == (403, "forbidden"), path
    await api.ok("POST", f"{NORTH}/tables/t/void", "organiser", {"reason": "over"})
    assert problem(await api.call("GET", purse, "keeper")) == (403, "forbidden")


async def test_only_an_admin_makes_admin_tokens(api: Api) -> None:
    body = {"role": "admin", "label": "x"}
    assert problem(await api.call("POST", f"{NORTH}/tokens", "organiser", body)) == (403, "forbidden")
    api.tokens["second"] = await api.token(body)
    assert (await api.call("GET", f"{BASE}/larps", "second")).json()["items"][1]["larp"] == "south"


async def test_the_order_of_refusals(api: Api) -> None:
    """401, 403, 400, 404, 409: each hides those behind it."""
    path, rules = f"{NORTH}/transfers", {"from": "berit", "to": "berit", "asset": "krona", "amount": 1}
    unknown = rules | {"to": "nobody"}
    malformed = unknown | {"amount": 0}
    assert problem(await api.call("POST", path, None, malformed)) == (401, "unauthenticated")
    assert problem(await api.call("POST", path, "alva", malformed)) == (403, "forbidden")
    assert problem(await api.call("POST", path, "banker", malformed)) == (400, "malformed")
    assert problem(await api.call("POST", path, "banker", unknown)) == (404, "unknown_character")
    assert problem(await api.call("POST", path, "banker", rules)) == (409, "same_account")


async def test_an_action_is_read_before_its_table_is_looked_for(api: Api) -> None:
    path = f"{NORTH}/tables/nowhere/actions"
    assert problem(await api.call("POST", path, "keeper", {"action": "nonsense"})) == (400, "malformed")
    assert problem(await api.call("POST", path, "keeper", {"action": "accept"})) == (404, "unknown_table")
