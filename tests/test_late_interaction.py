import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from paper_qa.embedding import OnnxEmbedding
from paper_qa.late_interaction import encode_words, max_sim, read_texts, unit_rows

MATRICES = arrays.arrays(np.float32, (3, 4), elements=st.floats(-2, 2, width=32))


def weighing(*weights: float) -> np.ndarray:
    return np.array(weights, dtype=np.float64)


def match(question: str, text: str) -> float:
    asked = encode_words(question)
    return max_sim(asked.vectors, np.ones(len(asked.words)), encode_words(text).vectors)


def test_the_best_match_of_each_word_counts_by_its_weight():
    """Words (1, 0) and (0, 1); the best cosines in the text are .6 and .8: (3 · .6 + .8) / 4."""
    question = np.eye(2, dtype=np.float32)
    text = np.array([[0.6, 0.8], [0.0, 0.1]], dtype=np.float32)

    assert max_sim(question, weighing(3, 1), text) == pytest.approx(0.65)


@pytest.mark.parametrize(("rows", "weights"), [(0, ()), (2, (0, 0))])
def test_a_question_without_words_that_count_matches_nothing(rows: int, weights: tuple[float, ...]):
    text = np.eye(4, dtype=np.float32)

    assert max_sim(text[:rows], weighing(*weights), text) == 0.0
    assert max_sim(text, weighing(1, 1, 1, 1), text[:0]) == 0.0


@settings(deadline=None)
@given(MATRICES, MATRICES, st.floats(0.1, 10), st.permutations(range(3)))
def test_neither_scale_of_the_weights_nor_order_of_words_matters(
    question: np.ndarray, text: np.ndarray, factor: float, order: list[int]
):
    weights = weighing(1, 2, 3)
    score = max_sim(question, weights, text)

    assert max_sim(question, weights * factor, text) == pytest.approx(score, abs=1e-5)
    assert max_sim(question[order], weights[order], text) == pytest.approx(score, abs=1e-5)
    assert max_sim(question, weights, text[order]) == pytest.approx(score, abs=1e-5)


@settings(deadline=None)
@given(MATRICES)
def test_rows_have_length_one_or_stay_nothing(matrix: np.ndarray):
    lengths = np.linalg.norm(unit_rows(matrix).astype(np.float64), axis=1)

    assert all(length == pytest.approx(1, abs=1e-3) or length < 1 for length in lengths)
    assert not unit_rows(np.zeros((1, 4), dtype=np.float32)).any()


def test_each_word_that_carries_meaning_has_a_vector():
    text = "How does Momentor get its training data?"

    encoded = encode_words(text)

    assert encoded.words == ("momentor", "training", "data")
    assert [text[span.start : span.end] for span in encoded.spans] == [
        "Momentor",
        "training",
        "data",
    ]
    assert encoded.vectors.shape[0] == 3
    assert np.allclose(np.linalg.norm(encoded.vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("text", ["", "the of it", "…", "🙂"])
def test_a_text_without_words_that_carry_meaning_has_no_vectors(text: str):
    encoded = encode_words(text)

    assert encoded.words == ()
    assert encoded.vectors.shape[0] == 0


def test_what_is_beyond_the_length_of_the_model_is_left_out():
    encoded = encode_words("graph " * 600)

    assert 200 < len(encoded.words) < 256


def test_a_text_matches_itself_wholly_and_its_like_better_than_another():
    question = "Which network learns from graphs?"

    itself = match(question, question)
    alike = match(question, "We train a graph neural network by learning node features.")
    other = match(question, "The weather in Vienna is mild in autumn.")

    assert itself == pytest.approx(1, abs=1e-4)
    assert itself > alike > other


def test_a_word_is_read_in_its_context():
    bank = "They walked along the bank of the river in the sun."

    assert match("river bank", bank) > match("savings bank", bank)


def test_texts_are_read_once_for_both_their_vector_and_their_words():
    texts = ["We learn from graphs.", "", "Trains run on rails."]
    embedded = OnnxEmbedding().embed(texts)

    for num_threads in (1, 3):
        read = list(read_texts(texts, num_threads))
        assert np.array_equal([vector for vector, _ in read], embedded)
        for text, (_, words) in zip(texts, read, strict=True):
            assert words.words == encode_words(text).words
            assert np.array_equal(words.vectors, encode_words(text).vectors)


def test_words_are_kept_in_a_byte_for_each_number_almost_as_they_are():
    encoded = encode_words("We learn from graphs of proteins.")

    packed = encoded.packed()

    unpacked = packed.matrix * packed.scales[:, np.newaxis]
    assert packed.matrix.dtype == np.int8
    assert np.allclose(unpacked, encoded.vectors, atol=0.005)
    assert [tuple(span) for span in packed.spans] == [(3, 8), (14, 20), (24, 32)]
    assert len(encode_words("").packed().matrix) == 0
