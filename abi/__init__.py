"""abi: tools, prompts, agents and intents as triples; validated by SHACL; asked by SPARQL, search and chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022 - plain order; a test compares
    "Agent",
    "AgentConfiguration",
    "AgentSharedState",
    "ChatModel",
    "EmbeddingModel",
    "Entity",
    "Graph",
    "IRI",
    "Integration",
    "IntegrationConfiguration",
    "Intent",
    "IntentAgent",
    "IntentScope",
    "IntentType",
    "Pipeline",
    "PipelineConfiguration",
    "PipelineParameters",
    "Workflow",
    "WorkflowConfiguration",
    "WorkflowParameters",
    "Workspace",
    "tool",
]

if TYPE_CHECKING:
    from abi.agents.chat_model import ChatModel, EmbeddingModel
    from abi.agents.python_agent import (
        Agent,
        AgentConfiguration,
        AgentSharedState,
        Intent,
        IntentAgent,
        IntentScope,
        IntentType,
    )
    from abi.agents.workflow import (
        Integration,
        IntegrationConfiguration,
        Pipeline,
        PipelineConfiguration,
        PipelineParameters,
        Workflow,
        WorkflowConfiguration,
        WorkflowParameters,
    )
    from abi.records.decorator import tool
    from abi.records.entity import Entity
    from abi.tools.graph import IRI, Graph
    from abi.workspace import Workspace

_HOMES = {
    "Agent": "abi.agents.python_agent",
    "AgentConfiguration": "abi.agents.python_agent",
    "AgentSharedState": "abi.agents.python_agent",
    "Intent": "abi.agents.python_agent",
    "IntentAgent": "abi.agents.python_agent",
    "IntentScope": "abi.agents.python_agent",
    "IntentType": "abi.agents.python_agent",
    "ChatModel": "abi.agents.chat_model",
    "EmbeddingModel": "abi.agents.chat_model",
    "Entity": "abi.records.entity",
    "Graph": "abi.tools.graph",
    "IRI": "abi.tools.graph",
    "Integration": "abi.agents.workflow",
    "IntegrationConfiguration": "abi.agents.workflow",
    "Pipeline": "abi.agents.workflow",
    "PipelineConfiguration": "abi.agents.workflow",
    "PipelineParameters": "abi.agents.workflow",
    "Workflow": "abi.agents.workflow",
    "WorkflowConfiguration": "abi.agents.workflow",
    "WorkflowParameters": "abi.agents.workflow",
    "Workspace": "abi.workspace",
    "tool": "abi.records.decorator",
}


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first asked for, so that `import abi` costs nothing."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'abi' has no attribute {name!r}")
