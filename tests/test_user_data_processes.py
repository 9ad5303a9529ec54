"""Several processes at one file of user data, and one that is killed in the middle of it."""

import multiprocessing
import sqlite3
import threading
import time
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from paper_qa.domain import Answer
from paper_qa.user_data import FILE_NAME, Exchange, UserData

SPAWN = multiprocessing.get_context("spawn")
NUM_PROCESSES = 3
NUM_EXCHANGES = 15


def exchange(number: int) -> Exchange:
    text = f"Question {number} "
    answer = Answer(text, "word " * 2000)
    return Exchange(f"e{number}", text, datetime.now(UTC), answer)


def write(path: Path, owner: str) -> None:
    user_data = UserData(path)
    for position in range(NUM_EXCHANGES):
        user_data.save_exchange(owner, "mine", position, exchange(position))
        user_data.save_exchange("all", f"{owner}-{position}", 0, exchange(position))
    user_data.close()


def write_until_killed(path: Path, done: Connection) -> None:
    user_data = UserData(path)
    for position in range(10_000):
        user_data.save_exchange("me", "c", position, exchange(position))
        done.send(position)


def check_whole(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


def test_processes_that_write_at_the_same_time_lose_nothing(path: Path) -> None:
    owners = [f"owner-{number}" for number in range(NUM_PROCESSES)]
    processes = [SPAWN.Process(target=write, args=(path, owner)) for owner in owners]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    user_data = UserData(path)

    assert [process.exitcode for process in processes] == [0] * NUM_PROCESSES
    for owner in owners:
        found = user_data.conversation(owner, "mine").exchanges
        assert [item.id for item in found] == [f"e{number}" for number in range(NUM_EXCHANGES)]
    assert len(user_data.conversations("all")) == NUM_PROCESSES * NUM_EXCHANGES
    user_data.close()
    check_whole(path)


def test_threads_share_one_object(path: Path) -> None:
    user_data = UserData(path)
    threads = [
        threading.Thread(target=user_data.save_exchange, args=("me", f"c{number}", 0, exchange(0)))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(user_data.conversations("me")) == 8
    user_data.close()


def test_a_killed_process_loses_nothing_that_it_was_told_is_kept(path: Path) -> None:
    kept = -1
    for _ in range(2):
        ours, theirs = SPAWN.Pipe(duplex=False)
        process = SPAWN.Process(target=write_until_killed, args=(path, theirs))
        process.start()
        theirs.close()
        ours.recv()  # it is at work now
        time.sleep(0.2)
        process.kill()
        process.join()
        try:
            while True:
                kept = max(kept, ours.recv())
        except EOFError:
            ours.close()

        user_data = UserData(path)
        found = user_data.conversation("me", "c").exchanges
        user_data.close()

        assert kept >= 0
        assert len(found) > kept
        assert [item.id for item in found] == [f"e{number}" for number in range(len(found))]
        assert all(item.answer for item in found)
        check_whole(path)


def test_a_file_that_another_process_holds_is_said_to_be_busy(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paper_qa.sqlite_file.BUSY_S", 0.05)
    user_data = UserData(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(Exception, match="is being written by another process"):
        user_data.save_exchange("me", "c", 0, exchange(0))

    other.close()
    user_data.save_exchange("me", "c", 0, exchange(0))
    user_data.close()
