"""The fields of a record, read one by one from its YAML: right type or a finding, and no key forgotten."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Collection, Iterator
from typing import Any

from abi.findings import Finding, Severity
from abi.records.literal_secrets import looks_like_secret
from abi.yaml_reader import Located

__all__ = ["MAX_DESCRIPTION_WORDS", "Header", "common_fields", "identifier_fix", "near", "shared_fields", "type_name"]

MAX_DESCRIPTION_WORDS = 256
_TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    str: "a text",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
}
_SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")


def near(word: str, known: Collection[str]) -> str:
    """A question that names the nearest known word, or an empty text."""
    match = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"Did you mean {match[0]!r}?" if match else ""


def type_name(value: object) -> str:
    """What a person calls the type of a YAML value."""
    if value is None:
        return "nothing"
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def identifier_fix(name: str) -> str:
    """A sentence that offers the nearest valid identifier."""
    slug = re.sub(r"\W+", "_", name).strip("_").lower() or "my_name"
    if slug[0].isdigit():
        slug = "_" + slug
    if keyword.iskeyword(slug):
        slug += "_"
    return f"Write {slug!r}." if slug.isidentifier() else "Use letters, digits and underscores."


class Header:
    """Reads fields of one mapping; remembers which were asked for, so that `extras` knows the rest.

    `prefix` is the dotted path of the mapping in its file (`intents.0`). All faults go into `findings`.
    """

    def __init__(
        self, located: Located, path: str, findings: list[Finding], value: Any = None, prefix: str = ""
    ) -> None:
        self.located = located
        self.path = path
        self.findings = findings
        self.value: dict[str, Any] = located.value if value is None else value
        self.prefix = prefix
        self.known: set[str] = set()

    def at(self, name: str) -> str:
        return ".".join(part for part in (self.prefix, name) if part)

    def line(self, name: str = "") -> int:
        return self.located.line(self.at(name))

    def fault(self, name: str, code: str, message: str, fix: str = "", severity: Severity = "error") -> None:
        self.findings.append(Finding(self.path, self.line(name), self.at(name), severity, code, message, fix))

    def child(self, name: str, value: dict[str, Any]) -> Header:
        """A header over a mapping inside this one."""
        return Header(self.located, self.path, self.findings, value, self.at(name))

    def raw(self, name: str) -> Any:
        """The value as it stands; None where it is absent."""
        self.known.add(name)
        return self.value.get(name)

    def _typed(self, name: str, wanted: tuple[type, ...], called: str, fix: str = "") -> Any:
        value = self.raw(name)
        if value is None or (isinstance(value, wanted) and not (isinstance(value, bool) and bool not in wanted)):
            return value
        self.fault(name, "type-wrong", f"{name} must be {called}, not {type_name(value)}.", fix)
        return None

    def text(self, name: str) -> str | None:
        """A text without outer white space; None where it is absent, empty or of another type."""
        value = self.raw(name)
        if isinstance(value, str):
            return value.strip() or None
        if value is not None:
            scalar = isinstance(value, (bool, int, float))
            fix = f'Put it in quotes: {name}: "{_scalar(value)}".' if scalar else f"Write `{name}: some text`."
            self.fault(name, "type-wrong", f"{name} must be a text, not {type_name(value)}.", fix)
        return None

    def boolean(self, name: str, default: bool) -> bool:
        value = self._typed(name, (bool,), "true or false", "Write true or false.")
        return default if value is None else bool(value)

    def number(self, name: str, default: float | None = None, *, low: float = 0, high: float = 1) -> float | None:
        value = self._typed(name, (int, float), "a number", "Write digits, without quotes.")
        if value is None:
            return default
        if not low <= value <= high:
            self.fault(name, "value-range", f"{name} must be between {low} and {high}, not {value}.", "Change it.")
            return default
        return float(value)

    def limit(self, name: str) -> int | float | None:
        """A number of any size, whole or not, as it was written."""
        value: int | float | None = self._typed(name, (int, float), "a number", "Write digits, without quotes.")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        value = self._typed(name, (dict,), "a mapping of keys to values", f"Write `{name}:` and below it `key: value`.")
        return value or {}

    def items(self, name: str) -> list[Any]:
        value = self._typed(name, (list,), "a list", f"Write it as a list: {name}: [first, second].")
        return value or []

    def texts(self, name: str) -> list[str]:
        """A list of non-empty texts; a single text counts as a list of one."""
        value = self.raw(name)
        if isinstance(value, str):
            return [value.strip()] if value.strip() else []
        out: list[str] = []
        for n, item in enumerate(self.items(name)):
            if isinstance(item, str) and item.strip():
                out.append(item.strip())
            else:
                fix = f'Put it in quotes: "{_scalar(item)}".' if isinstance(item, (bool, int, float)) else ""
                what = "an empty text" if isinstance(item, str) else type_name(item)
                self.fault(f"{name}.{n}", "type-wrong", f"Each of {name} must be a text, not {what}.", fix)
        return out

    def identifier(self, name: str, *, required: bool = True) -> str | None:
        """A text that is a Python identifier and no keyword."""
        value = self.text(name)
        if value is None:
            if required and not isinstance(self.value.get(name), (bool, int, float, list, dict)):
                fix = f"Add `{name}: my_name`: letters, digits and underscores."
                self.fault(name, f"{name}-missing", f"The {name} is missing.", fix)
            return None
        if not value.isidentifier() or keyword.iskeyword(value):
            why = "is a word of the Python language" if keyword.iskeyword(value) else "is not a valid identifier"
            self.fault(name, f"{name}-invalid", f"The {name} {value!r} {why}.", identifier_fix(value))
            return None
        return value

    def extras(self) -> dict[str, Any]:
        """The keys that nobody asked for; each is warned about."""
        unknown = {key: value for key, value in self.value.items() if key not in self.known}
        for key in unknown:
            fix = near(key, self.known - set(self.value)) or "Remove it, or leave it: it is kept and not used."
            self.fault(key, "key-unknown", f"The key {key!r} is not known here.", fix, "warning")
        return unknown


def _scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def common_fields(header: Header) -> dict[str, Any]:
    """name, description, annotations and secrets: what all records share.

    `name` and `description` are absent from the result where they are faulty.
    """
    fields = shared_fields(header)
    name = header.identifier("name")
    if name:
        fields["name"] = name
    description = header.text("description")
    if description:
        fields["description"] = description
        words = len(description.split())
        if words > MAX_DESCRIPTION_WORDS:
            message = f"The description has {words} words; search reads the first {MAX_DESCRIPTION_WORDS} at most."
            header.fault("description", "description-long", message, "Make it shorter.", "warning")
    elif not isinstance(header.value.get("description"), (bool, int, float, list, dict)):
        fix = "Add `description: ...`: what it does and when to use it. Search and agents choose by it."
        header.fault("description", "description-missing", "The description is missing.", fix)
    return fields


def shared_fields(header: Header) -> dict[str, Any]:
    """annotations and secrets: what records share that take name and description from elsewhere."""
    header.known.add("record_kind")
    return {"annotations": _annotations(header), "secrets": list(dict.fromkeys(_secrets(header)))}


def _annotations(header: Header) -> dict[str, str]:
    out: dict[str, str] = {}
    for key, value in header.mapping("annotations").items():
        where = f"annotations.{key}"
        if isinstance(value, str) and key.strip():
            out[key] = value
        elif isinstance(value, (bool, int, float)):
            message = f"The annotation {key!r} must be a text, not {type_name(value)}."
            header.fault(where, "annotation-type", message, f'Put it in quotes: {key}: "{_scalar(value)}".')
        else:
            message = f"The annotation {key!r} must be a text, not {type_name(value)}."
            header.fault(where, "annotation-type", message, f'Write {key}: "...".')
    return out


def _secrets(header: Header) -> Iterator[str]:
    """Names of secrets: a list of names, or Agent Catalog's list of `system: {part: NAME}`."""
    value = header.raw("secrets")
    for n, item in enumerate(header.items("secrets")) if not isinstance(value, str) else [(0, value)]:
        where = f"secrets.{n}" if not isinstance(value, str) else "secrets"
        yield from _secret_names(header, where, item)


def _secret_names(header: Header, where: str, item: object) -> Iterator[str]:
    if isinstance(item, dict):
        for key, inner in item.items():
            yield from _secret_names(header, f"{where}.{key}", inner)
    elif isinstance(item, str) and _SECRET_NAME.match(item) and not looks_like_secret(item):
        yield item
    elif isinstance(item, str):
        message = "This looks like a secret itself; a record holds the name by which it is looked up."
        fix = (
            "Write a name such as MY_API_KEY here, set it in the environment, and change the secret: it was in a file."
        )
        header.fault(where, "secret-literal", message, fix)
    else:
        message = f"A secret must be a name, not {type_name(item)}."
        header.fault(where, "type-wrong", message, "Write a name such as MY_API_KEY.")
