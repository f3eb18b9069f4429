// Keys as words: how a value becomes bits that are equal exactly where the keys are, and how words are hashed.

// The kinds of values that keys are read from: keyKind in keys.go.
#define KEY_BIT 0   // one bit
#define KEY_8 1     // the bits of 1, 2, 4 or 8 bytes
#define KEY_16 2
#define KEY_32 3
#define KEY_64 4
#define KEY_F32 5   // floats: one NaN, no -0
#define KEY_F64 6
#define KEY_LOW 7   // the halves of 16 bytes
#define KEY_HIGH 8
#define KEY_NONE 9  // nothing but a null

#define NO_SLOT U64_MAX
#define EMPTY U64_MAX

FN u64 key_f64(u64 v) {
  if ((v & ~((u64)1 << 63)) > (u64)0x7ff0000000000000) return (u64)0x7ff8000000000000;
  return (v << 1) == 0 ? 0 : v;
}

FN u64 key_f32(u32 v) {
  if ((v & 0x7fffffffu) > 0x7f800000u) return 0x7fc00000u;
  return (v << 1) == 0 ? 0 : v;
}

// The bits of value i of a buffer. kind is the same for all items, so that the switch costs no divergence.
FN u64 key_load(GLOBAL const u8 *values, i64 i, i32 kind) {
  switch (kind) {
  case KEY_BIT: return bit_at(values, i);
  case KEY_8: return values[i];
  case KEY_16: return ((GLOBAL const u16 *)values)[i];
  case KEY_32: return ((GLOBAL const u32 *)values)[i];
  case KEY_64: return ((GLOBAL const u64 *)values)[i];
  case KEY_F32: return key_f32(((GLOBAL const u32 *)values)[i]);
  case KEY_F64: return key_f64(((GLOBAL const u64 *)values)[i]);
  case KEY_LOW: return ((GLOBAL const u64 *)values)[2 * i];
  case KEY_HIGH: return ((GLOBAL const u64 *)values)[2 * i + 1];
  }
  return 0;
}

// Mixes all bits of a word into all others: the finalizer of MurmurHash3 (Austin Appleby).
FN u64 key_mix(u64 x) {
  x ^= x >> 33;
  x *= (u64)0xff51afd7ed558ccd;
  x ^= x >> 33;
  x *= (u64)0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

// Up to eight bytes of a text, zeros behind its end. Its loads do not wait for one another.
FN u64 text_word(GLOBAL const u8 *p, i64 n) {
  u64 w = 0;
  for (int k = 0; k < 8 && k < n; k++) w |= (u64)p[k] << (8 * k);
  return w;
}

// Row numbers or slots of 4 or 8 bytes. All ones are no slot.
FN void slot_store(GLOBAL u8 *out, i64 i, i32 wide, u64 slot) {
  if (wide) ((GLOBAL u64 *)out)[i] = slot;
  else ((GLOBAL u32 *)out)[i] = (u32)slot;
}

FN u64 slot_load(GLOBAL const u8 *in, i64 i, i32 wide) {
  if (wide) return ((GLOBAL const u64 *)in)[i];
  u32 slot = ((GLOBAL const u32 *)in)[i];
  return slot == 0xffffffffu ? NO_SLOT : (u64)slot;
}
