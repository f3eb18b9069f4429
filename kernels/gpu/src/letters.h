// Letters of texts: code points in UTF-8. A byte that belongs to none is a letter by itself, as in Go's unicode/utf8. Where `bytes` is not 0 each byte is one.

// The bytes of the letter at `at`, of a text of n bytes.
FN i64 letter_at(GLOBAL const u8 *text, i64 at, i64 n, i32 bytes) {
  u32 a = text[at];
  if (bytes || a < 0xC2u || a > 0xF4u) return 1;
  i64 size = a < 0xE0u ? 2 : a < 0xF0u ? 3 : 4;
  if (n - at < size) return 1;
  u32 b = text[at + 1];
  u32 low = a == 0xE0u ? 0xA0u : a == 0xF0u ? 0x90u : 0x80u, high = a == 0xEDu ? 0x9Fu : a == 0xF4u ? 0x8Fu : 0xBFu;
  if (b < low || b > high) return 1;
  for (i64 k = 2; k < size; k++) {
    if ((text[at + k] & 0xC0u) != 0x80u) return 1;
  }
  return size;
}

// Where the letters behind the next k begin, n where there are not as many.
FN i64 letters_on(GLOBAL const u8 *text, i64 at, i64 n, i64 k, i32 bytes) {
  if (bytes) return k < n - at ? at + k : n;
  for (; k > 0 && at < n; k--) at += letter_at(text, at, n, 0);
  return at;
}

// Where the last k letters of n bytes begin; -1 where there are not as many.
FN i64 letters_back(GLOBAL const u8 *text, i64 n, i64 k, i32 bytes) {
  if (bytes) return n < k ? -1 : n - k;
  i64 at = n;
  for (; k > 0; k--) {
    if (at == 0) return -1;
    i64 least = at > 4 ? at - 4 : 0, start = at - 1;
    while (start > least && (text[start] & 0xC0u) == 0x80u) start--;
    at = letter_at(text, start, at, 0) == at - start ? start : at - 1;
  }
  return at;
}
