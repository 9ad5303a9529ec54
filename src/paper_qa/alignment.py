"""A claim set against an abstract word by word, and what differs between them.

Likeness alone misleads: a sentence with one name swapped, or with a "not", looks more like its
source than an honest paraphrase does. So the claim is aligned with the sentences that cover it
best, and each way of saying something else is measured by itself: words that nothing covers,
figures, names, negation, opposites, the order of the two sides of a relation, what is said of all
where the source says it of some. Every measure is a share or a yes or no, so that none of them
grows with the length of the claim.
"""

import functools
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paper_qa.domain import Paper, Span
from paper_qa.figures import PlacedFigure, placed_figures
from paper_qa.late_interaction import EncodedWords
from paper_qa.lexicon import direction, load_lexicon, stem
from paper_qa.sentences import split_sentences
from paper_qa.word_index import PaperWords
from paper_qa.words import WORD, is_function_word

Likeness = NDArray[np.float32]

FORM_LIKENESS, SYNONYM_LIKENESS = 0.97, 0.85  # of a form of the same word, of a synonym
BARELY, FULLY = 0.35, 0.72  # the likeness from which a word begins to be covered, and is
ALIGNED = 0.6  # how much of a word must be covered for its place to count
SENTENCE_PRICE = 0.015  # what another sentence in the window must add to the coverage
SECOND_GAIN = 0.08  # what a sentence from elsewhere must add to it
SCOPE = 6  # words after a "not" that it may negate
REACH = 7  # words on either side of a relation that may be its arguments
MAX_SENTENCES = 3

_NEGATORS = frozenset(
    """
    not no never none neither nor without cannot n't lack lacks lacked lacking fail fails failed
    failing unable hardly rarely seldom barely absence absent nothing nobody ignore ignores ignored
    ignoring neglect neglects neglected overlook overlooks overlooked free prevents prevent avoid
    avoids avoiding eliminate eliminates eliminating remove removes
    """.split()  # noqa: SIM905 - quoted words are no easier to read
)
_NEGATIVE = frozenset(
    """
    poor poorly badly bad hard difficult difficulty challenging challenge problematic little limited
    limitation insufficient inadequate infeasible impractical prohibitive miss misses missing only
    despite against different independent unlike minimal minor problem
    """.split()  # noqa: SIM905 - see above
)
_PHRASES_OF_NEGATION = {("rather", "than"), ("instead", "of"), ("far", "from"), ("no", "longer")}
_NO_NEGATION = {("not", "only"), ("not", "just"), ("no", "doubt"), ("not", "merely")}
_CLAUSE_WORDS = frozenset(
    ["but", "which", "while", "whereas", "although", "though", "because", "since"]
)
_STRONG = frozenset(
    """
    all every always never any entire entirely complete completely full fully guarantee
    guarantees guaranteed only solely exclusively alone certainly prove proves proved proven
    impossible perfect perfectly eliminate eliminates solve solves best first optimal optimally
    none must everything everyone no necessarily universal universally identical exactly least
    ever invariably inevitably definitively ensures ensure every each most
    """.split()  # noqa: SIM905 - quoted words are no easier to read
)
_WEAK = frozenset(
    """
    some several many often usually typically may might can could suggest suggests suggesting
    likely nearly almost about approximately partially potential potentially generally largely
    mainly mostly seem seems tend tends appear appears sometimes possibly possible certain most
    up extent roughly indicate indicates promising few commonly frequently
    """.split()  # noqa: SIM905 - quoted words are no easier to read
)
_SIDES = frozenset(
    """
    than over from to into by cause causes caused causing lead leads led leading induce induces
    induced produce produces produced result results resulting yield yields due because depends
    depend before after via through using with drives drive influences influence affects affect
    determine determines generate generates generated predict predicts implies imply reduces
    teaches guides follows precedes encourages
    """.split()  # noqa: SIM905 - quoted words are no easier to read
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, where it stands, and what is known of it by itself."""

    word: str
    stem: str
    span: Span
    content: bool
    name: bool
    negated: bool
    rarity: float


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A paper, its tokens (those of the title before zero), and how like the claim's they are."""

    paper: Paper
    tokens: tuple[Token, ...]
    likeness: Likeness


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Stretches of abstracts that a claim may rest on, and how they cover its content words."""

    spans: tuple[tuple[Source, Span], ...]
    tokens: tuple[Token, ...]
    likeness: Likeness
    covered: NDArray[np.float64]
    coverage: float
    num_sentences: int

    @property
    def worth(self) -> float:
        """The coverage, less what each sentence costs."""
        return self.coverage - SENTENCE_PRICE * self.num_sentences


@dataclass(frozen=True, slots=True, eq=False)
class AlignedClaim:
    """A claim's tokens, its best window, and the token there of each content word, or -1."""

    tokens: tuple[Token, ...]
    places: tuple[int, ...]
    window: Window
    aligned: tuple[int, ...]
    sources: tuple[Source, ...]
    claim: str

    @property
    def pairs(self) -> list[tuple[Token, Token]]:
        """The claim's words that are covered well, each with its counterpart."""
        return [
            (self.tokens[place], self.window.tokens[other])
            for place, other in zip(self.places, self.aligned, strict=True)
            if other >= 0
        ]


def read_claim(text: str) -> tuple[Token, ...]:
    """Return the tokens of a claim."""
    return _tokens(text)


def read_source(
    claim: Sequence[Token], words: EncodedWords, paper: Paper, paper_words: PaperWords
) -> Source:
    """Compare each word of a claim with each word of a paper."""
    tokens = paper_tokens(paper)
    likeness: Likeness = np.zeros((len(claim), len(tokens)), dtype=np.float32)
    rows = {span.start: row for row, span in enumerate(words.spans)}
    columns = {int(start): column for column, start in enumerate(paper_words.starts)}
    mine = [
        (at, rows[token.span.start]) for at, token in enumerate(claim) if token.span.start in rows
    ]
    theirs = [
        (at, columns[token.span.start])
        for at, token in enumerate(tokens)
        if token.span.start in columns
    ]
    if mine and theirs:
        cosines = (
            words.vectors[[row for _, row in mine]]
            @ paper_words.vectors[[column for _, column in theirs]].T
        )
        likeness[np.ix_([at for at, _ in mine], [at for at, _ in theirs])] = cosines
    _know_forms(claim, tokens, likeness)
    return Source(paper, tokens, likeness)


@functools.lru_cache(maxsize=512)
def paper_tokens(paper: Paper) -> tuple[Token, ...]:
    """Return the tokens of a paper; those of the title end before zero."""
    title = len(paper.title) + 1 if paper.title else 0
    return (*_tokens(paper.title, -title), *_tokens(paper.abstract))


def align(claim: str, tokens: Sequence[Token], sources: Sequence[Source]) -> list[AlignedClaim]:
    """Return the claim in its best window of each source, best first; none without words."""
    found = [aligned for source in sources if (aligned := _align_in(claim, tokens, source))]
    return sorted(found, key=lambda aligned: aligned.window.worth, reverse=True)


def join(aligned: AlignedClaim, sources: Sequence[Source]) -> AlignedClaim | None:
    """Return the claim with the sentence of any source that adds most, if that is enough."""
    weights = word_weights(aligned.tokens)
    apart = [
        window
        for source in sources
        for window in _windows(source, aligned.places, weights, longest=1)
        if not _overlap(window, aligned.window)
    ]
    if not apart:
        return None
    together = max(
        (_together(aligned.window, window, weights) for window in apart), key=_coverage_of
    )
    if together.coverage < aligned.window.coverage + SECOND_GAIN:
        return None
    return _aligned(aligned.claim, aligned.tokens, aligned.places, together)


def _align_in(claim: str, tokens: Sequence[Token], source: Source) -> AlignedClaim | None:
    places = tuple(at for at, token in enumerate(tokens) if token.content)
    if not places:
        return None
    windows = _windows(source, places, word_weights(tokens))
    if not windows:
        return None
    best = max(windows, key=lambda window: window.worth)
    aligned = _aligned(claim, tokens, places, best)
    return join(aligned, [source]) or aligned


def _aligned(
    claim: str, tokens: Sequence[Token], places: tuple[int, ...], window: Window
) -> AlignedClaim:
    sources = tuple({id(source): source for source, _ in window.spans}.values())
    return AlignedClaim(tuple(tokens), places, window, _places_in(window, places), sources, claim)


def _coverage_of(window: Window) -> float:
    return window.coverage


def _overlap(one: Window, other: Window) -> bool:
    return any(
        source is another and span.start < inside.end and inside.start < span.end
        for source, span in one.spans
        for another, inside in other.spans
    )


def word_weights(tokens: Sequence[Token]) -> NDArray[np.float64]:
    """Return what each content word of a claim counts for."""
    return np.array([token.rarity for token in tokens if token.content]) + 0.1


def _windows(
    source: Source,
    places: Sequence[int],
    weights: NDArray[np.float64],
    longest: int = MAX_SENTENCES,
) -> list[Window]:
    sentences = split_sentences(source.paper.abstract)
    starts = np.array([token.span.start for token in source.tokens])
    title = _covered(source.likeness[np.ix_(places, np.flatnonzero(starts < 0))])
    found: list[Window] = []
    for size in range(1, min(longest, len(sentences)) + 1):
        for first in range(len(sentences) - size + 1):
            span = Span(sentences[first].start, sentences[first + size - 1].end)
            inside = np.flatnonzero((starts >= span.start) & (starts < span.end))
            if not len(inside):
                continue
            likeness = source.likeness[:, inside]
            # The title names what the abstract speaks of.
            covered = np.maximum(_covered(likeness[list(places)]), title)
            coverage = float(weights @ covered / weights.sum())
            chosen = tuple(source.tokens[at] for at in inside)
            found.append(Window(((source, span),), chosen, likeness, covered, coverage, size))
    return found


def _together(one: Window, other: Window, weights: NDArray[np.float64]) -> Window:
    first, second = (one, other) if _comes_first(one, other) else (other, one)
    covered = np.maximum(one.covered, other.covered)
    return Window(
        (*first.spans, *second.spans),
        (*first.tokens, *second.tokens),
        np.concatenate([first.likeness, second.likeness], axis=1),
        covered,
        float(weights @ covered / weights.sum()),
        one.num_sentences + other.num_sentences,
    )


def _comes_first(one: Window, other: Window) -> bool:
    (source, span), (another, inside) = one.spans[0], other.spans[0]
    return source is not another or span.start < inside.start


def _covered(likeness: Likeness) -> NDArray[np.float64]:
    best = likeness.max(axis=1, initial=0.0).astype(np.float64)
    return np.clip((best - BARELY) / (FULLY - BARELY), 0.0, 1.0)


def _places_in(window: Window, places: Sequence[int]) -> tuple[int, ...]:
    """Return the place of each content word in the window: of equally good ones, the nearest."""
    rows = window.likeness[list(places)]
    first = rows.argmax(axis=1)
    best = rows.max(axis=1)
    found: list[int] = []
    for at, row in enumerate(rows):
        if (best[at] - BARELY) / (FULLY - BARELY) < ALIGNED:
            found.append(-1)
            continue
        near = [first[other] for other in (at - 1, at + 1) if 0 <= other < len(rows)]
        good = np.flatnonzero(row >= best[at] - 0.03)
        middle = float(np.mean(near)) if near else 0.0
        found.append(int(min(good, key=lambda place: abs(place - middle))))
    return tuple(found)


def _know_forms(claim: Sequence[Token], tokens: Sequence[Token], likeness: Likeness) -> None:
    """Raise the likeness of words of one stem, of synonyms, and of the parts of compounds."""
    by_stem: dict[str, list[int]] = {}
    for at, token in enumerate(tokens):
        for part in {token.stem, *_part_stems(token.word)}:
            by_stem.setdefault(part, []).append(at)
    for row, token in enumerate(claim):
        if not token.content:
            continue
        for form, least in _forms(token, by_stem):
            here = by_stem.get(form, [])
            likeness[row, here] = np.maximum(likeness[row, here], least)


def _forms(token: Token, known: Container[str]) -> Iterator[tuple[str, float]]:
    for synonym in load_lexicon().synonyms.get(token.stem, frozenset()):
        yield synonym, SYNONYM_LIKENESS
    parts = _part_stems(token.word)
    if parts and all(part in known for part in parts):
        yield parts[-1], FORM_LIKENESS
    yield token.stem, FORM_LIKENESS


def _part_stems(word: str) -> tuple[str, ...]:
    parts = [part for part in re.split(r"[-_/]", word) if len(part) > 1]
    return tuple(stem(part) for part in parts) if len(parts) > 1 else ()


@functools.lru_cache(maxsize=2048)
def _tokens(text: str, offset: int = 0) -> tuple[Token, ...]:
    lexicon = load_lexicon()
    matches = list(WORD.finditer(text))
    words = [match[0].lower().replace("’", "'") for match in matches]
    negated = _negated(text, matches, words)
    tokens: list[Token] = []
    for number, match in enumerate(matches):
        word = words[number]
        content = not is_function_word(word)
        tokens.append(
            Token(
                word,
                stem(word),
                Span(match.start() + offset, match.end() + offset),
                content,
                content and _is_name(match[0], _starts_sentence(text, match.start())),
                negated[number],
                lexicon.rarity(word) if content else 0.0,
            )
        )
    return tuple(tokens)


def _is_name(word: str, starts_sentence: bool) -> bool:  # noqa: FBT001 - two ways to look at it
    if any(letter.isupper() for letter in word[1:]):
        return True
    if any(letter.isdigit() for letter in word) and any(letter.isalpha() for letter in word):
        return not word[0].isdigit()
    return word[0].isupper() and not starts_sentence


def _starts_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \n\t\"'“‘(")
    return not before or before[-1] in ".!?:"


def _is_negator(words: Sequence[str], at: int) -> bool:
    here = (words[at], words[at + 1] if at + 1 < len(words) else "")
    if here in _NO_NEGATION:
        return False
    return here in _PHRASES_OF_NEGATION or words[at] in _NEGATORS or words[at].endswith("n't")


def _negated(text: str, matches: Sequence[re.Match[str]], words: Sequence[str]) -> list[bool]:
    """Tell of each word whether an odd number of negations have it in their scope."""
    counts = [0] * len(words)
    for at in range(len(words)):
        if not _is_negator(words, at):
            continue
        for other in range(at + 1, min(at + 1 + SCOPE, len(words))):
            gap = text[matches[other - 1].end() : matches[other].start()]
            if words[other] in _CLAUSE_WORDS or re.search(r"[;:.]\s", gap):
                break
            counts[other] += 1
    return [count % 2 == 1 for count in counts]


def num_negations(tokens: Sequence[Token]) -> int:
    """Count the negations in a stretch of text."""
    words = [token.word for token in tokens]
    return sum(_is_negator(words, at) for at in range(len(words)))


FEATURES = (
    "uncovered",
    "uncovered_worst",
    "uncovered_second",
    "uncovered_clause",
    "uncovered_abstract",
    "distance",
    "literal",
    "odd_word",
    "margin",
    "foreign_figures",
    "figure_elsewhere",
    "figure_context",
    "percent_differs",
    "foreign_names",
    "name_elsewhere",
    "name_swapped",
    "negation_added",
    "negation_dropped",
    "negation_odd",
    "negation_unmet",
    "negation_lost",
    "opposite",
    "opposite_near",
    "opposite_aligned",
    "direction_differs",
    "modifier_differs",
    "sides_crossed",
    "order_inverted",
    "scattered",
    "replaced",
    "strength_added",
    "strength_raised",
    "strength_dropped",
    "hedge_dropped",
    "restriction_added",
)


def differences(aligned: AlignedClaim) -> NDArray[np.float64]:
    """Return what differs between a claim and its window, in the order of ``FEATURES``."""
    measured = {
        **_uncovered(aligned),
        **_figures(aligned),
        **_names(aligned),
        **_negation(aligned),
        **_opposites(aligned),
        **_order(aligned),
        **_strength(aligned),
    }
    return np.array([measured[name] for name in FEATURES], dtype=np.float64)


def _uncovered(aligned: AlignedClaim) -> dict[str, float]:
    weights = word_weights(aligned.tokens)
    missing = 1.0 - aligned.window.covered
    heavy = np.sort(weights * missing)[::-1]
    runs = np.convolve(weights * missing, np.ones(3), "valid") if len(missing) > 2 else heavy[:1]
    total = np.convolve(weights, np.ones(3), "valid") if len(missing) > 2 else weights[:1]
    whole = np.zeros(len(missing))
    best = np.zeros(len(missing))
    for source in aligned.sources:
        rows = source.likeness[list(aligned.places)]
        whole = np.maximum(whole, _covered(rows))
        best = np.maximum(best, rows.max(axis=1, initial=0.0))
    window_best = aligned.window.likeness[list(aligned.places)].max(axis=1, initial=0.0)
    exact = window_best >= SYNONYM_LIKENESS - 0.01
    literal = np.mean(exact)
    odd = max(weights[~exact], default=0.0)
    return {
        "uncovered": float(weights @ missing / weights.sum()),
        "uncovered_worst": float(heavy[0]),
        "uncovered_second": float(heavy[1]) if len(heavy) > 1 else 0.0,
        "uncovered_clause": float((runs / total).max()) if len(missing) > 2 else float(heavy[0]),
        "uncovered_abstract": float(weights @ (1.0 - whole) / weights.sum()),
        "distance": 1.0 - float(weights @ window_best / weights.sum()),
        "literal": float(literal),
        "odd_word": float(odd * literal**2),
        "margin": float(weights @ (best - window_best) / weights.sum()),
    }


def _figures(aligned: AlignedClaim) -> dict[str, float]:
    claimed = placed_figures(aligned.claim)
    known = [
        (source, placed)
        for source in aligned.sources
        for placed in placed_figures(source.paper.abstract)
    ]
    titled = [f for s in aligned.sources for f in placed_figures(s.paper.title)]
    foreign = elsewhere = percent = 0
    worst_context = 0.0
    for placed in claimed:
        same = [(source, other) for source, other in known if _same_figure(placed, other)]
        if not same:
            foreign += not any(_same_figure(placed, other) for other in titled)
            continue
        elsewhere += not any(_is_in(aligned.window, source, other.span) for source, other in same)
        percent += placed.percent and not any(other.percent for _, other in same)
        context = max(_context(aligned, source, placed, other) for source, other in same)
        worst_context = max(worst_context, 1.0 - context)
    return {
        "foreign_figures": min(foreign, 2) / 2 + 0.5 * (foreign > 0),
        "figure_elsewhere": float(elsewhere > 0),
        "figure_context": worst_context,
        "percent_differs": float(percent > 0),
    }


def _same_figure(claimed: PlacedFigure, known: PlacedFigure) -> bool:
    return claimed.figure.is_rounded(known.figure)


def _is_in(window: Window, source: Source, span: Span) -> bool:
    return any(
        source is other and inside.start <= span.start < inside.end
        for other, inside in window.spans
    )


def _context(
    aligned: AlignedClaim, source: Source, claimed: PlacedFigure, known: PlacedFigure
) -> float:
    """Return how well the words about a figure in the claim are met about it in the abstract."""
    mine = _near(aligned.tokens, claimed.span, 2)
    theirs = _near(source.tokens, known.span, 5)
    if not mine or not theirs:
        return 1.0
    best = source.likeness[np.ix_(mine, theirs)].max(axis=1)
    weights = np.array([aligned.tokens[at].rarity + 0.1 for at in mine])
    return float(weights @ np.clip((best - BARELY) / (FULLY - BARELY), 0, 1) / weights.sum())


def _near(tokens: Sequence[Token], span: Span, reach: int) -> list[int]:
    content = [at for at, token in enumerate(tokens) if token.content]
    before = [at for at in content if tokens[at].span.end <= span.start][-reach:]
    after = [at for at in content if tokens[at].span.start >= span.end][:reach]
    return [*before, *after]


def _names(aligned: AlignedClaim) -> dict[str, float]:
    everywhere: set[str] = set()
    for source in aligned.sources:
        everywhere |= _name_keys(source.tokens) | _initials(source.tokens)
    window = _name_keys(aligned.window.tokens) | _initials(aligned.window.tokens)
    titles = _name_keys([t for s in aligned.sources for t in s.tokens if t.span.start < 0])
    mine = [token for token in aligned.tokens if token.name]
    foreign = [token for token in mine if not _is_known(token, everywhere)]
    elsewhere = [
        token
        for token in mine
        if token not in foreign and not _is_known(token, window) and not _is_known(token, titles)
    ]
    said = _name_keys(aligned.tokens)
    unsaid = [token for token in aligned.window.tokens if token.name and token.stem not in said]
    return {
        "foreign_names": float(len(foreign) > 0),
        "name_elsewhere": float(len(elsewhere) > 0),
        "name_swapped": float(len(foreign) + len(elsewhere) > 0 and len(unsaid) > 0),
    }


def _name_keys(tokens: Iterable[Token]) -> set[str]:
    keys: set[str] = set()
    for token in tokens:
        keys |= {token.stem, token.word, token.word.removesuffix("s"), *_part_stems(token.word)}
        keys |= set(re.split(r"[-_/]", token.word))
    return keys


def _initials(tokens: Sequence[Token]) -> set[str]:
    """Return the acronyms that runs of two to five words make."""
    letters = "".join(token.word[0] for token in tokens)
    return {
        letters[at : at + size] for size in range(2, 6) for at in range(len(letters) - size + 1)
    }


def _is_known(token: Token, keys: set[str]) -> bool:
    if token.word in keys or token.stem in keys or token.word.removesuffix("s") in keys:
        return True
    parts = [part for part in re.split(r"[-_/]", token.word) if part]
    return len(parts) > 1 and all(part in keys or stem(part) in keys for part in parts)


def _negation(aligned: AlignedClaim) -> dict[str, float]:
    lexicon = load_lexicon()
    pairs = [
        (mine.negated, other.negated)
        for mine, other in aligned.pairs
        if not lexicon.opposed(mine.word, other.word)
    ]
    window, region = aligned.window.tokens, _region(aligned)
    mine, theirs = num_negations(aligned.tokens), num_negations(region)
    added = _share([not other for claimed, other in pairs if claimed], float(mine > 0) / 2)
    dropped = _share([not claimed for claimed, other in pairs if other], 0.0)
    return {
        "negation_added": added if mine else 0.0,
        "negation_dropped": dropped,
        "negation_odd": float(mine % 2 != theirs % 2),
        "negation_unmet": float(mine > 0 and not _is_negative(window)),
        "negation_lost": float(dropped > 0 and not _is_negative(aligned.tokens)),
    }


def _share(cases: Sequence[bool], without: float) -> float:
    return sum(cases) / len(cases) if cases else without


def _is_negative(tokens: Sequence[Token]) -> bool:
    """Tell whether a text has a negation, or a word that a paraphrase would make of one."""
    return num_negations(tokens) > 0 or any(
        token.word in _NEGATIVE or (direction(token.word) < 0) for token in tokens
    )


def _region(aligned: AlignedClaim) -> list[Token]:
    """Return the stretch of the window between the first and the last aligned word."""
    places = [place for place in aligned.aligned if place >= 0]
    if not places:
        return []
    return list(aligned.window.tokens[max(min(places) - 2, 0) : max(places) + 1])


def _opposites(aligned: AlignedClaim) -> dict[str, float]:
    lexicon = load_lexicon()
    window = aligned.window.tokens
    stems = {token.stem for token in window}
    claimed = [token for token in aligned.tokens if token.stem not in stems]
    said = {token.stem for token in aligned.tokens}
    unsaid = [token for token in _region(aligned) if token.stem not in said]
    anywhere = [
        (mine, other)
        for mine in claimed
        for other in window
        if lexicon.opposed(mine.word, other.word)
    ]
    near = [(mine, other) for mine, other in anywhere if other in unsaid]
    odd = num_negations(aligned.tokens) % 2 != num_negations(_region(aligned)) % 2
    ways = {direction(token.word) for token in claimed} - {0}
    others = {direction(token.word) for token in unsaid} - {0}
    return {
        "opposite": float(any(mine.negated == other.negated for mine, other in near)),
        "opposite_near": float(bool(anywhere)),
        "opposite_aligned": float(
            any(
                lexicon.opposed(mine.word, other.word) and mine.negated == other.negated
                for mine, other in aligned.pairs
            )
        ),
        "direction_differs": float(
            len(ways) == 1 and bool(others) and not ways & others and not odd
        ),
        "modifier_differs": _modifiers_differ(aligned),
    }


def _modifiers_differ(aligned: AlignedClaim) -> float:
    """Tell whether a word is qualified by "more" in the claim and by "less" in the window."""
    for place, other in zip(aligned.places, aligned.aligned, strict=True):
        if other < 0:
            continue
        mine, theirs = _way(aligned.tokens, place), _way(aligned.window.tokens, other)
        if mine * theirs < 0:
            return 1.0
    return 0.0


def _way(tokens: Sequence[Token], at: int) -> int:
    """Return the direction of a word and the two before it: "less accurate" goes down."""
    ways = [direction(token.word) for token in tokens[max(at - 2, 0) : at + 1]]
    if any(token.word in _CLAUSE_WORDS for token in tokens[max(at - 2, 0) : at]):
        ways = ways[-1:]
    product = 1
    for way in ways:
        product *= way or 1
    return product if any(ways) else 0


def _order(aligned: AlignedClaim) -> dict[str, float]:
    places = [(at, p) for at, p in zip(aligned.places, aligned.aligned, strict=True) if p >= 0]
    swaps = [
        p > q for number, (_, p) in enumerate(places) for _, q in places[number + 1 :] if p != q
    ]
    steps = [min(abs(q - p), 15) / 15 for (at, p), (to, q) in pairwise(places) if to - at <= 3]
    return {
        "sides_crossed": max(
            (
                _crossed(aligned, at)
                for at, token in enumerate(aligned.tokens)
                if token.word in _SIDES or direction(token.word)
            ),
            default=0.0,
        ),
        "order_inverted": float(np.mean(swaps)) if swaps else 0.0,
        "scattered": float(np.mean(steps)) if steps else 0.5,
        "replaced": _replaced(aligned),
    }


def _crossed(aligned: AlignedClaim, at: int) -> float:
    """Return how far the two sides of a relation in the claim are exchanged in the window."""
    way = direction(aligned.tokens[at].word)
    left, right = _sides(aligned, at, -1), _sides(aligned, at, 1)
    worst = 0.0
    for anchor in _anchors(aligned, at):
        other = aligned.window.tokens[anchor]
        before = _share_before(left, anchor), _share_before(right, anchor)
        if before[0] is None or before[1] is None:
            continue
        crossed, straight = (1 - before[0]) * before[1], before[0] * (1 - before[1])
        opposed = way * direction(other.word) < 0
        turned = _is_passive(aligned.tokens, at) != _is_passive(aligned.window.tokens, anchor)
        if opposed != turned:
            crossed, straight = straight, crossed
        worst = max(worst, crossed - straight)
    return worst


def _anchors(aligned: AlignedClaim, at: int) -> list[int]:
    """Return the places in the window of the relation's own word, or else of one like it."""
    token = aligned.tokens[at]
    window = list(enumerate(aligned.window.tokens))
    same = [place for place, other in window if other.stem == token.stem]
    if same or not direction(token.word):
        return same
    return [place for place, other in window if direction(other.word)]


def _sides(aligned: AlignedClaim, at: int, way: int) -> list[tuple[float, int]]:
    """Return the places of the words nearest to a relation on one side, the nearest weighing most."""
    found = [
        (abs(place - at), other)
        for place, other in zip(aligned.places, aligned.aligned, strict=True)
        if other >= 0
        and 0 < (place - at) * way <= REACH
        and not aligned.tokens[place].word.endswith("ly")
    ]
    return [(0.6**number, other) for number, (_, other) in enumerate(sorted(found)[:3])]


def _share_before(side: Sequence[tuple[float, int]], anchor: int) -> float | None:
    counted = [(weight, place < anchor) for weight, place in side if place != anchor]
    total = sum(weight for weight, _ in counted)
    return sum(weight for weight, before in counted if before) / total if counted else None


def _is_passive(tokens: Sequence[Token], at: int) -> bool:
    return any(token.word == "by" for token in tokens[at + 1 : at + 3])


def _replaced(aligned: AlignedClaim) -> float:
    """Return the weight of a word that stands where the window, word for word, has another."""
    content = [token for token in aligned.window.tokens if token.content]
    stems = [token.stem for token in content]
    mine = [aligned.tokens[place] for place in aligned.places]
    lexicon = load_lexicon()
    heaviest = 0.0
    for at in range(len(mine)):
        if mine[at].stem in stems:
            continue
        before = mine[at - 1].stem if at else None
        after = mine[at + 1].stem if at + 1 < len(mine) else None
        for place in range(len(content)):
            left = place > 0 and stems[place - 1] == before
            right = place + 1 < len(stems) and stems[place + 1] == after
            if (left or right) and not lexicon.alike(mine[at].word, content[place].word):
                heaviest = max(heaviest, (0.5 + 0.5 * (left and right)) * mine[at].rarity)
    return heaviest


def _strength(aligned: AlignedClaim) -> dict[str, float]:
    mine = {token.word for token in aligned.tokens}
    region = {token.word for token in aligned.window.tokens}
    strong, weak = mine & _STRONG, mine & _WEAK
    others_strong, others_weak = region & _STRONG, region & _WEAK
    raised = False
    for place, other in zip(aligned.places, aligned.aligned, strict=True):
        if other >= 0:
            here, there = _before(aligned.tokens, place), _before(aligned.window.tokens, other)
            raised |= bool(here & _STRONG and there & _WEAK and not there & _STRONG)
    return {
        "strength_added": float(bool(strong - others_strong)),
        "strength_raised": float(raised),
        "strength_dropped": float(bool(others_strong) and not strong and bool(weak - others_weak)),
        "hedge_dropped": float(bool(others_weak - mine) and not weak),
        "restriction_added": float(bool(strong - others_strong) and bool(others_weak - mine)),
    }


def _before(tokens: Sequence[Token], at: int) -> set[str]:
    return {token.word for token in tokens[max(at - 3, 0) : at]}
