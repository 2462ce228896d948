"""Whether the searches of prompts find a tool, told from files alone: before anything of them is in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from abi.findings import Finding
from abi.records.record import Record, ToolSelector
from abi.search.selectors import vain_searches

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyoxigraph as ox

    from abi.search.embedder import Embedder
    from abi.settings import Settings

__all__ = ["searches", "vain_searches_of_files"]


def searches(record: Record) -> bool:
    """Whether a record is a prompt that selects tools by what they do."""
    selectors = getattr(record, "tools", [])
    return any(isinstance(s, ToolSelector) and s.query is not None for s in selectors)


def vain_searches_of_files(
    prompts: Sequence[Record],
    tools: Sequence[ox.Quad],
    settings: Settings,
    embedder: Callable[[], Embedder],
    index: Path,
) -> list[Finding]:
    """A warning for each search of a prompt that finds none of the tools, whose quads are given.

    `index` is the workspace's own, whose vectors are taken where it has them; only new texts are embedded.
    """
    from abi.errors import AbiError
    from abi.graph.oxigraph import OxigraphStore
    from abi.search.find import find
    from abi.search.index import SearchIndex

    if not prompts:
        return []
    store = OxigraphStore.memory(prefixes=settings.all_prefixes())
    store.apply([], list(tools))
    with SearchIndex(None) as made:
        made.rebuild(store.query, settings, 1)
        model = embedder()
        if index.is_file():
            with suppress(AbiError, OSError), SearchIndex(index) as own:
                made.borrow(own, model)
        made.embed(model)

        def look(kind: str, text: str | None, **options: object) -> list[object]:
            return list(find(made, store.query, model, text, kind=kind, **options))  # type: ignore[arg-type]

        return [fault for prompt in prompts for fault in vain_searches(prompt, look)]
