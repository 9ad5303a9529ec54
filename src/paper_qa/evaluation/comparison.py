"""Compares two runs over the same questions, question by question."""

from paper_qa.evaluation import bootstrap
from paper_qa.evaluation.bootstrap import Difference
from paper_qa.evaluation.report import SHARES, Report, ratios


def compare(first: Report, second: Report) -> dict[str, Difference]:
    """Return how much ``second`` is above ``first``, per measure that both have.

    The same resamples are drawn for both, so what is hard in a question cancels out.
    """
    by_id = {result.question.id: result for result in second.results}
    if by_id.keys() != {result.question.id for result in first.results}:
        raise ValueError("the reports are over different questions: run both on the same file")
    paired = [by_id[result.question.id] for result in first.results]
    differences = {
        key: bootstrap.paired_difference(ratios(first.results, key), ratios(paired, key))
        for key in SHARES
    }
    return {key: difference for key, difference in differences.items() if difference}
