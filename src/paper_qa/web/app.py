"""The page: Gradio components, what happens between them, and the app they are mounted in."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import gradio as gr
from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from paper_qa.errors import UnknownPaperError
from paper_qa.user_data import UnknownItemError, UserData
from paper_qa.web.chat import Chat
from paper_qa.web.conversation import Asker
from paper_qa.web.downloads import not_found, router
from paper_qa.web.kept import Kept
from paper_qa.web.layout import lay_out
from paper_qa.web.papers_tab import Papers
from paper_qa.web.preparation import ModelPreparation, Preparation, Report
from paper_qa.web.reading_tab import Reading
from paper_qa.web.security import BasicLogin, ClosedDoors, OwnerCookie, SecurityHeaders
from paper_qa.web.theme import THEME
from paper_qa.web.thumbs import Thumbs

STATIC = Path(__file__).parent / "static"
TITLE = "Ask the abstracts"

_HEAD = """<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/ui/ui.css">
<link rel="stylesheet" href="/ui/lists.css">
<script src="/ui/ui.js" defer></script>
<script src="/ui/lists.js" defer></script>"""


def build(
    qa: Asker,
    *,
    allowed_hosts: list[str],
    data: UserData,
    login: str = "",
    model: ModelPreparation | None = None,
) -> FastAPI:
    """Build the app: the page at ``/``, our own files under ``/ui``, and the guards around both."""
    library = Preparation(lambda report: _open(qa, report), "Opening the library")
    at_start = Preparation(model.at_start if model else _nothing, "Looking for the model")
    on_demand = Preparation(model.on_demand if model else _nothing, "Looking for the model")

    kept = Kept(data)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        library.start()
        at_start.start()
        yield

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.mount("/ui", StaticFiles(directory=STATIC))
    app.include_router(router(data, qa.paper))
    for error in (UnknownItemError, UnknownPaperError):
        app.add_exception_handler(error, not_found)
    app.add_middleware(ClosedDoors)
    app.add_middleware(OwnerCookie)
    if login:
        app.add_middleware(BasicLogin, login=login)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts, www_redirect=False)
    return gr.mount_gradio_app(
        app,
        page(
            Chat(qa, library, at_start, on_demand, kept),
            Thumbs(qa, kept),
            Papers(qa, data),
            Reading(data),
        ),
        path="/",
        show_error=False,
        run_history=False,
        footer_links=[],
        enable_monitoring=False,
        ssr_mode=False,
        mcp_server=False,
        theme=THEME,
        head=_HEAD,
    )


def _open(qa: Asker, report: Report) -> None:
    """Open the library, and search it: the first search reads in what the later ones need."""
    qa.prepare(report)
    for paper in qa.papers()[:1]:
        qa.search(paper.name, k=1)


def _nothing(_report: Report) -> None:
    """Leave the model as it is."""


def page(chat: Chat, thumbs: Thumbs, papers: Papers, reading: Reading) -> gr.Blocks:
    """Lay out the page: the list of conversations, and the tabs."""
    with gr.Blocks(
        title=TITLE, fill_width=True, fill_height=True, analytics_enabled=False
    ) as blocks:
        lay_out(blocks, chat, thumbs, papers, reading, title=TITLE)
    blocks.queue(default_concurrency_limit=None, max_size=256)
    return blocks
