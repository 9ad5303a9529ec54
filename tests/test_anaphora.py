import pytest

from paper_qa.anaphora import Thread, refers_back

LOST = "Momentor was trained by a team of forty."
SHOWN = "Momentor is a Video-LLM."


def read(*sentences: tuple[str, bool]) -> list[str | None]:
    """Return each sentence as it would be checked, given which of them are supported."""
    thread = Thread()
    mended: list[str | None] = []
    for sentence, is_supported in sentences:
        text = thread.mended(sentence)
        mended.append(text)
        thread.follow(sentence, is_shown=text is not None and is_supported)
    return mended


@pytest.mark.parametrize(
    "sentence",
    [
        "It is fast.",
        "Its speed is high.",
        "However, they fail.",
        "This approach helps.",
        "These results hold.",
        "The latter is better.",
        "In addition, both are used.",
    ],
)
def test_what_speaks_of_a_withheld_sentence_goes_with_it(sentence: str):
    assert refers_back(sentence)
    assert read((LOST, False), (sentence, True)) == [LOST, None]
    assert read((SHOWN, True), (sentence, True)) == [SHOWN, sentence]


@pytest.mark.parametrize(
    ("sentence", "mended"),
    [
        ("However, Momentor is fast.", "Momentor is fast."),
        ("But speed is low.", "Speed is low."),
        ("In addition, the paper has a dataset.", "The paper has a dataset."),
        ("This paper has a dataset.", "This paper has a dataset."),
        ("Items are many.", "Items are many."),
        ("Thusly named models win.", "Thusly named models win."),
    ],
)
def test_a_connective_that_answers_to_a_withheld_sentence_is_dropped(sentence: str, mended: str):
    assert not refers_back(sentence)
    assert read((LOST, False), (sentence, True)) == [LOST, mended]
    assert read((SHOWN, True), (sentence, True)) == [SHOWN, sentence]


def test_a_pronoun_speaks_of_the_last_subject_not_of_the_last_sentence():
    chain = [(SHOWN, True), ("It costs $5.", False), ("It is fast.", True)]
    assert read(*chain) == [SHOWN, "It costs $5.", "It is fast."]

    chain = [(LOST, False), ("It is fast.", True), ("They agree.", True), (SHOWN, True)]
    assert read(*chain) == [LOST, None, None, SHOWN]
    assert read(*chain, ("It is fast.", True))[-1] == "It is fast."
