//! Follows a chain of offsets, one load after the other, and writes the offset where it ended. One thread.

// The addition of the base is on the path of each step; it takes a few cycles of some hundred.
TPLENS_KERNEL void tplens_chase(const unsigned char *base, u64 steps, u64 *end) {
    u64 p = 0;
#pragma unroll 1
    for (u64 i = 0; i < steps; ++i) {
        p = load_anew(base + p);
    }
    *end = p;
}
