// variants: u32_u32 u32_u64 u64_u32 u64_u64
// Sort keys as unsigned words (T) in the order of the rows (U): a row's fields stand side by side as one long number, which is cut into words
// from the top. One launch puts one column's field into one word of every row. Moves the column's bytes, gathered where rows are given, and
// a word a row, read too after the first field.
#include "scalar.h"

#define ROWS i32 given, GLOBAL const U *rows, i64 n
#define ROW(i) (given ? (i64)rows[i] : (i))
#define WORD GLOBAL T *out, i32 shift, i32 bits, i32 chained
#define LOW(bits) ((bits) >= 64 ? U64_MAX : ((u64)1 << (bits)) - 1)

FN u64 shifted(u64 v, i32 by) { return by >= 64 || by <= -64 ? 0 : by >= 0 ? v << by : v >> -by; }
FN void put_word(GLOBAL T *out, i64 i, u64 v, i32 bits, i32 chained) {
  T w = (T)(v & LOW(bits));
  out[i] = chained ? out[i] | w : w;
}

// A plain column of a fixed width: w bits of value and, flagged, one above them for nulls. Floats have room at both ends for null and NaN.
KERNEL(GROUP) K(sort_fixed)(i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i32 w, i32 descending, i32 nulls_first,
                            i32 flagged, ROWS, WORD) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 at = ROW(i);
    u32 ok = valid_at(valid, valid0 + at);
    u64 lo = 0, hi = 0;
    if (kind == KIND_WIDE) {
      if (ok) {
        GLOBAL const u64 *v = (GLOBAL const u64 *)x + 2 * (x0 + at);
        lo = descending ? ~v[0] : v[0];
        hi = (descending ? ~v[1] : v[1]) ^ SIGN64;
      }
    } else if (is_float(kind)) {
      u64 sign = (u64)1 << (w - 1), infinite = w == 64 ? F64_INF_BITS : (u64)0x7f800000;
      u64 v = w == 64 ? ((GLOBAL const u64 *)x)[x0 + at] : ((GLOBAL const u32 *)x)[x0 + at];
      if (v == sign) v = 0;
      if (!ok) lo = nulls_first ? 0 : LOW(w);
      else if ((v & ~sign) > infinite) lo = nulls_first ? 1 : LOW(w) - 1;
      else lo = ((v & sign ? ~v : v | sign) ^ (descending ? U64_MAX : 0)) & LOW(w);
    } else if (ok) {
      lo = load_word(x, kind, x0 + at);
      if (kind >= KIND_I8 && kind <= KIND_I64) lo ^= (u64)1 << (w - 1);
      lo = (descending ? ~lo : lo) & LOW(w);
    }
    u64 v = shifted(lo, shift) | shifted(hi, shift + 64);
    if (flagged) v |= shifted(ok == (u32)nulls_first, shift + w);
    put_word(out, i, v, bits, chained);
  }
}

// A column of codes: those of the row itself, or of its index into a dictionary, for which a null index has the code none.
KERNEL(GROUP) K(sort_codes)(GLOBAL const u8 *codes, i32 codes_kind, i32 index_kind, GLOBAL const u8 *index, i64 index0, GLOBAL const u8 *index_valid,
                            i64 index_valid0, u64 none, ROWS, WORD) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 row = ROW(i);
    u64 v = none;
    if (valid_at(index_valid, index_valid0 + row)) v = load_word(codes, codes_kind, value_at(index, index0, index_kind, row));
    put_word(out, i, shifted(v, shift), bits, chained);
  }
}
