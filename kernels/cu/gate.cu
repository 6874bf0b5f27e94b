//! Holds its stream until the host raises a flag, or until a time-out by the device's clock. One thread; it moves nothing.

// Nothing between two looks: a pause would be the skew of streams that should start together, and one thread has one
// load under way, which takes nothing noticeable of a link.
TPLENS_KERNEL void tplens_gate(const u32 *flag, u32 *answer, u64 timeout_ns) {
    const u64 begin = nanoseconds();
    while (load_of_host(flag) == 0) {
        if (nanoseconds() - begin >= timeout_ns) {
            store_for_host(answer, 1);
            return;
        }
    }
}
