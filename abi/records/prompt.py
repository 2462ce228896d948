"""Reads prompts: `raw_prompt` and `jinja_prompt`, text below front matter, and `prompt`, which is all YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abi.records.document import Document
from abi.records.header import Header, common_fields, type_name
from abi.records.jinja_variables import TemplateFault, template_parameters
from abi.records.json_schema import read_schema
from abi.records.parameters import XSD, read_parameters
from abi.records.record import JinjaPrompt, Parameter, RawPrompt, StructuredPrompt
from abi.records.tool_selectors import read_tool_selectors

if TYPE_CHECKING:
    from abi.records.reader import ReadContext, ReadResult

__all__ = ["content_text", "read_jinja", "read_raw", "read_structured"]


def read_raw(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds a RawPrompt, if it is whole, and all findings to `result`."""
    header, fields = _common(document, result)
    fields["extras"] = header.extras()
    if _has_body(document, result) and "name" in fields and "description" in fields:
        record = RawPrompt(**fields, text=document.body, source=result.source(header.line("name")))
        result.add(record, _lines(header, document))


def read_jinja(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds a JinjaPrompt, if it is whole, and all findings to `result`.

    The template's free variables are its parameters; `parameters:` in the header may describe them.
    """
    header, fields = _common(document, result)
    described = read_parameters(header, context, default_type=XSD + "string")
    fields["extras"] = header.extras()
    if not _has_body(document, result):
        return
    try:
        found = template_parameters(document.body)
    except TemplateFault as error:
        line = document.body_line + error.line - 1
        result.fault(line, "text", "template-syntax", error.message, error.fix)
        return
    parameters = _merge(header, described, found)
    if "name" in fields and "description" in fields:
        source = result.source(header.line("name"))
        record = JinjaPrompt(**fields, text=document.body, parameters=parameters, source=source)
        result.add(record, _lines(header, document))


def read_structured(document: Document, context: ReadContext, result: ReadResult) -> None:
    """Adds a StructuredPrompt, if it is whole, and all findings to `result`."""
    header, fields = _common(document, result)
    content = header.raw("content")
    fields["output_schema"] = read_schema(header, "output")
    fields["extras"] = header.extras()
    if not content or (isinstance(content, str) and not content.strip()):
        fix = "Add `content: |` and below it the text, or a mapping of texts."
        header.fault("content", "prompt-empty", "The prompt has no content.", fix)
        return
    whole = _is_content(header, "content", content)
    if not whole or "name" not in fields or "description" not in fields:
        return
    tree = None if isinstance(content, str) else content
    record = StructuredPrompt(
        **fields, text=content_text(content), content=tree, source=result.source(header.line("name"))
    )
    lines = {key: header.line(key) for key in ("name", "description", "tools", "content", "output")}
    result.add(record, lines | {"text": header.line("content")})


def _is_content(header: Header, where: str, value: Any) -> bool:
    """Whether a value is a text or a tree of texts; each fault is told."""
    if isinstance(value, str):
        return True
    if isinstance(value, dict):
        inside = [_is_content(header, f"{where}.{key}", inner) for key, inner in value.items()]  # all faults are told
        return all(inside)
    if isinstance(value, list):
        inside = [_is_content(header, f"{where}.{n}", inner) for n, inner in enumerate(value)]
        return all(inside)
    written = str(value).lower() if isinstance(value, bool) else value
    fix = f'Put it in quotes: "{written}".' if value is not None else "Write a text, or remove the key."
    header.fault(where, "content-type", f"Content is texts, lists and mappings of them, not {type_name(value)}.", fix)
    return False


def content_text(content: Any) -> str:
    """Content as a model is given it: a text as it is, a tree with its keys as headings."""
    return content if isinstance(content, str) else "\n".join(_written(content, 0))


def _written(value: Any, depth: int) -> list[str]:
    indent = "  " * depth
    if isinstance(value, str):
        return [indent + line if line else "" for line in value.rstrip("\n").split("\n")]
    lines: list[str] = []
    if isinstance(value, list):
        for inner in value:
            first, *rest = _written(inner, depth + 1) or [""]
            lines += [f"{indent}- {first.strip()}", *rest]
        return lines
    for key, inner in value.items():
        short = isinstance(inner, str) and "\n" not in inner.strip()
        lines += [f"{indent}{key}: {inner.strip()}"] if short else [f"{indent}{key}:", *_written(inner, depth + 1)]
    return lines


def _common(document: Document, result: ReadResult) -> tuple[Header, dict[str, Any]]:
    assert document.header is not None
    header = Header(document.header, document.path, result.findings)
    fields = common_fields(header)
    fields["tools"] = read_tool_selectors(header)
    return header, fields


def _has_body(document: Document, result: ReadResult) -> bool:
    if document.body.strip():
        return True
    message = "The prompt has no text below its header."
    result.fault(document.body_line, "text", "prompt-empty", message, "Write it below the second `---` line.")
    return False


def _merge(header: Header, described: list[Parameter], found: list[Parameter]) -> list[Parameter]:
    by_name = {p.name: p for p in described}
    for name in by_name.keys() - {p.name for p in found}:
        message = f"The parameter {name!r} does not occur in the template."
        header.fault(f"parameters.{name}", "parameter-unused", message, "Remove it, or use it.", "warning")
    merged: list[Parameter] = []
    for parameter in found:
        own = by_name.get(parameter.name)
        if own is None:
            merged.append(parameter)
            continue
        change: dict[str, Any] = {"position": parameter.position}
        value = header.mapping("parameters").get(parameter.name)
        if isinstance(value, dict):
            if "type" not in value and "class" not in value:
                change["datatype"] = parameter.datatype
            if "required" not in value and own.default is None:
                change["required"] = parameter.required
        else:
            change |= {"datatype": parameter.datatype, "required": parameter.required}
        merged.append(own.model_copy(update=change))
    return merged


def _lines(header: Header, document: Document) -> dict[str, int]:
    lines = {key: header.line(key) for key in ("name", "description", "tools", "parameters")}
    return lines | {"text": document.body_line}
