"""What a person is shown before something is changed."""

from __future__ import annotations

from abi.mcp.consent import visible


def test_nothing_is_hidden_from_whoever_is_asked() -> None:
    assert visible("INSERT DATA {\n\t<urn:a> <urn:b> 'ä'\n}") == "INSERT DATA {\n\t<urn:a> <urn:b> 'ä'\n}"
    assert visible("a\u202eb\u200bc\rd\x1b[2K") == "a\\u202Eb\\u200Bc\\u000Dd\\u001B[2K"
    long = visible("INSERT " + " " * 10_000 + "DROP ALL")
    assert len(long) < 4_200 and "more characters are not shown" in long
