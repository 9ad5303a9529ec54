"""How probable it is that the retrieved abstracts answer the question."""

import math
from collections.abc import Sequence

import numpy as np

from paper_qa.domain import ScoredPaper
from paper_qa.late_interaction import max_sim
from paper_qa.questions import Question
from paper_qa.word_index import WordIndex

NUM_PAPERS = 3
SLOPE, MIDDLE = 30.0, 0.375  # of the logistic curve over the best match


def confidence(question: Question, hits: Sequence[ScoredPaper], word_index: WordIndex) -> float:
    """Return a probability, from how well the best of the papers matches the question's words.

    A question of which not one word carries meaning, and one without papers, has 0.
    """
    if question.paper_id:
        return 1.0
    asked = word_index.read_question(question)
    words = word_index.of([hit.paper for hit in hits[:NUM_PAPERS]])
    matches = [max_sim(asked.vectors, asked.weights, item.vectors) for item in words.values()]
    best = float(np.max(matches, initial=0.0))
    return 1 / (1 + math.exp(-SLOPE * (best - MIDDLE))) if best else 0.0
