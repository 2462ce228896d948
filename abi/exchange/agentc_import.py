"""Agent Catalog's `tools.json` and `prompts.json` as files of a workspace, which `abi index` then reads.

A catalog file says what its sources were when it was indexed. They are written where they stood, relative to what they
have in common, under `tools/` or `prompts/`; nothing that exists is overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from abi.exchange.agentc_text import NoText, file_text, suffix_of
from abi.findings import Finding, has_errors

__all__ = ["ImportReport", "import_catalogs"]


@dataclass(slots=True)
class ImportReport:
    """`created` and `unchanged` are paths relative to the workspace; with an error in `findings` nothing is written."""

    records: int = 0
    created: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {
            "graph": None,
            "triples": 0,
            "records": self.records,
            "created": self.created,
            "unchanged": self.unchanged,
            "findings": [f.document() for f in self.findings],
        }


def import_catalogs(paths: Sequence[Path], root: Path, sources: Sequence[str], max_bytes: int) -> ImportReport:
    """Write the sources of all catalogs, or nothing where any of them has a fault. `sources` are the workspace's."""
    report = ImportReport()
    files: dict[str, tuple[str, str]] = {}
    for path in paths:
        document = _read(path, max_bytes, report)
        if document is None:
            continue
        folder = "prompts" if document["kind"] == "prompt" else "tools"
        for target, items in _by_file(document, folder, sources, path, report).items():
            report.records += len(items)
            try:
                files[target] = (file_text(items), str(path))
            except NoText as error:
                names = ", ".join(str(item.get("name")) for item in items)
                fix = "Copy its file into the workspace by hand, or index the catalog again with a newer agentc."
                report.findings.append(
                    Finding(str(path), 0, "items", "error", "import-no-text", f"{names}: {error}", fix)
                )
            beside = (items[0].get("specification") or {}).get("filename")
            if beside and not any((folder / str(beside)).exists() for folder in ((root / target).parent, root)):
                message = f"{target} needs the specification {beside}, which no catalog file holds"
                fix = f"Copy it beside {target}, or into the workspace."
                report.findings.append(
                    Finding(target, 0, "open_api.filename", "warning", "import-beside", message, fix)
                )
    for target, (text, catalog) in files.items():
        _compare(root, target, text, catalog, report)
    if has_errors(report.findings):
        report.created = []
        return report
    for target in report.created:
        file = root / target
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(files[target][0], encoding="utf-8", newline="\n")
    return report


def _compare(root: Path, target: str, text: str, catalog: str, report: ImportReport) -> None:
    file = root / target
    if not file.parent.resolve().is_relative_to(root.resolve()):
        message = f"{target} leads out of the workspace by a link"
        report.findings.append(Finding(target, 0, "", "error", "import-outside", message, "Take the link away."))
    elif not file.exists() and not file.is_symlink():
        report.created.append(target)
    elif file.is_file() and file.read_text(encoding="utf-8", errors="replace") == text:
        report.unchanged.append(target)
    else:
        message = f"{target} exists and differs from what {catalog} has"
        fix = "Move it away, or take it out of the catalog file."
        report.findings.append(Finding(target, 0, "", "error", "import-exists", message, fix))


def _read(path: Path, max_bytes: int, report: ImportReport) -> dict[str, Any] | None:
    def fault(code: str, message: str, fix: str, line: int = 0) -> None:
        report.findings.append(Finding(str(path), line, "", "error", code, message, fix))

    try:
        size = path.stat().st_size
        if size > max_bytes:
            fault("catalog-large", f"it has {size:,} bytes; {max_bytes:,} are allowed", "Raise max_rdf_bytes.")
            return None
        document = json.loads(path.read_bytes())
    except OSError as error:
        fault("catalog-unreadable", f"it cannot be read: {error.strerror}", "")
        return None
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        fault("catalog-syntax", f"it is no JSON: {getattr(error, 'msg', error)}", "JSON-LD files end in .jsonld.", line)
        return None
    if (
        not isinstance(document, dict)
        or document.get("kind") not in ("tool", "prompt")
        or not isinstance(document.get("items"), list)
        or not all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in document["items"])
    ):
        fix = "A catalog file is what `agentc index` writes: tools.json or prompts.json in .agent-catalog."
        fault("catalog-syntax", "it is no catalog file: it needs kind, tool or prompt, and items with names", fix)
        return None
    return document


def _by_file(
    document: Mapping[str, Any], folder: str, sources: Sequence[str], path: Path, report: ImportReport
) -> dict[str, list[Mapping[str, Any]]]:
    """The items of each file, by the path that it gets in the workspace."""
    places: dict[PurePosixPath, list[Mapping[str, Any]]] = {}
    for item in document["items"]:
        if isinstance(item.get("abi_record_kind"), str):
            item = {**item, "record_kind": item["abi_record_kind"]}
        places.setdefault(_place(item), []).append(item)
    absolute = [place for place in places if place.is_absolute()]
    shared = _shared_folder(absolute)
    found: dict[str, list[Mapping[str, Any]]] = {}
    for place, items in places.items():
        relative = place.relative_to(shared) if place.is_absolute() else place
        if ".." in relative.parts or not relative.name:
            message = f"the source {place} leads out of the workspace"
            report.findings.append(
                Finding(str(path), 0, "items", "error", "import-outside", message, "Mend the source of that item.")
            )
            continue
        inside = relative.parts[0] in sources
        found.setdefault((relative if inside else folder / relative).as_posix(), []).extend(items)
    return found


def _place(item: Mapping[str, Any]) -> PurePosixPath:
    source = str(item.get("source") or "")
    windows = PureWindowsPath(source)
    if windows.drive:
        return PurePosixPath("/", *windows.parts[1:])
    place = PurePosixPath(source.replace("\\", "/"))
    return place if place.name else PurePosixPath(f"{item['name']}{suffix_of(str(item.get('record_kind')))}")


def _shared_folder(places: Sequence[PurePosixPath]) -> PurePosixPath:
    """The deepest folder that holds all the files."""
    if not places:
        return PurePosixPath("/")
    shared = places[0].parent
    while not all(place.is_relative_to(shared) for place in places):
        shared = shared.parent
    return shared
