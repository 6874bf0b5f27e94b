#!/bin/bash
# CPU time for each token of load generators, side by side: a receiver in C on epoll and one on bare hyper that only count,
# `tplens serve run`, and vLLM's Rust client where it is given. See bench/serve/README.md.
#
#   bench/serve/peers.sh [ROUNDS]
#
# The server of known schedule has CPU 0, each client CPU 1. Each round runs all clients, every second one in the opposite order. CPU
# time is user and system time of the process (getrusage), less that of a run with one request of one token. It judges nothing.
set -euo pipefail

die() {
    echo "bench/serve/peers.sh: $*" >&2
    exit 2
}

rounds=${1:-4}
[[ $rounds =~ ^[0-9]+$ && $rounds -ge 1 ]] || die "ROUNDS is a whole number from 1, and not $rounds"
[ "$(nproc)" -ge 2 ] || die "two CPUs are needed"
command -v taskset > /dev/null || die "taskset not found; install util-linux"

root=$(cd "$(dirname "$0")/../.." && pwd)
programs=${CARGO_TARGET_DIR:-$root/target}/release
if [ -z "${TPLENS_BENCH_BUILT-}" ]; then
    (cd "$root" && cargo build --quiet --release -p tplens -p serve-bench --bins --examples)
fi
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
TIMEFORMAT='%U %S'

clients="floor bare ours"
cc -O2 -o "$work/floor" "$root/bench/serve/floor.c" || die "no C compiler; install gcc"
if [ -n "${TPLENS_VLLM_RS-}" ]; then
    [ -x "$TPLENS_VLLM_RS" ] || die "TPLENS_VLLM_RS names no program: $TPLENS_VLLM_RS"
    [ -d "${TPLENS_TOKENIZER-}" ] || die "TPLENS_TOKENIZER must name a folder with a tokenizer.json for vLLM's client"
    clients="$clients vllm"
else
    echo "vLLM's Rust client is left out: TPLENS_VLLM_RS does not name its vllm-rs" >&2
fi

# Starts the server with these flags; `url` is where it listens then.
start() {
    taskset -c 0 ${TPLENS_BENCH_FIRST-} "$programs/examples/known_schedule" "$@" > "$work/server" &
    server=$!
    until grep -q . "$work/server"; do kill -0 "$server" || die "the server did not start"; done
    url=$(sed 's/^listening on //' "$work/server")
}

stop() {
    kill "$server"
    wait "$server" 2> /dev/null || true
    server=
}

# client STREAMS REQUESTS TOKENS: runs one; what it says goes to "$work/said", its CPU time to "$work/cpu".
run() {
    rm -rf "$work/out" "$work/said.json"
    case $1 in
    floor) set -- "$work/floor" 127.0.0.1 "${url##*:}" "$2" "$3" "$4" ;;
    bare) set -- "$programs/examples/bare_hyper" "${url#http://}" "$2" "$3" "$4" ;;
    ours) set -- "$programs/tplens" serve run --base-url "$url" --endpoint completions --concurrency "$2" --requests "$3" \
        --output-tokens "$4" --input-tokens 4 --warmups 0 --seed 1 --out "$work/out" --save-result --result-filename "$work/said.json" ;;
    vllm) set -- "$TPLENS_VLLM_RS" bench serve --backend openai --base-url "$url" --endpoint /v1/completions \
        --model known-schedule --tokenizer "$TPLENS_TOKENIZER" --dataset-name random --random-input-len 4 \
        --random-output-len "$4" --max-concurrency "$2" --num-prompts "$3" --ignore-eos ;;
    esac
    # A client that calls its own run invalid, as one on a full CPU must, ends with 3.
    { time taskset -c 1 ${TPLENS_BENCH_FIRST-} "$@" > "$work/said" 2> "$work/err"; } 2> "$work/cpu" || [ $? -eq 3 ] ||
        die "a client failed: $* ($(tail -n 1 "$work/err"))"
}

cpu() { awk '{ print $1 + $2 }' "$work/cpu"; }

# A number of the last run's JSON, which is one line.
value() { grep -oE "\"$1\": ?[0-9.e+-]+" "$work/said.json" | sed 's/.*: *//'; }

# Tokens per second, mean and p99 TTFT in ms by the client's own words.
says() {
    case $1 in
    floor | bare) awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^events\/s/) rate = $(i - 1); print rate, $(NF - 1), $(NF - 4) }' "$work/said" ;;
    ours) echo "$(value output_throughput) $(value mean_ttft_ms) $(value p99_ttft_ms)" ;;
    vllm) awk -F: '/^Output token throughput/ { rate = $2 } /^Mean TTFT/ { ttft = $2 } /^P99 TTFT/ { p99 = $2 }
        END { print rate, ttft, p99 }' "$work/said" ;;
    esac
}

# The true mean and p99 TTFT in ms of the last so many requests; 0 where there is no schedule.
truth() {
    local address=${url#http://}
    exec 3<> "/dev/tcp/${address%:*}/${address#*:}"
    printf 'GET /truth HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n\r\n' "$address" >&3
    { grep -o '"writes_us":\[[0-9]*' || true; } <&3 | tail -n "$1" | sed 's/.*\[//' |
        sort -n | awk '{ sum += $1; all[NR] = $1 } END { print sum / NR / 1000, all[int((NR - 1) * 0.99) + 1] / 1000 }'
    exec 3>&-
}

# NAME STREAMS REQUESTS TOKENS: adds "NAME STREAMS CLIENT CPU-S/1E6 TOKENS/S TTFT P99 TRUE-TTFT TRUE-P99" to the figures, one line a run.
shape() {
    local round order client
    for ((round = 0; round < rounds; round++)); do
        order=$clients
        [ $((round % 2)) -eq 0 ] || order=$(printf '%s\n' $clients | tac)
        for client in $order; do
            run "$client" "$2" "$3" "$4"
            echo "$1 $2 $client $(awk -v cpu="$(cpu)" -v start="${idle[$client]}" -v tokens="$(($3 * $4))" \
                'BEGIN { print (cpu - start) / tokens * 1e6 }') $(says "$client") $(truth "$3")" >> "$work/all"
        done
    done
}

declare -A idle
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
start
for client in $clients; do
    run "$client" 1 1 1
    idle[$client]=$(cpu)
done
stop
for streams in 64 256 1000; do
    start
    # As many rounds of streams as make 100,000 tokens or more.
    shape paced "$streams" $(((1000 + streams - 1) / streams * streams)) 100
    stop
done
for tokens in 1 16; do
    start --flood --tokens-per-write "$tokens"
    shape "flood-$tokens" 64 2500 400
    stop
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"

printf '%-8s %7s %-6s %16s %10s %10s %9s %9s %9s %9s %3s\n' load streams client "CPU-s/1e6 tokens" "over floor" tokens/s \
    "TTFT ms" "p99 ms" "true ms" "true p99" n
for shape in "paced 64" "paced 256" "paced 1000" "flood-1 64" "flood-16 64"; do
    for client in $clients; do
        awk -v shape="$shape" -v client="$client" '
            function middle(of, n,    i, j, t) {
                for (i = 2; i <= n; i++) for (j = i; j > 1 && of[j] < of[j - 1]; j--) { t = of[j]; of[j] = of[j - 1]; of[j - 1] = t }
                return n % 2 ? of[(n + 1) / 2] : (of[n / 2] + of[n / 2 + 1]) / 2
            }
            $1 " " $2 != shape { next }
            $3 == "floor" { floor[++b] = $4 }
            $3 == client { cpu[++n] = $4; rate[n] = $5; ttft[n] = $6; p99[n] = $7; truth[n] = $8; last[n] = $9 }
            END {
                split(shape, words, " ")
                mine = middle(cpu, n)
                printf "%-8s %7s %-6s %16.2f %10.2f %10.0f %9.2f %9.2f %9.2f %9.2f %3d\n", words[1], words[2], client, mine, mine / middle(floor, b),
                    middle(rate, n), middle(ttft, n), middle(p99, n), middle(truth, n), middle(last, n), n
            }' "$work/all"
    done
done
