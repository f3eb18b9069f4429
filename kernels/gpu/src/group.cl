// Groups in order of first appearance, without a sort: the first row of each key sets a bit in a bitmap of all rows, and the number of bits
// before it is the group's number. Moves 16 bytes a slot of the table twice, n/8 bytes a few times, and 8 to 12 bytes a row for the numbers.
#include "group.h"
#include "keys.h"

// Sets the bit of the first row of each key of a table.
KERNEL(GROUP) group_mark(GLOBAL const u64 *slots, i64 size, GLOBAL u32 *marks) {
  for (i64 s = GID; s < size; s += GSIZE) {
    u64 row = slots[2 * s + 1];
    if (row != EMPTY) ATOMIC_OR32(&marks[row >> 5], 1u << (row & 31));
  }
}

// The number of bits of each word.
KERNEL(GROUP) group_count(GLOBAL const u32 *marks, GLOBAL u32 *counts, i64 words) {
  for (i64 w = GID; w < words; w += GSIZE) counts[w] = POPCOUNT32(marks[w]);
}

// Numbers the groups: before[w] is the number of bits before word w. A slot's first row is replaced by its group.
KERNEL(GROUP) group_number(GLOBAL u64 *slots, i64 size, GLOBAL const u32 *marks, GLOBAL const u64 *before, GLOBAL u8 *first, i32 wide) {
  for (i64 s = GID; s < size; s += GSIZE) {
    u64 row = slots[2 * s + 1];
    if (row == EMPTY) continue;
    u64 g = before[row >> 5] + POPCOUNT32(marks[row >> 5] & ((1u << (row & 31)) - 1u));
    slots[2 * s + 1] = g;
    slot_store(first, (i64)g, wide, row);
  }
}

// Numbers the groups in any order: what group_mark, group_count and the prefix sums of it are for is left out.
KERNEL(GROUP) group_number_any(GLOBAL u64 *slots, i64 size, GLOBAL u64 *next, GLOBAL u8 *first, i32 wide) {
  SHARED u32 scratch[GROUP];
  SHARED u64 base;
  for (i64 from = BID * GROUP; from < size; from += GDIM * GROUP) {
    i64 s = from + TID;
    u64 row = s < size ? slots[2 * s + 1] : EMPTY;
    u32 all;
    u32 before = group_scan_u32(scratch, row != EMPTY, &all);
    if (TID == 0) base = ATOMIC_ADD64(next, (u64)all);
    BARRIER();
    if (row != EMPTY) {
      slots[2 * s + 1] = base + before;
      slot_store(first, (i64)(base + before), wide, row);
    }
    BARRIER();
  }
}

// The group of each row from its slot, 0 where it has none. The two may be the same memory where they are as wide.
KERNEL(GROUP) group_ids(GLOBAL const u8 *row_slots, i32 slots_wide, GLOBAL const u64 *slots, GLOBAL u8 *ids, i32 wide, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 s = slot_load(row_slots, i, slots_wide);
    slot_store(ids, i, wide, s == NO_SLOT ? 0 : slots[2 * s + 1]);
  }
}

// A bit for each row that has a slot.
KERNEL(GROUP) group_found(GLOBAL const u8 *row_slots, i32 wide, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * GROUP; first < n; first += GDIM * GROUP) {
    i64 i = first + TID;
    group_store_bits(scratch, out, first, i < n && slot_load(row_slots, i, wide) != NO_SLOT, n);
  }
}
