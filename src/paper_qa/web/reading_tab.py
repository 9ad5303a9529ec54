"""The reading list: papers that a person has starred, with their notes.

Its rows are laid out once and filled in page by page. Rows made at run time (``gr.render``) take
six seconds for 200 papers, and after a restart of the server their notes would not be saved.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from paper_qa.errors import PaperQAError
from paper_qa.user_data import Saved, UserData
from paper_qa.web.maths import DELIMITERS, inline_html
from paper_qa.web.papers_tab import row_html, trouble_html
from paper_qa.web.visitor import owner_of

NUM_ROWS = 10
"""At a time: each row costs the page 4.5 kB before the chat is there."""
MAX_NOTE_LENGTH = 10_000
_MAX_VIEWS = 1000

Update = tuple[Any, ...]

_SKIP: Any = gr.skip()  # pyright: ignore[reportUnknownVariableType]
_QUICK: dict[str, Any] = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
_EMPTY = (
    '<div class="nothing"><strong>Nothing here yet</strong><br>'
    "Open a source and choose <strong>☆ Add to reading list</strong>.</div>"
)
_DOWNLOADS = (
    '<a href="/export/reading-list.md">Markdown</a> · <a href="/export/reading-list.bib">BibTeX</a>'
)


@dataclass(frozen=True, slots=True)
class Row:
    """The components of one paper of the list."""

    group: gr.Column
    paper: gr.Markdown
    note: gr.Textbox
    paper_id: gr.Textbox
    kept: gr.Textbox
    said: gr.Markdown

    @property
    def outputs(self) -> list[Any]:
        """What filling it in updates, in the order of the values."""
        return [self.group, self.paper, self.note, self.paper_id, self.kept, self.said]


@dataclass(frozen=True, slots=True)
class View:
    """What a page of the browser shows: which part of the list, and which papers are in it."""

    page: int = 0
    paper_ids: tuple[str, ...] | None = None


class Reading:
    """What the tab of the reading list shows.

    It remembers what every page shows, and leaves that alone while it is so: to fill in a note
    that is being typed would undo what was typed since.
    """

    def __init__(self, data: UserData) -> None:
        self._data = data
        self._lock = threading.Lock()
        self._views: OrderedDict[str, View] = OrderedDict()

    def show(self, request: gr.Request) -> Any:
        """Return the list of the person whose browser this is."""
        return self._shown(request, 0)

    def newer(self, request: gr.Request) -> Any:
        """Return the part of the list before."""
        return self._shown(request, -1)

    def older(self, request: gr.Request) -> Any:
        """Return the part of the list after."""
        return self._shown(request, 1)

    def save(self, note: str, paper_id: str, kept: str, request: gr.Request) -> tuple[Any, Any]:
        """Keep a note, and say so, if it is another than the one that is kept."""
        owner = owner_of(request)
        if not owner or not paper_id or note == kept:
            return _SKIP, _SKIP
        try:
            self._data.annotate(owner, paper_id, note[:MAX_NOTE_LENGTH])
        except PaperQAError as error:
            text = inline_html(f"Not saved: {error}")
            return _SKIP, f'<div class="kept" role="alert">⚠️ {text}</div>'
        return note, '<div class="kept" role="status">Saved</div>'

    def _shown(self, request: gr.Request, by: int) -> Update:
        owner = owner_of(request)
        try:
            saved = self._data.reading_list(owner) if owner else []
        except PaperQAError as error:
            hidden = [_hidden()] * NUM_ROWS
            return (trouble_html(str(error)), *[gr.update(visible=False)] * 3, *_flat(hidden))
        before = self._view(request.session_hash)
        num_pages = max(1, -(-len(saved) // NUM_ROWS))
        page = min(max(before.page + by, 0), num_pages - 1)
        view = View(page, tuple(item.paper.id for item in saved))
        if view == before:
            return (_SKIP,) * (4 + 6 * NUM_ROWS)
        self._keep(request.session_hash, view)
        here = saved[page * NUM_ROWS : (page + 1) * NUM_ROWS]
        rows = [_filled(item) for item in here] + [_hidden()] * (NUM_ROWS - len(here))
        return (list_html(len(saved)), *_pager(page, num_pages), *_flat(rows))

    def _view(self, session: str | None) -> View:
        with self._lock:
            return self._views.get(session or "", View())

    def _keep(self, session: str | None, view: View) -> None:
        with self._lock:
            self._views[session or ""] = view
            self._views.move_to_end(session or "")
            while len(self._views) > _MAX_VIEWS:
                self._views.popitem(last=False)


def reading_tab(reading: Reading, act: gr.Textbox) -> list[Any]:  # noqa: ARG001 - `layout` shows it anew after every action
    """Lay out the tab, wire it up, and return what `Reading.show` fills."""
    with gr.Column(elem_id="reading", elem_classes="narrow") as column:
        gr.Markdown("## Reading list", elem_id="reading-title")
        head = gr.Markdown(_EMPTY, elem_id="reading-head")
        rows = [_row(reading, number) for number in range(NUM_ROWS)]
        with gr.Row(elem_id="reading-pages"):
            newer = gr.Button("← Newer", visible=False, size="sm", scale=0, min_width=100)
            place = gr.Markdown(visible=False, elem_id="reading-page")
            older = gr.Button("Older →", visible=False, size="sm", scale=0, min_width=100)
    outputs = [head, newer, place, older, *(part for row in rows for part in row.outputs)]
    newer.click(reading.newer, None, outputs, **_QUICK)
    older.click(reading.older, None, outputs, **_QUICK)
    if isinstance(column.parent, gr.Tab):  # another page of the same person may have changed it
        column.parent.select(reading.show, None, outputs, **_QUICK)
    return outputs


def _row(reading: Reading, number: int) -> Row:
    with gr.Column(visible=False, elem_classes="saved") as group:
        paper = gr.Markdown(latex_delimiters=DELIMITERS)
        note = gr.Textbox(
            label="Note",
            show_label=False,
            placeholder="Add a note",
            lines=1,
            max_lines=8,
            max_length=MAX_NOTE_LENGTH,
            elem_id=f"note-{number}",
            elem_classes="note",
        )
        paper_id = gr.Textbox(label="Paper", visible="hidden", elem_classes="unseen")
        kept = gr.Textbox(label="Note that is kept", visible="hidden", elem_classes="unseen")
        said = gr.Markdown(elem_classes="said")
    # While it is typed, so that nothing is lost with a page that is closed. What `show` fills in is
    # a change too, hence `kept`: else it would be saved again, over what another page has saved.
    gr.on(
        [note.change, note.submit],
        reading.save,
        [note, paper_id, kept],
        [kept, said],
        trigger_mode="always_last",
        **_QUICK,
    )
    return Row(group, paper, note, paper_id, kept, said)


def list_html(count: int) -> str:
    """Return the line above the list: how many papers, and where to download them."""
    if not count:
        return _EMPTY
    papers = f"{count:,} paper{'' if count == 1 else 's'}"
    return f'<div class="number"><span role="status">{papers}</span> Download: {_DOWNLOADS}</div>'


def _filled(item: Saved) -> Update:
    note: Any = gr.update(value=item.note, label=f"Note on {item.paper.name}")
    row = row_html(item.paper, is_starred=True, name="saved", unstar="✕ Remove")
    return gr.update(visible=True), row, note, item.paper.id, item.note, ""


def _hidden() -> Update:
    return (gr.update(visible=False), *(_SKIP,) * 5)


def _pager(page: int, num_pages: int) -> Update:
    is_long = num_pages > 1
    return (
        gr.update(visible=is_long, interactive=page > 0),
        gr.update(visible=is_long, value=f"Page {page + 1} of {num_pages}"),
        gr.update(visible=is_long, interactive=page < num_pages - 1),
    )


def _flat(rows: Sequence[Update]) -> Update:
    return tuple(value for row in rows for value in row)
