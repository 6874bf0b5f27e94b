#!/usr/bin/env bash
# Accepts many nodes with Open MPI's launcher, without a resource manager: one process on each, which is no MPI program.
#
#   PROFILE=l40x4 RESULTS=/shared/accept HOSTS=n1,n2,n3,n4 ./mpirun.sh
#
# Only the launcher is used: it starts one-node.sh by ssh and forwards its output. Nobody else may use the GPUs meanwhile.
set -euo pipefail

: "${HOSTS:?name the nodes, such as HOSTS=n1,n2}" "${RESULTS:?name the shared folder for the reports}"
: "${PROFILE:?name a profile, such as PROFILE=l40x4}"
accept=${ACCEPT:-accept}
recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# mpirun ends all nodes when one exits with another code than 0, so that one-node.sh is told not to; the verdicts are in the reports.
export RESULTS PROFILE ACCEPT="$accept" EXIT_ZERO=1
mpirun --host "$HOSTS" --map-by ppr:1:node --bind-to none \
    -x RESULTS -x PROFILE -x ACCEPT -x EXIT_ZERO ${LEVEL:+-x LEVEL} ${LIMIT:+-x LIMIT} \
    "$recipes/one-node.sh"
code=0
nodes=$(awk -F, '{print NF}' <<<"$HOSTS")
"$accept" fleet "$RESULTS" --expect "$nodes" --html "$RESULTS/fleet.html" || code=$?
exit "$code"
