"""The agent that extends the ontology: it proposes BFO-grounded Turtle, and writes what a person has approved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi import terms
from abi.agents.agent import AgentRuntime
from abi.agents.ontology_draft import draft
from abi.files import shipped
from abi.graph.rows import Rows
from abi.records.record import AgentSpecification
from abi.search.embedder import Embedder

from .conftest import BASE, FL, ScriptedModel, SmallServices, calling

ENGINEER = AgentSpecification(
    name="engineer", description="Extends the ontology.", may_write=True, annotations={"proposes": "turtle"}
)
LEADER = AgentSpecification(name="leader", description="Leads.", agents=["engineer"])
GRAPH = BASE + "graph/ontology"
HANGAR = "A hangar is a kind of site that houses aircraft."
TURTLE = """fl:Hangar a owl:Class ; rdfs:label "hangar" ; rdfs:subClassOf obo:BFO_0000029 ;
  skos:definition "A hangar is a site that houses aircraft." ."""


class Desk:
    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self.services = SmallServices(embedder, folder)
        for name in ("bfo", "abi"):
            text = (shipped("ontology") / f"{name}.ttl").read_bytes()
            graph = ox.NamedNode(terms.ABI + name)
            self.services.store.inner.load(text, format=ox.RdfFormat.TURTLE, to_graph=graph)
        self.services.put(ENGINEER)
        self.services.put(LEADER)
        self.runtime = AgentRuntime(self.services)
        self.model = ScriptedModel(script=[], seen=[], bound=[])
        self.runtime.models.register("test:script", self.model)

    def say(self, text: str, agent: str = "engineer", **options: Any) -> Any:
        return self.runtime.agent(agent).invoke(text, "t", **{"may_write": True, **options})

    def written(self) -> set[tuple[str, str, str]]:
        return {
            (q.subject.value, q.predicate.value, q.object.value)  # type: ignore[union-attr]
            for q in self.services.store.quads(GRAPH)
        }

    def told(self) -> str:
        return str(self.model.seen[-1][-1].content)


@pytest.fixture
def desk(embedder: Embedder, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(embedder, tmp_path)
    yield made
    made.runtime.close()


def scripted(desk: Desk, *script: Any) -> None:
    desk.services.put(ENGINEER.model_copy(update={"model": "test:script"}))
    desk.model.script = list(script)


def turtle(text: str) -> Any:
    return calling("propose_turtle", turtle=text, reason="it is needed")


# With a model that calls tools


def test_what_is_proposed_is_shown_and_written_after_a_yes(desk: Desk) -> None:
    scripted(desk, turtle(TURTLE), "The hangar is there.")
    asked = desk.say("We need hangars.")
    assert asked.needs["tool"] == "propose_turtle"
    assert len(asked.needs["approval"]["added"]) == 4
    assert f'+ <{FL}Hangar> <{terms.RDFS_LABEL}> "hangar" <{GRAPH}> .' in asked.answer
    assert desk.written() == set()
    turn = desk.say("yes")
    assert turn.answer == "The hangar is there."
    assert turn.tool_calls[0]["result"]["added"] == 4
    assert (FL + "Hangar", terms.RDFS_SUBCLASSOF, terms.BFO + "0000029") in desk.written()


def test_a_no_writes_nothing(desk: Desk) -> None:
    scripted(desk, turtle(TURTLE), "As you like.")
    desk.say("We need hangars.")
    assert desk.say("no").answer == "As you like."
    assert "did not approve" in desk.told()
    assert desk.written() == set()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("fl:Hangar a owl:Class ; rdfs:label 'hangar'", "line 1"),
        (
            "fl:Hangar a owl:Class ; rdfs:subClassOf obo:BFO_0000029 .",
            "no rdfs:label. The class Hangar has no skos",
        ),
        (TURTLE.replace("obo:BFO_0000029", "fl:Airport"), "under no class of BFO: give it rdfs:subClassOf one that is"),
        (TURTLE.replace("obo:BFO_0000029", "fl:Airprt"), "There is no class Airprt, above Hangar. Near: airport"),
        (TURTLE.replace("obo:BFO_0000029", "fl:Hangar"), "is under itself"),
        (TURTLE.replace("obo:BFO_0000029", "obo:BFO_0000029 , obo:BFO_0000015"), "and nothing is both"),
        ("fl:Hangar a owl:Class ; rdfs:subClassOf [ a owl:Restriction ] .", "blank nodes"),
        ("fl:H1 a fl:Hangr .", "There is no class Hangr, the type of H1"),
        (
            "fl:houses a owl:ObjectProperty ; rdfs:label 'houses' ; skos:definition 'x' ; rdfs:range fl:Plane .",
            "There is no class Plane, the range of houses",
        ),
        ("# nothing", "holds no triples"),
        ("fl:X a owl:Class ; rdfs:subClassOf <../up> .", "line 1"),
    ],
)
def test_faults_are_told_to_the_model_and_mended(desk: Desk, text: str, fault: str) -> None:
    scripted(desk, turtle(text), turtle(TURTLE))
    asked = desk.say("We need hangars.")
    assert fault in desk.told()
    assert asked.needs["approval"]["added"]
    assert desk.written() == set()


def test_what_the_gate_finds_is_told_too(desk: Desk) -> None:
    text = f"<{BASE}tool/x> a abi:SparqlTemplate ; abi:name 'x' ."
    scripted(desk, turtle(text), "I cannot.")
    assert desk.say("Add a tool.").answer == "I cannot."
    assert "rule(s)" in desk.told()


def test_it_is_offered_where_the_person_may_write_and_in_place_of_updates(desk: Desk) -> None:
    scripted(desk, "One.", "Two.")
    desk.say("We need hangars.")
    assert "propose_turtle" in desk.model.bound
    assert "update_graph" not in desk.model.bound
    desk.say("We need hangars.", may_write=False)
    assert "propose_turtle" not in desk.model.bound


# With the offline model


def test_offline_a_description_becomes_a_proposal(desk: Desk) -> None:
    asked = desk.say(HANGAR)
    assert asked.needs["approval"]["reason"] == "new: hangar"
    turn = desk.say("yes")
    assert turn.answer.startswith("Written: 4 triples")
    assert turn.grounded is True
    assert desk.written() == {
        (FL + "Hangar", terms.RDF_TYPE, terms.OWL_CLASS),
        (FL + "Hangar", terms.RDFS_LABEL, "hangar"),
        (FL + "Hangar", terms.RDFS_SUBCLASSOF, terms.BFO + "0000029"),
        (FL + "Hangar", terms.SKOS_DEFINITION, "A hangar is a site that houses aircraft."),
    }


def test_offline_a_no_writes_nothing(desk: Desk) -> None:
    desk.say(HANGAR)
    assert desk.say("no").answer == "Nothing was written. The person did not approve the change."
    assert desk.written() == set()


def test_offline_several_sentences_and_a_property(desk: Desk) -> None:
    text = (
        'Add a class "flight deck" under site: where a crew works. A simulator is a kind of flight deck that stays on '
        'the ground. Add a property "deck of" from flight deck to simulator. Add a property crew size of flight decks '
        "as integer."
    )
    desk.say(text)
    assert desk.say("yes").answer.startswith("Written:")
    there = desk.written()
    assert (FL + "Simulator", terms.RDFS_SUBCLASSOF, FL + "FlightDeck") in there
    assert (FL + "FlightDeck", terms.SKOS_DEFINITION, "Where a crew works.") in there
    assert (FL + "deckOf", terms.RDFS + "range", FL + "Simulator") in there
    assert (FL + "crewSize", terms.RDFS + "range", terms.XSD + "integer") in there
    assert (FL + "crewSize", terms.RDFS + "domain", FL + "FlightDeck") in there


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Add a class hangar under site", "What tells hangar from others"),
        ("Add a class hangar: it houses aircraft.", "What is hangar a kind of? Of BFO there are"),
        ("A hangar is a kind of warehous that houses aircraft", 'There is no class "warehous", above hangar'),
        ("An airport is a kind of site that serves flights", "There is a class airport already"),
    ],
)
def test_offline_what_is_left_open_is_asked(desk: Desk, text: str, question: str) -> None:
    asked = desk.say(text)
    assert question in asked.answer
    assert asked.grounded is None
    assert desk.written() == set()


def test_offline_who_may_not_write_is_shown_what_it_would_be(desk: Desk) -> None:
    turn = desk.say(HANGAR, may_write=False)
    assert "may not change the graph" in turn.answer
    assert f"<{FL}Hangar> a <{terms.OWL_CLASS}>" in turn.answer
    assert turn.needs is None


def test_offline_a_supervisor_hands_a_description_over(desk: Desk) -> None:
    asked = desk.say(HANGAR, agent="leader")
    assert asked.agent == "engineer"
    assert asked.needs["approval"]["added"]
    assert desk.say("yes", agent="leader").answer.startswith("Written: 4 triples")


def test_offline_other_questions_are_no_descriptions(desk: Desk) -> None:
    assert desk.say("Which airports are there?").needs is None
    assert desk.written() == set()


Query = Callable[..., Rows]


STORE: list[Query] = []


@given(st.lists(st.sampled_from('add a class property x kind of under site from to : that . " é'.split()), max_size=14))
def test_any_text_can_be_read(words: list[str]) -> None:
    if not STORE:
        STORE.append(_store())
    store = STORE[0]
    made = draft(" ".join(words), store, BASE)
    assert made is None or made.questions or made.turtle
    if made is not None and made.turtle:
        assert list(ox.parse(made.turtle, ox.RdfFormat.TURTLE))


def _store() -> Query:
    from abi.graph.oxigraph import OxigraphStore

    store = OxigraphStore.memory()
    text = (shipped("ontology") / "bfo.ttl").read_bytes()
    store.inner.load(text, format=ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(terms.ABI + "bfo"))
    return lambda text, **_: store.query(text)
