"""Questions for the papers of the library: how many there are, by whom, from when, about what."""

import re

from paper_qa.computed.request import (
    PUBLISHED,
    Criterion,
    Form,
    PapersRequest,
    pattern,
    unquoted,
)
from paper_qa.words import FUNCTION_WORDS, content_words

MAX_TERMS = 3  # "spikes, or spiking networks, or …"
MAX_WORDS = 5  # of a term; more are a description, and an abstract puts it in other words
MAX_NAMES = 4
MAX_WORDS_OF_NAME = 5

_PAPERS = r"(?:papers?|abstracts?|articles?|publications?|works?|stud(?:y|ies))"
_LIBRARY = r"(?:library|collection|database|corpus)"
_WROTE = r"(?:(?:co-?)?(?:write|written|author(?:ed)?)|publish(?:ed)?)"

_HERE = pattern(
    rf"""\s+(?:in|of|from|within)\s+(?:the|this|your|my|our)\s+(?:whole\s+|entire\s+)?{_LIBRARY}\b
      | \s+(?:in\s+(?:here|total|all)|here|altogether|overall)$"""
)
_SIZE = pattern(rf"how\s+(?:big|large)\s+is\s+(?:the|this|your|my|our)\s+{_LIBRARY}")
_HEADS: tuple[tuple[Form, re.Pattern[str]], ...] = (
    (
        "count",
        pattern(
            rf"""(?:how\s+many\s+(?:of\s+the\s+)?(?:different\s+)?{_PAPERS}
              | (?:what(?:['’]s|\s+is)\s+)?(?:the\s+)?(?:total\s+)?number\s+of\s+{_PAPERS}
              | count\s+(?:(?:all|of|the)\s+)*{_PAPERS}
              | (?:do|does|is|are)\s+none\s+of\s+(?:the\s+{_PAPERS}|them|these|those)
              | (?:do|does)\s+no\s+{_PAPERS}
            )\b"""
        ),
    ),
    (
        "exists",
        pattern(
            rf"""(?:
                (?:(?:is|are)\s+there|(?:do|have)\s+(?:you|we)\s+(?:have|got)
                  |does\s+(?:the|this|your|my|our)\s+{_LIBRARY}\s+(?:have|contain|include))\s+
                (?:anything|something|(?:(?:any|some|an?|at\s+least\s+one)\s+)?{_PAPERS}
                  |(?:any\s+)?research)
              | (?:do|does|is|are)\s+(?:any|some|one|at\s+least\s+one)\s+
                (?:{_PAPERS}|of\s+(?:the\s+{_PAPERS}|them|these|those))
            )\b"""
        ),
    ),
    (
        "list",
        pattern(
            rf"""(?:
                (?:list|show|give|name|find|print|get)\s+(?:me\s+)?
                (?:(?:all|every|each|any|of|the)\s+)*(?:{_PAPERS}|everything|anything)
              | (?:which|what)\s+(?:of\s+the\s+)?{_PAPERS}
              | (?:all|every)\s+(?:of\s+)?(?:the\s+)?{_PAPERS}
              | {_PAPERS} | everything | what(?=\s+(?:did|has|have)\b)
            )\b"""
        ),
    ),
)
_LISTS_ALL = pattern(r"(?:list|show|give|print|get|all)\b")
_THEM = pattern(r"\b(?:them|these|those)\b")
_FILLER = pattern(
    rf"""(?:\s+(?:are|were|is|was|been|there|that|which|exist
      | you\s+have | we\s+have | have\s+you\s+got | have(?=\s+(?:written|been)\b)
      | (?:do|does)\s+(?:you|we|i|the\s+{_LIBRARY})\s+(?:have|contain|hold|include|know)
    )\b)*"""
)
_TAIL = pattern(
    rf"""(?:\s+(?:
        (?:are|is)\s+there | exist | (?:do|have)\s+(?:you|we|i)(?:\s+(?:have|got))?
      | does\s+the\s+{_LIBRARY}\s+(?:have|contain|hold|include) | at\s+all | anywhere | somewhere
      | in\s+(?:the(?:ir)?|its|an?)\s+(?:titles?|abstracts?)(?:\s+or\s+(?:titles?|abstracts?))?
    ))+$"""
)

_ANY: frozenset[Form] = frozenset({"count", "exists", "list"})
_NOT_LIST: frozenset[Form] = frozenset({"count", "exists"})
_COUNT: frozenset[Form] = frozenset({"count"})
# Whether a paper *uses* or *studies* something is for those who read it: here it can be counted
# how many have the words, but a list or a yes is left to the search.
_CRITERIA: tuple[tuple[Criterion, frozenset[Form], re.Pattern[str]], ...] = (
    ("author", _ANY, pattern(r"(?:(?:co-?)?(?:written|authored|published)\s+)?by\s+(?P<value>.+)")),
    (
        "author",
        _ANY,
        pattern(r"(?:has|have|with)\s+(?P<value>.+?)\s+as\s+(?:an?\s+)?(?:co-?)?author"),
    ),
    ("author", _ANY, pattern(rf"(?:did|does|do|has|have)\s+(?P<value>.+?)\s+{_WROTE}")),
    (
        "year",
        _ANY,
        pattern(rf"(?:{PUBLISHED}\s+)?(?:from|in|of)\s+(?:the\s+year\s+)?(?P<value>(?:19|20)\d\d)"),
    ),
    (
        "venue",
        _ANY,
        pattern(
            rf"""(?:from|at|{PUBLISHED}\s+(?:in|at)|(?:in|of)(?=.*\s(?:19|20)\d\d$))\s+
            (?:the\s+)?(?:(?:conference|journal)\s+)?(?P<value>.+?)(?:\s+conference)?"""
        ),
    ),
    (
        "mention",
        _NOT_LIST,
        pattern(
            r"""(?:mention(?:s|ed|ing)?|contain(?:s|ing)?|(?:speaks?|talks?|talking)\s+(?:of|about))
            \s+(?:the\s+)?(?:(?:words?|terms?|phrase|name|abbreviation|acronym)\s+)?(?P<value>.+)"""
        ),
    ),
    (
        "topic",
        _NOT_LIST,
        pattern(
            r"""(?:about|on|regarding|(?:deal(?:s|ing)?)\s+with|concern(?:s|ing|ed\s+with)
            |related\s+to)\s+(?:the\s+(?:topic|subject)\s+of\s+)?(?P<value>.+)"""
        ),
    ),
    (
        "topic",
        _COUNT,
        pattern(
            r"""(?:us(?:es?|ing)|cover(?:s|ing)?|discuss(?:es|ing)?|stud(?:y|ies|ying)|concern
            |treat(?:s|ing)?|address(?:es|ing)?|consider(?:s|ing)?|work\s+(?:on|with))
            \s+(?P<value>.+)"""
        ),
    ),
)
# Words of a description, of a comparison, or of something said before: no term has them.
_NOT_OF_TERM = frozenset(
    """
    it its itself they them their theirs he him his she her this that these those such same former
    latter other others you your we us our me my one ones which who whom whose what how why when
    where whether not no none neither nor never without only both more most less least fewer than
    either each every
    """.split()  # noqa: SIM905 - fifty quoted words are no easier to read
)
_YEAR = re.compile(r"(?:19|20)\d\d")


def papers_request(text: str, *, follows: bool) -> PapersRequest | None:
    """Return which papers are to be counted or listed, if that is what is asked."""
    asked = _HERE.sub("", text)
    if _SIZE.fullmatch(asked):
        return PapersRequest("count")
    for form, wording in _HEADS:
        head = wording.match(asked)
        if head and not (follows and _THEM.search(head[0])):
            return _with_rest(form, asked, head)
    return None


def _with_rest(form: Form, asked: str, head: re.Match[str]) -> PapersRequest | None:
    filler = _FILLER.match(asked, head.end())
    end = filler.end() if filler else head.end()
    if rest := _TAIL.sub("", asked[end:]).strip():
        return _with_criterion(form, rest)
    # "List the papers", "which papers are there", but not "which papers?".
    asks_for_all = form == "list" and (bool(_LISTS_ALL.match(asked)) or end > head.end())
    return PapersRequest(form) if form == "count" or asks_for_all else None


def _with_criterion(form: Form, rest: str) -> PapersRequest | None:
    for criterion, forms, wording in _CRITERIA:
        if form in forms and (match := wording.fullmatch(rest)):
            values = _values(criterion, match["value"])
            return PapersRequest(form, criterion, values) if values else None
    return None


def _values(criterion: Criterion, value: str) -> tuple[str, ...]:
    """Return what is looked for, or nothing where it makes no sense."""
    if criterion == "author":
        return _names(value)
    if criterion in {"mention", "topic"}:
        return _terms(value)
    return (unquoted(value),)


def _names(value: str) -> tuple[str, ...]:
    """Return the authors; each is a few words, and no phrase with "from" or "who" in it."""
    together = re.sub(r"\s+et\s+al\b\.?", "", unquoted(value))
    names = [unquoted(name) for name in re.split(r"\s*(?:,|&|\band\b)\s*", together)]
    return tuple(names) if len(names) <= MAX_NAMES and all(map(_may_be_name, names)) else ()


def _may_be_name(name: str) -> bool:
    words = name.split()
    # "He" and "An" are names, "he" and "an" are not.
    is_plain = not any(word in FUNCTION_WORDS or _YEAR.search(word) for word in words)
    return is_plain and 0 < len(words) <= MAX_WORDS_OF_NAME and any(map(str.isalpha, name))


def _terms(value: str) -> tuple[str, ...]:
    terms = [unquoted(term) for term in re.split(r"\s+or\s+(?:(?:on|about)\s+)?", value)]
    return tuple(terms) if len(terms) <= MAX_TERMS and all(map(_is_term, terms)) else ()


def _is_term(term: str) -> bool:
    is_plain = _NOT_OF_TERM.isdisjoint(term.lower().split())
    return is_plain and 0 < len(content_words(term)) <= MAX_WORDS
