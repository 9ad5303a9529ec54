"""Keyword search: BM25 over titles and abstracts, by SQLite's FTS5.

What a person types is never FTS5 syntax here: the words are taken out of it and quoted.
"""

import re
import sqlite3
import unicodedata
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile

from paper_qa.database import Database, listed, read_meta
from paper_qa.language import ENGLISH, language_of
from paper_qa.schema import TOKENIZER

TITLE_WEIGHT = 2.0
ABSTRACT_WEIGHT = 1.0
LARGE_LIBRARY = 1000  # papers; from here on, words that are in many of them are left out
COMMON_SHARE = 0.05
NUM_KEPT_ANYWAY = 3
MAX_QUERY = 20_000  # characters
MAX_WORDS = 64
MIN_STEM = 5

_WORD = re.compile(r"\w+")
_FUNCTION_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before
    being below between both but by can cannot could couldn d did didn do does doesn doing don down
    during each few for from further had hadn has hasn have haven having he her here hers herself
    him himself his how i if in into is isn it its itself just ll m me might more most must my
    myself no nor not now of off on once only or other our ours ourselves out over own re s same
    shall she should shouldn so some such t than that the their theirs them themselves then there
    these they this those through to too under until up us ve very was wasn we were weren what when
    where which while who whom why will with won would wouldn you your yours yourself yourselves
    """.split()  # noqa: SIM905 - two hundred quoted words are no easier to read
)


class KeywordSearch:
    """Finds papers by the words of a query."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stemmer = _Stemmer()
        self._counts: dict[str, int] = {}  # in how many papers a stem is
        self._counted_at = ""

    def search(
        self, query: str, k: int, within: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return up to ``k`` papers and their scores (above 0), best first, ties by id."""
        words = _words(query)
        if not words or k < 1:
            return []
        with self._database.reading() as connection:
            self._forget_old_counts(connection)
            match = self._match(connection, words)
            return _best(connection, match, k, within) if match else []

    def count(self, word: str) -> int:
        """Return in how many papers a word is."""
        parts = _words(word)
        with self._database.reading() as connection:
            self._forget_old_counts(connection)
            return min((self._count(connection, part) for part in parts), default=0)

    def ids_with(self, words: Sequence[str]) -> list[str]:
        """Return the papers that have all of these words, best first, ties by id.

        What consists of several ("text-to-speech") has to stand there as it is.
        """
        quoted = [unicodedata.normalize("NFC", word).replace('"', " ") for word in words]
        match = " AND ".join(f'"{word}"' for word in quoted)
        if not match:
            return []
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT papers.id FROM keywords JOIN papers ON papers.number = keywords.rowid "
                "WHERE keywords MATCH ? ORDER BY bm25(keywords, ?, ?), papers.id",
                (match, TITLE_WEIGHT, ABSTRACT_WEIGHT),
            )
            return [paper_id for (paper_id,) in rows]

    def stems(self, text: str) -> list[str]:
        """Return what the index makes of the words of a text, in their order."""
        with self._database.reading():  # its lock guards the stemmer as well
            return self._stemmer.stems(text)

    def respelt(self, query: str, is_name: Callable[[str], bool]) -> list[str]:
        """Return words of the library that a query means and writes in another way.

        What is written apart ("Decision NCE"), and names that are in no paper and one slip away
        from a word that is ("decisonnce").
        """
        words = _words(query)
        with self._database.reading() as connection:
            self._forget_old_counts(connection)
            pairs = pairwise(word for word in words if len(word) > 1)
            joined = [f"{first}{second}" for first, second in pairs]
            found = [word for word in joined if self._count(connection, word)]
            if language_of(query) == ENGLISH:
                for word in words:
                    if is_name(word) and not self._count(connection, word):
                        found += self._alike(connection, word.lower())
            return [self._written(connection, word) for word in dict.fromkeys(found)]

    def _alike(self, connection: sqlite3.Connection, word: str) -> list[str]:
        """Return the stem that is one slip away from that of a word; the first letter is right."""
        stems = self._stemmer.stems(word)
        if len(stems) != 1 or len(stems[0]) < MIN_STEM:
            return []
        (stem,) = stems
        rows = connection.execute(
            "SELECT term FROM keyword_counts WHERE term >= ? AND term < ? "
            "AND abs(length(term) - ?) <= 1 "
            "AND (substr(term, 1, 2) = ? OR substr(term, -2) = ?) ORDER BY doc DESC, term",
            (stem[0], chr(ord(stem[0]) + 1), len(stem), stem[:2], stem[-2:]),
        )
        return [term for (term,) in rows if is_slip(stem, term)][:1]

    def _written(self, connection: sqlite3.Connection, word: str) -> str:
        """Return a stem or a word as one of the papers has it."""
        row = connection.execute(
            "SELECT title || ' ' || abstract FROM keywords WHERE keywords MATCH ? LIMIT 1",
            (f'"{word}"',),
        ).fetchone()
        stems = self._stemmer.stems(word)
        forms = _words(row[0]) if row else []
        return next((form for form in forms if self._stemmer.stems(form) == stems), word)

    def close(self) -> None:
        """Let go of what is in memory."""
        self._stemmer.close()

    def _match(self, connection: sqlite3.Connection, words: Sequence[str]) -> str:
        """Return the FTS5 expression: any of the words worth looking for."""
        counts = {word: self._count(connection, word) for word in words}
        present = [word for word in words if counts[word]]
        telling = [word for word in present if word.lower() not in _FUNCTION_WORDS] or present
        (num_papers,) = connection.execute("SELECT count(*) FROM papers").fetchone()
        kept = telling
        if num_papers >= LARGE_LIBRARY:
            rare = [word for word in telling if counts[word] <= COMMON_SHARE * num_papers]
            kept = rare or sorted(telling, key=lambda word: counts[word])[:NUM_KEPT_ANYWAY]
        if len(kept) > MAX_WORDS:
            kept = sorted(kept, key=lambda word: counts[word])[:MAX_WORDS]
        return " OR ".join(f'"{word}"' for word in kept)

    def _forget_old_counts(self, connection: sqlite3.Connection) -> None:
        generation = read_meta(connection, "generation") or ""
        if generation != self._counted_at:
            self._counts.clear()
            self._counted_at = generation

    def _count(self, connection: sqlite3.Connection, word: str) -> int:
        """Return in how many papers a word is, at most; several stems are a phrase."""
        stems = self._stemmer.stems(word)
        for stem in stems:
            if stem not in self._counts:
                row = connection.execute(
                    "SELECT doc FROM keyword_counts WHERE term = ?", (stem,)
                ).fetchone()
                self._counts[stem] = row[0] if row else 0
        return min((self._counts[stem] for stem in stems), default=0)


class _Stemmer:
    """What the keyword index makes of a word: asked of the same tokenizer, in memory."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute(
            f"CREATE VIRTUAL TABLE words USING fts5 (word, tokenize='{TOKENIZER}')"
        )
        self._connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab ('words', 'instance')")
        self._known: dict[str, list[str]] = {}

    def stems(self, word: str) -> list[str]:
        if word not in self._known:
            if len(self._known) > 10_000:
                self._known.clear()
            self._connection.execute("INSERT INTO words VALUES (?)", (word,))
            rows = self._connection.execute("SELECT term FROM stems ORDER BY offset").fetchall()
            self._connection.execute("DELETE FROM words")
            self._known[word] = [term for (term,) in rows]
        return self._known[word]

    def close(self) -> None:
        self._connection.close()


def is_slip(one: str, other: str) -> bool:
    """Tell whether two words differ by one letter too many, too few, wrong, or two swapped."""
    start = _shared(one, other)
    left, right = one[start:], other[start:]
    end = _shared(left[::-1], right[::-1])
    left, right = left[: len(left) - end], right[: len(right) - end]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])


def _shared(one: str, other: str) -> int:
    """Count the letters with which both words begin."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs)


def _words(query: str) -> list[str]:
    """Return the distinct words of a query in their order, however long it is."""
    text = unicodedata.normalize("NFC", query[:MAX_QUERY])
    return list(dict.fromkeys(_WORD.findall(text)))


def _best(
    connection: sqlite3.Connection, match: str, k: int, within: Sequence[str] | None
) -> list[tuple[str, float]]:
    # The plus keeps SQLite from looking the match up anew for each of the papers.
    query = (
        "SELECT rowid, rank FROM keywords WHERE keywords MATCH :match AND rank MATCH :weights "
        "AND (:ids IS NULL OR +rowid IN (SELECT number FROM papers "
        "WHERE id IN (SELECT value FROM json_each(:ids))))"
    )
    values: dict[str, str | None] = {
        "match": match,
        "weights": f"bm25({TITLE_WEIGHT}, {ABSTRACT_WEIGHT})",
        "ids": None if within is None else listed(within),
    }
    hits = connection.execute(
        f"{query} ORDER BY rank LIMIT :limit", {**values, "limit": k + 1}
    ).fetchall()
    if len(hits) > k and hits[k][1] == hits[k - 1][1]:
        # Which of those with the last score come in must not depend on the order of adding.
        hits = connection.execute(
            f"{query} AND rank <= :last", {**values, "last": hits[k][1]}
        ).fetchall()
    rows = connection.execute(
        "SELECT number, id FROM papers WHERE number IN (SELECT value FROM json_each(?))",
        (listed(number for number, _ in hits),),
    )
    ids: dict[int, str] = dict(rows.fetchall())
    scored = sorted(((ids[number], -rank) for number, rank in hits), key=lambda hit: hit[0])
    return sorted(scored, key=lambda hit: -hit[1])[:k]
