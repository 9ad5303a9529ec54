"""Feedback as an evaluation file: questions of real people, with the papers that answered them."""

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict

from paper_qa.domain import AbstainReason
from paper_qa.user_data.feedback import Feedback, GivenFeedback, Verdict
from paper_qa.user_data.serial import mended, time_text

_KINDS: dict[AbstainReason | None, str] = {
    "not_in_abstract": "not_in_abstract",
    "no_evidence": "absent_topic",
}


def evaluation_file(
    given: Iterable[GivenFeedback], *, verdicts: Collection[Verdict] = ("up",)
) -> str:
    """Return feedback as JSON Lines that ``paper-qa evaluate`` reads; '' when there is none.

    ``gold`` has the papers that an answer with thumbs up cites. Without gold a question counts as
    one that the abstracts don't answer: so does an abstention with thumbs up, and so would every
    answer with thumbs down. These come only when asked for, as questions for somebody to judge.

    Beside what the reader knows each line has ``verdict``, ``comment``, ``answer`` (the object of
    ``docs/answer.md``), ``model``, ``version``, ``library`` and ``at``. Whose it is it doesn't say.
    """
    used: set[str] = set()
    lines: list[str] = []
    for item in given:
        if item.feedback.verdict in verdicts and item.feedback.question.strip():
            fields = {"id": _free(item.exchange_id, used), **_fields(item.feedback)}
            lines.append(mended(json.dumps(fields, ensure_ascii=False)) + "\n")
    return "".join(lines)


def _free(wanted: str, used: set[str]) -> str:
    """Return an id of its own: two people may have used one."""
    free, count = wanted, 1
    while free in used:
        count += 1
        free = f"{wanted}-{count}"
    used.add(free)
    return free


def _fields(given: Feedback) -> dict[str, object]:
    answer = given.answer
    gold = [item.paper_id for item in answer.references] if given.verdict == "up" else []
    return {
        "question": given.question,
        "type": _type(given),
        "gold": gold,
        "kind": _KINDS.get(answer.abstain_reason, "") if given.verdict == "up" else "",
        "history": [asdict(turn) for turn in given.history],
        "verdict": given.verdict,
        "comment": given.comment,
        "answer": answer.to_dict(),
        "model": given.model or answer.model,
        "version": given.version,
        "library": given.library,
        "at": time_text(given.at),
    }


def _type(given: Feedback) -> str:
    if given.verdict == "down":
        return "unjudged"
    if given.answer.abstained:
        return "unanswerable"
    return "followup" if given.history else "feedback"
