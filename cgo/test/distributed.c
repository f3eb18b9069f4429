/* Tables on two ranks, which are two threads here. */
#include <pthread.h>

#include "check.h"

static char address[600], written[600], lines[600];

static int64_t rows_of(const volley_distributed* d) {
  int64_t n;
  OK(volley_distributed_rows(d, &n));
  return n;
}

static int64_t local_rows(const volley_distributed* d) {
  volley_table* t;
  int64_t n;
  OK(volley_distributed_local(d, &t));
  OK(volley_table_rows(t, &n));
  OK(volley_table_free(t));
  return n;
}

static void spread_as(const volley_distributed* d, const char* scheme, int64_t keys) {
  char* text;
  int64_t n;
  OK(volley_distributed_partitioning(d, &text, &n));
  CHECK(strcmp(text, scheme) == 0 && n == keys);
  volley_string_free(text);
  FAILS(VOLLEY_MISMATCH, "key", volley_distributed_key(d, keys, &text));
}

/* The operators of queries, over the rows of both. */
static void operates(const volley_distributed* d, const volley_comm* c) {
  const char *keys[] = {"key"}, *paths[] = {written}, *of_lines[] = {lines}, *to[] = {"other"};
  volley_write_options semicolons = {.size = sizeof semicolons, .format = "csv", .delimiter = ";"};
  volley_csv_options csv = {.size = sizeof csv, .delimiter = ";"};
  volley_expr *e, *more;
  volley_aggregate count = {.op = "count"};
  volley_group_options any = {.size = sizeof any, .any_order = 1};
  volley_distributed *a, *b;
  int64_t same, groups;
  OK(volley_expr_column("key", &e));
  OK(volley_expr_parse("amount + 1 as more", &more));
  const volley_order order = {e, 1, 0};
  OK(volley_distributed_distinct(d, keys, 1, NULL, &a));
  groups = rows_of(a);
  CHECK(groups > 1 && groups < 8);
  OK(volley_distributed_free(a));
  OK(volley_distributed_group_by(d, (const volley_expr* const*)&e, 1, &count, 1, &any, NULL, &a));
  CHECK(rows_of(a) == groups);
  OK(volley_distributed_free(a));
  OK(volley_distributed_group_by(d, NULL, 0, &count, 1, NULL, NULL, &a));
  CHECK(rows_of(a) == 1 && local_rows(a) == 1);
  OK(volley_distributed_free(a));
  OK(volley_distributed_sort(d, &order, 1, NULL, &a));
  spread_as(a, "range", 1);
  OK(volley_distributed_equal(d, a, 0, NULL, &same));
  CHECK(same == 0);
  OK(volley_distributed_equal(d, a, 1, NULL, &same));
  CHECK(same == 1);
  OK(volley_distributed_top_k(d, 2, &order, 1, NULL, &b));
  CHECK(rows_of(b) == 2);
  OK(volley_distributed_free(b));
  OK(volley_distributed_slice(a, 3, 100, NULL, &b));
  CHECK(rows_of(b) == 5);
  OK(volley_distributed_free(b));
  OK(volley_distributed_union(a, &d, 1, NULL, &b));
  CHECK(rows_of(b) == 16);
  OK(volley_distributed_free(b));
  OK(volley_distributed_intersect(a, d, NULL, &b));
  CHECK(rows_of(b) > 1);
  OK(volley_distributed_free(b));
  OK(volley_distributed_except(a, d, NULL, &b));
  CHECK(rows_of(b) == 0);
  OK(volley_distributed_free(b));
  OK(volley_distributed_free(a));
  OK(volley_distributed_row_number(d, "row", 0, NULL, &a));
  OK(volley_distributed_with_columns(a, NULL, (const volley_expr* const*)&more, 1, NULL, &b));
  OK(volley_distributed_free(a));
  OK(volley_distributed_rename(b, keys, to, 1, NULL, &a));
  OK(volley_distributed_free(b));
  OK(volley_distributed_drop(a, to, 1, NULL, &b));
  OK(volley_distributed_free(a));
  FAILS(VOLLEY_MISMATCH, "key", volley_distributed_select(b, (const volley_expr* const*)&e, 1, NULL, &a));
  OK(volley_distributed_describe(b, NULL, &a));
  CHECK(rows_of(a) == 7 && local_rows(a) == 7);
  OK(volley_distributed_free(a));
  OK(volley_distributed_even(b, NULL, &a));
  CHECK(rows_of(a) == 8 && local_rows(a) == 4);
  OK(volley_distributed_free(a));
  OK(volley_distributed_free(b));
  OK(volley_distributed_write(d, written, NULL, NULL));
  FAILS(VOLLEY_MISMATCH, "is there already", volley_distributed_write(d, written, NULL, NULL));
  OK(volley_distributed_scan(c, NULL, paths, 1, NULL, 0, NULL, &a));
  OK(volley_distributed_equal(d, a, 0, NULL, &same));
  CHECK(same == 1);
  OK(volley_distributed_free(a));
  OK(volley_distributed_write(d, lines, &semicolons, NULL));
  OK(volley_distributed_scan_csv(c, of_lines, 1, &csv, NULL, 0, NULL, &a));
  OK(volley_distributed_equal(d, a, 0, NULL, &same));
  CHECK(same == 1);
  OK(volley_distributed_free(a));
  FAILS(VOLLEY_MISMATCH, "no paths", volley_distributed_scan_csv(c, of_lines, 0, &csv, NULL, 0, NULL, &a));
  volley_expr_free(e);
  volley_expr_free(more);
}

/* What moves rows, and what is known of them then. */
static void moves(const volley_distributed* d, int64_t me) {
  const char* keys[] = {"key", "none"};
  int64_t counts[2] = {1, 7}, wrong[2] = {1, 1}, n, together;
  volley_expr* e;
  volley_distributed *h, *other;
  char* text;
  OK(volley_expr_column("key", &e));
  const volley_order order = {e, 1, 0};
  OK(volley_distributed_shuffle(d, keys, 1, NULL, &h));
  spread_as(h, "hash", 1);
  OK(volley_distributed_key(h, 0, &text));
  CHECK(strcmp(text, "key") == 0 && rows_of(h) == 8);
  volley_string_free(text);
  OK(volley_distributed_together(h, keys, 2, &together));
  CHECK(together == 1);
  OK(volley_distributed_together(h, keys + 1, 1, &together));
  CHECK(together == 0);
  FAILS(VOLLEY_MISMATCH, "ranks 0, 1", volley_distributed_shuffle(d, keys + 1, 1, NULL, &other));
  OK(volley_distributed_free(h));
  OK(volley_distributed_shuffle_range(d, &order, 1, NULL, &h));
  spread_as(h, "range", 1);
  OK(volley_expr_free(e));
  OK(volley_distributed_free(h));
  OK(volley_distributed_shuffle_round_robin(d, NULL, &h));
  CHECK(local_rows(h) == 4);
  OK(volley_distributed_free(h));
  OK(volley_distributed_repartition(d, counts, 2, NULL, &h));
  CHECK(local_rows(h) == counts[me]);
  OK(volley_distributed_counts(h, wrong, 1, &n));
  CHECK(n == 2 && wrong[0] == 1 && wrong[1] == 1);
  FAILS(VOLLEY_MISMATCH, "8 rows", volley_distributed_repartition(d, wrong, 2, NULL, &other));
  OK(volley_distributed_rebalance(h, "bytes", NULL, &other));
  CHECK(rows_of(other) == 8);
  OK(volley_distributed_free(other));
  OK(volley_distributed_rebalance(h, NULL, NULL, &other));
  CHECK(local_rows(other) == 4);
  OK(volley_distributed_free(other));
  FAILS(VOLLEY_MISMATCH, "\"weight\"", volley_distributed_rebalance(h, "weight", NULL, &other));
  OK(volley_distributed_free(h));
  OK(volley_distributed_replicate(d, NULL, &h));
  spread_as(h, "replicated", 0);
  CHECK(local_rows(h) == 8 && rows_of(h) == 8);
  OK(volley_distributed_free(h));
}

/* Rank 0 makes a call wrongly, rank 1 rightly: both get the same error, which names rank 0 and says what was wrong. */
#define BOTH_FAIL(text, wrong, right)                                                          \
  do {                                                                                         \
    const int32_t both_status = me == 0 ? (wrong) : (right);                                   \
    CHECK(both_status != VOLLEY_OK && strstr(volley_last_error()->message, "rank 0") != NULL); \
    CHECK(strstr(volley_last_error()->message, text) != NULL);                                 \
  } while (0)

/* What one rank refuses of a call's arguments is the error of the other rank too, which would wait for it else. */
static void refuses(const volley_comm* c, const volley_table* t, const volley_distributed* d, int64_t me) {
  const char *key[] = {"key"}, *bad[] = {"\xff"}, *none[] = {NULL}, *to[] = {"lock"}, *paths[] = {written};
  const volley_order order = {.key = NULL};
  const volley_distributed* nothing[] = {NULL};
  const volley_table *parts[] = {t, t}, *gaps[] = {t, NULL};
  const volley_expr* holes[] = {NULL};
  const volley_group_options groups = {.size = 1};
  const volley_join_options joins = {.size = 1};
  const volley_write_options writes = {.size = sizeof writes, .format = "csv"};
  const volley_aggregate count = {.op = "count"}, odd = {.op = "\xff"};
  int64_t counts[] = {4, 4}, same;
  volley_distributed* o;
  volley_expr* e;
  volley_token* freed;
  volley_table* whole;
  OK(volley_expr_column("key", &e));
  const volley_expr* es[] = {e};
  const volley_order by = {.key = e};
  OK(volley_token_new(0, &freed));
  OK(volley_token_free(freed));
  BOTH_FAIL("table is NULL", volley_distributed_new(c, NULL, NULL, &o), volley_distributed_new(c, t, NULL, &o));
  BOTH_FAIL("out is NULL", volley_distributed_new(c, t, NULL, NULL), volley_distributed_new(c, t, NULL, &o));
  BOTH_FAIL("token", volley_distributed_new(c, t, freed, &o), volley_distributed_new(c, t, NULL, &o));
  BOTH_FAIL("root", volley_distributed_scatter(c, NULL, t, -1, NULL, &o), volley_distributed_scatter(c, NULL, NULL, 0, NULL, &o));
  BOTH_FAIL("device", volley_distributed_broadcast(c, (const volley_device*)t, t, 0, NULL, &o), volley_distributed_broadcast(c, NULL, NULL, 0, NULL, &o));
  BOTH_FAIL("keys", volley_distributed_shuffle(d, bad, 1, NULL, &o), volley_distributed_shuffle(d, key, 1, NULL, &o));
  BOTH_FAIL("keys is NULL", volley_distributed_shuffle(d, NULL, 1, NULL, &o), volley_distributed_shuffle(d, key, 1, NULL, &o));
  BOTH_FAIL("key", volley_distributed_shuffle_range(d, &order, 1, NULL, &o), volley_distributed_shuffle_range(d, &by, 1, NULL, &o));
  BOTH_FAIL("out is NULL", volley_distributed_shuffle_round_robin(d, NULL, NULL), volley_distributed_shuffle_round_robin(d, NULL, &o));
  BOTH_FAIL("\"weight\"", volley_distributed_rebalance(d, "weight", NULL, &o), volley_distributed_rebalance(d, NULL, NULL, &o));
  BOTH_FAIL("counts", volley_distributed_repartition(d, counts, -1, NULL, &o), volley_distributed_repartition(d, counts, 2, NULL, &o));
  BOTH_FAIL("out is NULL", volley_distributed_replicate(d, NULL, NULL), volley_distributed_replicate(d, NULL, &o));
  BOTH_FAIL("root", volley_distributed_gather(d, -1, NULL, &whole), volley_distributed_gather(d, 0, NULL, &whole));
  BOTH_FAIL("sideways", volley_distributed_join(d, d, "sideways", key, key, 1, NULL, NULL, &o), volley_distributed_join(d, d, "inner", key, key, 1, NULL, NULL, &o));
  BOTH_FAIL("left is NULL", volley_distributed_join(NULL, d, "inner", key, key, 1, NULL, NULL, &o), volley_distributed_join(d, d, "inner", key, key, 1, NULL, NULL, &o));
  BOTH_FAIL("right is NULL", volley_distributed_join(d, NULL, "inner", key, key, 1, NULL, NULL, &o), volley_distributed_join(d, d, "inner", key, key, 1, NULL, NULL, &o));
  BOTH_FAIL("options", volley_distributed_join(d, d, "inner", key, key, 1, &joins, NULL, &o), volley_distributed_join(d, d, "inner", key, key, 1, NULL, NULL, &o));
  BOTH_FAIL("UTF-8", volley_distributed_join(d, d, "inner", key, bad, 1, NULL, NULL, &o), volley_distributed_join(d, d, "inner", key, key, 1, NULL, NULL, &o));
  BOTH_FAIL("parts", volley_comm_exchange(c, gaps, 2, NULL, &whole), volley_comm_exchange(c, parts, 2, NULL, &whole));
  BOTH_FAIL("keys", volley_distributed_group_by(d, holes, 1, &count, 1, NULL, NULL, &o), volley_distributed_group_by(d, es, 1, &count, 1, NULL, NULL, &o));
  BOTH_FAIL("op", volley_distributed_group_by(d, es, 1, &odd, 1, NULL, NULL, &o), volley_distributed_group_by(d, es, 1, &count, 1, NULL, NULL, &o));
  BOTH_FAIL("options", volley_distributed_group_by(d, es, 1, &count, 1, &groups, NULL, &o), volley_distributed_group_by(d, es, 1, &count, 1, NULL, NULL, &o));
  BOTH_FAIL("token", volley_distributed_describe(d, freed, &o), volley_distributed_describe(d, NULL, &o));
  BOTH_FAIL("key", volley_distributed_sort(d, &order, 1, NULL, &o), volley_distributed_sort(d, &by, 1, NULL, &o));
  BOTH_FAIL("key", volley_distributed_top_k(d, 2, &order, 1, NULL, &o), volley_distributed_top_k(d, 2, &by, 1, NULL, &o));
  BOTH_FAIL("columns", volley_distributed_distinct(d, none, 1, NULL, &o), volley_distributed_distinct(d, key, 1, NULL, &o));
  BOTH_FAIL("others", volley_distributed_union(d, nothing, 1, NULL, &o), volley_distributed_union(d, &d, 1, NULL, &o));
  BOTH_FAIL("right is NULL", volley_distributed_intersect(d, NULL, NULL, &o), volley_distributed_intersect(d, d, NULL, &o));
  BOTH_FAIL("left is NULL", volley_distributed_except(NULL, d, NULL, &o), volley_distributed_except(d, d, NULL, &o));
  BOTH_FAIL("out is NULL", volley_distributed_slice(d, 0, 1, NULL, NULL), volley_distributed_slice(d, 0, 1, NULL, &o));
  BOTH_FAIL("token", volley_distributed_even(d, freed, &o), volley_distributed_even(d, NULL, &o));
  BOTH_FAIL("name", volley_distributed_row_number(d, NULL, 0, NULL, &o), volley_distributed_row_number(d, "row", 0, NULL, &o));
  BOTH_FAIL("condition is NULL", volley_distributed_filter(d, NULL, NULL, &o), volley_distributed_filter(d, e, NULL, &o));
  BOTH_FAIL("items", volley_distributed_select(d, holes, 1, NULL, &o), volley_distributed_select(d, es, 1, NULL, &o));
  BOTH_FAIL("names", volley_distributed_with_columns(d, bad, es, 1, NULL, &o), volley_distributed_with_columns(d, key, es, 1, NULL, &o));
  BOTH_FAIL("to", volley_distributed_rename(d, key, none, 1, NULL, &o), volley_distributed_rename(d, key, to, 1, NULL, &o));
  BOTH_FAIL("names", volley_distributed_drop(d, bad, 1, NULL, &o), volley_distributed_drop(d, key, 1, NULL, &o));
  BOTH_FAIL("other is NULL", volley_distributed_equal(d, NULL, 0, NULL, &same), volley_distributed_equal(d, d, 0, NULL, &same));
  BOTH_FAIL("freed", volley_distributed_equal(d, (const volley_distributed*)freed, 1, NULL, &same), volley_distributed_equal(d, d, 1, NULL, &same));
  BOTH_FAIL("format", volley_distributed_scan(c, "bad", paths, 1, NULL, 0, NULL, &o), volley_distributed_scan(c, "parquet", paths, 1, NULL, 0, NULL, &o));
  BOTH_FAIL("folder", volley_distributed_write(d, NULL, NULL, NULL), volley_distributed_write(d, written, NULL, NULL));
  BOTH_FAIL("csv", volley_distributed_write(d, written, &writes, NULL), volley_distributed_write(d, written, NULL, NULL));
  BOTH_FAIL("no such plan", volley_distributed_refuse(c, NULL, "Join", "no such plan", NULL), volley_distributed_join(d, d, "inner", key, key, 1, NULL, NULL, &o));
  BOTH_FAIL("why", volley_distributed_refuse(NULL, d, "Even", NULL, NULL), volley_distributed_even(d, NULL, &o));
  FAILS(VOLLEY_MISMATCH, "comm", volley_distributed_refuse(NULL, NULL, "Even", "x", NULL));
  FAILS(VOLLEY_MISMATCH, "operation", volley_distributed_refuse(c, NULL, NULL, "x", NULL));
  OK(volley_expr_free(e));
}

static void* runs(void* given) {
  const int64_t me = *(const int64_t*)given;
  const char* key[] = {"key"};
  volley_comm_options o = {.size = sizeof o, .address = address, .rank = me, .ranks = 2};
  volley_table *t = sample(), *whole;
  const volley_table* parts[] = {t, t};
  volley_distributed *d, *j;
  volley_comm* c;
  int64_t n;
  OK(volley_comm_init(&o, NULL, &c));
  OK(volley_distributed_new(c, t, NULL, &d));
  CHECK(rows_of(d) == 8 && local_rows(d) == 4);
  spread_as(d, "unknown", 0);
  OK(volley_distributed_join(d, d, "inner", key, key, 1, NULL, NULL, &j));
  CHECK(rows_of(j) == 4 * 4 + 2 * 2 + 2 * 2);
  OK(volley_distributed_gather(j, 1, NULL, &whole));
  CHECK((whole != NULL) == (me == 1));
  if (whole) OK(volley_table_rows(whole, &n));
  CHECK(!whole || n == rows_of(j));
  OK(volley_table_free(whole));
  OK(volley_distributed_free(j));
  FAILS(VOLLEY_MISMATCH, "kind", volley_distributed_join(d, d, "sideways", key, key, 1, NULL, NULL, &j));
  FAILS(VOLLEY_MISMATCH, "right is NULL", volley_distributed_join(d, NULL, "inner", key, key, 1, NULL, NULL, &j));
  OK(volley_comm_exchange(c, parts, 2, NULL, &whole));
  OK(volley_table_rows(whole, &n));
  CHECK(n == 8);
  OK(volley_table_free(whole));
  FAILS(VOLLEY_MISMATCH, "1 parts for 2 ranks", volley_comm_exchange(c, parts, 1, NULL, &whole));
  OK(volley_distributed_scatter(c, NULL, me == 0 ? t : NULL, 0, NULL, &j));
  CHECK(rows_of(j) == 4 && local_rows(j) == 2);
  OK(volley_distributed_free(j));
  OK(volley_distributed_broadcast(c, NULL, me == 0 ? t : NULL, 0, NULL, &j));
  CHECK(rows_of(j) == 4 && local_rows(j) == 4);
  OK(volley_distributed_free(j));
  FAILS(VOLLEY_MISMATCH, "rank 0", volley_distributed_scatter(c, NULL, NULL, 0, NULL, &j));
  moves(d, me);
  refuses(c, t, d, me);
  operates(d, c);
  OK(volley_comm_barrier(c, NULL));
  OK(volley_comm_free(c));
  FAILS(VOLLEY_CLOSED, "closed", volley_distributed_replicate(d, NULL, &j));
  CHECK(rows_of(d) == 8); /* what is known stays */
  OK(volley_distributed_free(d));
  OK(volley_table_free(t));
  return NULL;
}

void test_distributed(const char* folder) {
  static const int64_t ranks[] = {0, 1};
  pthread_t other;
  snprintf(address, sizeof address, "file://%s/distributed", folder);
  snprintf(written, sizeof written, "%s/written", folder);
  snprintf(lines, sizeof lines, "%s/lines", folder);
  CHECK(pthread_create(&other, NULL, runs, (void*)&ranks[1]) == 0);
  runs((void*)&ranks[0]);
  pthread_join(other, NULL);
}
