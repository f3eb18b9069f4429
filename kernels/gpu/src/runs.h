// Splitting output that n runs of different lengths make up (the bytes of texts, the items of lists) into chunks of one size, each for one
// group, so that a long run is the work of many. ends are the n+1 offsets of the runs, of type OFFSET.

#define RUNS 1024 // runs whose starts a group keeps in local memory

// The last of the runs [lo, hi) that begins at or before p: the one that holds p, as p lies before the end of them all. Runs of no length
// that begin there come before it.
FN i64 run_of(GLOBAL const OFFSET *ends, i64 p, i64 lo, i64 hi) {
  while (hi - lo > 1) {
    i64 mid = lo + (hi - lo) / 2;
    if ((i64)ends[mid] <= p) lo = mid;
    else hi = mid;
  }
  return lo;
}

// The same among `count` runs whose starts, counted from where the chunk begins, are in local memory; the first begins at or before p.
FN u32 run_of_local(LOCAL const u32 *starts, u32 p, u32 count) {
  u32 lo = 0, hi = count;
  while (hi - lo > 1) {
    u32 mid = (lo + hi) >> 1;
    if (starts[mid] <= p) lo = mid;
    else hi = mid;
  }
  return lo;
}

// Fills starts for the runs [lo, lo+count) of a chunk that begins at p, count at most RUNS.
FN void load_runs(LOCAL u32 *starts, GLOBAL const OFFSET *ends, i64 p, i64 lo, i64 count) {
  for (i64 k = TID; k < count; k += GROUP) starts[k] = (u32)MAX((i64)ends[lo + k] - p, (i64)0);
}
