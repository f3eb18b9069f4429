// Joining columns end to end: one launch adds one column's part of a buffer, from element `at` on. Values and text are copied without a
// kernel.
#include "scalar.h"
#include "bits.h"
#include "group.h"
#include "select.h"

// n bits; without a bitmap they are ones. out is zero before the first launch. 32 bits an item; moves n/8 bytes in and out.
KERNEL(GROUP) concat_bits(GLOBAL const u8 *from, i64 from0, GLOBAL u32 *out, i64 at, i64 n) {
  i64 bit = (at & ~(i64)31) + GID * 32, lo = MAX(bit, at), hi = MIN(bit + 32, at + n);
  if (lo < hi) merge_word(out, bit, bits_word(from, from0 + lo - at, from0 + hi - at) << (lo - bit), at, at + n);
}

// n+1 offsets, moved by shift. Moves them in and out.
KERNEL(GROUP) concat_offsets(i32 kind, GLOBAL const u8 *from, i64 from0, i64 shift, GLOBAL u8 *out, i64 at, i64 n) {
  for (i64 i = GID; i <= n; i += GSIZE) {
    i64 v = offset_at(from, kind, from0 + i) + shift;
    if (kind == KIND_TEXT) ((GLOBAL i32 *)out)[at + i] = (i32)v;
    else ((GLOBAL i64 *)out)[at + i] = v;
  }
}

// n indices of a dictionary as those of another, numbers[index] (0 for a null). Moves the indices in and out, and reads numbers.
KERNEL(GROUP) concat_indices(i32 kind, GLOBAL const u8 *from, i64 from0, GLOBAL const u8 *valid, i64 valid0, GLOBAL const u64 *numbers, i32 width,
                             GLOBAL u8 *out, i64 at, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    u64 v = valid_at(valid, valid0 + i) ? numbers[load_word(from, kind, from0 + i)] : 0;
    if (width == 1) out[at + i] = (u8)v;
    else if (width == 2) ((GLOBAL u16 *)out)[at + i] = (u16)v;
    else if (width == 4) ((GLOBAL u32 *)out)[at + i] = (u32)v;
    else ((GLOBAL u64 *)out)[at + i] = v;
  }
}

// Sets used[index] for every index that is not null. All items write the same value.
KERNEL(GROUP) concat_used(i32 kind, GLOBAL const u8 *from, i64 from0, GLOBAL const u8 *valid, i64 valid0, GLOBAL u32 *used, i64 n) {
  for (i64 i = GID; i < n; i += GSIZE) {
    if (valid_at(valid, valid0 + i)) STORE32(&used[load_word(from, kind, from0 + i)], 1u);
  }
}
