"""Whether the retrieved abstracts answer a question, and if not, whether its paper is here at all.

The question is set against the best abstracts as a claim is: what of it they cover, which of its
names and rare words they lack, how far the best one leads the others, and whether they hold the
kind of thing that is asked for. Two logistic heads weigh that: is the paper in question here; and
if it is, is the answer in its abstract. The confidence is the product of both, moved so that at one
half few of the answered questions are declined. The weights are in ``models/answerability.json``,
readable, and fitted by ``tools/fit_answerability.py``.
"""

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paper_qa import differences
from paper_qa.alignment import AlignedClaim
from paper_qa.checker import Head, Judgement, read_fitted
from paper_qa.domain import Paper, ScoredPaper
from paper_qa.evidence import relevance
from paper_qa.figures import placed_figures
from paper_qa.grounding import Grounder
from paper_qa.late_interaction import Matrix, max_sim
from paper_qa.questions import Question
from paper_qa.sentences import split_sentences
from paper_qa.tokens import tokens_of
from paper_qa.word_index import PlacedWords, QuestionWords, WordIndex

MODEL_FILE = "answerability.json"
NUM_PAPERS = 3
NUM_NEAR = 10  # papers among which a word of the question may be known
COMPARABLE = 0.9  # the confidence where papers that are named both are here
KNOWN = 0.5  # the likeness from which on a word counts as known
NUM_RAREST = 3
FARTHEST = 2.0  # standard deviations that a measure may be away from the usual

_NUMBER = re.compile(
    r"\bhow\s+(?:many|much|long|large|big|small|fast|often|far|accurate|high|low|deep|expensive)\b"
    r"|\b(?:what|which)\s+(?:\w+\s+)?(?:percentage|percent|number|fraction|share|accuracy|speed-?up|"
    r"factor|score|value|rate|size|order|ratio|probability)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(?:who|whose|whom|authors?|affiliations?|universit\w+)\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:where|when|venue|year|licen[cs]e|url|link|github|repository)\b", re.IGNORECASE
)
_REASON = re.compile(r"\bwhy\b|\bwhat\s+(?:makes|causes|is\s+the\s+reason)\b", re.IGNORECASE)
_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|can|could|will|would|has|have|should|may|might)\b",
    re.IGNORECASE,
)
_EQUIPMENT = re.compile(
    r"\b(?:gpus?|tpus?|cpus?|hardware|hours?|minutes?|days|batch|learning\s+rate|epochs?|optimi[sz]er|"
    r"hyper-?parameters?|seeds?|cost|price|budget|memory|gigabytes?|layers?|parameters?|annotators?|"
    r"table|figure|appendix|section|equation|theorem\s+\d|footnote|acknowledg\w+|funded|grant|"
    r"future\s+work|limitations?)\b",
    re.IGNORECASE,
)
_ASKING = frozenset({"what", "which", "how", "who", "where", "when", "why", "whose"})
_OWN = (
    "best_match",
    "gap",
    "lead",
    "second_score",
    "fifth_score",
    "best_sentence",
    "sentence_lead",
    "unknown",
    "lead_of_five",
    "best_of_known",
    "word_lead",
    "least_word",
    "two_least_words",
    "lacking",
    "rarest_words",
    "rarest_words_near",
    "asks_number",
    "number_missing",
    "asks_person",
    "asks_place",
    "asks_reason",
    "asks_yes_no",
    "asks_equipment",
    "head_uncovered",
    "name_here",
    "is_list",
    "is_compare",
    "is_summary",
    "is_followup",
    "support",
    "contradiction",
)
FEATURES = (*differences.FEATURES, *_OWN)

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answerability:
    """The probability that the abstracts answer, and that the paper in question is among them."""

    confidence: float
    is_here: float


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """The fitted model: how the measures are standardised, its two heads, and the shift.

    ``here`` says whether the paper is among those found, ``answered`` whether it answers if it is;
    ``shift`` moves the log odds of both together.
    """

    means: Values
    scales: Values
    answered: Head
    here: Head
    shift: float

    def judge(self, measured: Values) -> Answerability:
        """Weigh what was measured of a question."""
        terms = standardised(measured, self.means, self.scales)
        is_here = self.here.probability(terms)
        both = is_here * self.answered.probability(terms)
        return Answerability(1 / (1 + math.exp(-log_odds(both) - self.shift)), is_here)


def standardised(measured: Values, means: Values, scales: Values) -> Values:
    """Return measures in standard deviations; what could not be measured counts as usual.

    In a library of a few papers the best leads by more than the fit has ever seen: hence the limit.
    """
    return np.clip(np.nan_to_num((measured - means) / scales), -FARTHEST, FARTHEST)


def log_odds(probability: float) -> float:
    """Return the logarithm of the odds; finite for 0 and 1 as well."""
    inside = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(inside / (1 - inside))


def answerability(
    question: Question, hits: Sequence[ScoredPaper], words: WordIndex, grounder: Grounder
) -> Answerability:
    """Judge a question by the papers found for it, best first.

    One of which not one word carries meaning, and one without papers, is not answered.
    """
    if question.paper_id:
        return Answerability(1.0, 1.0)
    if question.kind == "compare" and _num_named(question, hits) > 1:
        return Answerability(COMPARABLE, 1.0)  # no one paper covers such a question
    measured = measure(question, hits, words, grounder)
    return load_judge().judge(measured) if measured is not None else Answerability(0.0, 0.0)


def measure(
    question: Question, hits: Sequence[ScoredPaper], words: WordIndex, grounder: Grounder
) -> Values | None:
    """Return what tells whether a question is answered, in the order of ``FEATURES``."""
    near = [hit.paper for hit in hits[:NUM_NEAR] if hit.paper.abstract]
    asked = words.read_question(question)
    read = words.of(near)
    matches = [max_sim(asked.vectors, asked.weights, item.vectors) for item in read.values()]
    judged = grounder.read(_without_authors(question.query, near), near[:NUM_PAPERS])
    if not judged or max(matches, default=0.0) <= 0:
        return None
    judgement, aligned = judged[0]
    best = aligned.sources[0].paper
    sentences = [_best_sentence(asked, paper, read[paper.id]) for paper in near if paper.id in read]
    ordered = sorted(matches[:NUM_PAPERS], reverse=True)
    own = {
        "best_match": ordered[0],
        "gap": ordered[0] - ordered[1] if len(ordered) > 1 else np.nan,
        "lead": _lead(matches),
        "second_score": _share_of_best(hits, 1),
        "fifth_score": _share_of_best(hits, 4),
        "best_sentence": max(sentences),
        "sentence_lead": _lead(sentences),
        **_known(asked, [item.vectors for item in read.values()]),
        "lead_of_five": _lead_of_five(matches),
        "head_uncovered": _head_uncovered(aligned),
        "name_here": _name_here(aligned, best),
        **_asked_for(question, best, aligned),
        **_judged(judgement),
    }
    return np.concatenate([differences.differences(aligned), [own[name] for name in _OWN]])


def _best_sentence(asked: QuestionWords, paper: Paper, words: PlacedWords) -> float:
    return float(relevance(asked, words, split_sentences(paper.abstract)).max(initial=0.0))


def _lead(scores: Sequence[float]) -> float:
    """Return how far the best score is above the others, in their standard deviations.

    Where the paper in question is missing, those that remain are as good as each other. Of one or
    two papers this can't be told.
    """
    best, *others = sorted(scores, reverse=True)
    if len(others) < 2:
        return np.nan
    return float((best - np.mean(others)) / (np.std(others) + 0.01))


def _share_of_best(hits: Sequence[ScoredPaper], place: int) -> float:
    """Return how close a paper's score comes to the best; not known where there is none."""
    if len(hits) <= place:
        return np.nan
    return hits[place].score / hits[0].score if hits[0].score > 0 else 0.0


def _without_authors(text: str, papers: Sequence[Paper]) -> str:
    """Take the names of authors out of a question: abstracts do not name them."""
    names = {part for paper in papers for name in paper.authors for part in name.split()}
    return " ".join(word for word in text.split() if word.strip(".,;:?!'’s") not in names) or text


def _num_named(question: Question, hits: Sequence[ScoredPaper]) -> int:
    """Count the names in a question that one of the best papers has."""
    names = [token.word for token in tokens_of(question.query) if token.name]
    texts = [f"{hit.paper.title} {hit.paper.abstract}".lower() for hit in hits[:NUM_PAPERS]]
    return sum(any(name in text for text in texts) for name in dict.fromkeys(names))


def _judged(judgement: Judgement) -> dict[str, float]:
    return {"support": judgement.support, "contradiction": judgement.contradiction}


def _asked_for(question: Question, paper: Paper, aligned: AlignedClaim) -> dict[str, float]:
    text = question.query
    window = [paper.abstract[span.start : span.end] for _, span in aligned.window.spans]
    asks_number = bool(_NUMBER.search(text))
    return {
        "asks_number": float(asks_number),
        "number_missing": float(asks_number and not any(placed_figures(part) for part in window)),
        "asks_person": float(bool(_PERSON.search(text))),
        "asks_place": float(bool(_PLACE.search(text))),
        "asks_reason": float(bool(_REASON.search(text))),
        "asks_yes_no": float(bool(_YES_NO.search(text))),
        "asks_equipment": float(
            bool({found.lower() for found in _EQUIPMENT.findall(text)} - _said(paper))
        ),
        "is_list": float(question.kind == "list"),
        "is_compare": float(question.kind == "compare"),
        "is_summary": float(question.kind == "summary"),
        "is_followup": float(bool(question.background)),
    }


def _said(paper: Paper) -> set[str]:
    return {found.lower() for found in _EQUIPMENT.findall(f"{paper.title} {paper.abstract}")}


def _lead_of_five(matches: Sequence[float]) -> float:
    best, *others = sorted(matches, reverse=True)
    return float(best - np.mean(others[:5])) if others else np.nan


def _known(asked: QuestionWords, vectors: Sequence[Matrix]) -> dict[str, float]:
    """Return how well the papers near a question know its words, the one that matches it best too.

    Each word counts by its weight, and is as well known as the likest word of the paper.
    """
    weights = asked.weights / max(float(asked.weights.sum()), 1e-9)
    known = np.stack([(asked.vectors @ paper.T).max(axis=1) for paper in vectors])
    best, near = known[int((known @ weights).argmax())], known.max(axis=0)
    rarest = np.argsort(-weights, kind="stable")[:NUM_RAREST]
    least = np.sort(best)
    return {
        "unknown": float(weights @ (near < KNOWN)),
        "best_of_known": float(weights @ best / max(float(weights @ near), 1e-9)),
        "word_lead": float(weights @ ((best - known.mean(axis=0)) / (known.std(axis=0) + 0.02))),
        "least_word": float(least[0]),
        "two_least_words": float(least[:2].mean()),
        "lacking": float(weights @ (best < KNOWN)),
        "rarest_words": float(best[rarest].mean()),
        "rarest_words_near": float(near[rarest].mean()),
    }


def _head_uncovered(aligned: AlignedClaim) -> float:
    """Return how far what is asked for ("which data sets …") is missing from the window."""
    asking = [at for at, token in enumerate(aligned.tokens) if token.word in _ASKING]
    if not asking:
        return 0.0
    after = [number for number, place in enumerate(aligned.places) if place > asking[0]][:2]
    return float(1 - aligned.window.covered[after].min(initial=1.0)) if after else 0.0


def _name_here(aligned: AlignedClaim, paper: Paper) -> float:
    """Tell whether a name in the question is one of the paper's."""
    title = {token.stem for token in aligned.sources[0].tokens if token.span.start < 0}
    names = [token for token in aligned.tokens if token.name]
    text = paper.abstract.lower()
    return float(any(token.stem in title or token.word in text for token in names))


@functools.cache
def load_judge() -> Judge:
    """Read the model that comes with the package, on the first call."""
    fitted = read_fitted(MODEL_FILE, FEATURES, ("answered", "here"), "fit_answerability.py")
    return Judge(fitted.means, fitted.scales, *fitted.heads, fitted.shift)
