"""The catalog as Agent Catalog's `tools.json` and `prompts.json`, which its `Catalog` reads as its own.

Written in the form of its release 1.x. It has no templates there: the text of a Jinja prompt is given as it is. The
file of each record stands under `raw`, so that `abi load` brings everything back.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from abi.exchange.agentc_text import NoText, file_text
from abi.findings import Finding
from abi.records.record import (
    HttpRequest,
    JinjaPrompt,
    PythonFunction,
    RawPrompt,
    Record,
    SemanticSearch,
    SqlppQuery,
    StructuredPrompt,
    ToolSelector,
)

if TYPE_CHECKING:
    from abi.search.embedder import Embedder, Vectors

__all__ = ["CatalogState", "agentc_catalog", "written"]

SCHEMA_VERSION = "0.0.0"
LIBRARY_VERSION = "1.1.5"
_PLACE = re.compile(r'"\\u0000(\d+)"')
_DIGITS = 7
"""Of each number of a vector; single precision has no more."""


@dataclass(frozen=True, slots=True)
class CatalogState:
    """Of which state a catalog is: `time` in ISO 8601 with zone, `commit` None without git, `name` abi's own."""

    time: str
    commit: str | None
    dirty: bool
    name: str
    sources: tuple[str, ...]

    def version(self) -> dict[str, Any]:
        if self.commit is None:
            return {"timestamp": self.time, "identifier": self.name, "is_dirty": self.dirty, "version_system": "raw"}
        return {"timestamp": self.time, "identifier": self.commit, "is_dirty": self.dirty, "version_system": "git"}


def agentc_catalog(
    records: Sequence[Record],
    kind: Literal["tool", "prompt"],
    state: CatalogState,
    root: Path,
    embedder: Embedder,
    vectors: Vectors,
) -> tuple[dict[str, Any], list[Finding]]:
    """The document, and warnings for what it cannot hold. `vectors` are those of the records' descriptions."""
    items, findings = [], []
    unknown: Counter[str] = Counter()
    for record, vector in zip(records, vectors, strict=True):
        try:
            own = _fields(record, root)
        except NoText as error:
            path, line = (record.source.path, record.source.line) if record.source else ("", 0)
            message = f"{record.name} is left out: {error}"
            findings.append(Finding(path, line, "", "warning", "export-left-out", message))
            continue
        if own is None:
            unknown[str(getattr(record, "kind", ""))] += 1
            continue
        version = _version(record, state)
        source = record.source.path if record.source else ""
        item = {
            "record_kind": str(getattr(record, "kind", "")),
            "name": record.name,
            "description": record.description,
            "source": source,
            "version": version,
            "embedding": [round(float(x), _DIGITS) for x in vector],
            "identifier": _identifier(source, record.name, version),
            **({"annotations": record.annotations} if record.annotations else {}),
            **own,
        }
        items.append(item)
    for name, number in sorted(unknown.items()):
        what = f"{number} records are" if number > 1 else "one record is"
        message = f"{what} left out: Agent Catalog has no kind {name}"
        findings.append(Finding("", 0, "", "warning", "export-left-out", message))
    document = {
        "schema_version": SCHEMA_VERSION,
        "library_version": LIBRARY_VERSION,
        "kind": kind,
        "embedding_model": _embedding_model(embedder),
        "version": state.version(),
        "source_dirs": list(state.sources),
        "items": sorted(items, key=lambda i: i["identifier"]),
    }
    return document, findings


def _fields(record: Record, root: Path) -> dict[str, Any] | None:
    """What only this kind has; None for a kind that is not Agent Catalog's."""
    text = _file(record, root)
    own: dict[str, Any]
    if isinstance(record, PythonFunction):
        if record.form is not None:
            raise NoText("Agent Catalog has no tools that are methods of a class")
        if text is None:
            raise NoText("its file is no longer what was indexed")
        own = {"contents": text, "content": _function(text, record)}
    elif isinstance(record, SqlppQuery):
        own = {"input": record.input_schema, "secrets": [{"couchbase": _set(record.couchbase)}], "query": record.query}
        if record.output_schema is not None:
            own["output"] = record.output_schema
    elif isinstance(record, SemanticSearch):
        own = {"input": record.input_schema, "secrets": _secrets(record), "vector_search": _vector_search(record)}
    elif isinstance(record, HttpRequest):
        own = {
            "operation": {"path": record.path, "method": record.method},
            "specification": _specification(record),
        }
    elif isinstance(record, StructuredPrompt):
        own = {"content": record.text if record.content is None else record.content, "tools": _tools(record.tools)}
        if record.output_schema is not None:
            own["output"] = record.output_schema
    elif isinstance(record, (RawPrompt, JinjaPrompt)):
        # 0.1.5 knows them by these names and has the text under `prompt`; extra keys are ignored by both.
        own = {"record_kind": "prompt", "abi_record_kind": record.kind, "content": record.text, "prompt": record.text}
        own["tools"] = _tools(record.tools)
    else:
        return None
    if text is None:
        head = {"record_kind": getattr(record, "kind", ""), "name": record.name, "description": record.description}
        text = file_text([{**head, "annotations": record.annotations, **own, "record_kind": head["record_kind"]}])
    elif isinstance(record, SqlppQuery):
        own["query"] = text  # there it is the whole file
    return {**own, "raw": text}


def _file(record: Record, root: Path) -> str | None:
    """The text of the record's file, where that is what the record was read from."""
    if record.source is None or record.source.path.startswith("abi:"):
        return None
    path = root / record.source.path
    if path.suffix.lower() in (".ttl", ".nt", ".jsonld", ".rdf", ".owl") or not path.is_file():
        return None
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != record.source.content_hash:
        return None
    return data.decode("utf-8-sig", "replace")


def _function(text: str, record: PythonFunction) -> dict[str, Any]:
    """The function's own lines, from its first decorator on."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == record.function:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            last = node.end_lineno or node.lineno
            lines = text.splitlines()[first - 1 : last]
            return {"func_content": "\n".join(lines), "line_no_start": first, "line_no_end": last}
    raise NoText(f"its file has no function {record.function}")


def _set(secrets: Any) -> dict[str, str]:
    return {key: value for key, value in secrets.model_dump().items() if value is not None}


def _secrets(record: SemanticSearch) -> list[dict[str, Any]]:
    found = [{"couchbase": _set(record.couchbase)}, {"embedding": _set(record.embedding)}]
    return [one for one in found if next(iter(one.values()))]


def _vector_search(record: SemanticSearch) -> dict[str, Any]:
    search = record.vector_search
    if search.value_class is not None:
        raise NoText("it searches a class of the graph, which Agent Catalog does not have")
    model = {"name": search.embedding_model, **({"base_url": search.embedding_url} if search.embedding_url else {})}
    places = search.model_dump(
        include={"bucket", "scope", "collection", "index", "vector_field", "text_field", "num_candidates"}
    )
    return {**places, "embedding_model": model}


def _specification(record: HttpRequest) -> dict[str, str]:
    source = record.specification_source
    if not source:
        raise NoText("nothing tells where its specification is")
    return {"url" if source.startswith(("http://", "https://")) else "filename": source}


def _tools(selectors: Sequence[ToolSelector]) -> list[dict[str, Any]]:
    return [selector.model_dump(exclude_none=True) for selector in selectors]


def _version(record: Record, state: CatalogState) -> dict[str, Any]:
    """The last commit of the record's file, or its bytes where there is none."""
    source = record.source
    common = {"timestamp": state.time, "is_dirty": False}
    if source is not None and source.commit and not state.dirty:
        return {**common, "identifier": source.commit, "version_system": "git"}
    if source is not None and source.content_hash:
        return {**common, "identifier": source.content_hash, "version_system": "raw"}
    return {**common, "identifier": state.name, "version_system": "raw"}


def _identifier(source: str, name: str, version: Mapping[str, Any]) -> str:
    system = "git_" if version["version_system"] == "git" else ""
    return f"{source}:{name}:{system}{version['identifier']}"


def _embedding_model(embedder: Embedder) -> dict[str, str]:
    """The name under which sentence-transformers has the model."""
    known = {"minilm-l6-v2-int8": "sentence-transformers/all-MiniLM-L6-v2"}
    name = embedder.name.removeprefix("sentence-transformers:")
    return {"name": known.get(name, name)}


def written(document: Mapping[str, Any]) -> bytes:
    """The document as its files have it: keys sorted, two spaces, and a vector on one line."""
    vectors = [json.dumps(item["embedding"]) for item in document["items"]]
    # No text of a graph holds the character NUL.
    items = [{**item, "embedding": f"\0{n}"} for n, item in enumerate(document["items"])]
    text = json.dumps({**document, "items": items}, indent=2, sort_keys=True, ensure_ascii=False)
    return (_PLACE.sub(lambda match: vectors[int(match[1])], text) + "\n").encode()
