"""Loads a Python file of a workspace as a module of its own, and keeps it as long as the file stays as it is."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from abi.records.decorator import tool

__all__ = ["beside", "forget_modules", "load_module"]

_STAND_INS = {"agentc": ("agentc", "agentc.catalog"), "agentc_core": ("agentc_core", "agentc_core.tool")}
_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class _Loaded:
    module: ModuleType
    content_hash: str
    siblings: dict[str, ModuleType]
    """Modules of the workspace that it imported, by the names it knows them by."""
    files: dict[Path, tuple[int, int]]
    """Their files, with size and time of change."""


_modules: dict[Path, _Loaded] = {}


def load_module(path: Path, root: Path, data: bytes) -> ModuleType:
    """The module of the file at `path`, whose bytes are `data`; `path` and `root` are real paths.

    Runs the file the first time, and again when it or a module of the workspace that it imported has changed. Raises
    whatever the file raises.
    """
    content_hash = hashlib.sha256(data).hexdigest()
    with _lock:
        known = _modules.get(path)
        if known and known.content_hash == content_hash and _signature(known.files) == known.files:
            return known.module
        if known:
            _drop(path)
        name = "abi_tool_" + hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        module, siblings = _execute(name, path, root, data)
        files = [Path(str(sibling.__file__)) for sibling in siblings.values()]
        _modules[path] = _Loaded(module, content_hash, siblings, _signature(files))
        return module


@contextmanager
def beside(path: Path) -> Iterator[None]:
    """While annotations are looked up: the modules that the file at `path` imported are where it left them."""
    with _lock:
        siblings = _modules[path].siblings if path in _modules else {}
        added = siblings.keys() - sys.modules.keys()
        sys.modules.update({name: siblings[name] for name in added})
        try:
            yield
        finally:
            for name in added:
                sys.modules.pop(name, None)


def forget_modules() -> None:
    """Let go of all loaded modules."""
    with _lock:
        for path in list(_modules):
            _drop(path)


def _drop(path: Path) -> None:
    known = _modules.pop(path)
    sys.modules.pop(known.module.__name__, None)


def _execute(name: str, path: Path, root: Path, data: bytes) -> tuple[ModuleType, dict[str, ModuleType]]:
    # From the bytes at hand, not by the import system: its cache of byte code goes by time and size, and would give
    # back the old code of a file that was changed within one second.
    code = compile(data, str(path), "exec", dont_inherit=True)
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__spec__ = importlib.util.spec_from_loader(name, loader=None, origin=str(path))
    before = set(sys.modules)
    sys.modules[name] = module  # where dataclasses and pydantic look annotations up
    try:
        with _importable(path.parent), _stand_ins():
            exec(code, module.__dict__)  # noqa: S102 - a trusted workspace's own tool; see abi.tools.trust
    except BaseException:
        sys.modules.pop(name, None)
        raise
    finally:
        own = _own_modules(before | {name}, root)
        # Modules go by their bare names: the next folder's `geo` must not meet this one's.
        for imported in own:
            sys.modules.pop(imported, None)
    return module, own


def _own_modules(before: set[str], root: Path) -> dict[str, ModuleType]:
    found: dict[str, ModuleType] = {}
    for name in set(sys.modules) - before:
        file = getattr(sys.modules.get(name), "__file__", None)
        if isinstance(file, str):
            path = Path(file).resolve()
            # A virtual environment may lie inside the workspace; what is installed there stays loaded.
            if path.is_relative_to(root) and "site-packages" not in path.parts:
                found[name] = sys.modules[name]
    return found


def _signature(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    out: dict[Path, tuple[int, int]] = {}
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        out[path] = (status.st_size, status.st_mtime_ns)
    return out


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Modules beside the file can be imported; last in line, so that a `json.py` there hides nothing of Python's."""
    entry = str(folder)
    written = sys.dont_write_bytecode
    sys.path.append(entry)
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = written
        sys.path.remove(entry)
        sys.path_importer_cache.pop(entry, None)


@contextmanager
def _stand_ins() -> Iterator[None]:
    """`agentc` and its kin with nothing in them but `tool`, where they are not installed."""
    added: list[str] = []
    for top, names in _STAND_INS.items():
        if top in sys.modules or importlib.util.find_spec(top) is not None:
            continue
        for name in names:
            sys.modules[name] = _stand_in(name)
            added.append(name)
        parent, child = (sys.modules[name] for name in names)
        setattr(parent, names[1].rpartition(".")[2], child)
    try:
        yield
    finally:
        for name in added:
            sys.modules.pop(name, None)


def _stand_in(name: str) -> ModuleType:
    module = ModuleType(name, "Stands in for Agent Catalog, which is not installed: it has `tool` only.")
    module.__path__ = []  # makes it a package
    if name != "agentc_core":
        vars(module)["tool"] = tool

    def missing(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise ImportError(f"{name}.{attribute} is needed, and {name.partition('.')[0]} is not installed")

    vars(module)["__getattr__"] = missing
    return module
