"""What the OpenAPI document says holds: requests made from it by Schemathesis, answers checked against it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.errors import SerializationNotPossible
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from .conftest import Served, lay_out, serving

EXAMPLES = {"reader": 2, "admin": 4}
SECONDS = 30.0
"""After which no further operation is begun, on a machine that is busy; the order is fixed."""


@pytest.fixture(scope="module")
def open_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A workspace of its own, to be done with as the requests like."""
    root: Path = tmp_path_factory.mktemp("open") / "w"
    root.mkdir()
    lay_out(root)
    with serving(root, "query_seconds: 1\nagent_seconds: 10\n") as made:
        made.workspace.index()
        yield made


def check_shape(response: httpx.Response) -> None:
    """An error is the one document; it is never abi's own fault."""
    if response.status_code < 400:
        return
    document = response.json()
    assert set(document["error"]) == {"code", "message", "details", "hint"}, response.text
    assert response.status_code != 500 and document["error"]["code"] != "error", response.text


@pytest.mark.parametrize("role", ["reader", "admin"])
def test_requests_made_from_the_document(open_shop: Served, role: str) -> None:
    headers = {"Authorization": f"Bearer {open_shop.keys[role]}"}
    schema = schemathesis.openapi.from_url(f"{open_shop.url}/openapi.json", headers=headers)
    checks = [content_type_conformance, response_schema_conformance, status_code_conformance]
    begun, faults, done = time.monotonic(), [], 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if time.monotonic() - begun > SECONDS:
            break
        done += 1

        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @seeded(20_260_131)
            @settings(
                max_examples=EXAMPLES[role],
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: schemathesis.Case) -> None:
                response = case.call(headers=headers, timeout=60)
                check_shape(response)
                if response.status_code < 400:
                    case.validate_response(response, checks=checks, headers=headers)

            try:
                ask()
            except (Unsatisfiable, SerializationNotPossible):
                continue  # nothing it takes can be wrong; a media type that Schemathesis cannot write
            except Exception as error:  # all of them are told, not the first
                faults.append(f"{operation.label} ({mode.name.lower()}): {type(error).__name__}: {error}")
    assert not faults, "\n\n".join(faults)
    assert done > 5


def test_documents_are_as_the_document_says(open_shop: Served) -> None:
    """Answers of each kind against their schema, filled ones, which random requests seldom meet."""
    with open_shop.client("admin") as admin:
        document = admin.get("/openapi.json").json()
        admin.post("/agents/grocer/completion", json={"prompt": "thank you", "thread_id": "t"})
        published = admin.post("/versions", json={"allow_dirty": True})
        answers = {
            ("get", "/agents"): admin.get("/agents"),
            ("get", "/agents/{name}"): admin.get("/agents/grocer"),
            ("post", "/agents/{name}/completion"): admin.post("/agents/grocer/completion", json={"prompt": "hello"}),
            ("post", "/catalog/find"): admin.post("/catalog/find", json={"query": "fruit"}),
            ("get", "/catalog/{kind}"): admin.get("/catalog/tools"),
            ("get", "/catalog/{kind}/{name}"): admin.get("/catalog/tools/about_fruit"),
            ("get", "/threads"): admin.get("/threads"),
            ("get", "/threads/{thread_id}"): admin.get("/threads/t"),
            ("get", "/versions"): admin.get("/versions"),
            ("post", "/versions"): published,
            ("get", "/versions/{version}/diff"): admin.get("/versions/latest/diff"),
            ("post", "/check"): admin.post("/check", json={}),
            ("post", "/index"): admin.post("/index", json={}),
            ("get", "/status"): admin.get("/status"),
            ("post", "/tools/about_fruit"): admin.post("/tools/about_fruit", json={"fruit": "apple"}),
            ("post", "/prompts/greeting"): admin.post("/prompts/greeting", json={"somebody": "Eve"}),
        }
    for (method, path), answer in answers.items():
        assert answer.status_code == 200, answer.text
        declared = document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer.json(), {**declared, "components": document["components"]})
