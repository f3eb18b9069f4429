// The shared dialect in CUDA C++.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef float4 f32x4;
typedef double2 f64x2;

// The 1 asks for no more than one block on a multiprocessor: without it the compiler spills registers to have more.
#define KERNEL(n) extern "C" __global__ void __launch_bounds__(n, 1)
// For a kernel that waits for memory more than for its registers: at least so many blocks on a multiprocessor.
#define KERNEL_BLOCKS(n, blocks) extern "C" __global__ void __launch_bounds__(n, blocks)
#define KERNEL2(x, y) extern "C" __global__ void __launch_bounds__((x) * (y), 1)
#define FN static __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define LOCAL
#define CONSTANT static __device__ const
#define RESTRICT __restrict__
#define UNROLL _Pragma("unroll")
#define TID ((i32)threadIdx.x)
#define BID ((i64)blockIdx.x)
#define BDIM ((i32)blockDim.x)
#define GDIM ((i64)gridDim.x)
#define TID_Y ((i32)threadIdx.y)
#define BID_Y ((i64)blockIdx.y)
#define BID_Z ((i64)blockIdx.z)
#define BARRIER() __syncthreads()
#define BARRIER_ALL() __syncthreads()
#define FENCE() __threadfence()
#define RELAX() __nanosleep(20)

#define ATOMIC_ADD32(p, v) atomicAdd((p), (v))
#define ATOMIC_MIN32(p, v) atomicMin((p), (v))
#define ATOMIC_MAX32(p, v) atomicMax((p), (v))
#define ATOMIC_OR32(p, v) atomicOr((p), (v))
#define ATOMIC_AND32(p, v) atomicAnd((p), (v))
#define ATOMIC_SWAP32(p, v) atomicExch((p), (v))
#define ATOMIC_CAS32(p, old, v) atomicCAS((p), (old), (v))
#define ATOMIC_ADD64(p, v) atomicAdd((u64 *)(p), (u64)(v))
#define ATOMIC_MIN64(p, v) atomicMin((p), (v))
#define ATOMIC_MAX64(p, v) atomicMax((p), (v))
#define ATOMIC_OR64(p, v) atomicOr((p), (v))
#define ATOMIC_AND64(p, v) atomicAnd((p), (v))
#define ATOMIC_SWAP64(p, v) atomicExch((p), (v))
#define ATOMIC_CAS64(p, old, v) atomicCAS((p), (old), (v))
#define LOAD32(p) (*(volatile u32 *)(p))
#define LOAD64(p) (*(volatile u64 *)(p))
#define STORE32(p, v) (*(volatile u32 *)(p) = (v))
#define STORE64(p, v) (*(volatile u64 *)(p) = (v))

#define POPCOUNT32(x) ((u32)__popc((u32)(x)))
#define POPCOUNT64(x) ((u32)__popcll((u64)(x)))
#define CLZ32(x) ((u32)__clz((i32)(x)))
#define CLZ64(x) ((u32)__clzll((i64)(x)))
#define MULHI_U64(a, b) __umul64hi((u64)(a), (u64)(b))
#define MULHI_I64(a, b) __mul64hi((i64)(a), (i64)(b))
#define BITS_F32(x) ((u32)__float_as_int(x))
#define BITS_F64(x) ((u64)__double_as_longlong(x))
#define F32_BITS(x) __int_as_float((i32)(x))
#define F64_BITS(x) __longlong_as_double((i64)(x))
#define FMA(a, b, c) fma(a, b, c)

// Warps: 32 lanes in step. Where HAVE_WARP is 0 the helpers of group.h go through local memory.
#define HAVE_WARP 1
#define LANE ((i32)(threadIdx.x & 31))
#define BALLOT(p) __ballot_sync(0xffffffffu, (p))
#define SHUFFLE(v, lane) __shfl_sync(0xffffffffu, (v), (lane))
#define SHUFFLE_UP(v, d) __shfl_up_sync(0xffffffffu, (v), (d))
#define SHUFFLE_XOR(v, m) __shfl_xor_sync(0xffffffffu, (v), (m))
