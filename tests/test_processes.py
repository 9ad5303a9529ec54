import random
import time
from pathlib import Path

import pytest

from papers import make_papers
from workers import (
    add,
    add_and_remove,
    add_in_small_steps,
    ask,
    check_whole,
    close_both,
    found,
    open_both,
    open_only,
    start,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def fill(home: Path, count: int) -> None:
    library, index = open_both(home)
    library.add(make_papers(count))
    index.refresh()
    close_both(library, index)


def test_processes_that_make_one_library_at_the_same_time_all_succeed(home):
    processes = [start(open_only, home) for _ in range(6)]

    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0] * 6
    assert check_whole(home) == ["m1"]


def test_two_adds_at_once_lose_nothing(home):
    processes = [start(add, home, first, 120) for first in (0, 100)]

    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0, 0]
    assert sorted(check_whole(home)) == sorted(f"m{number}" for number in range(220))


def test_killed_adds_lose_nothing_and_the_next_question_is_answered(home):
    fill(home, 10)
    began = time.monotonic()
    add_in_small_steps_and_wait(home.with_name("whole run"))
    whole_run = time.monotonic() - began
    own = random.Random(20240501)
    num_before = 10

    for kill in range(6):
        process = start(add_in_small_steps, home, 10, 150 * (kill + 1))
        time.sleep(own.uniform(0, whole_run))
        process.kill()
        process.join()

        library, index = open_both(home)
        papers = library.papers()
        assert found(index, own.randrange(10))
        assert all(found(index, int(paper.id[1:])) for paper in own.sample(papers, 5))
        close_both(library, index)
        assert papers == make_papers(len(papers))
        assert len(papers) >= num_before
        num_before = len(papers)
        assert len(check_whole(home)) == num_before

    add(home, 10, 200)
    assert set(check_whole(home)) >= {f"m{number}" for number in range(210)}


def add_in_small_steps_and_wait(home: Path) -> None:
    process = start(add_in_small_steps, home, 10, 150)
    process.join()
    assert process.exitcode == 0


def test_an_open_reader_sees_what_others_add_and_remove_and_loses_nothing(home):
    fill(home, 30)
    library, index = open_both(home)
    processes = [
        start(add_and_remove, home, 6, 100),
        start(ask, home, 150, 30, 1),
    ]
    own = random.Random(7)

    while any(process.is_alive() for process in processes):
        assert found(index, own.randrange(30))
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0, 0]
    assert not found(index, 103)
    assert all(found(index, number) for number in range(30))
    close_both(library, index)
    assert check_whole(home) == [f"m{number}" for number in range(30)]
