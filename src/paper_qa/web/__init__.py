"""The web chat: a Gradio page inside a FastAPI app, and the server around it.

Importing this package does not import Gradio; building the app does.
"""

import os

# Gradio has no other switches than these, and reads them when it is imported.
_GRADIO = {
    "GRADIO_ANALYTICS_ENABLED": "False",  # unless exactly this, two outside hosts are looked up
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1000000000",  # else statistics after every event
    "GRADIO_ANALYTICS_MAX_EVENTS": "1",
}
os.environ.update(_GRADIO)  # noqa: TID251 - they are not settings of ours

# Gradio must come later
from paper_qa.web.preparation import ModelPreparation  # noqa: E402
from paper_qa.web.server import build_app, serve  # noqa: E402

__all__ = ["ModelPreparation", "build_app", "serve"]
