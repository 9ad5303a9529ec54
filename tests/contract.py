"""What holds of every answer, by whichever way it was made (DESIGN: answer as JSON)."""

import json
import re
from collections.abc import Mapping

from paper_qa.domain import Answer, Paper
from paper_qa.evaluation.measures import quote_is_valid
from paper_qa.sentences import MATHS

REFERENCE_KEYS = ["number", "paper_id", "title", "authors", "year", "venue", "url", "retracted"]
KEYS: dict[str, list[str]] = {
    "": [
        "schema_version",
        "question",
        "text",
        "claims",
        "withheld",
        "references",
        "see",
        "retrieved",
        "abstained",
        "abstain_reason",
        "confidence",
        "premise_corrected",
        "notes",
        "usage",
        "model",
        "timings",
    ],
    "claims": ["text", "support", "score", "citations"],
    "claims.citations": ["number", "paper_id", "start", "end", "quote"],
    "withheld": ["text", "score", "reason", "quote"],
    "references": REFERENCE_KEYS,
    "see": REFERENCE_KEYS[1:],
    "retrieved": ["paper_id", "score"],
    "usage": ["llm_calls", "prompt_tokens", "completion_tokens"],
    "timings": ["retrieve_s", "first_claim_s", "total_s"],
}
MARKER = re.compile(r"\[(\d+)\]")


def assert_keeps_the_contract(
    answer: Answer, papers: Mapping[str, Paper], *, grounding: str = "withhold"
) -> None:
    """Check an answer about these papers, which are all there are."""
    _check_citations(answer, papers, grounding)
    _check_markers(answer)
    _check_abstention(answer)
    assert len(set(answer.notes)) == len(answer.notes)
    scores = [hit.score for hit in answer.retrieved]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.paper.id for hit in answer.retrieved}) == len(scores) <= 10
    assert all(0 <= score <= 1 for score in [*scores, answer.confidence])
    assert 0 <= answer.timings.first_claim_s <= answer.timings.total_s
    assert 0 <= answer.timings.retrieve_s <= answer.timings.total_s
    assert_is_json_of_the_schema(answer)


def _check_citations(answer: Answer, papers: Mapping[str, Paper], grounding: str) -> None:
    numbers = {reference.number: reference.paper_id for reference in answer.references}
    for claim in answer.claims:
        assert 0 <= claim.score <= 1
        assert claim.text.strip()
        if claim.support == "supported":
            assert claim.citations
        elif claim.support != "computed":
            assert grounding == "flag"
            assert not claim.citations
        for citation in claim.citations:
            assert quote_is_valid(citation, papers[citation.paper_id].abstract)
            assert numbers[citation.number] == citation.paper_id
    for reference in (*answer.references, *answer.see):
        paper = papers[reference.paper_id]
        assert reference.title == paper.name
        assert reference.authors == paper.authors
        assert (reference.year, reference.venue) == (paper.year, paper.venue)
        assert (reference.url, reference.retracted) == (paper.url, paper.retracted)


def _check_markers(answer: Answer) -> None:
    """Markers are numbered by first appearance, stand before the stop, and have references."""
    text = MATHS.sub("$maths$", answer.text)
    markers = [int(number) for number in MARKER.findall(text)]
    assert list(dict.fromkeys(markers)) == [r.number for r in answer.references]
    assert [r.number for r in answer.references] == list(range(1, len(answer.references) + 1))
    of_claims = [sorted({c.number for c in claim.citations}) for claim in answer.claims]
    assert markers == [number for numbers in of_claims for number in numbers]
    assert not re.search(r"[.!?…]\s*\[\d+\]", text)
    assert not re.search(r"\[\d+\](?!\[\d+\]|[.!?…])", text)


def _check_abstention(answer: Answer) -> None:
    assert answer.text.strip()
    if answer.abstained:
        assert answer.abstain_reason in {"no_evidence", "not_in_abstract", "language"}
        assert answer.claims == answer.references == ()
        assert not MARKER.search(answer.text)
        assert len({reference.paper_id for reference in answer.see}) == len(answer.see)
    else:
        assert answer.abstain_reason is None
        assert answer.claims
        assert not answer.see


def assert_is_json_of_the_schema(answer: Answer) -> None:
    """Check that ``to_dict`` has the documented keys and nothing that JSON does not have."""
    fields = answer.to_dict()
    assert json.loads(json.dumps(fields)) == fields
    assert fields["schema_version"] == 1
    for path, keys in KEYS.items():
        for part in _parts(fields, path):
            assert sorted(part) == sorted(keys), path


def _parts(fields: dict, path: str) -> list[dict]:
    parts = [fields]
    for name in filter(None, path.split(".")):
        values = [part[name] for part in parts]
        lists = [value if isinstance(value, list) else [value] for value in values]
        parts = [item for items in lists for item in items]
    return parts
