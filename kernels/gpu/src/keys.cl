// Key columns into words: row i's words are out[i * k] .. out[i * k + k - 1].
#include "group.h"
#include "keys.h"

// The bits that one column puts into a word: the low `bits` of its value at `shift`, 0 under a null; at `null` a bit that is set under a
// null, unless negative.
FN u64 key_piece(GLOBAL const u8 *values, i64 at, i32 kind, i32 bits, i32 shift, GLOBAL const u8 *valid, i64 valid_from, i32 null, i64 i) {
  if (valid && !bit_at(valid, valid_from + i)) return null < 0 ? 0 : (u64)1 << null;
  return kind == KEY_NONE ? 0 : (key_load(values, at + i, kind) & (U64_MAX >> (64 - bits))) << shift;
}

#define PIECE(x) GLOBAL const u8 *values##x, i64 at##x, GLOBAL const u8 *valid##x, i64 from##x, i32 kind##x, i32 bits##x, i32 shift##x, i32 null##x
#define BITS(x) key_piece(values##x, at##x, kind##x, bits##x, shift##x, valid##x, from##x, null##x, i)

// Makes one word of each row of up to four columns (KEY_NONE where there are fewer), or adds them to what is there. Reads the columns and
// their validity once and writes 8 bytes a row.
KERNEL(GROUP) keys_pack(GLOBAL u64 *out, i64 word, i64 k, i32 add, i64 n, PIECE(0), PIECE(1), PIECE(2), PIECE(3)) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 bits = BITS(0) | BITS(1) | BITS(2) | BITS(3);
    i64 to = i * k + word;
    out[to] = add ? out[to] | bits : bits;
  }
}

// The words of a dictionary's rows: value index[i] of the dictionary, and a bit for each row that is not null. Indices under a null may be
// anything. Moves the indices, 8 bytes a row, and what it reads of the dictionary.
KERNEL(GROUP) keys_dictionary(GLOBAL const u8 *index, i64 index_at, i32 index_kind, GLOBAL const u8 *valid, i64 valid_from, GLOBAL const u8 *values,
                              i64 at, i32 kind, GLOBAL const u8 *there, i64 there_from, i64 size, GLOBAL u64 *out, GLOBAL u32 *live, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * GROUP; first < n; first += GDIM * GROUP) {
    i64 i = first + TID;
    u32 here = 0;
    u64 word = 0;
    if (i < n && valid_at(valid, valid_from + i)) {
      i64 k = (i64)key_load(index, index_at + i, index_kind);
      if (k >= 0 && k < size && valid_at(there, there_from + k)) {
        here = 1;
        word = kind == KEY_NONE ? 0 : key_load(values, at + k, kind);
      }
    }
    if (i < n) out[i] = word;
    if (live) group_store_bits(scratch, live, first, here, n);
  }
}

// A hash of each text by its bytes, eight at a time; offsets are of 4 or 8 bytes (wide). Reads the offsets and bytes once, writes 8 bytes a row.
KERNEL(GROUP) keys_text(GLOBAL const u8 *offsets, i64 at, i32 wide, GLOBAL const u8 *bytes, i64 bytes_at, GLOBAL const u8 *live, i64 live_from,
                        GLOBAL u64 *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 h = 0;
    if (valid_at(live, live_from + i)) {
      i64 from = wide ? ((GLOBAL const i64 *)offsets)[at + i] : (i64)((GLOBAL const i32 *)offsets)[at + i];
      i64 to = wide ? ((GLOBAL const i64 *)offsets)[at + i + 1] : (i64)((GLOBAL const i32 *)offsets)[at + i + 1];
      h = (u64)(to - from) * (u64)0x9e3779b97f4a7c15;
      for (i64 p = from; p < to; p += 8) h = key_mix(h ^ text_word(bytes + bytes_at + p, to - p)) + (u64)0x9e3779b97f4a7c15;
    }
    out[i] = h;
  }
}
