// variants: u32 u64
// Order of texts by refining: rows (T) that are equal so far stand side by side as a segment, which the next seven bytes of its texts cut
// further. A row that has no equal any more, or has ended, is left out of the next step. A step reads what the texts of a segment have in
// common, and seven bytes more, and moves 8 + 4 * sizeof(T) bytes a row besides the sort of its words.
#include "scalar.h"

#define TEXT i32 kind, GLOBAL const u8 *offsets, i64 offsets0, GLOBAL const u8 *text, i64 text0
#define START(row) offsets_at_row(offsets, kind, offsets0, (i64)(row))
#define STEP 7
#define MORE 9 // the low byte of a word whose text goes on; else it is 1 and the bytes that there were

FN i64 offsets_at_row(GLOBAL const u8 *offsets, i32 kind, i64 first, i64 row) { return offset_at(offsets, kind, first + row); }

// common[s] becomes the length of what the texts of segment s have in common, which are equal up to depth[s]; it is all ones before.
// starts[s] is the segment's first member.
KERNEL(GROUP) K(text_common)(TEXT, GLOBAL const T *rows, GLOBAL const T *segment, GLOBAL const T *starts, GLOBAL const u64 *depth, GLOBAL u64 *common, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 s = segment[i], start = starts[s];
    i64 a = START(rows[i]), b = START(rows[start]);
    i64 most = MIN(START((i64)rows[i] + 1) - a, START((i64)rows[start] + 1) - b);
    i64 same = (i64)depth[s];
    if (start != i) {
      while (same < most && text[text0 + a + same] == text[text0 + b + same]) same++;
      if ((u64)same < LOAD64(&common[s])) (void)ATOMIC_MIN64(&common[s], (u64)same);
    }
  }
}

// The word of each row in the order that is wanted: seven bytes from common[segment] on, from the top, and how many there were. The word of a
// null is the least or the greatest of all. Rows and segments are only looked at where given.
KERNEL(GROUP) K(text_words)(TEXT, GLOBAL const u8 *valid, i64 valid0, i32 descending, i32 nulls_first, i32 given, GLOBAL const T *rows, i32 refined,
                            GLOBAL const T *segment, GLOBAL const u64 *common, GLOBAL u64 *words, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 row = given ? (i64)rows[i] : i;
    u64 w = nulls_first ? 0 : U64_MAX;
    if (valid_at(valid, valid0 + row)) {
      i64 at = START(row) + (refined ? (i64)common[segment[i]] : 0);
      i64 left = START(row + 1) - at;
      w = 0;
      for (int k = 0; k < STEP && k < left; k++) w |= (u64)text[text0 + at + k] << (56 - 8 * k);
      w |= left > STEP ? MORE : (u64)(left + 1);
      if (descending) w = ~w;
    }
    words[i] = w;
  }
}

// out[i] = segment[order[i]]
KERNEL(GROUP) K(text_segments)(GLOBAL const T *segment, GLOBAL const T *order, GLOBAL T *out, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) out[i] = segment[order[i]];
}

// The active rows sorted by their words are by_word, and of those by segment by_segment, where given. Puts each row at its place of the result and
// marks in ends, for places, and cuts, for active rows, those that differ from the one before.
#define SORTED i32 refined, GLOBAL const T *segment, GLOBAL const u64 *words, GLOBAL const T *by_word, i32 segmented, GLOBAL const T *by_segment
#define PLACE(i) (segmented ? (i64)by_segment[i] : (i))
KERNEL(GROUP) K(text_cut)(SORTED, i32 given, GLOBAL const T *rows, GLOBAL const T *place, GLOBAL u32 *cuts, GLOBAL T *result, GLOBAL u32 *ends, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    i64 p = PLACE(i), row = by_word[p], to = refined ? (i64)place[i] : i;
    u32 cut = 1;
    if (i > 0) {
      i64 q = PLACE(i - 1);
      cut = words[q] != words[p] || (refined && segment[by_word[q]] != segment[row]);
    }
    cuts[i] = cut;
    if (cut) ends[to] = 1;
    result[to] = given ? rows[row] : (T)row;
  }
}

// Which sorted rows go on to the next step, and which of them begin a segment there. more is the low byte of words whose texts go on.
KERNEL(GROUP) K(text_active)(SORTED, GLOBAL const u32 *cuts, u32 more, GLOBAL u32 *active, GLOBAL u32 *heads, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u32 alone = cuts[i] && (i + 1 == n || cuts[i + 1]);
    u32 on = !alone && ((u32)words[PLACE(i)] & 255u) == more;
    active[i] = on;
    heads[i] = on && cuts[i];
  }
}

// The next step's rows: at[i] and segments[i] are the active rows and the heads before i.
KERNEL(GROUP) K(text_next)(SORTED, GLOBAL const u64 *common, i32 given, GLOBAL const T *rows, GLOBAL const T *place, GLOBAL const u32 *active,
                           GLOBAL const u32 *heads, GLOBAL const u64 *at, GLOBAL const u64 *segments, GLOBAL T *next_rows, GLOBAL T *next_place,
                           GLOBAL T *next_segment, GLOBAL T *next_starts, GLOBAL u64 *next_depth, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    if (!active[i]) continue;
    i64 row = by_word[PLACE(i)], to = (i64)at[i], s = (i64)(segments[i] + heads[i]) - 1;
    next_rows[to] = given ? rows[row] : (T)row;
    next_place[to] = refined ? place[i] : (T)i;
    next_segment[to] = (T)s;
    if (heads[i]) {
      next_starts[s] = (T)to;
      next_depth[s] = STEP + (refined ? common[segment[row]] : 0);
    }
  }
}
