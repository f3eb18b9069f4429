// Row hashes: one launch folds one column into the hashes. Moves the column's bytes and 8 bytes a row for each of its reads and writes of
// the hashes (the first column reads none).
#include "scalar.h"
#include "xxh64.h"

#define COLUMN                                                                                                                        \
  i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i32 index_kind, GLOBAL const u8 *index, i64 index0,      \
      GLOBAL const u8 *index_valid, i64 index_valid0

// out[i] is the hash of row i of a column of any fixed-width type; chained, with out[i] as its seed, else with seed.
KERNEL(GROUP) hash_fixed(COLUMN, GLOBAL u64 *out, i64 n, u64 seed, i32 chained) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 h = chained ? out[i] : seed;
    u32 ok = valid_at(index_valid, index_valid0 + i) && kind != KIND_NULL;
    i64 at = ok ? value_at(index, index0, index_kind, i) : 0;
    if (ok && valid_at(valid, valid0 + at)) {
      if (kind == KIND_WIDE) {
        GLOBAL const u64 *w = (GLOBAL const u64 *)x + 2 * (x0 + at);
        h = xxh64_wide(w[0], w[1], h);
      } else {
        h = xxh64_word(key_word(kind, load_word(x, kind, x0 + at)), h);
      }
    } else {
      h = xxh64_null(h);
    }
    out[i] = h;
  }
}

// hash_fixed for text: x holds the offsets.
KERNEL(GROUP) hash_text(COLUMN, GLOBAL const u8 *text, i64 text0, GLOBAL u64 *out, i64 n, u64 seed, i32 chained) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 h = chained ? out[i] : seed;
    u32 ok = valid_at(index_valid, index_valid0 + i);
    i64 at = ok ? value_at(index, index0, index_kind, i) : 0;
    if (ok && valid_at(valid, valid0 + at)) {
      i64 from = offset_at(x, kind, x0 + at), to = offset_at(x, kind, x0 + at + 1);
      h = xxh64_text(text + text0 + from, to - from, h);
    } else {
      h = xxh64_null(h);
    }
    out[i] = h;
  }
}
