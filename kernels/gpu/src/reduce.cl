// Reductions of a column: each group reduces what it strides over to a few words, and the host joins those. Every entry moves the values and
// the validity once; sums of floats write one f64 for each 512 rows besides.
#include "scalar.h"
#include "compare.h"
#include "bits.h"
#include "group.h"

#define COLUMN i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0
#define AHEAD 4 // rows that an item has in flight

// Integers of 64 bits at most: an item's sum fits in two words, of which b counts the carries and the signs.
#define SUM(V, SIGN)                                                                        \
  {                                                                                         \
    GLOBAL const V *values = (GLOBAL const V *)x + x0;                                      \
    for (i64 i = GID; i < n; i += step * AHEAD) {                                           \
      V v[AHEAD];                                                                           \
      for (int k = 0; k < AHEAD; k++) {                                                     \
        i64 r = i + k * step;                                                               \
        v[k] = 0;                                                                           \
        if (r < n && valid_at(valid, valid0 + r)) v[k] = values[r];                         \
      }                                                                                     \
      for (int k = 0; k < AHEAD; k++) {                                                     \
        u64 s = a + (u64)(i64)v[k];                                                         \
        b += (s < a) + (SIGN ? (u64)((i64)v[k] >> 63) : 0);                                 \
        a = s;                                                                              \
      }                                                                                     \
    }                                                                                       \
    c = (u64)((i64)b >> 63);                                                                \
    break;                                                                                  \
  }

// Integers and decimals: the exact sum as 192 bits, and the product as 64.
KERNEL(GROUP) reduce_sum(COLUMN, i64 n, GLOBAL u64 *out) {
  SHARED u64 low[GROUP], high[GROUP], top[GROUP];
  u64 a = 0, b = 0, c = 0;
  i64 step = GSIZE;
  switch (kind) {
  case KIND_I8: SUM(i8, 1)
  case KIND_I16: SUM(i16, 1)
  case KIND_I32: SUM(i32, 1)
  case KIND_I64: SUM(i64, 1)
  case KIND_U8: SUM(u8, 0)
  case KIND_U16: SUM(u16, 0)
  case KIND_U32: SUM(u32, 0)
  case KIND_U64: SUM(u64, 0)
  default:
    for (i64 i = GID; i < n; i += step) {
      if (!valid_at(valid, valid0 + i)) continue;
      u64 lo = ((GLOBAL const u64 *)x)[2 * (x0 + i)], hi = ((GLOBAL const u64 *)x)[2 * (x0 + i) + 1];
      u64 s = a + lo, carry = s < a;
      u64 t = b + hi, over = t < b;
      u64 u = t + carry;
      over += u < t;
      a = s;
      b = u;
      c += (u64)((i64)hi >> 63) + over;
    }
  }
  low[TID] = a;
  high[TID] = b;
  top[TID] = c;
  BARRIER();
  for (int d = GROUP / 2; d > 0; d >>= 1) {
    if (TID < d) {
      u64 s = low[TID] + low[TID + d], carry = s < low[TID];
      u64 t = high[TID] + high[TID + d], over = t < high[TID];
      u64 u = t + carry;
      over += u < t;
      low[TID] = s;
      high[TID] = u;
      top[TID] += top[TID + d] + over;
    }
    BARRIER();
  }
  if (TID == 0) {
    out[3 * BID] = low[0];
    out[3 * BID + 1] = high[0];
    out[3 * BID + 2] = top[0];
  }
}

#define TIMES(a, b) ((a) * (b))
GROUP_REDUCE(group_product, u64, TIMES)

KERNEL(GROUP) reduce_product(COLUMN, i64 n, GLOBAL u64 *out) {
  SHARED u64 scratch[GROUP];
  u64 p = 1;
  for (i64 i = GID; i < n; i += GSIZE)
    if (valid_at(valid, valid0 + i)) p *= load_word(x, kind, x0 + i);
  p = group_product(scratch, p);
  if (TID == 0) out[BID] = p;
}

// The row of the first least value, or with greatest of the first greatest one: three words a group, the value's two order words and the row,
// which is I64_MAX where there is no value. A NaN gives way to anything else.
FN u32 pick_before(u64 ah, u64 al, i64 ar, u64 bh, u64 bl, i64 br) {
  if ((ar == I64_MAX) != (br == I64_MAX)) return br == I64_MAX;
  if (ah != bh) return ah < bh;
  if (al != bl) return al < bl;
  return ar < br;
}

// An item comes to its rows in their order, so that a later one has to be less. WORD is load_word of v[k].
#define PICK(V, KIND, WORD)                                                                 \
  {                                                                                         \
    GLOBAL const V *values = (GLOBAL const V *)x + x0;                                      \
    u64 flip = greatest ? U64_MAX : 0;                                                      \
    for (i64 i = GID; i < n; i += step * AHEAD) {                                           \
      V v[AHEAD];                                                                           \
      u32 known = 0;                                                                        \
      for (int k = 0; k < AHEAD; k++) {                                                     \
        i64 r = i + k * step;                                                               \
        v[k] = 0;                                                                           \
        if (r < n && valid_at(valid, valid0 + r)) {                                         \
          v[k] = values[r];                                                                 \
          known |= 1u << k;                                                                 \
        }                                                                                   \
      }                                                                                     \
      for (int k = 0; k < AHEAD; k++) {                                                     \
        u64 w = WORD;                                                                       \
        u64 h = is_float(KIND) && is_nan_word(w) ? U64_MAX : order_word(KIND, key_word(KIND, w)) ^ flip; \
        if ((known >> k & 1u) && (h < bh || best == I64_MAX)) {                             \
          bh = h;                                                                           \
          bl = 0;                                                                           \
          best = i + k * step;                                                              \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
    break;                                                                                  \
  }

KERNEL(GROUP) reduce_pick(i32 greatest, COLUMN, i64 n, GLOBAL u64 *out) {
  SHARED u64 high[GROUP], low[GROUP];
  SHARED i64 row[GROUP];
  u64 bh = U64_MAX, bl = U64_MAX;
  i64 best = I64_MAX, step = GSIZE;
  switch (kind) {
  case KIND_I8: PICK(i8, KIND_I8, (u64)(i64)v[k])
  case KIND_I16: PICK(i16, KIND_I16, (u64)(i64)v[k])
  case KIND_I32: PICK(i32, KIND_I32, (u64)(i64)v[k])
  case KIND_I64: PICK(i64, KIND_I64, (u64)v[k])
  case KIND_U8: PICK(u8, KIND_U8, v[k])
  case KIND_U16: PICK(u16, KIND_U16, v[k])
  case KIND_U32: PICK(u32, KIND_U32, v[k])
  case KIND_U64: PICK(u64, KIND_U64, v[k])
  case KIND_F32: PICK(f32, KIND_F32, BITS_F64((f64)v[k]))
  case KIND_F64: PICK(u64, KIND_F64, v[k])
  default:
    for (i64 i = GID; i < n; i += step) {
      if (!valid_at(valid, valid0 + i)) continue;
      u64 flip = greatest ? U64_MAX : 0, h, l = flip;
      if (kind == KIND_WIDE) {
        h = ((GLOBAL const u64 *)x)[2 * (x0 + i) + 1] ^ SIGN64 ^ flip;
        l = ((GLOBAL const u64 *)x)[2 * (x0 + i)] ^ flip;
      } else {
        h = bit_at(x, x0 + i) ^ flip;
      }
      if (pick_before(h, l, i, bh, bl, best)) {
        bh = h;
        bl = l;
        best = i;
      }
    }
  }
  high[TID] = bh;
  low[TID] = bl;
  row[TID] = best;
  BARRIER();
  for (int d = GROUP / 2; d > 0; d >>= 1) {
    if (TID < d && pick_before(high[TID + d], low[TID + d], row[TID + d], high[TID], low[TID], row[TID])) {
      high[TID] = high[TID + d];
      low[TID] = low[TID + d];
      row[TID] = row[TID + d];
    }
    BARRIER();
  }
  if (TID == 0) {
    out[3 * BID] = high[0];
    out[3 * BID + 1] = low[0];
    out[3 * BID + 2] = (u64)row[0];
  }
}

// The same for text, one row a group. With rows, only those n rows are looked at, in their order.
KERNEL(GROUP) reduce_pick_text(i32 greatest, COLUMN, GLOBAL const u8 *text, i64 text0, GLOBAL const i64 *rows, i64 n, GLOBAL i64 *out) {
  SHARED i64 row[GROUP];
  i64 best = I64_MAX;
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 r = rows ? rows[i] : i;
    if (r == I64_MAX || !valid_at(valid, valid0 + r)) continue;
    i32 order = -1;
    if (best != I64_MAX) {
      i64 p = offset_at(x, kind, x0 + r), q = offset_at(x, kind, x0 + best);
      order = compare_text(text + text0 + p, offset_at(x, kind, x0 + r + 1) - p, text + text0 + q, offset_at(x, kind, x0 + best + 1) - q);
      if (greatest) order = -order;
    }
    if (order < 0 || (order == 0 && r < best)) best = r;
  }
  row[TID] = best;
  BARRIER();
  for (int d = GROUP / 2; d > 0; d >>= 1) {
    if (TID < d && row[TID + d] != I64_MAX) {
      i64 r = row[TID + d], have = row[TID];
      i32 order = -1;
      if (have != I64_MAX) {
        i64 p = offset_at(x, kind, x0 + r), q = offset_at(x, kind, x0 + have);
        order = compare_text(text + text0 + p, offset_at(x, kind, x0 + r + 1) - p, text + text0 + q, offset_at(x, kind, x0 + have + 1) - q);
        if (greatest) order = -order;
      }
      if (order < 0 || (order == 0 && r < have)) row[TID] = r;
    }
    BARRIER();
  }
  if (TID == 0) out[BID] = row[0];
}

#define GREATER(a, b) MAX(a, b)
#define LESS(a, b) MIN(a, b)
GROUP_REDUCE(group_greatest, u64, GREATER)
GROUP_REDUCE(group_least, u64, LESS)

// The first and the last one among n bits, and the first zero: found[0] and found[2] begin as all ones, found[1] counts from 1 and begins as 0.
KERNEL(GROUP) reduce_edges(GLOBAL const u8 *bits, i64 bits0, i64 n, GLOBAL u64 *found) {
  SHARED u64 scratch[GROUP];
  u64 first = U64_MAX, last = 0, zero = U64_MAX;
  for (i64 i = GID * 32; i < n; i += GSIZE * 32) {
    u32 w = bits_word(bits, bits0 + i, bits0 + n), z = ~w & bits_word(0, i, n);
    if (w) {
      if (first == U64_MAX) first = (u64)(i + 31 - CLZ32(w & (0u - w)));
      last = (u64)(i + 32 - CLZ32(w));
    }
    if (z && zero == U64_MAX) zero = (u64)(i + 31 - CLZ32(z & (0u - z)));
  }
  first = group_least(scratch, first);
  last = group_greatest(scratch, last);
  zero = group_least(scratch, zero);
  if (TID != 0) return; // the groups meet at one address, where all their items would queue
  if (first != U64_MAX) ATOMIC_MIN64(&found[0], first);
  if (last) ATOMIC_MAX64(&found[1], last);
  if (zero != U64_MAX) ATOMIC_MIN64(&found[2], zero);
}

// The ones among n bits and the ones that are valid too: count[0] of valid rows, count[1] of those that are true.
KERNEL(GROUP) reduce_truth(GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i64 n, GLOBAL u64 *count) {
  SHARED u64 scratch[GROUP];
  u64 rows = 0, ones = 0, all_rows, all_ones;
  for (i64 i = GID * 32; i < n; i += GSIZE * 32) {
    u32 v = bits_word(valid, valid0 + i, valid0 + n);
    rows += POPCOUNT32(v);
    ones += POPCOUNT32(v & bits_word(x, x0 + i, x0 + n));
  }
  group_scan_u64(scratch, rows, &all_rows);
  group_scan_u64(scratch, ones, &all_ones);
  if (TID == 0 && all_rows) ATOMIC_ADD64(&count[0], all_rows);
  if (TID == 0 && all_ones) ATOMIC_ADD64(&count[1], all_ones);
}

// Sums and products as f64 in the shape of kernels.ReduceFunc, bit for bit: an item is one lane of a block of 512 rows, a group 32 blocks.
// op 0 is the sum, 1 the product, 2 the sum of the differences from mean and, in squares, of their squares.
FN f64 number_at(i32 kind, GLOBAL const u8 *x, i64 i, f64 scale) {
  if (kind == KIND_F32 || kind == KIND_F64) return F64_BITS(load_word(x, kind, i));
  if (kind == KIND_U64) return (f64)((GLOBAL const u64 *)x)[i];
  if (kind == KIND_WIDE) {
    GLOBAL const u64 *w = (GLOBAL const u64 *)x + 2 * i;
    u64 lo = w[0], hi = w[1];
    f64 sign = 1.0;
    if (hi >> 63) { // the magnitude, so that small negative numbers lose nothing
      lo = ~lo + 1;
      hi = ~hi + (lo == 0);
      sign = -1.0;
    }
    return sign * ((f64)hi * 18446744073709551616.0 + (f64)lo) / scale;
  }
  return (f64)(i64)load_word(x, kind, i);
}

FN f64 shape_join(i32 op, f64 a, f64 b) { return op == 1 ? a * b : a + b; }

// The lanes of a block joined as ((0+4)+(2+6)) + ((1+5)+(3+7)).
FN f64 join_lanes(i32 op, LOCAL const f64 *l) {
  return shape_join(op, shape_join(op, shape_join(op, l[0], l[4]), shape_join(op, l[2], l[6])),
                    shape_join(op, shape_join(op, l[1], l[5]), shape_join(op, l[3], l[7])));
}

// The rows of an item, eight rows apart and eight at once; LOAD is the value of row r.
#define BLOCK(LOAD)                                                                         \
  {                                                                                         \
    for (i64 first = block * 512 + (TID & 7); first < end; first += 64) {                   \
      f64 v[8];                                                                             \
      u32 known = 0;                                                                        \
      for (int k = 0; k < 8; k++) {                                                         \
        i64 r = first + 8 * k;                                                              \
        v[k] = 0.0;                                                                         \
        if (r < end && valid_at(valid, valid0 + r)) {                                       \
          v[k] = LOAD;                                                                      \
          known |= 1u << k;                                                                 \
        }                                                                                   \
      }                                                                                     \
      for (int k = 0; k < 8; k++) {                                                         \
        if (!(known >> k & 1u)) continue;                                                   \
        if (op == 2) {                                                                      \
          v[k] = v[k] - mean;                                                               \
          sum2 += v[k] * v[k];                                                              \
        }                                                                                   \
        sum = shape_join(op, sum, v[k]);                                                    \
      }                                                                                     \
    }                                                                                       \
    break;                                                                                  \
  }

KERNEL_BLOCKS(GROUP, 3) reduce_blocks(i32 op, COLUMN, f64 scale, f64 mean, i64 n, GLOBAL f64 *out, GLOBAL f64 *squares) {
  SHARED f64 lanes[GROUP];
  SHARED f64 lanes2[GROUP];
  i64 block = BID * (GROUP / 8) + (TID >> 3);
  f64 sum = op == 1 ? 1.0 : 0.0, sum2 = 0.0;
  i64 end = MIN(n, (block + 1) * 512);
  switch (kind) {
  case KIND_F64: BLOCK(((GLOBAL const f64 *)x)[x0 + r])
  case KIND_F32: BLOCK((f64)((GLOBAL const f32 *)x)[x0 + r])
  default: BLOCK(number_at(kind, x, x0 + r, scale))
  }
  lanes[TID] = sum;
  lanes2[TID] = sum2;
  BARRIER();
  if ((TID & 7) == 0 && block * 512 < n) {
    out[block] = join_lanes(op, &lanes[TID]);
    if (op == 2) squares[block] = join_lanes(op, &lanes2[TID]);
  }
}

// The next nine levels of the tree over blocks: a group joins 512 neighbours to one; one without a neighbour goes up as it is.
KERNEL(GROUP) reduce_tree(i32 op, GLOBAL const f64 *in, i64 n, GLOBAL f64 *out) {
  SHARED f64 s[2 * GROUP];
  i64 first = BID * 2 * GROUP;
  i32 count = (i32)MIN((i64)(2 * GROUP), n - first);
  for (int k = TID; k < count; k += GROUP) s[k] = in[first + k];
  BARRIER();
  while (count > 1) {
    f64 v = 0.0;
    i32 pairs = (count + 1) / 2;
    if (TID < pairs) v = 2 * TID + 1 < count ? shape_join(op, s[2 * TID], s[2 * TID + 1]) : s[2 * TID];
    BARRIER();
    if (TID < pairs) s[TID] = v;
    BARRIER();
    count = pairs;
  }
  if (TID == 0) out[BID] = s[0];
}
