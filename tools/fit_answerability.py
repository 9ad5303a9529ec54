"""Fit what tells whether the abstracts answer a question; readable JSON.

Run by hand::

    python tools/fit_answerability.py --home FOLDER

Fitted on the questions in ``evaluation/``: those that are answered; those that were written to have
no answer; each answered one once more with its papers deleted from the library, which leaves no
evidence; and once more with the sentences deleted that prove its facts, which leaves the paper
without the answer. First on each half of the papers, with the figures of the other half printed,
then on all of them. The result is deterministic.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fit_checker import digest, logistic, write_fitted
from paper_qa import answerability
from paper_qa.checker import Head
from paper_qa.corpus import read_seeds, seeds_folder
from paper_qa.domain import Paper, ScoredPaper
from paper_qa.embedding import OnnxEmbedding
from paper_qa.evaluation import read_questions
from paper_qa.evaluation.facts import num_facts_stated
from paper_qa.evaluation.measures import auroc
from paper_qa.evaluation.questions import Question
from paper_qa.grounding import Grounder
from paper_qa.indexing import Index
from paper_qa.library import Library
from paper_qa.questions import understand
from paper_qa.retrieval import HybridRetriever
from paper_qa.sentences import split_sentences
from paper_qa.word_index import WordIndex
from paper_qa.words import is_function_word

PROJECT = Path(__file__).resolve().parents[1]
FILES = ("questions", "questions_more", "lists", "followups", "unanswerable", "off_topic")
TARGET = Path(answerability.__file__).parent / "models" / answerability.MODEL_FILE
WEIGHTS = {"answered": 1.0, "written": 2.0, "paper deleted": 0.5, "sentences deleted": 0.5}
MADE_WEIGHT = 0.3  # of questions made from titles, against those that were written
HERE = frozenset({"not_in_abstract", "false_premise", "sentences deleted"})
# On squared weights of standardised measures; there are few questions.
ANSWERED_PENALTY, HERE_PENALTY = 10.0, 20.0
MOST_REFUSED = 0.03  # of the answered ones at the threshold of one half, where it is fitted
MIN_CHARACTERS_LEFT = 200

Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the papers that are there for it, where it comes from and what is right."""

    question: Question
    origin: str
    kind: str
    hits: tuple[ScoredPaper, ...]

    @property
    def is_in_first_half(self) -> bool:
        """Put all that is asked of one paper into one half."""
        keys = sorted({*self.question.gold, *self.question.near}) or [self.question.id]
        return sha256(keys[0].encode()).digest()[0] % 2 == 0


class Searcher:
    """The seeds as a library, and what the product finds there."""

    def __init__(self, home: Path) -> None:
        library = Library(home)
        model = OnnxEmbedding()
        index = Index(library, model)
        library.add(read_seeds(seeds_folder()))
        index.refresh()
        self.words = WordIndex(library)
        self.grounder = Grounder(self.words)
        self._retriever = HybridRetriever(library, index, model, self.words)

    def cases(self, question: Question) -> Iterator[Case]:
        """Yield a question as it is, and with what answers it deleted."""
        hits = self._retriever.rank(understand(question.question, question.history), k=20)
        if not question.gold:
            yield Case(question, "written", question.kind or "absent_topic", tuple(hits))
            return
        yield Case(question, "answered", "answered", tuple(hits))
        rest = tuple(hit for hit in hits if hit.paper.id not in question.gold)
        yield Case(question, "paper deleted", "paper deleted", rest)
        if (cut := [_without_facts(hit, question) for hit in hits]) != hits:
            yield Case(question, "sentences deleted", "sentences deleted", tuple(cut))

    def measure(self, case: Case) -> Rows | None:
        """Return the measures of a case."""
        asked = understand(case.question.question, case.question.history)
        return answerability.measure(asked, case.hits, self.words, self.grounder)


def _without_facts(hit: ScoredPaper, question: Question) -> ScoredPaper:
    """Delete the sentences that prove a question's facts, where nothing else states them."""
    text = hit.paper.abstract
    quotes = [
        quote
        for quote, paper_id in zip(question.quote, question.quote_paper, strict=True)
        if paper_id == hit.paper.id
    ]
    starts = [(text.find(quote), text.find(quote) + len(quote)) for quote in quotes]
    kept = [
        text[span.start : span.end]
        for span in split_sentences(text)
        if not any(span.start < end and start < span.end for start, end in starts)
    ]
    left = " ".join(kept)
    stated = num_facts_stated(left, question.facts)
    if not quotes or -1 in [start for start, _ in starts] or stated:
        return hit
    if len(left) < MIN_CHARACTERS_LEFT:
        return hit
    return replace(hit, paper=replace(hit.paper, abstract=left))


def main() -> None:
    """Fit, print the figures of the half that was not fitted on, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, required=True)
    given = parser.parse_args()
    searcher = Searcher(given.home)
    paths = [PROJECT / "evaluation" / f"{name}.jsonl" for name in FILES]
    asked = [question for path in paths for question in read_questions(path)]
    asked += made_questions(read_seeds(seeds_folder()))
    cases = [case for one in asked if one.lang == "en" for case in searcher.cases(one)]
    measured = [(case, row) for case in cases if (row := searcher.measure(case)) is not None]
    kept, rows = [case for case, _ in measured], np.array([row for _, row in measured])
    first = np.array([case.is_in_first_half for case in kept])
    for half in (first, ~first):
        report(fit(rows[half], _of(kept, half)), rows[~half], _of(kept, ~half))
    write(fit(rows, kept), kept, paths)


def made_questions(papers: Sequence[Paper]) -> list[Question]:
    """Return short questions by name and by key words, of which people ask many."""
    named = [(paper, paper.title.partition(":")[0]) for paper in papers if ":" in paper.title]
    named = [(paper, name) for paper, name in named if " " not in name]
    made = [
        Question(f"made-{number}-{paper.id}", form.format(name), "made", gold=(paper.id,))
        for paper, name in named
        for number, form in enumerate(("what is {}?", "How does {} work?"))
    ]
    for paper in papers:
        words = [
            word for word in re.findall(r"\w+", paper.title) if not is_function_word(word.lower())
        ]
        text = " ".join(words[:4]).lower()
        made.append(Question(f"made-words-{paper.id}", text, "made", gold=(paper.id,)))
    for (one, first), (two, second) in pairwise(named):
        text = f"Compare {first} and {second}"
        made.append(Question(f"made-both-{one.id}", text, "made", gold=(one.id, two.id)))
    return made


def _of(cases: Sequence[Case], chosen: NDArray[np.bool_]) -> list[Case]:
    return [case for case, yes in zip(cases, chosen, strict=True) if yes]


def fit(rows: Rows, cases: Sequence[Case]) -> answerability.Judge:
    """Fit both heads, and the shift; at one half, few of the answered questions are refused."""
    weights = np.array([WEIGHTS[case.origin] for case in cases])
    weights[[case.question.type == "made" for case in cases]] *= MADE_WEIGHT
    answered = np.array([case.origin == "answered" for case in cases])
    here = answered | np.array([case.kind in HERE for case in cases])
    means = np.average(rows, axis=0, weights=weights)
    scales = np.sqrt(np.average((rows - means) ** 2, axis=0, weights=weights)) + 1e-6
    terms = answerability.standardised(rows, means, scales)
    # The paper is found by the whole abstract, whatever was deleted from it.
    whole = np.array([case.origin != "sentences deleted" for case in cases])
    judge = answerability.Judge(
        means,
        scales,
        balanced(terms[here], answered[here], weights[here], ANSWERED_PENALTY),
        balanced(terms[whole], here[whole], weights[whole], HERE_PENALTY),
        shift=0.0,
    )
    written = answered & np.array([case.question.type != "made" for case in cases])
    scores = [
        answerability.log_odds(judge.judge(row).confidence)
        for row, is_written in zip(rows, written, strict=True)
        if is_written
    ]
    return replace(judge, shift=-float(np.quantile(scores, MOST_REFUSED)))


def balanced(terms: Rows, labels: NDArray[np.bool_], weights: Rows, penalty: float) -> Head:
    """Fit a head for which both labels weigh the same."""
    weights = weights.copy()
    weights[labels] *= weights[~labels].sum() / weights[labels].sum()
    return logistic(terms, labels.astype(float), weights, np.full(terms.shape[1], penalty))


def report(judge: answerability.Judge, rows: Rows, cases: Sequence[Case]) -> None:
    """Print how well the questions are told apart."""
    judged = [judge.judge(row) for row in rows]
    scores: dict[str, list[float]] = {origin: [] for origin in WEIGHTS}
    made: list[float] = []
    right: list[bool] = []
    for case, one in zip(cases, judged, strict=True):
        if case.question.type == "made":
            made += [one.confidence] if case.origin == "answered" else []
            continue
        scores[case.origin].append(one.confidence)
        if case.origin == "written" and one.confidence < 0.5:
            right.append((one.is_here >= 0.5) == (case.kind in HERE))
    refused = np.mean(np.array(scores["answered"]) < 0.5)
    print(f"{len(scores['answered'])} answered, refused {refused:.3f}; ", end="")
    print(f"{len(made)} made from titles, refused {np.mean(np.array(made) < 0.5):.3f}")
    for origin in [name for name in WEIGHTS if name != "answered"]:
        area = auroc(scores["answered"], scores[origin])
        shown = np.mean(np.array(scores[origin]) >= 0.5)
        print(f"{len(scores[origin])} {origin}: AUROC {area:.3f}, answered {shown:.3f}")
    print(f"the two kinds told apart: {np.mean(right):.3f} of {len(right)}")


def write(judge: answerability.Judge, cases: Sequence[Case], paths: Sequence[Path]) -> None:
    """Write the judge."""
    heads = {"answered": judge.answered, "here": judge.here}
    about = {
        "fitted_by": "tools/fit_answerability.py",
        "sha256": {path.name: digest(path) for path in paths},
        "questions": {name: sum(case.origin == name for case in cases) for name in WEIGHTS},
    }
    standard = (judge.means, judge.scales)
    shift = {"shift": judge.shift}
    write_fitted(TARGET, answerability.FEATURES, standard, heads, about, shift)


if __name__ == "__main__":
    main()
