"""Who asks: the person by the browser's cookie, and the page by Gradio's own name for it."""

from collections.abc import Mapping
from typing import cast

import gradio as gr

from paper_qa.web.security import owner_in


def owner_of(request: gr.Request) -> str:
    """Return whose browser this is, or nothing."""
    headers = cast("Mapping[str, str]", request.headers)
    return owner_in(headers.get("cookie", ""))


def page_of(request: gr.Request) -> str:
    """Return which page asks: one browser may have several."""
    return request.session_hash or ""
