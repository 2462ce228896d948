"""Reads the agents that a `.py` file defines as classes, from its syntax tree. The file is never run.

A class is an agent of the catalog where all that makes it up stands in the file: texts, numbers, tools marked with
`@tool`, other agent classes, intents. Where a part is only known when the file runs, a warning says which, and the
class stays what it is in Python alone: an agent of the catalog would be another one.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abi.records.agent import agent_name, intent_name
from abi.records.class_syntax import ClassSyntax, Unread, bases_of
from abi.records.python_beside import PythonBeside, beside
from abi.records.python_types import Module, dotted
from abi.records.record import AgentHook, AgentSpecification, Intent, SystemPrompt
from abi.records.scan import SourceFile

if TYPE_CHECKING:
    from abi.records.reader import ReadResult

__all__ = ["HOOKS", "agent_classes", "read_agent_classes"]

HOOKS: tuple[AgentHook, ...] = ("on_ai_message", "on_human_message", "retains_active_turn")
"""Methods of a class that are called as a turn goes on."""

_HOMES = ("abi", "abi.agents.python_agent")
_AGENTS = {f"{home}.{name}": name for home in _HOMES for name in ("Agent", "IntentAgent")}
_ARGUMENTS = {
    "Agent": "name description chat_model tools agents memory state configuration".split(),
    "IntentAgent": "name description chat_model tools agents intents memory state configuration"
    " threshold threshold_neighbor direct_intent_score".split(),
}
_INTENT = ("intent_value", "intent_type", "intent_target", "intent_scope")
_SCOPES = ("all", "direct")
_THRESHOLDS = ("threshold", "threshold_neighbor", "direct_intent_score")
_OWN = frozenset(_THRESHOLDS) | {"memory", "state"}
"""Arguments that are read elsewhere, or that belong to a conversation and not to the agent."""
_MACHINE = ("build_graph", "duplicate", "invoke", "stream", "as_tools", "team")


def read_agent_classes(
    module: Module, tools: dict[str, str], result: ReadResult, seen: frozenset[Path] = frozenset()
) -> None:
    """Adds an AgentSpecification for each agent class that can be read whole, and a warning for what cannot.

    `tools`: names of the file's tools by the names of their functions. `seen`: files that led to this one.
    """
    seen |= {result.file.absolute}
    found = agent_classes(module)
    bases = {base for cls in found for base in bases_of(found[cls])}
    agents: list[_AgentClass] = []
    lost: set[str] = set()
    for name in found:
        agent = _AgentClass(name, module, found, tools, result.file.absolute, seen)
        if name in bases and not agent.text("description"):
            lost.add(agent.own_name())  # it is there for others to be made of
            continue
        agent.read(result)
        agents.append(agent)
    _leave_out(agents, lost)
    for agent in agents:
        name = agent.name
        if agent.made is not None and not agent.unread:
            result.add(*agent.made)
        for fault in agent.unread:
            message = f"The class {name} is no agent of the catalog: {fault.message}"
            result.fault(fault.line, f"{name}.{fault.field}", "agent-class-unread", message, fault.fix, "warning")


def agent_classes(module: Module) -> dict[str, ast.ClassDef]:
    """The classes of a module's top level that are agents, by name, through classes of the same file too."""
    found: dict[str, ast.ClassDef] = {}
    for name, node in module.classes.items():
        if any(module.origin(base) in _AGENTS or dotted(base) in found for base in node.bases):
            found[name] = node
    return found


def _leave_out(agents: list[_AgentClass], lost: set[str]) -> None:
    """Says of those that need an agent that is `lost`, or left out, that they are left out too."""
    while True:
        lost |= {agent.own_name() for agent in agents if agent.unread}
        needy = [agent for agent in agents if not agent.unread and lost & agent.needs.keys()]
        if not needy:
            return
        for agent in needy:
            for name in sorted(lost & agent.needs.keys()):
                field, node = agent.needs[name]
                agent.left(Unread(node, field, f"the agent {name} is none either.", f"See what is said of {name}."))


class _AgentClass(ClassSyntax):
    """A class that is an agent; `tools` are those of its `file`; `seen` files are not read again."""

    def __init__(
        self,
        name: str,
        module: Module,
        known: dict[str, ast.ClassDef],
        tools: dict[str, str],
        file: Path,
        seen: frozenset[Path],
    ) -> None:
        super().__init__(name, module, known)
        self._tools = tools
        self._file = file
        self._seen = seen
        self.needs: dict[str, tuple[str, ast.expr]] = {}
        """Agents of this file that it names: in which field, and where."""
        self.made: tuple[AgentSpecification, dict[str, int]] | None = None

    def own_name(self) -> str:
        """Its name as others find it, whether or not all of it can be read."""
        other = _AgentClass(self.name, self.module, self.known, self._tools, self._file, self._seen)
        given = other.arguments(other._positional())
        return agent_name(other.text_of(given.get("name"), "name") or other.text("name") or self.name)

    def read(self, result: ReadResult) -> None:
        """Makes the agent, with the lines of its parts, unless not all of it can be read; `unread` then says what."""
        given = self.arguments(self._positional())
        for node in self.functions():
            if node.name in _MACHINE:
                self.left(Unread(node, node.name, f"its own {node.name} is known to Python only."))
        name = agent_name(self.text_of(given.get("name"), "name") or self.text("name") or self.name)
        before = len(self.unread)
        description = self.text_of(given.get("description"), "description") or self.text("description")
        if not description and len(self.unread) == before:
            fix = 'Write description = "..." in the class.'
            self.left(Unread(self.known[self.name], "description", "it has no description.", fix))
        prompt = self._prompt(given.get("configuration")) or self.text("system_prompt")
        tools, below = self._members(given)
        fields: dict[str, Any] = {n: v for n in _THRESHOLDS if (v := self._share(given.get(n), n)) is not None}
        for flag in ("sequential_supervisor", "delegates_to_abi"):
            fields[flag] = self.flag(flag)
        model = self._model(given.get("chat_model"))
        intents = self._intents(given.get("intents"), name, result)
        own = {node.name for node in self.functions()}
        if self.unread:
            return
        record = AgentSpecification(
            name=name,
            description=description,
            system_prompt=SystemPrompt(text=prompt.strip() or None),
            tools=list(dict.fromkeys(tools)),
            agents=list(dict.fromkeys(below)),
            intents=intents,
            model=model,
            class_name=self.name,
            hooks=[hook for hook in HOOKS if hook in own],
            source=result.source(self.known[self.name].lineno),
            **fields,
        )
        lines = {key: value.lineno for key, value in given.items()}
        for key in ("name", "description", "system_prompt"):
            value = self.attribute(key)
            if value is not None and key not in lines:
                lines[key] = value.lineno
        self.made = record, lines | {f"intents.{i.name}": i.source.line for i in intents if i.source}

    def _share(self, node: ast.expr | None, field: str) -> float | None:
        value = self.number(node, field)
        if node is not None and value is not None and not 0 <= value <= 1:
            self.left(Unread(node, field, f"its {field} must be between 0 and 1.", "Change it."))
        return value

    def _positional(self) -> list[str]:
        for cls in self.lineage():
            for base in cls.bases:
                if (origin := self.module.origin(base)) in _AGENTS:
                    return _ARGUMENTS[_AGENTS[origin]]
        return []  # pragma: no cover - a class is only here because one of its bases is an agent

    def _prompt(self, node: ast.expr | None) -> str:
        """The system prompt of `AgentConfiguration(system_prompt=...)`; a configuration that is handed on has none."""
        if node is None:
            return ""
        made = self.named(node)
        if not isinstance(made, ast.Call) or not self.module.origin(made.func).endswith("AgentConfiguration"):
            return ""
        prompt = ""
        for keyword in made.keywords:
            if keyword.arg == "system_prompt":
                prompt = self.text_of(keyword.value, "system_prompt")
            else:
                message = f"the callback {keyword.arg} is known to Python only."
                fix = f"Write it as a method of the class: {', '.join(HOOKS)}."
                self.left(Unread(keyword.value, "configuration", message, fix))
        if made.args:
            prompt = self.text_of(made.args[0], "system_prompt")
        return prompt

    def _model(self, node: ast.expr | None) -> str | None:
        """`provider:model`; None for the workspace's own."""
        if node is None:
            return None
        made = self.named(node)
        if isinstance(made, ast.Call) and self.module.origin(made.func) in ("abi.ChatModel", "abi.agents.ChatModel"):
            given = dict(zip(("model_id", "provider"), made.args, strict=False))
            given |= {k.arg: k.value for k in made.keywords if k.arg}
            before = len(self.unread)
            texts = [self.text_of(given.get(part), "chat_model") for part in ("provider", "model_id")]
            if all(texts):
                return ":".join(texts)
            if len(self.unread) == before:
                fix = 'Write ChatModel(model_id="...", provider="...").'
                self.left(Unread(node, "chat_model", "its chat_model lacks its provider or its model_id.", fix))
            return None
        return self.text_of(node, "chat_model") or None

    def _members(self, given: dict[str, ast.expr]) -> tuple[list[str], list[str]]:
        """Names of its tools and of the agents below it."""
        tools: list[str] = []
        below: list[str] = []
        for item in self.items(given.get("tools"), "tools"):
            if (agent := self._agent(item, "tools")) is not None:
                below.append(agent)
            elif (tool := self._tool(item)) is not None:
                tools.append(tool)
        for item in self.items(given.get("agents"), "agents"):
            if (agent := self._agent(item, "agents")) is not None:
                below.append(agent)
            else:
                fix = "Name an agent class there: Other.New()."
                self.left(Unread(item, "agents", "one of its agents is only known when it runs.", fix))
        return tools, below

    def _tool(self, node: ast.expr) -> str | None:
        node = self.named(node)
        name = dotted(node)
        if name in self._tools:
            return self._tools[name]
        other = self._beside(node)
        if other is not None and other[1] in other[0].tools:
            return other[0].tools[other[1]]
        what = f"the tool {name}" if name else "one of its tools"
        fix = "Mark it with @tool, at the top level of a file of the workspace."
        self.left(Unread(node, "tools", f"{what} is not marked with @tool.", fix))
        return None

    def _agent(self, node: ast.expr, field: str) -> str | None:
        """The name of the agent that `Other`, `Other()`, `Other.New()` or one of these `.duplicate()` stands for."""
        place, node = node, self.named(node)
        while isinstance(node, ast.Call):
            own = {k.arg for k in node.keywords} - {"agent_shared_state", "agent_configuration", *_OWN}
            if own or node.args:
                return None
            node = node.func
            if isinstance(node, ast.Attribute) and node.attr in ("New", "duplicate"):
                node = node.value
        name = dotted(node)
        if name in self.known:
            own_name = _AgentClass(name, self.module, self.known, self._tools, self._file, self._seen).own_name()
            self.needs.setdefault(own_name, (field, place))
            return own_name
        return self._agent_beside(node, field, place)

    def _agent_beside(self, node: ast.expr, field: str, place: ast.expr) -> str | None:
        """The name of an agent class of another file; one that is left out there takes this one with it."""
        from abi.records.reader import ReadResult

        other = self._beside(node)
        classes = agent_classes(other[0].module) if other is not None else {}
        if other is None or other[1] not in classes:
            return None
        there, name = other
        own_name = _AgentClass(name, there.module, classes, there.tools, there.path, self._seen).own_name()
        if there.path in self._seen:  # files may import each other
            return own_name
        result = ReadResult(SourceFile(there.path.name, there.path, 0, 0))
        read_agent_classes(there.module, there.tools, result, self._seen)
        if all(r.class_name != name for r in result.records if isinstance(r, AgentSpecification)):
            fix = f"`abi check` says of {there.path.name} why."
            self.left(Unread(place, field, f"the agent {name} of {there.path.name} is none either.", fix))
        return own_name

    def _beside(self, node: ast.expr) -> tuple[PythonBeside, str] | None:
        """The file of the same folder that a name is imported from, as Python finds it, and its name there."""
        if dotted(node).partition(".")[0] not in self.module.imports:
            return None
        return beside(self.module.origin(node), self._file.parent)

    def _intents(self, node: ast.expr | None, agent: str, result: ReadResult) -> list[Intent]:
        intents: list[Intent] = []
        for item in self.items(node, "intents"):
            call = self.named(item)
            if not isinstance(call, ast.Call) or not self.module.origin(call.func).endswith("Intent"):
                self.left(Unread(item, "intents", "one of its intents is only known when it runs."))
                continue
            given = dict(zip(_INTENT, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
            phrase = self.text_of(given.get("intent_value"), "intents")
            kind = self._word(given.get("intent_type"))
            target = self._target(given.get("intent_target"), kind)
            scope = self._word(given.get("intent_scope")) or "all"
            if not phrase or not target or kind not in ("agent", "tool", "raw") or scope not in _SCOPES:
                if not self.unread:
                    fix = 'Write Intent("what is said", IntentType.TOOL, "name_of_the_tool").'
                    self.left(Unread(call, "intents", "one of its intents is incomplete.", fix))
                continue
            name = intent_name(phrase, {i.name for i in intents}, len(intents))
            intents.append(
                Intent(
                    name=name,
                    description=phrase,
                    values=[phrase],
                    type=kind,
                    target=target,
                    scope="all" if kind == "raw" and scope == "all" else "direct",
                    agent=agent,
                    source=result.source(call.lineno),
                )
            )
        return intents

    def _word(self, node: ast.expr | None) -> str:
        """`IntentType.TOOL`, or the text `tool`."""
        if node is None:
            return ""
        node = self.named(node)
        if isinstance(node, ast.Attribute) and self.module.origin(node.value).endswith(("IntentType", "IntentScope")):
            return node.attr.lower()
        return self.text_of(node, "intents").lower()

    def _target(self, node: ast.expr | None, kind: str) -> str:
        if node is None:
            return ""
        name = dotted(self.named(node))
        if kind == "tool" and name in self._tools:
            return self._tools[name]
        if kind == "agent" and name in self.known:
            return self._agent(node, "intents") or ""
        text = self.text_of(node, "intents")
        if kind == "agent" and text:
            self.needs.setdefault(agent_name(text), ("intents", node))
        return text if kind == "raw" else agent_name(text)
