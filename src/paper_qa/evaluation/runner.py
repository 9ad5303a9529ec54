"""Asks the questions of a set, one after the other, and keeps what was answered and judged."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from paper_qa.domain import Answer, Citation, Paper, Turn
from paper_qa.errors import UnknownPaperError
from paper_qa.evaluation import attribution, measures
from paper_qa.evaluation.attribution import Judge, Remembering
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
    judge: Judge | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Ask every question once; ``progress`` hears how many of how many are done.

    With a judge, the claims of each answer are judged as soon as it is given: a judge that can't
    be reached is found out at the first of them. It is asked the same question once.

    What goes wrong on the way (a model that can't be reached) ends the run: a report over
    the questions that happened to work would flatter.
    """
    asked = Remembering(judge) if judge else None
    results: list[QuestionResult] = []
    for question in questions:
        results.append(_ask(qa, question, asked))
        if progress is not None:
            progress(len(results), len(questions))
    return Report(tuple(results), asked.record if asked else None)


def _ask(qa: Answerer, question: Question, judge: Judge | None) -> QuestionResult:
    start = time.perf_counter()
    answer = qa.ask(question.question, history=question.history)
    seconds = time.perf_counter() - start
    citations = [citation for claim in answer.claims for citation in claim.citations]
    num_valid = sum(_quote_is_valid(qa, citation) for citation in citations)
    judged = attribution.attributions(answer, qa.paper, judge) if judge else ()
    return QuestionResult(question, answer, seconds, len(citations), num_valid, judged)


def _quote_is_valid(qa: Answerer, citation: Citation) -> bool:
    """Compare the quote with the library; a paper that is not there is quoted wrongly."""
    try:
        paper = qa.paper(citation.paper_id)
    except UnknownPaperError:
        return False
    return measures.quote_is_valid(citation, paper.abstract)
