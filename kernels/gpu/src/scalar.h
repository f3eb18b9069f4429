// Reading values of any fixed-width type by a kind that is the same for the whole launch: where a kernel only needs a value's 64 bits, one
// entry serves all types. The numbers are those of kind.go.
#define KIND_NULL 0
#define KIND_BOOL 1
#define KIND_I8 2
#define KIND_I16 3
#define KIND_I32 4
#define KIND_I64 5
#define KIND_U8 6
#define KIND_U16 7
#define KIND_U32 8
#define KIND_U64 9
#define KIND_F32 10
#define KIND_F64 11
#define KIND_WIDE 12 // 128-bit decimals: two words, the low one first
#define KIND_TEXT 13 // i32 offsets
#define KIND_LARGE 14 // i64 offsets

// Value i as 64 bits: integers extended by their sign, bools 0 or 1, floats as the bits of the f64 that they equal.
FN u64 load_word(GLOBAL const u8 *x, i32 kind, i64 i) {
  switch (kind) {
  case KIND_BOOL: return bit_at(x, i);
  case KIND_I8: return (u64)(i64)((GLOBAL const i8 *)x)[i];
  case KIND_I16: return (u64)(i64)((GLOBAL const i16 *)x)[i];
  case KIND_I32: return (u64)(i64)((GLOBAL const i32 *)x)[i];
  case KIND_U8: return x[i];
  case KIND_U16: return ((GLOBAL const u16 *)x)[i];
  case KIND_U32: return ((GLOBAL const u32 *)x)[i];
  case KIND_F32: return BITS_F64((f64)((GLOBAL const f32 *)x)[i]);
  default: return ((GLOBAL const u64 *)x)[i];
  }
}

#define F64_INF_BITS ((u64)0x7ff << 52)
#define SIGN64 ((u64)1 << 63)

FN u32 is_float(i32 kind) { return kind == KIND_F32 || kind == KIND_F64; }
FN u32 is_nan_word(u64 w) { return (w & ~SIGN64) > F64_INF_BITS; }

// A word as a key: one NaN, and 0 for -0.
FN u64 key_word(i32 kind, u64 w) {
  if (!is_float(kind)) return w;
  if (is_nan_word(w)) return F64_INF_BITS | ((u64)1 << 51);
  return w == SIGN64 ? 0 : w;
}

// A key word as an unsigned integer in the order of the values, NaN last.
FN u64 order_word(i32 kind, u64 w) {
  if (is_float(kind)) return w & SIGN64 ? ~w : w | SIGN64;
  return kind >= KIND_U8 || kind == KIND_BOOL ? w : w ^ SIGN64;
}

// Where row i's value is: i itself, or of a dictionary column its index. kind is that of the indices, KIND_NULL for a column without dictionary.
FN i64 value_at(GLOBAL const u8 *index, i64 index0, i32 kind, i64 i) { return kind == KIND_NULL ? i : (i64)load_word(index, kind, index0 + i); }

// Offset i of a text column.
FN i64 offset_at(GLOBAL const u8 *offsets, i32 kind, i64 i) {
  return kind == KIND_TEXT ? (i64)((GLOBAL const i32 *)offsets)[i] : ((GLOBAL const i64 *)offsets)[i];
}
