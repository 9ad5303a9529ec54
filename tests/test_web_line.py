import asyncio
from collections.abc import AsyncGenerator

import pytest

from paper_qa.web.line import MOST_OF_ONE, Line


async def drained(counts: AsyncGenerator[int]) -> list[int]:
    return [count async for count in counts]


async def turns_of_the_loop() -> None:
    """Let everybody go on who can."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_who_comes_first_has_a_place_and_the_others_count_those_before_them() -> None:
    line = Line(places=2)
    tickets = [line.join() for _ in range(5)]

    assert [line.before(ticket) for ticket in tickets] == [0, 0, 1, 2, 3]


def test_a_place_needs_no_waiting_where_one_is_free() -> None:
    line = Line(places=2)
    tickets = [line.join(), line.join()]

    async def run() -> list[list[int]]:
        return [await drained(ticket.wait()) for ticket in tickets]

    assert asyncio.run(run()) == [[], []]


def test_the_line_moves_in_the_order_in_which_people_came() -> None:
    async def run() -> tuple[list[str], list[list[int]]]:
        line, served = Line(places=1), list[str]()
        tickets = [line.join() for _ in "abc"]

        async def one(name: str, number: int) -> list[int]:
            counts = await drained(tickets[number].wait())
            served.append(name)
            await turns_of_the_loop()
            tickets[number].leave()
            return counts

        counts = await asyncio.gather(one("c", 2), one("b", 1), one("a", 0))
        return served, counts

    assert asyncio.run(run()) == (["a", "b", "c"], [[2, 1], [1], []])


def test_who_leaves_from_the_middle_moves_only_those_behind() -> None:
    async def run() -> tuple[list[int], list[int]]:
        line = Line(places=1)
        tickets = [line.join() for _ in range(4)]
        ahead, behind = (asyncio.ensure_future(drained(tickets[n].wait())) for n in (1, 3))
        await turns_of_the_loop()
        tickets[2].leave()
        await turns_of_the_loop()
        tickets[0].leave()
        await turns_of_the_loop()
        tickets[1].leave()
        return await ahead, await behind

    assert asyncio.run(run()) == ([1], [3, 2, 1])


def test_who_leaves_while_a_count_is_being_shown_is_not_missed() -> None:
    async def run() -> list[int]:
        line = Line(places=1)
        first, second = line.join(), line.join()
        counts = second.wait()
        shown = [await anext(counts)]
        first.leave()  # the page is still showing the count
        return shown + await asyncio.wait_for(drained(counts), 1)

    assert asyncio.run(run()) == [1]


def test_a_cancelled_wait_leaves_the_line_as_it_was_until_its_place_is_given_up() -> None:
    async def run() -> list[int]:
        line = Line(places=1)
        tickets = [line.join() for _ in range(3)]
        waiting = asyncio.ensure_future(drained(tickets[1].wait()))
        await turns_of_the_loop()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        before = line.before(tickets[2])
        tickets[1].leave()
        return [before, line.before(tickets[2])]

    assert asyncio.run(run()) == [2, 1]


def test_a_person_has_a_few_answers_under_way_and_no_more() -> None:
    line = Line()

    admitted = [line.admit("me") for _ in range(MOST_OF_ONE + 2)]

    assert admitted == [True] * MOST_OF_ONE + [False, False]
    assert line.admit("somebody else")
    line.dismiss("me")
    assert line.admit("me")
    assert not line.admit("me")


def test_who_has_none_under_way_is_forgotten() -> None:
    line = Line()
    line.admit("me")

    line.dismiss("me")

    assert not line._under_way
