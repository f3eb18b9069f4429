// Rows of keys: what the kernels of the variants word, words and text read them from, their hashes, and whether two of them are the same key.
#include "keys.h"

#ifdef V_text
// Rows a of one column of texts and b of another.
FN u32 text_same(GLOBAL const u8 *offsets_a, GLOBAL const u8 *bytes_a, GLOBAL const u8 *offsets_b, GLOBAL const u8 *bytes_b, i32 wide, i64 a, i64 b) {
  i64 p, q, n, m;
  if (wide) {
    p = ((GLOBAL const i64 *)offsets_a)[a], n = ((GLOBAL const i64 *)offsets_a)[a + 1] - p;
    q = ((GLOBAL const i64 *)offsets_b)[b], m = ((GLOBAL const i64 *)offsets_b)[b + 1] - q;
  } else {
    p = ((GLOBAL const i32 *)offsets_a)[a], n = ((GLOBAL const i32 *)offsets_a)[a + 1] - p;
    q = ((GLOBAL const i32 *)offsets_b)[b], m = ((GLOBAL const i32 *)offsets_b)[b + 1] - q;
  }
  if (n != m) return 0;
  for (i64 k = 0; k < n; k += 8) {
    if (text_word(bytes_a + p + k, n - k) != text_word(bytes_b + q + k, n - k)) return 0;
  }
  return 1;
}
#endif

// The parameters KEYS of an entry are the rows given and those of a table; KEYS_GIVEN passes them on. ROWS_SAME(i, j) says whether row i of
// those given has the words or bytes of row j of the table: the hash of one word says all, since key_mix is a bijection.
#ifdef V_text
#define KEYS                                                                                                                                    \
  GLOBAL const u64 *words, i64 words_at, i64 k, GLOBAL const u8 *offsets, i64 offsets_at, i32 texts_wide, GLOBAL const u8 *bytes, i64 bytes_at, \
      GLOBAL const u8 *there_offsets, i64 there_offsets_at, GLOBAL const u8 *there_bytes, i64 there_bytes_at
#define KEYS_GIVEN \
  words, words_at, k, offsets, offsets_at, texts_wide, bytes, bytes_at, there_offsets, there_offsets_at, there_bytes, there_bytes_at
#define ROWS_SAME(i, j) \
  text_same(offsets, bytes + bytes_at, there_offsets, there_bytes + there_bytes_at, texts_wide, offsets_at + (i), there_offsets_at + (j))
#else
#define KEYS GLOBAL const u64 *words, i64 words_at, i64 k, GLOBAL const u64 *there, i64 there_at
#define KEYS_GIVEN words, words_at, k, there, there_at
#ifdef V_words
FN u32 words_same(GLOBAL const u64 *a, GLOBAL const u64 *b, i64 k) {
  for (i64 w = 0; w < k; w++) {
    if (a[w] != b[w]) return 0;
  }
  return 1;
}
#define ROWS_SAME(i, j) words_same(words + words_at + (i) * k, there + there_at + (j) * k, k)
#else
#define ROWS_SAME(i, j) 1
#endif
#endif

FN u64 row_hash(GLOBAL const u64 *words, i64 at, i64 k, i64 i) {
#ifdef V_text
  return words[at + i];
#else
  u64 h = 0;
  for (i64 w = 0; w < k; w++) h = key_mix(h ^ words[at + i * k + w]) + (u64)0x9e3779b97f4a7c15;
  return h;
#endif
}
