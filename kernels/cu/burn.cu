//! Multiplies and adds small whole numbers in registers, a tile of 8 by 4 sums for each item, and compares every sum with what it
//! must be: lowers a number to the index of the first item that has a wrong one. It loads arithmetic, and no memory.

// Factors are 1 to 8, and each sum gets the product of its column's factor with each of the 8 others once a round: `rounds` times
// that factor times their total. Up to 32768 rounds that is 2^24 at most, so that no step rounds and the order means nothing.
TPLENS_KERNEL void tplens_burn(u64 items, u64 rounds, u64 seed, u64 *first_wrong) {
    const u64 stride = thread_count();
    for (u64 item = thread_index(); item < items; item += stride) {
        u64 mixed = (item ^ seed) * 0xd6e8feb86659fd93ull;
        mixed ^= mixed >> 32;
        float a[8], b[4], sums[8][4];
        float total = 0.0f;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            a[k] = (float)(1 + (int)((mixed >> (3 * k)) & 7));
            total += a[k];
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            b[j] = (float)(1 + (int)((mixed >> (24 + 3 * j)) & 7));
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                sums[i][j] = 0.0f;
            }
        }
        // Said to be no loop to unroll: 256 multiply-adds a turn keep every unit busy, and more only fill the cache of instructions.
#pragma unroll 1
        for (u64 round = 0; round < rounds; ++round) {
#pragma unroll
            for (int k = 0; k < 8; ++k) {
#pragma unroll
                for (int i = 0; i < 8; ++i) {
#pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        sums[i][j] = multiply_add(a[(i + k) & 7], b[j], sums[i][j]);
                    }
                }
            }
        }
        bool is_wrong = false;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float expected = (float)rounds * b[j] * total;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                is_wrong = is_wrong || sums[i][j] != expected;
            }
        }
        if (is_wrong) {
            lower(first_wrong, item);
            return;
        }
    }
}
