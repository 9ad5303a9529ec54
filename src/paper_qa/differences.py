"""What differs between a claim and the sentences that it is aligned with.

Likeness alone misleads: a sentence with one name swapped, or with a "not", looks more like its
source than an honest paraphrase does. So each way of saying something else is measured by itself:
words that nothing covers, figures, names, negation, opposites, the order of the two sides of a
relation, what is said of all where the source says it of some. Every measure is a share or a yes or
no, so that none of them grows with the length of the claim.
"""

import functools
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paper_qa.alignment import (
    BARELY,
    FULLY,
    SYNONYM_LIKENESS,
    AlignedClaim,
    Source,
    Window,
    covered_by,
    word_weights,
)
from paper_qa.domain import Span
from paper_qa.figures import PlacedFigure, placed_figures
from paper_qa.lexicon import direction, load_lexicon, stem
from paper_qa.tokens import CLAUSE_WORDS, Token, num_negations, part_stems

MARGIN = 4  # words about the aligned ones that still belong to them
REACH = 7  # words on either side of a relation that may be its arguments
_NEGATIVE = frozenset(
    """
    poor poorly badly bad hard difficult difficulty challenging challenge problematic little limited
    limitation insufficient inadequate infeasible impractical prohibitive miss misses missing only
    despite against different independent unlike minimal minor problem
    """.split()  # noqa: SIM905 - see above
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
    from to cause causes caused causing lead leads led induce induces induced produce produces
    produced result results yield yields because depends depend drives drive influences influence
    influenced affects affect affected determine determines generate generates predict predicts
    implies imply teaches guides follows precedes encourages enables improves disadvantages
    """.split()  # noqa: SIM905 - see above
)
_BETTER = frozenset(map(stem, ("outperform", "surpass", "exceed", "beat", "outdo")))
_COMPARING = frozenset({"than", "over", "versus", "relative", stem("compared")})
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
    "figure_rebound",
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


@functools.lru_cache(maxsize=32)  # the words' checker, the reader's and answerability all ask
def differences(aligned: AlignedClaim) -> NDArray[np.float64]:
    """Return what differs between a claim and its window, in the order of ``FEATURES``; read-only.

    Measured once for an alignment, which is known by its identity.
    """
    measured = {
        **_uncovered(aligned),
        **_figures(aligned),
        **_names(aligned),
        **_negation(aligned),
        **_opposites(aligned),
        **_order(aligned),
        **_strength(aligned),
    }
    values = np.array([measured[name] for name in FEATURES], dtype=np.float64)
    values.flags.writeable = False
    return values


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
        whole = np.maximum(whole, covered_by(rows))
        best = np.maximum(best, rows.max(axis=1, initial=0.0))
    window_best = aligned.window.likeness[list(aligned.places)].max(axis=1, initial=0.0)
    exact = window_best >= SYNONYM_LIKENESS - 0.01
    literal = float(exact.mean())
    odd = max(weights[~exact], default=0.0)
    return {
        "uncovered": float(weights @ missing / weights.sum()),
        "uncovered_worst": float(heavy[0]),
        "uncovered_second": float(heavy[1]) if len(heavy) > 1 else 0.0,
        "uncovered_clause": float((runs / total).max()) if len(missing) > 2 else float(heavy[0]),
        "uncovered_abstract": float(weights @ (1.0 - whole) / weights.sum()),
        "distance": 1.0 - float(weights @ window_best / weights.sum()),
        "literal": literal,
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
    worst_context = rebound = 0.0
    for placed in claimed:
        same = [(source, other) for source, other in known if _same_figure(placed, other)]
        if not same:
            foreign += not any(_same_figure(placed, other) for other in titled)
            continue
        elsewhere += not any(_is_in(aligned.window, source, other.span) for source, other in same)
        percent += placed.percent and not any(other.percent for _, other in same)
        context = max(_context(aligned, source, placed, other) for source, other in same)
        worst_context = max(worst_context, 1.0 - context)
        others = [(source, other) for source, other in known if (source, other) not in same]
        bound = [_binding(aligned, *place, placed) for place in same]
        rebound = max(
            rebound, *(_binding(aligned, *place, placed) - max(bound) for place in others), 0.0
        )
    return {
        "foreign_figures": float(foreign > 0),
        "figure_elsewhere": float(elsewhere > 0),
        "figure_context": worst_context,
        "figure_rebound": rebound,
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


def _binding(
    aligned: AlignedClaim, source: Source, known: PlacedFigure, claimed: PlacedFigure
) -> float:
    """Return how well what a figure of the claim counts is what a figure of the abstract counts."""
    mine = _near(aligned.tokens, claimed.span, 2)
    theirs = _near(source.tokens, known.span, 3)
    after = [at for at in mine if aligned.tokens[at].span.start >= claimed.span.end]
    counted = [at for at in theirs if source.tokens[at].span.start >= known.span.end]
    if not after or not counted:
        return 0.0
    best = source.likeness[np.ix_(after, counted)].max(axis=1)
    return float(np.clip((best - BARELY) / (FULLY - BARELY), 0, 1).mean())


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
        keys |= {token.stem, token.word, token.word.removesuffix("s"), *part_stems(token.word)}
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
    return list(aligned.window.tokens[max(min(places) - MARGIN, 0) : max(places) + 1 + MARGIN])


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
    if any(token.word in CLAUSE_WORDS for token in tokens[max(at - 2, 0) : at]):
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
            (_crossed(aligned, at) for at in range(len(aligned.tokens))), default=0.0
        ),
        "order_inverted": float(np.mean(swaps)) if swaps else 0.0,
        "scattered": float(np.mean(steps)) if steps else 0.5,
        "replaced": _replaced(aligned),
    }


def _crossed(aligned: AlignedClaim, at: int) -> float:
    """Return how far the two sides of a relation in the claim are exchanged in the window."""
    way = _comparison(aligned.tokens, at)
    if not way and aligned.tokens[at].word not in _SIDES:
        return 0.0
    left, right = _sides(aligned, _first_word(aligned.tokens, at), -1), _sides(aligned, at, 1)
    worst = 0.0
    for anchor in _anchors(aligned, at, way):
        before = _share_before(left, anchor), _share_before(right, anchor)
        if before[0] is None or before[1] is None:
            continue
        crossed, straight = (1 - before[0]) * before[1], before[0] * (1 - before[1])
        opposed = way * _comparison(aligned.window.tokens, anchor) < 0
        turned = _is_passive(aligned.tokens, at) != _is_passive(aligned.window.tokens, anchor)
        if opposed != turned:
            crossed, straight = straight, crossed
        worst = max(worst, crossed - straight)
    return worst


def _comparison(tokens: Sequence[Token], at: int) -> int:
    """Return 1 where what comes before is said to be more than what follows, -1 for less."""
    stemmed = tokens[at].stem
    if stemmed in _BETTER:
        return 1
    if stemmed == "underperform":
        return -1
    if tokens[at].word in _COMPARING or stemmed in _COMPARING:
        ways = [direction(token.word) for token in tokens[max(at - 5, 0) : at]]
        return next((way for way in reversed(ways) if way), 0)
    return 0


def _first_word(tokens: Sequence[Token], at: int) -> int:
    """Return where a comparison begins: at the "more" of "more accurate than"."""
    if tokens[at].stem in _COMPARING:
        for before in range(max(at - 5, 0), at):
            if direction(tokens[before].word):
                return before
    return at


def _anchors(aligned: AlignedClaim, at: int, way: int) -> list[int]:
    """Return the places in the window of a comparison, or else of the relation's own word."""
    window = aligned.window.tokens
    if way:
        return [place for place in range(len(window)) if _comparison(window, place)]
    return [place for place, other in enumerate(window) if other.stem == aligned.tokens[at].stem]


def _sides(aligned: AlignedClaim, at: int, way: int) -> list[tuple[float, int]]:
    """Return weights and places of the words that are nearest to a relation on one side."""
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
