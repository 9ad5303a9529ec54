"""The components of the chat, and which action of `chat` each event sets off."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from paper_qa.web.chat import Chat
from paper_qa.web.maths import DELIMITERS
from paper_qa.web.panel import EMPTY
from paper_qa.web.present import status_html

_PLACEHOLDER = (
    "## What would you like to know?\n\n"
    "Every sentence of an answer cites the words of the abstract it rests on.  \n"
    "What the abstracts do not say, the answer does not say."
)


@dataclass(frozen=True, slots=True)
class Components:
    """The components that actions read and write."""

    chat: gr.Chatbot
    box: gr.Textbox
    panel: gr.Markdown
    status: gr.Markdown
    turns: gr.State

    @property
    def outputs(self) -> list[Any]:
        """What an action updates, in the order of its values."""
        return [self.box, self.chat, self.panel, self.status, self.turns]


def chat_tab(blocks: gr.Blocks, chat: Chat, title: str) -> None:
    """Lay out the chat inside ``blocks``, and wire it up."""
    with gr.Row(elem_id="top", equal_height=True):
        gr.Markdown(f"# {title}", elem_id="title")
        about = gr.Markdown(elem_id="about")
        new = gr.Button("New chat", elem_id="new-chat", size="sm", scale=0, min_width=100)
    prep = gr.Markdown(elem_id="prep")
    with gr.Row(elem_id="ask", equal_height=False):
        with gr.Column(scale=3, min_width=320, elem_id="chat-col"):
            chatbot = _chatbot()
            state = gr.Markdown(status_html(""), elem_id="state")
            box = _box()
        with gr.Column(scale=2, min_width=320, elem_id="src-col"):
            gr.Markdown("## Sources", elem_id="src-title")
            panel = gr.Markdown(EMPTY, elem_id="sources", latex_delimiters=DELIMITERS)
    parts = Components(chatbot, box, panel, state, gr.State([]))
    loaded = [prep, about, chatbot]
    # Without a limit: it goes on while the model is fetched, for every page that is open.
    blocks.load(
        chat.load,
        None,
        loaded,
        show_progress="hidden",
        concurrency_limit=None,
        api_visibility="private",
    )
    _wire(chat, parts, new)


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


def _wire(chat: Chat, parts: Components, new: gr.Button) -> None:
    talk = [parts.chat, parts.turns]
    options: dict[str, Any] = {
        "show_progress": "hidden",
        "concurrency_limit": 4,
        "concurrency_id": "answer",
        "api_visibility": "private",
    }
    quick: dict[str, Any] = {"queue": False, "api_visibility": "private"}
    runs: list[Any] = [
        parts.box.submit(chat.ask, [parts.box, *talk], parts.outputs, **options),
        parts.chat.example_select(chat.ask_example, talk, parts.outputs, **options),
        parts.chat.retry(chat.retry, talk, parts.outputs, **options),
    ]
    # In the cancelling event itself the last step of the answer could still come after it.
    stopped = parts.box.stop(None, None, None, cancels=runs, **quick)
    stopped.then(chat.stop, talk, parts.outputs, **quick)
    for clear in (new.click, parts.chat.clear):
        cleared = clear(None, None, None, cancels=runs, **quick)
        cleared.then(chat.clear, None, parts.outputs, **quick)
