"""How good the answers are: question files, measures with intervals, and the report."""

from paper_qa.evaluation.comparison import compare
from paper_qa.evaluation.questions import Question, read_questions
from paper_qa.evaluation.report import Group, QuestionResult, Report
from paper_qa.evaluation.runner import run_evaluation
from paper_qa.evaluation.table import render_table

__all__ = [
    "Group",
    "Question",
    "QuestionResult",
    "Report",
    "compare",
    "read_questions",
    "render_table",
    "run_evaluation",
]
