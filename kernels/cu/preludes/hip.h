//! What the kernels need of AMD's compiler: it stands before each source, for hiprtc and for clang without any header.
//!
//! It declares no kernel. Names of hiprtc's own prelude are not used, so that the same text compiles without it.

#define TPLENS_KERNEL extern "C" __attribute__((global))
#define TPLENS_DEVICE __attribute__((device)) inline

typedef unsigned int u32;
typedef unsigned long long u64;
// 16 bytes that move by one load or store (global_load_b128).
typedef unsigned int Vector __attribute__((ext_vector_type(4)));

// Index of this thread in the grid, and threads of the grid, both in 64 bits.
TPLENS_DEVICE u64 thread_index() {
    return (u64)__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
}
TPLENS_DEVICE u64 thread_count() { return __builtin_amdgcn_grid_size_x(); }

// A load that sees what the host stored, and before which no later access of this thread is done.
TPLENS_DEVICE u32 load_of_host(const u32 *word) {
    return __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}

// The store that a host's acquiring load sees.
TPLENS_DEVICE void store_for_host(u32 *word, u32 value) {
    __hip_atomic_store(word, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

// The device's constant clock, taken as one of 100 MHz, which it is on RDNA and CDNA 3: 10 ns a tick. Where it is slower, as
// on some of gfx9 (hipDeviceAttributeWallClockRate), a time-out is longer by as much. Compilers before LLVM 19 lack the first
// form; of the others, gfx11 and gfx12 have no s_memrealtime and ask by message 0x83 (LLVM, AMDGPU usage, GET_REALTIME).
TPLENS_DEVICE u64 nanoseconds() {
#if __has_builtin(__builtin_readsteadycounter)
    return __builtin_readsteadycounter() * 10;
#elif defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_s_sendmsg_rtnl(0x83) * 10;
#else
    return __builtin_amdgcn_s_memrealtime() * 10;
#endif
}

// A load that is done as often as it is written, in order. The address space is said, because the compiler guesses none for a
// volatile access, and a flat load looks for shared memory first.
TPLENS_DEVICE u64 load_anew(const unsigned char *at) {
    return *(const volatile __attribute__((address_space(1))) u64 *)at;
}

// Lowers a number in memory of this device.
TPLENS_DEVICE void lower(u64 *number, u64 value) {
    __hip_atomic_fetch_min(number, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// One rounding for both, as IEEE 754 has it.
TPLENS_DEVICE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
