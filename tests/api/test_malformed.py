"""What no journal could take is refused with 400 and helpful words, whatever it is; never a 500."""

from typing import Any

import pytest

from tests.api.support import BASE, NORTH, Api, problem

TRANSFER = b'{"from":"alva","to":"berit","asset":"krona","amount":1%b}'
DEEP = 100_000

BODIES = {
    "empty": b"",
    "white space": b"  \n",
    "no JSON": b"amount=1",
    "cut short": b'{"from":"alva"',
    "more after the end": TRANSFER % b"" + b"{}",
    "a list": b"[]",
    "null": b"null",
    "a text": b'"alva"',
    "byte order mark": b"\xef\xbb\xbf" + TRANSFER % b"",
    "UTF-16": (TRANSFER % b"").decode().encode("utf-16"),
    "bad UTF-8": TRANSFER % b',"memo":"\xff\xfe"',
    "UTF-8 of a surrogate": TRANSFER % b',"memo":"\xed\xa0\x80"',
    "a lone surrogate": TRANSFER % b',"memo":"\\ud800"',
    "a lone low surrogate": TRANSFER % b',"memo":"\\udc00 x"',
    "NUL": TRANSFER % b',"memo":"a\\u0000b"',
    "NUL as a byte": TRANSFER % b',"memo":"a\x00b"',
    "NUL in a name": b'{"from":"al\\u0000va","to":"berit","asset":"krona","amount":1}',
    "a key twice": TRANSFER % b',"amount":2',
    "a key twice, once escaped": TRANSFER % b',"\\u0061mount":2',
    "an unknown key": TRANSFER % b',"note":"x"',
    "the name of the command": TRANSFER % b',"command":"transfer"',
    "a deep list": b"[" * DEEP + b"]" * DEEP,
    "a deep value": TRANSFER % (b',"memo":' + b"[" * DEEP + b"]" * DEEP),
    "a deep unknown value": b'{"x":' + b'{"x":' * DEEP + b"1" + b"}" * DEEP + b"}",
    "a text as a number": b'{"from":"alva","to":"berit","asset":"krona","amount":"1"}',
    "a fraction": b'{"from":"alva","to":"berit","asset":"krona","amount":1.5}',
    "a whole fraction": b'{"from":"alva","to":"berit","asset":"krona","amount":1.0}',
    "an exponent": b'{"from":"alva","to":"berit","asset":"krona","amount":1e3}',
    "an infinite exponent": b'{"from":"alva","to":"berit","asset":"krona","amount":1e999}',
    "not a number": b'{"from":"alva","to":"berit","asset":"krona","amount":NaN}',
    "true": b'{"from":"alva","to":"berit","asset":"krona","amount":true}',
    "zero": b'{"from":"alva","to":"berit","asset":"krona","amount":0}',
    "below zero": b'{"from":"alva","to":"berit","asset":"krona","amount":-1}',
    "too much": b'{"from":"alva","to":"berit","asset":"krona","amount":1000000000000001}',
    "2^64": b'{"from":"alva","to":"berit","asset":"krona","amount":18446744073709551616}',
    "5000 digits": b'{"from":"alva","to":"berit","asset":"krona","amount":' + b"9" * 5000 + b"}",
    "a missing key": b'{"from":"alva","to":"berit","asset":"krona"}',
    "capitals": b'{"from":"Alva","to":"berit","asset":"krona","amount":1}',
    "an empty name": b'{"from":"","to":"berit","asset":"krona","amount":1}',
    "a newline after a name": b'{"from":"alva\\n","to":"berit","asset":"krona","amount":1}',
    "a long name": b'{"from":"%b","to":"berit","asset":"krona","amount":1}' % (b"a" * 65),
    "a long memo": TRANSFER % (b',"memo":"' + b"x" * 2001 + b'"'),
    "no zone": TRANSFER % b',"at":"2026-11-01T20:00:00"',
    "a day": TRANSFER % b',"at":"2026-11-01"',
    "no such day": TRANSFER % b',"at":"2026-02-30T20:00:00Z"',
    "a number as time": TRANSFER % b',"at":1795981493',
    "before the year 1": TRANSFER % b',"at":"0001-01-01T00:00:00+14:00"',
    "after the year 9999": TRANSFER % b',"at":"9999-12-31T23:59:59-14:00"',
}


@pytest.fixture
async def unchanged(api: Api) -> Any:
    """After the test the journal ends where it ended before."""
    before = await api.head()
    yield
    assert await api.head() == before


@pytest.mark.usefixtures("unchanged")
async def test_malformed_bodies(api: Api) -> None:
    for name, content in BODIES.items():
        for who in ("banker", "alva"):
            answer = await api.call("POST", f"{NORTH}/transfers", who, content=content)
            wanted = [(400, "malformed")]
            if who == "alva":
                wanted.append((403, "forbidden"))  # where it names somebody else
            assert problem(answer) in wanted, f"{name} as {who}: {answer.text[:300]}"


@pytest.mark.usefixtures("unchanged")
async def test_malformed_actions_and_openings(api: Api) -> None:
    """The same for bodies that only a game can read."""
    for path in (f"{NORTH}/tables", f"{NORTH}/tables/nowhere/actions"):
        for name, content in BODIES.items():
            answer = await api.call("POST", path, "keeper", content=content)
            assert problem(answer) == (400, "malformed"), f"{name}: {answer.text[:300]}"
        for content in (
            b'{"x":' + b"[" * DEEP + b"]" * DEEP + b',"action":"roll","game":"skuggkast"}',
            b'{"action":"roll","seat":"alva","dice":{"symbol":"star","number":7,"shadow":"neutral"}}',
            b'{"action":"roll","seat":"alva","at":"0001-01-01T00:00:00+14:00","x":1}',
            b'{"game":"chess"}',
            b'{"game":5}',
        ):
            assert problem(await api.call("POST", path, "keeper", content=content)) == (400, "malformed"), content[:80]


async def test_the_largest_and_the_oddest_that_is_well_formed(api: Api) -> None:
    """White space, escapes, other offsets and letters of any script are JSON like any other."""
    content = (
        ' { "amount" : 1 , "from" : "\\u0061lva", "to":"berit", "asset":"krona", "memo": "𝄞 Ægir\\n",'
        ' "at": "2026-11-01T20:00:00.123456789+05:30" } '
    ).encode()
    answer = await api.call("POST", f"{NORTH}/transfers", "alva", content=content)
    assert answer.status_code == 201, answer.text
    (event,) = answer.json()["events"]
    assert event["at"] == "2026-11-01T14:30:00.123457Z"
    assert event["data"]["memo"] == "𝄞 Ægir\n"


FAULTS = [
    ("transfers", {"from": "alva", "to": "berit", "asset": "krona", "amount": "5"}, "/amount", ["int", "str"]),
    ("transfers", {"from": "alva", "to": "berit", "asset": "krona"}, "/amount", ["missing", "10^15"]),
    ("transfers", {"from": "A", "to": "berit", "asset": "krona", "amount": 1}, "/from", ["a-z 0-9"]),
    ("transfers", {"from": "alva", "tofu": 1}, "/tofu", ["tofu", "from, to, asset, amount"]),
    ("transfers", {"a/b~c": 1}, "/a~1b~0c", ["there are"]),
    ("assets", {"asset": "a", "kind": "coin", "name": "A"}, "/kind", ["coin", "promise, token"]),
    ("characters", {"character": "d", "name": "D", "credit_limit": {"krona": -1}}, "/credit_limit", ["0"]),
    ("tables", {"game": "chess", "table": "t", "seats": []}, "/game", ["chess", "skuggkast"]),
    ("tables", {"table": "t", "seats": []}, "/game", ["missing"]),
    ("tables", {"game": "skuggkast", "table": "t", "seats": ["alva", 5]}, "/seats/1", ["str", "int"]),
    ("tables", {"game": "skuggkast", "table": "t", "seats": [], "dice": "loaded"}, "/dice", ["reported, service"]),
    (
        "tables",
        {"game": "skuggkast", "table": "t", "seats": [], "stake": {"asset": "krona", "amount": 0}},
        "/stake/amount",
        ["1"],
    ),
    ("tokens", {"role": "player", "label": "x"}, "/character", ["needs a character"]),
    ("tokens", {"role": "tool", "label": "x", "character": "alva"}, "/character", ["only a player"]),
    ("tokens", {"role": "queen", "label": "x"}, "/role", ["queen", "banker"]),
]


@pytest.mark.parametrize(("path", "body", "pointer", "words"), FAULTS)
async def test_the_fault_is_pointed_at_and_what_would_be_right_is_said(
    api: Api, path: str, body: Any, pointer: str, words: list[str]
) -> None:
    answer = await api.call("POST", f"{NORTH}/{path}", "organiser", body)
    assert problem(answer) == (400, "malformed")
    (fault,) = answer.json()["errors"]
    assert fault["pointer"] == pointer
    for word in words:
        assert word in fault["detail"]


async def test_only_json_is_read(api: Api) -> None:
    """Anything else is 415: what a web page of somebody else's can send, too."""
    body = {"from": "alva", "to": "berit", "asset": "krona", "amount": 1}
    content = b'{"from":"alva","to":"berit","asset":"krona","amount":1}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/msgpack"):
        answer = await api.call("POST", f"{NORTH}/transfers", "banker", content=content, headers={"content-type": kind})
        assert problem(answer) == (415, "unsupported_media_type"), kind
    for kind in ("application/json", "application/json; charset=utf-8", "Application/JSON"):
        answer = await api.call("POST", f"{NORTH}/transfers", "banker", content=content, headers={"content-type": kind})
        assert answer.status_code == 201, kind
    assert (await api.call("POST", f"{NORTH}/transfers", "banker", body)).status_code == 201


async def test_a_body_of_more_than_a_million_bytes_is_too_large(api: Api) -> None:
    content = b'{"memo":"' + b"x" * 1_000_000 + b'"}'
    for who in ("banker", "alva"):
        answer = await api.call("POST", f"{NORTH}/transfers", who, content=content)
        assert problem(answer) == (413, "too_large")
        assert "1000000 bytes" in answer.json()["detail"]

    async def chunks() -> Any:
        for _ in range(11):
            yield b"x" * 100_000

    headers = {"authorization": f"Bearer {api.tokens['banker']}", "content-type": "application/json"}
    answer = await api.client.post(f"{NORTH}/transfers", content=chunks(), headers=headers)
    assert problem(answer) == (413, "too_large"), "without a content-length it is counted"


QUERIES = [
    "purses?limit=0",
    "purses?limit=1001",
    "purses?limit=-1",
    "purses?limit=ten",
    "purses?limit=1.5",
    "purses?limit=",
    "purses?limit=1&limit=2",
    "purses?limit",
    "purses?&",
    "purses?page=2",
    "purses?cursor=!",
    "purses?cursor=%00",
    "purses?cursor=AA",  # a NUL
    "purses?cursor=__",
    "purses?cursor=" + "A" * 300,
    "purses?%ff=1",
    "purses?limit=%ff",
    "purses/alva?limit=1",
    "purses/alva/statement?cursor=YWx2YQ",
    "purses/alva/statement?cursor=OTk5OTk5OTk5OTk5OTk5OTk5OTkuMQ",
    "tables?phase=A",
    "tables?game=%00",
    "events?after=-1",
    "events?after=9007199254740992",
    "events?before=0",
    "events?cursor=YQ",
    "events?type=%00",
    "events?account=%00",
    "events?table=A",
    "events?character=A%20B",
    "events?since=2026-11-01",
    "events?since=2026-11-01T20:00:00",
    "events?since=1795981493",
    "events?until=0.5",
    "events?after=%D9%A1",
    "events?until=0001-01-01T00:00:00%2B14:00",
    "events/1?x=1",
    "characters?" + "&".join(f"k{n}=1" for n in range(30)),
]


async def test_malformed_queries(api: Api) -> None:
    for query in QUERIES:
        answer = await api.call("GET", f"{NORTH}/{query}", "organiser")
        assert problem(answer) == (400, "malformed"), query
    answer = await api.call("POST", f"{NORTH}/grants?x=1", "organiser", {"to": "alva", "asset": "krona", "amount": 1})
    assert problem(answer) == (400, "malformed")


async def test_times_at_the_edges_are_times(api: Api) -> None:
    for query in ("since=0001-01-01T00:00:00Z", "until=9999-12-31T23:59:59Z", "since=2020-01-01T00:00:00%2B02:00"):
        assert (await api.ok("GET", f"{NORTH}/events?{query}", "tool"))["items"], query
    assert not (await api.ok("GET", f"{NORTH}/events?until=0001-01-01T00:00:00Z", "tool"))["items"]


PATHS = {
    "purses/nobody": "unknown_character",
    "purses/Alva": "unknown_character",
    "purses/%00": "unknown_character",
    "purses/%F0%9F%A6%8A": "unknown_character",
    "purses/%ff": "unknown_character",
    f"purses/{'a' * 3000}": "unknown_character",
    "purses/nobody/statement": "unknown_character",
    "purses/%00/statement": "unknown_character",
    "tables/none": "unknown_table",
    "tables/%00": "unknown_table",
    "tables/none/sealed": "unknown_table",
    "tables/%00/sealed": "unknown_table",
    "events/0": "unknown_position",
    "events/-1": "unknown_position",
    "events/x": "unknown_position",
    "events/%00": "unknown_position",
    "events/999999": "unknown_position",
    f"events/{'9' * 16}": "unknown_position",
    f"events/{'9' * 400}": "unknown_position",
    "events/%D9%A1": "unknown_position",
    "purses/a%2Fb": "not_found",
    "nothing": "not_found",
}


async def test_names_in_paths_that_nothing_has(api: Api) -> None:
    for path, code in PATHS.items():
        assert problem(await api.call("GET", f"{NORTH}/{path}", "organiser")) == (404, code), path


async def test_names_in_paths_of_writes(api: Api) -> None:
    for name in ("%00", "Alva", "%ff", "nobody"):
        answer = await api.call("PATCH", f"{NORTH}/characters/{name}", "organiser", {"name": "x"})
        assert problem(answer) == (404, "unknown_character"), name
        answer = await api.call("POST", f"{NORTH}/tables/{name}/void", "organiser", {"reason": "x"})
        assert problem(answer) == (404, "unknown_table"), name
        answer = await api.call("POST", f"{NORTH}/tables/{name}/actions", "organiser", {"action": "accept"})
        assert problem(answer) == (404, "unknown_table"), name
        answer = await api.call("DELETE", f"{NORTH}/tokens/{name}", "organiser")
        assert problem(answer) == (404, "not_found"), name


async def test_a_change_that_changes_nothing_is_malformed(api: Api) -> None:
    assert problem(await api.call("PATCH", f"{NORTH}/characters/alva", "organiser", {})) == (400, "malformed")


async def test_methods_that_a_path_does_not_know(api: Api) -> None:
    answer = await api.call("PUT", f"{BASE}/larps", "admin", {})
    assert problem(answer) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    assert problem(await api.call("GET", f"{NORTH}/transfers", None)) == (405, "method_not_allowed")


async def test_options_names_every_method_of_a_path(api: Api) -> None:
    answer = await api.call("OPTIONS", f"{NORTH}/tokens", None)
    assert (answer.status_code, answer.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")
