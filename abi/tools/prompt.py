"""Renders a prompt. A Jinja template is evaluated in a child process that can be ended."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from abi.errors import ArgumentError, ToolFailed
from abi.records.record import JinjaPrompt, RawPrompt, StructuredPrompt, ToolSelector
from abi.search.selectors import selected_tools, selector_text
from abi.settings import Settings
from abi.tools.rendering import rendered_apart
from abi.tools.runner import RunContext, ToolResult

__all__ = ["render", "run"]

Prompt = RawPrompt | JinjaPrompt | StructuredPrompt


def run(record: Prompt, raw_arguments: Mapping[str, Any], context: RunContext) -> ToolResult:
    """The prompt as `{text, tools}`, with the names of the tools that its selectors choose now.

    What a selector finds nothing for is told under `unmatched`. A structured prompt has its `content` too, verbatim,
    and the schema of its `output`. Raises as `render` does.
    """
    text = render(record, raw_arguments, context.settings, principal=context.principal)
    result: dict[str, Any] = {"text": text, "tools": []}
    if isinstance(record, StructuredPrompt):
        result["content"] = text if record.content is None else record.content
        if record.output_schema is not None:
            result["output"] = record.output_schema
    tools, unmatched = _tools(record.tools, context)
    result["tools"] = tools
    if unmatched:
        result["unmatched"] = unmatched
    return ToolResult(tool=record.name, arguments=dict(raw_arguments), result=result)


def _tools(selectors: Sequence[ToolSelector], context: RunContext) -> tuple[list[str], list[str]]:
    if context.find is None:  # outside a workspace there is nothing to choose from
        return [s.name for s in selectors if s.name], [selector_text(s) for s in selectors if not s.name]
    selected = selected_tools(selectors, context.find)
    return selected.names, [selector_text(s) for s in selected.unmatched]


def render(record: Prompt, arguments: Mapping[str, Any], settings: Settings, *, principal: str | None = None) -> str:
    """The text of a prompt. Raises ArgumentError that names all missing variables, and ToolFailed.

    Only a template takes arguments. A template's optional variables may be left out or None.
    """
    parameters = record.parameters if isinstance(record, JinjaPrompt) else []
    names = [p.name for p in parameters if p.filled_from is None]
    unknown = sorted(arguments.keys() - set(names))
    if unknown:
        takes = f"It takes {', '.join(names)}." if names else "It takes none."
        raise ArgumentError(f"The prompt {record.name} has no argument {', '.join(unknown)}.", hint=takes)
    if not isinstance(record, JinjaPrompt):
        return record.text
    values: dict[str, Any] = {p.name: p.default for p in record.parameters if p.default is not None}
    values |= {name: value for name, value in arguments.items() if value is not None}
    if principal is not None:
        values |= {p.name: principal for p in record.parameters if p.filled_from == "principal"}
    missing = [p.name for p in record.parameters if p.required and p.name not in values]
    if missing:
        message = f"The prompt {record.name} needs {', '.join(missing)}."
        raise ArgumentError(message, details={"missing": missing}, hint=f"Give --arg {missing[0]}=...")
    parts = _plain_parts(record.text)
    if parts is None or any(is_name and name not in values for is_name, name in parts):
        return _render_apart(record, values, settings)
    text = "".join(str(values[part]) if is_name else part for is_name, part in parts)
    if len(text.encode("utf-8", "surrogatepass")) > settings.render_bytes:
        raise _too_long(record, settings)
    return text


@functools.lru_cache(maxsize=256)
def _plain_parts(text: str) -> tuple[tuple[bool, str], ...] | None:
    """The template as texts and names of variables; None where it holds anything that has to be evaluated.

    Most prompts are that plain, and need no child process.
    """
    import jinja2
    from jinja2 import nodes
    from jinja2.defaults import DEFAULT_NAMESPACE

    try:
        tree = jinja2.Environment(autoescape=False).parse(text)  # noqa: S701 - parsed only; a prompt is no HTML
    except (jinja2.TemplateSyntaxError, RecursionError):
        return None
    parts: list[tuple[bool, str]] = []
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            return None
        for node in output.nodes:
            if isinstance(node, nodes.TemplateData):
                parts.append((False, node.data))
            elif isinstance(node, nodes.Name) and node.name not in DEFAULT_NAMESPACE:
                parts.append((True, node.name))
            else:
                return None
    return tuple(parts)


def _render_apart(record: JinjaPrompt, values: dict[str, Any], settings: Settings) -> str:
    answer = rendered_apart(f"The prompt {record.name}", {"template": record.text, "variables": values}, settings)
    if "text" in answer:
        return str(answer["text"])
    raise _fault(record, answer, settings)


def _fault(record: JinjaPrompt, answer: dict[str, Any], settings: Settings) -> ArgumentError | ToolFailed:
    if answer["fault"] == "undefined":
        message = f"The prompt {record.name} needs more than it was given: {answer['message']}."
        return ArgumentError(message, hint="Give that variable, or use default(...) in the template.")
    if answer["fault"] == "long":
        return _too_long(record, settings)
    line = f" on line {answer['line']} of its text" if answer.get("line") else ""
    return ToolFailed(f"The prompt {record.name} could not be rendered{line}: {answer['message']}.")


def _too_long(record: JinjaPrompt, settings: Settings) -> ToolFailed:
    message = f"The prompt {record.name} came out longer than {settings.render_bytes} bytes."
    return ToolFailed(message, hint="Give it less, or raise render_bytes.")
