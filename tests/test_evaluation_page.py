"""The report as a page: what it shows, and that nothing in it runs or is fetched."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from paper_qa.cli import main
from paper_qa.domain import Claim, Turn, Withheld
from paper_qa.evaluation import ClaimReport, ClaimResult, JudgedClaim, Report, render_page
from paper_qa.evaluation.charts import Bar, bar_chart, calibration_chart, risk_coverage_chart
from paper_qa.evaluation.flaws import flaws
from paper_qa.evaluation.markup import element, escaped, joined
from paper_qa.evaluation.measures import CalibrationBin
from scripted_results import cite, declined, result, said
from seeds import EVALUATION
from web_browser import chromium, window

pytest_plugins = ["seed_library"]

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=http://evil.test/x.png onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "' onmouseover='alert(4)",
    "</style></title></svg></details><iframe src=//evil.test>",
    "<a href=javascript:alert(5)>here</a>",
    "<!-- <base href=http://evil.test> -->",
    "&lt;b&gt; &#60;script&#62;",
    "<meta http-equiv=refresh content=0;url=http://evil.test>",
]
EVERYTHING = " ".join(HOSTILE)
PAGE = "https://example.org/paper?a=1&b=2"


class Opened(HTMLParser):
    """A page as a browser reads it: its elements, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in {"meta", "link", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def claims_of(*judged: tuple[JudgedClaim, Claim]) -> ClaimReport:
    return ClaimReport(tuple(ClaimResult(claim, checked, 2.0) for claim, checked in judged))


def with_url(answer, url: str):
    return replace(answer, references=tuple(replace(r, url=url) for r in answer.references))


@pytest.fixture
def report() -> Report:
    """A right answer, one all wrong, a wrong refusal, a right one, and a false answer."""
    right = with_url(said("Alpha [1].", cite("a"), retrieved="ab"), PAGE)
    wrong = said("Nothing.", cite("c", "it"), retrieved="c", withheld=(Withheld("Odd.", 0.2),))
    return Report(
        (
            result("f1", right, gold="a", facts=("alpha",)),
            replace(
                result(
                    "f2",
                    wrong,
                    gold="b",
                    facts=("beta || bet", "gamma"),
                    history=(Turn("user", "Hm"),),
                ),
                num_valid_quotes=0,
            ),
            result("f3", declined(retrieved="b"), gold="b"),
            result("u1", declined("no_evidence", confidence=0.1), kind="off_topic"),
            result("u2", said("So [1].", cite("c"), confidence=0.6), kind="absent_topic"),
        )
    )


@pytest.fixture
def hostile() -> Report:
    """Text that would like to be markup, wherever text of the data may come."""
    answer = said(
        EVERYTHING,
        cite(EVERYTHING, EVERYTHING),
        model=EVERYTHING,
        withheld=(Withheld(EVERYTHING, 0.1),),
    )
    titled = replace(answer.references[0], title=EVERYTHING, url="javascript:alert(6)")
    answer = replace(answer, references=(titled,))
    history = (Turn("user", EVERYTHING),)
    found = result(EVERYTHING, answer, gold=[EVERYTHING], facts=(EVERYTHING,), history=history)
    asked = replace(found.question, question=EVERYTHING, type=EVERYTHING)
    refused = result("u", replace(declined(), text=EVERYTHING), kind=EVERYTHING)
    return Report((replace(found, question=asked), refused))


@pytest.fixture
def hostile_claims() -> ClaimReport:
    judged = JudgedClaim(EVERYTHING, EVERYTHING, EVERYTHING, "supported", EVERYTHING)
    return claims_of((judged, Claim(EVERYTHING, "contradicted", 0.2)))


def test_the_page_shows_the_measures_as_tables_with_heads(report):
    page = Opened(render_page(report))

    captions = [text for text in page.texts if text in {"Retrieval", "Answers", "Declining"}]
    heads = Counter(attributes.get("scope") for attributes in page.all("th"))
    assert {"Retrieval", "Answers", "Declining"} <= set(captions)
    assert set(heads) == {"col", "row"}
    assert len(page.all("caption")) == len(page.all("table"))
    assert "5 questions, answered by extractive" in page.text
    assert ".667 [.00 1.00]" in page.text


def test_the_page_is_well_formed_and_its_ids_are_unique(report, hostile, hostile_claims):
    for page in (Opened(render_page(report)), Opened(render_page(hostile, hostile_claims))):
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert page.open == []
        assert len(ids) == len(set(ids))


def test_every_chart_has_a_name_and_a_description(report):
    page = Opened(render_page(report))
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}

    charts = page.all("svg")

    assert len(charts) == 8  # six measures, the risk, the calibration
    for chart in charts:
        assert chart["role"] == "img"
        assert {chart["aria-labelledby"], chart["aria-describedby"]} <= ids


def test_the_page_lists_each_question_with_what_was_cited_and_what_is_wrong(report):
    page = Opened(render_page(report))

    kinds = [attributes["class"] for attributes in page.all("details")]
    assert kinds == ["right", "flawed", "flawed", "right", "flawed"]
    assert "Only the 3 of 5 with something wrong" in page.text
    for shown in ("What is f1?", "Alpha [1].", "Title a", "abstract", "user: Hm", "Odd."):
        assert shown in page.text


def test_what_is_wrong_is_said_one_thing_each(report):
    assert [flaws(found) for found in report.results] == [
        [],
        [
            "not among the papers retrieved: b",
            "fact not stated: beta",
            "fact not stated: gamma",
            "not cited: b",
            "cited, though no source of it: c",
            "quotes that do not stand in their abstract: 1",
        ],
        ["declined, though answered by b"],
        [],
        ["answered, though no abstract says it (absent_topic)"],
    ]


def test_a_wrong_reason_is_a_flaw_and_a_premise_set_right_is_none():
    reason = result("u1", declined("no_evidence"), kind="false_premise")
    corrected = said("No [1].", cite("a"), premise_corrected=True)
    premise = result("u2", corrected, kind="false_premise", near=("a",))

    assert flaws(reason) == ["declined as no_evidence, where not_in_abstract is right"]
    assert flaws(premise) == []
    assert flaws(result("u3", declined(), kind="no_such_kind")) == []


def test_claims_are_shown_if_they_were_checked(report):
    claims = claims_of(
        (
            JudgedClaim("c1", "a", "Rain is wet.", "supported", "verbatim"),
            Claim("", "supported", 1),
        ),
        (JudgedClaim("c2", "b", "Rain is dry.", "contradicted", "swap"), Claim("", "supported", 1)),
    )

    page, alone = Opened(render_page(report, claims)), Opened(render_page(None, claims))

    for opened in (page, alone):
        assert "2 claims, each checked against one abstract" in opened.text
        assert "1 told wrong" in opened.text
        assert "Rain is dry. c2, swap, b: contradicted, and told supported (1.00)" in opened.text
        assert "Rain is wet." not in opened.text
    assert "nDCG@10" not in alone.text
    assert "claims, each" not in Opened(render_page(report)).text


def test_hostile_text_stays_text(hostile, hostile_claims):
    page = Opened(render_page(hostile, hostile_claims))

    assert {tag for tag, _ in page.elements} <= {
        *("html", "head", "meta", "link", "title", "style", "body", "main", "section", "div"),
        *("h1", "h2", "h3", "p", "ul", "li", "q", "dl", "dt", "dd", "blockquote", "span", "code"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
        *("details", "summary", "input", "label", "a"),
        *("svg", "desc", "g", "text", "rect", "line", "polyline", "circle"),
    }
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert not {"src", "srcset", "action", "formaction", "style"} & set(attributes)
    assert page.all("a") == []  # javascript: is no page to open
    assert page.text.count(EVERYTHING) >= 12


def test_nothing_is_fetched_and_only_papers_are_linked(report):
    page = Opened(render_page(report))

    linked = [attributes["href"] for _, attributes in page.elements if "href" in attributes]
    policy = page.all("meta")[2]
    assert linked == ["data:,", PAGE]
    assert policy["content"].startswith("default-src 'none'; ")
    assert "url(" not in page.text
    assert "@import" not in page.text
    assert page.all("a")[0]["rel"] == "noopener noreferrer"


@pytest.mark.parametrize(
    "url",
    ["", "javascript:alert(1)", "data:text/html,x", "//evil.test", "https:", "http://[bad", " x"],
)
def test_what_is_no_address_of_a_page_is_no_link(url):
    answer = with_url(said("Alpha [1].", cite("a")), url)

    assert Opened(render_page(Report((result("f1", answer, gold="a"),)))).all("a") == []


def test_characters_that_reorder_or_cannot_be_written_are_shown_as_boxes():
    text = "a\x00b\u202ec\ud800d\ne"

    assert escaped(text) == "a\ufffdb\ufffdc\ufffdd\ne"
    assert render_page(Report((result(text, declined()),))).encode("utf-8")


def test_markup_is_escaped_once_and_text_always():
    inner = element("b", "1 < 2", title='"')

    assert inner == '<b title="&quot;">1 &lt; 2</b>'
    assert joined([inner, "<"], ", ") == f"{inner}, &lt;"
    assert element("p", inner, aria_label="&", class_="c") == (
        f'<p aria-label="&amp;" class="c">{inner}</p>'
    )


def test_a_bar_is_as_long_as_its_value_and_its_interval_has_ends():
    chart = Opened(
        bar_chart("k", "recall", [Bar("a", 0.5, (0.25, 0.75)), Bar("b" * 30, 1.0, None)])
    )

    lengths = [float(attributes["width"]) for attributes in chart.all("rect")]
    assert lengths == [100.0, 200.0]
    whiskers = [line for line in chart.all("line") if line["class"] == "whisker"]
    assert [(line["x1"], line["x2"]) for line in whiskers] == [
        ("150.0", "250.0"),
        ("150.0", "150.0"),
        ("250.0", "250.0"),
    ]
    assert "a: 0.50, interval 0.25 to 0.75; " in chart.text
    assert f"{'b' * 14}…" in chart.texts


def test_the_curve_goes_through_its_points():
    """The plot of 280 by 280 units begins at (44, 291), and ends at the highest risk, .5."""
    points = [(0.25, 0.0), (0.5, 0.5), (1.0, 0.25)]

    chart = Opened(risk_coverage_chart(points, now=(0.5, 0.5)))

    assert chart.all("polyline")[0]["points"] == "114.0,291.0 184.0,11.0 324.0,151.0"
    assert (chart.all("circle")[0]["cx"], chart.all("circle")[0]["cy"]) == ("184.0", "11.0")
    assert "now 0.50 are answered, and 0.50 of the answers are false" in chart.text
    assert Opened(risk_coverage_chart([(1.0, 1.0)], now=None)).all("circle") == []


def test_a_bin_is_a_dot_at_its_confidence():
    chart = Opened(calibration_chart([CalibrationBin(3, 0.5, 1.0), CalibrationBin(1, 0.0, 0.0)]))

    dots = [(float(dot["cx"]), float(dot["cy"])) for dot in chart.all("circle")]
    assert dots == [(184.0, 11.0), (44.0, 291.0)]
    assert "3 of confidence 0.50: 1.00 are answerable" in chart.text


def test_a_report_without_answers_or_intervals_is_a_page(report):
    refused = Report((report.results[2],))

    assert "None" not in Opened(render_page(refused)).text
    assert Opened(render_page(Report(()))).open == []


@pytest.fixture
def evaluate(
    capsys: pytest.CaptureFixture[str], seed_home: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return what runs ``paper-qa evaluate`` on the seeds."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["evaluate", "--home", str(seed_home), *map(str, arguments)])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_the_shell_writes_the_page_and_the_json_beside_it(evaluate, tmp_path):
    folder = tmp_path / "new" / "report"
    asked = ("--questions", EVALUATION / "questions.jsonl", "--type", "number", "--limit", "2")
    checked = ("--claims", EVALUATION / "claims.jsonl")

    code, out, err = evaluate(*asked, *checked, "--report", folder)

    page = Opened((folder / "index.html").read_text("utf-8"))
    fields = json.loads((folder / "report.json").read_text("utf-8"))
    assert code == 0
    assert out.startswith("2 questions, answered by extractive\n")
    assert err.endswith(f"wrote {folder / 'index.html'}\n")
    assert {path.name for path in folder.iterdir()} == {"index.html", "report.json"}
    assert fields["overall"]["num_questions"] == fields["claims"]["num_claims"] == 2
    assert len([a for a in page.all("details") if "class" in a]) == 2
    links = {attributes["href"] for attributes in page.all("a")}
    assert links
    assert all(link.startswith("https://proceedings.mlr.press/") for link in links)


def test_the_json_beside_the_page_can_be_compared(evaluate, tmp_path, capsys):
    asked = ("--type", "named", "--limit", "2", "--quiet")
    printed = evaluate(*asked, "--report", tmp_path / "a", "--json")[1]
    (tmp_path / "b.json").write_text(printed, encoding="utf-8")

    files = [str(tmp_path / "a" / "report.json"), str(tmp_path / "b.json")]
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", "--compare", *files])

    assert ended.value.code == 0
    assert "+.000 [+.000 +.000]" in capsys.readouterr().out


def test_a_folder_that_cannot_be_made_is_an_error_before_anything_is_asked(evaluate, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")

    code, out, err = evaluate("--report", tmp_path / "file")

    assert (code, out) == (1, "")
    assert (
        err == f"error: cannot make the folder '{tmp_path / 'file'}': File exists; name another\n"
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_runs_nothing_fetches_nothing_and_needs_no_sideways_scrolling(
    browser: Browser,
    hostile: Report,
    report: Report,
    hostile_claims: ClaimReport,
    tmp_path: Path,
    width: int,
    scheme: str,
) -> None:
    file = tmp_path / "index.html"
    results = (*report.results, *hostile.results)
    file.write_text(render_page(Report(results), hostile_claims), encoding="utf-8")
    happened: list[str] = []
    size = {"width": width, "height": 800}

    with window(browser, viewport=size, color_scheme=scheme) as context:
        page = context.new_page()
        page.on("request", lambda request: happened.append(request.url))
        page.on("dialog", lambda dialog: (happened.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: happened.append(message.text))
        page.goto(file.as_uri())
        for summary in page.locator("summary").all():
            summary.click()
        shown = page.locator("details.right").first
        was_visible = shown.is_visible()
        page.get_by_label("Only the").check()
        page.wait_for_timeout(100)

        assert [url for url in happened if url != "data:,"] == [file.as_uri()]
        assert was_visible
        assert not shown.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
