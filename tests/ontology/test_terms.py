"""`abi/terms.py` and `ontology/abi.ttl` hold the same terms, under names made by one rule."""

from __future__ import annotations

import re

import pyoxigraph as ox

from abi import terms
from abi.settings import PREFIXES

RDF_TYPE = ox.NamedNode(terms.RDF_TYPE)
NOT_TERMS = {"ABI", "ABI_ONTOLOGY", "BFO_MODULE", "SHAPES"}


def constants() -> dict[str, str]:
    return {k: v for k, v in vars(terms).items() if k.isupper() and isinstance(v, str)}


def declared(store: ox.Store) -> dict[str, set[str]]:
    """Each term of our namespace with its types."""
    found: dict[str, set[str]] = {}
    for quad in store.quads_for_pattern(None, RDF_TYPE, None, None):
        iri = quad.subject.value
        if iri.startswith(terms.ABI) and quad.object.value != terms.OWL_ONTOLOGY:
            found.setdefault(iri, set()).add(quad.object.value)
    return found


def test_each_term_is_a_constant_and_each_constant_a_term(ontology: ox.Store) -> None:
    ours = {v for k, v in constants().items() if v.startswith(terms.ABI) and k not in NOT_TERMS}
    assert ours == set(declared(ontology))


def test_constants_follow_the_naming_rule(ontology: ox.Store) -> None:
    types = declared(ontology)

    def upper(iri: str) -> str:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", iri.removeprefix(terms.ABI)).upper()

    properties = {upper(iri) for iri, kinds in types.items() if any(k.endswith("Property") for k in kinds)}
    for iri, kinds in types.items():
        name = upper(iri)
        if terms.OWL_CLASS in kinds and name in properties:
            name += "_CLASS"
        assert constants()[name] == iri


def test_no_two_constants_of_our_terms_are_one(ontology: ox.Store) -> None:
    ours = [v for k, v in constants().items() if v.startswith(terms.ABI) and k not in NOT_TERMS]
    assert len(ours) == len(set(ours))


def test_namespaces_are_the_predeclared_prefixes() -> None:
    for prefix, iri in PREFIXES.items():
        assert constants()[prefix.upper()] == iri


def test_bfo_constants_are_in_the_import_module(ontology: ox.Store) -> None:
    label = ox.NamedNode(terms.RDFS_LABEL)
    for name, iri in constants().items():
        if name.startswith("BFO_") and iri.startswith(terms.BFO):
            (quad,) = ontology.quads_for_pattern(ox.NamedNode(iri), label, None, None)
            assert quad.object.value.replace(" ", "_").upper() == name.removeprefix("BFO_")
