"""Texts of papers, people and models inside a Markdown file: they say what they say, and no more.

A file is opened by readers with extensions of all kinds, so what means something to the common
ones (CommonMark, GitHub, Pandoc) is escaped, and formulas are kept only if they mean nothing else.
"""

import re

from paper_qa.bibtex import is_safe_formula, one_line, web_address

_SIGN = re.compile(r"[\\`*_\[\]{}<>~|$@&^#]|:(?=//)|(?<=\bwww)\.", re.IGNORECASE)
_AT_START = re.compile(r"^(?=[+=:%-])|^(\(?(?:\d{1,9}|[A-Za-z]{1,4}))(?=[.)](?:\s|$))")
_FORMULA = re.compile(
    r"""
    (?<![\\$\w])\$(?=[^\s$])
    (?: [A-Za-z0-9 {}^+=/.,;'()|>!-]
      | \\[A-Za-z{},;!| ]
      | (?<=[A-Za-z0-9])_        # elsewhere it may open emphasis
      | <(?=[ \d=])              # elsewhere it may open a tag
      | \[ | \](?![(\[:])        # no link
    ){1,400}?
    (?<=\S)\$(?![\d$])
    """,
    re.VERBOSE,
)
_BARE_ADDRESS = re.compile(r"\bwww\.", re.IGNORECASE)
_BRACKETED = re.compile(r"\[[^\[\]]*\]")


def escaped(text: str) -> str:
    """Return a text on one line in which no sign is markup; harmless formulas stay formulas."""
    line = one_line(text)
    parts: list[str] = []
    position = 0
    for match in _FORMULA.finditer(line):
        if _is_inert(match[0]):
            parts += [_escaped_signs(line[position : match.start()]), match[0]]
            position = match.end()
    parts.append(_escaped_signs(line[position:]))
    return no_block("".join(parts))


def no_block(line: str) -> str:
    """Return a line of escaped texts so that it begins no list, heading or rule as a whole."""
    return _AT_START.sub(lambda match: f"{match[0]}\\", line)


def _is_inert(formula: str) -> bool:
    """Say whether a formula of allowed signs is no link, and breaks none that it stands in."""
    return (
        is_safe_formula(formula)
        and not _BARE_ADDRESS.search(formula)
        and not set("[]").intersection(_BRACKETED.sub("", formula))
    )


def _escaped_signs(text: str) -> str:
    return _SIGN.sub(lambda match: f"\\{match[0]}", text)


def paragraphs(text: str) -> str:
    """Return a text with its lines, where none can begin a heading, a list or code."""
    lines = (escaped(line) for line in text.splitlines())
    return "\n\n".join(line for line in lines if line)


def link(text: str, url: str) -> str:
    """Return a link to a page of the web, or only its text if the address is of another kind."""
    address = web_address(url)
    return f"[{escaped(text)}]({address})" if address else escaped(text)
