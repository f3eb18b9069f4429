/* Streams, events, and columns, tables and matrices on a device: the host, or one that the script names. */
#include "check.h"

enum { rows = 1000 };
static int64_t numbers[rows];
static uint8_t odd[rows / 8];

/* A column of the device, brought to the host and looked at. */
static void is_on(const volley_column* c, const char* name) {
  volley_device* d;
  char* text;
  OK(volley_column_device(c, &d));
  OK(volley_device_name(d, &text));
  CHECK(strcmp(text, name) == 0);
  volley_string_free(text);
  OK(volley_device_free(d));
}

static volley_column* near(const volley_column* c) {
  volley_device* cpu;
  volley_column* back;
  OK(volley_device_open("cpu", &cpu));
  OK(volley_column_to(c, cpu, NULL, &back));
  OK(volley_device_free(cpu));
  return back;
}

static void has_odd(const volley_column* c) {
  volley_column* back = near(c);
  const int64_t* v = values(back, "int64", rows / 2);
  for (int i = 0; i < rows / 2; i++) CHECK(v[i] == 2 * i + 1);
  OK(volley_column_free(back));
}

static void test_streams(const char* name, const volley_device* d) {
  volley_column *host = wrap("int64", numbers, rows, NULL), *mask = wrap("bool", odd, rows, NULL), *c, *m, *kept, *order, *again;
  const volley_column* key;
  volley_stream *one, *two;
  volley_event *start, *end;
  volley_device *through, *behind;
  volley_token* token;
  int32_t down = 1;
  int64_t n, live, alive;
  double seconds;
  OK(volley_live(&live));
  OK(volley_stream_new(d, &one));
  OK(volley_stream_new(d, &two));
  OK(volley_event_new(d, &start));
  OK(volley_event_new(d, &end));
  OK(volley_event_done(start, &n));
  CHECK(n == 1); /* never recorded */
  OK(volley_stream_device(one, &through));
  OK(volley_stream_device(two, &behind));
  OK(volley_stream_record(one, start));
  OK(volley_column_to(host, through, NULL, &c));
  OK(volley_column_to(mask, through, NULL, &m));
  is_on(c, name);
  OK(volley_filter(through, c, m, NULL, &kept));
  OK(volley_stream_record(one, end));
  OK(volley_stream_wait_event(two, end));
  key = kept;
  OK(volley_sort(behind, &key, &down, NULL, 1, NULL, &order)); /* on another stream: it waits for what it reads */
  OK(volley_take(behind, kept, order, NULL, &again));
  OK(volley_column_null_count(kept, &n));
  CHECK(n == 0);
  has_odd(kept);
  OK(volley_token_new(0, &token));
  OK(volley_event_wait(end, token));
  OK(volley_stream_wait(two, token));
  OK(volley_token_free(token));
  OK(volley_event_done(end, &n));
  CHECK(n == 1);
  OK(volley_event_elapsed(start, end, &seconds));
  CHECK(seconds >= 0 && seconds < 600);
  OK(volley_stream_wait(one, NULL));
  OK(volley_stream_free(one));
  OK(volley_stream_free(two)); /* the columns are still there */
  OK(volley_device_free(through));
  OK(volley_device_free(behind));
  OK(volley_column_free(order));
  order = near(again);
  CHECK(((const int64_t*)values(order, "int64", rows / 2))[0] == rows - 1);
  OK(volley_event_free(start));
  OK(volley_event_free(end));
  FAILS(VOLLEY_CLOSED, "freed", volley_event_wait(end, NULL));
  OK(volley_column_free(order));
  OK(volley_column_free(again));
  OK(volley_column_free(kept));
  OK(volley_column_free(m));
  OK(volley_column_free(c));
  OK(volley_column_free(mask));
  OK(volley_column_free(host));
  OK(volley_live(&alive));
  CHECK(alive == live - 2); /* what wrap made before the count */
}

static void test_arrays(const char* name, const volley_device* d, int kind) {
  static const int32_t offsets[] = {0, 2, 2, 5};
  static const uint8_t valid[] = {5};
  volley_array texts = {.size = sizeof texts, .type = "utf8", .length = 3, .values = "abcde", .offsets = offsets, .validity = valid};
  volley_import_options full = {.size = sizeof full, .validate = VOLLEY_VALIDATE_FULL};
  struct ArrowDeviceArray array;
  struct ArrowSchema schema;
  struct ArrowArray copy;
  volley_column *host, *c, *back, *window;
  volley_array view = {.size = sizeof view};
  int64_t n;
  OK(volley_column_wrap(&texts, NULL, NULL, &host));
  OK(volley_column_to(host, d, NULL, &c));
  OK(volley_column_slice(c, 1, 2, &window));
  OK(volley_column_export_device(window, &array, &schema));
  CHECK(array.device_type == kind && array.sync_event == NULL && array.array.length == 2 && array.array.n_buffers == 3 && array.array.buffers[1]);
  if (kind != ARROW_DEVICE_CPU) {
    FAILS(VOLLEY_MISMATCH, "export it", volley_column_view(c, &view));
  }
  OK(volley_column_import_device(&array, &schema, &full, NULL, &back));
  CHECK(array.array.release == NULL && schema.release == NULL);
  is_on(back, name);
  OK(volley_column_null_count(back, &n));
  CHECK(n == 1);
  OK(volley_column_free(c));
  OK(volley_column_free(window));
  OK(volley_column_export(back, &copy, NULL)); /* on the host, whatever the device */
  CHECK(memcmp((const char*)copy.buffers[2] + ((const int32_t*)copy.buffers[1])[copy.offset + 1], "cde", 3) == 0);
  copy.release(&copy);
  OK(volley_column_free(back));
  OK(volley_column_free(host));

  OK(volley_column_export_device(host = wrap("int64", numbers, rows, NULL), &array, &schema));
  CHECK(array.device_type == ARROW_DEVICE_CPU);
  array.device_type = 8;
  FAILS(VOLLEY_UNSUPPORTED, "kind 8", volley_column_import_device(&array, &schema, NULL, NULL, &back));
  CHECK(array.array.release == NULL && schema.release == NULL);
  FAILS(VOLLEY_CLOSED, "released", (volley_column_export_device(host, NULL, &schema), volley_column_import_device(&array, &schema, NULL, NULL, &back)));
  OK(volley_column_free(host));
}

static void test_device_tensors(const char* name, const volley_device* d, int kind) {
  static const double data[] = {1, 2, 3, 4};
  int64_t shape[] = {2, 2};
  struct DLManagedTensor own = {.t = {.data = (void*)data, .device_type = 1, .ndim = 2, .code = 2, .bits = 64, .lanes = 1, .shape = shape}}, *plain;
  struct DLManagedTensorVersioned* versioned;
  volley_column *host = wrap("int64", numbers, rows, NULL), *c, *part, *back;
  volley_matrix *a, *there, *product, *squared, *none;
  volley_device *cpu, *found;
  volley_stream* s;
  volley_device* through;
  OK(volley_device_open("cpu", &cpu));
  OK(volley_column_to(host, d, NULL, &c));
  OK(volley_column_slice(c, 10, 20, &part));
  OK(volley_column_to_dlpack(part, &plain));
  CHECK(plain->t.device_type == kind && plain->t.device_id == 0 && plain->t.shape[0] == 20 && plain->t.data);
  OK(volley_column_free(part));
  OK(volley_column_from_dlpack(plain, &back));
  is_on(back, name);
  OK(volley_column_free(c));
  c = near(back);
  CHECK(((const int64_t*)values(c, "int64", 20))[0] == 10);
  OK(volley_column_free(c));
  OK(volley_column_to_dlpack_versioned(back, &versioned));
  CHECK(versioned->t.device_type == kind);
  OK(volley_column_free(back));
  OK(volley_column_from_dlpack_versioned(versioned, &back));
  OK(volley_column_free(back));
  OK(volley_column_free(host));

  OK(volley_matrix_from_dlpack(&own, &a));
  OK(volley_stream_new(d, &s));
  OK(volley_stream_device(s, &through));
  OK(volley_matrix_to(a, through, NULL, &there));
  OK(volley_matrix_multiply(through, there, a, NULL, &product));
  OK(volley_matrix_device(product, &found));
  OK(volley_device_free(found));
  OK(volley_matrix_to_dlpack(product, &plain));
  CHECK(plain->t.device_type == kind && plain->t.ndim == 2);
  OK(volley_matrix_free(product));
  OK(volley_matrix_from_dlpack(plain, &product));
  OK(volley_matrix_multiply(d, product, there, NULL, &squared));
  if (kind != ARROW_DEVICE_CPU) {
    FAILS(VOLLEY_MISMATCH, "volley_matrix_to", volley_matrix_multiply(cpu, product, there, NULL, &none));
  }
  OK(volley_matrix_free(there));
  OK(volley_matrix_to(squared, cpu, NULL, &there));
  OK(volley_matrix_to_dlpack(there, &plain));
  CHECK(plain->t.device_type == 1 && ((double*)plain->t.data)[0] == 37 && ((double*)plain->t.data)[3] == 118);
  plain->deleter(plain);
  OK(volley_stream_free(s));
  OK(volley_device_free(through));
  OK(volley_device_free(cpu));
  OK(volley_matrix_free(there));
  OK(volley_matrix_free(squared));
  OK(volley_matrix_free(product));
  OK(volley_matrix_free(a));
}

static void test_device_tables(const char* name, const volley_device* d, int kind) {
  volley_table *t = sample(), *there, *back, *none;
  struct ArrowDeviceArrayStream stream;
  struct ArrowDeviceArray array;
  struct ArrowSchema schema;
  volley_device* on;
  char* text;
  int64_t n;
  OK(volley_table_to(t, d, NULL, &there));
  OK(volley_table_export_device(there, &stream));
  CHECK(stream.device_type == kind && stream.get_schema(&stream, &schema) == 0 && schema.n_children == 3);
  schema.release(&schema);
  OK(volley_table_import_device(&stream, NULL, NULL, &back));
  CHECK(stream.release == NULL);
  OK(volley_table_rows(back, &n));
  CHECK(n == 4);
  OK(volley_table_device(back, &on));
  OK(volley_device_name(on, &text));
  CHECK(strcmp(text, name) == 0);
  volley_string_free(text);
  OK(volley_device_free(on));
  OK(volley_table_export_device(back, &stream));
  CHECK(stream.get_next(&stream, &array) == 0 && array.device_type == kind && array.array.length == 4);
  array.array.release(&array.array);
  CHECK(stream.get_next(&stream, &array) == 0 && array.array.release == NULL && stream.get_last_error(&stream) == NULL);
  stream.release(&stream);
  FAILS(VOLLEY_CLOSED, "released", volley_table_import_device(&stream, NULL, NULL, &none));
  OK(volley_table_free(back));
  OK(volley_table_free(there));
  OK(volley_table_free(t));
}

void test_device(const char* name) {
  volley_device* d;
  uint64_t context;
  int kind = strncmp(name, "cuda", 4) == 0 ? ARROW_DEVICE_CUDA : strncmp(name, "opencl", 6) == 0 ? ARROW_DEVICE_OPENCL : ARROW_DEVICE_CPU;
  for (int i = 0; i < rows; i++) numbers[i] = i;
  memset(odd, 0xaa, sizeof odd);
  OK(volley_device_open(name, &d));
  if (kind == ARROW_DEVICE_CPU) {
    FAILS(VOLLEY_UNSUPPORTED, "context", volley_device_context(d, &context));
  } else {
    OK(volley_device_context(d, &context));
    CHECK(context != 0);
  }
  test_streams(name, d);
  test_arrays(name, d, kind);
  test_device_tensors(name, d, kind);
  test_device_tables(name, d, kind);
  OK(volley_device_free(d));
}

/* From one device to another: between two drivers by way of the host. */
void test_between(const char* from, const char* to) {
  volley_device *one, *two;
  volley_column *host = wrap("int64", numbers, rows, NULL), *mask = wrap("bool", odd, rows, NULL), *a, *b, *kept, *none;
  volley_matrix *m, *there, *back;
  static const double data[] = {1, 2, 3, 4};
  int64_t shape[] = {2, 2};
  struct DLManagedTensor own = {.t = {.data = (void*)data, .device_type = 1, .ndim = 2, .code = 2, .bits = 64, .lanes = 1, .shape = shape}}, *plain;
  volley_device* cpu;
  OK(volley_device_open("cpu", &cpu));
  OK(volley_device_open(from, &one));
  OK(volley_device_open(to, &two));
  OK(volley_column_to(host, one, NULL, &a));
  OK(volley_column_to(mask, two, NULL, &b));
  if (strcmp(from, to) != 0) FAILS(VOLLEY_MISMATCH, "volley_column_to", volley_filter(two, a, b, NULL, &none));
  OK(volley_column_free(b));
  OK(volley_column_to(a, two, NULL, &b));
  is_on(b, to);
  OK(volley_filter(two, b, mask, NULL, &kept)); /* what is on the host is brought there */
  has_odd(kept);
  OK(volley_matrix_from_dlpack(&own, &m));
  OK(volley_matrix_to(m, one, NULL, &there));
  OK(volley_matrix_free(m));
  OK(volley_matrix_to(there, two, NULL, &m));
  OK(volley_matrix_to(m, cpu, NULL, &back));
  OK(volley_matrix_to_dlpack(back, &plain));
  CHECK(((double*)plain->t.data)[3] == 4);
  plain->deleter(plain);
  OK(volley_matrix_free(back));
  OK(volley_matrix_free(there));
  OK(volley_matrix_free(m));
  OK(volley_column_free(kept));
  OK(volley_column_free(b));
  OK(volley_column_free(a));
  OK(volley_column_free(mask));
  OK(volley_column_free(host));
  OK(volley_device_free(cpu));
  OK(volley_device_free(two));
  OK(volley_device_free(one));
}
