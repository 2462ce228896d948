"""A record of the catalog as a plain Python function."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from abi.tools.arguments import HasParameters, argument_model

if TYPE_CHECKING:
    from abi.records.record import Record

__all__ = ["function_of"]


def function_of(record: Record, run: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    """A function with the record's name, description and, where their names allow it, its arguments as signature.

    `run` gets the arguments by name, without those that were left out. Frameworks that make a schema from a function's
    signature find the types of the argument model.
    """
    model = argument_model(cast("HasParameters", record))
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    signature: inspect.Signature | None = None
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in fields):
        # Arguments with a default come last, as Python wants it.
        ordered = sorted(fields.items(), key=lambda item: not item[1].is_required())
        signature = inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty
                    if field.is_required()
                    else field.get_default(call_default_factory=True),
                    annotation=field.annotation if field.annotation is not None else Any,
                )
                for name, field in ordered
            ]
        )

    def function(*arguments: Any, **named: Any) -> Any:
        if signature is None and arguments:
            raise TypeError(f"{record.name}() takes its arguments by name only")
        given = dict(signature.bind_partial(*arguments).arguments) if signature is not None else {}
        twice = given.keys() & named.keys()
        if twice:
            raise TypeError(f"{record.name}() got multiple values for argument {min(twice)!r}")
        return run({**given, **named})

    function.__name__ = function.__qualname__ = record.name
    function.__doc__ = record.description
    function.__annotations__ = {name: field.annotation for name, field in fields.items()}
    if signature is not None:
        function.__signature__ = signature  # type: ignore[attr-defined]
    return function
