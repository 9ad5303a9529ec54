"""A few papers and answers for the tests of the chat, small enough to know by heart."""

from paper_qa.domain import Claim, Paper
from scripted_qa import quote_of

GRAPHS = Paper(
    "muller24c",
    "Aligning Transformers with the $k$-WL Hierarchy",
    "Graph networks are bounded. We align transformers with the $k$-WL test for $k>1$. "
    "Pure transformers are as strong. They cost from $5 to $10 a day.",
    ("Luis Müller", "Christopher Morris"),
    2024,
    "ICML 2024",
    "https://proceedings.mlr.press/v235/muller24c.html",
)
VIDEO = Paper(
    "qian24a",
    "Momentor: Fine-Grained Temporal Reasoning",
    "Videos are long. We design an automatic data generation engine to construct Moment-10M. "
    "Momentor excels.",
    tuple(f"Author {letter}" for letter in "ABCDEFGH"),
    2024,
    "ICML 2024",
    "https://proceedings.mlr.press/v235/qian24a.html",
)
BARE = Paper("p-1", "", "An abstract that came without anything else, and goes on for a while yet.")

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>[x](javascript:alert(3))"
HOSTILE = Paper(
    "evil",
    f"{EVIL} ${{alert(4)}} $<img src=x onerror=alert(5)>$",
    f"{EVIL} ![x](http://evil.example/a.png) We attack. \\href{{javascript:alert(6)}}{{x}} "
    "$\\href{javascript:alert(7)}{x}$ </li></ol><style>*{display:none}</style> The end.",
    (EVIL, '"><svg onload=alert(8)>'),
    2024,
    f"<form action=http://evil.example>{EVIL}",
    "javascript:alert(9)",
)

PAPERS = [GRAPHS, VIDEO, BARE]
ENGINE = "We design an automatic data generation engine to construct Moment-10M."
ALIGN = "We align transformers with the $k$-WL test for $k>1$."
STRONG = "Pure transformers are as strong."


def claims() -> list[Claim]:
    return [
        Claim(f"Qian et al.: “{ENGINE[:-1]}”", "supported", 0.9, (quote_of(VIDEO, ENGINE, 1),)),
        Claim(
            "Transformers can be aligned with $k$-WL.",
            "supported",
            0.8,
            (quote_of(GRAPHS, ALIGN, 2), quote_of(GRAPHS, STRONG, 2)),
        ),
    ]
