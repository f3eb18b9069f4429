/* The sample in C of docs/guide/c.md, word for word, and what it prints. */
#include "check.h"

int late_flights(FILE* out);

int late_flights(FILE* out) {
  static const int64_t delays[] = {30, 5, 45};
  volley_array values = {.size = sizeof values, .type = "int64", .length = 3, .values = delays};
  const char* name = "delay";
  volley_device* cpu = NULL;
  volley_column* delay = NULL;
  volley_table* flights = NULL;
  volley_table* late = NULL;
  volley_query* all = NULL;
  volley_query* filtered = NULL;
  volley_expr* condition = NULL;
  int64_t rows = 0;

  int32_t status = volley_device_open("cpu", &cpu);
  if (status == VOLLEY_OK) status = volley_column_wrap(&values, NULL, NULL, &delay);
  if (status == VOLLEY_OK) status = volley_table_new(cpu, &name, (const volley_column* const*)&delay, 1, NULL, &flights);
  if (status == VOLLEY_OK) status = volley_query_table(flights, &all);
  if (status == VOLLEY_OK) status = volley_expr_parse("delay > 15", &condition);
  if (status == VOLLEY_OK) status = volley_query_filter(all, condition, &filtered);
  if (status == VOLLEY_OK) status = volley_query_collect(filtered, NULL, &late);
  if (status == VOLLEY_OK) status = volley_table_rows(late, &rows);
  if (status == VOLLEY_OK) {
    fprintf(out, "%lld of 3 flights are late\n", (long long)rows);
  } else {
    fprintf(out, "%s\n", volley_last_error()->message);
  }
  volley_table_free(late);
  volley_query_free(filtered);
  volley_expr_free(condition);
  volley_query_free(all);
  volley_table_free(flights);
  volley_column_free(delay);
  volley_device_free(cpu);
  return status == VOLLEY_OK ? 0 : 1;
}

void test_guide(void) {
  char printed[64] = "";
  FILE* out = tmpfile();
  CHECK(out != NULL);
  CHECK(late_flights(out) == 0);
  rewind(out);
  CHECK(fgets(printed, sizeof printed, out) != NULL);
  CHECK(strcmp(printed, "2 of 3 flights are late\n") == 0);
  CHECK(fgets(printed, sizeof printed, out) == NULL);
  fclose(out);
}
