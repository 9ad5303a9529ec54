"""Telling the questions that the library answers from all others.

Neither a language model nor a search by meaning can count. Only what is worded as such a question
is taken for one: "How many papers …", but not "How many parameters …", nor "Which papers use …",
where a search finds papers that say it in other words.
"""

from paper_qa.computed.detail_request import detail_request, detail_request_of_one
from paper_qa.computed.papers_request import papers_request
from paper_qa.computed.request import DetailRequest, PapersRequest, pattern

MAX_CHARACTERS = 300

_OPENING = pattern(
    r"""^(?:
        (?:and|so|ok|okay|please|hi|hey|hello)\b[\s,!]*
      | (?:(?:can|could)\s+you\s+)?(?:please\s+)?tell\s+me\s+
      | (?:can|could)\s+you\s+(?:please\s+)?(?=(?:list|show|give|name|count)\b)
      | do\s+you\s+know\s+ | i(?:\s+want|\s+would\s+like|['’]d\s+like)\s+to\s+know\s+
    )+"""
)


def understand_request(
    text: str, *, follows: bool = False, about_one: bool = False
) -> PapersRequest | DetailRequest | None:
    """Return what the library is asked, or None for any other question.

    In a question that follows others, "them" are papers that were spoken of, not all papers; in one
    about one paper, "it" is that paper.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    bare = _OPENING.sub("", " ".join(text.split())).rstrip(" .?!…")
    known = detail_request_of_one(bare) if about_one else None
    return known or detail_request(bare) or papers_request(bare, follows=follows)
