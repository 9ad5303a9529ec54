from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paper_qa.domain import Paper
from paper_qa.user_data import FILE_NAME, UserData
from paper_qa.web.reading_tab import NUM_ROWS, Reading, list_html
from test_web_panel import Page
from web_papers import HOSTILE, VIDEO

OWNER, OTHER = "a" * 32, "b" * 32
SAVED = '<div class="kept" role="status">Saved</div>'


@pytest.fixture
def data(tmp_path: Path) -> Iterator[UserData]:
    data = UserData(tmp_path / FILE_NAME)
    yield data
    data.close()


def request(owner: str = OWNER, session: str = "s") -> Any:
    cookie = f"paper_qa_owner={owner}" if owner else ""
    return SimpleNamespace(headers={"cookie": cookie}, session_hash=session)


def rows_of(shown: Any) -> list[tuple[Any, ...]]:
    """Return the rows that are filled in: paper, note, id, the note that is kept, what is said."""
    rows = [shown[at : at + 6] for at in range(4, len(shown), 6)]
    return [row[1:] for row in rows if row[0].get("visible")]


def is_left_alone(shown: Any) -> bool:
    return all(value == {"__type__": "update"} for value in shown)


def star(data: UserData, count: int, owner: str = OWNER) -> None:
    for number in range(count):
        data.star(owner, Paper(f"p-{number}", f"Study {number}", "An abstract."))


def test_papers_are_shown_newest_first_with_their_notes(data: UserData) -> None:
    star(data, 2)
    data.annotate(OWNER, "p-0", "<b>mine</b>")

    shown = Reading(data).show(request())

    first, second = rows_of(shown)
    assert "Study 1" in first[0]
    assert "✕ Remove" in first[0]
    assert second[1]["value"] == "<b>mine</b>"
    assert second[1]["label"] == "Note on Study 0"
    assert second[2:] == ("p-0", "<b>mine</b>", "")
    assert "2 papers" in shown[0]


def test_nobody_sees_the_list_of_another(data: UserData) -> None:
    star(data, 2)

    assert rows_of(Reading(data).show(request(OTHER))) == []
    assert rows_of(Reading(data).show(request(""))) == []


def test_a_page_that_shows_the_list_as_it_is_is_left_alone(data: UserData) -> None:
    star(data, 2)
    reading = Reading(data)
    reading.show(request())

    data.annotate(OWNER, "p-0", "being typed")
    assert is_left_alone(reading.show(request()))
    assert len(rows_of(reading.show(request(session="another")))) == 2
    data.unstar(OWNER, "p-1")
    assert len(rows_of(reading.show(request()))) == 1


def test_a_long_list_has_pages(data: UserData) -> None:
    star(data, 2 * NUM_ROWS + 1)
    reading = Reading(data)

    first = reading.show(request())
    assert len(rows_of(first)) == NUM_ROWS
    assert [first[1]["interactive"], first[3]["interactive"]] == [False, True]
    assert first[2]["value"] == "Page 1 of 3"
    reading.older(request())
    last = reading.older(request())
    assert [row[2] for row in rows_of(last)] == ["p-0"]
    assert [last[1]["interactive"], last[3]["interactive"]] == [True, False]
    assert is_left_alone(reading.older(request()))

    data.unstar(OWNER, "p-0")  # the page that was shown is no more
    before = reading.show(request())
    assert before[2]["value"] == "Page 2 of 2"
    assert len(rows_of(before)) == NUM_ROWS
    assert reading.newer(request())[2]["value"] == "Page 1 of 2"


def test_a_note_is_saved_and_it_is_said(data: UserData) -> None:
    star(data, 1)
    reading = Reading(data)

    assert reading.save("new", "p-0", "", request()) == ("new", SAVED)
    assert data.reading_list(OWNER)[0].note == "new"
    data.annotate(OWNER, "p-0", "from another page")
    assert is_left_alone(reading.save("new", "p-0", "new", request()))
    assert data.reading_list(OWNER)[0].note == "from another page"
    assert is_left_alone(reading.save("new", "p-0", "", request("")))
    assert is_left_alone(reading.save("new", "", "", request()))


def test_a_note_that_can_not_be_saved_is_tried_again(data: UserData) -> None:
    kept, said = Reading(data).save("new", "gone <b>", "", request())

    assert is_left_alone([kept])
    assert "Not saved" in said
    assert "<b>" not in said


def test_an_endless_note_is_cut(data: UserData) -> None:
    star(data, 1)
    Reading(data).save("x" * 1_000_000, "p-0", "", request())

    assert len(data.reading_list(OWNER)[0].note) == 10_000


def test_a_list_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    data = UserData(tmp_path / FILE_NAME)
    star(data, 1)
    data.close()
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 1000)

    shown = Reading(data).show(request())

    assert 'role="alert"' in shown[0]
    assert rows_of(shown) == []


def test_hostile_papers_are_only_text(data: UserData) -> None:
    data.star(OWNER, HOSTILE)
    row = rows_of(Reading(data).show(request()))[0]

    page = Page(row[0])
    assert not {"img", "script", "form", "svg", "style"} & set(page.tags)
    assert page.open == []


def test_downloads_are_offered_when_there_is_something_to_download(data: UserData) -> None:
    assert "/export/" not in list_html(0)
    assert "Add to reading list" in list_html(0)
    assert "/export/reading-list.md" in list_html(1)
    assert "1 paper<" in list_html(1)


def test_views_of_pages_that_are_closed_are_forgotten(data: UserData) -> None:
    data.star(OWNER, VIDEO)
    reading = Reading(data)
    for number in range(1100):
        reading.show(request(session=str(number)))

    assert len(rows_of(reading.show(request(session="0")))) == 1
    assert is_left_alone(reading.show(request(session="1099")))
