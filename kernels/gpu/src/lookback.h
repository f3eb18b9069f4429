// Single-pass prefix sums over tiles: the decoupled look-back of Merrill and Garland ("Single-pass Parallel Prefix Scan with Decoupled
// Look-back", 2016). A tile's state is one 64-bit word, so that value and status are published together: the upper two bits say what the
// lower 62 hold. Tiles are numbered by a ticket taken by the group, so that a group only ever waits for groups that already run.

#define TILE_SUM ((u64)1 << 62)    // the tile's own sum
#define TILE_PREFIX ((u64)2 << 62) // the sum of all tiles up to and with this one
#define TILE_VALUE (((u64)1 << 62) - 1)

// The number of the tile that this group works on. slot is one word of local memory, ticket one of global memory that is 0 before the launch.
FN i64 next_tile(LOCAL u32 *slot, GLOBAL u32 *ticket) {
  if (TID == 0) *slot = ATOMIC_ADD32(ticket, 1u);
  BARRIER();
  i64 tile = *slot;
  BARRIER();
  return tile;
}

// The sum of all tiles before this one, for every item of the group, once sum is the same in all of them. state has one word a tile,
// all 0 before the launch; scratch is one word of local memory.
FN u64 look_back(LOCAL u64 *scratch, GLOBAL u64 *state, i64 tile, u64 sum) {
#if HAVE_WARP
  if (TID < 32) {
    u64 before = 0;
    if (tile == 0) {
      if (TID == 0) STORE64(&state[0], TILE_PREFIX | sum);
    } else {
      if (TID == 0) STORE64(&state[tile], TILE_SUM | sum);
      for (i64 at = tile - 1;; at -= 32) {
        i64 mine = at - LANE;
        u64 word = mine < 0 ? TILE_PREFIX : LOAD64(&state[mine]);
        while (BALLOT(word == 0)) {
          RELAX();
          if (word == 0) word = LOAD64(&state[mine]);
        }
        u32 prefixes = BALLOT(word >= TILE_PREFIX);
        int last = prefixes ? 31 - (int)CLZ32(prefixes & (0u - prefixes)) : 31; // the nearest tile whose prefix is known
        u64 part = LANE <= last ? word & TILE_VALUE : 0;
        for (int d = 16; d > 0; d >>= 1) part += SHUFFLE_XOR(part, d);
        before += part;
        if (prefixes) break;
      }
      if (TID == 0) STORE64(&state[tile], TILE_PREFIX | (before + sum));
    }
    if (TID == 0) *scratch = before;
  }
#else
  if (TID == 0) {
    u64 before = 0;
    if (tile > 0) {
      STORE64(&state[tile], TILE_SUM | sum);
      for (i64 at = tile - 1;;) {
        u64 word = LOAD64(&state[at]);
        if (word == 0) {
          RELAX();
          continue;
        }
        before += word & TILE_VALUE;
        if (word >= TILE_PREFIX) break;
        at--;
      }
    }
    STORE64(&state[tile], TILE_PREFIX | (before + sum));
    *scratch = before;
  }
#endif
  BARRIER();
  u64 before = *scratch;
  BARRIER();
  return before;
}
