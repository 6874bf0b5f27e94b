#!/bin/sh
# Times the host backend's all-reduce against Open MPI's MPI_Allreduce: two ranks, f32, back to back, on CPUs 0 and 1.
#
#   bench/openmpi.sh [PAIRS]
#
# Each pair is one launch of both programs, in ABBA order over pairs; a launch's figure for a size is the median of its batches.
# The ratio is MPI's time over ours, the median over pairs with the interval that lies between the order statistics which hold
# the median with at least 95%. It judges nothing. It needs cargo, mpicc and mpirun of Open MPI, CPUs 0 and 1, and quiet: what
# else runs on these CPUs is in the figures. Neither program writes its message anew between calls: a rank that reads the other's
# memory in place may have it in its cache still, and takes longer where the message is new. With TPLENS_BENCH_FIRST, words to
# run each launch with, such as "chrt -f 10".
set -eu

die() {
    echo "bench/openmpi.sh: $*" >&2
    exit 2
}

pairs=${1:-10}
case $pairs in
'' | *[!0-9]*) die "PAIRS is a whole number, and not $pairs" ;;
esac
[ "$pairs" -ge 6 ] || die "an interval of a median takes 6 pairs at least"
command -v mpicc > /dev/null || die "mpicc not found; install Open MPI (Debian: apt-get install openmpi-bin libopenmpi-dev)"
command -v mpirun > /dev/null || die "mpirun not found; install Open MPI (Debian: apt-get install openmpi-bin)"
command -v cargo > /dev/null || die "cargo not found; install Rust"
[ "$(nproc)" -ge 2 ] || die "two CPUs are needed"

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
sizes="8 2048 65536 1048576 16777216"
batches=9

mpicc -O3 -o "$work/mpi" "$root/bench/mpi_allreduce.c"
ours=${CARGO_TARGET_DIR:-$root/target}/release/examples/host_all_reduce
(cd "$root" && cargo build --quiet --release -p device --example host_all_reduce)
as_root=
[ "$(id -u)" -ne 0 ] || as_root=--allow-run-as-root

# The median of each size's batches, as "PAIR SIDE BYTES MICROSECONDS".
launch() {
    case $2 in
    # The programs pin their ranks themselves. Words are split on purpose.
    mpi) ${TPLENS_BENCH_FIRST-} mpirun $as_root --bind-to none -np 2 "$work/mpi" $batches $sizes ;;
    ours) ${TPLENS_BENCH_FIRST-} "$ours" 2 $batches $sizes ;;
    esac > "$work/one"
    for bytes in $sizes; do
        awk -v bytes="$bytes" '$1 == bytes { print $2 }' "$work/one" | sort -n |
            awk -v row="$1 $2 $bytes" '{ t[NR] = $1 } END { print row, t[int((NR + 1) / 2)] }' >> "$work/all"
    done
}

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
pair=0
while [ "$pair" -lt "$pairs" ]; do
    if [ $((pair % 2)) -eq 0 ]; then order="mpi ours"; else order="ours mpi"; fi
    for side in $order; do launch "$pair" "$side"; done
    pair=$((pair + 1))
done
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
mpirun --version | head -n 1

middle() { sort -n | awk '{ t[NR] = $1 } END { print NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2 }'; }
printf '%10s %14s %14s %8s %20s %4s\n' bytes "MPI us" "ours us" ratio "interval" n
for bytes in $sizes; do
    of() { awk -v side="$1" -v bytes="$bytes" '$2 == side && $3 == bytes { print $4 }' "$work/all"; }
    awk -v bytes="$bytes" '$3 == bytes { t[$1, $2] = $4 } END { for (p = 0; (p, "mpi") in t; p++) print t[p, "mpi"] / t[p, "ours"] }' \
        "$work/all" | sort -n > "$work/ratios"
    # The k-th least and the k-th largest hold the median but with twice the chance of less than k heads in n throws.
    interval=$(awk '{ r[NR] = $1 } END {
        throw = 0.5 ^ NR; below = throw; k = 1
        while (2 * (below + throw * (NR - k + 1) / k) <= 0.05) { throw = throw * (NR - k + 1) / k; below += throw; k++ }
        printf "[%.2f, %.2f]", r[k], r[NR + 1 - k] }' "$work/ratios")
    printf '%10s %14.3f %14.3f %8.2f %20s %4s\n' "$bytes" "$(of mpi | middle)" "$(of ours | middle)" \
        "$(middle < "$work/ratios")" "$interval" "$pairs"
done
