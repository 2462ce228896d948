from __future__ import annotations

from abi.search.index import SearchIndex
from abi.search.vocabulary import Vocabulary, corrected, vocabulary_of


def test_near_words_begin_alike_and_are_one_letter_off() -> None:
    words = Vocabulary(["boise", "boist", "noise", "terminal", "terminus"])
    assert [w for w, _ in words.near("bosie")] == ["boise"]
    assert [w for w, _ in words.near("boise")] == ["boise", "boist"]
    assert [w for w, _ in words.near("termnla")] == []
    assert [w for w, _ in words.near("termminel")] == ["terminal"]
    assert words.near("zzz") == []


def test_the_more_is_right_the_higher_the_score() -> None:
    words = Vocabulary(["portland", "international"])
    assert words.near("internatonal")[0][1] > words.near("porltand")[0][1] > 0.7


def test_of_an_index(index: SearchIndex) -> None:
    assert {"boise", "ohare", "sea", "tac"} <= vocabulary_of(index).known
    assert vocabulary_of(index) is vocabulary_of(index)
    assert corrected(index, ["boice", "portland", "qqqqq"]) == ["boise", "portland", "qqqqq"]
