//! Keeps its stream busy for so long by the device's clock, and touches no memory. One thread: other streams lose nothing.

TPLENS_KERNEL void tplens_spin(u64 duration_ns) {
    const u64 begin = nanoseconds();
    while (nanoseconds() - begin < duration_ns) {
    }
}
