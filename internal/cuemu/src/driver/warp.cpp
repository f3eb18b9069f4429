// Barriers and warp operations: what threads wait in until others have come.
#include "run.h"

using namespace cuemu;

namespace {
enum Op { Shuffle, ShuffleUp, ShuffleDown, ShuffleXor, Sync, Ballot, All, Match };
const uint64_t undefined = 0xABABABABABABABABull;

// finish gives each lane of the mask its result, when all have come with the same mask and operation. Lanes that have ended, or that a
// block of this size has not got, are not waited for.
bool finish(Slot& s, unsigned first, unsigned mask, int op) {
  unsigned& in = s.inWarp[first >> 5];
  const unsigned lanes = mask & ~s.gone[first >> 5];
  if (lanes & ~in) return false;
  unsigned votes = 0;
  for (unsigned rest = lanes; rest; rest &= rest - 1) {
    const Thread& t = s.threads[first + (unsigned)__builtin_ctz(rest)];
    if (t.mask != mask || t.op != op) return false;
    if (t.value) votes |= rest & -rest;
  }
  in &= ~lanes;
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!((lanes >> lane) & 1)) continue;
    Thread& t = s.threads[first + lane];
    unsigned base = lane & ~(t.width - 1), from = lane;
    switch (op) {
      case Shuffle: from = base | (t.arg & (t.width - 1)); break;
      case ShuffleUp: from = lane >= base + t.arg ? lane - t.arg : lane; break;
      case ShuffleDown: from = lane + t.arg < base + t.width ? lane + t.arg : lane; break;
      case ShuffleXor: from = (lane ^ t.arg) < base + t.width ? lane ^ t.arg : lane; break;
      case Ballot: t.result = votes; continue;
      case All: t.result = votes == lanes; continue;
      case Match: {
        uint64_t same = 0;
        for (unsigned o = 0; o < 32; o++)
          if (((lanes >> o) & 1) && s.threads[first + o].value == t.value) same |= 1ull << o;
        t.result = same;
        continue;
      }
      default: t.result = 0; continue;
    }
    t.result = from < 32 && ((lanes >> from) & 1) ? s.threads[first + from].value : undefined;
  }
  for (unsigned lane = 0; lane < 32; lane++) {
    if (!((lanes >> lane) & 1)) continue;
    Thread& t = s.threads[first + lane];
    t.state = Ready;
    if (&t != self) push(&t);
  }
  progress++;
  return true;
}
}  // namespace

void cuemu::warpEnded(Thread* t) {
  Slot& s = *t->slot;
  unsigned first = t->index & ~31u;
  if (!s.inWarp[first >> 5]) return;
  for (unsigned i = first; i < first + 32 && i < s.size; i++)
    if (s.threads[i].state == InWarp) finish(s, first, s.threads[i].mask, s.threads[i].op);
}

CUEMU_EXPORT unsigned long long cuemu_warp(int line, int op, unsigned mask, unsigned long long value, unsigned arg, unsigned width) {
  Thread* t = self;
  if (!((mask >> (t->index & 31)) & 1)) fault(LaunchFailed, "line %d: the mask 0x%08x of a warp operation lacks the calling lane", line, mask);
  if (op <= ShuffleXor && (width == 0 || width > 32 || (width & (width - 1)))) fault(LaunchFailed, "line %d: a shuffle of width %u", line, width);
  t->line = line, t->op = op, t->mask = mask, t->value = value, t->arg = arg, t->width = width;
  t->state = InWarp;
  t->slot->inWarp[t->index >> 5] |= 1u << (t->index & 31);
  if (!finish(*t->slot, t->index & ~31u, mask, op)) wait(InWarp);
  return t->result;
}

CUEMU_EXPORT int cuemu_barrier(int line, int reduce, int value) {
  Thread* t = self;
  Slot& s = *t->slot;
  if (s.waiting == 0) {
    s.line = line, s.reduce = reduce, s.yes = 0;
  } else if (s.line != line || s.reduce != reduce) {
    fault(LaunchFailed, "barrier divergence: it came to the barrier of line %d while %u of %u threads wait at that of line %d", line, s.waiting, s.size, s.line);
  }
  s.yes += value != 0;
  t->line = line;
  if (++s.waiting < s.size) {
    wait(AtBarrier);
    return (int)t->result;
  }
  unsigned result = reduce == 1 ? s.yes : reduce == 2 ? s.yes == s.size : s.yes != 0;
  s.waiting = 0;
  progress++;
  for (unsigned i = 0; i < s.size; i++) {
    Thread& o = s.threads[i];
    o.result = result;
    if (&o != t) {
      o.state = Ready;
      push(&o);
    }
  }
  if (seeded) stand(); // the last to come is not the first to go
  return (int)result;
}

CUEMU_EXPORT void cuemu_trap(int line) { fault(LaunchFailed, "line %d: __trap", line); }

CUEMU_EXPORT Dim cuemu_thread_index() { return self->id; }
CUEMU_EXPORT Dim cuemu_block_index() { return self->slot->block; }
CUEMU_EXPORT Dim cuemu_block_size() { return launch->block; }
CUEMU_EXPORT Dim cuemu_grid_size() { return launch->grid; }
CUEMU_EXPORT unsigned cuemu_lane() { return self->index & 31; }
