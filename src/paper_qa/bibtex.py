r"""Papers as BibTeX entries.

Everything about a paper is untrusted: it can't leave its field, and TeX obeys none of it but
harmless formulas between dollars.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from urllib.parse import quote, urlsplit

from paper_qa.domain import Paper
from paper_qa.words import content_words

_NO_NOTES: Mapping[str, str] = MappingProxyType({})
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Half characters, and those that turn the direction of what follows.
_INVISIBLE = re.compile("[\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_ADDRESS_SAFE = "%/:?#@!$&'+,=~"
_NO_ASCII = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O"}
    | {"ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i"}
)
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
} | {sign: f"\\{sign}" for sign in "{}%&#_$"}
_LATEX = str.maketrans(_SPECIAL)
# TeX has commands that read files, write them and run programs, and packages bring more: these are
# known to do none of it.
_FORMULA_COMMANDS = frozenset(
    """
    Alpha Beta Delta Gamma Lambda Omega Phi Pi Psi Sigma Theta Upsilon Xi alpha beta chi delta
    epsilon eta gamma iota kappa lambda mu nu omega phi pi psi rho sigma tau theta upsilon
    varepsilon varphi varpi varrho varsigma vartheta xi zeta ell hbar imath jmath aleph Re Im wp
    mathbb mathbf mathcal mathfrak mathit mathrm mathscr mathsf mathtt boldsymbol bm operatorname
    text textbf textit textrm textsc textsf texttt emph mbox rm bf it sf tt
    acute bar breve check ddot dot grave hat overline overrightarrow tilde underline vec widehat
    widetilde overbrace underbrace overset underset stackrel
    frac dfrac tfrac binom sqrt sum prod coprod int iint oint lim liminf limsup max min sup inf arg
    argmax argmin det dim exp gcd hom ker lg ln log Pr sin cos tan cot sec csc sinh cosh tanh deg
    arcsin arccos arctan
    le leq leqslant ge geq geqslant lt gt ne neq ll gg approx asymp cong equiv prec preceq propto
    sim simeq succ succeq lesssim gtrsim doteq subset subseteq supset supseteq in ni notin mid
    parallel perp models vdash not nmid
    pm mp times div cdot cdots ast star circ bullet cap cup setminus wedge vee oplus ominus otimes
    odot land lor lnot neg bigcap bigcup bigoplus bigotimes bigvee bigwedge
    to gets mapsto leftarrow rightarrow leftrightarrow Leftarrow Rightarrow Leftrightarrow
    longrightarrow longleftarrow Longrightarrow longmapsto implies iff uparrow downarrow
    hookrightarrow forall exists nexists emptyset varnothing infty partial nabla top bot angle
    triangle square prime dagger ddagger dots ldots vdots ddots colon quad qquad
    left right middle big Big bigg Bigg bigl bigr Bigl Bigr langle rangle lceil rceil lfloor rfloor
    lvert rvert lVert rVert vert Vert lbrace rbrace limits nolimits displaystyle textstyle
    """.split()  # noqa: SIM905 - two hundred quoted words are no easier to read
)
_COMMAND = re.compile(r"\\([A-Za-z]+|.)")
_COMMAND_SIGNS = frozenset("\\{},;:!|% #&_")
# As Pandoc has it: "$5 to $10" is no formula. The bound keeps hostile texts from taking seconds.
_FORMULA = re.compile(r"(?<![\\$])\$(?=[^\s$])[^$]{1,400}(?<=\S)\$(?![\d$])")
_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
_COLLECTIVE = re.compile(
    r"\b(?:team|collaboration|consortium|group|project|initiative|institute|lab|labs|university"
    r"|inc|and|others)\b",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"(?:jr|sr)\.?|i{2,3}|iv", re.IGNORECASE)
_CAPITAL_PARTICLES = frozenset(
    {"van der", "van den", "van de", "van 't", "von der", "von den", "de la", "de las", "de los"}
)


def entries(papers: Iterable[Paper], *, notes: Mapping[str, str] = _NO_NOTES) -> str:
    """Return the entries of a BibTeX file, whose keys differ by a, b, … where they must.

    Args:
        papers: what to list, in this order.
        notes: what goes into ``annote``, by paper id.
    """
    listed = list(papers)
    keys = _different([citation_key(paper) for paper in listed])
    return "".join(
        f"{entry(paper, key=key, note=notes.get(paper.id, ''))}\n"
        + ("" if number == len(listed) else "\n")
        for number, (paper, key) in enumerate(zip(listed, keys, strict=True), start=1)
    )


def entry(paper: Paper, *, key: str = "", note: str = "") -> str:
    """Return one entry, without its abstract; ``key`` stands in for `citation_key`."""
    kind = "inproceedings" if one_line(paper.venue) else "misc"
    authors = (_author(name) for name in map(one_line, paper.authors) if name)
    fields = {
        "title": _title(one_line(paper.name)),
        "author": " and ".join(authors),
        "booktitle": _latex(one_line(paper.venue)),
        "year": "" if paper.year is None else str(paper.year),
        "url": web_address(paper.url),
        "note": "Retracted" if paper.retracted else "",
        "annote": _latex(one_line(note)),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key or citation_key(paper)},", *lines, "}"])


def citation_key(paper: Paper) -> str:
    """Return the key of a paper: ``dao2024transformers``, in lower case ASCII letters and digits.

    What is not known is left out; without an author it begins with ``anonymous``.
    """
    names = [name for name in map(one_line, paper.authors) if name]
    family = _plain(_family_and_given(names[0])[0]) if names else ""
    title = one_line(paper.name)
    words = content_words(_FORMULA.sub(" ", title)) or content_words(title)
    word = next((plain for word, _ in words if (plain := _plain(word))), "")
    year = "" if paper.year is None else str(abs(paper.year))
    return f"{family[:40] or 'anonymous'}{year}{word[:40]}"


def one_line(text: str) -> str:
    """Return a text on one line, without control characters and signs that turn its direction."""
    text = _INVISIBLE.sub("", _CONTROL.sub(" ", unicodedata.normalize("NFC", text)))
    return " ".join(text.split())


def web_address(url: str) -> str:
    """Return an http or https address that holds no sign with a meaning elsewhere, or ''.

    Blanks, quotes, braces, brackets, backslashes and the like become ``%20`` and so on.
    """
    address = one_line(url)
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:  # no address at all
        return ""
    return quote(address, safe=_ADDRESS_SAFE) if is_web else ""


def ascii_text(text: str) -> str:
    """Return a text with Latin letters without their accents, and without all other letters."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_NO_ASCII))
    return decomposed.encode("ascii", "ignore").decode("ascii")


def _plain(text: str) -> str:
    return re.sub("[^a-z0-9]", "", ascii_text(text).lower())


def _different(keys: list[str]) -> list[str]:
    """Give the same keys a letter each, and none that is a key already."""
    taken = set(keys)
    found: list[str] = []
    for key in keys:
        if keys.count(key) == 1:
            found.append(key)
            continue
        number = 0
        while (with_letter := key + _letters(number)) in taken:
            number += 1
        taken.add(with_letter)
        found.append(with_letter)
    return found


def _letters(number: int) -> str:
    """Count a, b, … z, aa, ab, …, from 0."""
    before, letter = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("a") + letter)


def _author(name: str) -> str:
    family, *more = _family_and_given(name)
    if not any(more):
        return f"{{{_latex(family)}}}"
    return ", ".join(_latex(part) for part in (family, *more) if part)


def _family_and_given(name: str) -> tuple[str, str, str]:
    """Part a name into family name with particles, suffix, and given names, as far as it tells."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 3 and all(parts) and _SUFFIX.fullmatch(parts[1]):
        return parts[0], parts[1], parts[2]
    if _COLLECTIVE.search(name) or len(parts) > 2 or not all(parts):
        return name, "", ""
    if len(parts) == 2 and not _SUFFIX.fullmatch(parts[1]):
        return parts[0], "", parts[1]
    words = [*parts[0].split(), *parts[1:]]
    suffix = words.pop() if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) else ""
    first = _first_of_family(words)
    return " ".join(words[first:]), suffix, " ".join(words[:first])


def _first_of_family(words: list[str]) -> int:
    """Find where the family name begins: at its particles, which are in lower case as a rule."""
    for number, word in enumerate(words[1:-1], start=1):
        pair = f"{word} {words[number + 1]}".lower()
        is_pair = number + 2 < len(words) and pair in _CAPITAL_PARTICLES
        if word[0].islower() or is_pair:
            return number
    return len(words) - 1


def _title(text: str) -> str:
    """Return a title in which styles that make small letters leave names and formulas alone."""
    return _pieces(text, lambda formula: f"{{{formula}}}", _with_capitals_kept)


def _latex(text: str) -> str:
    return _pieces(text, lambda formula: formula, lambda plain: plain.translate(_LATEX))


def _pieces(text: str, formula: Callable[[str], str], plain: Callable[[str], str]) -> str:
    """Change safe formulas in one way, and what is between them in another."""
    formulas = [match for match in _FORMULA.finditer(text) if is_safe_formula(match[0])]
    between = _FORMULA.sub(lambda match: "" if is_safe_formula(match[0]) else match[0], text)
    # BibTeX counts braces, with a backslash or without: what does not pair up has to go.
    braces = "" if _is_balanced(between) else "{}"
    found: list[str] = []
    position = 0
    for match in formulas:
        found += [_without(text[position : match.start()], braces, plain), formula(match[0])]
        position = match.end()
    return "".join([*found, _without(text[position:], braces, plain)])


def _without(text: str, signs: str, change: Callable[[str], str]) -> str:
    return change(text.translate(dict.fromkeys(map(ord, signs))))


def is_safe_formula(formula: str) -> bool:
    """Say whether TeX can be given ``$…$``: one formula, whole, with commands of maths only."""
    inside = formula[1:-1]
    bare = _COMMAND.sub("", inside)  # without what has a backslash
    return (
        len(formula) > 2
        and formula[0] == formula[-1] == "$"
        and not any(sign in bare for sign in "\\$%&#")
        and "^^" not in inside  # TeX makes any sign of what follows
        and all(
            name in _FORMULA_COMMANDS or name in _COMMAND_SIGNS for name in _COMMAND.findall(inside)
        )
        and _is_balanced(inside)
    )


def _is_balanced(text: str) -> bool:
    r"""Say whether braces pair up, to BibTeX, for which ``\{`` is a brace, and to TeX."""
    return all(_pair_up(pattern, text) for pattern in (r"[{}]", r"(?<!\\)(?:\\\\)*([{}])"))


def _pair_up(pattern: str, text: str) -> bool:
    depth = 0
    for brace in re.findall(pattern, text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def _with_capitals_kept(text: str) -> str:
    parts: list[str] = []
    position = 0
    for match in _WORD.finditer(text):
        word = f"{{{match[0]}}}" if _has_own_capitals(match[0]) else match[0]
        parts += [text[position : match.start()].translate(_LATEX), word]
        position = match.end()
    return "".join([*parts, text[position:].translate(_LATEX)])


def _has_own_capitals(word: str) -> bool:
    """Tell "GPT", "D4RL", "SpikeLM" and the "Q" of "Q-learning" from words like others."""
    if not any(letter.isupper() for letter in word) or word == "A":
        return False
    is_inside = any(letter.isupper() or letter.isdigit() for letter in word[1:])
    return is_inside or len(word) == 1
