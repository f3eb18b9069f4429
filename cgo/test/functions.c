/* Functions of the program: on the CPU, on devices, in expressions; their failures; and the progress of calls. */
#include <pthread.h>

#include "check.h"

enum { rows = 100000, many_rows = 1 << 23 };
static double xs[rows], ys[rows];

static int32_t add_scaled(void* context, int64_t n, void* values, const void* const* args, char* message, int64_t message_size) {
  double* out = values;
  const double *x = args[0], *y = args[1];
  for (int64_t i = 0; i < n; i++) out[i] = x[i] + *(double*)context * y[i];
  return message && message_size > 0 ? VOLLEY_OK : VOLLEY_INTERNAL;
}

static int32_t refuses(void* context, int64_t n, void* values, const void* const* args, char* message, int64_t message_size) {
  (void)n, (void)values, (void)args;
  snprintf(message, (size_t)message_size, "it is %s", (const char*)context);
  return 7;
}

static int32_t gives_up(void* context, int64_t n, void* values, const void* const* args, char* message, int64_t message_size) {
  (void)context, (void)n, (void)values, (void)args, (void)message, (void)message_size;
  return VOLLEY_CANCELED;
}

static int32_t ends_token(void* context, int64_t n, void* values, const void* const* args, char* message, int64_t message_size) {
  (void)args, (void)message, (void)message_size;
  memset(values, 0, (size_t)n * 8);
  OK(volley_token_cancel(context));
  return VOLLEY_OK;
}

static void on_device(const char* name) {
  volley_device* d;
  const volley_column* args[2];
  volley_column *sum, *back;
  volley_device* cpu;
  const double* v;
  OK(volley_device_open(name, &d));
  OK(volley_device_open("cpu", &cpu));
  args[0] = wrap("float64", xs, rows, NULL);
  args[1] = wrap("float64", ys, rows, NULL);
  OK(volley_apply(d, "add_scaled", args, 2, NULL, &sum));
  OK(volley_column_to(sum, cpu, NULL, &back));
  v = values(back, "float64", rows);
  for (int i = 0; i < rows; i++) CHECK(v[i] == 3.0 * i);
  OK(volley_column_free(back));
  OK(volley_column_free(sum));
  if (strcmp(name, "cpu") == 0) {
    FAILS(VOLLEY_UNSUPPORTED, "no function for the CPU", volley_apply(d, "halved", args, 1, NULL, &sum));
  } else {
    OK(volley_apply(d, "halved", args, 1, NULL, &sum));
    OK(volley_column_free(sum));
    FAILS(VOLLEY_UNSUPPORTED, "refuses", volley_apply(d, "refuses", args, 1, NULL, &sum));
  }
  OK(volley_column_free((volley_column*)args[0]));
  OK(volley_column_free((volley_column*)args[1]));
  OK(volley_device_free(cpu));
  OK(volley_device_free(d));
}

void test_functions(int count, char** devices) {
  static double twice = 2;
  const char *three[] = {"float64", "float64", "float64"}, *two[] = {"int64", "int64"}, *texts[] = {"utf8", "int64"};
  static const uint8_t valid[] = {0xfe};
  const volley_column* arg;
  volley_column* c;
  volley_table *t = sample(), *made;
  volley_query *q, *selected;
  const volley_expr* item;
  volley_token* token;
  volley_array view = {.size = sizeof view};
  int64_t n, *many;
  for (int i = 0; i < rows; i++) xs[i] = ys[i] = i;
  OK(volley_function_register("add_scaled", three, 3, add_scaled, &twice, "FN f64 add_scaled(f64 x, f64 y) { return x + 2.0 * y; }"));
  OK(volley_function_register("halved", three, 2, NULL, NULL, "FN f64 halved(f64 x) { return x / 2.0; }"));
  OK(volley_function_register("refuses", three, 2, refuses, "out of ink", NULL));
  OK(volley_function_register("gives_up", two, 2, gives_up, NULL, NULL));
  FAILS(VOLLEY_MISMATCH, "registered already", volley_function_register("refuses", three, 2, refuses, NULL, NULL));
  FAILS(VOLLEY_MISMATCH, "Name", volley_function_register("Name", three, 2, refuses, NULL, NULL));
  FAILS(VOLLEY_MISMATCH, "numbers", volley_function_register("text_of", texts, 2, refuses, NULL, NULL));
  FAILS(VOLLEY_MISMATCH, "neither", volley_function_register("nothing", two, 2, NULL, NULL, NULL));
  FAILS(VOLLEY_MISMATCH, "types", volley_function_register("nothing", two, 1, refuses, NULL, NULL));
  on_device("cpu");
  for (int i = 0; i < count; i++) on_device(devices[i]);

  arg = wrap("float64", xs, 8, valid); /* null where the argument is */
  FAILS(VOLLEY_VALUE, "it returned 7: it is out of ink", volley_apply(NULL, "refuses", &arg, 1, NULL, &c));
  FAILS(VOLLEY_MISMATCH, "takes 2 arguments", volley_apply(NULL, "add_scaled", &arg, 1, NULL, &c));
  FAILS(VOLLEY_MISMATCH, "no function", volley_apply(NULL, "unheard_of", &arg, 1, NULL, &c));
  {
    const volley_column* both[] = {arg, arg};
    volley_device* cpu;
    OK(volley_device_open("cpu", &cpu));
    OK(volley_apply(cpu, "add_scaled", both, 2, NULL, &c));
    OK(volley_device_free(cpu));
  }
  OK(volley_column_null_count(c, &n));
  CHECK(n == 1);
  OK(volley_column_view(c, &view));
  CHECK(((const double*)view.values)[7] == 21);
  OK(volley_column_free(c));
  OK(volley_column_free((volley_column*)arg));

  arg = wrap("int64", xs, rows, NULL);
  FAILS(VOLLEY_CANCELED, "gives_up", volley_apply(NULL, "gives_up", &arg, 1, NULL, &c));
  OK(volley_column_free((volley_column*)arg));
  arg = wrap("int64", many = calloc(many_rows, sizeof *many), many_rows, NULL); /* so many that runs are left when the first has ended */
  OK(volley_token_new(0, &token));
  OK(volley_function_register("ends_token", two, 2, ends_token, token, NULL));
  FAILS(VOLLEY_CANCELED, "", volley_apply(NULL, "ends_token", &arg, 1, token, &c));
  OK(volley_token_free(token));
  OK(volley_column_free((volley_column*)arg));
  free(many);

  OK(volley_query_table(t, &q)); /* by its name in an expression, and in a call */
  item = parsed("add_scaled(cast(key as float64), cast(amount as float64)) as sum");
  OK(volley_query_select(q, &item, 1, &selected));
  OK(volley_query_collect(selected, NULL, &made));
  OK(volley_table_free(made));
  OK(volley_query_free(selected));
  OK(volley_query_free(q));
  OK(volley_table_free(t));
  {
    const volley_expr* args[] = {column("x"), column("y")};
    volley_expr* call;
    char* text;
    OK(volley_expr_call("add_scaled", args, 2, &call));
    OK(volley_expr_format(call, &text));
    CHECK(strcmp(text, "add_scaled(x, y)") == 0);
    volley_string_free(text);
    OK(volley_expr_free(call));
  }
}

static int told;
static volley_progress last;

static int32_t notes(void* context, const volley_progress* done) {
  told++;
  last = *done;
  return *(int32_t*)context;
}

void test_progress(void) {
  int32_t stop = 0;
  volley_token* token;
  volley_table *t = sample(), *made;
  volley_query *q, *all;
  OK(volley_query_table(t, &q));
  OK(volley_token_new(0, &token));
  OK(volley_token_progress(token, 1000, notes, &stop));
  OK(volley_query_collect(q, token, &made));
  CHECK(told >= 1 && last.size == sizeof last && last.read == 4 && last.total == 4 && last.made == 4 && last.seconds >= 0);
  OK(volley_table_free(made));
  told = 0;
  OK(volley_token_progress(token, 0, NULL, NULL));
  OK(volley_query_collect(q, token, &made));
  CHECK(told == 0);
  OK(volley_table_free(made));
  FAILS(VOLLEY_MISMATCH, "interval", volley_token_progress(token, 0, notes, &stop));
  OK(volley_query_free(q));
  OK(volley_table_free(t));

  all = endless();
  stop = 1; /* what would take minutes ends when the program wants no more */
  OK(volley_token_progress(token, 10, notes, &stop));
  FAILS(VOLLEY_CANCELED, "volley_query_collect", volley_query_collect(all, token, &made));
  CHECK(told >= 2);
  OK(volley_query_free(all));
  OK(volley_token_free(token));
}
