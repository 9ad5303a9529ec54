"""The page: Gradio components, what happens between them, and the app they are mounted in."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import gradio as gr
from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.staticfiles import StaticFiles

from paper_qa.web.chat import Chat
from paper_qa.web.conversation import Asker
from paper_qa.web.layout import chat_tab
from paper_qa.web.preparation import Preparation, Prepare, Report
from paper_qa.web.security import BasicLogin, ClosedDoors, SecurityHeaders
from paper_qa.web.theme import THEME

STATIC = Path(__file__).parent / "static"
TITLE = "Ask the abstracts"

_HEAD = """<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/ui/ui.css">
<script src="/ui/ui.js" defer></script>"""


def build(
    qa: Asker,
    *,
    allowed_hosts: list[str],
    login: str = "",
    prepare_model: Prepare | None = None,
) -> FastAPI:
    """Build the app: the page at ``/``, our own files under ``/ui``, and the guards around both."""
    library = Preparation(qa.prepare, "Opening the library")
    model = Preparation(prepare_model or _nothing, "Looking for the model")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        library.start()
        model.start()
        yield

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.mount("/ui", StaticFiles(directory=STATIC))
    app.add_middleware(ClosedDoors)
    if login:
        app.add_middleware(BasicLogin, login=login)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts, www_redirect=False)
    return gr.mount_gradio_app(
        app,
        page(Chat(qa, library, model)),
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


def _nothing(_report: Report) -> None:
    """Leave the model as it is."""


def page(chat: Chat) -> gr.Blocks:
    """Lay out the page; more tabs come beside the chat."""
    with gr.Blocks(
        title=TITLE, fill_width=True, fill_height=True, analytics_enabled=False
    ) as blocks:
        chat_tab(blocks, chat, TITLE)
    blocks.queue(default_concurrency_limit=4, max_size=32)
    return blocks
