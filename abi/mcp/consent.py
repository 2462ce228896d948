"""Asking a person before something is changed, by either way that MCP has for it.

Up to 2025 the server asks the client while the call waits. Since 2026 the call ends by saying what it needs, and the
client calls again with the answer. A client that can do neither changes nothing.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams, InputRequiredResult

__all__ = ["agreed", "can_ask", "visible"]

_LONGEST = 4_000
"""Characters that a person is shown."""

_ANSWER = "approval"
_FORM = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Approve", "description": "Do it."}},
    "required": ["approve"],
}


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether this client can put a form before a person."""
    capabilities = context.session.client_capabilities
    asking = capabilities.elicitation if capabilities is not None else None
    return asking is not None and (asking.form is not None or asking.url is None)


def visible(text: str) -> str:
    """Text as a person can judge it: nothing in it that turns or hides other signs, and told where it goes on."""
    plain = "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf") else f"\\u{ord(c):04X}" for c in text
    )
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[:_LONGEST]}\n\n[{len(plain) - _LONGEST:,} more characters are not shown]"


async def agreed(
    context: ServerRequestContext[Any, Any], params: CallToolRequestParams, question: str, state: str
) -> bool | InputRequiredResult:
    """Whether a person agrees; or what the call has to end with, so that the client asks and calls again.

    `state` comes back with that call, as `params.request_state`, sealed on its way.
    """
    from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        answer: Any = await context.session.elicit_form(question, _FORM, related_request_id=context.request_id)
    else:
        answer = (params.input_responses or {}).get(_ANSWER)
        if answer is None or params.request_state != state:
            asked = ElicitRequest(params=ElicitRequestFormParams(message=question, requested_schema=_FORM))
            return InputRequiredResult(input_requests={_ANSWER: asked}, request_state=state)
    return (
        isinstance(answer, ElicitResult) and answer.action == "accept" and (answer.content or {}).get("approve") is True
    )
