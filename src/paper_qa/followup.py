"""Whether a question can be understood without the conversation before it.

A pronoun alone does not tell: "What is LQER and which figures does it reach?" stands on its own
feet, "and how fast is it?" does not. What counts is whether anything comes before the pronoun that
it could stand for, and how much the question says by itself.
"""

import re

from paper_qa.words import content_words

MAX_WORDS = 6  # content words; a longer question says what it is about
MAX_WORDS_BEFORE = 2  # a pronoun; after more of them it stands for something in the question

_OPENING = re.compile(
    r"""^(?:
        and | but | so | then | also | plus | ok(?:ay)? | same
      | (?:what|how)\s+about | how\s+so | in\s+which\s+case | (?:going\s+)?back\s+to
      | the\s+(?:former|latter|other|same|first|second|last)
      | why\s+(?:is|does|do|did|was|not)\s+(?:it|that|they|this|so)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_PRONOUN = re.compile(
    r"""\b(?:
        it | its | itself | they | them | their | theirs | he | she | his | her
      | this | these | those | such
      | the\s+same
      | (?:first|second|third|last|other)\s+(?:ones?|paper|work|approach|method|idea)
      | (?:do|does|did|is|was|are|were|would|will|can|could|has|have|than|of|for|about|with|after
          |before|like|why|how|try|doing|get|without|by|to|on|in|from|at)\s+that
        (?!\s+(?:the|an?|it|they|we|is|are|was|can|do|does|has|have|would|will|could)\b)
      | that\s+(?:one|method|approach|paper|work|model|result|idea|case|setting|technique|dataset
          |bound|assumption)
      | there(?!\s+(?:is|are|was|were|be|isn|aren|an?|any|another|some|one|evidence|work)\b)
      | the\s+(?:authors|paper|method|approach|model|technique|results?|experiments)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_THE_PAPER = re.compile(
    r"""\b(?:(?:this|that|the)\s+(?:paper|work|study|article|abstract) | it | they | them
      | (?P<owner>its|their))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NAME = re.compile(r"\b\w+[A-Z0-9]\w*|(?<!^)\b[A-Z]\w")  # DPN, W4A8; Momentor, but no first word
_EXISTENTIAL = re.compile(r"\b(?:is|are|was|were)\s+there\b", re.IGNORECASE)
# What is asked of anything: a question of nothing but these is about something said before.
_GENERAL_WORDS = frozenset(
    """
    accuracy accurate advantage advantages approach assumption assumptions author authors average
    baseline baselines benchmark benchmarks best better big bigger bound bounds case code compared
    contribution contributions cost costs data dataset datasets detail details difference
    differences disadvantage disadvantages domain domains drawback drawbacks evaluated evaluation
    evidence exactly example examples experiment experiments explain fast faster figure figures
    finding findings gain gains good idea improvement improvements large larger limit limitation
    limitations limits long main meaning measure measured method methods metric metrics model
    models number numbers parameters part people percent percentage performance point precisely
    problem prove purpose quickly real reason reasons result results rest scale scores setting
    settings show size slow small smaller speed speedup summarize task tasks technique tested tests
    theoretical theory time times title tools tried venue versions way wrote year
    """.split()  # noqa: SIM905 - a hundred quoted words are no easier to read
)


def depends_on_history(question: str) -> bool:
    """Tell whether a question points to what was said before it."""
    if _OPENING.search(question):
        return True
    words = [word for word, _ in content_words(question)]
    pronoun = _first_pronoun(question)
    if pronoun is None:
        return all(word in _GENERAL_WORDS for word in words) and not _NAME.search(question)
    before = question[: pronoun.start()]
    is_inner = len(content_words(before)) > MAX_WORDS_BEFORE or bool(_NAME.search(before))
    return not is_inner and len(words) <= MAX_WORDS


def with_name(question: str, name: str) -> str:
    """Return a question with a paper's name where it points to it, or else at its end."""
    found = _THE_PAPER.search(question)
    if found is None:
        return f"{question.rstrip(' .?!')} in {name}?"
    owned = "'s" if found["owner"] else ""
    return f"{question[: found.start()]}{name}{owned}{question[found.end() :]}"


def _first_pronoun(question: str) -> re.Match[str] | None:
    """Return the first word that stands for something else; "is there" stands for nothing."""
    return _PRONOUN.search(_EXISTENTIAL.sub(lambda match: "." * len(match[0]), question))
