"""The page at `/`, as it is sent: what it may do, and that nothing of the data is in it."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import httpx

import abi.server.web_page

from .conftest import Served

PARTS = Path(abi.server.web_page.__file__).parent / "page"


def hashed(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def got(served: Served) -> httpx.Response:
    with served.client() as anyone:
        answer = anyone.get("/")
    assert answer.status_code == 200, "the page itself is for everybody; it asks for the key"
    return answer


def test_no_other_script_can_run(grocery: Served) -> None:
    answer = got(grocery)
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["frame-ancestors"] == "'none'" and policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'" and policy["trusted-types"] == "'none'"
    (script,) = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert policy["script-src"] == hashed(script) and policy["style-src"] == hashed(style)
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "no-referrer"


def test_it_is_one_document_that_loads_nothing(grocery: Served) -> None:
    text = got(grocery).text
    markup = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)
    assert not re.search(r"\b(src|srcset|style|on\w+)\s*=", markup)
    assert set(re.findall(r'href="([^"]*)"', markup)) == {"#main", "#chat", "#search", "#sparql", "/docs"}
    assert "/* SCRIPT */" not in text and "/* STYLE */" not in text
    assert not re.search(r"@import|url\(", text)


def test_its_script_makes_text_of_data_and_keeps_no_key() -> None:
    script = "\n".join(part.read_text(encoding="utf-8") for part in PARTS.glob("*.js"))
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"):
        assert way not in script, way
    for place in ("localStorage", "sessionStorage", "indexedDB", "document.cookie", "postMessage", "?token="):
        assert place not in script, place


def test_it_holds_nothing_of_the_graph_and_is_kept_by_its_tag(grocery: Served) -> None:
    answer = got(grocery)
    assert "apple" not in answer.text and "grocer" not in answer.text
    with grocery.client() as anyone:
        again = anyone.get("/", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304 and "content-security-policy" in again.headers
        assert anyone.head("/").status_code == 200
        assert anyone.get("/", headers={"Host": "evil.example"}).status_code == 403
        assert anyone.get("/agents").status_code == 401
