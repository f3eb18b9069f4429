// Common to both dialects: what follows from the names of a prelude alone.
// A prelude (kernels/opencl/prelude.h, kernels/cuda/prelude.h) stands before it.

#define GROUP 256 // work-items of every group, unless a kernel says otherwise

#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)
// TYPED(name, T) is name_T. The name itself is not expanded: some drivers have macros called abs and sqrt.
#define TYPED_(name, t) name##t
#define TYPED(name, t) TYPED_(name##_, t)
// K(name) is the entry's name in this variant of the module: entry names are unique over all modules.
#ifdef VARIANT
#define K(name) CAT(name, VARIANT)
#else
#define K(name) name
#endif

#define I64_MAX ((i64)0x7fffffffffffffff)
#define I64_MIN (-I64_MAX - 1)
#define U64_MAX ((u64)0xffffffffffffffff)

#define GID ((i64)BID * BDIM + TID)   // index of the work-item in the grid
#define GSIZE ((i64)GDIM * BDIM)      // work-items of the grid
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

// Bit i of a bitmap in Arrow's order. A null bitmap is all ones.
FN u32 bit_at(GLOBAL const u8 *bits, i64 i) { return (u32)(bits[i >> 3] >> (i & 7)) & 1u; }
FN u32 valid_at(GLOBAL const u8 *bits, i64 i) { return bits ? bit_at(bits, i) : 1u; }
