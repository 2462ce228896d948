"""Each style as OpenAPI's own table of examples has it, and what no argument may do to a request."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.records.openapi import Argument, Body
from abi.tools.http_message import written

EMPTY, STRING, ARRAY = "", "blue", ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


def one(place: str, style: str, explode: bool, value: Any, **more: Any) -> Any:
    argument = Argument("color", "color", place, {}, style=style, explode=explode, **more)
    message = written("/x/{color}" if place == "path" else "/x", [argument], None, {"color": value})
    if place == "header":
        return dict(message.headers)["color"]
    if place == "cookie":
        return dict(message.headers)["Cookie"]
    return message.target.removeprefix("/x").removeprefix("/" if place == "path" else "?")


@pytest.mark.parametrize(
    ("place", "style", "explode", "value", "expected"),
    [
        ("path", "matrix", False, STRING, ";color=blue"),
        ("path", "matrix", False, ARRAY, ";color=blue,black,brown"),
        ("path", "matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
        ("path", "matrix", True, ARRAY, ";color=blue;color=black;color=brown"),
        ("path", "matrix", True, OBJECT, ";R=100;G=200;B=150"),
        ("path", "label", False, STRING, ".blue"),
        ("path", "label", False, ARRAY, ".blue,black,brown"),
        ("path", "label", True, ARRAY, ".blue.black.brown"),
        ("path", "label", False, OBJECT, ".R,100,G,200,B,150"),
        ("path", "label", True, OBJECT, ".R=100.G=200.B=150"),
        ("path", "simple", False, STRING, "blue"),
        ("path", "simple", False, ARRAY, "blue,black,brown"),
        ("path", "simple", False, OBJECT, "R,100,G,200,B,150"),
        ("path", "simple", True, OBJECT, "R=100,G=200,B=150"),
        ("query", "form", False, EMPTY, "color="),
        ("query", "form", False, STRING, "color=blue"),
        ("query", "form", False, ARRAY, "color=blue,black,brown"),
        ("query", "form", False, OBJECT, "color=R,100,G,200,B,150"),
        ("query", "form", True, ARRAY, "color=blue&color=black&color=brown"),
        ("query", "form", True, OBJECT, "R=100&G=200&B=150"),
        ("query", "spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
        ("query", "spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
        ("query", "pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
        ("query", "deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        ("query", "form", True, True, "color=true"),
        ("query", "form", True, None, "color="),
        ("query", "form", True, 1.5, "color=1.5"),
        ("query", "form", True, "a b&c=d/ü", "color=a%20b%26c%3Dd%2F%C3%BC"),
        ("header", "simple", False, ARRAY, "blue,black,brown"),
        ("header", "simple", False, OBJECT, "R,100,G,200,B,150"),
        ("header", "simple", True, OBJECT, "R=100,G=200,B=150"),
        ("cookie", "form", False, ARRAY, "color=blue,black,brown"),
        ("cookie", "form", True, STRING, "color=blue"),
    ],
)
def test_styles(place: str, style: str, explode: bool, value: Any, expected: str) -> None:
    assert one(place, style, explode, value) == expected


def test_reserved_characters_and_values_in_a_media_type() -> None:
    assert one("query", "form", True, "a/b:c&d", reserved=True) == "color=a/b:c&d"
    assert (
        unquote(one("query", "form", True, OBJECT, media_type="application/json")) == 'color={"R":100,"G":200,"B":150}'
    )


@pytest.mark.parametrize("value", ["", ".", "..", []])
def test_a_path_is_not_left_by_an_argument(value: Any) -> None:
    with pytest.raises(ValueError, match=r"color: .* cannot stand in a path"):
        one("path", "simple", False, value)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00b", "ü"])
def test_a_header_is_not_left_by_an_argument(value: str) -> None:
    with pytest.raises(ValueError, match="color: a header takes printable"):
        one("header", "simple", False, value)


@given(st.text())
def test_a_text_comes_through_a_query_unchanged_and_alone(text: str) -> None:
    raw = one("query", "form", True, text.encode("utf-8", "replace").decode())
    assert parse_qsl(raw, keep_blank_values=True) == [("color", text.encode("utf-8", "replace").decode())]


@given(st.text(min_size=1).filter(lambda t: t not in (".", "..") and t.isprintable()))
def test_a_text_is_one_segment_of_a_path(text: str) -> None:
    raw = one("path", "simple", False, text)
    assert not set(raw) & set("/?#")
    assert unquote(raw) == text


def content(media_type: str, values: dict[str, Any], *, required: bool = True, **encoding: Any) -> tuple[str, Any]:
    arguments = [Argument(key, key, "body", {}) for key in ("a", "b", "c")]
    body = Body(media_type, required, False, {}, encoding)
    message = written("/x", arguments, body, values)
    return dict(message.headers).get("Content-Type", ""), message.content


def test_bodies() -> None:
    values = {"a": "ü", "b": [1, 2], "c": {"d": None}}
    kind, data = content("application/json", values)
    assert (kind, json.loads(data)) == ("application/json", values)
    form = "application/x-www-form-urlencoded"
    assert content(form, values) == (form, b"a=%C3%BC&b=1&b=2&c=%7B%22d%22%3A+null%7D")
    deep = {"c": {"style": "deepObject"}, "b": {"style": "pipeDelimited"}}
    assert content(form, values, **deep) == (form, b"a=%C3%BC&b=1%7C2&c%5Bd%5D=")
    kind, data = content("multipart/form-data", {"a": "ü", "b": [1]})
    boundary = kind.partition("boundary=")[2]
    parts = data.decode().split(f"--{boundary}")
    assert parts[1] == '\r\nContent-Disposition: form-data; name="a"\r\n\r\nü\r\n'
    assert parts[3] == "--\r\n"


def test_a_body_that_may_be_absent_is_absent() -> None:
    assert content("application/json", {}, required=False) == ("", None)
    assert content("application/json", {}) == ("application/json", b"{}")


def test_a_body_that_is_one_argument() -> None:
    arguments = [Argument("body", "", "body", {})]
    message = written("/x", arguments, Body("text/plain", True, True, {}, {}), {"body": "ü"})
    assert message.content == "ü".encode()
