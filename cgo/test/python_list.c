/* Lists of Python's values, read by functions that stand for CPython's. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

typedef struct {
  int64_t references;
  const void* type;
  long long whole; /* as LLONG_MAX + 1 would not be, overflow is set where it is marked */
  int overflow;
  double number;
  const char* text; /* NULL where it has none that is UTF-8 */
} Item;

static const int whole, number, text, other;
static int errors;

static void* get_item(void* list, intptr_t i) { return ((Item**)list)[i]; }
static long long as_whole(void* o, int* overflow) {
  *overflow = ((Item*)o)->overflow;
  return ((Item*)o)->whole;
}
static double as_number(void* o) { return ((Item*)o)->number; }
static const char* as_text(void* o, intptr_t* size) {
  const char* t = ((Item*)o)->text;
  if (!t) errors++;
  *size = t ? (intptr_t)strlen(t) : 0;
  return t;
}
static void clear_error(void) { errors--; }

static void* of(void (*f)(void)) {
  void* p;
  memcpy(&p, &f, sizeof p);
  return p;
}

#define AS(f) of((void (*)(void))(f))

void test_python_lists(void) {
  Item none = {.references = 1}, a = {.type = &whole, .whole = -5}, b = {.type = &whole, .whole = 7}, large = {.type = &whole, .overflow = 1}, half = {.type = &number, .number = 0.5},
       name = {.type = &text, .text = "name"}, empty = {.type = &text, .text = ""}, wrong = {.type = &text}, stranger = {.type = &other};
  const volley_python_values by = {
      .size = sizeof by, .PyList_GetItem = AS(get_item), .PyLong_AsLongLongAndOverflow = AS(as_whole), .PyFloat_AsDouble = AS(as_number), .PyUnicode_AsUTF8AndSize = AS(as_text),
      .PyErr_Clear = AS(clear_error), .none = &none, .type_at = 8,
  };
  Item *wholes[] = {&a, &none, &b, &large}, *numbers[] = {&half, &none, &a}, *texts[] = {&name, &none, &empty, &name, &wrong}, *strange[] = {&stranger};
  void *w = wholes, *n = numbers, *t = texts, *s = strange, *is_whole = (void*)(uintptr_t)&whole, *is_number = (void*)(uintptr_t)&number, *is_text = (void*)(uintptr_t)&text;
  int64_t to[4] = {0}, ends[5] = {0}, nulls, bytes;
  double floats[3] = {0};
  int32_t short_ends[5] = {0};
  uint8_t validity[1] = {0};
  char data[8];
  CHECK(volley_python_numbers(&by, w, 3, is_whole, 0, to, validity, &nulls) == 3);
  CHECK(to[0] == -5 && to[1] == 0 && to[2] == 7 && validity[0] == 5 && nulls == 1);
  CHECK(volley_python_numbers(&by, w, 4, is_whole, 0, to, validity, &nulls) == 3); /* does not fit */
  validity[0] = 0;
  CHECK(volley_python_numbers(&by, n, 2, is_number, 1, floats, validity, &nulls) == 2);
  CHECK(floats[0] == 0.5 && validity[0] == 1 && nulls == 1);
  CHECK(volley_python_numbers(&by, n, 3, is_number, 1, floats, validity, &nulls) == 2); /* another class */
  CHECK(volley_python_numbers(&by, s, 1, is_number, 1, floats, validity, &nulls) == 0);
  CHECK(volley_python_numbers(&by, w, 0, is_whole, 0, to, validity, &nulls) == 0 && nulls == 0);
  CHECK(volley_python_numbers(NULL, w, 1, is_whole, 0, to, validity, &nulls) == -1);
  CHECK(volley_python_numbers(&by, w, 1, is_whole, 0, NULL, validity, &nulls) == -1);

  CHECK(volley_python_texts(&by, t, 4, is_text, 0, NULL, NULL, 0, NULL, &nulls, &bytes) == 4 && bytes == 8 && nulls == 1);
  for (int wide = 0; wide < 2; wide++) {
    validity[0] = 0;
    CHECK(volley_python_texts(&by, t, 4, is_text, wide, wide ? (void*)ends : (void*)short_ends, data, sizeof data, validity, &nulls, &bytes) == 4);
    CHECK(!memcmp(data, "namename", 8) && bytes == 8 && validity[0] == 13 && nulls == 1);
  }
  for (int i = 0; i < 5; i++) CHECK(ends[i] == short_ends[i] && ends[i] == (i == 0 ? 0 : i < 4 ? 4 : 8));
  CHECK(volley_python_texts(&by, t, 5, is_text, 0, NULL, NULL, 0, NULL, &nulls, &bytes) == 4 && errors == 0); /* no UTF-8 */
  CHECK(volley_python_texts(&by, t, 4, is_text, 0, short_ends, data, 7, validity, &nulls, &bytes) == 3);      /* no room */
  CHECK(volley_python_texts(&by, w, 1, is_text, 0, NULL, NULL, 0, NULL, &nulls, &bytes) == 0);
  CHECK(volley_python_texts(&by, t, 1, is_text, 0, short_ends, NULL, 0, validity, &nulls, &bytes) == -1);
}
