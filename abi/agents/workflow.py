"""Workflows, pipelines and integrations: Python classes whose work is done by tools.

A class in a `.py` file of a workspace is read without being run, and becomes tools of its catalog:

- of a `Workflow` its `run`, named as the class says, or as the class is in snake_case;
- of a `Pipeline` its `run`, too, which gives triples: they replace what the pipeline's own graph holds;
- of an `Integration` each method that is marked with `@tool`.

What is called is an object that the class makes of itself by `New()`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = [
    "Integration",
    "IntegrationConfiguration",
    "Pipeline",
    "PipelineConfiguration",
    "PipelineParameters",
    "Workflow",
    "WorkflowConfiguration",
    "WorkflowParameters",
]


class _Configuration(BaseModel):
    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)


class WorkflowConfiguration(_Configuration):
    """What a workflow needs to work, and no caller gives."""


class PipelineConfiguration(_Configuration):
    """What a pipeline needs to work, and no caller gives."""


class IntegrationConfiguration(_Configuration):
    """Where an outside service is, and by which names its secrets are looked up."""


class WorkflowParameters(BaseModel):
    """What a caller gives to a workflow: one field each."""


class PipelineParameters(BaseModel):
    """What a caller gives to a pipeline: one field each."""


C = TypeVar("C", bound=_Configuration)


class _Configured(Generic[C]):
    name: ClassVar[str] = ""
    description: ClassVar[str] = ""

    def __init__(self, configuration: C | None = None) -> None:
        self.configuration = configuration

    @classmethod
    def New(cls) -> Self:
        """An object of this class, as tools are called on; for subclasses that need a configuration."""
        return cls()


class Workflow(_Configured[WorkflowConfiguration]):
    """Does one thing, in as many steps as it takes. `run` takes its parameters one by one, or as one model."""

    run: Callable[..., Any]

    def as_tools(self) -> list[BaseTool]:
        """The one LangChain tool that runs it."""
        from abi.records.workflow_class import snake_case

        own = type(self)
        return [_tool(self.run, self.name or snake_case(own.__name__), self.description or _doc(own))]


class Pipeline(Workflow):
    """Makes triples: `run` gives an `rdflib.Graph`, or Turtle as text."""


class Integration(_Configured[IntegrationConfiguration]):
    """Speaks to an outside service. Its methods that are marked with `@tool` are tools."""

    def as_tools(self) -> list[BaseTool]:
        """A LangChain tool for each marked method."""
        marked = [m for _, m in inspect.getmembers(type(self), callable) if getattr(m, "__abi_tool__", False)]
        return [_tool(getattr(self, m.__name__), m.__name__, _doc(m)) for m in marked]


def _tool(call: Callable[..., Any], name: str, description: str) -> BaseTool:
    from langchain_core.tools import StructuredTool

    parameters = list(inspect.signature(call).parameters)
    model = get_type_hints(call).get(parameters[0]) if len(parameters) == 1 else None
    if isinstance(model, type) and issubclass(model, BaseModel):
        made = model

        def run(**arguments: Any) -> Any:
            return call(made(**arguments))

        return StructuredTool.from_function(run, name=name, description=description, args_schema=made)
    return StructuredTool.from_function(call, name=name, description=description)


def _doc(thing: Any) -> str:
    return inspect.getdoc(thing) or ""
