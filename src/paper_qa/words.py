"""The words of a text that carry meaning, and those that carry none."""

import re

from paper_qa.domain import Span

WORD = re.compile(r"\w+(?:[-'’]\w+)*")
FUNCTION_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before
    being below between both but by can cannot could couldn did didn do does doesn doing don down
    during each else ever few for from further get gets got had hadn has hasn have having he her
    here hers herself him himself his how i if in into is isn it its itself just let ll made make
    makes many me might mine more most much must my myself no nor not now of off ok on once one ones
    only or other others our ours ourselves out over own paper papers per please re same shall she
    should shouldn so some such tell than that the their theirs them themselves then there these
    they this those through to too under until up us use used uses using ve versus very vs was wasn
    we were weren what when where whether which while who whom whose why will with without won work
    works would wouldn yes you your yours yourself yourselves
    """.split()  # noqa: SIM905 - two hundred quoted words are no easier to read
)


def content_words(text: str) -> list[tuple[str, Span]]:
    """Return the words of ``text`` that are not function words, in lower case, with their spans."""
    found = ((match[0].lower(), Span(*match.span())) for match in WORD.finditer(text))
    return [(word, span) for word, span in found if not is_function_word(word)]


def is_function_word(word: str) -> bool:
    """Tell whether a word in lower case, or all before its apostrophe, carries no meaning."""
    return re.split("['’]", word, maxsplit=1)[0] in FUNCTION_WORDS
