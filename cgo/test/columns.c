#include "check.h"

static int released;
static void count_release(void* context) { released += *(int*)context; }

void test_columns(void) {
  static const int32_t data[] = {5, 6, 7, 8};
  static const uint8_t valid[] = {0x0d};
  int step = 1;
  volley_array array = {.size = sizeof array, .type = "int32", .length = 4, .values = data, .validity = valid};
  volley_array view = {.size = sizeof view};
  volley_column *c, *part;
  int64_t n;
  char* type;
  OK(volley_column_wrap(&array, count_release, &step, &c));
  OK(volley_column_length(c, &n));
  CHECK(n == 4);
  OK(volley_column_null_count(c, &n));
  CHECK(n == 1);
  OK(volley_column_type(c, &type));
  CHECK(strcmp(type, "int32") == 0);
  volley_string_free(type);
  OK(volley_column_view(c, &view));
  CHECK(view.values == data && view.validity == valid && view.bit_offset == 0);
  OK(volley_column_slice(c, 1, 2, &part));
  OK(volley_column_free(c));
  CHECK(released == 0); /* the slice has it */
  OK(volley_column_view(part, &view));
  CHECK(view.values == data + 1 && view.length == 2 && view.bit_offset == 1);
  FAILS(VOLLEY_MISMATCH, "rows", volley_column_slice(part, 1, 2, &c));
  OK(volley_column_free(part));
  CHECK(released == 1);
  FAILS(VOLLEY_CLOSED, "freed", volley_column_length(part, &n));

  array.type = "list";
  FAILS(VOLLEY_MISMATCH, "type", volley_column_wrap(&array, count_release, &step, &c));
  CHECK(released == 2); /* an error gives it back too */
  array.type = "int32";
  array.length = -1;
  FAILS(VOLLEY_MISMATCH, "length -1", volley_column_wrap(&array, NULL, NULL, &c));
  array.length = 4;
  array.values = NULL;
  FAILS(VOLLEY_MISMATCH, "NULL", volley_column_wrap(&array, NULL, NULL, &c));
  array.size = 3;
  FAILS(VOLLEY_MISMATCH, "sizeof", volley_column_wrap(&array, NULL, NULL, &c));
  FAILS(VOLLEY_MISMATCH, "NULL", volley_column_wrap(NULL, NULL, NULL, &c));
}

static void export_import(volley_column* c, volley_column** back) {
  struct ArrowArray array;
  struct ArrowSchema schema;
  OK(volley_column_export(c, &array, &schema));
  OK(volley_column_import(&array, &schema, NULL, back));
  CHECK(array.release == NULL && schema.release == NULL);
}

void test_arrow(void) {
  static const double data[] = {1, 2, 3};
  volley_column *c = wrap("float64", data, 3, NULL), *back;
  volley_import_options full = {.size = sizeof full, .validate = VOLLEY_VALIDATE_FULL};
  struct ArrowArray array;
  struct ArrowSchema schema;
  struct ArrowArrayStream stream;
  volley_table *t = sample(), *copy;
  char* name;
  int64_t n, chunks = 0;
  export_import(c, &back);
  CHECK(values(back, "float64", 3) == data); /* nothing was copied */
  OK(volley_column_free(back));

  /* An array lives on when the column that it came from is freed, and its release may be called late. */
  OK(volley_column_export(c, &array, NULL));
  OK(volley_column_free(c));
  CHECK(((const double*)array.buffers[1])[2] == 3 && array.length == 3);
  array.release(&array);
  CHECK(array.release == NULL);

  OK(volley_table_export(t, &stream));
  OK(volley_table_import(NULL, &stream, &full, NULL, &copy));
  CHECK(stream.release == NULL);
  CHECK(table_values(copy, "key", "int64", 4) == table_values(t, "key", "int64", 4));
  OK(volley_table_free(copy));

  OK(volley_table_export(t, &stream));
  CHECK(stream.get_schema(&stream, &schema) == 0);
  CHECK(strcmp(schema.format, "+s") == 0 && schema.n_children == 3 && strcmp(schema.children[2]->name, "name") == 0);
  schema.release(&schema);
  for (;;) {
    CHECK(stream.get_next(&stream, &array) == 0);
    if (!array.release) break;
    chunks++;
    CHECK(array.n_children == 3 && array.length == 4);
    struct ArrowArray child = *array.children[1]; /* moved out, and released after its parent */
    array.children[1]->release = NULL;
    array.release(&array);
    CHECK(((const int64_t*)child.buffers[1])[2] == 30 && child.null_count == 1);
    child.release(&child);
  }
  CHECK(chunks == 1);
  CHECK(stream.get_last_error(&stream) == NULL);
  stream.release(&stream);

  OK(volley_table_schema(t, &schema));
  CHECK(strcmp(schema.children[0]->format, "l") == 0);
  schema.release(&schema);
  OK(volley_table_columns(t, &n));
  CHECK(n == 3);
  OK(volley_table_name(t, 1, &name));
  CHECK(strcmp(name, "amount") == 0);
  volley_string_free(name);
  FAILS(VOLLEY_MISMATCH, "column 3", volley_table_name(t, 3, &name));
  OK(volley_table_type(t, 2, &name));
  CHECK(strcmp(name, "utf8") == 0);
  volley_string_free(name);
  OK(volley_table_free(t));
}

static intptr_t summed;
static void sum_number(void* context) { summed += (intptr_t)context; }
static void forget_array(struct ArrowArray* a) { a->release = NULL; }
static void forget_schema(struct ArrowSchema* s) { s->release = NULL; }

/* A context is any word, and the buffers of an array of no rows may be anywhere: Rust's and NumPy's empty ones are at small numbers. */
void test_addresses(void) {
  static const int64_t data[] = {1, 2};
  static const char* const formats[] = {"l", "b", "g", "u", "U", "z", "vu", "+l", "+L"};
  const void* buffers[] = {(void*)1, (void*)8, (void*)1, (void*)64};
  volley_array two = {.size = sizeof two, .type = "int64", .length = 2, .values = data};
  volley_column* c;
  int64_t n;
  OK(volley_column_wrap(&two, sum_number, (void*)(intptr_t)7, &c));
  OK(volley_column_free(c));
  two.length = 0;
  two.values = (void*)8;
  OK(volley_column_wrap(&two, sum_number, (void*)(intptr_t)5, &c));
  OK(volley_column_free(c));
  CHECK(summed == 12);
  two.length = 2;
  FAILS(VOLLEY_MISMATCH, "at 0x8", volley_column_wrap(&two, NULL, NULL, &c));
  for (int i = 0; i < (int)COUNT(formats); i++) {
    for (int rows = 0; rows <= 2; rows += 2) {
      int list = formats[i][0] == '+', view = formats[i][0] == 'v', text = strchr("uUz", formats[i][0]) != NULL;
      struct ArrowArray item = {.n_buffers = 2, .buffers = buffers, .release = forget_array}, *items = &item;
      struct ArrowSchema of = {.format = "l", .name = "item", .flags = 2, .release = forget_schema}, *fields = &of;
      struct ArrowArray a = {.length = rows, .n_buffers = view || text ? 3 : 2, .buffers = buffers, .n_children = list, .children = &items, .release = forget_array};
      struct ArrowSchema s = {.format = formats[i], .name = "", .flags = 2, .n_children = list, .children = &fields, .release = forget_schema};
      if (rows > 0) {
        a.null_count = 0;
        FAILS(VOLLEY_MISMATCH, view ? "NULL" : "at 0x8", volley_column_import(&a, &s, NULL, &c));
        continue;
      }
      OK(volley_column_import(&a, &s, NULL, &c));
      OK(volley_column_length(c, &n));
      CHECK(n == 0);
      OK(volley_column_free(c));
    }
  }
}

static int deleted;
static void count_deletion(struct DLManagedTensor* t) { deleted += t != NULL; }

void test_dlpack(void) {
  static const float data[] = {1, 2, 3, 4, 5, 6};
  volley_column *c = wrap("float32", data, 6, NULL), *back;
  volley_matrix *a, *product;
  struct DLManagedTensor *plain, own = {.deleter = count_deletion};
  struct DLManagedTensorVersioned* versioned;
  int64_t shape[] = {2, 3}, by_column[] = {1, 2}, rows, columns;
  volley_table* t;
  char* type;
  OK(volley_column_to_dlpack(c, &plain));
  CHECK((const float*)((char*)plain->t.data + plain->t.byte_offset) == data && plain->t.shape[0] == 6 && plain->t.code == 2 && plain->t.bits == 32);
  OK(volley_column_from_dlpack(plain, &back));
  CHECK(values(back, "float32", 6) == data);
  OK(volley_column_free(back));
  OK(volley_column_to_dlpack_versioned(c, &versioned));
  CHECK(versioned->major == 1 && versioned->flags == 1);
  OK(volley_column_from_dlpack_versioned(versioned, &back));
  CHECK(values(back, "float32", 6) == data);
  OK(volley_column_free(back));
  OK(volley_column_free(c));

  own.t = (Tensor){.data = (void*)data, .device_type = 1, .ndim = 2, .code = 2, .bits = 32, .lanes = 1, .shape = shape};
  FAILS(VOLLEY_MISMATCH, "dimensions", volley_column_from_dlpack(&own, &back));
  CHECK(deleted == 1);
  own.t.device_type = 8;
  FAILS(VOLLEY_UNSUPPORTED, "device", volley_matrix_from_dlpack(&own, &a));
  own.t.device_type = 1;
  OK(volley_matrix_from_dlpack(&own, &a));
  OK(volley_matrix_shape(a, &rows, &columns));
  CHECK(rows == 2 && columns == 3);
  OK(volley_matrix_type(a, &type));
  CHECK(strcmp(type, "float32") == 0);
  volley_string_free(type);
  FAILS(VOLLEY_MISMATCH, "2 x 3", volley_matrix_multiply(NULL, a, a, NULL, &product));
  OK(volley_matrix_to_dlpack(a, &plain));
  CHECK(plain->t.data == data); /* nothing was copied */
  OK(volley_matrix_free(a));
  CHECK(deleted == 2);
  plain->deleter(plain);
  CHECK(deleted == 3);

  shape[0] = shape[1] = 2;
  own.t.strides = by_column; /* (1 3; 2 4): copied */
  OK(volley_matrix_from_dlpack(&own, &a));
  OK(volley_matrix_multiply(NULL, a, a, NULL, &product));
  OK(volley_matrix_to_dlpack_versioned(product, &versioned));
  CHECK(((float*)versioned->t.data)[0] == 7 && ((float*)versioned->t.data)[1] == 15 && ((float*)versioned->t.data)[3] == 22);
  OK(volley_matrix_free(product));
  OK(volley_matrix_from_dlpack_versioned(versioned, &product));
  OK(volley_matrix_free(product));
  OK(volley_matrix_free(a));
  CHECK(deleted == 4);

  t = sample();
  OK(volley_table_column(t, "amount", NULL, &c));
  FAILS(VOLLEY_UNSUPPORTED, "nulls", volley_column_to_dlpack(c, &plain));
  OK(volley_column_free(c));
  OK(volley_table_free(t));
  FAILS(VOLLEY_MISMATCH, "NULL", volley_column_from_dlpack(NULL, &c));
}
