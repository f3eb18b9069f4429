// variants: word words text
// Hash join by parts, where one table would be larger than the cache: both sides are sorted by some bits of the hash (keypart.cl) into parts of
// about a thousand right rows, and a work-group puts the keys of a part into a table in local memory, open addressing of 16 KiB, and looks up
// the left rows of that part in it. A key of the part is known by its place `id`: keys[id] is its hash, and its rows are those of
// list[starts[id]] .. list[starts[id + 1] - 1], or without starts the row list[id] alone.
//
// A left row costs, beside the sort's passes of 24 bytes each, its hash (8 bytes) and row number read, a hash of its part from the cache, and the
// answer written to a random place (a transaction of 32 bytes), or in any order of pairs to the next one (4 bytes), where the table in global
// memory takes three random transactions. A part's keys (8 bytes each) are read once for each 4096 of its left rows or fewer.
#include "group.h"
#include "keyrows.h"

#define SLOTS 4096
#define INDEX_BITS 11
#define INDEX_MASK ((1u << INDEX_BITS) - 1u)
#define NO_KEY 0xffffffffu
#define MOST (1 << INDEX_BITS) // keys of a part are fewer

// A slot is 21 bits of the hash over the key's place in its part. The bits that chose the part are below these.
FN u32 part_slot(u64 h) { return (u32)(h >> 52); }
FN u32 part_word(u64 h, u32 index) { return (u32)(h >> 31) << INDEX_BITS | index; }

// Puts row `index` of a part into the table and gives its slot, which in the end has the first row of those with that key; with SLOTS added where
// there was one already.
FN u32 part_insert(KEYS, LOCAL u32 *slots, GLOBAL const u64 *hashes, GLOBAL const u8 *rows, i32 rows_wide, i64 from, u32 index) {
  u64 h = hashes[from + index];
  u32 mine = part_word(h, index), s = part_slot(h);
  for (;;) {
    u32 have = LOAD32(&slots[s]);
    if (have == NO_KEY) have = ATOMIC_CAS32(&slots[s], NO_KEY, mine);
    if (have == NO_KEY) return s;
    i64 other = from + (have & INDEX_MASK);
    if ((have ^ mine) <= INDEX_MASK && hashes[other] == h &&
        ROWS_SAME((i64)slot_load(rows, from + index, rows_wide), (i64)slot_load(rows, other, rows_wide))) {
      if (mine < have) ATOMIC_MIN32(&slots[s], mine);
      return s + SLOTS;
    }
    s = (s + 1) & (SLOTS - 1);
  }
}

// Looks for parts of more than `most` rows, whose bits it sets in `over`, which sets state[1], and for a key that two rows have, which sets
// state[0]. Reads 8 bytes a row.
KERNEL(GROUP) K(joinpart_check)(KEYS, GLOBAL const u64 *hashes, GLOBAL const u8 *rows, i32 rows_wide, GLOBAL const u64 *begins, i64 parts, i64 most,
                                GLOBAL u32 *over, GLOBAL u32 *state) {
  SHARED u32 slots[SLOTS];
  for (i64 p = BID; p < parts; p += GDIM) {
    i64 from = (i64)begins[p];
    u32 n = (u32)MIN((i64)begins[p + 1] - from, most + 1);
    if (n > most) {
      if (TID == 0) {
        ATOMIC_OR32(&over[p >> 5], 1u << (p & 31));
        STORE32(&state[1], 1u);
      }
      n = 0;
    }
    for (int s = TID; s < SLOTS; s += GROUP) slots[s] = NO_KEY;
    BARRIER();
    u32 twice = 0;
    for (u32 i = TID; i < n; i += GROUP) twice |= part_insert(KEYS_GIVEN, slots, hashes, rows, rows_wide, from, i) & SLOTS;
    if (twice) STORE32(&state[0], 1u);
    BARRIER();
  }
}

// Lays the rows of each part out by key: list has them by key and then in order, keys and starts what is said above, counts the keys of each part,
// ids the id of the key of each row. starts comes as 0, 1, 2 and so on. Parts in `over` have no keys. A key's id is the part's begin and the
// number of keys of the part whose first rows come before its own. Reads 12 bytes a row and writes 20 and a random 4.
KERNEL(GROUP) K(joinpart_lay)(KEYS, GLOBAL const u64 *hashes, GLOBAL const u8 *rows, i32 rows_wide, GLOBAL const u64 *begins, i64 parts,
                              GLOBAL const u8 *over, GLOBAL u64 *keys, GLOBAL u64 *starts, GLOBAL u32 *counts, GLOBAL u8 *list, GLOBAL u8 *ids,
                              i32 ids_wide) {
  SHARED u32 slots[SLOTS];
  SHARED u32 order[MOST]; // first row of the key over the row
  SHARED u32 scratch[GROUP];
  for (i64 p = BID; p < parts; p += GDIM) {
    i64 from = (i64)begins[p];
    u32 n = bit_at(over, p) ? 0 : (u32)((i64)begins[p + 1] - from);
    for (int s = TID; s < SLOTS; s += GROUP) slots[s] = NO_KEY;
    BARRIER();
    for (u32 i = TID; i < n; i += GROUP) order[i] = part_insert(KEYS_GIVEN, slots, hashes, rows, rows_wide, from, i);
    BARRIER();
    u32 size = 1;
    while (size < n) size *= 2;
    for (u32 i = TID; i < size; i += GROUP) order[i] = i < n ? (slots[order[i] & (SLOTS - 1)] & INDEX_MASK) << INDEX_BITS | i : NO_KEY;
    BARRIER();
    for (u32 run = 2; run <= size; run *= 2) { // bitonic sort
      for (u32 step = run / 2; step > 0; step /= 2) {
        for (u32 q = TID; q < size / 2; q += GROUP) {
          u32 a = 2 * q - (q & (step - 1)), x = order[a], y = order[a + step];
          if ((x > y) == !(a & run)) {
            order[a] = y;
            order[a + step] = x;
          }
        }
        BARRIER();
      }
    }
    u32 each = (size + GROUP - 1) / GROUP, first = TID * each, fresh = 0;
    for (u32 q = first; q < first + each && q < n; q++) fresh += q == 0 || order[q] >> INDEX_BITS != order[q - 1] >> INDEX_BITS;
    scratch[TID] = fresh; // group_scan_u32 by hand: LLVM 15 in PoCL dies of inlining it into a loop
    BARRIER();
    for (int d = 1; d < GROUP; d <<= 1) {
      u32 before = TID >= d ? scratch[TID - d] : 0;
      BARRIER();
      scratch[TID] += before;
      BARRIER();
    }
    u32 id = scratch[TID] - fresh, all = scratch[GROUP - 1];
    for (u32 q = first; q < first + each && q < n; q++) {
      u32 leader = order[q] >> INDEX_BITS;
      u64 row = slot_load(rows, from + (order[q] & INDEX_MASK), rows_wide);
      if (q == 0 || leader != order[q - 1] >> INDEX_BITS) {
        keys[from + id] = hashes[from + leader];
        starts[from + id] = (u64)(from + q);
        id++;
      }
      slot_store(list, from + q, rows_wide, row);
      slot_store(ids, (i64)row, ids_wide, (u64)(from + id - 1));
    }
    if (TID == 0) {
      counts[p] = all;
      if (all < n) starts[from + all] = (u64)(from + n);
    }
    BARRIER();
  }
}

// Looks up the keys of n left rows, which are sorted by parts as the right ones are: a work-group takes `tile` of them, part by part. Gives each
// the id of its key, without starts the right row itself, or none where the part has not got the key; in the place of the row with by_row, else
// in that of its hash.
KERNEL(GROUP) K(joinpart_find)(KEYS, GLOBAL const u64 *hashes, GLOBAL const u8 *rows, i32 rows_wide, GLOBAL const u64 *begins, u64 mask, i32 shift,
                               i64 tile, GLOBAL const u64 *there_begins, GLOBAL const u64 *keys, GLOBAL const u32 *counts, GLOBAL const u64 *starts,
                               GLOBAL const u8 *list, i32 list_wide, i32 by_row, GLOBAL u8 *out, i32 wide, i64 n) {
  SHARED u32 slots[SLOTS];
  i64 at = BID * tile, end = MIN(at + tile, n);
  while (at < end) {
    i64 p = (i64)((hashes[at] & mask) >> shift), to = MIN((i64)begins[p + 1], end), from = (i64)there_begins[p];
    u32 here = counts ? counts[p] : (u32)((i64)there_begins[p + 1] - from);
    for (int s = TID; s < SLOTS; s += GROUP) slots[s] = NO_KEY;
    BARRIER();
    for (u32 i = TID; i < here; i += GROUP) { // no two are equal
      u64 h = keys[from + i];
      u32 mine = part_word(h, i), s = part_slot(h);
      while (LOAD32(&slots[s]) != NO_KEY || ATOMIC_CAS32(&slots[s], NO_KEY, mine) != NO_KEY) s = (s + 1) & (SLOTS - 1);
    }
    BARRIER();
    for (i64 i = at + TID; i < to; i += GROUP) {
      u64 h = hashes[i], found = NO_SLOT;
      i64 row = (i64)slot_load(rows, i, rows_wide);
      u32 mine = part_word(h, 0);
      for (u32 s = part_slot(h); slots[s] != NO_KEY; s = (s + 1) & (SLOTS - 1)) {
        i64 id = from + (slots[s] & INDEX_MASK);
        if ((slots[s] ^ mine) > INDEX_MASK || keys[id] != h) continue;
        u64 right = starts ? 0 : slot_load(list, id, list_wide);
#ifndef V_word
        if (starts) right = slot_load(list, (i64)starts[id], list_wide);
#endif
        if (ROWS_SAME(row, (i64)right)) {
          found = starts ? (u64)id : right;
          break;
        }
      }
      slot_store(out, by_row ? row : i, wide, found);
    }
    BARRIER();
    at = to;
  }
}
