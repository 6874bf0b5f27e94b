#!/usr/bin/env bash
# Runs `accept` on the node it is started on, once, and leaves the report in a folder of the node's name in a shared folder.
# The other recipes start it on every node. It starts nothing on other nodes and installs nothing.
#
#   RESULTS   shared folder for the reports (needed)
#   PROFILE   profile by name or file (needed); `tplens accept profile list` shows them
#   LEVEL     quick (the default), standard or soak
#   LIMIT     after this time the run is told to end, and a minute later it is killed; default 45m
#   ACCEPT    the program; default: accept
#   NODE      name of this node's folder; default: Slurm's name of it, else the host's
#   EXIT_ZERO set: always exits 0, for launchers that end all nodes when one fails. The verdicts are in the reports.
set -euo pipefail

: "${RESULTS:?name the shared folder for the reports}" "${PROFILE:?name a profile}"
level=${LEVEL:-quick}
limit=${LIMIT:-45m}
accept=${ACCEPT:-accept}
node=${NODE:-${SLURMD_NODENAME:-$(hostname)}}

# Two runs on one node would measure each other.
local_rank=${SLURM_LOCALID:-${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-0}}}
if [ "$local_rank" != 0 ]; then
    echo "one-node.sh: $node has more than one task; start one a node" >&2
    exit 2
fi

(umask 077 && mkdir -p -- "$RESULTS")
code=0
timeout --signal=TERM --kill-after=60 "$limit" \
    "$accept" run --profile "$PROFILE" --level "$level" --out "$RESULTS/$node" || code=$?
echo "one-node.sh: $node ended with exit code $code (0 accepted, 1 rejected, 3 inconclusive)" >&2
if [ -n "${EXIT_ZERO:-}" ]; then
    exit 0
fi
exit "$code"
