"""Serves a tiny model of random weights with llama.cpp's own server: a real engine for the tests, with nothing to fetch but the wheel.

Usage: serve.py PORT FOLDER. The model is written into FOLDER (GGUF version 3, llama architecture, the sizes of config.json beside
this file) where it is not there yet. Needs the package xllamacpp and nothing else.
"""

import json
import os
import random
import struct
import sys
import time

import xllamacpp

HERE = os.path.dirname(os.path.abspath(__file__))
ALIGNMENT = 32
UINT32, FLOAT32, BOOL, STRING, ARRAY, INT32 = 4, 6, 7, 8, 9, 5
F32, F16 = 0, 1


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    packed = {UINT32: "<I", FLOAT32: "<f", BOOL: "<?"}
    body = text(value) if kind == STRING else struct.pack(packed[kind], value)
    return text(key) + struct.pack("<I", kind) + body


def entries(key, kind, values):
    head = text(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
    if kind == STRING:
        return head + b"".join(text(value) for value in values)
    return head + struct.pack(f"<{len(values)}i", *values)


def vocabulary():
    """Special tokens, then printable ASCII as byte-level BPE writes it, with one merge because there must be one."""
    letters = [chr(code) for code in range(33, 127)] + ["\u0120", "\u010a"]
    return ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + letters + ["th"], ["t h"]


def weights(count, rng):
    return struct.pack(f"<{count}e", *(rng.random() * 0.1 - 0.05 for _ in range(count)))


def write_model(path, shape):
    hidden, layers = shape["hidden_size"], shape["num_hidden_layers"]
    heads, kv = shape["num_attention_heads"], shape["num_key_value_heads"]
    ffn, head = shape["intermediate_size"], hidden // heads
    tokens, merges = vocabulary()
    assert len(tokens) == shape["vocab_size"], (len(tokens), shape["vocab_size"])
    keys = [
        entry("general.architecture", STRING, "llama"),
        entry("general.name", STRING, "tiny-random"),
        entry("general.file_type", UINT32, 1),
        entry("llama.context_length", UINT32, 4096),
        entry("llama.embedding_length", UINT32, hidden),
        entry("llama.block_count", UINT32, layers),
        entry("llama.feed_forward_length", UINT32, ffn),
        entry("llama.attention.head_count", UINT32, heads),
        entry("llama.attention.head_count_kv", UINT32, kv),
        entry("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        entry("llama.rope.dimension_count", UINT32, head),
        entry("llama.vocab_size", UINT32, len(tokens)),
        entry("tokenizer.ggml.model", STRING, "gpt2"),
        entry("tokenizer.ggml.pre", STRING, "gpt-2"),
        entries("tokenizer.ggml.tokens", STRING, tokens),
        entries("tokenizer.ggml.token_type", INT32, [3, 3, 3] + [1] * (len(tokens) - 3)),
        entries("tokenizer.ggml.merges", STRING, merges),
        entry("tokenizer.ggml.bos_token_id", UINT32, 0),
        entry("tokenizer.ggml.eos_token_id", UINT32, 2),
        entry("tokenizer.ggml.add_bos_token", BOOL, False),
        entry("tokenizer.chat_template", STRING, "{% for m in messages %}{{m['content']}}\n{% endfor %}"),
    ]
    matrices = [("token_embd", len(tokens), hidden), ("output", len(tokens), hidden)]
    norms = ["output_norm"]
    for layer in range(layers):
        block = f"blk.{layer}."
        norms += [block + "attn_norm", block + "ffn_norm"]
        matrices += [
            (block + "attn_q", hidden, hidden),
            (block + "attn_k", kv * head, hidden),
            (block + "attn_v", kv * head, hidden),
            (block + "attn_output", hidden, hidden),
            (block + "ffn_gate", ffn, hidden),
            (block + "ffn_up", ffn, hidden),
            (block + "ffn_down", hidden, ffn),
        ]
    rng = random.Random(0)
    table, data = [], b""
    for name, rows, columns in matrices:
        table.append((name, [columns, rows], F16, len(data)))
        data += weights(rows * columns, rng)
        data += b"\0" * (-len(data) % ALIGNMENT)
    for name in norms:
        table.append((name, [hidden], F32, len(data)))
        data += struct.pack(f"<{hidden}f", *[1.0] * hidden)
        data += b"\0" * (-len(data) % ALIGNMENT)
    head_bytes = b"GGUF" + struct.pack("<IQQ", 3, len(table), len(keys)) + b"".join(keys)
    for name, sizes, kind, offset in table:
        head_bytes += text(name + ".weight") + struct.pack("<I", len(sizes))
        head_bytes += struct.pack(f"<{len(sizes)}Q", *sizes) + struct.pack("<IQ", kind, offset)
    head_bytes += b"\0" * (-len(head_bytes) % ALIGNMENT)
    with open(path + ".new", "wb") as file:
        file.write(head_bytes + data)
    os.replace(path + ".new", path)


def main():
    port, folder = int(sys.argv[1]), sys.argv[2]
    with open(os.path.join(HERE, "config.json")) as file:
        shape = json.load(file)
    model = os.path.join(folder, "tiny.gguf")
    if not os.path.exists(model):
        write_model(model, shape)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.n_ctx = 8192
    parameters.n_parallel = 4
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_gpu_layers = 0
    parameters.endpoint_metrics = True
    parameters.ui = False
    parameters.cpuparams.n_threads = 1
    server = xllamacpp.Server(parameters)
    print("listening on", server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main()
