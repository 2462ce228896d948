"""From a Python annotation, read as syntax, to a JSON schema and an XSD datatype. Nothing is imported or run."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field
from typing import Any

from abi.records.parameters import JSON, XSD

__all__ = ["CLASS_KEY", "NO_VALUE", "Module", "Types", "dotted", "literal", "writable"]

Schema = dict[str, Any]

NO_VALUE = object()
"""What `literal` gives for an expression whose value is only known when it runs."""

_SCALARS: dict[str, tuple[str, Schema]] = {
    "str": ("string", {"type": "string"}),
    "int": ("integer", {"type": "integer"}),
    "float": ("double", {"type": "number"}),
    "bool": ("boolean", {"type": "boolean"}),
    "decimal.Decimal": ("decimal", {"type": "number", "format": "decimal"}),
    "datetime.datetime": ("dateTime", {"type": "string", "format": "date-time"}),
    "datetime.date": ("date", {"type": "string", "format": "date"}),
    "datetime.time": ("time", {"type": "string", "format": "time"}),
    "uuid.UUID": ("string", {"type": "string", "format": "uuid"}),
    "pathlib.Path": ("string", {"type": "string", "format": "path"}),
    "pydantic.AnyUrl": ("anyURI", {"type": "string", "format": "uri"}),
    "pydantic.HttpUrl": ("anyURI", {"type": "string", "format": "uri"}),
    "pydantic.EmailStr": ("string", {"type": "string", "format": "email"}),
    "pydantic.PositiveInt": ("integer", {"type": "integer", "exclusiveMinimum": 0}),
    "pydantic.NonNegativeInt": ("integer", {"type": "integer", "minimum": 0}),
}
_LISTS = set("list set frozenset collections.deque".split()) | {
    f"{module}.{name}"
    for module in ("typing", "collections.abc")
    for name in "List Set FrozenSet Sequence MutableSequence Iterable Collection Deque AbstractSet".split()
}
_MAPPINGS = {"dict", "collections.OrderedDict", "collections.defaultdict"} | {
    f"{module}.{name}"
    for module in ("typing", "collections.abc")
    for name in "Dict Mapping MutableMapping DefaultDict OrderedDict".split()
}
_FIELD_KEYS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "pattern": "pattern",
    "min_length": "minLength",
    "max_length": "maxLength",
    "description": "description",
    "title": "title",
    "examples": "examples",
}
_MAX_DEPTH = 30
ENTITY = ("abi.Entity", "abi.records.entity.Entity")
CLASS_KEY = "x-class"
"""Where the schema of an argument that is a thing of the graph names its class."""


def _typing(name: str) -> set[str]:
    return {f"typing.{name}", f"typing_extensions.{name}"}


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or an attribute; an empty text for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ""


@dataclass(slots=True)
class Module:
    """What the top level of a module binds: imported names, classes, and names that are assigned once."""

    imports: dict[str, str] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)

    def origin(self, node: ast.expr) -> str:
        """The dotted name that an expression stands for, through the module's imports and aliases."""
        name = dotted(node)
        head, _, rest = name.partition(".")
        if head in self.imports:
            return f"{self.imports[head]}.{rest}" if rest else self.imports[head]
        return name


def literal(module: Module, node: ast.expr | None) -> Any:
    """The JSON value of a literal, or of a name that is assigned a literal; NO_VALUE for anything else."""
    if isinstance(node, ast.Name) and node.id in module.values:
        node = module.values[node.id]
    if node is None:
        return NO_VALUE
    try:
        return _json(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return NO_VALUE


def _json(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_json(v) for v in value]
    if isinstance(value, dict) and all(isinstance(k, str) and writable(k) for k in value):
        return {k: _json(v) for k, v in value.items()}
    if isinstance(value, float) and value - value != 0:
        raise ValueError("JSON has no infinity")
    if value is None or (isinstance(value, str) and writable(value)) or isinstance(value, (int, float, bool)):
        return value
    raise ValueError("not a JSON value")


def writable(text: str) -> bool:
    """Whether a text that a Python literal may have escaped together can be written in any format."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return not any(c < " " and c not in "\t\n" for c in text)


class Types:
    """Turns annotations of one module into schemas. Classes of the module go into `definitions`, by name."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.definitions: dict[str, Schema] = {}

    def read(self, node: ast.expr | None) -> tuple[str, Schema]:
        """The XSD datatype (or rdf:JSON) and the JSON schema of an annotation; anything goes where there is none."""
        schema = self.schema(node, 0) if node is not None else {}
        return self._datatype(node, schema), schema

    def document(self, properties: dict[str, Schema], required: list[str]) -> Schema:
        """The schema of an object with these properties, with the definitions that they refer to."""
        schema: Schema = {"type": "object", "properties": properties, "required": required}
        return self.with_definitions(schema)

    def with_definitions(self, schema: Schema) -> Schema:
        return {**schema, "$defs": copy.deepcopy(self.definitions)} if self.definitions else schema

    def _datatype(self, node: ast.expr | None, schema: Schema) -> str:
        arms = [arm for arm in schema.get("anyOf", [schema]) if arm.get("type") != "null"]
        if len(arms) != 1:
            return JSON
        arm = arms[0]
        if "enum" in arm and "type" not in arm:
            return JSON
        for name, found in _SCALARS.values():
            if all(arm.get(key) == value for key, value in found.items()) and ("format" in arm) == ("format" in found):
                return XSD + name
        return {t: XSD + n for t, n in _BY_TYPE.items()}.get(str(arm.get("type")), JSON)

    def schema(self, node: ast.expr, depth: int) -> Schema:
        if depth > _MAX_DEPTH:
            return {}
        if isinstance(node, ast.Constant):
            return self._constant(node, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._union([*_arms(node)], depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth)
        return self._name(node, depth)

    def _constant(self, node: ast.Constant, depth: int) -> Schema:
        if node.value is None:
            return {"type": "null"}
        if isinstance(node.value, str):  # a forward reference
            try:
                return self.schema(ast.parse(node.value, mode="eval").body, depth + 1)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return {}
        return {}

    def _name(self, node: ast.expr, depth: int) -> Schema:
        name = dotted(node)
        if name in self.module.classes:
            return self._class(name, depth)
        if name in self.module.values:
            value = self.module.values[name]
            if isinstance(value, ast.Call) and self.module.origin(value.func) in _typing("NewType"):
                value = value.args[1] if len(value.args) > 1 else value
            return self.schema(value, depth + 1)
        origin = self.module.origin(node)
        if origin in _SCALARS:
            return dict(_SCALARS[origin][1])
        if origin in _LISTS or origin in ("tuple", "typing.Tuple"):
            return {"type": "array"}
        if origin in _MAPPINGS:
            return {"type": "object"}
        if origin == "typing.NoneType":
            return {"type": "null"}
        return {}

    def _subscript(self, node: ast.Subscript, depth: int) -> Schema:
        origin = self.module.origin(node.value)
        items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if origin in _typing("Optional"):
            return self._union([*items, ast.Constant(None)], depth)
        if origin in _typing("Union"):
            return self._union(items, depth)
        if origin in _typing("Literal"):
            return _enum([literal(self.module, item) for item in items])
        if origin in _typing("Annotated") and items:
            schema = self.schema(items[0], depth + 1)
            for note in items[1:]:
                schema = {**schema, **self.notes(note)}
            return schema
        if origin in _LISTS:
            array = {"type": "array", "items": self.schema(items[0], depth + 1)}
            unique = origin.rpartition(".")[2].lower().endswith("set")
            return {**array, "uniqueItems": True} if unique else array
        if origin in ("tuple", "typing.Tuple"):
            if len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is Ellipsis:
                return {"type": "array", "items": self.schema(items[0], depth + 1)}
            size = len(items)
            arms = [self.schema(item, depth + 1) for item in items]
            return {"type": "array", "prefixItems": arms, "minItems": size, "maxItems": size}
        if origin in _MAPPINGS:
            inner = self.schema(items[1], depth + 1) if len(items) > 1 else {}
            return {"type": "object", "additionalProperties": inner} if inner else {"type": "object"}
        wrapping = _typing("Required") | _typing("NotRequired") | _typing("Final") | _typing("ReadOnly")
        return self.schema(items[0], depth + 1) if origin in wrapping and items else {}

    def _union(self, items: list[ast.expr], depth: int) -> Schema:
        arms: list[Schema] = []
        for item in items:
            schema = self.schema(item, depth + 1)
            inner = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
            arms += [arm for arm in inner if arm not in arms]
        return arms[0] if len(arms) == 1 else {"anyOf": arms}

    def notes(self, node: ast.expr) -> Schema:
        """What `Field(...)`, or a bare text in `Annotated`, adds to a schema."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return {"description": node.value}
        if not isinstance(node, ast.Call):
            return {}
        if self.module.origin(node.func).rpartition(".")[2] == "Doc" and node.args:
            text = literal(self.module, node.args[0])
            return {"description": text} if isinstance(text, str) else {}
        if self.module.origin(node.func) in ENTITY and (node.args or node.keywords):
            word = literal(self.module, node.args[0] if node.args else node.keywords[0].value)
            return {"format": "iri", CLASS_KEY: word} if isinstance(word, str) else {}
        if not self.is_field(node):
            return {}
        found = {kw.arg: literal(self.module, kw.value) for kw in node.keywords if kw.arg in _FIELD_KEYS}
        return {_FIELD_KEYS[key]: value for key, value in found.items() if key and value is not NO_VALUE}

    def is_field(self, node: ast.expr | None) -> bool:
        names = ("pydantic.Field", "pydantic.fields.Field", "dataclasses.field")
        return isinstance(node, ast.Call) and self.module.origin(node.func) in names

    def default(self, node: ast.expr | None) -> tuple[bool, Any]:
        """Whether a default is there, and its JSON value (NO_VALUE where it is known only when it runs)."""
        if node is None:
            return False, NO_VALUE
        if not self.is_field(node):
            return True, literal(self.module, node)
        assert isinstance(node, ast.Call)
        keywords = {kw.arg: kw.value for kw in node.keywords}
        inner = keywords.get("default", node.args[0] if node.args else None)
        if inner is None:
            return "default_factory" in keywords, NO_VALUE
        required = isinstance(inner, ast.Constant) and inner.value is Ellipsis
        return (False, NO_VALUE) if required else (True, literal(self.module, inner))

    def _class(self, name: str, depth: int) -> Schema:
        if name not in self.definitions:
            self.definitions[name] = {}  # a class may hold itself
            enum = self._members(self.module.classes[name])
            if enum is not None:
                self.definitions[name] = enum
            else:
                self.definitions[name] = self._object(name, depth)
        if "enum" in self.definitions[name]:
            return self.definitions.pop(name)
        return {"$ref": f"#/$defs/{name}"}

    def _bases(self, node: ast.ClassDef) -> set[str]:
        return {self.module.origin(base).rpartition(".")[2] for base in node.bases}

    def _members(self, node: ast.ClassDef) -> Schema | None:
        if not self._bases(node) & {"Enum", "StrEnum", "IntEnum"}:
            return None
        values = [
            literal(self.module, item.value)
            for item in node.body
            if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name)
        ]
        return _enum(values)

    def _object(self, name: str, depth: int) -> Schema:
        properties: dict[str, Schema] = {}
        required: list[str] = []
        self._fields(name, depth, properties, required, set())
        schema: Schema = {"type": "object", "title": name, "properties": properties, "required": required}
        text = ast.get_docstring(self.module.classes[name])
        return {**schema, "description": text} if text else schema

    def _fields(
        self, name: str, depth: int, properties: dict[str, Schema], required: list[str], seen: set[str]
    ) -> None:
        node = self.module.classes[name]
        if name in seen:
            return
        seen.add(name)
        for base in node.bases:
            if dotted(base) in self.module.classes:
                self._fields(dotted(base), depth, properties, required, seen)
        partial = any(
            kw.arg == "total" and isinstance(kw.value, ast.Constant) and kw.value.value is False for kw in node.keywords
        )
        for item in node.body:
            if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
                continue
            key = item.target.id
            wrapper = self.module.origin(item.annotation.value) if isinstance(item.annotation, ast.Subscript) else ""
            if key.startswith("_") or key == "model_config" or wrapper in _typing("ClassVar"):
                continue
            schema = self.schema(item.annotation, depth + 1)
            if item.value is not None:
                schema = {**schema, **self.notes(item.value)}
            has_default, default = self.default(item.value)
            if default is not NO_VALUE:
                schema = {**schema, "default": default}
            properties[key] = schema
            optional = has_default or partial or wrapper in _typing("NotRequired")
            if key in required:
                required.remove(key)
            if not optional:
                required.append(key)


_BY_TYPE = {"string": "string", "integer": "integer", "number": "double", "boolean": "boolean"}


def _enum(values: list[Any]) -> Schema:
    if not values or any(value is NO_VALUE for value in values):
        return {}
    kinds = {type(value) for value in values}
    names = {str: "string", int: "integer", bool: "boolean", float: "number"}
    kind = names.get(next(iter(kinds))) if len(kinds) == 1 else None
    return {"enum": values, "type": kind} if kind else {"enum": values}


def _arms(node: ast.expr) -> list[ast.expr]:
    """`a | b | c` as a list, without recursion: the left side may be long."""
    arms: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        arms.append(node.right)
        node = node.left
    return [*reversed([*arms, node])]
