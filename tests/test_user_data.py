import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paper_qa.domain import (
    Answer,
    Citation,
    Claim,
    Evidence,
    Paper,
    Place,
    Reference,
    ScoredPaper,
    Timings,
    Turn,
    Usage,
    Withheld,
)
from paper_qa.errors import PaperQAError
from paper_qa.user_data import (
    FILE_NAME,
    Conversation,
    ConversationHead,
    Exchange,
    Feedback,
    GivenFeedback,
    Saved,
    UnknownItemError,
    UserData,
    UserDataError,
    new_id,
)
from papers import make_paper

ME = "owner-1"
OTHER = "owner-2"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

number = st.integers(0, 10**9)
share = st.floats(0, 1)
times = st.datetimes(timezones=st.just(UTC))
strings = st.text(max_size=8)
names = st.lists(strings, max_size=2).map(tuple)
years = st.none() | st.integers(0, 3000)
papers = st.builds(
    Paper,
    id=strings,
    title=strings,
    abstract=strings,
    authors=names,
    year=years,
    venue=strings,
    url=strings,
    retracted=st.booleans(),
    found_in=st.lists(st.builds(Place, strings, number), max_size=1).map(tuple),
)
references = st.builds(
    Reference, number, strings, strings, names, years, strings, strings, st.booleans()
)
citations = st.builds(Citation, number, strings, number, number, strings)
claims = st.builds(
    Claim,
    strings,
    st.sampled_from(["supported", "computed", "contradicted", "not_mentioned"]),
    share,
    st.lists(citations, max_size=2).map(tuple),
)
withheld = st.builds(
    Withheld,
    strings,
    share,
    st.sampled_from(["contradicted", "not_mentioned", "refers_back"]),
    strings,
)
answers = st.builds(
    Answer,
    question=strings,
    text=strings,
    claims=st.lists(claims, max_size=2).map(tuple),
    withheld=st.lists(withheld, max_size=1).map(tuple),
    references=st.lists(references, max_size=1).map(tuple),
    see=st.lists(references, max_size=1).map(tuple),
    retrieved=st.lists(st.builds(ScoredPaper, papers, share), max_size=1).map(tuple),
    abstained=st.booleans(),
    abstain_reason=st.sampled_from([None, "no_evidence", "not_in_abstract", "language"]),
    confidence=share,
    premise_corrected=st.booleans(),
    notes=names,
    usage=st.builds(Usage, number, number, number),
    model=strings,
    timings=st.builds(Timings, share, share, share),
)
exchanges = st.builds(
    Exchange,
    id=strings,
    question=strings,
    asked_at=times,
    answer=st.none() | answers,
    papers=st.lists(papers, max_size=1).map(tuple),
    evidence=st.lists(st.builds(Evidence, strings, number, number, strings, share), max_size=1).map(
        tuple
    ),
    error=strings,
    stopped=st.booleans(),
)
feedbacks = st.builds(
    Feedback,
    verdict=st.sampled_from(["up", "down"]),
    question=strings,
    answer=answers,
    at=times,
    comment=strings,
    model=strings,
    version=strings,
    library=strings,
    history=st.lists(
        st.builds(Turn, st.sampled_from(["user", "assistant"]), strings), max_size=2
    ).map(tuple),
)
in_one_file = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


class Clock:
    """Each look at it is a minute later."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / FILE_NAME


@pytest.fixture
def user_data(path: Path) -> Iterator[UserData]:
    opened = UserData(path, now=Clock())
    yield opened
    opened.close()


def ask(question: str, said: str = "", *, minutes: int = 0) -> Exchange:
    return Exchange(
        id=new_id(),
        question=question,
        asked_at=NOON + timedelta(minutes=minutes),
        answer=Answer(question, said) if said else None,
    )


def opinion(comment: str = "", *, minutes: int = 0) -> Feedback:
    return Feedback(
        "up", "Why?", Answer("Why?", "So."), NOON + timedelta(minutes=minutes), comment=comment
    )


def sql(path: Path, statement: str, *arguments: object) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement, arguments)
    connection.close()


def test_a_conversation_begins_with_its_first_exchange_and_is_still_there_after_reopening(
    path: Path,
) -> None:
    first, second = ask("What is DPO?", "A method [1]."), ask("And PPO?", minutes=5)
    user_data = UserData(path)
    user_data.save_exchange(ME, "c", 0, first)
    user_data.save_exchange(ME, "c", 1, second)
    user_data.close()

    again = UserData(path)

    assert again.conversation(ME, "c") == Conversation(
        id="c",
        title="What is DPO?",
        created_at=NOON,
        updated_at=NOON + timedelta(minutes=5),
        exchanges=(first, second),
    )
    assert again.conversations(ME) == [
        ConversationHead("c", "What is DPO?", NOON + timedelta(minutes=5), 2)
    ]
    again.close()


@in_one_file
@given(exchange=exchanges)
def test_an_exchange_is_read_back_as_it_was(user_data: UserData, exchange: Exchange) -> None:
    user_data.save_exchange(ME, "c", 0, exchange)

    assert user_data.conversation(ME, "c").exchanges == (exchange,)


@in_one_file
@given(given=feedbacks, paper=papers)
def test_feedback_and_papers_are_read_back_as_they_were(
    user_data: UserData, given: Feedback, paper: Paper
) -> None:
    user_data.give_feedback(ME, "e", given)
    user_data.star(ME, paper)
    user_data.unstar(OTHER, paper.id)

    assert user_data.feedback(ME) == [GivenFeedback("e", given)]
    assert [saved.paper for saved in user_data.reading_list(ME)] == [paper]
    user_data.unstar(ME, paper.id)


def test_times_of_other_zones_are_the_same_moments(user_data: UserData) -> None:
    there = datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))

    user_data.save_exchange(ME, "c", 0, replace(ask("Why?"), asked_at=there))

    found = user_data.conversation(ME, "c")
    assert found.created_at == found.exchanges[0].asked_at == NOON


def test_half_characters_are_replaced_wherever_they_come_from(user_data: UserData) -> None:
    user_data.save_exchange(f"{ME}\ud800", "c\ud800", 0, ask("Why\ud800?"))

    assert user_data.conversation(f"{ME}\ud800", "c\ud800").exchanges[0].question == "Why\ufffd?"
    with pytest.raises(UnknownItemError):
        user_data.conversation(ME, "\ud800")


def test_an_exchange_replaces_the_one_at_its_position_and_what_followed_can_be_dropped(
    user_data: UserData,
) -> None:
    for position in range(3):
        user_data.save_exchange(ME, "c", position, ask(f"Question {position}"))
    retried = ask("Question 1, again", "Answered.", minutes=3)

    user_data.save_exchange(ME, "c", 1, retried)
    user_data.truncate(ME, "c", 2)

    found = user_data.conversation(ME, "c")
    assert [exchange.question for exchange in found.exchanges] == [
        "Question 0",
        "Question 1, again",
    ]
    assert found.exchanges[1] == retried
    assert found.updated_at == NOON + timedelta(minutes=3)


def test_the_newest_conversation_comes_first_and_an_old_question_kept_again_makes_it_no_older(
    user_data: UserData,
) -> None:
    user_data.save_exchange(ME, "a", 0, ask("A", minutes=1))
    user_data.save_exchange(ME, "b", 0, ask("B", minutes=2))
    user_data.save_exchange(ME, "a", 1, ask("A again", minutes=3))
    user_data.save_exchange(ME, "a", 0, ask("A", "Late.", minutes=1))
    user_data.save_exchange(ME, "b2", 0, ask("B2", minutes=2))

    assert [head.id for head in user_data.conversations(ME)] == ["a", "b2", "b"]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("  What\n is  this?", "What is this?"),
        ("w" * 60, "w" * 60),
        ("w" * 70, "w" * 60 + "…"),
        ("word " * 12 + "longer", "word " * 11 + "word…"),
        ("word " * 11 + "longer, and more", "word " * 10 + "word…"),
        ("a " + "w" * 70, "a " + "w" * 58 + "…"),
        (" \n", "Untitled"),
    ],
)
def test_the_title_is_the_first_question_cut_at_a_word(
    user_data: UserData, question: str, title: str
) -> None:
    user_data.save_exchange(ME, "c", 0, ask(question))

    assert user_data.conversation(ME, "c").title == title
    assert user_data.conversations(ME)[0].title == title


def test_the_title_follows_the_first_question_until_somebody_gives_one(user_data: UserData) -> None:
    user_data.save_exchange(ME, "c", 0, ask("One?"))
    user_data.save_exchange(ME, "c", 0, ask("Two?"))
    before = user_data.conversation(ME, "c").title

    user_data.rename(ME, "c", "  My\n title ")
    user_data.save_exchange(ME, "c", 0, ask("Three?"))

    assert before == "Two?"
    assert user_data.conversation(ME, "c").title == "My title"
    user_data.truncate(ME, "c", 0)
    assert user_data.conversations(ME) == [ConversationHead("c", "My title", NOON, 0)]


def test_a_conversation_whose_every_exchange_was_dropped_is_untitled(user_data: UserData) -> None:
    user_data.save_exchange(ME, "c", 0, ask("One?"))

    user_data.truncate(ME, "c", 0)

    assert user_data.conversation(ME, "c").title == "Untitled"
    assert user_data.conversations(ME)[0].title == "Untitled"


def test_a_blank_title_is_refused(user_data: UserData) -> None:
    user_data.save_exchange(ME, "c", 0, ask("One?"))

    with pytest.raises(UserDataError, match=r"can't be blank: write one$"):
        user_data.rename(ME, "c", " \n")

    assert user_data.conversation(ME, "c").title == "One?"


def test_a_deleted_conversation_is_gone_with_its_exchanges(user_data: UserData, path: Path) -> None:
    user_data.save_exchange(ME, "c", 0, ask("A secret?"))

    user_data.delete(ME, "c")
    user_data.delete(ME, "c")

    assert user_data.conversations(ME) == []
    with pytest.raises(UnknownItemError, match="no conversation 'c'"):
        user_data.conversation(ME, "c")
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM exchanges").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", ["d", "c", "b", "a"]),
        (" \n", ["d", "c", "b", "a"]),
        ("100%", ["a"]),
        ("%", ["a"]),
        ("_", ["b"]),
        ("snake_case", ["b"]),
        ("'; drop table", ["b"]),
        ('"quoted"', ["c"]),
        ("STRASSE größe", ["c"]),
        ("ÉTÉ", ["d"]),
        ("titled", ["d"]),
        ("titled été", ["d"]),
        ("titled 100%", []),
        ("nothing", []),
        ("\x00\ud800", []),
        ("word " * 5000, []),
    ],
)
def test_searching_looks_for_every_word_in_titles_questions_and_answers(
    user_data: UserData, search: str, found: list[str]
) -> None:
    user_data.save_exchange(ME, "a", 0, ask("Is it 100% sure?", minutes=1))
    user_data.save_exchange(ME, "b", 0, ask("Is snake_case'; DROP TABLE good?", minutes=2))
    user_data.save_exchange(ME, "c", 0, ask("Die Straße?", 'Eine "quoted" Größe.', minutes=3))
    user_data.save_exchange(ME, "d", 0, ask("L'e\u0301te\u0301", minutes=4))
    user_data.rename(ME, "d", "A titled one")

    heads = user_data.conversations(ME, search)

    assert [head.id for head in heads] == found


@in_one_file
@given(text=st.text(min_size=1, max_size=20))
def test_every_question_is_found_by_its_own_words(user_data: UserData, text: str) -> None:
    user_data.save_exchange(ME, "c", 0, ask(text, "Said."))

    assert [head.id for head in user_data.conversations(ME, text)] == ["c"]
    assert [head.id for head in user_data.conversations(ME, text.casefold())] == ["c"]


def test_another_persons_things_are_unknown_and_stay_as_they_are(user_data: UserData) -> None:
    user_data.save_exchange(ME, "c", 0, ask("Mine?", "Mine."))
    user_data.star(ME, make_paper(1))
    user_data.annotate(ME, "m1", "my note")
    user_data.give_feedback(ME, "e", opinion("mine"))
    mine = (user_data.conversation(ME, "c"), user_data.reading_list(ME), user_data.feedback(ME))

    with pytest.raises(UnknownItemError) as unknown:
        user_data.conversation(OTHER, "c")
    with pytest.raises(UnknownItemError):
        user_data.rename(OTHER, "c", "Yours")
    with pytest.raises(UnknownItemError, match="no paper 'm1' in the reading list"):
        user_data.annotate(OTHER, "m1", "your note")
    user_data.delete(OTHER, "c")
    user_data.truncate(OTHER, "c", 0)
    user_data.unstar(OTHER, "m1")
    user_data.withdraw(OTHER, "e")

    assert "Mine" not in str(unknown.value)
    assert user_data.conversations(OTHER) == []
    assert user_data.conversations(OTHER, "mine") == []
    assert user_data.reading_list(OTHER) == []
    assert user_data.feedback(OTHER) == []
    assert mine == (
        user_data.conversation(ME, "c"),
        user_data.reading_list(ME),
        user_data.feedback(ME),
    )


def test_two_people_may_use_the_same_ids(user_data: UserData) -> None:
    for owner in (ME, OTHER):
        user_data.save_exchange(owner, "c", 0, ask(f"Of {owner}?"))
        user_data.star(owner, make_paper(1))
        user_data.annotate(owner, "m1", owner)
        user_data.give_feedback(owner, "e", opinion(owner))

    user_data.delete(OTHER, "c")
    user_data.unstar(OTHER, "m1")
    user_data.withdraw(OTHER, "e")

    assert user_data.conversation(ME, "c").title == f"Of {ME}?"
    assert [saved.note for saved in user_data.reading_list(ME)] == [ME]
    assert [given.feedback.comment for given in user_data.all_feedback()] == [ME]


def test_nothing_belongs_to_nobody(user_data: UserData) -> None:
    with pytest.raises(UserDataError):
        user_data.save_exchange("", "c", 0, ask("Whose?"))

    assert user_data.conversations("") == []


def test_the_reading_list_keeps_whole_papers_newest_first(user_data: UserData) -> None:
    user_data.star(ME, make_paper(1))
    user_data.star(ME, make_paper(2))
    user_data.annotate(ME, "m1", "  read this\nfirst ")

    changed = replace(make_paper(1), title="Another title")
    user_data.star(ME, changed)

    assert user_data.reading_list(ME) == [
        Saved(make_paper(2), "", NOON + timedelta(minutes=2)),
        Saved(changed, "read this\nfirst", NOON + timedelta(minutes=1)),
    ]


def test_the_real_clock_is_in_utc(tmp_path: Path) -> None:
    user_data = UserData(tmp_path / FILE_NAME)
    user_data.star(ME, make_paper(1))

    (saved,) = user_data.reading_list(ME)

    assert abs(saved.saved_at - datetime.now(UTC)) < timedelta(minutes=5)
    assert saved.saved_at.utcoffset() == timedelta(0)
    user_data.close()


def test_papers_taken_off_come_back_with_their_notes_and_as_the_newest(
    user_data: UserData,
) -> None:
    for number in (1, 2, 3):
        user_data.star(ME, make_paper(number))
    user_data.annotate(ME, "m1", "mine")
    for _ in range(2):
        user_data.unstar(ME, "m1")
    user_data.unstar(ME, "m2")

    assert [saved.paper.id for saved in user_data.reading_list(ME)] == ["m3"]
    assert user_data.starred(ME) == {"m3"}
    with pytest.raises(UnknownItemError):
        user_data.annotate(ME, "m1", "other")

    user_data.star(ME, make_paper(2))
    user_data.star(ME, make_paper(1))

    found = [(saved.paper.id, saved.note) for saved in user_data.reading_list(ME)]
    assert sorted(found) == [("m1", "mine"), ("m2", ""), ("m3", "")]


def test_a_changed_mind_replaces_feedback_and_it_can_be_withdrawn(user_data: UserData) -> None:
    user_data.give_feedback(ME, "e1", opinion("good"))
    user_data.give_feedback(OTHER, "e2", opinion("other", minutes=1))
    changed = replace(opinion("bad after all", minutes=2), verdict="down")

    user_data.give_feedback(ME, "e1", changed)

    assert user_data.feedback(ME) == [GivenFeedback("e1", changed)]
    assert [item.exchange_id for item in user_data.all_feedback()] == ["e2", "e1"]
    user_data.withdraw(ME, "e1")
    user_data.withdraw(ME, "e1")
    assert user_data.feedback(ME) == []


def test_feedback_outlives_its_conversation(user_data: UserData) -> None:
    asked = ask("Why?", "So.")
    user_data.save_exchange(ME, "c", 0, asked)
    user_data.give_feedback(ME, asked.id, opinion())

    user_data.delete(ME, "c")

    assert [item.exchange_id for item in user_data.feedback(ME)] == [asked.id]


def test_fields_of_a_newer_version_are_passed_over(user_data: UserData, path: Path) -> None:
    kept = ask("Why?", "So.")
    user_data.save_exchange(ME, "c", 0, kept)

    sql(path, "UPDATE exchanges SET content = json_set(content, '$.answer.mood', 'good')")

    assert user_data.conversation(ME, "c").exchanges == (kept,)


@pytest.mark.parametrize(
    "change",
    [
        "content = json_remove(content, '$.answer.text')",
        "content = json_set(content, '$.answer.abstain_reason', 'tired')",
        "content = '{'",
        "content = ''",
    ],
)
def test_an_exchange_that_cannot_be_read_is_its_question_and_stays_in_the_file(
    user_data: UserData, path: Path, change: str
) -> None:
    kept = ask("Why?", "So.")
    user_data.save_exchange(ME, "c", 0, kept)
    user_data.save_exchange(ME, "c", 1, ask("And then?"))

    sql(path, f"UPDATE exchanges SET {change} WHERE position = 0")  # noqa: S608 - ours

    first, second = user_data.conversation(ME, "c").exchanges
    assert (first.id, first.question, first.asked_at) == (kept.id, "Why?", NOON)
    assert first.answer is None
    assert "another version of paper-qa" in first.error
    assert second.question == "And then?"
    assert user_data.conversations(ME, "so")[0].num_exchanges == 2


def test_papers_and_feedback_that_cannot_be_read_break_no_list(
    user_data: UserData, path: Path
) -> None:
    user_data.star(ME, make_paper(1))
    user_data.give_feedback(ME, "e1", opinion())
    user_data.give_feedback(ME, "e2", opinion(minutes=1))

    sql(path, "UPDATE saved SET content = '[]'")
    sql(path, "UPDATE feedback SET content = '{}' WHERE exchange_id = 'e1'")

    (saved,) = user_data.reading_list(ME)
    assert saved.paper == Paper("m1", make_paper(1).title, "")
    assert [item.exchange_id for item in user_data.all_feedback()] == ["e2"]


def test_positions_begin_at_0(user_data: UserData) -> None:
    with pytest.raises(UserDataError):
        user_data.save_exchange(ME, "c", -1, ask("Why?"))

    assert user_data.conversations(ME) == []  # the conversation was rolled back with it


def refusal(path: Path) -> str:
    with pytest.raises(PaperQAError) as refused:
        UserData(path)
    message = str(refused.value)
    assert "\n" not in message
    assert repr(str(path)) in message
    return message


def test_a_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    UserData(path).close()
    sql(path, "PRAGMA user_version = 2")
    before = path.read_bytes()

    assert refusal(path).endswith("was made by a newer version of paper-qa: upgrade paper-qa")
    assert path.read_bytes() == before


def test_a_file_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    sql(path, "CREATE TABLE theirs (x)")
    before = path.read_bytes()

    assert "belongs to another program" in refusal(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all " * 100)

    assert "is damaged: put back a copy" in refusal(path)
    assert path.read_bytes().startswith(b"no database")


def test_a_file_that_is_damaged_inside_gives_one_clear_error(path: Path) -> None:
    user_data = UserData(path)
    for position in range(40):
        user_data.save_exchange(ME, "c", position, ask("Why? " * 200, "So. " * 200))
    user_data.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))

    user_data = UserData(path)
    with pytest.raises(UserDataError, match="is damaged: put back a copy") as damaged:
        user_data.conversation(ME, "c")

    assert "\n" not in str(damaged.value)
    user_data.close()


def test_a_place_that_cannot_be_written_gives_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "can't be written" in refusal(tmp_path / "file" / FILE_NAME)

    (tmp_path / FILE_NAME).mkdir()
    assert "can't be written" in refusal(tmp_path / FILE_NAME)


def test_a_table_that_is_gone_gives_one_clear_error(user_data: UserData, path: Path) -> None:
    sql(path, "DROP TABLE saved")

    with pytest.raises(UserDataError, match=r"can't be read or written \(no such table: saved\)"):
        user_data.reading_list(ME)


def test_what_people_asked_is_readable_for_nobody_else(user_data: UserData, path: Path) -> None:
    user_data.save_exchange(ME, "c", 0, ask("Why?"))

    modes = {file.name: file.stat().st_mode & 0o077 for file in path.parent.iterdir()}

    assert modes
    assert set(modes.values()) == {0}
