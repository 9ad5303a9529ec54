"""Questions for the authors, the year or the venue of one paper."""

import re

from paper_qa.computed.request import PUBLISHED, Detail, DetailRequest, pattern, unquoted
from paper_qa.words import content_words

NO_PART = 100  # words; no title has as many

_AUTHORS_OF = pattern(
    r"""(?:(?:who|which\s+(?:authors|people))\s+(?:(?:co-?)?authored|wrote)
      | who\s+(?:is|are|was|were)\s+the\s+authors?\s+of
      | (?:(?:list|show|give|name)\s+(?:me\s+)?)?(?:the\s+)?authors?\s+of
      | by\s+whom\s+(?:is|was|were|are)
    )\s+(?P<name>.+?)(?:\s+(?:written|authored|by))?"""
)
_INVENTORS_OF = pattern(
    r"""who\s+(?:first\s+)?(?:proposed|introduced|developed|invented|created|presented|designed
      |came\s+up\s+with)\s+(?P<name>.+)"""
)
_PUBLICATION_OF = pattern(
    rf"""(?:when|where|when\s+and\s+where|where\s+and\s+when
      | (?:(?:in|at)\s+)?(?:which|what)\s+(?:year|venue|journal|conference))
    \s+(?:was|were|did|is)\s+(?P<name>.+?)\s+
    (?:{PUBLISHED}|appear|come\s+out)(?:\s+(?:in|at))?"""
)
_PAPER = r"(?:paper|article|publication|study|work)"
_BEFORE_NAME = pattern(
    rf"""(?:(?:the|an?)\s+)?
      (?:(?P<paper>{_PAPER})\s+
        (?:(?:called|titled|entitled|named|about|on|introducing|proposing)\s+)?(?:the\s+)?)?"""
)
_AFTER_NAME = pattern(
    rf"""\s+(?:(?P<paper>{_PAPER})
      | method|model|algorithm|framework|approach|data\s?set|benchmark|controller|system
    )$"""
)
# What was spoken of before has no name here.
_POINTING = pattern(
    r"""(?:this|that|these|those|it|its|them|his|her|their|your|such|same|first|second|third|last
      |latter|former|other|next|previous|about)\b"""
)
_THE_ONE = pattern(rf"it|(?:this|that|the)\s+{_PAPER}")
_ITS_AUTHORS = pattern(r"(?:who\s+(?:is|are|was|were)\s+)?(?:the|its)\s+authors?")
# "… and which university are they from": there is no answer to half a question.
_SECOND_QUESTION = pattern(r"\b(?:and|or|but)\s+(?:who|whom|which|what|when|where|why|how)\b")
# A figure among letters, or a capital after the first letter: FANOVA, MLP-Mixer, D4RL.
_WRITTEN_AS_NAME = re.compile(r"\b(?=\w*[^\W\d_])(?:\w*\d\w*|\w+[A-Z]\w*)\b")


def detail_request(text: str) -> DetailRequest | None:
    """Return what is asked of one paper by its title, or by a name in its title."""
    if match := _AUTHORS_OF.fullmatch(text):
        name, is_paper = _name(match["name"])
        is_known = is_paper or bool(_WRITTEN_AS_NAME.search(name))
        return _request("authors", name, 1 if is_known else 2)
    if match := _INVENTORS_OF.fullmatch(text):
        # Conformal prediction was not proposed by those who have it in a title.
        return _request("authors", _name(match["name"])[0], NO_PART)
    if match := _PUBLICATION_OF.fullmatch(text):
        name, is_paper = _name(match["name"])
        return _request("published", name, 1 if is_paper else 3)
    return None


def detail_request_of_one(text: str) -> DetailRequest | None:
    """Return what is asked of the one paper that a question can be about ("who wrote it")."""
    authors, published = _AUTHORS_OF.fullmatch(text), _PUBLICATION_OF.fullmatch(text)
    if _ITS_AUTHORS.fullmatch(text) or (authors and _THE_ONE.fullmatch(authors["name"])):
        return DetailRequest("authors", "", 0)
    if published and _THE_ONE.fullmatch(published["name"]):
        return DetailRequest("published", "", 0)
    return None


def _request(detail: Detail, name: str, min_words: int) -> DetailRequest | None:
    if not content_words(name) or _POINTING.match(name) or _SECOND_QUESTION.search(name):
        return None
    return DetailRequest(detail, name, min_words)


def _name(text: str) -> tuple[str, bool]:
    """Return a name without what stands around it, and whether it is called a paper."""
    before, after = _BEFORE_NAME.match(text), _AFTER_NAME.search(text)
    start, end = before.end() if before else 0, after.start() if after else len(text)
    is_paper = bool((before and before["paper"]) or (after and after["paper"]))
    return unquoted(text[start:end]), is_paper
