"""What is wrong with an answer, in words, for whoever wants to know where the figures come from."""

from paper_qa.evaluation.facts import states_fact
from paper_qa.evaluation.results import QuestionResult


def flaws(result: QuestionResult) -> list[str]:
    """Return what is wrong, one thing each; nothing if the answer is as it should be."""
    judge = _flaws_of_an_answer if result.question.is_answerable else _flaws_of_a_refusal
    return [*judge(result), *_flaws_of_quotes(result), *_flaws_of_citations(result)]


def missing_facts(result: QuestionResult) -> list[str]:
    """Return the facts that were asked for and are not stated."""
    text = "" if result.answer.abstained else result.answer.text
    return [fact for fact in result.question.facts if not states_fact(text, fact)]


def _flaws_of_a_refusal(result: QuestionResult) -> list[str]:
    """Judge what should have been declined."""
    right, given = result.question.right_reason, result.answer.abstain_reason
    if result.is_false_answer:
        kind = f" ({result.question.kind})" if result.question.kind else ""
        return [f"answered, though no abstract says it{kind}"]
    if result.answer.abstained and right not in {None, given}:
        return [f"declined as {given}, where {right} is right"]
    return []


def _flaws_of_an_answer(result: QuestionResult) -> list[str]:
    """Judge what should have been answered."""
    gold, cited = result.question.gold, result.cited
    unranked = [paper_id for paper_id in gold if paper_id not in result.ranked]
    found = [f"not among the papers retrieved: {', '.join(unranked)}"] if unranked else []
    if result.answer.abstained:
        return [f"declined, though answered by {', '.join(gold)}", *found]
    found += [f"fact not stated: {_first(fact)}" for fact in missing_facts(result)]
    if uncited := [paper_id for paper_id in gold if paper_id not in cited]:
        found.append(f"not cited: {', '.join(uncited)}")
    if wrongly := sorted(cited - set(gold)):
        found.append(f"cited, though no source of it: {', '.join(wrongly)}")
    return found


def _flaws_of_quotes(result: QuestionResult) -> list[str]:
    invalid = result.num_quotes - result.num_valid_quotes
    return [f"quotes that do not stand in their abstract: {invalid}"] if invalid else []


def _flaws_of_citations(result: QuestionResult) -> list[str]:
    """Name what the judge does not find in what is cited, and count what is cited for nothing."""
    judged = result.attributions
    found = [
        f"not supported by what it cites, says the judge: {item.claim}"
        for item in judged
        if not item.is_supported
    ]
    matter = [one for item in judged if item.is_supported for one in item.citations_matter]
    if needless := len(matter) - sum(matter):
        found.append(f"citations that add nothing, says the judge: {needless}")
    return found


def _first(fact: str) -> str:
    """Return one of the alternatives: enough to know which fact it is."""
    return next(name for part in fact.split("||") if (name := part.strip()))
