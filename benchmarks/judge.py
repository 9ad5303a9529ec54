"""The judge of citations by itself: how far it agrees with people on SciFact's validation claims.

    python benchmarks/judge.py --scifact FOLDER --answers judge.jsonl --limit 150

The judge is the language model of the settings (PAPER_QA_LLM…). It is asked what `paper-qa evaluate
--judge` asks, with a title and a whole abstract as the source; right is yes for an abstract that
people judged to support the claim, and no for one that contradicts it or treats something else.
Each verdict is appended to the file of answers, and what is in it already is not asked again.
Intervals are of 95 %; a balanced sample has as many pairs of each label as any other.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from claims import Case, claims_of_scifact
from paper_qa import PaperQAError, load_settings
from paper_qa.evaluation import LlmJudge, attribution, bootstrap
from paper_qa.evaluation.bootstrap import Floats, Ratios, Sampled
from paper_qa.llm import Writer

KINDS: Mapping[str, str] = {
    "SUPPORT": "supporting",
    "CONTRADICT": "contradicting",
    "unrelated": "unrelated",
}
SEED = 11


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of a pair of claim and abstract: ``says`` is None if it was unclear."""

    judge: str
    prompt: str  # a digest: another prompt is another judge
    kind: str
    paper_id: str
    claim: str
    says: bool | None

    @property
    def is_right(self) -> bool:
        """Whether it is what people say; an unclear one counts as no."""
        return bool(self.says) == (self.kind == "SUPPORT")


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement beyond chance of two raters who say yes or no (Cohen, 1960)."""

    first: tuple[bool, ...]
    second: tuple[bool, ...]

    @property
    def num_items(self) -> int:
        """How many items both have rated."""
        return len(self.first)

    @property
    def value(self) -> float | None:
        """The kappa; None where both always say the same one thing."""
        value = float(self.resampled(np.ones((1, self.num_items)))[0]) if self.first else np.nan
        return None if np.isnan(value) else value

    def resampled(self, counts: Floats) -> Floats:
        """Return (observed − expected) / (1 − expected) agreement of each resample."""
        total = counts.sum(axis=1)
        first, second = (np.array(x, dtype=np.float64) for x in (self.first, self.second))
        observed = counts @ (first == second) / total
        yes_1, yes_2 = counts @ first / total, counts @ second / total
        expected = yes_1 * yes_2 + (1 - yes_1) * (1 - yes_2)
        undefined = np.full_like(observed, np.nan)
        return np.divide(observed - expected, 1 - expected, out=undefined, where=expected < 1)


def main() -> None:
    """Ask the judge what it was not asked before, and print how far it agrees."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scifact", type=Path, required=True, help="the folder of the collection")
    parser.add_argument("--answers", type=Path, required=True, help="verdicts, appended to")
    parser.add_argument("--limit", type=int, help="a balanced sample of so many pairs at most")
    given = parser.parse_args()
    cases = claims_of_scifact(given.scifact)
    chosen = balanced(cases, given.limit) if given.limit else cases
    try:
        with closing(Writer(load_settings())) as writer:
            llm = writer.llm()
            if llm is None:
                sys.exit("error: no language model: set PAPER_QA_LLM_BASE_URL, or pull a model")
            judge = LlmJudge(llm)
            if not getattr(
                llm, "model", ""
            ):  # an endpoint tells the name of its only one when asked
                judge.verdict("", "")
            report(judged(chosen, judge, given.answers))
    except PaperQAError as error:
        sys.exit(f"error: {error}")


def balanced(cases: Sequence[Case], limit: int) -> list[Case]:
    """Return as many cases of each kind; those of a larger sample begin with the smaller one's."""
    shuffled = list(cases)
    random.Random(SEED).shuffle(shuffled)
    by_kind = ([case for case in shuffled if case.kind == kind] for kind in KINDS)
    rounds = zip(*by_kind, strict=False)
    return [case for one_of_each in rounds for case in one_of_each][: limit - limit % len(KINDS)]


def judged(cases: Sequence[Case], judge: LlmJudge, answers: Path) -> list[Verdict]:
    """Return the verdicts, from the file where they are in it; others are appended to it."""
    name, prompt = judge.name, sha256(attribution.PROMPT.encode()).hexdigest()[:8]
    known = {
        (verdict.paper_id, verdict.claim): verdict
        for verdict in read_verdicts(answers)
        if (verdict.judge, verdict.prompt) == (name, prompt)
    }
    with answers.open("a", encoding="utf-8") as file:
        for number, case in enumerate(cases, 1):
            key = case.paper.id, case.claim
            if key not in known:
                says = judge.verdict(f"{case.paper.title}\n{case.paper.abstract}", case.claim)
                known[key] = Verdict(name, prompt, case.kind, *key, says)
                file.write("\n" + json.dumps(asdict(known[key]), ensure_ascii=False))
                file.flush()
            print(f"\r{number} of {len(cases)}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return [known[case.paper.id, case.claim] for case in cases]


def read_verdicts(answers: Path) -> Iterator[Verdict]:
    """Read the file of answers; a line that was cut off when a run was ended is passed over."""
    lines = answers.read_text("utf-8").splitlines() if answers.exists() else []
    for line in lines:
        try:
            yield Verdict(**json.loads(line))
        except ValueError:
            continue


def report(verdicts: Sequence[Verdict]) -> None:
    """Print accuracy, kappa, and the share told right per label."""
    unclear = sum(verdict.says is None for verdict in verdicts)
    print(f"{len(verdicts)} pairs, judged by {verdicts[0].judge}; {unclear} verdicts unclear")
    print(f"accuracy {figure(share_right(verdicts))}")
    people = tuple(verdict.kind == "SUPPORT" for verdict in verdicts)
    print(f"Cohen's kappa {figure(Kappa(people, tuple(bool(v.says) for v in verdicts)))}")
    for kind, name in KINDS.items():
        alike = [verdict for verdict in verdicts if verdict.kind == kind]
        print(f"recall, {name} ({len(alike)}) {figure(share_right(alike))}")


def share_right(verdicts: Sequence[Verdict]) -> Ratios:
    """Return the share of verdicts that are right."""
    return Ratios(tuple(float(v.is_right) for v in verdicts), (1.0,) * len(verdicts))


def figure(measure: Sampled) -> str:
    """Return a measure with its interval."""
    found = bootstrap.interval(measure)
    return f"{measure.value:.3f} [{found[0]:.2f}, {found[1]:.2f}]" if found else "–"


if __name__ == "__main__":
    main()
