// Groups of keys of one word where there are too many for a table in the cache: rows are sorted by some bits of the hash (keypart.cl) into parts
// of about a thousand, and each part is grouped by one work-group in local memory; the hash of one word says which it is. What is found of a row
// is the first row of its group; the bits of the first rows number the groups, as in group.cl. Moves, beside the sort's passes of 24 bytes a row,
// the hash and row number (12 bytes) and the answer to a random place (a transaction of 32 bytes), where the table in global memory takes six
// such places and 32 bytes a row of slots.
#include "group.h"
#include "keys.h"

#define SLOTS 2048

// The first row that is not live.
KERNEL(GROUP) grouppart_dead(GLOBAL const u8 *live, i64 live_from, GLOBAL u32 *null_row, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    if (!bit_at(live, live_from + i) && (u32)i < LOAD32(null_row)) ATOMIC_MIN32(null_row, (u32)i);
  }
}

// The rows of the greatest part.
KERNEL(GROUP) grouppart_most(GLOBAL const u64 *begins, i64 parts, GLOBAL u32 *most) {
  for (i64 p = GID; p < parts; p += GSIZE) {
    u32 n = (u32)(begins[p + 1] - begins[p]);
    if (n > LOAD32(most)) ATOMIC_MAX32(most, n);
  }
}

// Slot of a hash in local memory, by bits above those that chose the part; SLOTS for the one that looks like an empty slot, -1 where there is no
// room.
FN i32 part_slot(LOCAL u64 *keys, u64 key) {
  if (key == EMPTY) return SLOTS;
  i32 s = (i32)(key >> 53) & (SLOTS - 1);
  for (int looked = 0; looked < SLOTS; looked++) {
    u64 have = LOAD64(&keys[s]);
    if (have == EMPTY) {
      have = ATOMIC_CAS64(&keys[s], EMPTY, key);
      if (have == EMPTY) return s;
    }
    if (have == key) return s;
    s = (s + 1) & (SLOTS - 1);
  }
  return -1;
}

// Groups the parts: part p is rows[begins[p]] .. rows[begins[p + 1] - 1]. Gives each row the first row of its group, unless leaders is null, and sets
// the bits of those rows. *failed is set where a part has more keys than slots.
KERNEL(GROUP) grouppart_rows(GLOBAL const u64 *hashes, GLOBAL const u32 *rows, GLOBAL const u64 *begins, i64 parts, GLOBAL u32 *leaders,
                             GLOBAL u32 *marks, GLOBAL u32 *failed) {
  SHARED u64 keys[SLOTS];
  SHARED u32 first[SLOTS + 1];
  for (i64 p = BID; p < parts; p += GDIM) {
    i64 from = (i64)begins[p], to = (i64)begins[p + 1];
    if (from == to) continue;
    for (int s = TID; s <= SLOTS; s += GROUP) {
      if (s < SLOTS) keys[s] = EMPTY;
      first[s] = 0xffffffffu;
    }
    BARRIER();
    for (i64 i = from + TID; i < to; i += GROUP) {
      i32 s = part_slot(keys, hashes[i]);
      if (s < 0) STORE32(failed, 1u);
      else ATOMIC_MIN32(&first[s], rows[i]);
    }
    BARRIER();
    for (i64 i = from + TID; i < to; i += GROUP) {
      u32 row = rows[i];
      i32 s = part_slot(keys, hashes[i]);
      if (s < 0) continue;
      if (leaders) leaders[row] = first[s];
      if (first[s] == row) ATOMIC_OR32(&marks[row >> 5], 1u << (row & 31));
    }
    BARRIER();
  }
}

// Sets the bit of the first row that is null, if there is one. GID == 0 would say the same, but Intel's compiler for processors (2026.2) then loses
// the stores under a condition of the kernel that comes next in the text.
KERNEL(GROUP) grouppart_null(GLOBAL const u32 *null_row, GLOBAL u32 *marks) {
  if (BID == 0 && TID == 0 && *null_row != 0xffffffffu) marks[*null_row >> 5] |= 1u << (*null_row & 31);
}

// The rows whose bits are set, in order: before[w] is the number of bits before word w.
KERNEL(GROUP) grouppart_first(GLOBAL const u32 *marks, GLOBAL const u64 *before, GLOBAL u32 *first, i64 words) {
  for (i64 w = GID; w < words; w += GSIZE) {
    u64 to = before[w];
    for (u32 left = marks[w]; left; left &= left - 1) first[to++] = (u32)(w * 32) + 31 - CLZ32(left & (0u - left));
  }
}

// The group of each row from the first row of it; with `nulls` also of those that are not live. ids may be leaders itself.
KERNEL(GROUP) grouppart_ids(GLOBAL const u32 *leaders, GLOBAL const u8 *live, i64 live_from, i32 nulls, GLOBAL const u32 *null_row,
                            GLOBAL const u32 *marks, GLOBAL const u64 *before, GLOBAL u32 *ids, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u32 here = valid_at(live, live_from + i), g = 0;
    if (here || nulls) {
      u32 row = here ? leaders[i] : *null_row;
      g = (u32)before[row >> 5] + POPCOUNT32(marks[row >> 5] & ((1u << (row & 31)) - 1u));
    }
    ids[i] = g;
  }
}
