"""Who may have an answer written now: a few at a time, in the order in which they came."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator

PLACES = 2  # one model writes for all: more at once would make each of them slower
MOST_OF_ONE = 2  # answers under way for one person


class Line:
    """A line for the model. Searching needs no place in it."""

    def __init__(self, places: int = PLACES) -> None:
        self._places = places
        self._tickets: list[Ticket] = []
        self._under_way: Counter[str] = Counter()

    def admit(self, owner: str) -> bool:
        """Count an answer of a person as under way, unless they have too many already."""
        if self._under_way[owner] >= MOST_OF_ONE:
            return False
        self._under_way[owner] += 1
        return True

    def dismiss(self, owner: str) -> None:
        """Count one answer of a person less."""
        self._under_way[owner] -= 1
        self._under_way += Counter()  # forgets who has none

    def join(self) -> "Ticket":
        """Take the last place; leave it in the end, whatever happens."""
        ticket = Ticket(self)
        self._tickets.append(ticket)
        return ticket

    def before(self, ticket: "Ticket") -> int:
        """Count those who have to finish before it is this one's turn."""
        return max(0, self._tickets.index(ticket) - self._places + 1)

    def leave(self, ticket: "Ticket") -> None:
        """Give a place up, and let those behind it move on."""
        place = self._tickets.index(ticket)
        del self._tickets[place]
        for other in self._tickets[place:]:
            other.moved.set()


class Ticket:
    """One place in the line; ``moved`` is set when somebody before it has left."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.moved = asyncio.Event()

    async def wait(self) -> AsyncGenerator[int]:
        """Yield how many are before, whenever that changes, until nobody is."""
        while before := self._line.before(self):
            self.moved.clear()  # before the yield: who leaves meanwhile is not missed
            yield before
            await self.moved.wait()

    def leave(self) -> None:
        """Give the place up."""
        self._line.leave(self)
