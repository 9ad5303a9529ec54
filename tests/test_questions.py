import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper_qa.domain import Turn
from paper_qa.errors import PaperQAError
from paper_qa.evaluation import questions as evaluation
from paper_qa.questions import understand
from seeds import questions

HISTORY = [
    Turn("user", "What is a balanced resonate-and-fire neuron?"),
    Turn("assistant", "A spiking neuron with a divergence boundary [1]."),
]
KINDS = {"list": "list", "compare": "compare"} | dict.fromkeys(
    ("fact", "named", "number", "vague", "multilingual"), "answer"
)


def kind_of(question: str) -> str:
    return understand(question).kind


# Kinds


@pytest.mark.parametrize(
    "item", [item for item in questions() if item.type in KINDS], ids=lambda item: item.id
)
def test_the_kind_of_a_judged_question_is_known(item: evaluation.Question):
    assert kind_of(item.question) == KINDS[item.type]


@pytest.mark.parametrize("item", questions("questions_more"), ids=lambda item: item.id)
def test_only_those_who_ask_for_papers_get_a_list(item: evaluation.Question):
    assert (kind_of(item.question) == "list") == (item.type == "list")


@pytest.mark.parametrize(
    "question",
    [
        "Which papers use diffusion models?",
        "what papers are about fairness",
        "List all papers on bandits.",
        "Please show me every paper about graphs",
        "Are there any papers on reinforcement learning?",
        "papers about privacy",
        "Who works on spiking networks?",
        "And which other papers do so?",
        "Find me works on Nash equilibria",
    ],
)
def test_who_asks_for_papers_gets_a_list(question: str):
    assert kind_of(question) == "list"


@pytest.mark.parametrize(
    "question",
    [
        "Compare TDPO and DPO.",
        "What is the difference between SAM and adversarial training?",
        "PlanDQ versus energy-based transition models",
        "How do PlanDQ and Momentor differ?",
        "Contrast the two papers on equilibrium models.",
    ],
)
def test_who_sets_two_side_by_side_gets_a_comparison(question: str):
    assert kind_of(question) == "compare"


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Summarize qian24a", "qian24a"),
        ("summarise offline reinforcement learning.", "offline reinforcement learning"),
        ("Please give me a short summary of the paper on Momentor!", "Momentor"),
        ("TL;DR: Just Cluster It", "Just Cluster It"),
        ("Can you sum up the papers about fairness?", "fairness"),
    ],
)
def test_a_summary_is_of_its_topic(question: str, topic: str):
    understood = understand(question)

    assert (understood.kind, understood.query) == ("summary", topic)


@pytest.mark.parametrize(
    "question", ["What does the paper on Momentor find?", "How is the summary written?"]
)
def test_an_ordinary_question_is_looked_for_as_it_stands(question: str):
    understood = understand(question)

    assert (understood.kind, understood.query) == ("answer", question)


# Odd input


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "?!", "…", "🙂🎉", "\x00\x07", "\u200b\u202e"])
def test_a_question_that_asks_nothing_is_one_clear_error(text: str):
    with pytest.raises(PaperQAError, match=r"^the question is empty: [^\n]+$"):
        understand(text)


@pytest.mark.parametrize("text", ["x" * 100_000, "why? " * 20_000, "which papers " * 8_000])
def test_a_book_instead_of_a_question_is_one_clear_error(text: str):
    started = time.monotonic()

    with pytest.raises(PaperQAError, match=r"^the question has [\d,]+ characters: [^\n]+$"):
        understand(text)

    assert time.monotonic() - started < 1


def test_control_characters_and_line_breaks_are_blanks():
    text = "What\x00 is\x07\n\n  \u200bMomentor\u202e?\x1b[31m"

    assert understand(text).text == "What is Momentor ?"


def test_emoji_beside_words_do_no_harm():
    understood = understand("What is Momentor 🙂?")

    assert understood.text == "What is Momentor 🙂?"
    assert understood.readable


def test_a_figure_alone_can_be_asked_for():
    assert understand("42?").text == "42?"


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_a_question_on_one_line_or_an_error_of_ours(text: str):
    try:
        understood = understand(text)
    except PaperQAError:
        return

    assert understood.text
    assert understood.text == " ".join(understood.text.split())
    assert understood.query in understood.text


@pytest.mark.parametrize(
    "text",
    [
        "how do " + "and " * 990,
        "summarize " * 399,
        "one paper " * 390,
        "two " + "a-b " * 900,
        "what do " + "x and " * 600,
        "please " * 550,
        "list " + "all " * 950,
        "are there " + "any " * 950,
    ],
)
def test_no_question_takes_long_to_read(text: str):
    started = time.monotonic()

    understand(text)

    assert time.monotonic() - started < 2


# Languages


@pytest.mark.parametrize(
    "question",
    [
        "有没有用扩散模型做规划的方法？",
        "Transformerは文脈内で非線形関数をどうやって学習しているのですか？",
        "ما هو مومنتور وكيف يحصل على بياناته؟",
        "מה זה מומנטור?",
        "Как обучается эта модель?",
        "모멘토르는 무엇입니까?",
    ],
)
def test_other_scripts_are_not_readable(question: str):
    assert not understand(question).readable


@pytest.mark.parametrize(
    "question",
    [
        "What is Momentor?",
        "Is ε-differential privacy kept when α + β < Γ?",
        "¿Cómo se mide la estética?",
        "Łukasz Müller ağ",
        "Is 好 a token?",
        "42?",
    ],
)
def test_latin_letters_and_the_greek_ones_of_maths_are_readable(question: str):
    assert understand(question).readable


@pytest.mark.parametrize(
    "question",
    [
        "¿Cómo se corrige el desequilibrio de cola larga?",
        "Wie klein kann der Regret bei Online-Optimierung werden, wenn man nur Gradienten nutzt?",
        "Comment est-ce que le modèle apprend sur des vidéos?",
        "Quali articoli parlano di reti neurali per grafi nella chimica?",
        "Hoe leert het model van de video's?",
    ],
)
def test_other_languages_in_the_same_script_are_known(question: str):
    assert understand(question).is_foreign


@pytest.mark.parametrize("item", [*questions(), *questions("questions_more")], ids=lambda q: q.id)
def test_english_is_not_taken_for_another_language(item: evaluation.Question):
    understood = understand(item.question)

    assert (item.lang == "en") == (understood.readable and not understood.is_foreign)


@pytest.mark.parametrize(
    "question",
    [
        "Et al.",
        "de novo design",
        "How do van der Waals forces matter?",
        "van der Waals interactions",
    ],
)
def test_a_word_or_two_of_latin_or_french_are_still_english(question: str):
    assert not understand(question).is_foreign


# Follow-ups


@pytest.mark.parametrize(
    "question",
    [
        "How is it trained?",
        "And which boundary do they use there?",
        "What about its speed on long sequences of images?",
        "Why?",
        "Do those converge faster than the vanilla ones on real data?",
    ],
)
def test_a_question_that_points_back_is_read_with_what_was_said_before(question: str):
    background = understand(question, HISTORY).background

    assert "divergence boundary" in background
    assert "resonate-and-fire" in background


@pytest.mark.parametrize(
    "question",
    [
        "How does Momentor construct large instruction data for video segments?",
        "Which papers give formal differential privacy guarantees for similarities?",
        "Compare PlanDQ with energy-based transition models for offline planning.",
    ],
)
def test_a_question_that_stands_alone_is_read_alone(question: str):
    assert understand(question, HISTORY) == understand(question)
    assert understand(question, HISTORY).background == ""


@pytest.mark.parametrize(
    "item", [item for item in questions() if item.history], ids=lambda item: item.id
)
def test_the_judged_follow_ups_are_read_with_their_history(item: evaluation.Question):
    assert item.history[-1].content.split()[0] in understand(item.question, item.history).background
    assert understand(item.question).background == ""


def test_the_background_is_of_the_last_turns_and_bounded():
    history = [Turn("user", f"turn{number} " + "word " * 5000) for number in range(40)]

    background = understand("And why is that?", history).background

    assert "turn39" in background
    assert "turn0 " not in background
    assert len(background) < 4000
