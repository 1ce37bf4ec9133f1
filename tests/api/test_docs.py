"""The pages for people load nothing from anywhere else: there is no internet in the forest."""

import re

import httpx
import pytest

from tests.api.support import problem

PAGES = ("/schema", "/problems", "/problems/insufficient_funds")


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_leads_nowhere_else(client: httpx.AsyncClient, path: str) -> None:
    page = await client.get(path)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for address in re.findall(r'(?:src|href|action|data-\w+)="([^"]*)"', page.text):
        assert address == "data:," or re.match(r"/[^/]", address), address
    assert not re.search(r"<style|<script(?![^>]* src=)[^>]*>| on\w+=|style=", page.text), "nothing is inline"


@pytest.mark.parametrize("path", PAGES)
async def test_the_policy_lets_nothing_else_in(client: httpx.AsyncClient, path: str) -> None:
    policy = (await client.get(path)).headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_files_of_the_page_are_kept_for_ever_under_their_fingerprint(client: httpx.AsyncClient) -> None:
    page = await client.get("/schema")
    files = re.findall(r'"(/schema/assets/[^"]+)"', page.text)
    assert len(files) == 3
    for address in files:
        file = await client.get(address)
        assert file.status_code == 200
        assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert file.headers["content-type"].split(";")[0] in ("text/css", "text/javascript")
        another = re.sub(r"[0-9a-f]{16}", "0" * 16, address)
        assert problem(await client.get(another)) == (404, "not_found")


async def test_the_page_reads_our_own_document(client: httpx.AsyncClient) -> None:
    page = (await client.get("/schema")).text
    assert 'data-document="/schema/openapi.json"' in page
    (start,) = re.findall(r'"(/schema/assets/[^"]+start.js)"', page)
    script = (await client.get(start)).text
    assert "validatorUrl: null" in script, "no other service is asked whether the document is valid"
    assert "http" not in script
