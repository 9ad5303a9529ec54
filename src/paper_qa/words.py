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

# Of Dutch, French, German, Italian, Portuguese and Spanish; none of them is an English word.
FOREIGN_FUNCTION_WORDS = frozenset(
    """
    aber als auch avec bei che com como comme comment como cuál cuáles cómo cosa dans das de dei del
    della dem der des di du dónde een ein eine einem einen einer el en es est et für gegen gli par
    hoe het il ist je la las le les los mais mit nei nel nella nicht não nos nous oder où para parce
    pas perché per plus por porque pour pourquoi qual quale quali quand quando que quel quelle
    quelles quels qui quoi qué se sind sobre son sont sul sur uma un una und une van von voor
    warum welche welchem welchen welcher welches welke wenn werden wie wieso wird worden zu zum zur
    è à él
    """.split()  # noqa: SIM905 - a hundred quoted words are no easier to read
)


def content_words(text: str) -> list[tuple[str, Span]]:
    """Return the words of ``text`` that are not function words, in lower case, with their spans."""
    found = ((match[0].lower(), Span(*match.span())) for match in WORD.finditer(text))
    return [(word, span) for word, span in found if not is_function_word(word)]


def is_foreign(text: str) -> bool:
    """Tell whether a text is in one of the languages that share the script of English."""
    words = [match[0].lower() for match in WORD.finditer(text)]
    foreign = sum(word in FOREIGN_FUNCTION_WORDS for word in words)
    return foreign > 2 and foreign > sum(map(is_function_word, words))


def is_function_word(word: str) -> bool:
    """Tell whether a word in lower case, or all before its apostrophe, carries no meaning."""
    return re.split("['’]", word, maxsplit=1)[0] in FUNCTION_WORDS
