/* What is wrong with arguments is an error that names it, and what was moved is released once. */
#include "check.h"

static int arrays, schemas, streams;
static void release_array(struct ArrowArray* a) { arrays++, a->release = NULL; }
static void release_schema(struct ArrowSchema* s) { schemas++, s->release = NULL; }
static void release_stream(struct ArrowArrayStream* s) { streams++, s->release = NULL; }

static int64_t numbers[] = {1, 2, 3};
static int32_t offsets[] = {0, 2, 1, 3};
static const void* two_buffers[] = {NULL, numbers};
static const void* no_values[] = {NULL, NULL};
static const void* text_buffers[] = {NULL, offsets, "abc"};

static struct ArrowArray array_of(int64_t length, int64_t n_buffers, const void** buffers) {
  struct ArrowArray a = {.length = length, .n_buffers = n_buffers, .buffers = buffers, .release = release_array};
  return a;
}

static struct ArrowSchema schema_of(const char* format) {
  struct ArrowSchema s = {.format = format, .name = "", .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
  return s;
}

static void refused(int32_t status, const char* text, struct ArrowArray a, const char* format, int64_t validate) {
  struct ArrowSchema s = schema_of(format);
  volley_import_options options = {.size = sizeof options, .validate = validate};
  volley_column* c;
  arrays = schemas = 0;
  FAILS(status, text, volley_column_import(&a, &s, &options, &c));
  CHECK(c == NULL && arrays == 1 && schemas == 1 && a.release == NULL && s.release == NULL);
}

static int fails(struct ArrowArrayStream* s, struct ArrowSchema* out) { return s && out ? 22 : 0; }
static int never(struct ArrowArrayStream* s, struct ArrowArray* out) { return s && out ? 5 : 0; }
static const char* reason(struct ArrowArrayStream* s) { return s ? "out of ink" : NULL; }

void test_bad_input(void) {
  struct ArrowArray a = array_of(3, 2, two_buffers), none = {0};
  struct ArrowSchema s = schema_of("l");
  struct ArrowArrayStream stream = {.get_schema = fails, .get_next = never, .get_last_error = reason, .release = release_stream}, empty = {0};
  volley_column* c;
  volley_table* t;
  volley_query* q;
  int64_t n;
  const char* bad = "\xff\xfe";
  volley_expr* e;
  volley_csv_options future;

  OK(volley_column_import(&a, &s, NULL, &c)); /* the good case: released when the column is */
  CHECK(arrays == 0 && schemas == 1);
  OK(volley_column_free(c));
  CHECK(arrays == 1);
  FAILS(VOLLEY_CLOSED, "released", volley_column_import(&a, &s, NULL, &c));

  refused(VOLLEY_MISMATCH, "length -1", array_of(-1, 2, two_buffers), "l", 0);
  refused(VOLLEY_MISMATCH, "3 buffers", array_of(3, 3, text_buffers), "l", 0);
  refused(VOLLEY_MISMATCH, "NULL", array_of(3, 2, NULL), "l", 0);
  refused(VOLLEY_MISMATCH, "NULL", array_of(3, 2, no_values), "l", 0);
  refused(VOLLEY_MISMATCH, "format", array_of(3, 2, two_buffers), NULL, 0);
  refused(VOLLEY_MISMATCH, "schema", array_of(3, 2, two_buffers), "?", 0);
  refused(VOLLEY_MISMATCH, "child", array_of(3, 1, two_buffers), "+l", 0);
  refused(VOLLEY_UNSUPPORTED, "interval", array_of(3, 2, two_buffers), "tiM", 0);
  refused(VOLLEY_MISMATCH, "offset 1 after 2", array_of(3, 3, text_buffers), "u", VOLLEY_VALIDATE_FULL);
  refused(VOLLEY_MISMATCH, "level", array_of(3, 2, two_buffers), "l", 9);
  a = array_of(3, 2, two_buffers);
  a.offset = INT64_MAX;
  refused(VOLLEY_MISMATCH, "offset", a, "l", 0);
  a.offset = 0;
  a.null_count = 4;
  refused(VOLLEY_MISMATCH, "4 nulls", a, "l", 0);

  FAILS(VOLLEY_MISMATCH, "array is NULL", (s = schema_of("l"), volley_column_import(NULL, &s, NULL, &c)));
  FAILS(VOLLEY_CLOSED, "released", volley_column_import(&none, &s, NULL, &c));
  FAILS(VOLLEY_MISMATCH, "out of ink", volley_table_import(NULL, &stream, NULL, NULL, &t));
  CHECK(streams == 1 && stream.release == NULL);
  FAILS(VOLLEY_CLOSED, "released", volley_table_import(NULL, &empty, NULL, NULL, &t));

  FAILS(VOLLEY_MISMATCH, "out is NULL", volley_table_rows(NULL, NULL));
  FAILS(VOLLEY_MISMATCH, "table is NULL", volley_table_rows(NULL, &n));
  FAILS(VOLLEY_CLOSED, "freed", volley_table_rows((volley_table*)(uintptr_t)12345, &n));
  FAILS(VOLLEY_MISMATCH, "is a column", (c = wrap("int64", numbers, 3, NULL), volley_table_rows((volley_table*)c, &n)));
  OK(volley_column_free(c));
  FAILS(VOLLEY_CLOSED, "freed", volley_column_free(c));
  OK(volley_column_free(NULL));
  FAILS(VOLLEY_MISMATCH, "UTF-8", volley_expr_parse(bad, &e));
  FAILS(VOLLEY_MISMATCH, "UTF-8", volley_scan_csv(&bad, 1, NULL, &q));
  FAILS(VOLLEY_MISMATCH, "count", volley_scan_csv(&bad, -1, NULL, &q));
  FAILS(VOLLEY_MISMATCH, "paths is NULL", volley_scan_csv(NULL, 1, NULL, &q));
  memset(&future, 0, sizeof future);
  FAILS(VOLLEY_MISMATCH, "sizeof", (bad = "x.csv", volley_scan_csv(&bad, 1, &future, &q)));
}
