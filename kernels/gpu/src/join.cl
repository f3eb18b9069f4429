// Hash join: the right side is a table of distinct keys (keytable.cl, or in parts joinpart.cl) with, for each slot, the list of its rows in order: rows starts[s] up
// to starts[s + 1] of `list`. Probing counts the pairs of each left row, and the prefix sums of the counts say where each pair goes, so that
// no size is guessed. Row numbers and slots are 4 or 8 bytes wide.
#include "keys.h"
#include "group.h"

// How many rows have each slot.
KERNEL(GROUP) join_count(GLOBAL const u8 *row_slots, i32 wide, GLOBAL u8 *counts, i32 counts_wide, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 s = slot_load(row_slots, i, wide);
    if (s == NO_SLOT) continue;
    if (counts_wide) ATOMIC_ADD64((GLOBAL u64 *)counts + s, (u64)1);
    else ATOMIC_ADD32((GLOBAL u32 *)counts + s, 1u);
  }
}

// Sort keys that put rows without a slot last; as wide as the slots. The two may be the same memory.
KERNEL(GROUP) join_order(GLOBAL const u8 *row_slots, i32 wide, u64 last, GLOBAL u8 *keys, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 s = slot_load(row_slots, i, wide);
    slot_store(keys, i, wide, s == NO_SLOT ? last : s);
  }
}

// The list where every key has one row.
KERNEL(GROUP) join_place(GLOBAL const u8 *row_slots, i32 wide, GLOBAL const u64 *starts, GLOBAL u8 *list, i32 rows_wide, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 s = slot_load(row_slots, i, wide);
    if (s != NO_SLOT) slot_store(list, (i64)starts[s], rows_wide, (u64)i);
  }
}

// starts of a list that has the lists of another behind its own: to[at + i] = base + from[i], for i up to n; without from, base alone.
KERNEL(GROUP) join_append(GLOBAL const u64 *from, u64 base, GLOBAL u64 *to, i64 at, i64 n) {
  for (i64 i = GID; i <= n; i += GSIZE) to[at + i] = base + (from ? from[i] : 0);
}

// Gives the rows with a slot in another table that slot, counted from base.
KERNEL(GROUP) join_merge(GLOBAL const u8 *others, i32 others_wide, u64 base, GLOBAL u8 *slots, i32 wide, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 s = slot_load(others, i, others_wide);
    if (s != NO_SLOT) slot_store(slots, i, wide, base + s);
  }
}

// Gives the rows that are not live a slot.
KERNEL(GROUP) join_null(GLOBAL const u8 *live, i64 live_from, u64 slot, GLOBAL u8 *slots, i32 wide, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    if (!bit_at(live, live_from + i)) slot_store(slots, i, wide, slot);
  }
}

// The pairs of each left row: its matches, and at least `least`. Sets the bit of every slot that is met, unless met is null. Without starts a
// slot is one row.
KERNEL(GROUP) join_matches(GLOBAL const u8 *slots, i32 wide, GLOBAL const u64 *starts, u64 least, GLOBAL u64 *counts, GLOBAL u32 *met, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 s = slot_load(slots, i, wide);
    u64 matches = s == NO_SLOT ? 0 : starts ? starts[s + 1] - starts[s] : 1;
    counts[i] = matches > least ? matches : least;
    if (met && s != NO_SLOT && !(LOAD32(&met[s >> 5]) >> (s & 31) & 1)) ATOMIC_OR32(&met[s >> 5], 1u << (s & 31));
  }
}

// A bit for each row whose having a slot is `want`; with met, a slot counts where its bit is set. Without slots each row is its own.
KERNEL(GROUP) join_rows(GLOBAL const u8 *slots, i32 wide, GLOBAL const u32 *met, u32 want, GLOBAL u32 *out, i64 n) {
  SHARED u32 scratch[GROUP];
  for (i64 first = BID * GROUP; first < n; first += GDIM * GROUP) {
    i64 i = first + TID;
    u32 has = 0;
    if (i < n) {
      u64 s = slots ? slot_load(slots, i, wide) : (u64)i;
      has = s != NO_SLOT && (!met || (met[s >> 5] >> (s & 31) & 1));
    }
    group_store_bits(scratch, out, first, has == want, n);
  }
}

// The last i with at[i] <= k, between lo and hi.
FN i64 join_owner(GLOBAL const u64 *at, i64 lo, i64 hi, u64 k) {
  while (lo < hi) {
    i64 mid = lo + (hi - lo + 1) / 2;
    if (at[mid] <= k) lo = mid;
    else hi = mid - 1;
  }
  return lo;
}

#define TILE (GROUP * 4)

// Writes the pairs: 1024 of them a group, each by an item that looks for its left row among those of its group, so that a row with many
// matches is the work of many. Pairs from `inner` on have right rows without a match, from `tail`. Without starts a slot is the right row; the
// left row is that of `order`, if there is one. A group reads at[] and the slots of its left rows, and moves 2 row numbers a pair besides the
// list.
KERNEL(GROUP) join_pairs(GLOBAL const u64 *at, GLOBAL const u8 *slots, i32 wide, GLOBAL const u64 *starts, GLOBAL const u8 *list, i32 list_wide,
                         GLOBAL const u8 *order, i32 order_wide, i64 inner, GLOBAL const u8 *tail, GLOBAL u8 *left, i32 left_wide,
                         GLOBAL u8 *right, i32 right_wide, GLOBAL u32 *right_valid, i64 n, i64 total) {
  SHARED u32 scratch[GROUP];
  SHARED i64 bounds[2];
  i64 from = BID * TILE, to = MIN(from + TILE, total);
  if (TID < 2 && from < inner) bounds[TID] = join_owner(at, 0, n - 1, (u64)(TID ? MIN(to, inner) - 1 : from));
  BARRIER();
  for (i64 first = from; first < to; first += GROUP) {
    i64 k = first + TID;
    u32 valid = 0;
    if (k < inner) {
      i64 i = join_owner(at, bounds[0], bounds[1], (u64)k);
      u64 s = slot_load(slots, i, wide);
      u64 r = 0;
      if (s != NO_SLOT) {
        r = starts ? slot_load(list, (i64)(starts[s] + ((u64)k - at[i])), list_wide) : s;
        valid = 1;
      }
      slot_store(left, k, left_wide, order ? slot_load(order, i, order_wide) : (u64)i);
      slot_store(right, k, right_wide, r);
    } else if (k < total) {
      slot_store(left, k, left_wide, 0);
      slot_store(right, k, right_wide, slot_load(tail, k - inner, list_wide));
      valid = 1;
    }
    if (right_valid) group_store_bits(scratch, right_valid, first, valid, total);
  }
}

// All pairs of `left` rows from left_from on with `right` rows.
KERNEL(GROUP) cross_pairs(i64 left_from, i64 right, GLOBAL u8 *l, i32 l_wide, GLOBAL u8 *r, i32 r_wide, i64 total) {
  for (i64 k = GID; k < total; k += GSIZE) {
    i64 i = k / right;
    slot_store(l, k, l_wide, (u64)(left_from + i));
    slot_store(r, k, r_wide, (u64)(k - i * right));
  }
}
