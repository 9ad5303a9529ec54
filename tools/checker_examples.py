"""Claims made by rule from abstracts, true and false ones, to fit the checker on.

A true claim is a sentence that is shortened, joined or reworded; a false one is such a sentence
with one thing changed. The rewording is the same for both, so that it tells nothing.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paper_qa.domain import Paper
from paper_qa.lexicon import Lexicon, load_lexicon
from paper_qa.sentences import split_sentences

Change = Callable[[str, "Maker"], str | None]

ALIKE = """
    show/demonstrate/find/reveal shows/demonstrates/reveals propose/introduce/present
    proposes/introduces/presents method/approach/technique methods/approaches/techniques
    improve/enhance/boost improves/enhances/boosts performance/results task/problem tasks/problems
    significantly/considerably/substantially large/big new/novel use/employ/apply
    uses/employs/applies using/employing achieve/reach/attain achieves/reaches/attains
    outperforms/beats/surpasses outperform/beat/surpass various/different/several
    important/crucial/essential however/yet existing/previous/prior model/system models/systems
    dataset/corpus datasets/corpora evaluate/test/assess evaluates/tests/assesses
    experiments/evaluations effective/useful address/tackle addresses/tackles
    investigate/study/examine investigates/studies/examines generate/produce generates/produces
    learn/acquire require/need requires/needs allow/enable allows/enables
    information/knowledge additional/extra simple/straightforward difficult/hard
    often/frequently obtain/get obtains/gets build/construct builds/constructs
    provide/offer/give provides/offers/gives reduce/lower/cut reduces/lowers/cuts
    increase/raise increases/raises help/assist compared/relative combine/merge
    combines/merges describe/outline describes/outlines recent/current quickly/rapidly
    accuracy/precision analysis/examination framework/scheme domain/area
    leverage/exploit leverages/exploits leveraging/exploiting rely/depend relies/depends
    lack/absence challenging/demanding create/make creates/makes speed/pace
"""
_GROUPS = [group.split("/") for group in ALIKE.split()]
SYNONYMS = {word: group for group in _GROUPS for word in group}
_LEADS = re.compile(
    r"^(?:However|Moreover|Furthermore|In addition|Additionally|Specifically|In particular|Thus|"
    r"Therefore|Hence|Finally|In this (?:paper|work|study|article)|To this end|Consequently|"
    r"As a result|Besides|Also|Meanwhile|Overall|In contrast|To the best of our knowledge),\s*"
)
_WE = re.compile(
    r"^(?:we|our (?:results|experiments|experimental results|findings)|results|experiments|"
    r"experimental results)\s+(?:also |further |then |first )?(?:show|demonstrate|find|observe|"
    r"indicate|suggest|reveal|confirm)s? that\s+",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|may|might|will|has been|have been)\b(?! not)"
)
_VERB = re.compile(
    r"\b(\w+(?:[^s\W]))(s)\b(?= (?:the|a|an|to|on|in|that|both|new|our|its|all|better|strong)\b)"
)
_NEGATION = re.compile(r"\b(?:not|no longer|never) |(?<=can)not\b|\bwithout\b|\bno\b ")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w.]*\d)")
_WORDS = dict(
    zip(
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"],
        ["2", "3", "4", "5", "6", "7", "8", "9", "10", "12"],
        strict=True,
    )
)
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b(?:[A-Z][\w-]*[A-Z0-9][\w-]*|[A-Z][a-z]+[\w-]*)\b")
_RELATION = re.compile(
    r"^(?P<left>[^,;]{8,90}?) (?P<verb>"
    r"(?:significantly |consistently |substantially |often |even )?"
    r"(?:outperforms?|surpass(?:es)?|exceeds?|improves? (?:on|over|upon)|is (?:better|worse|more "
    r"\w+|less \w+|faster|larger|smaller|higher|lower) than|are (?:better|worse|more \w+|less \w+|"
    r"faster|larger|smaller|higher|lower) than|leads? to|causes?|depends? on|affects?|results? in|"
    r"correlates? with|relies on|generates?|predicts?|influences?|helps?|improves?))"
    r" (?P<right>[^,;.]{4,80}?)"
    r"(?P<rest>(?: (?:on|in|by|for|over|with|when|while|and)\b[^,;]*)?[.,;].*)$"
)
_RAISES = [
    (r"\b(?:some|many|several|most|a few|various)\b", "all"),
    (r"\b(?:may|might|could|can)\b", "always"),
    (r"\b(?:often|usually|typically|sometimes|generally)\b", "always"),
    (r"\b(?:suggests?|indicates?)\b", "proves"),
    (r"\b(?:nearly|almost|approximately|about|around|up to)\b", "exactly"),
    (r"\b(?:comparable|competitive|promising)\b", "the best"),
    (r"\b(?:reduces?|mitigates?|alleviates?)\b", "completely eliminates"),
    (r"\b(?:improves?)\b", "always improves"),
    (r"\b(?:helps?)\b", "guarantees"),
]


@dataclass(frozen=True, slots=True)
class Example:
    """A claim, the paper it is checked against, its label and how it was made."""

    claim: str
    paper_id: str
    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class Maker:
    """What changes are made with: chance, the paper at hand, another one, and known words."""

    chance: random.Random
    paper: Paper
    other: Paper
    lexicon: Lexicon


def make_examples(papers: Sequence[Paper], seed: int = 1) -> list[Example]:
    """Return true and false claims about each of the papers."""
    chance = random.Random(seed)
    found: list[Example] = []
    for paper in papers:
        other = chance.choice([one for one in papers if one is not paper])
        maker = Maker(chance, paper, other, load_lexicon())
        found += _of_paper(maker)
    return found


def sentences_of(paper: Paper) -> list[str]:
    """Return the sentences of an abstract that make a claim by themselves."""
    spans = split_sentences(paper.abstract)
    texts = [paper.abstract[span.start : span.end] for span in spans]
    return [text for text in texts if 6 <= len(text.split()) <= 45]


def _of_paper(maker: Maker) -> list[Example]:
    texts = sentences_of(maker.paper)
    others = sentences_of(maker.other)
    if len(texts) < 2 or not others:
        return []
    found: list[Example] = []

    def add(claim: str | None, label: str, kind: str) -> None:
        if claim:
            found.append(Example(claim, maker.paper.id, label, kind))

    for text in maker.chance.sample(texts, min(3, len(texts))):
        add(reword(shorten(text, maker), maker), "supported", "reworded")
    first, second = sorted(maker.chance.sample(range(len(texts)), 2))
    both = [shorten(texts[number], maker).rstrip(".") for number in (first, second)]
    add(reword(f"{both[0]}, and {lower_first(both[1])}.", maker), "supported", "merged")
    add(reformatted(maker.chance.choice(texts), maker), "supported", "reformatted")
    for kind, change in CHANGES.items():
        label = "not_mentioned" if kind in {"overclaimed", "invented"} else "contradicted"
        for text in maker.chance.sample(texts, len(texts)):
            changed = change(shorten(text, maker), maker)
            if changed and changed != text:
                add(reword(changed, maker), label, kind)
                break
    add(reword(shorten(maker.chance.choice(others), maker), maker), "not_mentioned", "other_paper")
    return found


def lower_first(text: str) -> str:
    """Return a sentence as it reads in the middle of another one."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def shorten(text: str, maker: Maker) -> str:
    """Drop what introduces a sentence, what is in brackets, and at times its last clause."""
    text = _WE.sub("", _LEADS.sub("", text))
    text = re.sub(r"\s*\([^()]*\)", "", text)
    if maker.chance.random() < 0.6:
        clauses = re.split(r",\s+(?=which|where|while|and|but|thus|such as|including)", text)
        if len(clauses[0].split()) >= 6:
            text = clauses[0].rstrip(".") + "."
    if maker.chance.random() < 0.4:
        text = re.sub(r"\b(?!only\b|early\b)\w+ly ", "", text, count=1)
    return text[:1].upper() + text[1:]


def reword(text: str, maker: Maker) -> str:
    """Put synonyms in, and clauses in another order."""
    share = maker.chance.choice([0.0, 0.3, 0.6, 0.9])
    chance = maker.chance

    def swap(match: re.Match[str]) -> str:
        word = match[0]
        options = [one for one in SYNONYMS.get(word.lower(), []) if one != word.lower()]
        if not options or chance.random() > share:
            return word
        chosen = chance.choice(options)
        return chosen.capitalize() if word[0].isupper() else chosen

    text = re.sub(r"\b[A-Za-z]+\b", swap, text)
    text = re.sub(r"\b[Ww]e\b", "the authors", text) if chance.random() < 0.7 else text
    text = re.sub(r"\b[Oo]ur\b", "the", text)
    led = re.match(
        r"^((?:By|To|With|In|For|On|When|Using|Unlike|While|Although)\b[^,]+), ([^,]+)\.$", text
    )
    if led and chance.random() < 0.6:
        text = f"{led[2]} {lower_first(led[1])}."
    return text[:1].upper() + text[1:]


def reformatted(text: str, maker: Maker) -> str | None:
    """Write the numbers of a sentence in another way."""
    by_digit = {digit: word for word, digit in _WORDS.items()}

    def other(match: re.Match[str]) -> str:
        digits = match[0]
        if digits in by_digit:
            return by_digit[digits]
        if re.fullmatch(r"\d+\.\d\d?", digits) and maker.chance.random() < 0.5:
            return str(round(float(digits))) if float(digits) > 3 else digits
        return digits

    changed = _NUMBER.sub(other, text).replace("%", " percent")
    for word, digit in _WORDS.items():
        changed = re.sub(rf"\b{word}\b", digit, changed)
    return shorten(changed, maker) if changed != text else None


def negate(text: str, maker: Maker) -> str | None:
    """Put a "not" in, or take one out."""
    if match := _NEGATION.search(text):
        if match[0] == "without":
            return text.replace("without", "with", 1)
        return text[: match.start()] + text[match.end() :]
    if match := _AUXILIARY.search(text):
        return f"{text[: match.end()]} not{text[match.end() :]}"
    if match := _VERB.search(text):
        verb = maker.chance.choice(["does not {}", "fails to {}", "does not {}"]).format(match[1])
        return text[: match.start()] + verb + text[match.end() :]
    return None


def swap_number(text: str, maker: Maker) -> str | None:
    """Change one number, into another one of the abstract or into none of its."""
    places = list(_NUMBER.finditer(text))
    words = [match for word in _WORDS for match in re.finditer(rf"\b{word}\b", text)]
    if not places and not words:
        return None
    match = maker.chance.choice([*places, *words])
    if match[0] in _WORDS:
        new = maker.chance.choice([word for word in _WORDS if word != match[0]])
    else:
        here = [n for n in _NUMBER.findall(maker.paper.abstract) if n != match[0]]
        made = str(
            round(float(match[0].replace(",", "")) * maker.chance.choice([0.5, 0.8, 1.3, 2]))
        )
        new = maker.chance.choice(here) if here and maker.chance.random() < 0.4 else made
    return text[: match.start()] + new + text[match.end() :] if new != match[0] else None


def swap_name(text: str, maker: Maker) -> str | None:
    """Put another name, of the same abstract or of another one, in the place of a name."""
    places = list(_NAME.finditer(text))
    if not places:
        return None
    match = maker.chance.choice(places)
    source = maker.paper if maker.chance.random() < 0.4 else maker.other
    names = [n for n in _NAME.findall(source.abstract) if n.lower() not in match[0].lower()]
    if not names:
        return None
    return text[: match.start()] + maker.chance.choice(names) + text[match.end() :]


def swap_noun(text: str, maker: Maker) -> str | None:
    """Put a rare word of another abstract in the place of a rare word."""
    lexicon = maker.lexicon
    mine = [m for m in re.finditer(r"\b[a-z]{6,}\b", text) if lexicon.rarity(m[0]) > 0.5]
    theirs = [
        w for w in re.findall(r"\b[a-z]{6,}\b", maker.other.abstract) if lexicon.rarity(w) > 0.5
    ]
    if not mine or not theirs:
        return None
    match = maker.chance.choice(mine)
    alike = [word for word in theirs if word[-2:] == match[0][-2:]] or theirs
    return text[: match.start()] + maker.chance.choice(alike) + text[match.end() :]


def turn(text: str, maker: Maker) -> str | None:
    """Put the opposite in the place of a word."""
    words = list(re.finditer(r"\b[a-z]{4,}\b", text))
    maker.chance.shuffle(words)
    for match in words:
        if options := OPPOSITE_FORMS.get(match[0]):
            return text[: match.start()] + maker.chance.choice(options) + text[match.end() :]
    return None


def swap_sides(text: str, maker: Maker) -> str | None:
    """Exchange the two sides of a comparison or of a relation."""
    match = _RELATION.match(text)
    if match is None or len(match["right"].split()) < 1 or maker.chance.random() < 0.1:
        return None
    left, right = lower_first(match["left"]), match["right"]
    return f"{right[:1].upper()}{right[1:]} {match['verb']} {left}{match['rest']}"


def strengthen(text: str, maker: Maker) -> str | None:
    """Say of all what is said of some, and for sure what is said to be likely."""
    options = [(pattern, new) for pattern, new in _RAISES if re.search(pattern, text)]
    if not options:
        return None
    pattern, new = maker.chance.choice(options)
    return re.sub(pattern, new, text, count=1)


def overclaim(text: str, maker: Maker) -> str | None:
    """Add what makes a sentence say more than it did."""
    ending = maker.chance.choice(
        [
            " in every case", " for all languages", " and solves the problem completely",
            " without any loss", " better than any other method", " in all settings",
            " for the first time in the field", " and is optimal", " on all known datasets",
            " and removes the need for human annotation", " with guaranteed correctness",
        ]
    )  # fmt: skip
    return text.rstrip(".") + ending + "."


def invent(text: str, maker: Maker) -> str | None:
    """Add a clause of another abstract."""
    clauses = [
        clause
        for sentence in sentences_of(maker.other)
        for clause in re.findall(
            r"\b((?:using|with|on|by|from|for|in|through) [^,.;()]{12,70})[,.;]", sentence
        )
    ]
    if not clauses:
        return None
    return f"{text.rstrip('.')} {maker.chance.choice(clauses)}."


_OPPOSITES = """
    improve/degrade improves/degrades improved/degraded increase/decrease increases/decreases
    increased/decreased increasing/decreasing higher/lower high/low better/worse best/worst
    more/less large/small larger/smaller outperforms/underperforms outperform/underperform
    strong/weak stronger/weaker faster/slower effective/ineffective efficient/inefficient
    reduce/increase reduces/increases reduced/increased supervised/unsupervised
    positive/negative similar/dissimilar simple/complex easy/difficult difficult/easy hard/easy
    with/without superior/inferior robust/fragile accurate/inaccurate well/poorly poorly/well
    important/unimportant useful/useless able/unable explicit/implicit explicitly/implicitly
    significant/negligible significantly/hardly often/rarely many/few rare/frequent
    limited/unlimited before/after upper/lower enhance/impair enhances/impairs labeled/unlabeled
    successful/unsuccessful successfully/unsuccessfully helps/hurts help/hurt beneficial/harmful
    single/multiple multilingual/monolingual local/global dense/sparse known/unknown
    challenging/easy complex/simple costly/cheap expensive/cheap relevant/irrelevant
    consistent/inconsistent consistently/rarely direct/indirect directly/indirectly
    formal/informal available/unavailable abundant/scarce scarce/abundant
"""
OPPOSITE_FORMS: dict[str, list[str]] = {}
for _pair in _OPPOSITES.split():
    _first, _second = _pair.split("/")
    OPPOSITE_FORMS.setdefault(_first, []).append(_second)
    OPPOSITE_FORMS.setdefault(_second, []).append(_first)

CHANGES: dict[str, Change] = {
    "negated": negate,
    "number_swapped": swap_number,
    "name_swapped": swap_name,
    "noun_swapped": swap_noun,
    "turned": turn,
    "sides_swapped": swap_sides,
    "strengthened": strengthen,
    "overclaimed": overclaim,
    "invented": invent,
}
