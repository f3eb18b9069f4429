// variants: word words text
// A hash table of keys in global memory: open addressing with linear probing, no deletions. Slot s is the two words slots[2s], all ones where
// it is empty, and slots[2s+1], the first row with that key. Of keys of one word (word) the first is the key itself. Of longer ones (words)
// and of texts it is 24 bits of the hash over 40 of a row that has the key; the row's words or bytes decide. Two slots stand behind the
// others: for the key that looks like an empty slot, and for null.
//
// One row costs one random access of 16 bytes where the key is of one word, which bounds the kernels by the memory's transactions of 32 bytes
// once the table is larger than the cache; below, by the words read and the slots written.
#include "group.h"
#include "keyrows.h"

#define ROW_BITS 40
#define ROW_MASK (((u64)1 << ROW_BITS) - 1)
#define PER_ITEM 4

// Whether the key of row i, whose hash or word is tag, is that of a slot.
#ifdef V_word
#define SAME(i, tag, have) ((have) == (tag))
#else
#define SAME(i, tag, have) ((have) >> ROW_BITS == (tag) >> ROW_BITS && ROWS_SAME(i, (i64)((have) & ROW_MASK)))
#endif

// Claims slot s, which counts as a new one where it was empty.
FN void table_claim(GLOBAL u64 *slots, i64 s, LOCAL u32 *fresh) {
  if (LOAD64(&slots[2 * s]) == EMPTY && ATOMIC_CAS64(&slots[2 * s], EMPTY, (u64)0) == EMPTY) ATOMIC_ADD32(fresh, 1u);
}

#ifdef V_word
// The keys that a work-group met first, with their slots: while there are few keys nearly all rows are found here, and local memory has many
// times the throughput of the cache in which the table is. An entry is taken once and for all; slot and first row follow the key.
#define NEAR 1024
#define NO_NEAR 0xffffffffu
#endif

// Puts the keys of n rows into a table and writes each row's slot (no slot for a row that is left out), unless out is null; with `first` it
// keeps the first row of each key. state[0] counts the keys. With more than `most` keys, or more than `limit` slots looked at for one, the
// table is too small: state[1] is set and the call gives up.
KERNEL(GROUP) K(table_insert)(KEYS, GLOBAL const u8 *live, i64 live_from, i32 nulls, GLOBAL u64 *slots, i64 mask, i64 limit, u64 most, i32 first,
                              GLOBAL u8 *out, i32 wide, i64 n, GLOBAL u64 *state) {
  SHARED u32 fresh;
  SHARED u32 full;
#ifdef V_word
  SHARED u64 near_key[NEAR];
  SHARED u64 near_first[NEAR];
  SHARED u32 near_slot[NEAR];
  for (int e = TID; e < NEAR; e += GROUP) {
    near_key[e] = EMPTY;
    near_first[e] = U64_MAX;
    near_slot[e] = NO_NEAR;
  }
#endif
  for (i64 base = BID * GROUP * PER_ITEM; base < n; base += GDIM * GROUP * PER_ITEM) {
    if (TID == 0) {
      fresh = 0;
      full = LOAD64(&state[1]) != 0;
    }
    BARRIER();
    if (full) break;
    for (int j = 0; j < PER_ITEM; j++) {
      i64 i = base + j * GROUP + TID;
      if (i >= n) break;
      i64 s = -1;
      if (live && !bit_at(live, live_from + i)) {
        if (nulls) {
          s = mask + 2;
          table_claim(slots, s, &fresh);
        }
      } else {
        u64 h = row_hash(words, words_at, k, i);
#ifdef V_word
        u64 mine = words[words_at + i];
#else
        u64 mine = (h & ~ROW_MASK) | (u64)i;
#endif
        if (mine == EMPTY) {
          s = mask + 1;
          table_claim(slots, s, &fresh);
        } else {
#ifdef V_word
          i32 e = (i32)(h >> 32) & (NEAR - 1);
          if (LOAD64(&near_key[e]) == mine) {
            u32 slot = LOAD32(&near_slot[e]);
            if (slot != NO_NEAR) {
              if (first && (u64)i < LOAD64(&near_first[e])) ATOMIC_MIN64(&near_first[e], (u64)i);
              if (out) slot_store(out, i, wide, slot);
              continue;
            }
          }
#endif
          i64 at = (i64)h & mask;
          for (i64 looked = 0; looked <= limit; looked++) {
            u64 have = LOAD64(&slots[2 * at]);
            if (have == EMPTY) {
              have = ATOMIC_CAS64(&slots[2 * at], EMPTY, mine);
              if (have == EMPTY) {
                ATOMIC_ADD32(&fresh, 1u);
                s = at;
                break;
              }
            }
            if (SAME(i, mine, have)) {
              s = at;
              break;
            }
            at = (at + 1) & mask;
          }
          if (s < 0) STORE64(&state[1], (u64)1);
#ifdef V_word
          if (s >= 0 && s < NO_NEAR && LOAD64(&near_key[e]) == EMPTY && ATOMIC_CAS64(&near_key[e], EMPTY, mine) == EMPTY) {
            STORE32(&near_slot[e], (u32)s);
          }
#endif
        }
      }
      if (first && s >= 0 && (u64)i < LOAD64(&slots[2 * s + 1])) ATOMIC_MIN64(&slots[2 * s + 1], (u64)i);
      if (out) slot_store(out, i, wide, s < 0 ? NO_SLOT : (u64)s);
    }
    BARRIER();
    if (TID == 0 && fresh && ATOMIC_ADD64(&state[0], (u64)fresh) + fresh > most) STORE64(&state[1], (u64)1);
    BARRIER();
  }
#ifdef V_word
  BARRIER();
  for (int e = TID; first && e < NEAR; e += GROUP) {
    if (near_first[e] != U64_MAX && near_first[e] < LOAD64(&slots[2 * (i64)near_slot[e] + 1])) {
      ATOMIC_MIN64(&slots[2 * (i64)near_slot[e] + 1], near_first[e]);
    }
  }
#endif
}

// Writes the slot of each row's key in a table, no slot where the table has not got the key.
KERNEL(GROUP) K(table_find)(KEYS, GLOBAL const u8 *live, i64 live_from, i32 nulls, GLOBAL const u64 *slots, i64 mask, GLOBAL u8 *out, i32 wide, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 s = NO_SLOT;
    if (live && !bit_at(live, live_from + i)) {
      if (nulls && slots[2 * (mask + 2)] != EMPTY) s = (u64)(mask + 2);
    } else {
      u64 h = row_hash(words, words_at, k, i);
#ifdef V_word
      u64 mine = words[words_at + i];
#else
      u64 mine = h & ~ROW_MASK;
#endif
#ifdef V_word
      if (mine == EMPTY) {
        if (slots[2 * (mask + 1)] != EMPTY) s = (u64)(mask + 1);
      } else
#endif
      {
        for (i64 at = (i64)h & mask;; at = (at + 1) & mask) {
          u64 have = slots[2 * at];
          if (have == EMPTY) break;
          if (SAME(i, mine, have)) {
            s = (u64)at;
            break;
          }
        }
      }
    }
    slot_store(out, i, wide, s);
  }
}
