//! Writes the pattern of a seed, word by word, or its complement. The same formula stands in check.cu and on the host.

TPLENS_KERNEL void tplens_fill(u64 *to, u64 words, u64 seed, u64 complement) {
    const u64 inverted = complement != 0 ? ~0ull : 0ull;
    const u64 stride = thread_count();
#pragma unroll 4
    for (u64 i = thread_index(); i < words; i += stride) {
        const u64 mixed = (i ^ seed) * 0xd6e8feb86659fd93ull;
        to[i] = (mixed ^ (mixed >> 32)) ^ inverted;
    }
}
