#include "check.h"

static volley_table* collect(volley_query* q) {
  volley_table* t;
  OK(volley_query_collect(q, NULL, &t));
  OK(volley_query_free(q));
  return t;
}

static int64_t rows_of(volley_table* t) {
  int64_t n;
  OK(volley_table_rows(t, &n));
  OK(volley_table_free(t));
  return n;
}

/* The operation in, with its values as columns. */
static void in_lists(const volley_expr* value) {
  int64_t numbers[] = {3, -7}, other[] = {0};
  uint8_t none[] = {0};
  const volley_column* lists[] = {wrap("int64", numbers, 2, NULL), wrap("int64", other, 1, none), NULL};
  volley_expr* e;
  char* text;
  OK(volley_expr_in(value, lists, 2, &e));
  OK(volley_expr_format(e, &text));
  CHECK(strcmp(text, "is_in(amount, 3, -7, null)") == 0);
  volley_string_free(text);
  OK(volley_expr_free(e));
  FAILS(VOLLEY_MISMATCH, "lists[2] is NULL", volley_expr_in(value, lists, 3, &e));
  FAILS(VOLLEY_MISMATCH, "at least", volley_expr_in(value, lists, 0, &e));
  OK(volley_column_free((volley_column*)lists[0]));
  OK(volley_column_free((volley_column*)lists[1]));
}

static void test_expressions(void) {
  volley_expr *parts[6], *e, *cast, *named;
  const volley_expr* args[3];
  char* text;
  OK(volley_expr_null(&parts[0]));
  OK(volley_expr_bool(1, &parts[1]));
  OK(volley_expr_int64(-7, &parts[2]));
  OK(volley_expr_uint64(UINT64_MAX, &parts[3]));
  OK(volley_expr_float64(0.5, &parts[4]));
  OK(volley_expr_text("it's", &parts[5]));
  args[0] = column("amount");
  args[1] = parts[2];
  args[2] = parts[4];
  OK(volley_expr_call("between", args, 3, &e));
  OK(volley_expr_format(e, &text));
  CHECK(strcmp(text, "amount >= -7 and amount <= 0.5") == 0);
  volley_string_free(text);
  OK(volley_expr_free(e));
  FAILS(VOLLEY_MISMATCH, "two operands", volley_expr_call("add", args, 3, &e));
  in_lists(args[0]);
  FAILS(VOLLEY_UNSUPPORTED, "frobnicate", volley_expr_call("frobnicate", args, 3, &e));
  OK(volley_expr_cast(args[0], "timestamp[us, tz=UTC]", &cast));
  FAILS(VOLLEY_MISMATCH, "lint8", volley_expr_cast(args[0], "lint8", &e));
  OK(volley_expr_alias(cast, "at", &named));
  OK(volley_expr_format(named, &text));
  CHECK(strcmp(text, "cast(amount as timestamp[us, tz=UTC]) as at") == 0);
  volley_string_free(text);
  OK(volley_expr_free(named));
  OK(volley_expr_free(cast));
  FAILS(VOLLEY_MISMATCH, "column 4", volley_expr_parse("1 +", &e));
  for (int i = 0; i < 6; i++) OK(volley_expr_free(parts[i]));
}

/* Letters are Unicode's and count from 1; without a length all the others are given. */
static void test_substring(void) {
  static const int32_t offsets[] = {0, 8, 10, 10};
  volley_array texts = {.size = sizeof texts, .type = "utf8", .length = 3, .values = "m\xc3\xbcnsterab", .offsets = offsets};
  const char* name = "city";
  volley_device* cpu;
  volley_column *cities, *parts;
  volley_table *t, *found;
  volley_query *all, *q;
  volley_expr *from, *length, *part, *rest, *unnamed;
  volley_array view = {.size = sizeof view};
  char* text;
  OK(volley_device_open("cpu", &cpu));
  OK(volley_column_wrap(&texts, NULL, NULL, &cities));
  OK(volley_table_new(cpu, &name, (const volley_column* const*)&cities, 1, NULL, &t));
  OK(volley_query_table(t, &all));
  OK(volley_expr_int64(2, &from));
  OK(volley_expr_int64(2, &length));
  {
    const volley_expr* args[] = {column(name), from, length};
    OK(volley_expr_call("substring", args, 3, &part));
    OK(volley_expr_call("substring", args, 2, &rest));
    FAILS(VOLLEY_MISMATCH, "two operands or three", volley_expr_call("substring", args, 1, &unnamed));
  }
  OK(volley_expr_format(part, &text));
  CHECK(strcmp(text, "substring(city, 2, 2)") == 0);
  volley_string_free(text);
  {
    const char* names[] = {"part", "rest"};
    const volley_expr* items[] = {part, rest};
    OK(volley_query_with_columns(all, names, items, 2, &q));
  }
  found = collect(q);
  OK(volley_table_column(found, "part", NULL, &parts));
  OK(volley_column_view(parts, &view));
  CHECK(view.length == 3 && view.offsets != NULL);
  CHECK(memcmp(view.offsets, (const int32_t[]){0, 3, 4, 4}, 4 * sizeof(int32_t)) == 0 && memcmp(view.values, "\xc3\xbcnb", 4) == 0);
  OK(volley_column_free(parts));
  OK(volley_table_column(found, "rest", NULL, &parts));
  OK(volley_column_view(parts, &view));
  CHECK(memcmp(view.offsets, (const int32_t[]){0, 7, 8, 8}, 4 * sizeof(int32_t)) == 0 && memcmp(view.values, "\xc3\xbcnsterb", 8) == 0);
  OK(volley_column_free(parts));
  OK(volley_table_free(found));
  OK(volley_expr_free(part));
  OK(volley_expr_free(rest));
  OK(volley_expr_free(from));
  OK(volley_expr_free(length));
  OK(volley_query_free(all));
  OK(volley_table_free(t));
  OK(volley_column_free(cities));
  OK(volley_device_free(cpu));
}

static void test_operators(volley_query* all) {
  volley_query *q, *next;
  volley_table* t;
  const volley_expr* items[2];
  const char* names[] = {"name"};
  char* text;
  volley_aggregate aggregates[] = {{.op = "count"}, {.op = "sum", .input = column("amount"), .name = "total"}};
  volley_group_options drop = {.size = sizeof drop, .drop_null_keys = 1};
  volley_order down = {.key = column("key"), .descending = 1};
  const char* keys[] = {"key"};
  volley_join_options joining = {.size = sizeof joining, .suffix = "_2"};

  OK(volley_query_filter(all, parsed("amount > 15"), &q));
  OK(volley_query_explain(q, NULL, &text));
  CHECK(strstr(text, "amount > 15") != NULL && strstr(text, "\npipelines:\n  1  workers  table of 4 rows in 1 chunks -> filter -> result\n") != NULL);
  volley_string_free(text);
  t = collect(q);
  CHECK(((const int64_t*)table_values(t, "key", "int64", 2))[1] == 1);
  OK(volley_table_free(t));

  {
    const char* both[] = {"key", "amount"};
    const char* swapped[] = {"amount", "key"};
    const char* twice[] = {"key", "key"};
    const char* own[] = {"twice", NULL};
    items[0] = parsed("key * 2");
    items[1] = parsed("key + 1 as next");
    OK(volley_query_with_columns(all, own, items, 2, &q));
    OK(volley_query_rename_columns(q, both, swapped, 2, &next));
    OK(volley_query_free(q));
    t = collect(next);
    CHECK(((const int64_t*)table_values(t, "twice", "int64", 4))[3] == 6);
    CHECK(((const int64_t*)table_values(t, "next", "int64", 4))[3] == 4);
    CHECK(((const int64_t*)table_values(t, "amount", "int64", 4))[3] == 3);
    OK(volley_table_free(t));
    FAILS(VOLLEY_MISMATCH, "renamed twice", volley_query_rename_columns(all, twice, swapped, 2, &next));
  }

  items[0] = parsed("key * 2 as twice");
  items[1] = column("name");
  OK(volley_query_select(all, items, 2, &q));
  OK(volley_query_rename(q, "twice", "doubled", &next));
  OK(volley_query_free(q));
  OK(volley_query_with_column(next, "more", parsed("doubled + 1"), &q));
  OK(volley_query_free(next));
  OK(volley_query_drop(q, names, 1, &next));
  OK(volley_query_free(q));
  t = collect(next);
  CHECK(((const int64_t*)table_values(t, "more", "int64", 4))[3] == 7);
  OK(volley_table_free(t));

  items[0] = column("key");
  OK(volley_query_group_by(all, items, 1, aggregates, 2, &drop, &q));
  t = collect(q);
  CHECK(((const int64_t*)table_values(t, "count", "int64", 3))[0] == 2);
  CHECK(((const int64_t*)table_values(t, "total", "int64", 3))[0] == 40);
  OK(volley_table_free(t));

  OK(volley_query_sort(all, &down, 1, &q));
  t = collect(q);
  CHECK(((const int64_t*)table_values(t, "key", "int64", 4))[0] == 3);
  OK(volley_table_free(t));
  OK(volley_query_top_k(all, 1, &down, 1, &q));
  CHECK(rows_of(collect(q)) == 1);
  OK(volley_query_slice(all, 1, 2, &q));
  CHECK(rows_of(collect(q)) == 2);
  OK(volley_query_distinct(all, keys, 1, &q));
  CHECK(rows_of(collect(q)) == 3);
  OK(volley_query_union(all, (const volley_query* const*)&all, 1, &q));
  CHECK(rows_of(collect(q)) == 8);
  OK(volley_query_join(all, all, "inner", keys, keys, 1, &joining, &q));
  t = collect(q);
  table_values(t, "name_2", "utf8", 6);
  OK(volley_table_free(t));
  {
    volley_join_options where = {sizeof where, 0, 0, "_2", parsed("name = 'b' and name_2 = 'b'")};
    volley_query* least;
    volley_aggregate total = {.op = "count"};
    OK(volley_query_join(all, all, "semi", keys, keys, 1, &where, &q));
    CHECK(rows_of(collect(q)) == 1);
    OK(volley_query_join(all, all, "anti", keys, keys, 1, &where, &q));
    CHECK(rows_of(collect(q)) == 3);
    FAILS(VOLLEY_UNSUPPORTED, "Where", volley_query_join(all, all, "right", keys, keys, 1, &where, &q));
    where.where = (const volley_expr*)(uintptr_t)12345;
    FAILS(VOLLEY_CLOSED, "options.where", volley_query_join(all, all, "semi", keys, keys, 1, &where, &q));
    OK(volley_query_group_by(all, NULL, 0, &total, 1, NULL, &least));
    OK(volley_query_with_scalar(all, "sum", least, &q));
    t = collect(q);
    CHECK(((const int64_t*)table_values(t, "sum", "int64", 4))[3] == 4);
    OK(volley_table_free(t));
    OK(volley_query_with_scalar(all, "two", least, &next));
    OK(volley_query_free(least));
    OK(volley_query_free(next));
    items[0] = column("key");
    OK(volley_query_select(all, items, 1, &least));
    OK(volley_query_with_scalar(all, "key", least, &q));
    OK(volley_query_free(least));
    FAILS(VOLLEY_VALUE, "scalar \"key\": ", volley_query_collect(q, NULL, &t));
    OK(volley_query_free(q));
    {
      volley_expr* pattern;
      volley_expr* like;
      const volley_expr* args[2];
      OK(volley_expr_text("%b%", &pattern));
      args[0] = column("name");
      args[1] = pattern;
      OK(volley_expr_call("like", args, 2, &like));
      OK(volley_query_filter(all, like, &q));
      OK(volley_expr_free(pattern));
      OK(volley_expr_free(like));
      CHECK(rows_of(collect(q)) == 1);
    }
  }
  FAILS(VOLLEY_MISMATCH, "sideways", volley_query_join(all, all, "sideways", keys, keys, 1, NULL, &q));
  OK(volley_query_describe(all, NULL, &t));
  CHECK(rows_of(t) > 3);

  OK(volley_query_filter(all, parsed("keys = 1"), &q));
  FAILS(VOLLEY_MISMATCH, "key", volley_query_collect(q, NULL, &t));
  OK(volley_query_free(q));
}

static void test_streams(volley_query* all) {
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray array;
  volley_query* q;
  int64_t rows = 0;
  OK(volley_query_stream(all, NULL, &stream));
  CHECK(stream.get_schema(&stream, &schema) == 0);
  schema.release(&schema);
  while (stream.get_next(&stream, &array) == 0 && array.release) {
    rows += array.length;
    array.release(&array);
  }
  CHECK(rows == 4);
  stream.release(&stream);

  OK(volley_query_filter(all, parsed("key > 100"), &q)); /* a stream without rows has a schema */
  OK(volley_query_stream(q, NULL, &stream));
  CHECK(stream.get_schema(&stream, &schema) == 0 && schema.n_children == 3);
  schema.release(&schema);
  CHECK(stream.get_next(&stream, &array) == 0 && array.release == NULL);
  stream.release(&stream);
  OK(volley_query_free(q));

  OK(volley_query_stream(all, NULL, &stream)); /* left before its end */
  stream.release(&stream);
}

/* Parts of a table without a copy, and tables put together. */
static void test_slices(const volley_table* t) {
  volley_table *part, *both;
  const volley_table* all[] = {t, t};
  OK(volley_table_slice(t, 1, 2, &part));
  all[1] = part;
  OK(volley_table_concat(all, 2, NULL, &both));
  OK(volley_table_free(part));
  CHECK(rows_of(both) == 6);
  OK(volley_table_slice(t, -3, INT64_MAX, &part));
  CHECK(rows_of(part) == 3);
  OK(volley_table_slice(t, -6, 4, &part)); /* two of them would lie before the first row */
  CHECK(rows_of(part) == 2);
  OK(volley_table_slice(t, 9, 1, &part));
  CHECK(rows_of(part) == 0);
  FAILS(VOLLEY_MISMATCH, "-1 rows", volley_table_slice(t, 0, -1, &part));
  FAILS(VOLLEY_MISMATCH, "no table", volley_table_concat(all, 0, NULL, &both));
}

static void test_partitions(volley_table* t) {
  const char* const keys[] = {"key"};
  volley_order by = {column("key"), 0, 0};
  volley_table *parts[3], *bounds;
  volley_query *all, *q;
  int64_t n, sum = 0;
  OK(volley_table_partition(t, keys, 1, 3, NULL, parts));
  for (int i = 0; i < 3; i++) {
    OK(volley_table_rows(parts[i], &n));
    sum += n;
    OK(volley_table_free(parts[i]));
  }
  CHECK(sum == 4);
  OK(volley_table_partition_round_robin(t, 3, NULL, parts));
  for (int i = 0; i < 3; i++) {
    OK(volley_table_rows(parts[i], &n));
    CHECK(n == (i == 0 ? 2 : 1));
    OK(volley_table_free(parts[i]));
  }
  OK(volley_query_table(t, &all));
  volley_expr* key = column("key");
  OK(volley_query_select(all, (const volley_expr* const*)&key, 1, &q));
  OK(volley_query_free(all));
  OK(volley_query_sort(q, &by, 1, &all));
  OK(volley_query_free(q));
  OK(volley_query_slice(all, 2, 2, &q));
  OK(volley_query_free(all));
  bounds = collect(q);
  OK(volley_table_partition_range(t, bounds, &by, 1, 3, NULL, parts));
  sum = 0;
  for (int i = 0; i < 3; i++) {
    OK(volley_table_rows(parts[i], &n));
    sum += n;
    OK(volley_table_free(parts[i]));
  }
  CHECK(sum == 4);
  FAILS(VOLLEY_MISMATCH, "2 bounds for 2 parts", volley_table_partition_range(t, bounds, &by, 1, 2, NULL, parts));
  FAILS(VOLLEY_MISMATCH, "0 parts", volley_table_partition(t, keys, 1, 0, NULL, parts));
  CHECK(parts[0] == NULL);
  OK(volley_table_free(bounds));
}

void test_tables(void) {
  volley_table *t = sample(), *there;
  volley_device *cpu, *same;
  volley_query *all, *on;
  char* text;
  int64_t n;
  test_expressions();
  OK(volley_table_rows(t, &n));
  CHECK(n == 4);
  test_partitions(t);
  test_slices(t);
  OK(volley_table_format(t, 2, 0, &text));
  CHECK(strstr(text, "amount") != NULL && strstr(text, "4 rows") != NULL);
  volley_string_free(text);
  OK(volley_device_open("cpu", &cpu));
  OK(volley_table_to(t, cpu, NULL, &there));
  OK(volley_table_device(there, &same));
  OK(volley_device_name(same, &text));
  CHECK(strcmp(text, "cpu") == 0);
  volley_string_free(text);
  OK(volley_device_free(same));
  OK(volley_query_table(there, &all));
  OK(volley_query_on(all, cpu, &on));
  OK(volley_query_free(all));
  OK(volley_device_free(cpu));
  OK(volley_table_free(there));
  OK(volley_table_free(t)); /* the query has it */
  test_operators(on);
  test_substring();
  test_streams(on);
  OK(volley_query_free(on));
}

void test_files(const char* folder) {
  static const char* const endings[] = {"parquet", "csv", "arrow", "arrows"};
  volley_table *t = sample(), *back;
  char path[1024], *given = path;
  const char* const* paths = (const char* const*)&given;
  for (int i = 0; i < 4; i++) {
    volley_query *scanned, *query;
    volley_write_options writing = {.size = sizeof writing, .compression = i == 0 ? "zstd" : NULL};
    const char *name = "key", *type = "int64";
    volley_csv_options reading = {.size = sizeof reading, .type_names = &name, .types = &type, .types_count = 1};
    snprintf(path, sizeof path, "%s/sample.%s", folder, endings[i]);
    OK(volley_table_write(t, path, &writing, NULL));
    if (i == 0) OK(volley_scan_parquet(paths, 1, &scanned));
    if (i == 1) OK(volley_scan_csv(paths, 1, &reading, &scanned));
    if (i == 2) OK(volley_scan_ipc(paths, 1, &scanned));
    if (i > 2) OK(volley_scan_ipc_with(paths, 1, NULL, &scanned));
    OK(volley_query_on(scanned, NULL, &query));
    OK(volley_query_free(scanned));
    back = collect(query);
    CHECK(((const int64_t*)table_values(back, "key", "int64", 4))[3] == 3);
    OK(volley_table_free(back));
  }
  {
    volley_scan_options how = {sizeof how, "us", -1, 1};
    volley_query *scanned, *query;
    volley_table* none;
    snprintf(path, sizeof path, "%s/sample.%s", folder, endings[0]);
    OK(volley_scan_parquet_with(paths, 1, &how, &scanned));
    OK(volley_query_on(scanned, NULL, &query));
    OK(volley_query_free(scanned));
    back = collect(query);
    CHECK(((const int64_t*)table_values(back, "key", "int64", 4))[3] == 3);
    OK(volley_table_free(back));
    how.int96 = "s";
    OK(volley_scan_parquet_with(paths, 1, &how, &scanned));
    OK(volley_query_on(scanned, NULL, &query));
    FAILS(VOLLEY_MISMATCH, "Int96", volley_query_collect(query, NULL, &none));
    OK(volley_query_free(scanned));
    OK(volley_query_free(query));
    snprintf(path, sizeof path, "%s/sample.%s", folder, endings[2]);
    OK(volley_scan_ipc_with(paths, 1, &how, &scanned));
    OK(volley_query_on(scanned, NULL, &query));
    FAILS(VOLLEY_MISMATCH, "MaxUnpacked", volley_query_collect(query, NULL, &none));
    OK(volley_query_free(scanned));
    OK(volley_query_free(query));
  }
  snprintf(path, sizeof path, "%s/none.parquet", folder);
  {
    volley_query *scanned, *query;
    OK(volley_scan_parquet(paths, 1, &scanned));
    OK(volley_query_on(scanned, NULL, &query));
    OK(volley_query_free(scanned));
    FAILS(VOLLEY_NOT_FOUND, "none.parquet", volley_query_collect(query, NULL, &back));
    OK(volley_query_free(query));
  }
  snprintf(path, sizeof path, "%s/sample.bin", folder);
  FAILS(VOLLEY_UNSUPPORTED, "bin", volley_table_write(t, path, NULL, NULL));
  OK(volley_table_free(t));
}
