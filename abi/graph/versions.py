"""The published versions of a catalog: one immutable file each beside the live graph, which describes them.

A version is addressed by its content, so that the same content is one version, however often it is published. The
files are what counts: a graph that was made anew learns of them with the next publication.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from abi import terms
from abi.errors import Invalid, NotFound, StoreError, UsageError
from abi.findings import Finding
from abi.graph.canonical import canonical_lines
from abi.graph.catalog import KIND_CLASSES, Catalog
from abi.graph.change import Change
from abi.graph.indexing import files_behind
from abi.graph.migrations import CURRENT_SCHEMA
from abi.graph.store import BOOKKEEPING
from abi.graph.version_file import (
    SUFFIX,
    CatalogVersion,
    content_hash,
    open_version,
    read_header,
    read_lines,
    write_version,
)
from abi.records.working_tree import WorkingTree, working_tree

if TYPE_CHECKING:
    from abi.graph.gate import Gate
    from abi.graph.oxigraph import OxigraphStore
    from abi.settings import Settings

__all__ = ["PublishReport", "Versions", "publish"]

_N = ox.NamedNode
_HEX = re.compile(r"[0-9a-f]{4,64}")
_NAME_LENGTH = 16
_SHOWN = 20
"""Findings of one sort that a refusal lists; after so many, more do not help."""


@dataclass(slots=True)
class PublishReport:
    """`published` is False where this content was a version already: `version` is that one, and nothing was written."""

    version: CatalogVersion
    published: bool
    path: Path
    findings: list[Finding] = field(default_factory=list)
    subjects: set[str] = field(default_factory=set)

    def document(self) -> dict[str, Any]:
        return {
            **self.version.document(),
            "published": self.published,
            "path": str(self.path),
            "bytes": self.path.stat().st_size,
            "findings": [f.document() for f in self.findings],
        }


class Versions:
    """The versions in a folder, oldest first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[CatalogVersion]:
        """Every version. Raises StoreError for a file that is none."""
        found = [read_header(path) for path in self.folder.glob(f"*{SUFFIX}")] if self.folder.is_dir() else []
        return sorted(found, key=lambda v: (v.time, v.version))

    def one(self, text: str) -> CatalogVersion:
        """The version that a text means: `latest`, the first digits of its name, or those of the commit it is of.

        Of several versions of one commit it is the newest. Raises NotFound, and UsageError where digits fit several.
        """
        versions = self.all()
        if text == "latest" and versions:
            return versions[-1]
        if _HEX.fullmatch(text):
            named = [v for v in versions if v.content_hash.startswith(text)]
            if len(named) > 1:
                fitting = ", ".join(v.version for v in named)
                raise UsageError(f"{text!r} is the beginning of several versions: {fitting}.", hint="Give more digits.")
            of_commit = [v for v in versions if v.commit and v.commit.startswith(text)]
            if named or of_commit:
                return named[0] if named else of_commit[-1]
        elif versions and text != "latest":
            raise UsageError(
                f"{text!r} is no version.",
                hint="Give `latest`, or four or more of the digits that `abi versions` shows.",
            )
        hint = "`abi versions` lists them." if versions else "`abi publish` makes the first one."
        raise NotFound(f"There is no version {text!r}.", hint=hint)

    def path(self, version: CatalogVersion) -> Path:
        return self.folder / f"{version.version}{SUFFIX}"

    def open(self, text: str, prefixes: Mapping[str, str]) -> tuple[CatalogVersion, OxigraphStore]:
        """A version as a read-only store in memory. Raises as `one`, and StoreError where its file is damaged."""
        version = self.one(text)
        version, store = open_version(self.path(version), prefixes)
        store.inner.extend(_description(version, _records_of(store.quads())))
        return version, store


def publish(
    store: OxigraphStore,
    gate: Gate,
    root: Path,
    settings: Settings,
    *,
    message: str = "",
    allow_dirty: bool = False,
) -> PublishReport:
    """Write what the graph holds as a version, and describe it in the graph.

    A graph that is behind its files, that was edited apart from them, or whose files differ from their commit is
    refused: nobody could say later what the version was made of. `allow_dirty` lets it pass, and the version says so.
    Raises Invalid with one finding a file, StoreError.
    """
    versions = Versions(root / ".abi" / "versions")
    behind = _behind(root, settings, store)
    if behind and not allow_dirty:
        raise _refusal("The graph is behind the files", behind)
    base = settings.base_iri
    own = {_N(BOOKKEEPING), _N(_graph(base))}
    lines = canonical_lines(q for q in store.quads() if q.graph_name not in own)
    digest = content_hash(lines, base)
    known = versions.all()
    same = next((v for v in known if v.content_hash == digest), None)
    if same is not None:
        report = PublishReport(same, False, versions.path(same), _warnings(behind))
        _describe(store, gate, versions, known, report)
        return report
    tree = working_tree(root)
    dirty = [*behind, *_dirty(store, tree)]
    if dirty and tree is not None and not allow_dirty:
        raise _refusal("The files differ from their commit", dirty)
    version = CatalogVersion(
        version=digest[:_NAME_LENGTH],
        records=sum(Catalog(store).counts().values()),
        triples=len(lines),
        commit=tree.commit if tree else None,
        dirty=bool(dirty) if tree else None,
        time=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        message=message,
        previous=known[-1].version if known else None,
        content_hash=digest,
        base_iri=base,
        schema=CURRENT_SCHEMA,
    )
    path = versions.path(version)
    if path.exists():
        raise StoreError(f"{path} is of another content whose hash begins alike.", hint="Move that file elsewhere.")
    # The file first: where the process ends between the two, the next publication finds it and describes it.
    write_version(path, version, lines)
    report = PublishReport(version, True, path, _warnings(dirty if tree else behind))
    _describe(store, gate, versions, [*known, version], report, new=(version, _records_of(store.quads())))
    return report


def _behind(root: Path, settings: Settings, store: OxigraphStore) -> list[Finding]:
    return [
        Finding(
            path, 0, "", "error", "index-behind", "the graph does not hold what this file holds now", "Run `abi index`."
        )
        for path in files_behind(root, settings, store)
    ]


def _dirty(store: OxigraphStore, tree: WorkingTree | None) -> list[Finding]:
    if tree is None:
        return []
    commit = tree.commit[:12]
    found = [
        Finding(path, 0, "", "error", "tree-dirty", f"the file differs from commit {commit}", "Commit it.")
        for path in tree.changed
    ]
    edited = sorted(path for path, (_, _, was) in Catalog(store).sources().items() if was)
    found += [
        Finding(
            path,
            0,
            "",
            "error",
            "graph-edited",
            "the graph of this file was edited since it was read",
            f"Write it back with `abi export --source {path}` and commit it, or run `abi index --restore`.",
        )
        for path in edited
    ]
    return found


def _refusal(what: str, findings: Sequence[Finding]) -> Invalid:
    more = f" ({len(findings)} of them; {_SHOWN} are shown)" if len(findings) > _SHOWN else ""
    return Invalid(
        f"{what}{more}; nothing was published.",
        findings[:_SHOWN],
        hint="Mend what the findings name, or publish it as it is with --allow-dirty: the version will say so.",
    )


def _warnings(findings: Iterable[Finding]) -> list[Finding]:
    return [Finding(f.path, f.line, f.field, "warning", f.code, f.message, f.fix) for f in findings]


def _graph(base: str) -> str:
    return f"{base}versions"


def _describe(
    store: OxigraphStore,
    gate: Gate,
    versions: Versions,
    known: Sequence[CatalogVersion],
    report: PublishReport,
    new: tuple[CatalogVersion, list[ox.NamedNode]] | None = None,
) -> None:
    """Add to the graph what it does not say yet of the versions; of the `new` one the records are known.

    Raises Invalid where a rule of the workspace forbids it.
    """
    add: list[ox.Quad] = []
    for version in known:
        node = _N(f"{version.base_iri}version/{version.version}")
        if new is not None and version is new[0]:
            add += _description(*new)
        elif next(store.match(node, _N(terms.CONTENT_HASH)), None) is None:
            _, lines = read_lines(versions.path(version))
            content = ox.parse("\n".join(lines), ox.RdfFormat.N_QUADS)
            add += _description(version, _records_of(content))
    if add:
        report.findings += gate.write(Change(add=add)).findings
        report.subjects = {q.subject.value for q in add if isinstance(q.subject, ox.NamedNode)}


_RECORD_CLASSES = {_N(c) for c in KIND_CLASSES.values()}


def _records_of(quads: Iterable[ox.Quad]) -> list[ox.NamedNode]:
    """The records among all that a catalog holds, sorted."""
    found = {q.subject for q in quads if q.predicate.value == terms.RDF_TYPE and q.object in _RECORD_CLASSES}
    return sorted((s for s in found if isinstance(s, ox.NamedNode)), key=lambda s: s.value)


def _description(version: CatalogVersion, records: Sequence[ox.NamedNode]) -> list[ox.Quad]:
    """A version and its publication as triples."""
    graph = _N(_graph(version.base_iri))
    node = _N(f"{version.base_iri}version/{version.version}")
    act = _N(f"{node.value}/publication")
    moment = ox.Literal(version.time, datatype=_N(terms.XSD_DATE_TIME))
    about: list[tuple[ox.NamedNode, str, Any]] = [
        (node, terms.RDF_TYPE, _N(terms.CATALOG_VERSION)),
        (node, terms.RDF_TYPE, _N(terms.OWL_NAMED_INDIVIDUAL)),
        (node, terms.RDFS_LABEL, ox.Literal(f"version {version.version}")),
        (node, terms.NAME, ox.Literal(version.version)),
        (node, terms.CONTENT_HASH, ox.Literal(version.content_hash)),
        (node, terms.RECORD_COUNT, ox.Literal(version.records)),
        *((node, terms.HAS_RECORD, record) for record in records),
        (act, terms.RDF_TYPE, _N(terms.PUBLICATION)),
        (act, terms.RDF_TYPE, _N(terms.OWL_NAMED_INDIVIDUAL)),
        (act, terms.RDFS_LABEL, ox.Literal(f"publication of version {version.version}")),
        (act, terms.STARTED_AT, moment),
        (act, terms.ENDED_AT, moment),
        (act, terms.GENERATED, node),
    ]
    if version.commit is not None:
        about.append((node, terms.COMMIT, ox.Literal(version.commit)))
    if version.dirty is not None:
        about.append((node, terms.DIRTY, ox.Literal(version.dirty)))
    if version.message:
        about.append((node, terms.DESCRIPTION, ox.Literal(version.message)))
    if version.previous is not None:
        about.append((node, terms.REVISION_OF, _N(f"{version.base_iri}version/{version.previous}")))
    return [ox.Quad(s, _N(p), o, graph) for s, p, o in about]
