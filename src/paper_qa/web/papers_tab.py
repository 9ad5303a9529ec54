"""All papers of the library: searched, sorted, narrowed, and those nearest to a text."""

import asyncio
import html
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, replace
from typing import Any, get_args
from urllib.parse import quote

import gradio as gr

from paper_qa.domain import Paper
from paper_qa.errors import PaperQAError
from paper_qa.user_data import UserData
from paper_qa.web.catalogue import (
    IMPOSSIBLE,
    NEAR_PAPER,
    Catalogue,
    Found,
    Order,
    Wish,
    are_reversed,
    settled,
    years,
)
from paper_qa.web.conversation import Asker
from paper_qa.web.maths import DELIMITERS, inline_html
from paper_qa.web.panel import actions_html, head_html, link_html
from paper_qa.web.talks import action, parsed
from paper_qa.web.visitor import owner_of

STEP = 40
"""How many rows are shown at first, and how many more each time."""

Update = tuple[Any, ...]

_SKIP: Any = gr.skip()  # pyright: ignore[reportUnknownVariableType]
_ORDERS: list[tuple[str, Order]] = [
    ("Title", "title"),
    ("Year, newest first", "year"),
    ("Author", "author"),
    ("Added last", "added"),
    ("Nearest", "nearest"),
]
_HINT = "Search titles, abstracts, authors; or paste a paragraph to find the papers nearest to it"
_LOOKING = "Looking for the nearest papers…"
_NOTHING: Update = (_SKIP,) * 10  # as `Fields.outputs` has them
_EVENT: dict[str, Any] = {
    "api_visibility": "private",
    "show_progress": "hidden",
    "concurrency_limit": None,
}


@dataclass(frozen=True, slots=True)
class Fields:
    """The components that say what is asked for, and those that show what was found."""

    text: gr.Textbox
    order: gr.Radio
    first: gr.Textbox
    last: gr.Textbox
    near: gr.Textbox
    shown: gr.Textbox
    num_rows: gr.Number
    count: gr.Markdown
    rows: gr.Markdown
    more: gr.Button

    @property
    def inputs(self) -> list[Any]:
        """What is asked for, as the actions of `Papers` take it."""
        return [self.text, self.order, self.first, self.last, self.near]

    @property
    def outputs(self) -> list[Any]:
        """What the actions of `Papers` update, in the order of their values."""
        return [*self.inputs, self.shown, self.num_rows, self.count, self.rows, self.more]


class Papers:
    """What the tab of papers shows."""

    def __init__(self, qa: Asker, data: UserData) -> None:
        self._data = data
        self._catalogue = Catalogue(qa)

    async def show_more(
        self, num_rows: float | None, request: gr.Request, *fields: str | None
    ) -> AsyncGenerator[Update]:
        """Show more of the same."""
        length = int(num_rows or 0) + STEP
        async for update in self._shown(asked_for(*fields), length, owner_of(request)):
            yield update

    async def show(
        self,
        shown: str | None,
        num_rows: float | None,
        event: gr.EventData,
        request: gr.Request,
        *fields: str | None,
    ) -> AsyncGenerator[Update]:
        """Show what is asked for from its beginning, if it is not what is shown.

        Where the tab is opened it is shown again, as many rows of it as were on show: there may be
        other papers now.
        """
        asked = asked_for(*fields)
        is_same = asked.key == shown
        if is_same and not isinstance(event.target, gr.Tab):  # our own updates are changes too
            yield _NOTHING
            return
        length = int(num_rows or STEP) if is_same else STEP
        async for update in self._shown(asked, length, owner_of(request)):
            yield update

    async def act(self, command: str, request: gr.Request) -> AsyncGenerator[Update]:
        """Do what a link asks for: the papers near to one, or all of them again."""
        verb, subject = parsed(command)
        if verb == "similar" and subject:
            asked = Asked(Wish(order="nearest", near=NEAR_PAPER + subject), "nearest")
        elif verb == "library":
            asked = Asked(Wish(), "title")
        else:
            yield (*_NOTHING, _SKIP)
            return
        here: Any = gr.Tabs(selected="papers")
        async for update in self._shown(asked, STEP, owner_of(request)):
            yield ("", asked.order, "", "", *update[4:], here)
            here = _SKIP

    async def _shown(self, asked: "Asked", num_rows: int, owner: str) -> AsyncGenerator[Update]:
        wish = asked.wish
        order: Any = wish.order if wish.order != asked.order else _SKIP
        if wish.is_ranked:
            looking = (count_html(_LOOKING), _SKIP, gr.update(visible=False))
            yield (_SKIP, order, _SKIP, _SKIP, wish.near, asked.key, num_rows, *looking)
        try:
            found = await asyncio.to_thread(self._catalogue.find, wish)
            none: frozenset[str] = frozenset()
            starred = await asyncio.to_thread(self._data.starred, owner) if owner else none
        except PaperQAError as error:
            trouble = (count_html("", wish), trouble_html(str(error)), gr.update(visible=False))
            yield (_SKIP, order, _SKIP, _SKIP, wish.near, "", num_rows, *trouble)
            return
        left = len(found.papers) - num_rows
        more: Any = gr.update(visible=left > 0, value=f"Show more ({left:,} left)")
        count = count_html(f"{count_text(found, wish)}{asked.note}", wish)
        listed = (count, rows_html(found, wish, num_rows, starred), more)
        yield (_SKIP, order, _SKIP, _SKIP, wish.near, asked.key, num_rows, *listed)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for, the order as it is on the page, and what is to be said about it."""

    wish: Wish
    order: Order
    note: str = ""

    @property
    def key(self) -> str:
        """Tells this from everything else that can be asked for."""
        return repr((self.wish, self.note))


def asked_for(
    text: str | None, order: str | None, first: str | None, last: str | None, near: str | None
) -> Asked:
    """Return what the components say; whoever bypasses the page may send anything."""
    typed = (first or "", last or "")
    known = {name: name for name in get_args(Order)}.get(order or "", "title")
    wish = settled(Wish((text or "").strip(), known, *years(*typed), near or ""))
    return Asked(wish, known, f". {IMPOSSIBLE}" if are_reversed(*typed) else "")


def papers_tab(papers: Papers, act: gr.Textbox, tabs: Any) -> None:
    """Lay out the tab, and wire it up."""
    with gr.Column(elem_id="papers", elem_classes="narrow") as column:
        fields = _fields()
    rows = [fields.num_rows, *fields.inputs]
    fields.more.click(papers.show_more, rows, fields.outputs, **_EVENT)
    # Changes, since a `Textbox` calls only keys that are pressed input: a paste would do nothing.
    # One listener for all of them: what was found for an earlier wish never comes after a later's.
    typed = [field.change for field in (fields.text, fields.order, fields.first, fields.last)]
    gr.on(
        [column.parent.select, *typed] if isinstance(column.parent, gr.Tab) else typed,
        papers.show,
        [fields.shown, *rows],
        fields.outputs,
        trigger_mode="always_last",
        **_EVENT,
    )
    act.change(papers.act, act, [*fields.outputs, tabs], trigger_mode="always_last", **_EVENT)


def _fields() -> Fields:
    gr.Markdown("## Papers", elem_id="papers-title")
    text = gr.Textbox(
        elem_id="papers-text",
        label="Search the papers",
        show_label=False,
        placeholder=_HINT,
        lines=1,
        max_lines=6,
        max_length=20_000,
    )
    with gr.Row(elem_id="papers-how", equal_height=False):
        order = gr.Radio(
            _ORDERS, value="title", label="Sort by", elem_id="papers-order", interactive=True
        )
        # No numbers: an empty `Number` shows a 0.
        first, last = (
            gr.Textbox(
                label=label,
                elem_id=elem_id,
                placeholder=hint,
                max_lines=1,
                max_length=4,
                scale=0,
                min_width=90,
            )
            for label, elem_id, hint in (
                ("From year", "papers-from", "any"),
                ("To year", "papers-to", "any"),
            )
        )
    # In boxes and not in states: they outlive a restart of the server, with the page.
    near = gr.Textbox(label="Near", visible="hidden", elem_classes="unseen", elem_id="papers-near")
    shown = gr.Textbox(
        label="Shown", visible="hidden", elem_classes="unseen", elem_id="papers-shown"
    )
    num_rows = gr.Number(
        0, label="Rows", visible="hidden", elem_classes="unseen", elem_id="papers-rows"
    )
    count = gr.Markdown(count_html(""), elem_id="papers-count")
    rows = gr.Markdown(elem_id="papers-list", latex_delimiters=DELIMITERS)
    more = gr.Button("Show more", visible=False, elem_id="papers-more", size="sm")
    return Fields(text, order, first, last, near, shown, num_rows, count, rows, more)


def count_text(found: Found, wish: Wish) -> str:
    """Say how many papers there are, of how many, or what they are nearest to."""
    count = len(found.papers)
    if wish.is_ranked:
        to = f"“{found.near.name}”" if found.near else "your text"
        return f"{_num_papers(count)} nearest to {to}"
    if count == found.num_papers:
        return _num_papers(count)
    return f"{count:,} of {_num_papers(found.num_papers)}"


def _num_papers(count: int) -> str:
    return f"{count:,} paper{'' if count == 1 else 's'}"


def count_html(text: str, wish: Wish | None = None) -> str:
    """Return the line above the list, with the way back to all papers if it has not all."""
    is_narrowed = wish is not None and replace(wish, order="title") != Wish()
    back = f' <a class="act" href="{action("library")}">Show all papers</a>' if is_narrowed else ""
    return f'<div class="number"><span role="status">{inline_html(text)}</span>{back}</div>'


def rows_html(found: Found, wish: Wish, length: int, starred: Collection[str]) -> str:
    """Return the first rows of what was found, or why there are none."""
    if found.papers:
        rows = (
            f"<li>{row_html(paper, is_starred=paper.id in starred)}</li>"
            for paper in found.papers[:length]
        )
        return f'<ul class="papers">{"".join(rows)}</ul>'
    if not found.num_papers and not wish.is_ranked:
        return (
            '<div class="nothing"><strong>The library is empty</strong><br>'
            "<code>paper-qa add papers.bib</code> puts papers in it.</div>"
        )
    hint = "Fewer words find more; “Nearest” looks for the sense of them."
    if wish.is_ranked or not wish.text:
        hint = "There is none from these years."
    return f'<div class="nothing"><strong>No paper found</strong><br>{hint}</div>'


def row_html(
    paper: Paper, *, is_starred: bool, name: str = "paper", unstar: str | None = None
) -> str:
    """Return a paper that opens to its abstract and to what can be done with it."""
    row_id = html.escape(f"{name}-{quote(paper.id, safe='')}")
    abstract = inline_html(paper.abstract) or "No abstract."
    labels = {"unstar": unstar} if unstar else {}
    return (
        f'<details class="paper" id="{row_id}">'
        f"<summary>{head_html(paper, has_link=False)}</summary>"
        f'<div class="abs">{abstract}</div><div class="meta">{link_html(paper)}</div>'
        f"{actions_html(paper, is_starred=is_starred, **labels)}</details>"
    )


def trouble_html(error: str) -> str:
    """Say why there is no list."""
    text = inline_html(error[:1].upper() + error[1:])
    return f'<div class="nothing" role="alert">⚠️ {text}</div>'
