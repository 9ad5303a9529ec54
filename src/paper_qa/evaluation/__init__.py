"""How good answers and checks are: question and claim files, measures with intervals, reports."""

from paper_qa.evaluation.attribution import Attribution, Judge, JudgeRecord, LlmJudge
from paper_qa.evaluation.claims import (
    ClaimReport,
    ClaimResult,
    JudgedClaim,
    Measured,
    read_claims,
    run_claims,
)
from paper_qa.evaluation.comparison import Comparison, compare, read_comparison
from paper_qa.evaluation.html import render_page
from paper_qa.evaluation.questions import Question, read_questions
from paper_qa.evaluation.report import Group, Report
from paper_qa.evaluation.results import QuestionResult
from paper_qa.evaluation.runner import run_evaluation
from paper_qa.evaluation.table import render_claims, render_comparison, render_table

__all__ = [
    "Attribution",
    "ClaimReport",
    "ClaimResult",
    "Comparison",
    "Group",
    "Judge",
    "JudgeRecord",
    "JudgedClaim",
    "LlmJudge",
    "Measured",
    "Question",
    "QuestionResult",
    "Report",
    "compare",
    "read_claims",
    "read_comparison",
    "read_questions",
    "render_claims",
    "render_comparison",
    "render_page",
    "render_table",
    "run_claims",
    "run_evaluation",
]
