// Kleene logic on bitmaps, 32 rows an item: values and validity of the operands in, values and validity of the result out. Moves n/8 bytes
// for each bitmap. An operand without values is the constant given for it: a word of values and one of validity.
#include "bits.h"

#define OPERAND(a) GLOBAL const u8 *a, i64 a##0, GLOBAL const u8 *a##_valid, i64 a##_valid0, u32 a##_word, u32 a##_valid_word

KERNEL(GROUP) logic(i32 op, OPERAND(a), OPERAND(b), GLOBAL u32 *out, GLOBAL u32 *out_valid, i64 n) {
  i64 i = GID * 32;
  if (i >= n) return;
  u32 keep = bits_word(0, i, n);
  u32 va = a ? bits_word(a_valid, a_valid0 + i, a_valid0 + n) : a_valid_word & keep;
  u32 vb = b ? bits_word(b_valid, b_valid0 + i, b_valid0 + n) : b_valid_word & keep;
  u32 x = (a ? bits_word(a, a0 + i, a0 + n) : a_word) & va;
  u32 y = (b ? bits_word(b, b0 + i, b0 + n) : b_word) & vb;
  u32 value, valid;
  switch (op) {
  case 0: // and: known where both are, or where one is false
    value = x & y;
    valid = (va & vb) | (va & ~x) | (vb & ~y);
    break;
  case 1: // or
    value = x | y;
    valid = (va & vb) | x | y;
    break;
  case 2: // xor
    value = x ^ y;
    valid = va & vb;
    break;
  default: // and not
    value = x & vb & ~y;
    valid = (va & vb) | (va & ~x) | y;
  }
  out[GID] = value & valid & keep;
  if (out_valid) out_valid[GID] = valid & keep;
}

// out is true where cond is, of values and validity alike: cond ? a : b; null where cond is.
KERNEL(GROUP) choose_bits(GLOBAL const u8 *cond, i64 cond0, GLOBAL const u8 *cond_valid, i64 cond_valid0, OPERAND(a), OPERAND(b), GLOBAL u32 *out,
                          GLOBAL u32 *out_valid, i64 n) {
  i64 i = GID * 32;
  if (i >= n) return;
  u32 known = bits_word(cond_valid, cond_valid0 + i, cond_valid0 + n);
  u32 yes = bits_word(cond, cond0 + i, cond0 + n) & known;
  u32 no = known & ~yes;
  u32 va = a_valid ? bits_word(a_valid, a_valid0 + i, a_valid0 + n) : a_valid_word;
  u32 vb = b_valid ? bits_word(b_valid, b_valid0 + i, b_valid0 + n) : b_valid_word;
  if (out) {
    u32 x = a ? bits_word(a, a0 + i, a0 + n) : a_word;
    u32 y = b ? bits_word(b, b0 + i, b0 + n) : b_word;
    out[GID] = (x & yes) | (y & no);
  }
  out_valid[GID] = (va & yes) | (vb & no);
}

KERNEL(GROUP) invert(GLOBAL const u8 *a, i64 a0, GLOBAL u32 *out, i64 n) {
  i64 i = GID * 32;
  if (i < n) out[GID] = ~bits_word(a, a0 + i, a0 + n) & bits_word(0, i, n);
}

// Row numbers of a choice among the rows of a and then those of b: step 0 takes the first row of a side for all rows. b's rows start at
// b_first.
KERNEL(GROUP) choose_rows(GLOBAL const u8 *cond, i64 cond0, i64 a_step, i64 b_first, i64 b_step, GLOBAL u64 *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) out[i] = bit_at(cond, cond0 + i) ? (u64)(i * a_step) : (u64)(b_first + i * b_step);
}
