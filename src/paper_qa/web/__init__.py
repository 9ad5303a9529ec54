"""The web chat: a Gradio page inside a FastAPI app, and the server around it.

Importing this package does not import Gradio; building the app does.
"""

import os

# Gradio reads this on its import; unless it is exactly "False", two outside hosts are looked up.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # noqa: TID251 - Gradio has no other switch

from paper_qa.web.server import build_app, serve

__all__ = ["build_app", "serve"]
