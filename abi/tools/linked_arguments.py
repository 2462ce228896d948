"""The arguments of a call, checked, and their names resolved to entities of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from abi.errors import ArgumentError
from abi.graph.resolve import labels_of, resolve
from abi.graph.rows import Rows, Term
from abi.records.record import Parameter
from abi.tools.arguments import HasParameters, argument_error, faults_of, term_of

if TYPE_CHECKING:
    from abi.tools.runner import RunContext

__all__ = ["cited", "linked_arguments"]

_MAX_CITED = 500


def linked_arguments(
    record: HasParameters, raw_arguments: Mapping[str, Any], context: RunContext
) -> tuple[dict[str, Any], dict[str, Term]]:
    """The arguments as they are used (an entity's IRI in place of its name), and the term of each.

    Raises ArgumentError with all faults, names that mean nothing or several things among them.
    """
    values, faults = faults_of(record, raw_arguments)
    prefixes = context.settings.all_prefixes()
    hints: list[str] = []
    terms: dict[str, Term] = {}
    for parameter in record.parameters:
        name = parameter.name
        if parameter.filled_from == "principal":
            if context.principal is not None:
                values[name] = context.principal
                terms[name] = (
                    Term("iri", context.principal) if _is_iri(parameter) else Term("literal", context.principal)
                )
            elif parameter.required:
                faults.append({"argument": name, "message": "is the caller's identity, and this caller has none"})
        elif name not in values:
            continue
        elif parameter.value_class is not None:
            try:
                found = resolve(
                    context.query,
                    str(values[name]),
                    parameter.value_class,
                    prefixes=prefixes,
                    argument=name,
                    look_up=context.look_up,
                )
            except ArgumentError as error:
                faults += error.details["faults"]
                hints.append(error.hint)
                continue
            values[name] = found.iri
            terms[name] = Term("iri", found.iri)
        elif not faults:
            terms[name] = term_of(parameter, values[name])
    if faults:
        raise argument_error(record.name, faults, " ".join(h for h in hints if h))
    ordered = {p.name: values[p.name] for p in record.parameters if p.name in values}
    return ordered, terms


def _is_iri(parameter: Parameter) -> bool:
    return parameter.value_class is not None or (parameter.datatype or "").endswith("#anyURI")


def cited(context: RunContext, terms: Iterable[Term], rows: Rows) -> list[tuple[str, str]]:
    """IRIs of arguments and rows that have a label, with it, in the order in which they appear; one query."""
    iris = [term.value for term in terms if term.kind == "iri"]
    for row in rows.rows:
        iris += [term.value for term in row.values() if term.kind == "iri"]
    iris = list(dict.fromkeys(iris))[:_MAX_CITED]
    labels = labels_of(context.look_up or context.query, iris)
    return [(iri, labels[iri]) for iri in iris if iri in labels]
