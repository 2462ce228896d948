"""Reads an `agent` or a free-standing `intent` from YAML."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, get_args

from abi.patterns import compiled
from abi.records.document import Document
from abi.records.header import Header, common_fields, identifier_fix, near, type_name
from abi.records.record import AgentSpecification, Intent, IntentScope, IntentType, SystemPrompt

if TYPE_CHECKING:
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["agent_name", "intent_name", "read_agent", "read_intent"]

_TYPES: tuple[str, ...] = get_args(IntentType)
_SCOPES: tuple[str, ...] = get_args(IntentScope)


def read_agent(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds an AgentSpecification, if it is whole, and all findings to `result`."""
    assert document.header is not None
    header = Header(document.header, document.path, result.findings)
    fields = common_fields(header)
    fields["system_prompt"] = _system_prompt(header, context)
    fields["tools"] = _references(header, "tools", context)
    fields["agents"] = _references(header, "agents", context)
    uses = _references(header, "uses_intents", context)
    # An intent keeps its agent's name even where that name is faulty: its own faults are told all the same.
    intents, named = _intents(header, fields.get("name", "agent"), context, result)
    fields["intents"] = intents
    fields["uses_intents"] = list(dict.fromkeys([*uses, *named]))
    fields["model"] = _model(header)
    for name in ("threshold", "threshold_neighbor", "direct_intent_score"):
        value = header.number(name)
        if value is not None:
            fields[name] = value
    for name in ("sequential_supervisor", "delegates_to_abi", "may_write"):
        fields[name] = header.boolean(name, False)
    fields["releases_turn_on"] = _regex(header, "releases_turn_on")
    fields["extras"] = header.extras()
    if "name" in fields and "description" in fields:
        record = AgentSpecification(**fields, source=result.source(header.line("name")))
        result.add(record, _lines(header, record))


def read_intent(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds a free-standing Intent, if it is whole, and all findings to `result`."""
    assert document.header is not None
    header = Header(document.header, document.path, result.findings)
    _describe(header)
    fields = common_fields(header)
    fields |= _intent_fields(header, context)
    fields["extras"] = header.extras()
    if {"name", "description", "values", "type", "target"} <= fields.keys():
        record = Intent(**fields, source=result.source(header.line("name")))
        result.add(record, {key: header.line(key) for key in ("name", "description", "values", "type", "target")})


def intent_name(phrase: str, taken: set[str], position: int) -> str:
    """A name for an intent that was given none: its first phrase as an identifier, numbered where it is taken."""
    slug = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", phrase).lower()).strip("_")[:60].strip("_")
    if slug and not slug.isidentifier():
        slug = "_" + slug
    if not slug.isidentifier():
        slug = f"intent_{position + 1}"
    name, n = slug, 1
    while name in taken or "name-invalid" in identifier_faults(name):
        n += 1
        name = f"{slug}_{n}"
    return name


def agent_name(name: str) -> str:
    """The name as models accept it: letters, digits, `_` and `-`."""
    return re.sub(r"_+", "_", re.sub(r"[^a-zA-Z0-9_-]", "_", name))


def identifier_faults(name: str) -> list[str]:
    """Codes of what is wrong with a name; empty for a good one."""
    import keyword

    return [] if name.isidentifier() and not keyword.iskeyword(name) else ["name-invalid"]


def _lines(header: Header, record: AgentSpecification) -> dict[str, int]:
    lines = {key: header.line(key) for key in ("name", "description", "model", "system_prompt")}
    for key, names in (("tools", record.tools), ("agents", record.agents)):
        lines[key] = header.line(key)
        lines |= {f"{key}.{name}": header.line(f"{key}.{n}") for n, name in enumerate(names)}
    for intent in record.intents:
        if intent.source:
            lines[f"intents.{intent.name}"] = intent.source.line
    return lines


def _system_prompt(header: Header, context: ReadContext) -> SystemPrompt:
    value = header.raw("system_prompt")
    if isinstance(value, str):
        return SystemPrompt(text=value.strip() or None)
    if value is None:
        return SystemPrompt()
    if not isinstance(value, dict):
        fix = "Write the text, or {prompt: NAME}."
        header.fault("system_prompt", "type-wrong", f"system_prompt cannot be {type_name(value)}.", fix)
        return SystemPrompt()
    inner = header.child("system_prompt", value)
    text, prompt = inner.text("text"), inner.text("prompt")
    inner.extras()
    if bool(text) == bool(prompt):
        what = "both text and prompt" if text else "neither text nor prompt"
        inner.fault("", "system-prompt-wrong", f"system_prompt has {what}.", "Write the text, or {prompt: NAME}.")
        return SystemPrompt()
    if prompt:
        prompt = _reference(inner, "prompt", prompt, context)
    return SystemPrompt(text=text, prompt=prompt)


def _references(header: Header, name: str, context: ReadContext) -> list[str]:
    out: list[str] = []
    for n, word in enumerate(header.texts(name)):
        where = f"{name}.{n}" if isinstance(header.value.get(name), list) else name
        reference = _reference(header, where, word, context)
        if reference in out:
            header.fault(where, "reference-twice", f"{word!r} is named twice.", "Remove one of them.", "warning")
        elif reference:
            out.append(reference)
    return out


def _reference(header: Header, where: str, word: str, context: ReadContext) -> str | None:
    """A name as it stands, or the whole IRI of a `prefix:name`."""
    if ":" in word:
        try:
            return context.expand(word)
        except ValueError as error:
            header.fault(where, "iri-unknown", str(error), "Write a name, prefix:name or a whole IRI.")
            return None
    if identifier_faults(word):
        header.fault(where, "name-invalid", f"{word!r} is not the name of a record.", identifier_fix(word))
        return None
    return word


def _intents(header: Header, agent: str, context: ReadContext, result: ReadResult) -> tuple[list[Intent], list[str]]:
    own: list[Intent] = []
    named: list[str] = []
    explicit = [i.get("name") for i in header.items("intents") if isinstance(i, dict)]
    taken = {n for n in explicit if isinstance(n, str)}
    seen: set[str] = set()
    for n, item in enumerate(header.items("intents")):
        where = f"intents.{n}"
        if isinstance(item, str) and item.strip():
            reference = _reference(header, where, item.strip(), context)
            if reference:
                named.append(reference)
            continue
        if not isinstance(item, dict):
            fix = "Write {values: [phrases], type: tool, target: NAME}, or the name of an intent."
            header.fault(where, "type-wrong", f"An intent must be a mapping, not {type_name(item)}.", fix)
            continue
        inner = header.child(where, item)
        phrases = _phrases(inner)
        # An intent may go without a name and a description: its first phrase stands in for both.
        filled = dict(item)
        if phrases:
            filled.setdefault("name", intent_name(phrases[0], taken, n))
            filled.setdefault("description", phrases[0])
        inner = header.child(where, filled)
        before = len(result.findings)
        fields = common_fields(inner) if phrases else {}
        fields |= _intent_fields(inner, context)
        for key in ("name", "description", "annotations", "secrets"):
            inner.known.add(key)
        fields["extras"] = inner.extras()
        name = fields.get("name")
        if name in seen:
            inner.fault("name", "name-duplicate", f"The agent has two intents named {name!r}.", "Rename one of them.")
        if {"name", "description", "values", "type", "target"} <= fields.keys() and name not in seen:
            own.append(Intent(**fields, agent=agent, source=result.source(inner.line())))
            taken.add(fields["name"])
            seen.add(fields["name"])
        elif len(result.findings) == before:
            inner.fault("", "intent-incomplete", "The intent is incomplete.", "Give values, type and target.")
    return own, named


def _phrases(header: Header) -> list[str]:
    values = header.value.get("values", header.value.get("value"))
    values = [values] if isinstance(values, str) else values
    return [v.strip() for v in values if isinstance(v, str) and v.strip()] if isinstance(values, list) else []


def _describe(header: Header) -> None:
    phrases = _phrases(header)
    if phrases and "description" not in header.value:
        header.value = {**header.value, "description": phrases[0]}


def _intent_fields(header: Header, context: ReadContext) -> dict[str, Any]:
    """values, type, target and scope; a faulty one is absent."""
    fields: dict[str, Any] = {}
    values = header.texts("values") + header.texts("value")
    values = list(dict.fromkeys(values))
    if values:
        fields["values"] = values
    elif not header.value.get("values") and not header.value.get("value"):
        fix = "Add `values: [what a person would say]`."
        header.fault("values", "intent-values-missing", "The intent has no values.", fix)
    kind = _choice(header, "type", _TYPES)
    if kind:
        fields["type"] = kind
    elif header.value.get("type") is None:
        fix = f"Add `type:` with one of {', '.join(_TYPES)}."
        header.fault("type", "intent-type-missing", "The intent has no type.", fix)
    target = header.text("target")
    if target is None:
        if header.value.get("target") in (None, ""):
            fix = "Add `target:`: the name of the tool or agent, or the reply of a raw intent."
            header.fault("target", "intent-target-missing", "The intent has no target.", fix)
    elif kind == "raw":
        fields["target"] = target
    else:
        reference = _reference(header, "target", target, context)
        if reference:
            fields["target"] = reference
    scope = _choice(header, "scope", _SCOPES)
    if scope == "all" and kind in ("agent", "tool"):
        message = f"An intent of type {kind} is always direct; scope all is for raw intents."
        header.fault("scope", "intent-scope", message, "Remove `scope: all`.")
        scope = None
    if scope:
        fields["scope"] = scope
    return fields


def _choice(header: Header, name: str, allowed: tuple[str, ...]) -> str | None:
    value = header.text(name)
    if value is None or value in allowed:
        return value
    fix = near(value, allowed) or f"Write one of {', '.join(allowed)}."
    header.fault(name, "value-unknown", f"{name} {value!r} is not known.", fix)
    return None


def _model(header: Header) -> str | None:
    model = header.text("model")
    if model and (":" not in model or model.startswith(":") or model.endswith(":")):
        message = f"The model {model!r} is not of the form provider:model."
        header.fault("model", "model-wrong", message, "Write it like offline:grounded or ollama:llama3.2.")
        return None
    return model


def _regex(header: Header, name: str) -> str | None:
    pattern = header.text(name)
    if pattern is None:
        return None
    try:
        compiled(pattern)
    except ValueError as error:
        header.fault(name, "pattern-syntax", f"The pattern does not parse: {error}.", "Correct it.")
        return None
    return pattern
