"""What the chat says about a turn, in words: the message, the status line, the errors."""

from collections.abc import Sequence
from dataclasses import replace

from paper_qa.citing import see_heading, with_markers
from paper_qa.domain import (
    COMPUTED,
    EXTRACTIVE,
    AbstainReason,
    Answer,
    Claim,
    Reference,
    Support,
    Withheld,
)
from paper_qa.web.maths import chat_text, inline_html
from paper_qa.web.panel import lettered
from paper_qa.web.preparation import Progress
from paper_qa.web.talks import action
from paper_qa.web.turn import TurnView, written_and_quoted

_KIND_OF_ABSTENTION: dict[AbstainReason | None, str] = {
    "no_evidence": "Not in this library",
    "not_in_abstract": "Not in the abstract",
    "language": "Language not understood",
    None: "No answer",
}
_BADGES: dict[Support, str] = {"contradicted": "✗", "not_mentioned": "◐"}


def message(turn: TurnView) -> str:
    """Return the assistant's message as Markdown in which citations are plain ``[1]``."""
    answer = turn.answer
    parts = _abstention(answer) if answer and answer.abstained else _claims(turn)
    return "\n\n".join([*parts, *_closing(turn)])


def _claims(turn: TurnView) -> list[str]:
    """Return the claims: a model's as running text or list, quoted passages one by one."""
    if turn.stage and not turn.claims:
        passages = [_sentence(claim.text) for claim in turn.passages]
        return ["**Key passages**", *passages] if passages else []
    written, quoted = (
        [marked_claim(claim) for claim in part] for part in written_and_quoted(turn.claims)
    )
    if turn.claims and turn.claims[0].support == "computed":
        lines = "\n".join(f"- {line}" for line in written[1:])
        return [written[0], *([lines] if lines else [])]
    as_list = turn.answer is not None and turn.answer.text.startswith("- ")
    text = "\n".join(f"- {line}" for line in written) if as_list else " ".join(written)
    return [*([text] if text else []), *(["**Key passages**", *quoted] if quoted else [])]


def marked_claim(claim: Claim) -> str:
    """Return a claim for the chat, with its markers before the full stop."""
    text = with_markers(replace(claim, text=_sentence(claim.text)))
    badge = _BADGES.get(claim.support)
    return f"{text}\u00a0\u2060{badge}\u2060" if badge else text


def _sentence(text: str) -> str:
    return chat_text(" ".join(text.split()))


def _abstention(answer: Answer) -> list[str]:
    lines = [f"**{_KIND_OF_ABSTENTION[answer.abstain_reason]}**", "", chat_text(answer.text)]
    if answer.see:
        lines += ["", f"{see_heading(answer)}:", ""]
        lines += [f"- [{letter}] {_named(item)}" for letter, item in lettered(answer.see)]
    return [_notice(lines)]


def _named(item: Reference) -> str:
    title = chat_text(" ".join(item.title.split()) or item.paper_id)
    by = item.authors[0].split()[-1] if item.authors and item.authors[0].split() else ""
    by += " et al." if by and len(item.authors) > 1 else ""
    facts = ", ".join(fact for fact in (by, str(item.year or "")) if fact)
    return f"{title} ({chat_text(facts)})" if facts else title


def _closing(turn: TurnView) -> list[str]:
    """Return what stands under the claims."""
    if turn.stage:
        return [f"*{chat_text(turn.stage)}…*"]
    parts: list[str] = []
    if turn.withheld:
        parts.append(_withheld(turn.withheld))
    if turn.answer:
        parts += [f"*{chat_text(_capital(note))}*" for note in turn.answer.notes]
    if turn.error:
        parts.append(error_notice(turn.error, can_retry=turn.can_retry))
    if turn.stopped:
        parts.append("*Stopped.*")
    return parts


def _withheld(sentences: Sequence[Withheld]) -> str:
    """List the sentences that nothing supports, and why; the page folds them away."""
    is_one = len(sentences) == 1
    lines = [
        f"**{len(sentences)} sentence{'' if is_one else 's'} withheld**",
        "",
        f"Nothing in the abstracts supports {'it' if is_one else 'them'}:",
        "",
        *(f"- {_sentence(item.text)}{_reason(item)}" for item in sentences),
    ]
    return _notice(lines)


def _reason(withheld: Withheld) -> str:
    match withheld.reason:
        case "contradicted":
            return f" (The abstract says: “{_sentence(withheld.quote)}”)"
        case "refers_back":
            return " (It speaks of the sentence before, which was withheld.)"
        case "not_mentioned":
            return ""


def error_notice(error: str, *, can_retry: bool = True) -> str:
    """Say in the chat that there is no answer, and why."""
    text = chat_text(_capital(" ".join(error.split())))
    text += "" if text.endswith((".", "?", "!")) else "."
    hint = ["", "Your question is kept: press *Retry* to ask it again."] if can_retry else []
    return _notice([f"⚠️ **No answer.** {text}", *hint])


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _notice(lines: Sequence[str]) -> str:
    """Set lines apart from answers, as a block quote."""
    flat = "\n".join(lines).splitlines()
    return "\n".join(f"> {line}".rstrip() for line in flat)


def status(turn: TurnView) -> str:
    """Return the line under the chat: what is going on, or who answered and how fast."""
    if turn.error:
        return "No answer: see the message above."
    if turn.stopped:
        return "Stopped."
    if turn.answer is None:
        return f"{turn.stage}…" if turn.stage else ""
    written, quoted = written_and_quoted(turn.claims)
    stepped_in = bool(quoted) and not written  # extraction, for a model that failed
    return _answered(turn.answer, EXTRACTIVE if stepped_in else turn.answer.model)


def _answered(answer: Answer, model: str) -> str:
    by = model_text(model)
    seconds = f"{max(answer.timings.total_s, 0.1):.1f} s"
    if model == COMPUTED:
        return f"Counted in the library in {seconds}"
    if answer.abstained:
        return f"No answer in the abstracts, by {by}, in {seconds}"
    return f"Answered by {by} in {seconds}"


def model_text(model: str) -> str:
    """Name who answers: a model, or extraction."""
    return "extraction (key passages)" if model == EXTRACTIVE else model


def preparation_html(what: str, progress: Progress) -> str:
    """Show how far the library or the model is."""
    count = f", {progress.done:,} of {progress.total:,}" if progress.total else ""
    text = f"{what}: {progress.text[:1].lower()}{progress.text[1:]}{count}"
    bar = _bar_html(progress.share)
    return f'<div class="prep" role="status">{inline_html(text)} {bar}</div>'


def trouble_html(error: str) -> str:
    """Say why the library can't be used."""
    text = inline_html(_capital(error))
    return f'<div class="prep bad" role="alert">⚠️ {text}</div>'


def status_html(text: str, share: float | None = None) -> str:
    """Return the status line, which screen readers speak."""
    bar = "" if share is None else _bar_html(share)
    return f'<div id="state-text" role="status">{inline_html(text)} {bar}</div>'


def _bar_html(share: float | None) -> str:
    value = "" if share is None else f' value="{share:.2f}"'
    return f'<progress max="1"{value} title="progress"></progress>'


def about_html(num_papers: int, model: str) -> str:
    """Say what is asked, and who answers."""
    papers = f"{num_papers:,} paper{'' if num_papers == 1 else 's'}"
    by = f'<span class="by"> · {inline_html(model_text(model))}</span>'
    return f'<div class="about">{papers}{by}</div>'


def focus_html(title: str) -> str:
    """Say which paper the next questions are about, with the way back to all of them."""
    if not title:
        return ""
    return (
        f'<div class="focus">Asking about <strong>{inline_html(title)}</strong> '
        f'<a class="act" href="{action("everything")}">Ask about all papers</a></div>'
    )
