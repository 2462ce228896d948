"""HermiT on the ontology: consistent, every class can have members, and the mistakes that BFO forbids are found.

A run starts a JVM (1 to 3 seconds), so that there are few and each says much.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from abi import terms
from tests.ontology.conftest import BFO_WHOLE, CORE, EXAMPLES, MAPPINGS

PROLOGUE = f"@prefix : <https://example.org/> . @prefix abi: <{terms.ABI}> . @prefix obo: <{terms.OBO}> .\n"
IMPORTS = ox.NamedNode(terms.OWL_IMPORTS)

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="no java here, and HermiT runs on it")


def reason(*sources: Path | str) -> tuple[bool, list[str]]:
    """Whether all of it together is consistent, and the classes that can have no member."""
    owlready2: Any = pytest.importorskip("owlready2", reason="owlready2 is not installed")
    triples = []
    for n, source in enumerate(sources):
        text = source.read_bytes() if isinstance(source, Path) else (PROLOGUE + source).encode()
        for quad in ox.parse(text, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True):
            if quad.predicate != IMPORTS:
                triples.append(quad.triple)
        assert triples, n
    world = owlready2.World()
    data = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    merged = world.get_ontology("https://example.org/merged#").load(fileobj=io.BytesIO(data))
    try:
        with merged:
            owlready2.sync_reasoner_hermit(world, infer_property_values=False, debug=0)
    except owlready2.OwlReadyInconsistentOntologyError:
        return False, []
    return True, sorted(c.iri for c in world.inconsistent_classes() if c is not owlready2.Nothing)


def test_with_the_whole_of_bfo_and_individuals_of_every_class() -> None:
    if not BFO_WHOLE.exists():
        pytest.skip("the whole of BFO is not beside the project")
    assert reason(*CORE, BFO_WHOLE, EXAMPLES) == (True, [])


def test_with_the_import_module_and_all_mappings() -> None:
    assert reason(*CORE, *MAPPINGS, EXAMPLES) == (True, [])


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(":r a abi:AgentRole ; obo:BFO_0000197 :t . :t a abi:Prompt .", id="a role of a prompt"),
        pytest.param(":a a abi:Agent , abi:AgentSpecification .", id="an agent that is its own specification"),
        pytest.param(":c a abi:ToolCall ; abi:queryText 'SELECT' .", id="a process with a query as if it were a tool"),
        pytest.param(":a a abi:AgentSpecification ; abi:hasTool :c . :c a abi:ToolCall .", id="a process as a tool"),
    ],
)
def test_mistakes_are_inconsistent(mistake: str) -> None:
    # The import module alone is enough for that: nobody needs the whole of BFO to be told.
    assert reason(*CORE, mistake) == (False, [])


def test_a_class_under_information_and_process_can_have_no_member() -> None:
    mistake = f"""
    @prefix owl: <{terms.OWL}> . @prefix rdfs: <{terms.RDFS}> .
    :Log a owl:Class ; rdfs:subClassOf abi:InformationContentEntity , obo:BFO_0000015 ."""
    assert reason(*CORE, mistake) == (True, ["https://example.org/Log"])
