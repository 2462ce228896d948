"""`abi doctor`: each thing that can be wrong with a workspace, looked at by itself, and how to mend it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from abi import terms
from abi.errors import AbiError, StoreMissing
from abi.reports import Check, DoctorReport

if TYPE_CHECKING:
    from abi.workspace import Workspace

__all__ = ["examine"]

_NEED_THE_GRAPH = {"edited", "specifications", "search index", "query process", "trust"}


def examine(workspace: Workspace) -> DoctorReport:
    """Never raises for what it finds: a look that fails is a finding."""
    looks: tuple[tuple[str, Callable[[Workspace], Check]], ...] = (
        ("folder", _folder),
        ("graph", _graph),
        ("files", _files),
        ("edited", _edited),
        ("specifications", _specifications),
        ("search index", _search),
        ("embedder", _embedder),
        ("query process", _worker),
        ("traces", _traces),
        ("model", _model),
        ("trust", _trust),
        ("secrets", _secrets),
    )
    checks = []
    missing = False
    for name, look in looks:
        if missing and name in _NEED_THE_GRAPH:
            continue
        try:
            checks.append(look(workspace))
        except AbiError as error:
            missing = missing or isinstance(error, StoreMissing)
            checks.append(Check(name, False, error.message, error.hint))
    return DoctorReport(checks)


def _folder(workspace: Workspace) -> Check:
    state = workspace.root / ".abi"
    place = state if state.exists() else workspace.root
    if not os.access(place, os.W_OK):
        return Check("folder", False, f"{place} cannot be written to.", "Give yourself the right to write there.")
    return Check("folder", True, f"{workspace.root} is a workspace for {workspace.settings.base_iri}")


def _graph(workspace: Workspace) -> Check:
    store = workspace.store
    return Check("graph", True, f"{len(store):,} triples, version {store.version()}, {workspace.settings.store}")


def _files(workspace: Workspace) -> Check:
    report = workspace.check()
    errors = [f for f in report.findings if f.severity == "error"]
    if errors:
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        return Check("files", False, f"{errors[0]}{more}", "`abi check` shows them all.")
    return Check("files", True, f"{len(report.records)} records conform")


def _edited(workspace: Workspace) -> Check:
    edited = workspace.status().edited
    if edited:
        message = f"The graph was edited since these files were read: {', '.join(edited)}."
        fix = "`abi export --source PATH -o PATH` writes the graph back; `abi index --restore` reads the files."
        return Check("edited", True, message, fix)  # no fault: the graph may be edited, and both ways are open
    return Check("edited", True, "every graph is as its file says")


def _specifications(workspace: Workspace) -> Check:
    """HTTP tools work on the part of a document that was indexed; is it still what is at its place?"""
    import hashlib

    from abi.net import net_client

    rows = workspace.store.query(
        "SELECT DISTINCT ?place ?hash WHERE { "
        f"?record <{terms.SPECIFICATION_SOURCE}> ?place ; <{terms.SPECIFICATION_HASH}> ?hash }} ORDER BY ?place"
    )
    changed, gone = [], []
    for row in rows:
        place = row["place"].value
        try:
            if place.startswith(("http://", "https://")):
                data = net_client(workspace.settings).get(place)
            else:
                data = (workspace.root / place).read_bytes()
        except (AbiError, OSError):
            gone.append(place)
            continue
        if hashlib.sha256(data).hexdigest() != row["hash"].value:
            changed.append(place)
    if changed:
        message = f"Changed since they were indexed, so that their tools work on what they were: {', '.join(changed)}."
        return Check(
            "specifications",
            False,
            message,
            "`abi index`; one at a URL is fetched anew by `abi index PATH` with the path of its record.",
        )
    if gone:
        message = f"Not to be had now: {', '.join(gone)}. Their tools work on what was indexed."
        return Check("specifications", True, message)
    return Check("specifications", True, f"{len(rows)} as they were indexed")


def _search(workspace: Workspace) -> Check:
    faults = workspace.mend_search_index()
    if faults:
        message = f"The search index was damaged ({faults[0]}); it was made anew from the graph."
        return Check("search index", True, message)
    graph, search = workspace.store.version(), workspace.search_version
    if graph != search:
        message = f"The search index is of version {search}, the graph of {graph}."
        return Check("search index", True, message + " The next search brings it up to date.")
    return Check("search index", True, f"version {search}, as the graph")


def _embedder(workspace: Workspace) -> Check:
    vector = workspace.embedder.embed(["are you there"])
    return Check("embedder", True, f"{workspace.embedder.name}, {vector.shape[1]} dimensions")


def _worker(workspace: Workspace) -> Check:
    rows = workspace.sparql("ASK { ?s ?p ?o }")
    return Check("query process", True, f"answers in {rows.seconds * 1000:.0f} ms, start included")


def _traces(workspace: Workspace) -> Check:
    turns = workspace.traces.query("SELECT (COUNT(DISTINCT ?turn) AS ?turns) WHERE { ?turn a abi:Turn }").python()
    return Check("traces", True, f"{turns[0]['turns']} turns")


def _model(workspace: Workspace) -> Check:
    name = workspace.settings.model
    if name == "offline:grounded":
        return Check("model", True, f"{name}: no key and no network needed")
    workspace.model(name)
    return Check("model", True, f"{name} can be loaded; it was not asked anything")


def _trust(workspace: Workspace) -> Check:
    from abi.graph.catalog import Catalog
    from abi.tools.trust import is_trusted

    functions = Catalog(workspace.store).counts().get("python_function", 0)
    if functions and not is_trusted(workspace.root):
        message = f"This workspace is not trusted, so its {functions} Python tools do not run."
        return Check("trust", False, message, "Read them, then `abi trust`.")
    return Check("trust", True, "its Python may run" if functions else "there is no Python to run")


def _secrets(workspace: Workspace) -> Check:
    from abi.secrets import secret
    from abi.tools.trust import is_trusted

    if workspace.settings.secrets and not is_trusted(workspace.root):
        message = f"This workspace is not trusted, so it does not get its {len(workspace.settings.secrets)} secrets."
        return Check("secrets", False, message, "Read its abi.yaml and its tools, then `abi trust`.")
    missing = []
    for name in workspace.settings.secrets:
        try:
            secret(name, workspace.settings, workspace.root)
        except AbiError:
            missing.append(name)
    if missing:
        return Check("secrets", False, f"No value is found for {', '.join(missing)}.", "See `secrets` in abi.yaml.")
    return Check("secrets", True, f"{len(workspace.settings.secrets)} names, each with a value")
