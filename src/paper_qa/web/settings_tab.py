"""What a person can set for their own questions: which papers, who writes, how strictly."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gradio as gr

from paper_qa.domain import AS_CONFIGURED, MAX_SOURCES, AskOptions, Scope
from paper_qa.web.catalogue import IMPOSSIBLE, are_reversed, years

_PRIVATE: dict[str, Any] = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
_SLOWLY: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
_MODEL, _PASSAGES = "model", "passages"
_UNSUPPORTED = [
    ("As configured", "configured"),
    ("Withhold them, and say how many", "withhold"),
    ("Show them, marked", "flag"),
]
_WHICH = "Which papers"


def narrowing() -> list[Any]:
    """Lay out the filters below the question box, and return their fields for `narrowed`."""
    with gr.Accordion(_WHICH, open=False, elem_id="narrowing") as fold:
        with gr.Row():
            first, last, author, venue = (
                gr.Textbox(
                    label=label,
                    elem_id=elem_id,
                    placeholder="any",  # and no `Number`: an empty one shows a 0
                    max_length=length,
                    min_width=90,
                )
                for label, elem_id, length in (
                    ("From year", "year-from", 4),
                    ("To year", "year-to", 4),
                    ("Author", "filter-author", 100),
                    ("Venue", "filter-venue", 100),
                )
            )
        sources = gr.Slider(
            0,
            MAX_SOURCES,
            0,
            step=1,
            label="Sources (0: as many as fit)",
            elem_id="sources-max",
        )
        said = gr.Markdown(elem_id="narrowing-said")
    fields: list[Any] = [first, last, author, venue, sources]
    # One listener for all: what is said of an earlier change never comes after a later one's.
    gr.on(
        [field.change for field in fields],
        _said,
        fields,
        [fold, said],
        trigger_mode="always_last",
        **_PRIVATE,
    )
    return fields


async def _said(*fields: Any) -> tuple[Any, str]:
    """Say on the closed fold which papers there are left, and what is impossible about it."""
    options = narrowed(AS_CONFIGURED, *fields)
    first, last, *_ = (field or "" for field in fields)
    return gr.update(label=narrowing_text(options)), IMPOSSIBLE if are_reversed(first, last) else ""


def narrowed(
    options: AskOptions,
    first: str | None,
    last: str | None,
    author: str | None,
    venue: str | None,
    sources: float | None,
) -> AskOptions:
    """Return the options with other filters; years that can't be met are left out."""
    year_from, year_to = years(first or "", last or "")
    scope = Scope(
        year_from=year_from,
        year_to=year_to,
        venue=(venue or "").strip(),
        author=(author or "").strip(),
        paper_ids=options.scope.paper_ids,
    )
    num_sources = int(sources) if sources else None
    return replace(options, scope=scope, num_sources=num_sources)


def narrowing_text(options: AskOptions) -> str:
    """Name the filters that are set."""
    scope = options.scope
    parts = [
        f"from {scope.year_from}" if scope.year_from else "",
        f"to {scope.year_to}" if scope.year_to else "",
        f"by {scope.author}" if scope.author else "",
        f"in {scope.venue}" if scope.venue else "",
        f"{options.num_sources} at most" if options.num_sources else "",
    ]
    named = ", ".join(part for part in parts if part)
    return f"{_WHICH}: {named}" if named else _WHICH


def settings_tab(fetch: Callable[..., Any]) -> list[Any]:
    """Lay out the settings, which hold until the page is closed; return the fields of `chosen`."""
    with gr.Column(elem_id="settings", elem_classes="narrow"):
        gr.Markdown("## Settings", elem_id="settings-title")
        writer = gr.Radio(
            [
                ("The model that is configured, if there is one", _MODEL),
                ("Nobody: show me the key passages", _PASSAGES),
            ],
            value=_MODEL,
            label="Who answers",
            elem_id="writer",
        )
        gr.Markdown(_HOW_TO_CHANGE, elem_id="change-model")
        fetch_button = gr.Button("Fetch the built-in model (1.1 GB)", elem_id="fetch", size="sm")
        fetched = gr.Markdown(elem_id="fetched")
        unsupported = gr.Radio(
            _UNSUPPORTED,
            value="configured",
            label="Sentences that the abstracts do not support",
            elem_id="unsupported",
        )
        own = gr.Checkbox(
            value=False, label="Decide for myself when to decline", elem_id="own-threshold"
        )
        threshold = gr.Slider(
            0,
            1,
            0.5,
            step=0.05,
            label="Decline below this confidence (0: never decline, 1: always)",
            elem_id="threshold",
            interactive=False,
        )
        gr.Button("Dark or light", elem_id="dark", size="sm")
    own.change(_enabled, own, threshold, **_PRIVATE)
    fetch_button.click(fetch, None, fetched, concurrency_limit=None, **_SLOWLY)
    return [writer, unsupported, own, threshold]


async def _enabled(is_on: object) -> Any:
    return gr.update(interactive=bool(is_on))


_HOW_TO_CHANGE = (
    "Another model is set where the program is started, in the environment or in a file `.env`: "
    "`PAPER_QA_LLM=embedded` for the one that runs inside, or `PAPER_QA_LLM_BASE_URL` and "
    "`PAPER_QA_LLM_MODEL` for any OpenAI-compatible server. `paper-qa model` says what is there."
)


def chosen(
    options: AskOptions, writer: str, unsupported: str, own: object, threshold: float
) -> AskOptions:
    """Return the options as they are set."""
    flags = {"withhold": False, "flag": True}
    return replace(
        options,
        write=writer != _PASSAGES,
        flag_unsupported=flags.get(unsupported),
        abstain_threshold=float(threshold) if own else None,
    )


NUM_NARROWING = 5  # the fields of `narrowed`


def options_of(paper_id: str, *fields: Any) -> AskOptions:
    """Return the options for a question: about one paper or all, as the fields have them.

    They come with every question, so that what is shown holds, after a restart of the server too.
    """
    options = replace(AS_CONFIGURED, scope=Scope(paper_ids=(paper_id,) if paper_id else ()))
    options = narrowed(options, *fields[:NUM_NARROWING])
    return chosen(options, *fields[NUM_NARROWING:])
