// Casts between numbers, after kernels.CastScalar. An integer is a word with the sign of its type; kinds are those of scalar.h, and in code that
// is made for given types they are constants that the compiler folds. Needs scalar.h.
#include "bad.h"

FN u32 is_signed(i32 kind) { return kind >= KIND_I8 && kind <= KIND_I64; }
FN i32 bits_of(i32 kind) { return 8 << ((kind - KIND_I8) & 3); } // of an integer

// The word of an integer as one of another type.
FN u64 cast_integer(u64 w, u32 was_signed, i32 kind, u32 *bad) {
  i32 cut = 64 - bits_of(kind);
  u32 to_signed = is_signed(kind);
  u64 r = to_signed ? (u64)((i64)(w << cut) >> cut) : w << cut >> cut;
  if (r != w || (was_signed != to_signed && w >> 63)) *bad |= BAD_OVERFLOW;
  return r;
}

FN u64 cast_float_to_integer(f64 f, i32 kind, u32 *bad) {
  i32 bits = bits_of(kind) - (i32)is_signed(kind);
  f64 whole = trunc(f), above = F64_BITS((u64)(1023 + bits) << 52), least = is_signed(kind) ? -above : 0.0;
  if (whole >= least && whole < above) {
    if (whole != f) *bad |= BAD_INEXACT;
    return is_signed(kind) ? (u64)(i64)whole : (u64)whole;
  }
  *bad |= BAD_OVERFLOW;
  if (whole >= above) return U64_MAX >> (64 - bits);
  return whole < least && is_signed(kind) ? U64_MAX << bits : 0;
}

FN f64 cast_integer_to_f64(u64 w, u32 was_signed, u32 *bad) {
  f64 f = was_signed ? (f64)(i64)w : (f64)w;
  f64 above = was_signed ? 9223372036854775808.0 : 18446744073709551616.0;
  if (f >= above || (was_signed ? (u64)(i64)f : (u64)f) != w) *bad |= BAD_INEXACT;
  return f;
}

FN f32 cast_integer_to_f32(u64 w, u32 was_signed, u32 *bad) {
  f32 r = was_signed ? (f32)(i64)w : (f32)w;
  f64 f = (f64)r, above = was_signed ? 9223372036854775808.0 : 18446744073709551616.0;
  if (f >= above || (was_signed ? (u64)(i64)f : (u64)f) != w) *bad |= BAD_INEXACT;
  return r;
}

FN f32 cast_f64_to_f32(f64 f, u32 *bad) {
  f32 r = (f32)f;
  if ((BITS_F32(r) << 1) == 0xff000000u && (BITS_F64(f) << 1) != (u64)0x7ff << 53) *bad |= BAD_OVERFLOW;
  return r;
}

// A word of load_word as what store_word stores of another kind.
FN u64 cast_word(i32 kind, u64 w, i32 to, u32 *bad) {
  if (is_float(kind)) {
    if (to == KIND_F64) return w;
    if (to == KIND_F32) return BITS_F32(cast_f64_to_f32(F64_BITS(w), bad));
    return cast_float_to_integer(F64_BITS(w), to, bad);
  }
  if (to == KIND_F64) return BITS_F64(cast_integer_to_f64(w, is_signed(kind), bad));
  if (to == KIND_F32) return BITS_F32(cast_integer_to_f32(w, is_signed(kind), bad));
  return cast_integer(w, is_signed(kind), to, bad);
}

// Stores the low bits of a word: of floats their own bits.
FN void store_word(GLOBAL u8 *out, i32 kind, i64 i, u64 w) {
  switch (kind) {
  case KIND_I8:
  case KIND_U8: out[i] = (u8)w; break;
  case KIND_I16:
  case KIND_U16: ((GLOBAL u16 *)out)[i] = (u16)w; break;
  case KIND_I32:
  case KIND_U32:
  case KIND_F32: ((GLOBAL u32 *)out)[i] = (u32)w; break;
  default: ((GLOBAL u64 *)out)[i] = w;
  }
}
