"""Reads a workspace's settings: the environment over `abi.yaml` over the defaults, with every fault and its line."""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import ValidationError

from abi.errors import Invalid, NotFound, Unreadable
from abi.findings import Finding
from abi.yaml_reader import Located, load_yaml

if TYPE_CHECKING:
    from abi.settings import Settings

__all__ = ["read_settings"]

FILE = "abi.yaml"
_PREFIX = re.compile(r"(?:[A-Za-z](?:[\w.-]*[\w-])?)?\Z")
_IRI = re.compile(r"(?:https?://|urn:)[^\s<>\"{}|\\^`]+\Z")
_MAX_BYTES = 256 * 1024


def read_settings(cls: type[Settings], workspace: Path) -> tuple[Settings, dict[str, str]]:
    """The settings, and for each where its value came from: `abi.yaml:4`, `environment ABI_MODEL` or `default`.

    Raises NotFound without an `abi.yaml`, Unreadable where it is no YAML, Invalid with all faults of all values.
    """
    located = _read(workspace / FILE)
    findings = list(located.findings)
    values: dict[str, Any] = dict(located.value or {})
    origins = {name: f"{FILE}:{located.line(name)}" for name in values}
    for name in cls.model_fields:
        variable = f"ABI_{name.upper()}"
        text = os.environ.get(variable)
        if text:
            values[name] = _from_environment(cls, name, text)
            origins[name] = f"environment {variable}"
    findings += _prefix_faults(values.get("prefixes"), located)
    try:
        settings = cls(**values)
    except ValidationError as error:
        findings += [_finding(cls, fault, located, origins) for fault in error.errors()]
    if findings:
        findings = sorted(set(findings))
        faults = "a fault" if len(findings) == 1 else f"{len(findings)} faults"
        raise Invalid(f"The settings have {faults}.", findings)
    return settings, {name: origins.get(name, "default") for name in cls.model_fields}


def _read(path: Path) -> Located:
    hint = "Make one with `abi init`, or go to a folder that has one."
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"There is no {FILE} in {path.parent}.", hint=hint) from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}.") from None
    if len(data) > _MAX_BYTES:
        raise Unreadable(f"{path} has {len(data)} bytes; {_MAX_BYTES} are allowed.", hint="Make it smaller.")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"{FILE}:{line}: the file is not in UTF-8.", hint="Save it as UTF-8.") from None
    try:
        located = load_yaml(text, FILE)
    except Invalid as error:
        raise Unreadable(error.message, details=error.details) from None
    if located.value is not None and not isinstance(located.value, dict):
        raise Unreadable(f"{FILE}:1: this is no list of `key: value` lines.", hint="Write `base_iri: https://...`.")
    return located


def _from_environment(cls: type[Settings], name: str, text: str) -> Any:
    """Lists and mappings are JSON, or for a list words between commas; pydantic converts the rest."""
    kind = get_origin(cls.model_fields[name].annotation)
    if kind not in (list, dict):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return [part.strip() for part in text.split(",") if part.strip()] if kind is list else text


def _prefix_faults(prefixes: Any, located: Located) -> list[Finding]:
    findings: list[Finding] = []
    for prefix, iri in prefixes.items() if isinstance(prefixes, dict) else ():
        field = f"prefixes.{prefix}"
        if not _PREFIX.match(prefix):
            message, fix = f"{prefix!r} cannot be a prefix.", "Use a letter, then letters, digits, - and _."
        elif not isinstance(iri, str) or not _IRI.match(iri):
            message, fix = f"The prefix {prefix!r} needs a whole IRI.", "Write it like https://example.org/schema#."
        else:
            continue
        findings.append(Finding(FILE, located.line(field), field, "error", "prefix-wrong", message, fix))
    return findings


def _finding(cls: type[Settings], fault: Any, located: Located, origins: dict[str, str]) -> Finding:
    field = ".".join(str(part) for part in fault["loc"])
    name = str(fault["loc"][0]) if fault["loc"] else ""
    if len(fault["loc"]) > 1 and fault["type"] in ("extra_forbidden", "missing"):
        return _inner_finding(cls, fault, located)
    if fault["type"] == "extra_forbidden":
        match = difflib.get_close_matches(name, list(cls.model_fields), n=1, cutoff=0.6)
        fix = f"Did you mean {match[0]!r}?" if match else "Remove it; `abi settings` lists all settings."
        return Finding(
            FILE, located.line(name), field, "error", "setting-unknown", f"There is no setting {name!r}.", fix
        )
    if fault["type"] == "missing":
        fix = f"Add `{name}: https://example.org/mine/` to {FILE}." if name == "base_iri" else f"Add `{name}:`."
        return Finding(FILE, located.line(), field, "error", "setting-missing", f"The setting {name} is missing.", fix)
    message = str(fault["msg"]).removeprefix("Value error, ")
    help_text = cls.model_fields[name].description or "" if name in cls.model_fields else ""
    if origins.get(name, "").startswith("environment"):
        variable = origins[name].removeprefix("environment ")
        return Finding("", 0, field, "error", "setting-wrong", f"{variable}: {message}.", help_text)
    shown = name if len(fault["loc"]) < 2 else field
    line = located.line(field) if name in (located.value or {}) else located.line()
    return Finding(FILE, line, field, "error", "setting-wrong", f"{shown}: {message}.", help_text)


def _inner_finding(cls: type[Settings], fault: Any, located: Located) -> Finding:
    """A key too many or too few inside a setting, like one of an entry of `models`."""
    *place, key = (str(part) for part in fault["loc"])
    where, field = ".".join(place), ".".join((*place, key))
    if fault["type"] == "missing":
        message, fix = f"{where} has no {key!r}.", f"Add `{key}:` to it."
        return Finding(FILE, located.line(where), field, "error", "setting-missing", message, fix)
    kind = next((a for a in get_args(cls.model_fields[place[0]].annotation) if hasattr(a, "model_fields")), None)
    known = list(kind.model_fields) if kind is not None else []
    match = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    fix = f"Did you mean {match[0]!r}?" if match else f"Remove it; there are {', '.join(known)}."
    return Finding(FILE, located.line(field), field, "error", "setting-unknown", f"{where} knows no {key!r}.", fix)
