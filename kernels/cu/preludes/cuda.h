//! What the kernels need of NVIDIA's compiler: it stands before each source, and NVRTC takes it without any header.
//!
//! It declares no kernel.

#define TPLENS_KERNEL extern "C" __global__

typedef unsigned int u32;
typedef unsigned long long u64;
// 16 bytes that move by one load or store (PTX ISA, ld.global.v4.u32).
typedef uint4 Vector;

// Index of this thread in the grid, and threads of the grid, both in 64 bits.
__device__ inline u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

// A load that sees what the host stored, and before which no later access of this thread is done (PTX ISA, memory
// consistency model; ld.acquire.sys is there from PTX 6.0 and sm_70 on).
__device__ inline u32 load_of_host(const u32 *word) {
    u32 value;
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// The store that a host's acquiring load sees.
__device__ inline void store_for_host(u32 *word, u32 value) {
    asm volatile("st.release.sys.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

// The device's clock in nanoseconds; it advances in steps of up to about a microsecond (PTX ISA, %globaltimer).
__device__ inline u64 nanoseconds() {
    u64 value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
    return value;
}

// A load that is done as often as it is written, in order (PTX ISA, ld.volatile: relaxed at system scope, not from L1).
__device__ inline u64 load_anew(const unsigned char *at) { return *(const volatile u64 *)at; }

// Lowers a number in memory of this device.
__device__ inline void lower(u64 *number, u64 value) { atomicMin(number, value); }

// One rounding for both, as IEEE 754 has it.
__device__ inline float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
