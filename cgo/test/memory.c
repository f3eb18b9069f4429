/* The limit of host memory: a call beyond it fails and says so, and later ones go on. */
#include "check.h"

enum { rows = 1 << 18 };

void test_memory(void) {
  static int64_t numbers[rows];
  const char* name = "x";
  const volley_column* c;
  volley_device* cpu;
  volley_table *t, *made;
  volley_query *all, *added;
  volley_expr* twice = parsed("x * 2");
  int64_t held, limit, before, live, again;
  char said[64];
  OK(volley_memory(&before, &limit));
  CHECK(limit == 0 && before >= 0);
  c = wrap("int64", numbers, rows, NULL);
  OK(volley_device_open("cpu", &cpu));
  OK(volley_table_new(cpu, &name, &c, 1, NULL, &t));
  OK(volley_query_table(t, &all));
  OK(volley_query_with_column(all, "y", twice, &added));
  OK(volley_live(&live));
  OK(volley_memory(&held, &limit));
  for (int i = 0; i < 3; i++) {
    OK(volley_set_memory_limit(1 << 20)); /* what is there stays, but half a column more there is no room for */
    FAILS(VOLLEY_OUT_OF_MEMORY, "bytes requested", volley_query_collect(added, NULL, &made));
    CHECK(made == NULL);
    snprintf(said, sizeof said, "in use of a limit of %d", 1 << 20);
    CHECK(strstr(volley_last_error()->message, said) != NULL);
    FAILS(VOLLEY_OUT_OF_MEMORY, "volley_query_describe", volley_query_describe(added, NULL, &made));
    OK(volley_live(&again));
    CHECK(again == live);
    OK(volley_memory(&again, &limit));
    CHECK(limit == 1 << 20 && again <= limit);
    OK(volley_set_memory_limit(1 << 28));
    OK(volley_query_collect(added, NULL, &made));
    OK(volley_memory(&again, &limit));
    CHECK(again >= rows * 8 && again <= limit);
    OK(volley_table_free(made));
    OK(volley_set_memory_limit(0));
  }
  FAILS(VOLLEY_MISMATCH, "-1", volley_set_memory_limit(-1));
  FAILS(VOLLEY_MISMATCH, "out_limit is NULL", volley_memory(&held, NULL));
  OK(volley_query_free(added));
  OK(volley_query_free(all));
  OK(volley_table_free(t));
  OK(volley_column_free((volley_column*)c));
  OK(volley_device_free(cpu));
}
