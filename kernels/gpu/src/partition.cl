// Numbers of partitions, 32 bits a row, which a stable radix sort then brings together.
#include "scalar.h"
#include "compare.h"

#define COLUMN                                                                                                                        \
  i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i32 index_kind, GLOBAL const u8 *index, i64 index0,      \
      GLOBAL const u8 *index_valid, i64 index_valid0
#define BOUNDS GLOBAL const u8 *bounds, i64 bounds0, i64 count, u32 last

// The partition of a hash: its place among 2^64 hashes, scaled. Moves 12 bytes a row.
KERNEL(GROUP) partition_hash(GLOBAL const u64 *hashes, u64 parts, GLOBAL u32 *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) out[i] = (u32)MULHI_U64(hashes[i], parts);
}

// How many of `count` sorted bounds of the key's type the key is not less than; a null key is in the last partition. Moves the key and 4
// bytes a row.
KERNEL(GROUP) partition_fixed(COLUMN, BOUNDS, GLOBAL u32 *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u32 ok = kind != KIND_NULL && valid_at(index_valid, index_valid0 + i);
    i64 at = ok ? value_at(index, index0, index_kind, i) : 0;
    u32 part = last;
    if (ok && valid_at(valid, valid0 + at)) {
      i64 lo = 0, hi = count;
      if (kind == KIND_WIDE) {
        GLOBAL const u64 *v = (GLOBAL const u64 *)x + 2 * (x0 + at);
        u64 low = v[0], high = v[1];
        while (lo < hi) {
          i64 mid = (lo + hi) / 2;
          GLOBAL const u64 *b = (GLOBAL const u64 *)bounds + 2 * (bounds0 + mid);
          if (compare_wide(low, high, b[0], b[1]) < 0) hi = mid;
          else lo = mid + 1;
        }
      } else {
        u64 v = order_word(kind, key_word(kind, load_word(x, kind, x0 + at)));
        while (lo < hi) {
          i64 mid = (lo + hi) / 2;
          if (v < order_word(kind, key_word(kind, load_word(bounds, kind, bounds0 + mid)))) hi = mid;
          else lo = mid + 1;
        }
      }
      part = (u32)lo;
    }
    out[i] = part;
  }
}

// partition_fixed for text: x and bounds hold offsets of the same width.
KERNEL(GROUP) partition_text(COLUMN, GLOBAL const u8 *text, i64 text0, BOUNDS, GLOBAL const u8 *bound_text, i64 bound_text0, GLOBAL u32 *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u32 ok = valid_at(index_valid, index_valid0 + i);
    i64 at = ok ? value_at(index, index0, index_kind, i) : 0;
    u32 part = last;
    if (ok && valid_at(valid, valid0 + at)) {
      i64 from = offset_at(x, kind, x0 + at), size = offset_at(x, kind, x0 + at + 1) - from, lo = 0, hi = count;
      while (lo < hi) {
        i64 mid = (lo + hi) / 2;
        i64 b = offset_at(bounds, kind, bounds0 + mid), b_end = offset_at(bounds, kind, bounds0 + mid + 1);
        if (compare_text(text + text0 + from, size, bound_text + bound_text0 + b, b_end - b) < 0) hi = mid;
        else lo = mid + 1;
      }
      part = (u32)lo;
    }
    out[i] = part;
  }
}

// Where each of parts+1 partitions begins among n sorted numbers. Moves little.
KERNEL(GROUP) partition_starts(GLOBAL const u32 *sorted, i64 n, GLOBAL i64 *starts, i64 parts) {
  i64 p = GID;
  if (p > parts) return;
  i64 lo = 0, hi = n;
  while (lo < hi) {
    i64 mid = lo + (hi - lo) / 2;
    if ((i64)sorted[mid] < p) lo = mid + 1;
    else hi = mid;
  }
  starts[p] = lo;
}

// Rows dealt out in turns, partition by partition: of the parts the first `longer` have each+1 rows, the others each. Moves width bytes a row.
KERNEL(GROUP) partition_turns(i32 width, GLOBAL u8 *out, i64 n, i64 parts, i64 each, i64 longer) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 head = longer * (each + 1), p, k;
    if (i < head) {
      p = i / (each + 1);
      k = i % (each + 1);
    } else {
      p = longer + (i - head) / MAX(each, (i64)1); // a vector of items divides for all of them
      k = (i - head) % MAX(each, (i64)1);
    }
    i64 row = k * parts + p;
    if (width == 4) ((GLOBAL u32 *)out)[i] = (u32)row;
    else ((GLOBAL u64 *)out)[i] = (u64)row;
  }
}
