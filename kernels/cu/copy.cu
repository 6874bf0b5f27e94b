//! Copies 16-byte words by any grid, which goes over them in strides: neighbours in a warp touch neighbours in memory.

// Four loads before the first store: a thread that waited for each would have too little under way to fill a link whose
// round trip is a microsecond. The order is written out, because a compiler may not move a load over a store of what may
// be the same memory.
TPLENS_KERNEL void tplens_copy(Vector *to, const Vector *from, u64 vectors) {
    const u64 stride = thread_count();
    u64 i = thread_index();
    for (; i + 3 * stride < vectors; i += 4 * stride) {
        const Vector a = from[i];
        const Vector b = from[i + stride];
        const Vector c = from[i + 2 * stride];
        const Vector d = from[i + 3 * stride];
        to[i] = a;
        to[i + stride] = b;
        to[i + 2 * stride] = c;
        to[i + 3 * stride] = d;
    }
    for (; i < vectors; i += stride) {
        to[i] = from[i];
    }
}
