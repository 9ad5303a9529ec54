"""The components of the page, and which action of `chat` each event sets off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from paper_qa.web.chat import Chat
from paper_qa.web.maths import DELIMITERS
from paper_qa.web.panel import EMPTY
from paper_qa.web.papers_tab import Papers, papers_tab
from paper_qa.web.present import status_html
from paper_qa.web.reading_tab import Reading, reading_tab
from paper_qa.web.settings_tab import narrowing, settings_tab
from paper_qa.web.thumbs import Thumbs

_PLACEHOLDER = (
    "## What would you like to know?\n\n"
    "Every sentence of an answer cites the words of the abstract it rests on.  \n"
    "What the abstracts do not say, the answer does not say."
)
_QUICK: dict[str, Any] = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
_SLOW: dict[str, Any] = {
    "show_progress": "hidden",
    "concurrency_limit": None,  # who may have an answer written is for `line` to say
    "api_visibility": "private",
}


@dataclass(frozen=True, slots=True)
class Components:
    """The components that actions read and write."""

    chat: gr.Chatbot
    box: gr.Textbox
    panel: gr.Markdown
    earlier: gr.Markdown
    status: gr.Markdown
    turns: gr.State
    conversation: gr.Textbox

    @property
    def outputs(self) -> list[Any]:
        """What an action updates, in the order of its values."""
        return [
            self.box,
            self.chat,
            self.panel,
            self.earlier,
            self.status,
            self.turns,
            self.conversation,
        ]

    @property
    def talk(self) -> list[Any]:
        """What tells an action which conversation it is about."""
        return [self.chat, self.conversation, self.turns]


@dataclass(frozen=True, slots=True)
class Sidebar:
    """The list of conversations and what can be done with the one that is open."""

    search: gr.Textbox
    talks: gr.Markdown
    exports: gr.Markdown
    title: gr.Textbox
    rename: gr.Button
    delete: gr.Button


@dataclass(frozen=True, slots=True)
class Comment:
    """Where a person says what a thumb was about; ``judged`` holds which one it was."""

    row: gr.Row
    words: gr.Textbox
    send: gr.Button
    judged: gr.Textbox


@dataclass(frozen=True, slots=True)
class Hidden:
    """Boxes that nobody sees: the page's script puts into them which link was chosen.

    Their changes are listened to: what counts as input in a `Textbox` are keys that are pressed.
    One for each kind of action: while one of a kind is going on, Gradio drops the next.
    """

    act: gr.Textbox
    open: gr.Textbox
    summarise: gr.Textbox
    focused: gr.Textbox


def lay_out(
    blocks: gr.Blocks, chat: Chat, thumbs: Thumbs, papers: Papers, reading: Reading, *, title: str
) -> None:
    """Lay out the page inside ``blocks``, and wire it up."""
    side = _sidebar()
    with gr.Row(elem_id="top", equal_height=True):
        gr.Markdown(f"# {title}", elem_id="title")
        about = gr.Markdown(elem_id="about")
        new = gr.Button("New chat", elem_id="new-chat", size="sm", scale=0, min_width=100)
    prep = gr.Markdown(elem_id="prep")
    hidden = _hidden()
    with gr.Tabs(elem_id="tabs") as tabs:
        with gr.Tab("Ask", id="ask"):
            parts, comment, focus, filters = _ask_tab()
        # Before the other tabs listen to `act`: a page hears its listeners one after the other.
        # Of two stars in quick succession none is dropped.
        starred = hidden.act.change(
            chat.star,
            [hidden.act, *parts.talk],
            [parts.panel, parts.earlier],
            trigger_mode="multiple",
            **_QUICK,
        )
        shown = [hidden.focused, focus, parts.box]
        hidden.act.change(chat.focus, hidden.act, shown, **_QUICK)
        with gr.Tab("Papers", id="papers"):
            papers_tab(papers, hidden.act, tabs)
        with gr.Tab("Reading list", id="reading"):
            refresh = reading_tab(reading, hidden.act)
        with gr.Tab("Settings", id="settings"):
            settings = settings_tab(chat.fetch)
    given = [hidden.focused, *filters, *settings]
    # Without a limit: it goes on while the model is fetched, for every page that is open.
    blocks.load(chat.load, None, [prep, about, parts.chat], **_SLOW)
    arrived = blocks.load(chat.arrive, None, parts.outputs, **_QUICK)
    blocks.load(reading.show, None, refresh, **_QUICK)
    runs = _wire_questions(chat, parts, hidden, given)
    _wire_conversations(chat, parts, hidden, arrived, runs, new, side)
    new.click(chat.unfocus, None, shown, **_QUICK)
    _wire_comment(thumbs, parts, comment)
    starred.then(reading.show, None, refresh, **_QUICK)
    _keep_progress_in(blocks, hidden.focused)


def _hidden() -> Hidden:
    boxes = (
        gr.Textbox(elem_id=name, elem_classes="hidden-box", label=name, visible="hidden")
        for name in ("act", "open", "summarise", "focused")
    )
    return Hidden(*boxes)


def _keep_progress_in(blocks: gr.Blocks, quiet: gr.Textbox) -> None:
    """Let Gradio tell one component only of what goes on: it has none of our own to show.

    It would tell every output of any event, at every step of each, which takes a browser longer
    than showing the step.
    """
    for action in blocks.fns.values():
        action.show_progress_on = [quiet]


def _sidebar() -> Sidebar:
    with gr.Sidebar(open=False, width=300, elem_id="history"):
        gr.Markdown("## Conversations", elem_id="history-title")
        search = gr.Textbox(
            elem_id="history-search",
            label="Search conversations",
            show_label=False,
            placeholder="Search conversations",
        )
        talks = gr.Markdown(elem_id="talks", latex_delimiters=DELIMITERS)
        with gr.Accordion("This conversation", open=False, elem_id="this-conversation"):
            exports = gr.Markdown(elem_id="exports")
            title = gr.Textbox(elem_id="new-title", label="New title", max_length=200)
            with gr.Row():
                rename = gr.Button("Rename", elem_id="rename", size="sm")
                delete = gr.Button("Delete", elem_id="delete", size="sm", variant="stop")
    return Sidebar(search, talks, exports, title, rename, delete)


def _ask_tab() -> tuple[Components, Comment, gr.Markdown, list[Any]]:
    with gr.Row(elem_id="ask", equal_height=False):
        with gr.Column(scale=3, min_width=320, elem_id="chat-col"):
            chatbot = _chatbot()
            comment = _comment()
            state = gr.Markdown(status_html(""), elem_id="state")
            focus = gr.Markdown(elem_id="focus", latex_delimiters=DELIMITERS)
            box = _box()
            filters = narrowing()
        with gr.Column(scale=2, min_width=320, elem_id="src-col"):
            gr.Markdown("## Sources", elem_id="src-title")
            with gr.Column(elem_id="sources"):
                panel = gr.Markdown(EMPTY, latex_delimiters=DELIMITERS)
                earlier = gr.Markdown(latex_delimiters=DELIMITERS)
    # In a box and not in a state: it outlives a restart of the server, with the page.
    conversation = gr.Textbox(elem_id="conversation", label="Conversation", visible="hidden")
    parts = Components(chatbot, box, panel, earlier, state, gr.State([]), conversation)
    return parts, comment, focus, filters


def _comment() -> Comment:
    with gr.Row(visible=False, elem_id="comment-row") as row:
        words = gr.Textbox(
            elem_id="comment",
            label="What was good or wrong? (optional, kept on this machine)",
            max_length=2000,
            scale=4,
        )
        send = gr.Button("Save comment", elem_id="save-comment", size="sm", scale=1)
    judged = gr.Textbox(elem_id="judged", label="Judged", visible="hidden")
    return Comment(row, words, send, judged)


def _chatbot() -> gr.Chatbot:
    return gr.Chatbot(
        elem_id="chat",
        label="Conversation",
        show_label=False,
        height="100%",
        layout="bubble",
        latex_delimiters=DELIMITERS,
        buttons=["copy", "copy_all"],  # the default has a button that uploads the conversation
        allow_tags=False,
        group_consecutive_messages=False,
        editable="user",
        feedback_options=("Like", "Dislike"),
        placeholder=_PLACEHOLDER,
    )


def _box() -> gr.Textbox:
    return gr.Textbox(
        elem_id="box",
        label="Question",
        show_label=False,
        placeholder="Ask about the papers",
        autofocus=True,
        lines=1,
        max_lines=6,  # with lines=1: Enter sends, Shift+Enter makes a new line
        submit_btn=True,
        stop_btn=False,
    )


def _wire_questions(
    chat: Chat, parts: Components, hidden: Hidden, given: Sequence[Any]
) -> list[Any]:
    talk = [*parts.talk, *given]
    summarise = [hidden.summarise, *talk]
    return [
        parts.box.submit(chat.ask, [parts.box, *talk], parts.outputs, **_SLOW),
        hidden.summarise.change(
            chat.summarise, summarise, parts.outputs, trigger_mode="once", **_SLOW
        ),
        parts.chat.example_select(chat.ask_example, talk, parts.outputs, **_SLOW),
        parts.chat.retry(chat.retry, talk, parts.outputs, **_SLOW),
        parts.chat.edit(chat.edit, talk, parts.outputs, **_SLOW),
    ]


def _wire_conversations(
    chat: Chat,
    parts: Components,
    hidden: Hidden,
    arrived: Any,
    runs: Sequence[Any],
    new: gr.Button,
    side: Sidebar,
) -> None:
    # In the cancelling event itself the last step of the answer could still come after it.
    def cancelling(event: Any) -> Any:
        return event(None, None, None, cancels=runs, **_QUICK)

    changes = [
        arrived,
        *runs,
        cancelling(parts.box.stop).then(
            chat.stop, [parts.conversation, parts.turns], parts.outputs, **_QUICK
        ),
        cancelling(new.click).then(chat.clear, None, parts.outputs, **_QUICK),
        cancelling(parts.chat.clear).then(chat.clear, None, parts.outputs, **_QUICK),
        cancelling(hidden.open.change).then(chat.open, hidden.open, parts.outputs, **_QUICK),
        cancelling(side.delete.click).then(
            chat.delete, parts.conversation, parts.outputs, **_QUICK
        ),
        side.rename.click(chat.rename, [side.title, parts.conversation], side.title, **_QUICK),
        side.title.submit(chat.rename, [side.title, parts.conversation], side.title, **_QUICK),
    ]
    listed = (chat.listed, [side.search, parts.conversation], [side.talks, side.exports])
    for change in changes:
        change.then(*listed, **_QUICK)
    parts.conversation.change(*listed, **_QUICK)
    side.search.change(*listed, **_QUICK)


def _wire_comment(thumbs: Thumbs, parts: Components, comment: Comment) -> None:
    shown = [parts.chat, comment.row, comment.words, comment.judged]
    parts.chat.like(thumbs.judge, parts.talk, shown, **_QUICK)
    given = [comment.words, comment.judged, *parts.talk]
    for saved in (comment.send.click, comment.words.submit):
        saved(thumbs.comment, given, [*shown, parts.status], **_QUICK)
