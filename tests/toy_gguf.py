"""A tiny language model with random weights, which llama.cpp really loads: it talks nonsense.

It reads any text, byte by byte, writes the words below, and never ends of itself.
"""

from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

WORDS = ("neurons", "oscillate", "fields", "bend", "graphs", "rest", "on", "the", "cold", "and.")
WIDTH, LAYERS, HEADS, INNER = 64, 2, 4, 128
CONTEXT = 32_768
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_toy(path: Path) -> Path:
    """Write the model, the same each time, and return its path."""
    tokens, kinds = _vocabulary()
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["a b"])  # there has to be one
    writer.add_bos_token_id(tokens.index("<|im_start|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    for name, weights in _weights(len(tokens), np.random.default_rng(7)).items():
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _vocabulary() -> tuple[list[str], list[TokenType]]:
    """Return every byte as GPT-2 spells it, the two marks of the template, and the words."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    spelt = [*map(chr, printable), *(chr(256 + number) for number in range(len(others)))]
    tokens = [*spelt, "<|im_start|>", "<|im_end|>", *(f"Ġ{word}" for word in WORDS)]
    kinds = [TokenType.NORMAL] * len(tokens)
    kinds[256] = kinds[257] = TokenType.CONTROL
    return tokens, kinds


def _weights(num_tokens: int, own: np.random.Generator) -> dict[str, np.ndarray]:
    def matrix(rows: int, columns: int) -> np.ndarray:
        return own.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)

    ones = np.ones(WIDTH, np.float32)
    output = matrix(num_tokens, WIDTH)
    output[: -len(WORDS)] = 0  # of all tokens, only the words are ever the likeliest
    weights = {
        "token_embd.weight": matrix(num_tokens, WIDTH),
        "output_norm.weight": ones,
        "output.weight": output,
    }
    for layer in range(LAYERS):
        shapes = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (WIDTH, WIDTH))
        shapes |= {"ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER)}
        weights |= {f"blk.{layer}.{name}.weight": matrix(*s) for name, s in shapes.items()}
        weights |= {f"blk.{layer}.{name}.weight": ones for name in ("attn_norm", "ffn_norm")}
    return weights
