// Holding texts against a pattern, to a bitmap: each group makes the bits of 4096 rows. Moves the offsets, of the bytes of the texts those up to the place
// that decides, and n/8 bytes.
#include "scalar.h"
#include "group.h"
#include "letters.h"

#define ROWS 4096
// What a pattern is made of, besides bytes that stand for themselves.
#define ONE 256 // one letter
#define ANY 257 // any number of letters

// Where the part [p, end) of a pattern, without ANY, ends in a text that it begins in at a place; -1 where it is not there.
FN i64 match_part(GLOBAL const u16 *pattern, i64 p, i64 end, GLOBAL const u8 *text, i64 at, i64 n, i32 bytes) {
  for (; p < end; p++) {
    if (at >= n) return -1;
    u32 want = pattern[p];
    if (want == ONE) {
      at += letter_at(text, at, n, bytes);
    } else if (text[at] == want) {
      at++;
    } else {
      return -1;
    }
  }
  return at;
}

// Whether a text is like a pattern of m: `head` are before the first ANY, all where there is none, and `tail` behind the last one, which are
// tail_letters letters. What is between begins with a byte behind each ANY, and is taken at the first place that it fits.
FN u32 match_text(GLOBAL const u16 *pattern, i64 m, i64 head, i64 tail, i64 tail_letters, GLOBAL const u8 *text, i64 n, i32 bytes) {
  i64 at = match_part(pattern, 0, head, text, 0, n, bytes);
  if (at < 0 || head == m) return at == n;
  i64 end = letters_back(text, n, tail_letters, bytes);
  if (end < at || match_part(pattern, m - tail, m, text, end, n, bytes) != n) return 0;
  for (i64 p = head + 1; p < m - tail;) {
    i64 stop = p;
    while (pattern[stop] != ANY) stop++;
    u32 first = pattern[p];
    i64 found = -1;
    for (; found < 0 && at + (stop - p) <= end; at++) {
      if (text[at] == first) found = match_part(pattern, p, stop, text, at, end, bytes);
    }
    if (found < 0) return 0;
    at = found;
    p = stop + 1;
  }
  return 1;
}

KERNEL(GROUP) match_texts(i32 kind, GLOBAL const u8 *offsets, i64 offsets0, GLOBAL const u8 *text, i64 text0, GLOBAL const u8 *valid, i64 valid0,
                          GLOBAL const u16 *pattern, i64 m, i64 head, i64 tail, i64 tail_letters, i32 bytes, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * ROWS; first < n && first < (BID + 1) * ROWS; first += GROUP) {
    i64 i = first + TID;
    u32 flag = 0;
    if (i < n && valid_at(valid, valid0 + i)) {
      i64 from = offset_at(offsets, kind, offsets0 + i), to = offset_at(offsets, kind, offsets0 + i + 1);
      flag = match_text(pattern, m, head, tail, tail_letters, text + text0 + from, to - from, bytes);
    }
    group_store_bits(scratch, out, first, flag, n);
  }
}
