/* Batches of a table: each row once, lent until the last tensor is deleted, resumable. */
#include "check.h"

#include <pthread.h>

enum { ROWS = 1000, BATCH = 64 };

static float xs[ROWS];
static int64_t ys[ROWS];

static volley_table* numbers(void) {
  const char* names[] = {"x", "y", "z"};
  const volley_column* columns[3];
  volley_table* t;
  for (int i = 0; i < ROWS; i++) xs[i] = (float)i, ys[i] = 2 * i;
  columns[0] = wrap("float32", xs, ROWS, NULL);
  columns[1] = wrap("int64", ys, ROWS, NULL);
  columns[2] = wrap("float32", xs, ROWS, NULL);
  OK(volley_table_new(NULL, names, columns, 3, NULL, &t));
  for (int i = 0; i < 3; i++) OK(volley_column_free((volley_column*)columns[i]));
  return t;
}

static volley_loader* opened(const volley_table* t, volley_loader_options* o) {
  volley_loader* l;
  o->size = sizeof *o;
  OK(volley_loader_open(t, o, NULL, &l));
  return l;
}

/* Checks a batch of features x and z and the label y against its row numbers, and counts those. */
static int64_t look(volley_batch* b, int* seen) {
  struct DLManagedTensor *x, *y;
  struct DLManagedTensorVersioned* rows;
  volley_batch_info info = {.size = sizeof info};
  int64_t n;
  OK(volley_batch_describe(b, &info));
  OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
  OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_LABELS, NULL, 0, &y));
  OK(volley_batch_to_dlpack_versioned(b, VOLLEY_BATCH_ROWS, NULL, 0, &rows));
  OK(volley_batch_free(b));
  n = x->t.shape[0];
  CHECK(info.rows == n && info.padded == 0 && info.epoch == 0);
  CHECK(x->t.ndim == 2 && x->t.shape[1] == 2 && x->t.strides[0] == 2 && x->t.code == 2 && x->t.bits == 32 && x->t.device_type == 1);
  CHECK(rows->major == 1 && rows->flags == 0 && rows->t.ndim == 1 && rows->t.shape[0] == n && rows->t.bits == 64);
  CHECK((uintptr_t)x->t.data % 64 == 0);
  for (int64_t i = 0; i < n; i++) {
    int64_t r = ((const int64_t*)rows->t.data)[i];
    const float* row = (const float*)x->t.data + 2 * i;
    CHECK(r >= 0 && r < ROWS && row[0] == (float)r && row[1] == (float)r && ((const float*)y->t.data)[i] == (float)(2 * r));
    seen[r]++;
  }
  ((float*)x->t.data)[0] = -1; /* the batch's own memory */
  x->deleter(x);
  y->deleter(y);
  rows->deleter(rows);
  return n;
}

static void test_epoch_and_state(const volley_table* t) {
  const char *features[] = {"x", "z"}, *labels[] = {"y"};
  volley_loader_options o = {.features = features, .features_count = 2, .labels = labels, .labels_count = 1, .batch = BATCH, .shuffle = 1, .seed = 7,
                             .epochs = 1, .workers = 2};
  volley_loader* l = opened(t, &o);
  volley_batch* b;
  volley_loader_figures figures = {.size = sizeof figures};
  int seen[ROWS] = {0};
  int64_t rows = 0;
  char *state, *report;
  for (int i = 0; i < 5; i++) {
    OK(volley_loader_next(l, NULL, &b));
    rows += look(b, seen);
  }
  OK(volley_loader_state(l, NULL, &state));
  CHECK(strstr(state, "\"position\":320") != NULL);
  OK(volley_loader_free(l));
  FAILS(VOLLEY_CLOSED, "freed", volley_loader_next(l, NULL, &b));

  o.state = state; /* on two ranks: what the first loader has not given out, each row once */
  o.ranks = 2;
  o.remainder = "uneven";
  for (o.rank = 0; o.rank < 2; o.rank++) {
    l = opened(t, &o);
    for (;;) {
      OK(volley_loader_next(l, NULL, &b));
      if (!b) break;
      rows += look(b, seen);
    }
    OK(volley_loader_next(l, NULL, &b)); /* it was the only epoch */
    CHECK(b == NULL);
    OK(volley_loader_stats(l, &figures));
    CHECK(figures.steps == 8 && figures.ring > 0 && figures.batches >= 5 && strlen(figures.bound) > 0);
    CHECK(figures.gather > 0 && figures.read == 0 && figures.decode == 0 && figures.decode_wait == 0 && figures.transform == 0 && figures.copy == 0);
    OK(volley_loader_report(l, &report));
    CHECK(strstr(report, " batches, ") && strstr(report, "bound by: ") && strstr(report, figures.bound) && strstr(report, "all workers together: gather"));
    volley_string_free(report);
    OK(volley_loader_free(l));
  }
  CHECK(rows == ROWS);
  for (int i = 0; i < ROWS; i++) CHECK(seen[i] == 1);
  o.seed = 8;
  o.rank = 0;
  FAILS(VOLLEY_MISMATCH, "the seed (7, now 8)", volley_loader_open(t, &o, NULL, &l));
  volley_string_free(state);
}

static void test_loans(const volley_table* t) {
  volley_loader_options o = {.batch = 100, .prefetch = 2, .layout = "columns", .masks = 1};
  volley_loader* l = opened(t, &o);
  volley_batch *a, *b, *c;
  struct DLManagedTensor *x, *mask, *again;
  volley_batch_info info = {.size = sizeof info};
  OK(volley_loader_next(l, NULL, &a));
  OK(volley_batch_to_dlpack(a, VOLLEY_BATCH_COLUMN, "y", 0, &x));
  OK(volley_batch_to_dlpack(a, VOLLEY_BATCH_COLUMN, "y", 1, &mask));
  CHECK(x->t.ndim == 1 && x->t.code == 0 && x->t.bits == 64 && mask->t.code == 1 && mask->t.bits == 8);
  FAILS(VOLLEY_CLOSED, "handed out before", volley_batch_to_dlpack(a, VOLLEY_BATCH_COLUMN, "y", 0, &again));
  CHECK(again == NULL);
  FAILS(VOLLEY_MISMATCH, "matrix", volley_batch_to_dlpack(a, VOLLEY_BATCH_FEATURES, NULL, 0, &again));
  FAILS(VOLLEY_MISMATCH, "no labels", volley_batch_to_dlpack(a, VOLLEY_BATCH_LABELS, NULL, 0, &again));
  FAILS(VOLLEY_MISMATCH, "no part 9", volley_batch_to_dlpack(a, 9, NULL, 0, &again));
  FAILS(VOLLEY_MISMATCH, "w", volley_batch_to_dlpack(a, VOLLEY_BATCH_COLUMN, "w", 0, &again));
  OK(volley_batch_free(a));
  FAILS(VOLLEY_CLOSED, "freed", volley_batch_describe(a, &info));
  FAILS(VOLLEY_CLOSED, "freed", volley_batch_free(a));
  OK(volley_loader_next(l, NULL, &b));
  FAILS(VOLLEY_OUT_OF_MEMORY, "all 2 batches", volley_loader_next(l, NULL, &c)); /* a's tensors hold its memory */
  mask->deleter(mask);
  FAILS(VOLLEY_OUT_OF_MEMORY, "all 2 batches", volley_loader_next(l, NULL, &c));
  CHECK(((const int64_t*)x->t.data)[1] == 2 && ((const int64_t*)x->t.data)[99] == 198);
  x->deleter(x);
  OK(volley_loader_next(l, NULL, &c));
  OK(volley_batch_to_dlpack(c, VOLLEY_BATCH_COLUMN, "y", 0, &x));
  OK(volley_loader_free(l)); /* lent batches outlive their loader */
  CHECK(((const int64_t*)x->t.data)[0] == 400);
  OK(volley_batch_free(b));
  OK(volley_batch_free(c));
  x->deleter(x);
}

static void test_tensors_at_once(const volley_table* t) {
  const char* labels[] = {"y"};
  volley_loader_options o = {.batch = 200, .prefetch = 2, .labels = labels, .labels_count = 1, .masks = 1, .epochs = 1};
  volley_loader* l = opened(t, &o);
  const volley_batch_part parts[] = {{NULL, VOLLEY_BATCH_FEATURES, 0}, {NULL, VOLLEY_BATCH_LABELS, 0}, {NULL, VOLLEY_BATCH_LABELS, 1}, {NULL, VOLLEY_BATCH_ROWS, 0}};
  const volley_batch_part wrong[] = {{NULL, VOLLEY_BATCH_FEATURES, 0}, {"w", VOLLEY_BATCH_COLUMN, 0}}, twice[] = {parts[1], parts[1]};
  struct DLManagedTensor *x[4], *y[4], *z[4];
  int64_t n = 7, live, before, rows = 0;
  OK(volley_live(&before));
  FAILS(VOLLEY_MISMATCH, "no parts", volley_loader_next_tensors(l, parts, 0, NULL, &n, x));
  FAILS(VOLLEY_MISMATCH, "w", volley_loader_next_tensors(l, wrong, 2, NULL, &n, x)); /* the first batch is given back */
  CHECK(n == 0 && !x[0] && !x[1]);
  FAILS(VOLLEY_MISMATCH, "part 1 is one", volley_loader_next_tensors(l, twice, 2, NULL, &n, x));
  OK(volley_live(&live));
  CHECK(live == before);
  OK(volley_loader_next_tensors(l, parts, 4, NULL, &n, x));
  CHECK(n == 4 && x[0]->t.shape[0] == 200 && x[0]->t.ndim == 2 && x[2]->t.bits == 8 && ((const int64_t*)x[3]->t.data)[0] == 400);
  OK(volley_loader_next_tensors(l, parts, 4, NULL, &n, y));
  FAILS(VOLLEY_OUT_OF_MEMORY, "all 2 batches", volley_loader_next_tensors(l, parts, 4, NULL, &n, z));
  CHECK(n == 0 && !z[0]);
  for (int i = 0; i < 4; i++) x[i]->deleter(x[i]);
  for (;;) {
    OK(volley_loader_next_tensors(l, parts, 4, NULL, &n, x));
    if (!n) break;
    rows += x[0]->t.shape[0];
    for (int i = 0; i < 4; i++) x[i]->deleter(x[i]);
  }
  CHECK(rows == ROWS - 800);
  OK(volley_loader_free(l));
  CHECK(((const int64_t*)y[3]->t.data)[0] == 600); /* tensors outlive their loader */
  for (int i = 0; i < 4; i++) y[i]->deleter(y[i]);
}

static void* hold(void* loader) {
  volley_batch* b = NULL;
  int32_t status = VOLLEY_OK;
  for (int i = 0; i < 3 && status == VOLLEY_OK; i++) {
    status = volley_loader_next(loader, NULL, &b);
    if (status == VOLLEY_OK) OK(volley_batch_free(b));
  }
  return NULL;
}

static void test_faults(const volley_table* t) {
  volley_loader_options o = {.size = sizeof o};
  volley_loader_figures older = {.size = 24, .rows = 77}; /* a version that knows size, steps, batches */
  volley_loader* l;
  volley_batch* b;
  volley_token* token;
  pthread_t others[4];
  const char* none[] = {"nothing"};
  FAILS(VOLLEY_MISMATCH, "options is NULL", volley_loader_open(t, NULL, NULL, &l));
  FAILS(VOLLEY_MISMATCH, "batches of 0 rows", volley_loader_open(t, &o, NULL, &l));
  o.batch = BATCH;
  o.layout = "sideways";
  FAILS(VOLLEY_MISMATCH, "sideways", volley_loader_open(t, &o, NULL, &l));
  o.layout = NULL;
  o.remainder = "some";
  FAILS(VOLLEY_MISMATCH, "some", volley_loader_open(t, &o, NULL, &l));
  o.remainder = NULL;
  o.type = "utf8";
  FAILS(VOLLEY_UNSUPPORTED, "utf8", volley_loader_open(t, &o, NULL, &l));
  o.type = NULL;
  o.state = "{";
  FAILS(VOLLEY_MISMATCH, "state", volley_loader_open(t, &o, NULL, &l));
  o.state = NULL;
  o.rank = 3;
  FAILS(VOLLEY_MISMATCH, "rank 3", volley_loader_open(t, &o, NULL, &l));
  o.rank = INT64_MAX;
  FAILS(VOLLEY_MISMATCH, "rank", volley_loader_open(t, &o, NULL, &l));
  o.rank = 0;
  o.features = none;
  o.features_count = 1;
  FAILS(VOLLEY_MISMATCH, "nothing", volley_loader_open(t, &o, NULL, &l));
  o.features_count = 0; /* no features, and no labels */
  FAILS(VOLLEY_MISMATCH, "no columns", volley_loader_open(t, &o, NULL, &l));
  o.features = NULL;

  OK(volley_token_new(1, &token));
  o.workers = -1; /* batches are made in next, and with patience in the background */
  OK(volley_loader_open(t, &o, NULL, &l));
  for (int i = 0; i < 3; i++) {
    int32_t status = volley_loader_next(l, token, &b);
    while (status == VOLLEY_PENDING) status = volley_token_wait(token);
    CHECK(status == VOLLEY_OK);
    OK(volley_batch_free(b));
  }
  OK(volley_loader_stats(l, &older));
  CHECK(older.size == 24 && older.batches == 3 && older.rows == 77);
  FAILS(VOLLEY_MISMATCH, "out is NULL", volley_loader_stats(l, NULL));
  OK(volley_token_cancel(token));
  {
    int32_t status = volley_loader_next(l, token, &b);
    while (status == VOLLEY_PENDING) status = volley_token_wait(token);
    FAILS(VOLLEY_CANCELED, "cancel", status);
  }
  OK(volley_token_free(token));
  OK(volley_loader_next(l, NULL, &b)); /* it goes on */
  OK(volley_batch_free(b));
  OK(volley_loader_free(l));

  o.workers = 2;
  OK(volley_loader_open(t, &o, NULL, &l)); /* freed while others are in it */
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&others[i], NULL, hold, l) == 0);
  OK(volley_loader_free(l));
  for (int i = 0; i < 4; i++) pthread_join(others[i], NULL);
}

static void test_windows(const volley_table* t) {
  const char *features[] = {"x", "z"}, *labels[] = {"y"};
  volley_loader_options o = {.features = features, .features_count = 2, .labels = labels, .labels_count = 1, .batch = 10, .history = 5, .horizon = 3,
                             .stride = 2};
  volley_loader* l = opened(t, &o);
  volley_batch* b;
  volley_loader_figures figures = {.size = sizeof figures};
  struct DLManagedTensor *x, *y;
  OK(volley_loader_stats(l, &figures));
  CHECK(figures.steps == 50); /* 497 windows */
  OK(volley_loader_next(l, NULL, &b));
  OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
  OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_LABELS, NULL, 0, &y));
  OK(volley_batch_free(b));
  CHECK(x->t.ndim == 3 && x->t.shape[0] == 10 && x->t.shape[1] == 5 && x->t.shape[2] == 2);
  CHECK(y->t.ndim == 3 && y->t.shape[1] == 3 && y->t.shape[2] == 1);
  CHECK(((const float*)x->t.data)[3 * x->t.strides[0] + 4 * x->t.strides[1]] == 10); /* window 3 begins at row 6 */
  CHECK(((const float*)y->t.data)[3 * y->t.strides[0] + 2 * y->t.strides[1]] == 26);
  x->deleter(x);
  y->deleter(y);
  OK(volley_loader_free(l));
  o.entity = "w";
  FAILS(VOLLEY_MISMATCH, "w", volley_loader_open(t, &o, NULL, &l));
  o.entity = NULL;
  o.history = -1;
  FAILS(VOLLEY_MISMATCH, "windows of -1", volley_loader_open(t, &o, NULL, &l));
}

static void test_take(void) {
  const char *features[] = {"x", "z"}, *labels[] = {"y"};
  volley_loader_options o = {.features = features, .features_count = 2, .labels = labels, .labels_count = 1, .batch = BATCH, .shuffle = 1, .seed = 7,
                             .epochs = 1, .workers = 2, .take = 1};
  volley_table* t = numbers();
  volley_loader *l = opened(t, &o), *again;
  volley_batch* b;
  volley_loader_figures figures = {.size = sizeof figures};
  int seen[ROWS] = {0};
  int64_t rows = 0;
  char* state;
  OK(volley_table_free(t)); /* the loader has it */
  OK(volley_loader_next(l, NULL, &b));
  rows += look(b, seen);
  OK(volley_loader_stats(l, &figures));
  CHECK(figures.spare == ROWS * 3 * (int64_t)sizeof(float));
  OK(volley_loader_state(l, NULL, &state));
  o.state = state;
  o.labels_count = 0;
  FAILS(VOLLEY_MISMATCH, "the names or types of the columns", volley_loader_reopen(l, &o, NULL, &again));
  o.labels_count = 1;
  OK(volley_loader_reopen(l, &o, NULL, &again));
  OK(volley_loader_free(l));
  for (;;) {
    OK(volley_loader_next(again, NULL, &b));
    if (!b) break;
    rows += look(b, seen);
  }
  CHECK(rows == ROWS);
  for (int i = 0; i < ROWS; i++) CHECK(seen[i] == 1);
  FAILS(VOLLEY_MISMATCH, "options is NULL", volley_loader_reopen(again, NULL, NULL, &l));
  OK(volley_loader_free(again));
  volley_string_free(state);
}

void test_loader(void) {
  volley_loader_options o = {.batch = BATCH};
  volley_loader *l, *none;
  volley_table* t = numbers();
  l = opened(t, &o);
  FAILS(VOLLEY_MISMATCH, "took no table", volley_loader_reopen(l, &o, NULL, &none));
  OK(volley_loader_free(l));
  test_take();
  test_epoch_and_state(t);
  test_loans(t);
  test_tensors_at_once(t);
  test_faults(t);
  test_windows(t);
  OK(volley_table_free(t));
}
