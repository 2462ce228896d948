from __future__ import annotations

from abi.search.index import SearchIndex
from abi.search.vocabulary import Vocabulary, corrected, vocabulary_of


def test_near_words_begin_alike_and_are_one_letter_off() -> None:
    words = Vocabulary(dict.fromkeys(["boise", "boist", "noise", "terminal", "terminus"], 1))
    assert [w for w, _ in words.near("bosie")] == ["boise"]
    assert [w for w, _ in words.near("boise")] == ["boise", "boist"]
    assert [w for w, _ in words.near("termnla")] == []
    assert [w for w, _ in words.near("termminel")] == ["terminal"]
    assert words.near("zzz") == []


def test_the_more_is_right_the_higher_the_score() -> None:
    words = Vocabulary({"portland": 1, "international": 1})
    assert words.near("internatonal")[0][1] > words.near("porltand")[0][1] > 0.7


def test_the_commoner_of_equally_near_words_comes_first() -> None:
    assert [w for w, _ in Vocabulary({"searle": 1, "seattle": 7}).near("seatle")] == ["seattle", "searle"]


def test_of_an_index(index: SearchIndex) -> None:
    assert {"boise", "ohare", "sea", "tac"} <= vocabulary_of(index).known.keys()
    assert vocabulary_of(index).known["portland"] == 4
    assert vocabulary_of(index) is vocabulary_of(index)
    assert corrected(index, ["boice", "portland", "qqqqq"]) == ["boise", "portland", "qqqqq"]
