// T of the variant `wide`: 128 bits.
#ifdef V_wide
typedef struct { u64 lo, hi; } wide;
#define T wide
#endif
