//! Compares words with the pattern of a seed, and lowers a number to the index of the first one that differs.

// The first difference of a thread is its lowest; the lowest of all threads is what the atomic minimum leaves. The number
// lies in memory of this device: a minimum is no operation of the PCIe bus (PCI Express base specification, AtomicOps).
TPLENS_KERNEL void tplens_check(const u64 *data, u64 words, u64 seed, u64 *first_wrong) {
    const u64 stride = thread_count();
    for (u64 i = thread_index(); i < words; i += stride) {
        const u64 mixed = (i ^ seed) * 0xd6e8feb86659fd93ull;
        if (data[i] != (mixed ^ (mixed >> 32))) {
            lower(first_wrong, i);
            return;
        }
    }
}
