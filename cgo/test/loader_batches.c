/* Loaders over streams of record batches: read to the end, begun anew, failing in the middle, ending early, closed before the end. */
#include "check.h"

#include <pthread.h>

enum { ROWS = 1000, CHUNK = 70, BATCH = 64 };

/* A stream of x: 0, 1, 2, … in batches of CHUNK rows. */
typedef struct {
  int64_t at, rows;  /* given, and how many it has */
  int64_t fails_at;  /* the row from which it fails, 0 for never */
  int wide;          /* the column is float64 */
  char text[64];
} producer;

static volatile int streams_open, arrays_open, opened_again;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void count(volatile int* what, int by) {
  pthread_mutex_lock(&counting);
  *what += by;
  pthread_mutex_unlock(&counting);
}

static void release_schema(struct ArrowSchema* s) {
  for (int64_t i = 0; i < s->n_children; i++) {
    if (s->children[i]->release) s->children[i]->release(s->children[i]);
    free(s->children[i]);
  }
  free(s->children);
  s->release = NULL;
}

static int get_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) {
  producer* p = stream->private_data;
  CHECK(stream->release != NULL);
  *out = (struct ArrowSchema){.format = "+s", .name = "", .n_children = 1, .release = release_schema};
  out->children = calloc(1, sizeof *out->children);
  out->children[0] = calloc(1, sizeof **out->children);
  *out->children[0] = (struct ArrowSchema){.format = p->wide ? "g" : "l", .name = "x", .release = release_schema};
  return 0;
}

static void release_array(struct ArrowArray* a) {
  for (int64_t i = 0; i < a->n_children; i++) {
    if (a->children[i]->release) a->children[i]->release(a->children[i]);
    free(a->children[i]);
  }
  free(a->children);
  free(a->buffers);
  free(a->private_data);
  if (a->n_children) count(&arrays_open, -1);
  a->release = NULL;
}

static int get_next(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  producer* p = stream->private_data;
  int64_t n = p->rows - p->at < CHUNK ? p->rows - p->at : CHUNK, *values;
  CHECK(stream->release != NULL);
  memset(out, 0, sizeof *out);
  if (p->fails_at && p->at >= p->fails_at) {
    snprintf(p->text, sizeof p->text, "the source broke at row %d", (int)p->at);
    return 5;
  }
  if (n == 0) return 0;
  values = malloc((size_t)n * sizeof *values);
  for (int64_t i = 0; i < n; i++) values[i] = p->at + i;
  *out = (struct ArrowArray){.length = n, .n_buffers = 1, .n_children = 1, .release = release_array};
  out->buffers = calloc(1, sizeof *out->buffers);
  out->children = calloc(1, sizeof *out->children);
  out->children[0] = calloc(1, sizeof **out->children);
  *out->children[0] = (struct ArrowArray){.length = n, .n_buffers = 2, .private_data = values, .release = release_array};
  out->children[0]->buffers = calloc(2, sizeof *out->buffers);
  out->children[0]->buffers[1] = values;
  p->at += n;
  count(&arrays_open, 1);
  return 0;
}

static const char* get_last_error(struct ArrowArrayStream* stream) { return ((producer*)stream->private_data)->text; }

static void release_stream(struct ArrowArrayStream* stream) {
  CHECK(stream->release != NULL); /* once */
  free(stream->private_data);
  stream->release = NULL;
  count(&streams_open, -1);
}

static struct ArrowArrayStream stream_of(int64_t rows, int64_t fails_at, int wide) {
  producer* p = calloc(1, sizeof *p);
  struct ArrowArrayStream s = {get_schema, get_next, get_last_error, release_stream, p};
  p->rows = rows, p->fails_at = fails_at, p->wide = wide;
  count(&streams_open, 1);
  return s;
}

static int32_t open_again(void* context, struct ArrowArrayStream* out, char* message, int64_t size) {
  count(&opened_again, 1);
  if (!context) {
    snprintf(message, (size_t)size, "the source is gone");
    return VOLLEY_NOT_FOUND;
  }
  *out = stream_of(ROWS, 0, strcmp(context, "wide") == 0);
  return VOLLEY_OK;
}

/* The rows of an epoch, which are those that their numbers say. */
static int64_t epoch(volley_loader* l, int64_t* rows) {
  int64_t n = 0;
  for (;;) {
    volley_batch* b;
    struct DLManagedTensor *x, *numbers;
    OK(volley_loader_next(l, NULL, &b));
    if (!b) return n;
    OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
    OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_ROWS, NULL, 0, &numbers));
    OK(volley_batch_free(b));
    for (int64_t i = 0; i < x->t.shape[0]; i++, n++) {
      rows[n] = ((const int64_t*)numbers->t.data)[i];
      CHECK(((const float*)x->t.data)[i] == (float)rows[n]);
    }
    x->deleter(x);
    numbers->deleter(numbers);
  }
}

/* Batches until an error, which has the text in it. */
static void fails(volley_loader* l, const char* text) {
  volley_batch* b;
  for (int i = 0; i < 100; i++) {
    if (volley_loader_next(l, NULL, &b) != VOLLEY_OK) {
      if (!strstr(volley_last_error()->message, text)) fprintf(stderr, "wanted: %s\n", text);
      CHECK(strstr(volley_last_error()->message, text) != NULL);
      return;
    }
    CHECK(b != NULL);
    OK(volley_batch_free(b));
  }
  CHECK(!"it fails");
}

static void nothing_open(void) {
  CHECK(streams_open == 0);
  CHECK(arrays_open == 0);
}

static void test_epochs(void) {
  volley_loader_options o = {.size = sizeof o, .batch = BATCH, .seed = 3};
  volley_batches_options from = {.size = sizeof from, .rows = ROWS, .piece = 100};
  struct ArrowArrayStream s;
  volley_loader* l;
  int64_t rows[ROWS];
  char* state;
  for (int i = 0; i < 20; i++) {
    static const int64_t workers[] = {-1, 0, 1, 3};
    o.workers = workers[i % 4];
    o.shuffle = i % 3 == 0;
    o.shuffle_by = o.shuffle ? "blocks+buffer" : NULL;
    o.buffer = 200;
    s = stream_of(ROWS, 0, 0);
    OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
    CHECK(s.release == NULL);
    CHECK(epoch(l, rows) == ROWS && epoch(l, rows) == 0);
    for (int64_t k = 0; !o.shuffle && k < ROWS; k++) CHECK(rows[k] == k);
    OK(volley_loader_state(l, NULL, &state));
    CHECK(strstr(state, "\"epoch\":1") != NULL);
    volley_string_free(state);
    OK(volley_loader_free(l));
    nothing_open();
  }
  opened_again = 0;
  o = (volley_loader_options){.size = sizeof o, .batch = BATCH, .epochs = 3, .workers = 2};
  from.open = open_again, from.context = "x", from.cache = 2000;
  s = stream_of(ROWS, 0, 0);
  OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
  for (int i = 0; i < 3; i++) CHECK(epoch(l, rows) == ROWS);
  CHECK(epoch(l, rows) == 0);
  OK(volley_loader_free(l));
  CHECK(opened_again >= 2);
  nothing_open();
}

static void test_faults(void) {
  volley_loader_options o = {.size = sizeof o, .batch = BATCH};
  volley_batches_options from = {.size = sizeof from, .rows = ROWS, .piece = 100};
  struct ArrowArrayStream s;
  volley_loader* l;
  volley_batch* b;
  volley_token* token;
  for (int i = 0; i < 20; i++) {
    o.workers = i % 3 - 1;
    s = stream_of(ROWS, 490, 0); /* in the middle */
    OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
    fails(l, "the source broke at row 490");
    fails(l, "the source broke at row 490");
    OK(volley_loader_free(l));
    nothing_open();
    s = stream_of(500, 0, 0); /* early */
    OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
    fails(l, "the stream ended after 500 rows of 1000");
    OK(volley_loader_free(l));
    nothing_open();
    s = stream_of(ROWS + 1, 0, 0); /* late */
    OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
    fails(l, "more rows than 1000");
    OK(volley_loader_free(l));
    nothing_open();
    s = stream_of(ROWS, 0, 0); /* closed before its end, and before anybody asked */
    OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
    for (int k = 0; k < i % 5; k++) {
      OK(volley_loader_next(l, NULL, &b));
      OK(volley_batch_free(b));
    }
    OK(volley_loader_free(l));
    nothing_open();
  }
  o.workers = -1;
  from.open = open_again, from.cache = 2000; /* two pieces, so that the stream is begun anew, which fails, or gives another one */
  s = stream_of(ROWS, 0, 0);
  OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
  for (int i = 0; i < 16; i++) {
    OK(volley_loader_next(l, NULL, &b));
    OK(volley_batch_free(b));
  }
  OK(volley_loader_next(l, NULL, &b));
  CHECK(b == NULL);
  fails(l, "the source is gone");
  OK(volley_loader_free(l));
  from.context = "wide";
  s = stream_of(ROWS, 0, 0);
  OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
  for (int i = 0; i < 16; i++) {
    OK(volley_loader_next(l, NULL, &b));
    OK(volley_batch_free(b));
  }
  OK(volley_loader_next(l, NULL, &b));
  fails(l, "other columns");
  OK(volley_loader_free(l));
  nothing_open();

  from.open = NULL, from.cache = 0;
  s = stream_of(ROWS, 0, 0);
  FAILS(VOLLEY_MISMATCH, "batches is NULL", volley_loader_open_batches(&s, NULL, &o, NULL, &l));
  CHECK(s.release == NULL);
  FAILS(VOLLEY_CLOSED, "released", volley_loader_open_batches(&s, &from, &o, NULL, &l));
  FAILS(VOLLEY_MISMATCH, "stream is NULL", volley_loader_open_batches(NULL, &from, &o, NULL, &l));
  s = stream_of(ROWS, 0, 0);
  FAILS(VOLLEY_MISMATCH, "options is NULL", volley_loader_open_batches(&s, &from, NULL, NULL, &l));
  s = stream_of(ROWS, 0, 0);
  o.shuffle = 1;
  FAILS(VOLLEY_MISMATCH, "blocks+buffer", volley_loader_open_batches(&s, &from, &o, NULL, &l));
  o.shuffle = 0, o.epochs = 2;
  s = stream_of(ROWS, 0, 0);
  FAILS(VOLLEY_MISMATCH, "2 epochs", volley_loader_open_batches(&s, &from, &o, NULL, &l));
  o.epochs = 0, o.weights = "x";
  s = stream_of(ROWS, 0, 0);
  FAILS(VOLLEY_MISMATCH, "weights", volley_loader_open_batches(&s, &from, &o, NULL, &l));
  o.weights = NULL, o.take = 1;
  s = stream_of(ROWS, 0, 0);
  FAILS(VOLLEY_MISMATCH, "take", volley_loader_open_batches(&s, &from, &o, NULL, &l));
  o.take = 0, from.rows = -1;
  s = stream_of(ROWS, 0, 0);
  FAILS(VOLLEY_MISMATCH, "-1 rows", volley_loader_open_batches(&s, &from, &o, NULL, &l));
  from.rows = ROWS;
  OK(volley_token_new(0, &token));
  OK(volley_token_cancel(token));
  s = stream_of(ROWS, 0, 0);
  FAILS(VOLLEY_CANCELED, "cancel", volley_loader_open_batches(&s, &from, &o, token, &l));
  CHECK(s.release == NULL);
  OK(volley_token_free(token));
  nothing_open();
}

void test_loader_batches(void) {
  test_epochs();
  test_faults();
}

/* On a device too, of which the memory may be another, a batch of a stream has the values of its rows. */
void test_loader_batches_device(const char* name) {
  volley_loader_options o = {.size = sizeof o, .batch = BATCH, .workers = 2, .pin = 1};
  volley_batches_options from = {.size = sizeof from, .rows = ROWS, .piece = 100};
  struct ArrowArrayStream s = stream_of(ROWS, 0, 0);
  volley_device *d, *cpu;
  volley_loader* l;
  volley_batch* b;
  int64_t n = 0;
  OK(volley_device_open(name, &d));
  OK(volley_device_open("cpu", &cpu));
  o.device = d;
  OK(volley_loader_open_batches(&s, &from, &o, NULL, &l));
  for (;;) {
    struct DLManagedTensorVersioned* x;
    volley_matrix *m, *here;
    OK(volley_loader_next(l, NULL, &b));
    if (!b) break;
    OK(volley_batch_to_dlpack_versioned(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
    OK(volley_batch_free(b));
    CHECK((x->t.device_type == 1) == (strcmp(name, "cpu") == 0));
    OK(volley_matrix_from_dlpack_versioned(x, &m));
    OK(volley_matrix_to(m, cpu, NULL, &here));
    OK(volley_matrix_free(m));
    OK(volley_matrix_to_dlpack_versioned(here, &x));
    OK(volley_matrix_free(here));
    for (int64_t i = 0; i < x->t.shape[0]; i++, n++) {
      CHECK(((const float*)((const char*)x->t.data + x->t.byte_offset))[i * x->t.strides[0]] == (float)n);
    }
    x->deleter(x);
  }
  CHECK(n == ROWS);
  OK(volley_loader_free(l));
  OK(volley_device_free(d));
  OK(volley_device_free(cpu));
  nothing_open();
}
