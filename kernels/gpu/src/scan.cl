// Running reductions in three launches: the totals of tiles of 2048 rows, the running reduction of the totals by one group, and the rows. The
// shape depends on the number of rows alone, so that sums of floats repeat bit for bit. Moves the values twice and the results once;
// integer sums without checks take the single pass of scansum.cl instead.
#include "scalar.h"
#include "compare.h"
#include "group.h"

#define PER_ITEM 8
#define TILE (GROUP * PER_ITEM)
#define SCAN_SUM 0
#define SCAN_PRODUCT 1
#define SCAN_MIN 2
#define SCAN_MAX 3

// What is known of some rows: of 64-bit kinds the value's word in lo and in hi 0 for no row, 1 for NaN only, 2 for a value; of decimals
// the two words, beginning with the identity.
typedef struct {
  u64 lo, hi;
} acc;

FN acc acc_of(u64 lo, u64 hi) {
  acc a;
  a.lo = lo;
  a.hi = hi;
  return a;
}

FN acc scan_identity(i32 op, i32 kind) {
  if (kind == KIND_WIDE) {
    if (op == SCAN_MIN) return acc_of(U64_MAX, ~SIGN64);
    if (op == SCAN_MAX) return acc_of(0, SIGN64);
    return acc_of(0, 0);
  }
  if (op == SCAN_SUM) return acc_of(0, 2);
  if (op == SCAN_PRODUCT) return acc_of(is_float(kind) ? BITS_F64(1.0) : 1, 2);
  return acc_of(0, 0);
}

FN acc scan_join(i32 op, i32 kind, acc a, acc b) {
  if (kind == KIND_WIDE) {
    if (op == SCAN_SUM) {
      acc r = acc_of(a.lo + b.lo, a.hi + b.hi);
      r.hi += r.lo < a.lo;
      return r;
    }
    i32 order = compare_wide(b.lo, b.hi, a.lo, a.hi);
    return (op == SCAN_MIN ? order < 0 : order > 0) ? b : a;
  }
  if (op == SCAN_SUM) return acc_of(is_float(kind) ? BITS_F64(F64_BITS(a.lo) + F64_BITS(b.lo)) : a.lo + b.lo, 2);
  if (op == SCAN_PRODUCT) return acc_of(is_float(kind) ? BITS_F64(F64_BITS(a.lo) * F64_BITS(b.lo)) : a.lo * b.lo, 2);
  if (a.hi != b.hi || a.hi < 2) return a.hi >= b.hi ? a : b;
  i32 order = compare_words(order_word(kind, key_word(kind, b.lo)), order_word(kind, key_word(kind, a.lo)));
  return (op == SCAN_MIN ? order < 0 : order > 0) ? b : a;
}

// The identity for a null row.
FN acc scan_load(i32 op, i32 kind, GLOBAL const u8 *x, i64 i, u32 valid) {
  if (!valid) return scan_identity(op, kind);
  if (kind == KIND_WIDE) return acc_of(((GLOBAL const u64 *)x)[2 * i], ((GLOBAL const u64 *)x)[2 * i + 1]);
  u64 w = load_word(x, kind, i);
  return acc_of(w, op >= SCAN_MIN && is_float(kind) && is_nan_word(w) ? 1 : 2);
}

// The exclusive running reduction over the items, and in *total that of all.
FN acc group_scan_acc(LOCAL acc *s, i32 op, i32 kind, acc v, acc *total) {
  s[TID] = v;
  BARRIER();
  for (int d = 1; d < GROUP; d <<= 1) {
    acc y = s[TID];
    if (TID >= d) y = scan_join(op, kind, s[TID - d], y);
    BARRIER();
    s[TID] = y;
    BARRIER();
  }
  acc before = TID > 0 ? s[TID - 1] : scan_identity(op, kind);
  *total = s[GROUP - 1];
  BARRIER();
  return before;
}

#define COLUMN i32 op, i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i64 n

KERNEL(GROUP) scan_tiles(COLUMN, GLOBAL u64 *totals) {
  SHARED acc s[GROUP];
  i64 first = BID * TILE + (i64)TID * PER_ITEM;
  acc mine = scan_identity(op, kind);
  for (int k = 0; k < PER_ITEM; k++)
    if (first + k < n) mine = scan_join(op, kind, mine, scan_load(op, kind, x, x0 + first + k, valid_at(valid, valid0 + first + k)));
  acc total;
  group_scan_acc(s, op, kind, mine, &total);
  if (TID == 0) {
    totals[2 * BID] = total.lo;
    totals[2 * BID + 1] = total.hi;
  }
}

// Each of n totals becomes the reduction of those before it. One group.
KERNEL(GROUP) scan_totals(i32 op, i32 kind, GLOBAL u64 *totals, i64 n) {
  SHARED acc s[GROUP];
  acc carry = scan_identity(op, kind);
  for (i64 first = 0; first < n; first += GROUP) {
    i64 i = first + TID;
    acc v = i < n ? acc_of(totals[2 * i], totals[2 * i + 1]) : scan_identity(op, kind);
    acc total;
    acc before = scan_join(op, kind, carry, group_scan_acc(s, op, kind, v, &total));
    if (i < n) {
      totals[2 * i] = before.lo;
      totals[2 * i + 1] = before.hi;
    }
    carry = scan_join(op, kind, carry, total);
  }
}

// Whether a + b or a * b leaves the type; a fits in it.
FN u32 scan_overflows(i32 op, i32 kind, acc a, acc b) {
  if (kind == KIND_WIDE) {
    u64 lo = a.lo + b.lo, hi = a.hi + b.hi + (lo < a.lo);
    return (u32)(((a.hi ^ hi) & (b.hi ^ hi)) >> 63);
  }
  if (is_float(kind)) return 0;
  u64 r;
  if (kind >= KIND_U8) {
    r = op == SCAN_SUM ? a.lo + b.lo : a.lo * b.lo;
    if (op == SCAN_SUM ? r < a.lo : MULHI_U64(a.lo, b.lo) != 0) return 1;
    return kind == KIND_U8 ? r > 0xff : kind == KIND_U16 ? r > 0xffff : kind == KIND_U32 ? r > 0xffffffff : 0;
  }
  if (op == SCAN_SUM) {
    r = a.lo + b.lo;
    if (((a.lo ^ r) & (b.lo ^ r)) >> 63) return 1;
  } else {
    r = a.lo * b.lo;
    if (MULHI_I64(a.lo, b.lo) != (i64)r >> 63) return 1;
  }
  i64 v = (i64)r;
  return kind == KIND_I8 ? v != (i8)v : kind == KIND_I16 ? v != (i16)v : kind == KIND_I32 ? v != (i32)v : 0;
}

FN void scan_store(i32 op, i32 kind, GLOBAL u8 *out, i64 i, acc a, u64 none) {
  u64 w = kind != KIND_WIDE && a.hi == 0 ? none : a.lo;
  switch (kind) {
  case KIND_I8:
  case KIND_U8: out[i] = (u8)w; break;
  case KIND_I16:
  case KIND_U16: ((GLOBAL u16 *)out)[i] = (u16)w; break;
  case KIND_I32:
  case KIND_U32: ((GLOBAL u32 *)out)[i] = (u32)w; break;
  case KIND_F32: ((GLOBAL f32 *)out)[i] = (f32)F64_BITS(w); break;
  case KIND_WIDE:
    ((GLOBAL u64 *)out)[2 * i] = a.lo;
    ((GLOBAL u64 *)out)[2 * i + 1] = a.hi;
    break;
  default: ((GLOBAL u64 *)out)[i] = w;
  }
}

// none is the word of a result before which there is no value. With checked, *bad, which begins as all ones, becomes the first row whose value
// makes the state too big.
KERNEL(GROUP) scan_rows(COLUMN, GLOBAL const u64 *totals, i32 exclusive, u64 none, GLOBAL u8 *out, GLOBAL u64 *bad) {
  SHARED acc s[GROUP];
  i64 first = BID * TILE + (i64)TID * PER_ITEM;
  acc v[PER_ITEM];
  acc mine = scan_identity(op, kind);
  for (int k = 0; k < PER_ITEM; k++) {
    v[k] = scan_identity(op, kind);
    if (first + k < n) v[k] = scan_load(op, kind, x, x0 + first + k, valid_at(valid, valid0 + first + k));
    mine = scan_join(op, kind, mine, v[k]);
  }
  acc total;
  acc state = group_scan_acc(s, op, kind, mine, &total);
  state = scan_join(op, kind, acc_of(totals[2 * BID], totals[2 * BID + 1]), state);
  for (int k = 0; k < PER_ITEM; k++) {
    i64 i = first + k;
    if (i >= n) break;
    if (bad && valid_at(valid, valid0 + i) && scan_overflows(op, kind, state, v[k])) ATOMIC_MIN64(bad, (u64)i);
    acc next = scan_join(op, kind, state, v[k]);
    scan_store(op, kind, out, i, exclusive ? state : next, none);
    state = next;
  }
}

// Bits below limit are copied, the others are zero.
KERNEL(GROUP) scan_keep(i64 limit, GLOBAL u32 *out, i64 n) {
  i64 i = GID * 32;
  if (i < n) out[GID] = limit <= i ? 0u : limit >= i + 32 ? 0xffffffffu : (1u << (limit - i)) - 1u;
}
