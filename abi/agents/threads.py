"""Conversations as a person looks after them: which there are, what was said, and letting go of them.

A thread belongs to the principal that began it: its key holds both names, so that nobody meets another's thread, not
even one of the same id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from abi.agents.thread_locks import held
from abi.agents.turn import text_of
from abi.errors import Denied, NotFound, UsageError

if TYPE_CHECKING:
    from abi.agents.memory import Memory

__all__ = ["ANYONE", "ThreadInfo", "Threads", "split_key", "thread_key"]

ANYONE = "*"
"""In place of a principal: the threads of all. For whoever keeps the workspace."""
_LONGEST_ID = 200
_TITLE = 80
_WAIT_SECONDS = 30.0
"""For a turn that runs in a thread that is to be deleted."""


def thread_key(principal: str | None, thread_id: str) -> str:
    """The key under which a thread is kept. Raises UsageError for an id that is none."""
    if not thread_id or len(thread_id) > _LONGEST_ID or "\x00" in thread_id:
        raise UsageError(f"A thread's id has 1 to {_LONGEST_ID} characters.")
    if principal is None:
        return f"~{thread_id}" if "~" in thread_id else thread_id
    return f"{quote(principal, safe='').replace('~', '%7E')}~{thread_id}"


def split_key(key: str) -> tuple[str | None, str]:
    """Principal and id of a key."""
    owner, tilde, thread_id = key.partition("~")
    if not tilde:
        return None, key
    return (unquote(owner) if owner else None), thread_id


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """One conversation. `title` is how its first message begins; `updated` the end of its last turn."""

    thread_id: str
    principal: str | None
    agent: str
    turns: int
    updated: datetime
    title: str

    def document(self) -> dict[str, Any]:
        return {
            "thread_id": self.thread_id,
            "principal": self.principal,
            "agent": self.agent,
            "turns": self.turns,
            "updated": self.updated.isoformat(),
            "title": self.title,
        }


Ids = list[str]


class Threads:
    """The conversations of a workspace. Each verb takes the principal whose threads are meant: None those that were
    held without one, `ANYONE` all."""

    def __init__(self, memory: Memory, *, read_only: bool = False) -> None:
        self._memory = memory
        self._read_only = read_only

    def list(self, principal: str | None = None, *, limit: int = 50, offset: int = 0) -> list[ThreadInfo]:
        """The last threads, the newest first, without the first `offset` of them."""
        found: list[ThreadInfo] = []
        for key in self._keys(principal)[offset:]:
            if len(found) == limit:
                break
            state = self._state(key)
            if state is not None:
                found.append(_info(key, *state))
        return found

    def count(self, principal: str | None = None) -> int:
        """How many threads there are."""
        return len(self._keys(principal))

    def show(self, thread_id: str, principal: str | None = None) -> dict[str, Any]:
        """One thread with its messages. Raises NotFound."""
        key = self._key(thread_id, principal)
        state = self._state(key)
        assert state is not None
        return {**_info(key, *state).document(), "messages": [_message(m) for m in state[0].get("messages", [])]}

    def export(self, principal: str | None = None) -> Iterator[dict[str, Any]]:
        """All threads with their messages, one document each, the newest first."""
        for key in self._keys(principal):
            owner, thread_id = split_key(key)
            if self._state(key) is not None:
                yield self.show(thread_id, owner)

    def delete(self, thread_id: str, principal: str | None = None) -> None:
        """Raises NotFound; Busy where a turn of the thread does not end."""
        self._require_writing()
        self._delete(self._key(thread_id, principal))

    def prune(self, days: float, principal: str | None = ANYONE) -> Ids:
        """Delete the threads in which nothing was said for so many days; gives their ids."""
        self._require_writing()
        before = datetime.now(UTC) - timedelta(days=days)
        gone: Ids = []
        for key in self._keys(principal):
            state = self._state(key)
            if state is not None and state[1] < before:
                self._delete(key)
                gone.append(split_key(key)[1])
        return gone

    def _delete(self, key: str) -> None:
        """Once its turn has ended, which would bring it back."""
        with held(self._memory.locks, key, seconds=_WAIT_SECONDS):
            self._memory.delete(key)

    def _require_writing(self) -> None:
        if self._read_only:
            raise Denied("The workspace was opened read-only.", hint="Open it without read_only to delete threads.")

    def _keys(self, principal: str | None) -> Ids:
        keys = self._memory.thread_keys()
        return keys if principal == ANYONE else [k for k in keys if split_key(k)[0] == principal]

    def _key(self, thread_id: str, principal: str | None) -> str:
        if principal == ANYONE:
            keys = [k for k in self._memory.thread_keys() if split_key(k)[1] == thread_id]
            if len(keys) > 1:
                owners = ", ".join(split_key(k)[0] or "nobody" for k in keys)
                raise UsageError(f"There are several threads {thread_id!r}.", hint=f"Say whose: {owners}.")
        else:
            key = thread_key(principal, thread_id)
            keys = [key] if self._state(key) is not None else []
        if not keys:
            raise NotFound(f"There is no thread {thread_id!r}.", hint="`abi threads list` shows those that there are.")
        return keys[0]

    def _state(self, key: str) -> tuple[dict[str, Any], datetime] | None:
        """What a thread's last checkpoint holds, and its time."""
        found = self._memory.saver.get_tuple({"configurable": {"thread_id": key}})
        if found is None:
            return None
        return dict(found.checkpoint["channel_values"]), datetime.fromisoformat(found.checkpoint["ts"])


def _info(key: str, values: dict[str, Any], updated: datetime) -> ThreadInfo:
    owner, thread_id = split_key(key)
    first = next((text_of(m) for m in values.get("messages", []) if isinstance(m, HumanMessage)), "")
    title = " ".join(first.split())
    path = values.get("path") or [""]
    return ThreadInfo(
        thread_id, owner, path[-1], values.get("count", 0), updated, title[:_TITLE] + "..." * (len(title) > _TITLE)
    )


def _message(message: Any) -> dict[str, Any]:
    roles: dict[type[Any], str] = {HumanMessage: "user", AIMessage: "assistant", ToolMessage: "tool"}
    role = roles.get(type(message), message.type)
    shown: dict[str, Any] = {"role": role, "text": text_of(message)}
    if message.name:
        shown["name"] = message.name
    calls = [{"tool": c["name"], "arguments": c["args"]} for c in getattr(message, "tool_calls", ())]
    return {**shown, "tool_calls": calls} if calls else shown
