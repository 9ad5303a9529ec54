import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paper_qa.domain import Paper
from paper_qa.keywords import MAX_WORDS
from paper_qa.library import Library
from papers import make_papers


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    opened = Library(tmp_path_factory.mktemp("filled"))
    opened.add(make_papers(50))
    yield opened
    opened.close()


def ids(hits: list[tuple[str, float]]) -> list[str]:
    return [paper_id for paper_id, _ in hits]


def paper(paper_id: str, title: str, abstract: str = "") -> Paper:
    return Paper(id=paper_id, title=title, abstract=abstract)


def test_the_paper_with_the_words_comes_first_with_a_score_above_0(filled):
    hits = filled.keyword_search("what does marker7 do?", 3)

    assert hits[0][0] == "m7"
    assert all(score > 0 for _, score in hits)


def test_words_are_found_in_other_forms_and_without_case_or_accents(library):
    library.add([paper("a", "Généralising Retrievers"), paper("b", "Nothing of the kind")])

    for query in ("generalise retrieval", "GENERALISES", "retriever's", "ge\u0301ne\u0301ralising"):
        assert ids(library.keyword_search(query, 5)) == ["a"], query


def test_a_word_in_the_title_counts_more_than_in_the_abstract(library):
    library.add(
        [
            paper("a", "one two three", "four five diffusion"),
            paper("b", "one two diffusion", "four five six"),
            paper("c", "one two three", "four five seven"),
            paper("d", "one two three", "four five eight"),
        ]
    )

    assert ids(library.keyword_search("diffusion", 5)) == ["b", "a"]


def test_hyphens_and_case_do_not_matter(library):
    library.add([paper("a", "GPT-4 and LLaMA-2"), paper("b", "Four llamas"), paper("c", "Other")])

    assert ids(library.keyword_search("gpt4 gpt-4 llama 2", 1)) == ["a"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "?!.,",
        '"',
        "'; DROP TABLE papers; --",
        'NEAR("a" "b", 3)',
        "title : x* AND (NOT OR",
        "a OR b AND NOT c",
        "^start -minus +plus {col} col:x",
        "日本語の質問",
        "a",
        "x\x00y",
        "\ud800",
        "🎉 🎉",
        "مرحبا بالعالم",
        "\u0301\u0302",
        "_ __ _a_",
        "½ ² ﬁ",
    ],
)
def test_no_query_is_syntax_and_none_fails(filled, query):
    assert isinstance(filled.keyword_search(query, 5), list)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(query=st.text(), k=st.integers(-1, 60))
def test_any_text_gives_at_most_k_papers_best_first_and_ties_by_id(filled, query, k):
    hits = filled.keyword_search(query, k)

    assert len(hits) <= max(k, 0)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
    assert len(set(ids(hits))) == len(hits)


def test_a_huge_query_takes_no_time(filled):
    query = " ".join(f"word{number} model" for number in range(10_000)) + "x" * 50_000

    start = time.perf_counter()
    hits = filled.keyword_search(query, 5)

    assert len(hits) == 5
    assert time.perf_counter() - start < 5


def test_more_words_than_the_limit_leave_the_rarest(library):
    words = [f"word{number}" for number in range(MAX_WORDS + 10)]
    library.add([paper("a", "rareword"), *(paper(f"p{i}", " ".join(words)) for i in range(3))])

    assert "a" in ids(library.keyword_search(" ".join([*words, "rareword"]), 5))


def test_function_words_are_left_out_unless_there_is_nothing_else(library):
    library.add([paper("a", "the and of"), paper("b", "diffusion"), paper("c", "other")])

    assert ids(library.keyword_search("the diffusion of the", 5)) == ["b"]
    assert ids(library.keyword_search("the of and", 5)) == ["a"]


def test_in_a_large_library_words_of_many_papers_are_left_out(library):
    common = [paper(f"c{number:04}", "network learning", f"x{number}") for number in range(1100)]
    library.add([*common, paper("r", "Momentor"), paper("s", "Momentor", "network learning")])

    assert ids(library.keyword_search("network Momentor learning", 9)) == ["r", "s"]


def test_in_a_large_library_the_rarest_words_are_kept_when_all_are_common(library):
    library.add(paper(f"c{number:04}", "network", f"x{number}") for number in range(1100))

    assert len(library.keyword_search("network", 9)) == 9


def test_ties_are_cut_by_id_however_the_papers_came_in(tmp_path):
    papers = [paper(f"t{number:02}", "same words", f"x{number}") for number in range(30)]
    found = []
    for name, order in (("a", papers), ("b", papers[::-1]), ("c", papers[15:] + papers[:15])):
        library = Library(tmp_path / name)
        library.add(order)
        found.append(library.keyword_search("same words", 7))
        library.close()

    assert ids(found[0]) == [f"t{number:02}" for number in range(7)]
    assert found[0] == found[1] == found[2]


def test_what_was_removed_or_changed_is_found_no_more(library):
    library.add([paper("a", "", "an abstract of many words that says zebra" * 5)])
    library.add([paper("x", "A title with okapi", "an abstract of many words that says zebra" * 5)])

    assert ids(library.keyword_search("okapi", 5)) == ["a"]
    library.remove(["a"])
    assert library.keyword_search("okapi zebra", 5) == []
    assert library.keyword_search("okapi zebra", 0) == []


def test_papers_that_have_all_words_are_found_and_no_others(library):
    library.add(
        [
            paper("a", "Spiking Networks", "text-to-speech"),
            paper("b", "Networks", "from speech to text"),
            paper("c", "The Network", "spikes"),
        ]
    )

    assert sorted(library.ids_with(["spike", "networks"])) == ["a", "c"]
    assert library.ids_with(["text-to-speech"]) == ["a"]
    assert library.ids_with(["networks", "zebra"]) == []
    assert library.ids_with(['net" OR "works', "NEAR("]) == []
    assert library.ids_with([]) == []


def test_the_stems_of_a_text_are_those_of_the_index(library):
    assert library.stems("Spiking, the Räuber's spikes") == ["spike", "the", "rauber", "s", "spike"]
