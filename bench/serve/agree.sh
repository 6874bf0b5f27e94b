#!/bin/bash
# vLLM's own client and `tplens serve run` against the same embedded engine with the same flags, in ABBA order: how far their mean TTFT
# and TPOT lie apart, and whether each reads the other's file. See bench/serve/README.md.
#
#   TPLENS_VLLM=/path/to/vllm TPLENS_TOKENIZER=/folder bench/serve/agree.sh [PAIRS]
#
# TPLENS_VLLM is vLLM's command, or its Rust client `vllm-rs`; both have `bench serve`. The engine has CPU 0, each client CPU 1. It
# judges nothing. Lengths differ from request to request, so that streams begin at any instant of a step: where all end in one step, a
# client that sends the next ones a fraction of a millisecond later has them wait for another step, and that is no error of its clock.
set -euo pipefail

die() {
    echo "bench/serve/agree.sh: $*" >&2
    exit 2
}

pairs=${1:-4}
[[ $pairs =~ ^[0-9]+$ && $pairs -ge 1 ]] || die "PAIRS is a whole number from 1, and not $pairs"
[ "$(nproc)" -ge 2 ] || die "two CPUs are needed"
command -v taskset > /dev/null || die "taskset not found; install util-linux"
[ -x "${TPLENS_VLLM-}" ] || die "TPLENS_VLLM must name vLLM's command or its vllm-rs, and not '${TPLENS_VLLM-}'"
[ -d "${TPLENS_TOKENIZER-}" ] || die "TPLENS_TOKENIZER must name a folder with a tokenizer.json whose tokens are words"

root=$(cd "$(dirname "$0")/../.." && pwd)
ours=${TPLENS_BENCH_PROGRAM:-${CARGO_TARGET_DIR:-$root/target}/release/tplens}
if [ -z "${TPLENS_BENCH_BUILT-}" ]; then
    (cd "$root" && cargo build --quiet --release -p tplens)
fi
work=$(mktemp -d)
engine=
trap '[ -z "$engine" ] || kill "$engine" 2> /dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

taskset -c 0 ${TPLENS_BENCH_FIRST-} "$ours" serve engine --box rtxpro6000-mig --model llama-3.1-8b --port 0 > "$work/engine" 2>&1 &
engine=$!
until grep -q 'http://' "$work/engine"; do kill -0 "$engine" 2> /dev/null || die "the engine did not start"; done
url=$(grep -o 'http://[^ ]*' "$work/engine" | head -n 1)

# CLIENT RUN: one run with the flags that both have; its file is "$work/CLIENT-RUN.json".
run() {
    local program=("$ours" serve run --out "$work/out-$2")
    [ "$1" = ours ] || program=("$TPLENS_VLLM" bench serve)
    HF_HUB_OFFLINE=1 taskset -c 1 ${TPLENS_BENCH_FIRST-} "${program[@]}" --base-url "$url" --backend openai \
        --endpoint /v1/completions --model llama-3.1-8b --tokenizer "$TPLENS_TOKENIZER" --dataset-name random \
        --random-input-len 16 --random-output-len 64 --random-range-ratio 0.5 --num-prompts 120 --max-concurrency 4 --num-warmups 1 \
        --ignore-eos --seed 0 \
        --percentile-metrics ttft,tpot,itl,e2el --save-result --save-detailed --result-dir "$work" \
        --result-filename "$1-$2.json" > "$work/said" 2>&1 || die "$1 failed: $(tail -n 3 "$work/said")"
}

# FILE METRIC STATISTIC: a number of a result, as our reader takes it from either's file.
of() { "$ours" serve show "$1" --csv | awk -F, -v metric="$2" -v statistic="$3" '$2 == metric && $3 == statistic { print $5 }'; }

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
for ((pair = 0; pair < pairs; pair++)); do
    order="ours vllm"
    [ $((pair % 2)) -eq 0 ] || order="vllm ours"
    for client in $order; do run "$client" "$pair"; done
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"

for ((pair = 0; pair < pairs; pair++)); do
    for client in ours vllm; do
        file=$work/$client-$pair.json
        echo "$client $(of "$file" TTFT mean) $(of "$file" TPOT mean)"
    done
done | awk '
    { ttft[$1] = $2; tpot[$1] = $3; sum[$1] += $2; paces[$1] += $3 }
    $1 == "vllm" {
        n++
        first[n] = ttft["vllm"] - ttft["ours"]
        pace[n] = (tpot["vllm"] / tpot["ours"] - 1) * 100
        printf "pair %d: mean TTFT ours %.3f, vLLM %.3f ms (%+.3f); mean TPOT ours %.4f, vLLM %.4f ms (%+.3f%%)\n", n, ttft["ours"], ttft["vllm"], first[n], tpot["ours"], tpot["vllm"], pace[n]
    }
    END {
        for (i = 1; i <= n; i++) { a += first[i] / n; b += pace[i] / n }
        for (i = 1; i <= n; i++) { s += (first[i] - a) ^ 2; t += (pace[i] - b) ^ 2 }
        spread = "none"
        if (n > 1) spread = sprintf("%.3f ms, %.3f%%", sqrt(s / (n - 1)), sqrt(t / (n - 1)))
        printf "vLLM less ours: TTFT %+.3f ms, TPOT %+.3f%%; standard deviation over pairs %s; n = %d pairs of 120 requests\n", a, b, spread, n
    }'

echo
echo "both files in our reader:"
"$ours" serve show "$work/ours-0.json" "$work/vllm-0.json"
# The command in Python has no reader of two results.
if [ "$(basename "$TPLENS_VLLM")" = vllm-rs ]; then
    echo "our file in vLLM's reader:"
    "$TPLENS_VLLM" bench serve --compare "$work/ours-0.json" "$work/vllm-0.json" 2> /dev/null || die "vLLM's client does not read our file"
fi
