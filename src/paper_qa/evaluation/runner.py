"""Asks the questions of a set, one after the other, and keeps what was answered."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from paper_qa.domain import Answer, Citation, Paper, Turn
from paper_qa.errors import UnknownPaperError
from paper_qa.evaluation import measures
from paper_qa.evaluation.questions import Question
from paper_qa.evaluation.report import Report
from paper_qa.evaluation.results import QuestionResult


class Answerer(Protocol):
    """What is evaluated; ``PaperQA`` is one."""

    def ask(self, question: str, *, history: Sequence[Turn] = ()) -> Answer:
        """Answer a question that may follow on from a conversation."""
        ...

    def paper(self, paper_id: str) -> Paper:
        """Return the paper whose abstract a citation quotes."""
        ...


def run_evaluation(
    qa: Answerer,
    questions: Sequence[Question],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Ask every question once; ``progress`` hears how many of how many are done.

    What goes wrong on the way (a model that can't be reached) ends the run: a report over
    the questions that happened to work would flatter.
    """
    results: list[QuestionResult] = []
    for question in questions:
        results.append(_ask(qa, question))
        if progress is not None:
            progress(len(results), len(questions))
    return Report(tuple(results))


def _ask(qa: Answerer, question: Question) -> QuestionResult:
    start = time.perf_counter()
    answer = qa.ask(question.question, history=question.history)
    seconds = time.perf_counter() - start
    citations = [citation for claim in answer.claims for citation in claim.citations]
    num_valid = sum(_quote_is_valid(qa, citation) for citation in citations)
    return QuestionResult(question, answer, seconds, len(citations), num_valid)


def _quote_is_valid(qa: Answerer, citation: Citation) -> bool:
    """Compare the quote with the library; a paper that is not there is quoted wrongly."""
    try:
        paper = qa.paper(citation.paper_id)
    except UnknownPaperError:
        return False
    return measures.quote_is_valid(citation, paper.abstract)
