"""From a JSON Schema to Python types that Pydantic checks: the builder behind `abi.tools.schema_model`."""

from __future__ import annotations

import json
import keyword
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, ForwardRef, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError, to_jsonable_python

from abi.errors import Unsupported
from abi.tools.schema_scalars import documented, fail, one_of, scalar
from abi.tools.whole_value import whole_validator

__all__ = ["ANNOTATIONS", "TypeBuilder", "means_nothing", "plain_types"]

ANNOTATIONS = frozenset(
    "title description default example examples deprecated readOnly writeOnly $comment $id $schema $anchor $defs "
    "definitions xml externalDocs discriminator nullable contentEncoding contentMediaType contentSchema".split()
)
"""Keywords that forbid nothing."""
_UNTYPED = frozenset(
    "not if then else dependentRequired dependentSchemas dependencies contains minContains maxContains propertyNames "
    "patternProperties minProperties maxProperties unevaluatedProperties unevaluatedItems uniqueItems oneOf "
    "$dynamicRef".split()
)
"""Keywords that pydantic has no type for."""
_SCALARS = ("string", "integer", "number", "boolean", "null")
_MAX_SCHEMAS = 20_000


class TypeBuilder:
    """Builds one model with all that it holds."""

    def __init__(self, schema: Any, name: str) -> None:
        self._schema = schema
        self._name = "".join(part[:1].upper() + part[1:] for part in re.split(r"\W|_", name)) or "Value"
        self._named: dict[str, Any] = {}
        self._forward: dict[str, str] = {}
        self._recursive: set[str] = set()
        self._models: dict[str, type[BaseModel]] = {}
        self._untyped = False
        self._count = 0

    def root_model(self) -> type[BaseModel]:
        schema = self._schema
        if isinstance(schema, dict) and "$ref" not in schema and _types(schema) == ["object"] and "allOf" not in schema:
            model: type[BaseModel] = self._object(schema, self._name, top=True)
        else:
            inner = self._type(schema, self._name)
            is_model = isinstance(inner, type) and issubclass(inner, BaseModel)
            model = inner if is_model else self._wrapped(inner, self._name)
        for one in self._models.values():
            one.model_rebuild(force=True, _types_namespace=dict(self._models))
        if not self._untyped:
            return model
        return self._checked(model)

    def _checked(self, model: type[BaseModel]) -> type[BaseModel]:
        """A subclass that looks at the whole value for what the types do not say."""
        whole = whole_validator(self._schema)

        def check(value: Any) -> Any:
            plain = to_jsonable_python(_given(value), by_alias=True)
            faults = [
                (".".join(str(part) for part in error.absolute_path), error.message[:500])
                for error in whole.iter_errors(plain)
            ]
            if faults:
                message = "; ".join(f"{where}: {text}" if where else text for where, text in faults)
                raise PydanticCustomError("schema", "{message}", {"message": message, "faults": faults})
            return value

        checks: Any = {"whole": model_validator(mode="after")(check)}
        checked: type[BaseModel] = create_model(model.__name__, __base__=model, __validators__=checks)
        return checked

    def _wrapped(self, inner: Any, name: str) -> type[BaseModel]:
        model: type[BaseModel] = create_model(self._unique(name), __base__=_Root, root=(inner, ...))
        self._models[model.__name__] = model
        return model

    def _unique(self, name: str) -> str:
        wanted, n = name, 1
        while wanted in self._models or wanted in self._forward.values():
            n += 1
            wanted = f"{name}{n}"
        return wanted

    def _type(self, schema: Any, name: str) -> Any:
        self._count += 1
        if self._count > _MAX_SCHEMAS:
            raise Unsupported(f"The schema of {self._name} has more than {_MAX_SCHEMAS:,} parts.")
        if schema is False:
            return Annotated[Any, AfterValidator(_never)]
        if not isinstance(schema, dict):
            return Any
        if "$ref" in schema:
            if schema.keys() - {"$ref"} <= ANNOTATIONS:
                return self._reference(schema["$ref"])
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return self._together([{"$ref": schema["$ref"]}, rest], name)
        if "allOf" in schema:
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            branches: list[Any] = [b for b in schema["allOf"] if b is not True and b]
            if rest.keys() - ANNOTATIONS:
                branches.append(rest)
            return self._type(branches[0], name) if len(branches) == 1 else self._together(branches, name)
        if _UNTYPED & schema.keys():
            self._untyped = True
        if "const" in schema or "enum" in schema:
            # The values alone make the type; whether they are also of a `type`, or in a range, jsonschema says.
            self._untyped = self._untyped or len(schema.keys() - ANNOTATIONS) > 1
            return one_of([schema["const"]] if "const" in schema else schema["enum"], schema)
        branches = schema.get("anyOf") or schema.get("oneOf") or []
        if branches and schema.keys() - {"anyOf", "oneOf"} <= ANNOTATIONS:
            return _any_of(self._type(b, f"{name}{n}") for n, b in enumerate(branches, start=1))
        self._untyped = self._untyped or bool(branches)
        types = _types(schema)
        if not types:
            return Any
        return _any_of(self._single(one, schema, name) for one in types)

    def _single(self, kind: str, schema: dict[str, Any], name: str) -> Any:
        if kind == "object":
            return self._object(schema, name)
        if kind == "array":
            return self._array(schema, name)
        return scalar(kind, schema)

    def _reference(self, ref: Any) -> Any:
        return self._once(str(ref), _name_of(str(ref)), lambda name: self._type(self._resolve(ref), name))

    def _once(self, key: str, name: str, build: Callable[[str], Any]) -> Any:
        """A schema that may hold itself: built once, and named by a forward reference inside itself."""
        if key in self._named:
            return self._named[key]
        if key in self._forward:
            self._recursive.add(key)
            return ForwardRef(self._forward[key])
        name = self._unique(name)
        self._forward[key] = name
        built = build(name + "_" if name in self._models else name)
        if key in self._recursive and not (isinstance(built, type) and built.__name__ == name):
            model: type[BaseModel] = create_model(name, __base__=_Root, root=(built, ...))
            self._models[name] = model
            built = model
        self._named[key] = built
        del self._forward[key]
        return built

    def _resolve(self, ref: Any) -> Any:
        here = self._schema
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise Unsupported(f"The schema of {self._name} refers to {ref!r}; only references inside it (#/) are read.")
        for part in ref[2:].split("/") if ref != "#" else []:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict) and part in here:
                here = here[part]
            elif isinstance(here, list) and part.isdigit() and int(part) < len(here):
                here = here[int(part)]
            else:
                raise Unsupported(f"The schema of {self._name} refers to {ref!r}, which it does not hold.")
        return here

    def _together(self, branches: Sequence[Any], name: str) -> Any:
        """allOf: one schema of all its branches, as far as they can be laid together."""
        key = "allOf:" + json.dumps(branches, sort_keys=True)
        return self._once(key, name, lambda inner: self._type(self._merged(branches), inner))

    def _merged(self, branches: Sequence[Any], seen: frozenset[str] = frozenset()) -> Any:
        out: dict[str, Any] = {}
        for branch in branches:
            seen_here = seen
            while isinstance(branch, dict) and "$ref" in branch:
                if branch["$ref"] in seen_here:
                    raise Unsupported(f"The schema {branch['$ref']!r} is a part of itself by allOf.")
                seen_here |= {branch["$ref"]}
                rest = {k: v for k, v in branch.items() if k != "$ref" and k not in ANNOTATIONS}
                target = self._resolve(branch["$ref"])
                branch = {"allOf": [target, rest]} if rest else target
            if isinstance(branch, dict) and "allOf" in branch:
                rest = {k: v for k, v in branch.items() if k != "allOf"}
                branch = self._merged([*branch["allOf"], rest], seen_here)
            if branch is False:
                return False
            if isinstance(branch, dict):
                self._lay(branch, out)
        return out

    def _lay(self, branch: dict[str, Any], out: dict[str, Any]) -> None:
        for key, value in branch.items():
            if key not in out or key in ANNOTATIONS:
                out[key] = value
            elif key == "properties":
                both = out[key].keys() & value.keys()
                out[key] = {**out[key], **value, **{p: {"allOf": [out[key][p], value[p]]} for p in both}}
            elif key == "required":
                out[key] = list(dict.fromkeys([*out[key], *value]))
            elif key == "type":
                kept = [t for t in _listed(out[key]) if t in _listed(value) or (t == "integer" and "number" in value)]
                kept += ["integer"] if "number" in _listed(out[key]) and "integer" in _listed(value) else []
                if not kept:
                    out["not"] = {}
                out[key] = kept or out[key]
            elif value != out[key]:
                self._untyped = True  # both hold; the types say only the first

    def _array(self, schema: dict[str, Any], name: str) -> Any:
        names = {"minItems": "min_length", "maxItems": "max_length"}
        limits = {new: schema[old] for old, new in names.items() if old in schema}
        if "prefixItems" in schema:
            self._untyped = True
            return Annotated[list[Any], Field(**limits), WithJsonSchema(documented(schema))]
        item = self._type(schema.get("items", True), f"{name}Item")
        return Annotated[list[item], Field(**limits)]  # type: ignore[valid-type]

    def _object(self, schema: dict[str, Any], name: str, *, top: bool = False) -> Any:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        more = schema.get("additionalProperties")
        if not properties and not top and more is not False:
            self._untyped = self._untyped or bool(required)
            return dict[str, self._type(more, f"{name}Value") if more is not None else Any]  # type: ignore[misc]
        if isinstance(more, dict) or set(required) - properties.keys():
            self._untyped = True
        extra = "allow" if more not in (None, False) or (more is None and not top) else "forbid"
        if top and more is None and "patternProperties" in schema:
            extra = "allow"
        if more is False and "patternProperties" in schema:
            extra = "allow"  # which of them are allowed, jsonschema says
        fields: dict[str, Any] = {}
        for key, inner in properties.items():
            field = field_name(key, fields)
            fields[field] = self._field(key, field, inner, key in required, f"{name}{key[:1].upper()}{key[1:]}", top)
        config = ConfigDict(
            extra=extra,  # type: ignore[typeddict-item]
            coerce_numbers_to_str=True,
            allow_inf_nan=False,
            protected_namespaces=(),
            populate_by_name=True,
        )
        base = create_model("_Base", __config__=config)
        with warnings.catch_warnings():
            # A property called `copy` or `json` stands before pydantic's deprecated method of that name.
            warnings.simplefilter("ignore", UserWarning)
            model: type[BaseModel] = create_model(
                self._model_name(name), __base__=base, __doc__=schema.get("description") or None, **fields
            )
        self._models[model.__name__] = model
        return model

    def _model_name(self, name: str) -> str:
        name = re.sub(r"\W", "", name) or "Value"
        return name if name not in self._models else self._unique(name)

    def _field(self, key: str, field: str, schema: Any, needed: bool, name: str, top: bool) -> Any:
        annotation = self._type(schema, re.sub(r"\W", "_", name))
        details = schema if isinstance(schema, dict) else {}
        if top and not _takes_text(self._followed(schema)):
            annotation = Annotated[annotation, BeforeValidator(_from_text)]
        default: Any = ... if needed and "default" not in details else details.get("default")
        if not needed and top and not _takes_null(self._followed(schema)):
            annotation = Annotated[Union[annotation, None], NotGiven()]  # noqa: UP007
        more: dict[str, Any] = {"alias": key} if field != key else {}
        examples = details.get("examples") or ([details["example"]] if "example" in details else None)
        examples = examples if isinstance(examples, list) else None
        return annotation, Field(
            default,
            description=details.get("description"),
            examples=examples,
            json_schema_extra=None if needed else _without_none,
            **more,
        )

    def _followed(self, schema: Any) -> Any:
        for _ in range(20):
            if not (isinstance(schema, dict) and "$ref" in schema):
                return schema
            schema = self._resolve(schema["$ref"])
        return schema


class NotGiven:
    """Marks a field in which None, which its schema does not know, means that nothing was given."""


def _without_none(shown: dict[str, Any]) -> None:
    """Pydantic shows None, our word for "not given", as a default and as a type."""
    if shown.get("default", ...) is None:
        del shown["default"]
    branches = shown.get("anyOf", [])
    if len(branches) == 2 and branches[1] == {"type": "null"} and "default" not in shown:
        del shown["anyOf"]
        shown.update({**branches[0], **shown})


def means_nothing(field: Any) -> bool:
    return any(isinstance(m, NotGiven) for m in field.metadata)


class _Root(RootModel[Any]):
    model_config = ConfigDict(coerce_numbers_to_str=True, allow_inf_nan=False)


def _any_of(types: Iterable[Any]) -> Any:
    return Union[tuple(types)]  # noqa: UP007


def plain_types(schema: Any) -> list[str]:
    """The JSON types that a schema names or implies; none where it takes any."""
    return _types(schema) if isinstance(schema, dict) else []


def _types(schema: dict[str, Any]) -> list[str]:
    if "type" in schema:
        return _listed(schema["type"])
    if schema.keys() & {"properties", "additionalProperties", "required", "patternProperties"}:
        return ["object"]
    return ["array"] if schema.keys() & {"items", "prefixItems"} else []


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _name_of(ref: str) -> str:
    name = re.sub(r"\W", "_", ref.rpartition("/")[2].replace("%20", "_")).strip("_")
    return name if name and not name[0].isdigit() else f"Schema{name}"


def field_name(key: str, taken: Mapping[str, Any]) -> str:
    """A field name for a property: the property's own where pydantic can take it."""
    name = re.sub(r"\W", "_", key, flags=re.ASCII).strip("_") if not key.isidentifier() or key[:1] == "_" else key
    if not name or name[0].isdigit():
        name = f"field_{name}"
    if keyword.iskeyword(name) or name.startswith("model_") or name in taken or name in _RESERVED:
        name += "_"
    while name in taken:
        name += "_"
    return name


_RESERVED = frozenset({"self", "cls", "root", "config", "run_manager", "args", "kwargs"})
"""Names that mean something else where models and LangChain tools are called with keywords."""


def _never(value: Any) -> Any:
    raise fail("no value is allowed here")


def _from_text(value: Any) -> Any:
    """A structured argument from a command line, where everything is a text."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _takes_text(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return True
    branches = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    types = _types(schema)
    if branches and not types:
        return any(_takes_text(b) for b in branches)
    return "enum" in schema or "const" in schema or not types or "string" in types


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return True
    if "enum" in schema:
        return None in schema["enum"]
    branches = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    return "null" in _types(schema) or any(_takes_null(b) for b in branches)


def _given(value: Any) -> Any:
    """What was given, without the defaults: a default is the schema's own word."""
    if isinstance(value, RootModel):
        return _given(value.root)
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        known = {
            fields[k].alias or k: _given(getattr(value, k))
            for k in value.model_fields_set
            if k in fields and not (getattr(value, k) is None and means_nothing(fields[k]))
        }
        return known | {k: _given(v) for k, v in (value.model_extra or {}).items()}
    if isinstance(value, dict):
        return {k: _given(v) for k, v in value.items()}
    return [_given(v) for v in value] if isinstance(value, (list, tuple)) else value
