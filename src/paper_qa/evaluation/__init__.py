"""How good answers and checks are: question and claim files, measures with intervals, reports."""

from paper_qa.evaluation.claims import (
    ClaimReport,
    ClaimResult,
    JudgedClaim,
    Measured,
    read_claims,
    run_claims,
)
from paper_qa.evaluation.comparison import compare
from paper_qa.evaluation.questions import Question, read_questions
from paper_qa.evaluation.report import Group, QuestionResult, Report
from paper_qa.evaluation.runner import run_evaluation
from paper_qa.evaluation.table import render_claims, render_table

__all__ = [
    "ClaimReport",
    "ClaimResult",
    "Group",
    "JudgedClaim",
    "Measured",
    "Question",
    "QuestionResult",
    "Report",
    "compare",
    "read_claims",
    "read_questions",
    "render_claims",
    "render_table",
    "run_claims",
    "run_evaluation",
]
