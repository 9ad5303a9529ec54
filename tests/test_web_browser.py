import re
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from model_server import environment, model_server
from openai_replies import Reply, wrong_key
from openai_server import OpenAIServer
from paper_qa.domain import Claim, Turn, Withheld
from paper_qa.errors import LibraryError, ModelConnectionError
from paper_qa.llm.model_files import read_models
from paper_qa.qa import PaperQA
from paper_qa.settings import load_settings
from scripted_qa import ScriptedQA, play, quote_of, reference_to
from web_browser import BROWSER_TEST, ChatPage, chat_page, chromium, served, serving, window
from web_papers import ALIGN, ENGINE, EVIL, GRAPHS, HOSTILE, PAPERS, STRONG, VIDEO, claims

pytestmark = BROWSER_TEST

QUESTION = "How does Momentor get its training data?"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def desktop(browser: Browser) -> Iterator[BrowserContext]:
    """Yield the one window that most tests open their pages in, with its cache."""
    with window(browser, permissions=["clipboard-read", "clipboard-write"]) as context:
        yield context


@pytest.fixture
def chat(desktop: BrowserContext) -> Iterator[ChatPage]:
    with chat_page(desktop) as page:
        yield page


@pytest.fixture(scope="module")
def scripted_server() -> Iterator[tuple[ScriptedQA, str]]:
    qa = ScriptedQA(PAPERS)
    with served(qa) as url:
        yield qa, url


@pytest.fixture
def qa(scripted_server: tuple[ScriptedQA, str]) -> ScriptedQA:
    """Return the answerer behind `url`, as good as new."""
    qa = scripted_server[0]
    qa.__init__(PAPERS, lambda question: play(question, PAPERS, claims()))
    return qa


@pytest.fixture
def url(scripted_server: tuple[ScriptedQA, str]) -> str:
    return scripted_server[1]


@pytest.fixture(scope="module")
def model_chat(
    real_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OpenAIServer, str]]:
    """Yield a scripted model, and the address of a chat about the seeds that it answers."""
    with OpenAIServer() as model:
        settings = load_settings(
            home=tmp_path_factory.getbasetemp() / "chat-home",  # `real_url` has built it
            llm="openai",
            llm_base_url=model.base_url,
            llm_model="scripted-model",
        )
        qa = PaperQA(settings=settings)
        qa.prepare()
        with served(qa) as url:
            yield model, url
        qa.close()


@pytest.fixture(scope="module")
def real_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a chat about the seeds, answered by extraction."""
    home = tmp_path_factory.getbasetemp() / "chat-home"
    qa = PaperQA(settings=load_settings(home=home, llm="extractive"))
    with served(qa) as url:
        yield url
    qa.close()


# ---- the real thing, over the seeds ------------------------------------------------------------


def test_key_passages_answer_while_the_model_is_being_fetched(
    chat: ChatPage, real_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert real_url  # the library is built
    home = tmp_path_factory.getbasetemp() / "chat-home"
    with model_server() as hub:
        hub.hub.size, hub.hub.pause_s = read_models()[0].num_bytes, 0.02
        with serving("--pull", "--home", str(home), environment=environment(hub)) as url:
            chat.open(url)
            progress = chat.page.locator(".prep")
            expect(progress).to_contain_text("Until then, key passages: fetching the model")
            expect(progress).to_contain_text("of 1,117,320,768")
            seen = progress.inner_text()

            answer = chat.ask(QUESTION)

            expect(answer).to_contain_text("Key passages")
            expect(progress).not_to_have_text(seen)
            chat.picture("model-on-its-way")
            chat.page.close()  # before the program ends


def test_an_example_question_is_answered_and_its_citation_opens_the_words(
    chat: ChatPage, real_url: str
) -> None:
    chat.open(real_url)
    chat.picture("empty")

    chat.page.get_by_role("button", name=QUESTION).click()
    answer = chat.finished()

    expect(answer).to_contain_text("Key passages")
    expect(answer).to_contain_text("[1]")
    expect(chat.status).to_have_text(re.compile(r"Answered by extraction \(key passages\) in \d"))
    chat.picture("answer")
    chat.marker("1").click()
    card = chat.card(0, "1")
    expect(card).to_be_focused()
    expect(card).to_have_class(re.compile("flash"))
    expect(card.locator("h3")).to_contain_text("Momentor")
    expect(card.locator(".meta")).to_contain_text("ICML 2024")
    expect(card.get_by_role("link", name="Open paper")).to_have_attribute(
        "href", "https://proceedings.mlr.press/v235/qian24a.html"
    )
    expect(card.locator("mark").filter(has_text="automatic data generation engine")).to_be_visible()
    expect(card.locator("mark").first).to_be_in_viewport()
    chat.picture("citation")

    chat.page.set_viewport_size({"width": 390, "height": 780})
    chat.marker("1").click()
    expect(card.locator("mark").first).to_be_in_viewport()
    chat.picture("citation-phone")


def test_formulas_of_the_seeds_are_drawn_and_follow_ups_are_understood(
    chat: ChatPage, real_url: str
) -> None:
    chat.open(real_url)

    chat.ask("Coresets for multiple lp regression")
    chat.ask("How many samples does it need?")

    expect(chat.answers).to_have_count(2)
    expect(chat.panel.locator(".katex").first).to_be_attached()
    expect(chat.page.locator(".katex-error")).to_have_count(0)
    expect(chat.panel.locator("#turn-1")).to_have_attribute("open", "")
    expect(chat.panel.locator("#turn-0")).not_to_have_attribute("open", "")
    chat.page.locator("#cite-0-1").click()
    expect(chat.card(0, "1")).to_be_focused()


def test_a_model_writes_and_stop_ends_its_request(
    chat: ChatPage, model_chat: tuple[OpenAIServer, str]
) -> None:
    model, url = model_chat
    sentence = "Momentor's data comes from an automatic data generation engine. "
    model.script(Reply(sentence * 2, delay_s=0.02), Reply(sentence * 200, delay_s=0.05))
    chat.open(url).ask(QUESTION)

    expect(chat.answers.last).to_contain_text("automatic data generation engine [1].")
    expect(chat.answers.last).not_to_contain_text("Key passages")
    expect(chat.status).to_contain_text("Answered by scripted-model")

    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.answers).to_have_count(0)
    chat.send(QUESTION)
    expect(chat.answers.last.locator("a.cite").first).to_be_visible()
    stopped_at = time.monotonic()
    chat.page.get_by_role("button", name="Stop").click()
    expect(chat.finished()).to_contain_text("Stopped.")

    assert model.wait_for_disconnect() - stopped_at < 2.0
    assert len(model.chats) == 2


def test_when_the_model_fails_the_key_passages_are_shown_and_a_line_says_so(
    chat: ChatPage, model_chat: tuple[OpenAIServer, str]
) -> None:
    model, url = model_chat
    model.script(wrong_key())

    answer = chat.open(url).ask(QUESTION)

    expect(answer).to_contain_text("Key passages")
    expect(answer).to_contain_text("automatic data generation engine")
    expect(answer.locator("p > em:only-child")).to_contain_text("PAPER_QA_LLM_API_KEY")
    expect(chat.status).to_contain_text("Answered by extraction")
    chat.picture("model-failed")


# ---- citations ---------------------------------------------------------------------------------


def test_the_keyboard_leads_to_the_card_and_back(chat: ChatPage, qa: ScriptedQA, url: str) -> None:
    chat.open(url).ask("How?")

    chat.marker("2").focus()
    expect(chat.page.get_by_role("tooltip")).to_contain_text("Aligning Transformers")
    chat.page.keyboard.press("Escape")
    expect(chat.page.get_by_role("tooltip")).to_be_hidden()
    chat.page.keyboard.press("Enter")
    expect(chat.card(0, "2")).to_be_focused()
    chat.card(0, "2").get_by_role("link", name="Back to the answer").press("Enter")

    expect(chat.marker("2")).to_be_focused()


def test_pointing_at_a_marker_shows_the_title_and_the_words(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    chat.open(url).ask("How?")

    chat.marker("1").hover()

    preview = chat.page.get_by_role("tooltip")
    expect(preview).to_contain_text("Momentor: Fine-Grained Temporal Reasoning")
    expect(preview.locator("mark")).to_have_text(ENGINE)
    chat.picture("preview")
    chat.box.hover()
    expect(preview).to_be_hidden()


def test_each_marker_leads_to_the_words_of_its_own_sentence(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    first = Claim("Graphs are bounded", "supported", 1.0, (quote_of(GRAPHS, STRONG),))
    second = Claim("They align", "supported", 1.0, (quote_of(GRAPHS, ALIGN),))
    qa.events = play("How?", PAPERS, [first, second])
    chat.open(url).ask("How?")

    marked = chat.card(0, "1").locator("mark.here")
    chat.page.locator("a.cite").nth(1).click()
    expect(marked).to_have_count(1)
    expect(marked).to_contain_text("We align transformers")
    chat.page.locator("a.cite").nth(0).click()
    expect(marked).to_have_text(STRONG)


def test_what_the_reader_folds_stays_so_while_the_answer_grows(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    qa.pause_s = 1.0
    chat.open(url).send("How?")
    card = chat.panel.locator(".card").filter(has_text="An abstract that came")

    card.get_by_text("Abstract", exact=True).click()
    chat.finished()

    expect(card.locator(".abs")).to_be_visible()


def test_markers_say_where_they_lead(chat: ChatPage, qa: ScriptedQA, url: str) -> None:
    chat.open(url).ask("How?")

    expect(chat.marker("1")).to_have_accessible_name(f"Source 1: {VIDEO.title}")
    expect(chat.card(0, "1").locator("mark")).to_have_text(ENGINE)
    expect(chat.card(0, "2").locator("mark")).to_have_count(2)


def test_a_number_in_an_abstract_is_no_citation(chat: ChatPage, qa: ScriptedQA, url: str) -> None:
    claim = Claim("The interval [2] is closed", "supported", 1.0, (quote_of(VIDEO, ENGINE),))
    qa.events = play("How?", PAPERS, [claim])

    answer = chat.open(url).ask("How?")

    expect(answer.locator("a.cite")).to_have_count(1)
    expect(answer).to_contain_text("[2] is closed [1].", use_inner_text=False)


def test_copies_are_plain_text(chat: ChatPage, qa: ScriptedQA, url: str) -> None:
    answer = chat.open(url).ask("How?")

    chat.page.get_by_role("button", name="Copy message").last.click()
    copied = chat.page.evaluate("navigator.clipboard.readText()")
    answer.locator(".prose").select_text()
    chat.page.keyboard.press("Control+c")
    selected = chat.page.evaluate("navigator.clipboard.readText()")

    assert "Transformers can be aligned with $k$-WL [2]." in copied
    assert "Transformers can be aligned with $k$-WL [2]." in selected
    assert not {"\u200b", "\u2060"} & set(copied + selected)


# ---- an answer on its way ----------------------------------------------------------------------


def test_sources_come_first_and_are_numbered_once_cited(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    qa.pause_s = 1.0
    chat.open(url).send("How?")

    expect(chat.panel.locator(".card")).to_have_count(3)
    assert chat.panel.locator(".num").count() == 0
    assert chat.answers.last.locator("a.cite").count() == 0
    expect(chat.panel.locator(".passage").first).to_be_visible()
    expect(chat.status).to_have_text("Reading 3 papers…")
    chat.picture("reading")
    expect(chat.panel.locator(".num")).to_have_count(1)
    expect(chat.answers.last.locator("a.cite")).to_have_count(1)
    chat.finished()

    expect(chat.panel.locator(".num")).to_have_count(2)


def test_stop_ends_the_answer_at_once_and_retry_asks_again(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    qa.pause_s = 0.8
    chat.open(url).send("How?")
    expect(chat.answers.last.locator("a.cite")).to_have_count(1)
    qa.pause_s = 30.0
    chat.page.wait_for_timeout(900)

    stopped_at = time.monotonic()
    chat.page.get_by_role("button", name="Stop").click()
    answer = chat.finished()

    assert qa.cancelled_at is not None
    assert qa.cancelled_at - stopped_at < 2.0  # 0.2 s on an idle machine
    expect(answer).to_contain_text("Stopped.")
    expect(answer).to_contain_text("[1]")
    expect(chat.status).to_have_text("Stopped.")
    qa.pause_s = 0.0
    chat.page.get_by_role("button", name="Retry").click()
    expect(chat.status).to_contain_text("Answered by")
    expect(chat.finished()).not_to_contain_text("Stopped.")
    assert [question for question, _ in qa.asked] == ["How?", "How?"]


def test_enter_does_not_start_a_second_answer_beside_the_first(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    qa.pause_s = 0.4
    chat.open(url).send("First?")
    expect(chat.answers).to_have_count(1)
    expect(chat.box).to_have_value("")

    chat.send("Second?")
    chat.finished()

    expect(chat.box).to_have_value("Second?")
    expect(chat.answers).to_have_count(1)
    chat.box.press("Enter")
    expect(chat.answers).to_have_count(2)


def test_nothing_happens_without_a_question(chat: ChatPage, qa: ScriptedQA, url: str) -> None:
    chat.open(url).send("  \n ")
    chat.ask("How?")

    expect(chat.answers).to_have_count(1)
    assert [question for question, _ in qa.asked] == ["How?"]


def test_follow_ups_bring_the_conversation_and_a_new_chat_does_not(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    chat.open(url).ask("First?")
    chat.ask("Second?")
    chat.page.get_by_role("button", name="New chat").click()
    expect(chat.answers).to_have_count(0)
    expect(chat.panel).to_contain_text("No sources yet")
    chat.ask("Third?")

    histories = [history for _, history in qa.asked]
    assert histories[0] == histories[2] == ()
    assert histories[1][0] == Turn("user", "First?")
    assert histories[1][1].role == "assistant"


# ---- when there is no answer -------------------------------------------------------------------


def test_an_error_is_told_in_place_and_retry_mends_it(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    qa.error = ModelConnectionError("no connection to 'http://127.0.0.1:1': is the server up?")
    qa.events = play("How?", PAPERS, claims())[:4]

    answer = chat.open(url).ask("How?")

    expect(answer.locator("blockquote.trouble")).to_contain_text("No answer. No connection to")
    expect(answer).to_contain_text("[1]")
    expect(chat.status).to_contain_text("No answer")
    chat.picture("error")
    qa.error, qa.events = None, play("How?", PAPERS, claims())
    chat.page.get_by_role("button", name="Retry").click()
    expect(chat.status).to_contain_text("Answered by")
    expect(chat.finished()).not_to_contain_text("No answer")


def test_a_fault_of_the_program_is_told_without_its_details(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    qa.error = ZeroDivisionError("secret detail")
    qa.events = play("How?", PAPERS, claims())[:4]

    answer = chat.open(url).ask("How?")

    expect(answer).to_contain_text("Something went wrong inside the program")
    expect(chat.page.locator("body")).not_to_contain_text("secret detail")


def test_an_abstention_says_its_kind_and_offers_papers(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    qa.events = play(
        "How?",
        PAPERS,
        [],
        text="The closest abstracts do not say this.",
        abstained=True,
        abstain_reason="not_in_abstract",
        see=(reference_to(GRAPHS, 0), reference_to(VIDEO, 0)),
    )

    answer = chat.open(url).ask("Who paid for it?")

    expect(answer.locator("blockquote")).to_contain_text("Not in the abstract")
    expect(answer.locator("blockquote.trouble")).to_have_count(0)
    chat.picture("abstention")
    chat.marker("B").click()
    expect(chat.card(0, "B")).to_be_focused()
    expect(chat.card(0, "B")).to_contain_text("Momentor")


def test_withheld_sentences_are_folded_away(chat: ChatPage, qa: ScriptedQA, url: str) -> None:
    withheld = (Withheld("It won a prize.", 0.1),)
    qa.events = play("How?", PAPERS, claims(), withheld=withheld, model="gpt-x")

    answer = chat.open(url).ask("How?")

    expect(answer.get_by_text("It won a prize.")).to_be_hidden()
    answer.get_by_text("1 sentence withheld").click()
    expect(answer.get_by_text("It won a prize.")).to_be_visible()
    expect(chat.status).to_contain_text("Answered by gpt-x")
    chat.picture("withheld")


# ---- the first start ---------------------------------------------------------------------------


def test_while_the_library_is_built_the_page_says_so_and_then_works(
    desktop: BrowserContext,
) -> None:
    qa = ScriptedQA(PAPERS, prepare_steps=30, prepare_step_s=0.25)
    qa.events = play("How?", PAPERS, claims())
    with served(qa) as url, chat_page(desktop) as chat:
        chat.open(url)
        expect(chat.page.get_by_text("Preparing the library")).to_be_visible()
        expect(chat.page.get_by_role("progressbar").first).to_be_visible()
        chat.picture("first-start")

        answer = chat.ask("How?")

        expect(answer).to_contain_text("[1]")
        expect(chat.page.get_by_text("Preparing the library")).to_be_hidden()
        expect(chat.page.locator("#about")).to_contain_text("3 papers")


def test_a_library_that_can_not_be_opened_is_told(desktop: BrowserContext) -> None:
    errors = [LibraryError(f"the library is newer than this version {EVIL}")] * 5
    qa = ScriptedQA(PAPERS, prepare_errors=[*errors])
    with served(qa) as url, chat_page(desktop) as chat:
        chat.open(url)

        expect(chat.page.get_by_role("alert")).to_contain_text("The library is newer")
        expect(chat.ask("How?")).to_contain_text("The library is newer")


# ---- hostile text, small screens, both modes ---------------------------------------------------


def test_hostile_papers_questions_and_answers_are_only_text(
    chat: ChatPage, qa: ScriptedQA, url: str
) -> None:
    papers = [HOSTILE, replace(HOSTILE, id="evil-2")]
    quote = quote_of(HOSTILE, "We attack.")
    claim = Claim(f"{EVIL} ![x](http://evil.example/b.png)", "supported", 1.0, (quote,))
    fields = {
        "withheld": (Withheld(EVIL, 0.1),),
        "notes": (f"a note {EVIL}", "![x](https://evil.example/c.png)"),
        "model": f"model {EVIL}",
    }
    qa.library = papers
    qa.events = play("q", papers, [claim], **fields)
    question = f"{EVIL} ![x](https://evil.example/d.png) <style>*{{display:none}}</style>"
    chat.open(url).ask(question)
    qa.events = play("q", papers, [], abstained=True, text=EVIL, see=(reference_to(HOSTILE, 0),))
    chat.ask(question)
    qa.events, qa.error = [], LibraryError(f"{EVIL} [x](javascript:alert(1))")
    chat.ask(question)

    chat.page.locator("a.cite").first.hover()
    for selector in ("script", "img[src='x']", "img[src*=evil]", "form", "iframe", "svg[onload]"):
        expect(chat.page.locator(f"#chat {selector}, #sources {selector}")).to_have_count(0)
    assert chat.page.locator("a[href^='javascript']").count() == 0
    outside = ":is(#chat, #sources) a[href*='evil']:not([href^='#act/'])"
    assert chat.page.locator(outside).count() == 0
    expect(chat.answers.first).to_contain_text("alert(2)")
    expect(chat.card(0, "1")).to_be_attached()
    expect(chat.card(1, "A")).to_be_attached()
    chat.picture("hostile")


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_nothing_is_wider_than_the_screen(
    browser: Browser, qa: ScriptedQA, url: str, width: int
) -> None:
    long_word = "x" * 300
    wide = replace(VIDEO, title=long_word, abstract=f"{long_word} $x^{{{'y' * 200}}}$ {ENGINE}")
    claim = Claim(f"{long_word} is wide", "supported", 1.0, (quote_of(wide, ENGINE),))
    qa.events = play("How?", [wide, GRAPHS], [claim])
    size = {"width": width, "height": 740}
    phone = window(browser, viewport=size, is_mobile=True, has_touch=True)
    with phone as context, chat_page(context) as chat:
        chat.open(url)
        chat.picture(f"phone-{width}-empty")
        chat.ask(long_word)
        chat.picture(f"phone-{width}")

        assert chat.page.evaluate("document.documentElement.scrollWidth") == width
        chat.marker("1").tap()
        expect(chat.card(0, "1").locator("mark")).to_be_in_viewport()
        chat.picture(f"phone-{width}-source")
        chat.card(0, "1").get_by_role("link", name="Back to the answer").tap()
        expect(chat.marker("1")).to_be_in_viewport()


CONTRASTS = """() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll(".gradio-container *")) {
    const hasText = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!hasText || !e.checkVisibility({opacityProperty: true})) continue;
    if (e.closest(".katex-mathml, .sr-only, .bracket")) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)} ${e.innerText}`);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(browser: Browser, qa: ScriptedQA, url: str, scheme: str) -> None:
    withheld = (Withheld("It won a prize.", 0.1),)
    flagged = Claim("It flies", "not_mentioned", 0.1)
    qa.events = play("How?", PAPERS, [*claims(), flagged], withheld=withheld, notes=("a note",))
    with window(browser, color_scheme=scheme) as context, chat_page(context) as chat:
        chat.open(url)
        chat.page.wait_for_timeout(600)
        assert chat.page.evaluate(CONTRASTS) == []
        chat.ask("How?")
        qa.error, qa.events = LibraryError("the disk is full"), []
        chat.ask("And?")
        chat.page.locator("#cite-0-1").click()
        chat.page.wait_for_timeout(600)

        assert chat.page.evaluate(CONTRASTS) == []
        chat.picture(f"all-{scheme}")
