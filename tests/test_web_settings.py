import pytest

from paper_qa.domain import AS_CONFIGURED, AskOptions, Scope
from paper_qa.web.settings_tab import chosen, narrowed, narrowing_text, options_of

NO_FILTER = ("", "", "", "", 0)
UNSET = ("model", "configured", False, 0.5)


def test_what_is_not_set_is_as_configured() -> None:
    assert narrowed(AS_CONFIGURED, *NO_FILTER) == AS_CONFIGURED
    assert narrowed(AS_CONFIGURED, None, None, None, None, None) == AS_CONFIGURED
    assert chosen(AS_CONFIGURED, *UNSET) == AS_CONFIGURED
    assert options_of("", *NO_FILTER, *UNSET) == AS_CONFIGURED


def test_filters_narrow_the_papers() -> None:
    options = narrowed(AS_CONFIGURED, "2020", " 2024", " Müller ", " ICML", 5.0)

    assert options == AskOptions(Scope(2020, 2024, "ICML", "Müller"), num_sources=5)
    assert narrowed(options, "2024", "", "", "", 0) == AskOptions(Scope(year_from=2024))


def test_filters_keep_the_paper_that_is_asked_about_and_what_else_is_set() -> None:
    options = AskOptions(Scope(paper_ids=("a",)), write=False)

    assert narrowed(options, "", "2024", "", "", 0) == AskOptions(
        Scope(year_to=2024, paper_ids=("a",)), write=False
    )


def test_years_that_can_not_be_met_are_left_out() -> None:
    options = narrowed(AS_CONFIGURED, "2024", "2020", "Müller", "", 0)

    assert options.scope == Scope(author="Müller")


@pytest.mark.parametrize(
    ("unsupported", "flag"),
    [("configured", None), ("withhold", False), ("flag", True), ("?", None)],
)
def test_unsupported_sentences_are_withheld_or_shown(unsupported: str, flag: bool | None) -> None:
    assert chosen(AS_CONFIGURED, "model", unsupported, None, 0.5).flag_unsupported is flag


def test_key_passages_are_no_writing_and_an_own_threshold_counts_only_when_wanted() -> None:
    scope = Scope(author="Müller")

    options = chosen(AskOptions(scope), "passages", "configured", True, 0.35)

    assert options == AskOptions(scope, write=False, abstain_threshold=0.35)
    assert chosen(AS_CONFIGURED, "model", "configured", False, 0.35).abstain_threshold is None
    assert chosen(AS_CONFIGURED, "model", "configured", True, 0).abstain_threshold == 0


def test_a_question_takes_all_of_it_along() -> None:
    options = options_of("a", "2020", "x", "", "", 3, "passages", "flag", True, 1)

    assert options == AskOptions(
        Scope(year_from=2020, paper_ids=("a",)),
        num_sources=3,
        write=False,
        flag_unsupported=True,
        abstain_threshold=1.0,
    )


def test_the_closed_filters_say_what_they_are() -> None:
    every = AskOptions(Scope(2020, 2024, "ICML", "Müller"), num_sources=5)

    assert narrowing_text(AS_CONFIGURED) == "Which papers"
    assert narrowing_text(AskOptions(Scope(year_from=2020))) == "Which papers: from 2020"
    assert (
        narrowing_text(every) == "Which papers: from 2020, to 2024, by Müller, in ICML, 5 at most"
    )
