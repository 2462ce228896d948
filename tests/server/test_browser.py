"""The page at `/` in a real browser, over a graph whose labels try to get out of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from .conftest import Served, lay_out, serving

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("ABI_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; ABI_TEST_CHROMIUM can name one"),
]
HOSTILE = "</title></bdi><img src=x onerror='window.harmed=1'><script>window.harmed=1</script>\u202e"
EVIL = f"""
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <https://example.org/served/> .
:evil a :Fruit, owl:NamedIndividual ; rdfs:label "{HOSTILE}" ; rdfs:comment "{HOSTILE}" ; rdfs:seeAlso :apple,
  <javascript:alert(1)>, <data:text/html,x> .
"""


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root: Path = tmp_path_factory.mktemp("market") / "w"
    root.mkdir()
    lay_out(root)
    (root / "graph/evil.ttl").write_text(EVIL, encoding="utf-8")
    with serving(root) as made:
        with made.client("writer") as client:
            report = client.post("/index", json={})
            assert report.status_code == 200 and report.json()["written"], report.text
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Any, market: Served) -> Iterator[Any]:
    """With a key; whatever the page's policy stops, or its script fails at, fails the test."""
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(120_000)
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: faults.append(message.text) if "Content Security" in message.text else None)
    opened.goto(market.url)
    opened.fill("#key", market.keys["writer"])
    opened.keyboard.press("Enter")
    opened.wait_for_selector("#agent option[value=grocer]", state="attached")
    yield opened
    assert not opened.evaluate("window.harmed"), "text of the graph ran"
    assert not faults
    assert market.keys["writer"] not in opened.content() + opened.url
    assert opened.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    context.close()


def ask(page: Any, text: str) -> None:
    page.fill("#prompt", text)
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn:last-child details")


def test_a_chat_with_what_it_rests_on(page: Any) -> None:
    page.select_option("#agent", "grocer")
    assert page.inner_text("#agent-about") == "Knows the fruit."
    ask(page, "what is said of a fruit: apple?")
    assert "apple" in page.inner_text(".turn .answer")
    call = page.locator(".turn details").first
    assert call.get_attribute("open") is None, "folded"
    call.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "SELECT" in call.inner_text() and "https://example.org/served/apple" in call.inner_text()
    assert call.locator("tbody tr").count() >= 3
    why = page.locator(".turn details").last
    why.locator("summary").click()
    assert "what is said of a fruit" in why.inner_text() and "thread/" in why.inner_text()
    call.get_by_role("button", name="Open in SPARQL").click()
    page.wait_for_selector("#rows table")
    assert page.url.endswith("#sparql")


def test_a_conversation_goes_on(page: Any) -> None:
    page.select_option("#agent", "grocer")
    ask(page, "what is said of a fruit: evil?")
    ask(page, "what is said of a fruit: apple?")
    turns = page.locator(".turn details:last-child code")
    traces = [turns.nth(i).text_content() for i in range(turns.count())]
    numbers = [trace.rpartition("/") for trace in traces if trace and "/turn/" in trace]
    assert [n[2] for n in numbers] == ["1", "2"] and numbers[0][0] == numbers[1][0]


def test_search_leads_to_an_entity_and_its_neighbours(page: Any) -> None:
    page.click("nav >> text=Search")
    page.select_option("#kind", "entities")
    page.fill("#query", "apple")
    page.keyboard.press("Enter")
    page.click(".hit a >> nth=0")
    page.wait_for_selector("#entity svg")
    assert "apple" in page.inner_text("#entity-title")
    around = page.locator("svg a")
    assert around.count() >= 2
    around.first.focus()
    before = page.url
    page.keyboard.press("Enter")
    page.wait_for_function("before => location.href !== before", arg=before)


def test_hostile_text_stays_text(page: Any, market: Served) -> None:
    page.goto(f"{market.url}/#entity={quote('https://example.org/served/evil', safe='')}")
    page.wait_for_selector("#entity svg")
    assert "onerror" in page.inner_text("#entity-title")
    assert page.locator("#entity img, #entity script").count() == 0
    targets = page.eval_on_selector_all("a", "links => links.map(l => l.getAttribute('href'))")
    assert all(target.startswith(("#", "/docs")) for target in targets), targets
    page.goto(f"{market.url}/#entity={quote('urn:x> } DROP ALL #', safe='')}")
    page.wait_for_selector("text=This is no IRI.")


def test_sparql_tells_what_is_wrong_and_shows_rows(page: Any) -> None:
    page.click("nav >> text=SPARQL")
    page.fill("#sparql-text", "SELECT * { ?s")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#rows .error")
    page.fill("#sparql-text", "SELECT ?l WHERE { ?s rdfs:label ?l } ORDER BY ?l LIMIT 7")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#rows table")
    assert page.locator("#rows tbody tr").count() == 7
    page.fill("#sparql-text", "ASK { ?s ?p ?o }")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#rows >> text=true")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_both_colours(page: Any, market: Served, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 740})
    page.select_option("#agent", "grocer")
    ask(page, "what is said of a fruit: apple?")
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    channels = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
    assert channels == "light dark"
    page.goto(f"{market.url}/#entity={quote('https://example.org/served/evil', safe='')}")
    page.wait_for_selector("#entity svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_a_key_it_says_that_it_needs_one(browser: Any, market: Served) -> None:
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(market.url)
    opened.wait_for_selector("#agent-about .error")
    assert "key" in opened.inner_text("#agent-about")
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.id") == "skip"
    context.close()
