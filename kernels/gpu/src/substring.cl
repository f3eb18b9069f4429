// variants: i32 i64
// Where parts of texts are, for gatherlong.cl to gather. Moves the offsets, up to the part's end the bytes of the texts, and 2 * sizeof(T) + 8 bytes a row.
#include "letters.h"

// The offsets of 2n texts, of which number 2i is the part of row i and the one behind it what follows in the row, and in `rows` the numbers of the parts.
// A part is `length` letters behind the first `skip`; a null has none.
KERNEL(GROUP) K(substring)(GLOBAL const T *offsets, i64 offsets0, GLOBAL const u8 *text, i64 text0, GLOBAL const u8 *valid, i64 valid0, i64 skip, i64 length,
                           i32 bytes, GLOBAL T *out, GLOBAL u64 *rows, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 from = (i64)offsets[offsets0 + i], to = (i64)offsets[offsets0 + i + 1], at = 0, end = 0;
    if (valid_at(valid, valid0 + i)) {
      at = letters_on(text + text0 + from, 0, to - from, skip, bytes);
      end = letters_on(text + text0 + from, at, to - from, length, bytes);
    }
    out[2 * i] = (T)(from + at);
    out[2 * i + 1] = (T)(from + end);
    rows[i] = (u64)(2 * i);
    if (i == n - 1) out[2 * n] = (T)to;
  }
}
