// Running sums in one pass that repeat bit for bit, floats too. Tiles stand in a tree of 64 children a node: what comes before a tile is the sums of
// its elder siblings, of its parent's, and so on, each added up in an order that hangs on their number alone, whoever is done first. That is the
// decoupled look-back of lookback.h without its running prefix, whose shape is a matter of timing. Moves the values once and the results once,
// and for each tile up to 63 sums a level, which lie in the cache.
#include "scalar.h"
#include "group.h"
#include "lookback.h"

#define PER_ITEM 8
#define TILE (GROUP * PER_ITEM)
#define CHILDREN 64
#define LEVELS 4 // of nodes with a sum: 2048 * 64^4 rows
#define AT(i) ((i) + ((i) >> 3)) // where value i of a tile is in local memory: items that read theirs one after another meet no bank twice
#define FLOATS (kind >= KIND_F32)

FN u64 sum_join(i32 kind, u64 a, u64 b) { return FLOATS ? BITS_F64(F64_BITS(a) + F64_BITS(b)) : a + b; }

FN void sum_store(i32 kind, GLOBAL u8 *out, i64 i, u64 w) {
  switch (kind) {
  case KIND_I8:
  case KIND_U8: out[i] = (u8)w; break;
  case KIND_I16:
  case KIND_U16: ((GLOBAL u16 *)out)[i] = (u16)w; break;
  case KIND_I32:
  case KIND_U32: ((GLOBAL u32 *)out)[i] = (u32)w; break;
  case KIND_F32: ((GLOBAL f32 *)out)[i] = (f32)F64_BITS(w); break;
  default: ((GLOBAL u64 *)out)[i] = w;
  }
}

// The exclusive running sum over the items, and in *total that of all.
FN u64 group_scan_sum(LOCAL u64 *scratch, i32 kind, u64 v, u64 *total) {
#if HAVE_WARP
  u64 x = v;
  for (int d = 1; d < 32; d <<= 1) {
    u64 y = SHUFFLE_UP(x, d);
    if (LANE >= d) x = sum_join(kind, y, x);
  }
  u64 elder = SHUFFLE_UP(x, 1);
  int warp = TID >> 5;
  if (LANE == 31) scratch[warp] = x;
  BARRIER();
  u64 before = 0, all = 0;
  for (int w = 0; w < GROUP / 32; w++) {
    if (w == warp) before = all;
    all = sum_join(kind, all, scratch[w]);
  }
  BARRIER();
  *total = all;
  return LANE ? sum_join(kind, before, elder) : before;
#else
  scratch[TID] = v;
  BARRIER();
  for (int d = 1; d < GROUP; d <<= 1) {
    u64 y = TID >= d ? scratch[TID - d] : 0;
    BARRIER();
    scratch[TID] = sum_join(kind, y, scratch[TID]);
    BARRIER();
  }
  u64 before = TID ? scratch[TID - 1] : 0;
  *total = scratch[GROUP - 1];
  BARRIER();
  return before;
#endif
}

// A node's sum is published in two words, each with the mark that it is there.
FN void publish(GLOBAL u64 *sums, i64 node, u64 sum) {
  STORE64(&sums[2 * node], TILE_SUM | (sum & 0xffffffffu));
  STORE64(&sums[2 * node + 1], TILE_SUM | (sum >> 32));
}

// What all tiles before this one sum up to, for every item; `all` is the tile's own sum. sums has two words a node, level after level from the
// tiles on, all 0 before the launch.
FN u64 sum_before(LOCAL u64 *scratch, i32 kind, GLOBAL u64 *sums, i64 tiles, i64 tile, u64 all) {
#if HAVE_WARP
#define SIBLINGS 2 // of CHILDREN, for each lane of a warp
  if (TID < 32) {
    if (TID == 0) publish(sums, tile, all);
    u64 low[LEVELS * SIBLINGS], high[LEVELS * SIBLINGS];
    i64 level0 = 0, nodes = tiles;
    for (int l = 0; l < LEVELS; l++) { // all levels' loads are on their way at once
      i64 node = tile >> (6 * l), first = node & ~(i64)(CHILDREN - 1);
      for (int k = 0; k < SIBLINGS; k++) {
        i64 sibling = first + LANE + 32 * k;
        u32 wanted = sibling < node;
        low[l * SIBLINGS + k] = wanted ? LOAD64(&sums[2 * (level0 + sibling)]) : TILE_SUM;
        high[l * SIBLINGS + k] = wanted ? LOAD64(&sums[2 * (level0 + sibling) + 1]) : TILE_SUM;
      }
      level0 += nodes;
      nodes = (nodes + CHILDREN - 1) / CHILDREN;
    }
    u64 before = 0, own = all;
    u32 last = 1;
    level0 = 0;
    nodes = tiles;
    for (int l = 0; l < LEVELS; l++) {
      i64 node = tile >> (6 * l), first = node & ~(i64)(CHILDREN - 1);
      u64 elder = 0;
      for (int k = 0; k < SIBLINGS; k++) {
        i64 sibling = first + LANE + 32 * k;
        while (BALLOT(low[l * SIBLINGS + k] == 0 || high[l * SIBLINGS + k] == 0)) {
          RELAX();
          if (sibling < node) {
            low[l * SIBLINGS + k] = LOAD64(&sums[2 * (level0 + sibling)]);
            high[l * SIBLINGS + k] = LOAD64(&sums[2 * (level0 + sibling) + 1]);
          }
        }
        elder = sum_join(kind, elder, (low[l * SIBLINGS + k] & 0xffffffffu) | high[l * SIBLINGS + k] << 32);
      }
      for (int d = 16; d > 0; d >>= 1) elder = sum_join(kind, elder, SHUFFLE_XOR(elder, d));
      level0 += nodes;
      nodes = (nodes + CHILDREN - 1) / CHILDREN;
      last = last && (node & (CHILDREN - 1)) == CHILDREN - 1;
      if (last && l + 1 < LEVELS) { // the youngest child knows its parent's sum
        own = sum_join(kind, elder, own);
        if (TID == 0) publish(sums, level0 + (node >> 6), own);
      }
      before = sum_join(kind, elder, before);
    }
    if (TID == 0) *scratch = before;
  }
#else
  if (TID == 0) {
    publish(sums, tile, all);
    u64 before = 0, own = all;
    u32 last = 1;
    i64 level0 = 0, nodes = tiles;
    for (int l = 0; l < LEVELS; l++) {
      i64 node = tile >> (6 * l);
      u64 elder = 0;
      for (i64 sibling = node & ~(i64)(CHILDREN - 1); sibling < node; sibling++) {
        u64 low = 0, high = 0;
        while (low == 0 || high == 0) {
          RELAX();
          low = LOAD64(&sums[2 * (level0 + sibling)]);
          high = LOAD64(&sums[2 * (level0 + sibling) + 1]);
        }
        elder = sum_join(kind, elder, (low & 0xffffffffu) | high << 32);
      }
      level0 += nodes;
      nodes = (nodes + CHILDREN - 1) / CHILDREN;
      last = last && (node & (CHILDREN - 1)) == CHILDREN - 1;
      if (last && l + 1 < LEVELS) {
        own = sum_join(kind, elder, own);
        publish(sums, level0 + (node >> 6), own);
      }
      before = sum_join(kind, elder, before);
    }
    *scratch = before;
  }
#endif
  BARRIER();
  u64 before = *scratch;
  BARRIER();
  return before;
}

KERNEL_BLOCKS(GROUP, 3) scan_sum(i32 kind, GLOBAL const u8 *x, i64 x0, GLOBAL const u8 *valid, i64 valid0, i64 n, i32 exclusive, GLOBAL u8 *out,
                                 GLOBAL u64 *sums, GLOBAL u32 *ticket) {
  SHARED u64 scratch[GROUP];
  SHARED u64 values[AT(TILE)];
  SHARED u32 slot;
  i64 tile = next_tile(&slot, ticket);
  i64 first = tile * TILE;
  u32 plain = first + TILE <= n && (kind == KIND_I64 || kind == KIND_U64 || kind == KIND_F64); // whole tiles of words need no looking at each row
  u64 v[PER_ITEM];
  if (plain && !valid) {
    GLOBAL const u64 *words = (GLOBAL const u64 *)x + x0 + first + TID;
    for (int k = 0; k < PER_ITEM; k++) v[k] = words[k * GROUP];
  } else {
    for (int k = 0; k < PER_ITEM; k++) { // read by neighbours, so that the words of one access lie side by side
      i64 i = first + k * GROUP + TID;
      v[k] = i < n && valid_at(valid, valid0 + i) ? load_word(x, kind, x0 + i) : 0;
    }
  }
  for (int k = 0; k < PER_ITEM; k++) values[AT(k * GROUP + TID)] = v[k];
  BARRIER();
  u64 mine = 0;
  for (int k = 0; k < PER_ITEM; k++) mine = sum_join(kind, mine, values[AT(TID * PER_ITEM + k)]);
  u64 all;
  u64 at = group_scan_sum(scratch, kind, mine, &all);
  at = sum_join(kind, sum_before(scratch, kind, sums, GDIM, tile, all), at);
  for (int k = 0; k < PER_ITEM; k++) {
    u64 next = sum_join(kind, at, values[AT(TID * PER_ITEM + k)]);
    values[AT(TID * PER_ITEM + k)] = exclusive ? at : next;
    at = next;
  }
  BARRIER();
  if (plain) {
    GLOBAL u64 *words = (GLOBAL u64 *)out + first + TID;
    for (int k = 0; k < PER_ITEM; k++) words[k * GROUP] = values[AT(k * GROUP + TID)];
    return;
  }
  for (int k = 0; k < PER_ITEM; k++) {
    i64 i = first + k * GROUP + TID;
    if (i < n) sum_store(kind, out, i, values[AT(k * GROUP + TID)]);
  }
}
