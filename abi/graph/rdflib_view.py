"""An rdflib Dataset over the very store that abi uses (oxrdflib), with oxrdflib's traps closed.

* Plain strings come back as plain literals, not as `Literal(x, datatype=xsd:string)`, which rdflib holds to be unequal.
* Nothing ever falls back to rdflib's own SPARQL engine: it is slow, and it opens the files that a query names.
* Writes do not go around the gate: the Dataset is read-only, or hands each write as SPARQL Update to a function.
* Nor do queries go around the guard, where one is given: Oxigraph would send what stands in SERVICE.
* A graph without an IRI is refused: it would be written to a blank node that nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
from oxrdflib import OxigraphStore as _Oxrdflib
from oxrdflib._converter import from_ox, from_ox_graph_name, to_ox, to_ox_quad_pattern
from rdflib import BNode, Dataset, Graph, Literal, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.query import Result
from rdflib.term import Variable

from abi.errors import Denied, Unsupported
from abi.graph.oxigraph import has_dataset_clause, insert_data

if TYPE_CHECKING:
    from abi.graph.oxigraph import OxigraphStore
    from abi.graph.rows import Rows, Term

__all__ = ["dataset", "rdflib_rows", "rdflib_term"]

_ox: Callable[[Any], Any] = to_ox
_XSD_STRING = ox.NamedNode("http://www.w3.org/2001/XMLSchema#string")


def dataset(
    store: OxigraphStore,
    write: Callable[[str], object] | None = None,
    check: Callable[[str, dict[str, str]], object] | None = None,
) -> Dataset:
    """A Dataset whose default graph is the union of all graphs.

    `write` is called with a SPARQL Update for each `add`, `addN`, `remove` and `update` (give it one that goes through
    the gate); without it they raise Denied. An added triple must be in a named graph. `check` is called with each query
    and its prefixes, and raises for one that may not run.
    """
    view = Dataset(store=_View(store, write, check), default_union=True)
    for prefix, namespace in store.prefixes.items():
        view.bind(prefix, URIRef(namespace), replace=True)
    return view


def rdflib_term(term: Any) -> Any:
    """An Oxigraph term as rdflib has it; plain strings are plain."""
    if isinstance(term, ox.Literal) and not term.language and term.datatype == _XSD_STRING:
        return Literal(term.value)
    return from_ox(term)


def rdflib_rows(rows: Rows) -> Any:
    """A query's answer in rdflib's terms: a list of dicts for SELECT, True or False for ASK, a Graph for CONSTRUCT."""
    if rows.form == "ask":
        return rows.boolean
    if rows.form == "select":
        return [{name: _of_row(term) for name, term in row.items()} for row in rows]
    graph = Graph()
    for row in rows:
        graph.add((_of_row(row["subject"]), _of_row(row["predicate"]), _of_row(row["object"])))
    return graph


def _of_row(term: Term) -> Any:
    if term.kind == "iri":
        return URIRef(term.value)
    if term.kind == "bnode":
        return BNode(term.value)
    return Literal(term.value, lang=term.language, datatype=URIRef(term.datatype) if term.datatype else None)


class _View(_Oxrdflib):
    def __init__(
        self,
        store: OxigraphStore,
        write: Callable[[str], object] | None,
        check: Callable[[str, dict[str, str]], object] | None,
    ) -> None:
        super().__init__(store=store.inner)
        self._abi = store
        self._write = write
        self._check = check

    @property
    def _inner(self) -> ox.Store:
        return self._abi.inner  # a snapshot that was refreshed is another object

    def open(self, configuration: Any, create: bool = False) -> int | None:
        raise Unsupported("this Dataset is already open")

    def close(self, commit_pending_transaction: bool = False) -> None:
        """The workspace owns the store and closes it."""

    def destroy(self, configuration: str) -> None:
        raise Denied("a view does not delete the graph's folder")

    def triples(self, triple_pattern: Any, context: Graph | None = None) -> Iterator[Any]:
        try:
            pattern = to_ox_quad_pattern(triple_pattern, context)
        except (TypeError, ValueError):  # for example a literal as subject: it matches nothing
            return iter(())
        return (
            (
                (rdflib_term(q.subject), rdflib_term(q.predicate), rdflib_term(q.object)),
                iter((from_ox_graph_name(q.graph_name, self),)),
            )
            for q in self._inner.quads_for_pattern(*pattern)
        )

    def __len__(self, context: Graph | None = None) -> int:
        if context is None:
            return len(self._inner)
        return len(list(self._inner.quads_for_pattern(None, None, None, _ox(context.identifier))))

    def query(
        self,
        query: Any,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Any],
        queryGraph: Any,
        **kwargs: object,
    ) -> Result:
        text = _text(query)
        named = has_dataset_clause(text)
        union = not named and (queryGraph == "__UNION__" or isinstance(queryGraph, BNode))
        declared = {**self._abi.prefixes, **{k: str(v) for k, v in {**dict(self.namespaces()), **initNs}.items()}}
        if self._check is not None:
            self._check(text, declared)
        try:
            result = self._inner.query(
                text,
                use_default_graph_as_union=union,
                default_graph=None if union or named else _ox(URIRef(str(queryGraph))),
                prefixes=declared,
                substitutions={ox.Variable(str(k)): _ox(v) for k, v in initBindings.items()},
            )
        except RuntimeError as error:
            raise Unsupported(
                f"a variable of initBindings must be among those that the query selects: {error}",
                hint="Name it in SELECT, or put it in a VALUES block.",
            ) from error
        return _result(result)

    def update(
        self,
        update: Any,
        initNs: Mapping[str, Any],
        initBindings: Mapping[str, Any],
        queryGraph: Any,
        **kwargs: object,
    ) -> None:
        if initBindings:
            raise Unsupported("initBindings do not work in updates", hint="Write the terms in the text.")
        if isinstance(queryGraph, URIRef) and queryGraph != DATASET_DEFAULT_GRAPH_ID:
            raise Unsupported("update the Dataset, not one graph of it", hint=f"Write GRAPH <{queryGraph}> {{ ... }}.")
        declared = {**dict(self.namespaces()), **initNs}
        head = "".join(f"PREFIX {p}: <{n}>\n" for p, n in declared.items())
        self._send(head + _text(update))

    def add(self, triple: Any, context: Graph, quoted: bool = False) -> None:
        self.addN([(*triple, context)])

    def addN(self, quads: Iterable[Any]) -> None:
        converted = []
        for s, p, o, g in quads:
            name = _ox(g.identifier if isinstance(g, Graph) else g)
            if not isinstance(name, ox.NamedNode):
                raise Unsupported(
                    "a triple is added to a named graph", hint="Use Dataset.graph(IRI).add(...) with an IRI of yours."
                )
            converted.append(ox.Quad(_ox(s), _ox(p), _ox(o), name))
        if converted:
            self._send(insert_data(converted))

    def remove(self, triple: Any, context: Graph | None = None) -> None:
        try:
            pattern = to_ox_quad_pattern(triple, context)
        except (TypeError, ValueError):
            return
        found = list(self._inner.quads_for_pattern(*pattern))
        if any(isinstance(t, ox.BlankNode) for q in found for t in (q.subject, q.object)):
            raise Unsupported("blank nodes cannot be named to remove them", hint="Use update with DELETE ... WHERE.")
        if found:
            self._send(insert_data(found).replace("INSERT", "DELETE", 1))

    def add_graph(self, graph: Graph) -> None:
        """A graph is there once it holds something."""

    def remove_graph(self, graph: Graph) -> None:
        self._send(f"DROP SILENT GRAPH <{graph.identifier}>")

    def _send(self, text: str) -> None:
        if self._write is None:
            raise Denied(
                "this Dataset is read-only: every write to the graph is checked first",
                hint="Use Workspace.update, or `abi update`.",
            )
        self._write(text)


def _text(query: Any) -> str:
    """The text of a query or update; of a prepared one too, which oxrdflib would hand to rdflib's own engine."""
    if isinstance(query, str):
        return query
    original = getattr(query, "_original_args", None)
    if not original:
        raise Unsupported("give the query as text")
    text, namespaces, base = original
    head = f"BASE <{base}>\n" if base else ""
    return head + "".join(f"PREFIX {p}: <{n}>\n" for p, n in dict(namespaces or {}).items()) + str(text)


def _result(found: Any) -> Result:
    if isinstance(found, ox.QueryBoolean):
        out = Result("ASK")
        out.askAnswer = bool(found)
    elif isinstance(found, ox.QuerySolutions):
        out = Result("SELECT")
        names = [Variable(v.value) for v in found.variables]
        out.vars = names
        out.bindings = [{n: rdflib_term(t) for n, t in zip(names, row, strict=True) if t is not None} for row in found]
    else:
        out = Result("CONSTRUCT")
        graph = Graph()
        for triple in found:
            graph.add((rdflib_term(triple.subject), rdflib_term(triple.predicate), rdflib_term(triple.object)))
        out.graph = graph
    return out
