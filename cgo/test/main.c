/* Tests of libvolley from C: test FOLDER DEVICE..., an empty folder for files and the devices beside the host that are there. Ends with 0 when everything holds and nothing is left alive. */
#include "check.h"

static volley_expr* expressions[256];
static int expression_count;
static volley_column* last_column;

volley_column* wrap(const char* type, const void* data, int64_t length, const uint8_t* validity) {
  volley_array array = {.size = sizeof array, .type = type, .length = length, .values = data, .validity = validity};
  volley_column* c;
  OK(volley_column_wrap(&array, NULL, NULL, &c));
  return c;
}

const void* values(const volley_column* c, const char* type, int64_t length) {
  volley_array view = {.size = sizeof view};
  OK(volley_column_view(c, &view));
  CHECK(strcmp(view.type, type) == 0);
  CHECK(view.length == length);
  return view.values;
}

static volley_expr* keep(volley_expr* e) { return expressions[expression_count++ % 256] = e; }

volley_expr* column(const char* name) {
  volley_expr* e;
  OK(volley_expr_column(name, &e));
  return keep(e);
}

volley_expr* parsed(const char* text) {
  volley_expr* e;
  OK(volley_expr_parse(text, &e));
  return keep(e);
}

void free_expressions(void) {
  for (int i = 0; i < expression_count; i++) OK(volley_expr_free(expressions[i]));
  expression_count = 0;
}

volley_table* sample(void) {
  static const int64_t keys[] = {1, 2, 1, 3}, amounts[] = {10, 20, 30, 0};
  static const uint8_t valid[] = {7};
  static const int32_t offsets[] = {0, 1, 2, 3, 4};
  volley_array texts = {.size = sizeof texts, .type = "utf8", .length = 4, .values = "abcd", .offsets = offsets};
  const volley_column* columns[3];
  const char* names[] = {"key", "amount", "name"};
  volley_column* name;
  volley_device* cpu;
  volley_table* t;
  OK(volley_column_wrap(&texts, NULL, NULL, &name));
  columns[0] = wrap("int64", keys, 4, NULL);
  columns[1] = wrap("int64", amounts, 4, valid);
  columns[2] = name;
  OK(volley_device_open("cpu", &cpu));
  OK(volley_table_new(cpu, names, columns, 3, NULL, &t));
  for (int i = 0; i < 3; i++) OK(volley_column_free((volley_column*)columns[i]));
  OK(volley_device_free(cpu));
  return t;
}

const void* table_values(const volley_table* t, const char* name, const char* type, int64_t length) {
  OK(volley_column_free(last_column));
  OK(volley_table_column(t, name, NULL, &last_column));
  return values(last_column, type, length);
}

int main(int argc, char** argv) {
  int64_t live;
  CHECK(argc >= 2);
  test_library();
  test_columns();
  test_arrow();
  test_addresses();
  test_dlpack();
  test_tables();
  test_guide();
  test_files(argv[1]);
  test_kernels();
  test_loader();
  test_loader_sources(argv[1]);
  test_loader_batches();
  test_loader_columns();
  test_tokens();
  test_bad_input();
  test_threads();
  test_functions(argc - 2, argv + 2);
  test_progress();
  test_python();
  test_python_lists();
  test_memory();
  test_wrong_calls(argc - 2, argv + 2);
  test_comm(argv[1]);
  test_refused(argv[1]);
  test_groups(argv[1]);
  test_gangs();
  test_distributed(argv[1]);
  test_vectors(argv[1], "cpu");
  test_matrices("cpu");
  test_device("cpu");
  test_loader_device("cpu");
  test_loader_batches_device("cpu");
  for (int i = 2; i < argc; i++) {
    test_device(argv[i]);
    test_vectors(argv[1], argv[i]);
    test_matrices(argv[i]);
    test_foreign(argv[i]);
    test_loader_device(argv[i]);
    test_loader_batches_device(argv[i]);
    for (int j = 2; j < argc; j++) test_between(argv[i], argv[j]);
  }
  OK(volley_column_free(last_column));
  free_expressions();
  OK(volley_live(&live));
  CHECK(live == 0);
  test_fork();
  puts("C interface: everything holds");
  return 0;
}
