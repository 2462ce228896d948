"""SPARQL Update from outside: what it would change is worked out first, checked by the gate, and only then made.

The WHERE of each operation is asked of the store, by a process that is ended when it takes too long; the templates are
filled by Oxigraph in an empty store, so what it makes of them is what an update would have made. Queries here see the
union of all graphs, as everywhere in abi; so a triple that is deleted without a graph is deleted wherever it stands,
and one that is inserted without a graph goes to the graph that already describes its subject, or to `default_graph`
where the caller has one. The graphs that abi keeps itself cannot be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from abi.errors import Invalid, NotFound, QueryRefused, QuerySyntaxError, UsageError
from abi.findings import Finding
from abi.graph.change import Change
from abi.graph.guard import Operation, check_update
from abi.graph.names import provenance_graph
from abi.graph.oxigraph import OxigraphStore, data_of
from abi.graph.store import BOOKKEEPING
from abi.graph.tokens import Token
from abi.graph.update_clauses import Clauses, operation_text, refuse_blanks
from abi.graph.worker import QueryWorker

if TYPE_CHECKING:
    from abi.graph.gate import Gate
    from abi.graph.rows import Rows, Term
    from abi.settings import Settings

__all__ = ["Surroundings", "UpdateReport", "apply_update"]

_CHUNK = 5_000
_SOLUTIONS = 1_000_000
_SOLUTION_BYTES = 512 * 1024 * 1024
_QUADS = 2_000_000
"""About as many quads as one operation may make."""
_BLANK = "urn:abi:blank:"
_PARTS = ("/parameter/", "/annotation/", "/selector/", "/intent/")


@dataclass(slots=True)
class UpdateReport:
    """What an update did, or would do: triples that came and went, and what the gate says of them.

    `version` is the store's afterwards; `graphs` and `subjects` are the IRIs of what changed.
    """

    added: int = 0
    removed: int = 0
    findings: list[Finding] = field(default_factory=list)
    version: int = 0
    graphs: list[str] = field(default_factory=list)
    subjects: set[str] = field(default_factory=set)
    added_quads: list[str] = field(default_factory=list)
    """N-Quads lines of what would come and go, and the update that makes just that change; of a dry run only."""
    removed_quads: list[str] = field(default_factory=list)
    exact: str = ""

    def document(self) -> dict[str, Any]:
        findings = [f.document() for f in self.findings]
        return {"added": self.added, "removed": self.removed, "findings": findings}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an update meets besides the store.

    `query` evaluates a WHERE as `WorkerPool.query` does (None: in this process, without a limit of time). `using` and
    `using_named` are the dataset that a client asks for beside its text. `default_graph` takes what has no graph.
    """

    query: Callable[..., Rows] | None = None
    seconds: float | None = None
    using: Sequence[str] = ()
    using_named: Sequence[str] = ()
    default_graph: str | None = None
    base: str | None = None
    """What relative IRIs are relative to where the text has no BASE."""

    @property
    def dataset(self) -> str:
        """As clauses of a query."""
        named = "".join(f"FROM NAMED {ox.NamedNode(g)} " for g in self.using_named)
        return "".join(f"FROM {ox.NamedNode(g)} " for g in self.using) + named


def apply_update(
    store: OxigraphStore,
    gate: Gate,
    text: str,
    *,
    settings: Settings,
    dry_run: bool = False,
    around: Surroundings | None = None,
) -> UpdateReport:
    """Apply an update whole or not at all; source graphs that it touches are marked as edited.

    With `dry_run` nothing is written and errors are in the findings. Raises QueryRefused (SERVICE, LOAD, a graph of
    abi's own), QueryTimeout, QuerySyntaxError, NotFound (no such graph), Invalid (it breaks a rule, or it is not clear
    into which graph a triple belongs).
    """
    operations = check_update(text, settings, settings.all_prefixes())
    given = around or Surroundings()
    if given.base is not None:
        operations = [replace(o, base=o.base or given.base) for o in operations]
    if given.using or given.using_named:
        _refuse_second_dataset(operations)
    with store.writing:
        change = _Delta(store, {BOOKKEEPING, provenance_graph(settings.base_iri)}, given)
        for operation in operations:
            change.run(operation)
        wanted = Change(add=list(change.added), remove=list(change.removed))
        net = gate.net(wanted)
        report = UpdateReport(
            len(net.added),
            len(net.removed),
            graphs=net.graphs(),
            subjects={q.subject.value for q in (*net.added, *net.removed) if isinstance(q.subject, ox.NamedNode)},
        )
        if dry_run:
            report.findings = gate.check(net)
            report.version = store.version()
            report.added_quads = sorted(str(q) for q in net.added)
            report.removed_quads = sorted(str(q) for q in net.removed)
            blocks = (("DELETE", net.removed), ("INSERT", net.added))
            report.exact = " ;\n".join(f"{word} {data_of(quads)}" for word, quads in blocks if quads)
        else:
            written = gate.write(net, mark_edited=gate.edited_graphs(net))
            report.findings, report.version = written.findings, written.version
        return report


class _Delta:
    """What the operations so far take away and add, against the store; later ones see what earlier ones did."""

    def __init__(self, store: OxigraphStore, kept: set[str], around: Surroundings) -> None:
        self._around = around
        self._store = store
        self._state = store
        self._kept = kept
        self.removed: dict[ox.Quad, None] = {}
        self.added: dict[ox.Quad, None] = {}

    def run(self, operation: Operation) -> None:
        kind = operation.kind
        if kind == "insert_data":
            self._apply(operation, [], _filled(operation, operation.text))
            return
        if kind == "delete_data":
            refuse_blanks(operation, operation.tokens)
            self._apply(operation, _filled(operation, "INSERT" + operation.text[len("DELETE") :]), [])
            return
        if kind == "create":
            return
        self._catch_up()
        if kind in ("modify", "delete_where"):
            self._apply(operation, *self._modify(operation))
        elif kind in ("clear", "drop"):
            self._apply(operation, [q for g in self._targets(operation) for q in self._state.quads(g)], [])
        elif kind in ("copy", "move", "add"):
            self._apply(operation, *self._transfer(operation))
        else:
            raise QueryRefused(f"line {operation.line}: {kind.upper()} is not let through")

    def _catch_up(self) -> None:
        """An operation that reads must see what was written before it: from here on in a copy in memory."""
        if self._state is self._store and (self.added or self.removed):
            copy = OxigraphStore.memory(prefixes=self._store.prefixes)
            kept = (q for q in self._store.match() if q not in self.removed)
            copy.inner.bulk_extend([*kept, *self.added])
            self._state = copy

    def _apply(self, operation: Operation, removed: Iterable[ox.Quad], added: Iterable[ox.Quad]) -> None:
        gone = list(dict.fromkeys(q for r in removed for q in self._wherever(r) if not self._is_kept(operation, q)))
        new = [q for q in self._placed(operation, list(added), gone) if not self._is_kept(operation, q)]
        new = list(dict.fromkeys(new))
        for quad in gone:
            if quad in self.added:
                del self.added[quad]
            elif _has(self._store, quad):
                self.removed[quad] = None
        for quad in new:
            if quad in self.removed:
                del self.removed[quad]
            elif not _has(self._store, quad):
                self.added[quad] = None
        if self._state is not self._store:
            for quad in gone:
                self._state.inner.remove(quad)
            self._state.inner.extend(new)

    def _is_kept(self, operation: Operation, quad: ox.Quad) -> bool:
        """Whether a quad is in a graph of abi's own: passed over where a variable met it, refused where it is named."""
        graph = getattr(quad.graph_name, "value", "")
        if graph not in self._kept:
            return False
        for token in operation.tokens:
            prefix, _, local = token.text.partition(":")
            named = token.kind == "iri" and token.name == graph
            if named or (token.kind == "pname" and operation.prefixes.get(prefix, "?") + local == graph):
                raise QueryRefused(
                    f"line {token.line}, column {token.column}: the graph <{graph}> is kept by abi itself",
                    hint="Index, restore or load files to change it.",
                )
        return True

    # DELETE, INSERT, WHERE

    def _modify(self, operation: Operation) -> tuple[list[ox.Quad], list[ox.Quad]]:
        part = Clauses.of(operation)
        refuse_blanks(operation, part.delete or ())
        templates = [t for t in (part.delete, part.insert) if t is not None]
        names = sorted({t.name for tokens in templates for t in tokens if t.kind == "var"})
        # Each solution makes blank nodes of its own, also where it differs in nothing that the template names.
        fresh = part.insert is not None and any(t.kind == "bnode" or t.text in ("[", "(") for t in part.insert)
        solutions = self._solutions(operation, part, names, whole=fresh)
        found: list[list[ox.Quad]] = []
        for template in (part.delete, part.insert):
            text = None if template is None else operation_text(operation, template)
            made = len(solutions) * max(1, len(template or ()) // 4)
            if made > _QUADS:
                raise QueryRefused(
                    f"line {operation.line}: the operation would make about {made:,} triples; {_QUADS:,} are allowed",
                    hint="Do it in several updates, each for a part.",
                )
            found.append([] if text is None else _instances(operation, part.graph, text, names, solutions))
        return found[0], found[1]

    def _solutions(self, operation: Operation, part: Clauses, names: list[str], *, whole: bool) -> list[list[Any]]:
        where = operation_text(operation, part.where)
        shown = "*" if whole or not names else " ".join(f"?{n}" for n in names)
        limit = "" if names or whole else " LIMIT 1"
        dataset = part.dataset or self._around.dataset
        query = f"SELECT DISTINCT {shown} {dataset} WHERE {where}{limit}"
        default = ox.NamedNode(_iri(operation, part.graph)) if part.graph and not dataset else None
        if self._around.query is not None:
            return self._asked(operation, query, names, default)
        try:
            rows = self._state.inner.query(
                query,
                prefixes=operation.prefixes,
                base_iri=operation.base,
                use_default_graph_as_union=default is None and not dataset,
                default_graph=default,
            )
            assert isinstance(rows, ox.QuerySolutions)
            positions = {v.value: i for i, v in enumerate(rows.variables)}
            return [[row[positions[n]] if n in positions else None for n in names] for row in rows]
        except SyntaxError as error:
            raise _syntax(operation, error) from error

    def _asked(self, operation: Operation, query: str, names: list[str], default: Any) -> list[list[Any]]:
        """The solutions by a process of their own; what earlier operations changed is handed to it whole."""
        ask = self._around.query
        given: dict[str, Any] = {
            "default_graphs": None if default is None else [default.value],
            "seconds": self._around.seconds,
            "rows": _SOLUTIONS,
            "bytes": _SOLUTION_BYTES,
            "prefixes": operation.prefixes,
            "base": operation.base,
        }
        try:
            if self._state is self._store:
                assert ask is not None
                rows = ask(query, **given)
            else:
                with QueryWorker(self._state) as worker:
                    rows = worker.query(query, **given)
        except QuerySyntaxError as error:
            raise _syntax(operation, error) from error
        if rows.truncated:
            raise QueryRefused(
                f"line {operation.line}: the WHERE has more than {_SOLUTIONS:,} solutions",
                hint="Do it in several updates, each for a part.",
            )
        return [[_term(row.get(n)) for n in names] for row in rows]

    # Without a graph

    def _wherever(self, quad: ox.Quad) -> list[ox.Quad]:
        if not isinstance(quad.graph_name, ox.DefaultGraph):
            return [quad]
        subject, value = quad.subject, quad.object
        assert not isinstance(subject, ox.Triple) and not isinstance(value, ox.Triple)
        found = self._state.match(subject, quad.predicate, value)
        return [q for q in found if getattr(q.graph_name, "value", "") not in self._kept]

    def _placed(self, operation: Operation, quads: Sequence[ox.Quad], gone: Sequence[ox.Quad]) -> list[ox.Quad]:
        placed: list[ox.Quad] = []
        homes: dict[Any, Any] = {}
        touched = {q.graph_name for q in gone}
        faults: dict[str, Finding] = {}
        for quad in quads:
            if not isinstance(quad.graph_name, ox.DefaultGraph):
                placed.append(quad)
                continue
            subject = quad.subject
            if subject not in homes:
                homes[subject] = self._home(subject, quads, touched)
            home = homes[subject]
            if home is not None:
                placed.append(ox.Quad(subject, quad.predicate, quad.object, home))
            else:
                message = f"it is not clear into which graph a triple about {subject} belongs"
                fix = "Write GRAPH <iri> { ... } around it."
                faults[str(subject)] = Finding("", operation.line, "", "error", "graph-missing", message, fix)
        if faults:
            raise Invalid("a triple is inserted without a graph; nothing was written", list(faults.values()))
        return placed

    def _home(self, subject: Any, quads: Sequence[ox.Quad], touched: set[Any]) -> Any:
        """The one graph that describes a subject, or the record that it is a part of; None where there is not one."""
        node, seen = subject, set()
        while isinstance(node, ox.BlankNode) and node not in seen:
            seen.add(node)
            node = next((q.subject for q in quads if q.object == node), node)
        if isinstance(node, ox.NamedNode):
            owners = [node, *(ox.NamedNode(node.value.partition(p)[0]) for p in _PARTS if p in node.value)]
            for owner in owners:
                graphs = {q.graph_name for q in self._state.match(owner)}
                graphs = {g for g in graphs if getattr(g, "value", "") not in self._kept}
                if graphs:
                    return graphs.pop() if len(graphs) == 1 else None
        if len(touched) == 1:
            return next(iter(touched))
        return None if self._around.default_graph is None else ox.NamedNode(self._around.default_graph)

    # Whole graphs

    def _targets(self, operation: Operation) -> list[str]:
        words = [t for t in operation.tokens[1:] if t.upper not in ("SILENT", "GRAPH")]
        if len(words) != 1:
            raise QuerySyntaxError(f"line {operation.line}: {operation.kind.upper()} takes one graph, DEFAULT or ALL")
        (target,) = words
        default = self._around.default_graph
        if target.upper in ("ALL", "NAMED"):
            left = self._kept if target.upper == "ALL" else {*self._kept, default}
            return [g for g in self._state.graphs() if g not in left]
        if target.upper == "DEFAULT":
            return [] if default is None else [default]
        graph = _iri(operation, target)
        return [graph] if self._exists(operation, graph) else []

    def _exists(self, operation: Operation, graph: str) -> bool:
        if next(self._state.quads(graph), None) is not None:
            return True
        if any(t.upper == "SILENT" for t in operation.tokens):
            return False
        raise NotFound(
            f"line {operation.line}: there is no graph <{graph}>",
            hint="Write SILENT if that does not matter.",
        )

    def _transfer(self, operation: Operation) -> tuple[list[ox.Quad], list[ox.Quad]]:
        words = [t for t in operation.tokens[1:] if t.upper not in ("SILENT", "GRAPH", "TO")]
        if len(words) != 2:
            raise QuerySyntaxError(f"line {operation.line}: {operation.kind.upper()} takes a graph, TO and another one")
        source, target = words
        default = self._around.default_graph
        into = default if target.upper == "DEFAULT" else _iri(operation, target)
        if into is None:
            raise QueryRefused(f"line {operation.line}: triples are kept in named graphs only", hint="Name the graph.")
        origin = default if source.upper == "DEFAULT" else _iri(operation, source)
        exists = origin is None or source.upper == "DEFAULT" or self._exists(operation, origin)
        if origin == into or not exists:
            return [], []
        held = [] if origin is None else list(self._state.quads(origin))
        new = [ox.Quad(q.subject, q.predicate, q.object, ox.NamedNode(into)) for q in held]
        removed = [] if operation.kind == "add" else [q for q in self._state.quads(into) if q not in set(new)]
        if operation.kind == "move":
            removed += held
        return removed, new


def _refuse_second_dataset(operations: Sequence[Operation]) -> None:
    for operation in operations:
        for token in operation.tokens:
            if token.upper in ("USING", "WITH"):
                raise UsageError(
                    f"line {token.line}, column {token.column}: {token.upper} names a dataset, as the request does.",
                    hint="Name it in one of the two places.",
                    details={"line": token.line, "column": token.column},
                )


def _term(term: Term | None) -> Any:
    if term is None:
        return None
    if term.kind == "iri":
        return ox.NamedNode(term.value)
    if term.kind == "bnode":
        return ox.BlankNode(term.value)
    if term.language:
        return ox.Literal(term.value, language=term.language)
    return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype) if term.datatype else None)


def _iri(operation: Operation, token: Token) -> str:
    """The IRI that a token stands for, prefixes and base resolved as the parser does it."""
    query = f"SELECT ({token.text} AS ?iri) WHERE {{}}"
    try:
        rows = ox.Store().query(query, prefixes=operation.prefixes, base_iri=operation.base)
        assert isinstance(rows, ox.QuerySolutions)
        term = next(rows)["iri"]
    except (SyntaxError, StopIteration) as error:
        raise _syntax(operation, error) from error
    if not isinstance(term, ox.NamedNode):
        raise QuerySyntaxError(f"line {operation.line}: {token.text} does not name a graph")
    return term.value


def _filled(operation: Operation, text: str) -> list[ox.Quad]:
    """The quads of an INSERT, made in an empty store."""
    scratch = ox.Store()
    try:
        scratch.update(text, prefixes=operation.prefixes, base_iri=operation.base)
    except SyntaxError as error:
        raise _syntax(operation, error) from error
    return list(scratch)


def _instances(
    operation: Operation, graph: Token | None, template: str, names: list[str], solutions: list[list[Any]]
) -> list[ox.Quad]:
    """What a template becomes for each solution."""
    found: list[ox.Quad] = []
    head = f"WITH {graph.text}\n" if graph else ""
    if not names:
        return _filled(operation, f"{head}INSERT {template} WHERE {{}}") if solutions else []
    for start in range(0, len(solutions), _CHUNK):
        rows = "\n".join("(" + " ".join(_value(t) for t in row) + ")" for row in solutions[start : start + _CHUNK])
        values = f"VALUES ({' '.join('?' + n for n in names)}) {{\n{rows}\n}}"
        found += map(_unveiled, _filled(operation, f"{head}INSERT {template} WHERE {{ {values} }}"))
    return found


def _value(term: Any) -> str:
    if term is None:
        return "UNDEF"
    # A blank node of the store cannot be named in a query: it goes in disguise.
    return f"<{_BLANK}{term.value}>" if isinstance(term, ox.BlankNode) else str(term)


def _unveiled(quad: ox.Quad) -> ox.Quad:
    subject, value = _real(quad.subject), _real(quad.object)
    return ox.Quad(subject, quad.predicate, value, quad.graph_name)


def _real(term: Any) -> Any:
    if isinstance(term, ox.NamedNode) and term.value.startswith(_BLANK):
        return ox.BlankNode(term.value[len(_BLANK) :])
    return term


def _has(store: OxigraphStore, quad: ox.Quad) -> bool:
    return quad in store.inner


def _syntax(operation: Operation, error: Exception) -> QuerySyntaxError:
    return QuerySyntaxError(
        f"line {operation.line}: the operation does not parse: {error}", details={"line": operation.line, "column": 1}
    )
