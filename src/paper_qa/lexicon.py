"""What is known of words by themselves: stems, opposites, synonyms, and how rare they are.

The opposites and synonyms are WordNet's, as far as abstracts use the words; ``models/README.md``
says how the file is made. What WordNet lacks is here: prefixes, and directions of comparison.
"""

import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

LEXICON_FILE = "lexicon.json"
MIN_STEM = 4

_ENDINGS = re.compile(
    r"(?:ization|isation|ation|ition|tion|sion|ion|ment|ness|ity|ance|ence|ive|able|ible|ize|ise|"
    r"ized|ised|izing|ising|ated|ating|ate|ical|ally|al|ing|ed|ers|er|ors|or|ly|es|s|e|y|ic)$"
)
_NEGATING_PREFIX = re.compile(r"^(?:un|in|im|ir|il|dis|non|mis|de|anti)-?")
_OPPOSED_PREFIXES = (("over", "under"), ("out", "under"), ("multi", "mono"), ("hyper", "hypo"))

_UP = """
    more most higher highest greater greatest larger largest bigger increase increases increased
    increasing increasingly improve improves improved improving improvement improvements boost
    boosts boosted boosting enhance enhances enhanced enhancing raise raises raised raising grow
    grows growth gain gains gained rise rises rising rose up upper above faster better best
    outperform outperforms outperformed outperforming surpass surpasses surpassed exceed exceeds
    exceeded exceeding beat beats superior superiority stronger strong strongly high highly
    large many much frequent frequently often easy easier simple simpler accelerate accelerates
    accelerated speedup benefit benefits benefited beneficial positive positively promote
    promotes promoted upregulated upregulation upregulates activate activates activated
    activation elevated amplify amplifies strengthen strengthens longer long wider broad broader
    advantage success succeed succeeds successfully accurate accurately effective efficient
    robust reliable stable well cheap rich abundant favour favor help positive ample
"""
_DOWN = """
    less least lower lowest smaller smallest fewer fewest decrease decreases decreased
    decreasing reduce reduces reduced reducing reduction reductions degrade degrades degraded
    degradation diminish diminishes diminished drop drops dropped fall falls falling fell
    decline declines declined down below slower worse worst worsen worsens underperform
    underperforms underperformed inferior inferiority weaker weak weakly low small few little
    rare rarely seldom infrequent infrequently hard harder difficult complex decelerate slowdown
    harm harms harmed harmful hurt hurts negative negatively inhibit inhibits inhibited
    inhibition downregulated downregulation downregulates deactivate suppress suppresses
    suppressed attenuate attenuates weaken weakens shorter short narrow narrower disadvantage
    failure fail fails failed unsuccessfully inaccurate inaccurately ineffective inefficient
    brittle unreliable unstable prevent prevents prevented poor poorly badly challenging costly
    expensive scarce sparse lacking moderate minor limited disadvantages
"""
_PAIRS = """
    with/without before/after more/less more/fewer most/least higher/lower larger/smaller
    better/worse best/worst upper/lower above/below increase/decrease increase/reduce
    increases/decreases increases/reduces increased/decreased increased/reduced improve/degrade
    improves/degrades improve/worsen improves/worsens improves/hurts improve/harm improves/harms
    outperform/underperform outperforms/underperforms faster/slower rise/fall gain/loss
    superior/inferior stronger/weaker easy/hard easy/difficult easier/harder simple/complex
    supervised/unsupervised online/offline local/global same/different dense/sparse
    known/unknown upregulated/downregulated activation/inhibition activates/inhibits
    promotes/inhibits promotes/prevents accelerates/slows encoder/decoder discrete/continuous
    linear/nonlinear include/exclude including/excluding maximum/minimum maximize/minimize
    maximal/minimal single/multiple static/dynamic frequent/rare frequently/rarely often/rarely
    often/seldom always/never all/none all/some both/neither first/last accept/reject high/low
    large/small strong/weak positive/negative advantage/disadvantage benefit/harm
    success/failure similar/different upper/lower lossy/lossless monolingual/multilingual
    human/automatic training/inference train/test input/output source/target
    theoretical/empirical early/late well/poorly well/badly challenging/easy challenging/easier
    increase/decline goes/drops earlier/later shallow/deep narrow/broad explicit/implicit
    internal/external
"""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Which stems are opposite, which are alike, and how rare the common ones are."""

    opposites: Mapping[str, frozenset[str]]
    synonyms: Mapping[str, frozenset[str]]
    common: Mapping[str, float]

    def rarity(self, word: str) -> float:
        """Return how rare a word is: 0 if every abstract has it, 1 if hardly any."""
        return self.common.get(stem(word), 1.0)

    def opposed(self, first: str, second: str) -> bool:
        """Tell whether two words in lower case are opposites."""
        if first == second:
            return False
        listed = stem(second) in self.opposites.get(stem(first), frozenset())
        return listed or _prefix_opposed(first, second) or _prefix_opposed(second, first)

    def alike(self, first: str, second: str) -> bool:
        """Tell whether two words can be forms or synonyms of each other."""
        one, other = stem(first), stem(second)
        return one == other or other in self.synonyms.get(one, frozenset())


@functools.lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a word in lower case without its endings, the same for all of its forms."""
    kept = word.replace("’", "'").removesuffix("'s")
    kept = re.sub(r"ies$", "y", kept)
    while len(kept) > MIN_STEM:
        shorter = _ENDINGS.sub("", kept)
        if len(shorter) < MIN_STEM or shorter == kept:
            break
        kept = shorter
    return kept


@functools.cache
def load_lexicon() -> Lexicon:
    """Read the lexicon that comes with the package, on the first call."""
    content: dict[str, Any] = json.loads(
        (resources.files("paper_qa.models") / LEXICON_FILE).read_text("utf-8")
    )
    pairs = [pair.split("/") for pair in _PAIRS.split()]
    return Lexicon(
        _both_ways([*content["opposites"], *pairs]),
        _both_ways(content["synonyms"]),
        content["common"],
    )


def direction(word: str) -> int:
    """Return 1 for a word of more or better, -1 for one of less or worse, else 0."""
    up, down = _directions()
    return int(stem(word) in up) - int(stem(word) in down)


@functools.cache
def _directions() -> tuple[frozenset[str], frozenset[str]]:
    up, down = ({stem(word) for word in words.split()} for words in (_UP, _DOWN))
    return frozenset(up - down), frozenset(down - up)


def _both_ways(pairs: Iterable[Sequence[str]]) -> dict[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for first, second in pairs:
        one, other = stem(first), stem(second)
        if one != other:
            found[one].add(other)
            found[other].add(one)
    return {key: frozenset(values) for key, values in found.items()}


def _prefix_opposed(first: str, second: str) -> bool:
    """Tell whether the first is the second with a prefix, or an ending, that negates it."""
    negated, turned = _negated_by(first)
    return second in turned or (negated != "" and negated == stem(second))


@functools.lru_cache(maxsize=20_000)  # each word of a claim meets each word of an abstract
def _negated_by(word: str) -> tuple[str, frozenset[str]]:
    """Return the stem that a word negates, if it does, and the words that turn its sense round."""
    bare = _NEGATING_PREFIX.sub("", word)
    negated = stem(bare) if bare != word and len(bare) >= MIN_STEM else ""
    turned = {
        other + word.removeprefix(one) for one, other in _OPPOSED_PREFIXES if word.startswith(one)
    }
    if word.endswith("less"):
        turned.add(word.removesuffix("less") + "ful")
    return negated, frozenset(turned)
