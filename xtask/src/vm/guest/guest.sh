# Runs each tool once and writes what it said to the second serial line, where the kernel writes nothing, then switches the machine off.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
exec </dev/null >/dev/ttyS0 2>&1
stty -F /dev/ttyS1 115200 raw
exec 3>/dev/ttyS1

# section NAME COMMAND...: a line with the name and the exit code, the output, a line, the messages.
section() {
    name=$1
    shift
    "$@" >/tmp/out 2>/tmp/messages
    code=$?
    echo "@@ $name $code" >&3
    cat /tmp/out >&3
    echo >&3
    echo "@@ $name.messages 0" >&3
    cat /tmp/messages >&3
    echo >&3
    echo "$name: exit $code at $(cut -d' ' -f1 /proc/uptime) s"
}

functions() {
    for device in /sys/bus/pci/devices/*; do
        echo "${device##*/} class=$(cat "$device/class") numa_node=$(cat "$device/numa_node") cpulist=[$(cat "$device/local_cpulist")] real=$(readlink -f "$device")"
    done
}

hits() {
    for node in /sys/devices/system/node/node*; do
        echo "${node##*/} $(grep numa_hit "$node/numastat")"
    done
}

# Only node 0 is allowed in here, as in a container that was started with a list of nodes.
cpuset() {
    mount -t cgroup2 cgroup2 /sys/fs/cgroup || return
    echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control || return
    mkdir /sys/fs/cgroup/node0 || return
    echo 0 >/sys/fs/cgroup/node0/cpuset.mems || return
    sh -c 'echo $$ >/sys/fs/cgroup/node0/cgroup.procs && exec "$@"' sh "$@"
}

# Some calls for NUMA give EPERM in here, as in a container: those of the filter in the first argument.
filtered() {
    sh -c 'filter=$1; shift; exec bwrap --dev-bind / / --seccomp 9 "$@" 9<"$filter"' sh "$@"
}

last=$(ls -d /sys/devices/system/node/node* | tail -n 1)
last=${last##*/node}

section sysfs functions
section numactl numactl --hardware
section tree lspci -t
section paths lspci -D -PP -n
section lstopo lstopo-no-graphics --of xml --whole-io
section topo p2p-bw topo --json --also all
section prove p2p-bw numa prove --json
section before hits
section counted p2p-bw numa prove --json --bytes 16M --node "$last"
section after hits
section absent p2p-bw numa prove --json --node 40
section cpuset cpuset p2p-bw numa prove --json
section filtered filtered /seccomp.bpf p2p-bw numa prove --json
section sys-nice filtered /sys-nice.bpf p2p-bw numa prove --json
section questions filtered /questions.bpf p2p-bw numa prove --json
echo "@@ end 0" >&3
# Closed, the line is written out to its end.
exec 3>&-
poweroff -f
