from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abi.graph.literal_forms import ill_typed, ill_typed_literals

XSD = "http://www.w3.org/2001/XMLSchema#"

RIGHT = {
    "boolean": ["true", "0"],
    "integer": ["-1", "+007", "9" * 5000],
    "decimal": ["1", "-.5", "3."],
    "double": ["1e5", "-INF", "NaN", "2.5E-3"],
    "date": ["2024-02-29", "2023-12-31Z", "-0044-03-15", "12024-01-01+14:00", "0000-02-29"],
    "dateTime": ["2024-02-29T24:00:00", "2023-01-01T10:20:30.5-05:00"],
    "dateTimeStamp": ["2023-01-01T10:20:30Z"],
    "time": ["23:59:59.9", "00:00:00Z"],
    "gYear": ["2008", "-0001Z"],
    "gYearMonth": ["2008-12"],
    "gMonth": ["--02"],
    "gMonthDay": ["--02-29"],
    "gDay": ["---31"],
    "duration": ["P1Y2M3DT4H5M6.7S", "-P1D", "PT1S"],
    "dayTimeDuration": ["P1DT2H"],
    "yearMonthDuration": ["P1Y"],
    "hexBinary": ["", "0aFF"],
    "base64Binary": ["", "YQ==", "YWI=", "YWJj", "YW Jj"],
    "language": ["en-GB"],
    "byte": ["-128", "127"],
    "unsignedByte": ["255"],
    "unsignedLong": ["18446744073709551615"],
    "positiveInteger": ["1", "9" * 5000],
    "string": ["anything"],
    "anyURI": ["any thing"],
}
WRONG = {
    "boolean": ["True", "yes", ""],
    "integer": ["abc", "1.0", "", " 1", "1\n", "٣"],
    "decimal": [".", "1e5", "INF"],
    "double": ["inf", "1,5", "e5"],
    "date": ["2023-02-29", "1900-02-29", "2023-13-01", "20230101", "2023-1-1", "2023-01-01T00:00:00"],
    "dateTime": ["2023-01-01", "2023-01-01 10:00:00", "2023-01-01T25:00:00", "2023-04-31T10:00:00"],
    "dateTimeStamp": ["2023-01-01T10:20:30"],
    "time": ["24:00:01", "10:00"],
    "gYear": ["08", "2008-01"],
    "gYearMonth": ["2008-13"],
    "gMonth": ["02"],
    "gMonthDay": ["--02-32"],
    "gDay": ["31"],
    "duration": ["P", "PT", "P1S", "1D"],
    "dayTimeDuration": ["P1Y"],
    "yearMonthDuration": ["P1D"],
    "hexBinary": ["0", "xx"],
    "base64Binary": ["YQ", "Y", "YQ=", "____"],
    "language": ["en_GB"],
    "byte": ["128", "-129", "x"],
    "unsignedByte": ["-1", "256"],
    "unsignedLong": ["18446744073709551616", "9" * 5000],
    "positiveInteger": ["0"],
    "negativeInteger": ["0"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in RIGHT.items() for t in texts])
def test_what_is_of_its_datatype(name: str, text: str) -> None:
    assert not ill_typed(text, XSD + name)


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in WRONG.items() for t in texts])
def test_what_is_not_of_its_datatype(name: str, text: str) -> None:
    assert ill_typed(text, XSD + name)
    assert not ill_typed(text, "https://example.org/" + name)


@given(
    st.integers() | st.booleans() | st.dates() | st.times() | st.binary().map(bytes.hex) | st.floats(allow_nan=False)
)
def test_what_python_writes_is_taken(value: object) -> None:
    name = {"int": "integer", "bool": "boolean", "str": "hexBinary", "float": "double"}
    text = str(value).lower() if isinstance(value, bool) else str(value).replace("inf", "INF")
    assert not ill_typed(text, XSD + name.get(type(value).__name__, type(value).__name__))


def test_a_file_with_many_tells_the_first_and_how_many_more() -> None:
    node = ox.NamedNode("https://example.org/p")
    values = [f"x{n}" for n in range(60)] * 2
    quads = [ox.Quad(node, node, ox.Literal(v, datatype=ox.NamedNode(XSD + "int"))) for v in values]
    text = "\n".join(f'"{v}"^^xsd:int' for v in values)
    found = ill_typed_literals(quads, text, "a.ttl")
    assert [f.line for f in found] == [*range(1, 51), 0]
    assert found[-1].message == "10 more literals are none of their datatypes"
    assert found[0].message == '"x0" is no int, which p says that it is'
