"""The embedding model that comes with the package: its files, and what reads them.

``tools/export_embedder.py`` writes the files beside this one; README.md says what they are.
"""

import functools
import json
import os
import threading
from importlib import resources
from typing import TYPE_CHECKING, Any

from paper_qa.errors import ModelError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_loading = threading.Lock()  # two threads that load at once would hold the weights twice


def model_name() -> str:
    """Return the name of these very files: other weights, another name."""
    return _manifest()["name"]


def load_session() -> "InferenceSession":
    """Load the network on the first call; it may be run from several threads at once."""
    with _loading:
        return _session()


def load_tokenizer() -> "Tokenizer":
    """Load the tokenizer, which neither cuts nor pads, on the first call."""
    with _loading:
        return _tokenizer()


def open_session(content: bytes, *, as_floats: bool) -> "InferenceSession":
    """Open a network that runs on one thread: there is one run for each text.

    ``as_floats`` turns int8 weights into float32 once, now, and not in every run.
    """
    _silence_onnxruntime()
    import onnxruntime  # noqa: PLC0415 - not needed before a text is embedded

    onnxruntime.disable_telemetry_events()  # in case somebody else has imported it before
    options: Any = onnxruntime.SessionOptions()  # pyright: ignore[reportUnknownVariableType]
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    if as_floats:
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


@functools.cache
def _session() -> "InferenceSession":
    return open_session(_checked("model.onnx"), as_floats=True)


@functools.cache
def _tokenizer() -> "Tokenizer":
    from tokenizers import Tokenizer  # noqa: PLC0415 - not needed before a text is embedded

    return Tokenizer.from_buffer(_checked("tokenizer.json"))


@functools.cache
def _manifest() -> dict[str, Any]:
    return json.loads(_read("MANIFEST.json"))


def _silence_onnxruntime() -> None:
    """Keep onnxruntime from reporting to Microsoft, and from giving this machine an id for it.

    It decides when it is imported, and looks nowhere but into the environment; its releases have
    used two names.
    """
    for name in ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED"):
        os.environ[name] = "1"  # noqa: TID251 - see above


def _checked(name: str) -> bytes:
    """Read a file of the model, and see that it is all there."""
    content = _read(name)
    if len(content) != _manifest()["files"][name]["bytes"]:
        raise ModelError(f"the model file {name!r} is damaged: install paper-qa-chat again")
    return content


def _read(name: str) -> bytes:
    try:
        return (resources.files(__name__) / name).read_bytes()
    except OSError as error:
        raise ModelError(
            f"the model file {name!r} cannot be read: install paper-qa-chat again"
        ) from error
