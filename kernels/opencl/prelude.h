// The shared dialect in OpenCL C 1.2; in 3.0 where the device has sub-groups of 32, which SUB_GROUPS says (see opencl.go).
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL EXTENSION cl_khr_byte_addressable_store : enable
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;
typedef float4 f32x4;
typedef double2 f64x2;

#ifdef SUB_GROUPS
#define KERNEL(n) __attribute__((reqd_work_group_size(n, 1, 1))) __attribute__((intel_reqd_sub_group_size(32))) kernel void
#else
#define KERNEL(n) __attribute__((reqd_work_group_size(n, 1, 1))) kernel void
#endif
#define KERNEL_BLOCKS(n, blocks) KERNEL(n)
#define KERNEL2(x, y) __attribute__((reqd_work_group_size(x, y, 1))) kernel void // has no warps
#define FN static inline
#define GLOBAL global
#define SHARED local // declares an array of local memory, at the start of a kernel
#define LOCAL local   // in the type of a pointer to it
#define CONSTANT constant
#define RESTRICT restrict
#define UNROLL // before a loop: the compiler knows best
#define TID ((i32)get_local_id(0))
#define BID ((i64)get_group_id(0))
#define BDIM ((i32)get_local_size(0))
#define GDIM ((i64)get_num_groups(0))
#define TID_Y ((i32)get_local_id(1))
#define BID_Y ((i64)get_group_id(1))
#define BID_Z ((i64)get_group_id(2))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)             // orders local memory
#define BARRIER_ALL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)            // earlier writes are seen before later ones
#define RELAX() ((void)0)                                  // in the body of a loop that waits for another group

// Atomics work on LOCAL and GLOBAL memory alike; they return the old value. AS_U32P casts keep the address space.
#define ATOMIC_ADD32(p, v) atomic_add((p), (v))
#define ATOMIC_MIN32(p, v) atomic_min((p), (v))
#define ATOMIC_MAX32(p, v) atomic_max((p), (v))
#define ATOMIC_OR32(p, v) atomic_or((p), (v))
#define ATOMIC_AND32(p, v) atomic_and((p), (v))
#define ATOMIC_SWAP32(p, v) atomic_xchg((p), (v))
#define ATOMIC_CAS32(p, old, v) atomic_cmpxchg((p), (old), (v))
#define ATOMIC_ADD64(p, v) atom_add((p), (v))
#define ATOMIC_MIN64(p, v) atom_min((p), (v))
#define ATOMIC_MAX64(p, v) atom_max((p), (v))
#define ATOMIC_OR64(p, v) atom_or((p), (v))
#define ATOMIC_AND64(p, v) atom_and((p), (v))
#define ATOMIC_SWAP64(p, v) atom_xchg((p), (v))
#define ATOMIC_CAS64(p, old, v) atom_cmpxchg((p), (old), (v))
// Loads and stores of words that other groups write and read at the same time.
#define LOAD32(p) atomic_or((p), 0u)
#define LOAD64(p) atom_or((p), (u64)0)
#define STORE32(p, v) ((void)atomic_xchg((p), (v)))
#define STORE64(p, v) ((void)atom_xchg((p), (v)))

#define POPCOUNT32(x) ((u32)popcount((u32)(x)))
#define POPCOUNT64(x) ((u32)popcount((u64)(x)))
#define CLZ32(x) ((u32)clz((u32)(x)))
#define CLZ64(x) ((u32)clz((u64)(x)))
#define MULHI_U64(a, b) mul_hi((u64)(a), (u64)(b))
#define MULHI_I64(a, b) mul_hi((i64)(a), (i64)(b))
#define BITS_F32(x) as_uint(x)
#define BITS_F64(x) as_ulong(x)
#define F32_BITS(x) as_float((u32)(x))
#define F64_BITS(x) as_double((u64)(x))
#define FMA(a, b, c) fma(a, b, c)

#ifdef SUB_GROUPS
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle_relative : enable
#define HAVE_WARP 1
#define LANE ((i32)get_sub_group_local_id())
#define BALLOT(p) (sub_group_ballot((p) ? 1 : 0).x)
#define SHUFFLE(v, lane) sub_group_shuffle((v), (u32)(lane))
#define SHUFFLE_UP(v, d) sub_group_shuffle_up((v), (u32)(d))
#define SHUFFLE_XOR(v, m) sub_group_shuffle_xor((v), (u32)(m))
#else
#define HAVE_WARP 0
#endif
