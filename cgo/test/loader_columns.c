/* Columns that a loader makes: by functions of the program, and by expressions; and where its batches go: pinned memory, a device. */
#include "check.h"

#include <pthread.h>

enum { ROWS = 300, BATCH = 32 };

/* x: the row's number, y: x modulo 7, image: as many bytes as y, each of the row's number */
static volley_table* images(void) {
  static float xs[ROWS];
  static int64_t ys[ROWS];
  static int32_t offsets[ROWS + 1];
  static uint8_t bytes[ROWS * 7];
  volley_array binary = {.size = sizeof binary, .type = "binary", .length = ROWS, .values = bytes, .offsets = offsets};
  const char* names[] = {"x", "y", "image"};
  volley_column* columns[3];
  volley_table* t;
  for (int i = 0; i < ROWS; i++) {
    xs[i] = (float)i, ys[i] = i % 7;
    offsets[i + 1] = offsets[i] + i % 7;
    memset(bytes + offsets[i], i, (size_t)(i % 7));
  }
  columns[0] = wrap("float32", xs, ROWS, NULL);
  columns[1] = wrap("int64", ys, ROWS, NULL);
  OK(volley_column_wrap(&binary, NULL, NULL, &columns[2]));
  OK(volley_table_new(NULL, names, (const volley_column* const*)columns, 3, NULL, &t));
  for (int i = 0; i < 3; i++) OK(volley_column_free(columns[i]));
  return t;
}

static int calls;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

/* The number of bytes, and the first. */
static int32_t decode(void* context, const void* value, int64_t size, void* to, int64_t bytes, char* message, int64_t room) {
  int64_t* out = to;
  CHECK(bytes == 16 && room >= 64 && strcmp(context, "here") == 0);
  pthread_mutex_lock(&counting);
  calls++;
  pthread_mutex_unlock(&counting);
  out[0] = size;
  out[1] = size ? *(const uint8_t*)value : -1;
  return message ? VOLLEY_OK : VOLLEY_VALUE;
}

static int32_t refuse(void* context, const void* value, int64_t size, void* to, int64_t bytes, char* message, int64_t room) {
  if (size != 5) return decode(context, value, size, to, bytes, message, room);
  snprintf(message, (size_t)room, "no image of five bytes");
  return VOLLEY_FORMAT;
}

static void test_decoders(const volley_table* t) {
  const char* features[] = {"x", "image"};
  volley_decoder d = {.column = "image", .type = "int64", .length = 2, .decode = decode, .context = "here"};
  volley_loader_options o = {.size = sizeof o, .features = features, .features_count = 2, .batch = BATCH, .shuffle = 1, .epochs = 1, .decoders = &d,
                             .decoders_count = 1};
  volley_encoding e = {.column = "image", .kind = "padded", .length = 2};
  volley_loader_figures figures = {.size = sizeof figures};
  volley_loader* l;
  volley_batch* b;
  int64_t n = 0;
  for (o.workers = -1; o.workers < 3; o.workers++) {
    n = 0, calls = 0;
    OK(volley_loader_open(t, &o, NULL, &l));
    for (;;) {
      struct DLManagedTensor *x, *image;
      OK(volley_loader_next(l, NULL, &b));
      if (!b) break;
      OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
      OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_COLUMN, "image", 0, &image));
      OK(volley_batch_free(b));
      CHECK(image->t.ndim == 2 && image->t.shape[1] == 2 && image->t.code == 0 && image->t.bits == 64);
      for (int64_t i = 0; i < image->t.shape[0]; i++, n++) {
        int row = (int)((const float*)x->t.data)[i];
        const int64_t* made = (const int64_t*)image->t.data + 2 * i;
        CHECK(made[0] == row % 7 && made[1] == (row % 7 ? (uint8_t)row : -1));
      }
      x->deleter(x);
      image->deleter(image);
    }
    OK(volley_loader_free(l));
    CHECK(n == ROWS && calls == ROWS);
  }
  d.decode = refuse;
  o.shuffle = 0;
  OK(volley_loader_open(t, &o, NULL, &l));
  CHECK(volley_loader_next(l, NULL, &b) != VOLLEY_OK);
  CHECK(strstr(volley_last_error()->message, "no image of five bytes") && strstr(volley_last_error()->message, "row 5 of column \"image\""));
  OK(volley_loader_free(l));
  o.skip_bad = 1;
  OK(volley_loader_open(t, &o, NULL, &l));
  for (;;) {
    OK(volley_loader_next(l, NULL, &b));
    if (!b) break;
    OK(volley_batch_free(b));
  }
  OK(volley_loader_stats(l, &figures));
  CHECK(figures.skipped == 43 && figures.rows == ROWS - 43);
  OK(volley_loader_free(l));
  for (int i = 0; i < 10; i++) { /* closed while the function is called */
    o.workers = 3;
    OK(volley_loader_open(t, &o, NULL, &l));
    OK(volley_loader_free(l));
    n = calls;
    CHECK(n == calls);
  }
  d.type = "utf8";
  FAILS(VOLLEY_MISMATCH, "no type of fixed width", volley_loader_open(t, &o, NULL, &l));
  d.type = NULL;
  FAILS(VOLLEY_MISMATCH, "type of a decoder is NULL", volley_loader_open(t, &o, NULL, &l));
  d.type = "int64", d.decode = NULL;
  FAILS(VOLLEY_MISMATCH, "decode is NULL", volley_loader_open(t, &o, NULL, &l));
  d.decode = decode, d.column = "none";
  FAILS(VOLLEY_MISMATCH, "none", volley_loader_open(t, &o, NULL, &l));
  d.column = "image", o.encodings = &e, o.encodings_count = 1;
  FAILS(VOLLEY_MISMATCH, "two encodings", volley_loader_open(t, &o, NULL, &l));
  o.encodings_count = 0, o.decoders_count = -1;
  FAILS(VOLLEY_MISMATCH, "decoders", volley_loader_open(t, &o, NULL, &l));
}

static void test_derived(const volley_table* t) {
  const char *features[] = {"sum", "x", "y"}, *labels[] = {"sum"};
  volley_derived made[2];
  volley_loader_options o = {.size = sizeof o, .features = features, .features_count = 3, .labels = labels, .batch = BATCH, .epochs = 1,
                             .derive = made, .derive_count = 2};
  volley_loader* l;
  volley_batch* b;
  struct DLManagedTensor* x;
  char* state;
  made[0] = (volley_derived){"sum", parsed("x + y")};
  made[1] = (volley_derived){"y", parsed("y * 2")};
  OK(volley_loader_open(t, &o, NULL, &l));
  for (int64_t n = 0;;) {
    OK(volley_loader_next(l, NULL, &b));
    if (!b) break;
    OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
    OK(volley_batch_free(b));
    CHECK(x->t.shape[1] == 3);
    for (int64_t i = 0; i < x->t.shape[0]; i++, n++) {
      const float* row = (const float*)x->t.data + 3 * i;
      CHECK(row[0] == (float)(n + n % 7) && row[1] == (float)n && row[2] == (float)(n % 7 * 2));
    }
    x->deleter(x);
  }
  OK(volley_loader_state(l, NULL, &state));
  OK(volley_loader_free(l));
  o.state = state;
  OK(volley_loader_open(t, &o, NULL, &l));
  OK(volley_loader_free(l));
  made[0].value = parsed("x - y");
  FAILS(VOLLEY_MISMATCH, "the expressions, or the function of batches", volley_loader_open(t, &o, NULL, &l));
  volley_string_free(state);
  o.state = NULL;
  made[0].value = parsed("nothing + 1");
  CHECK(volley_loader_open(t, &o, NULL, &l) != VOLLEY_OK && strstr(volley_last_error()->message, "nothing"));
  made[0].value = parsed("image = 'a'");
  CHECK(volley_loader_open(t, &o, NULL, &l) != VOLLEY_OK && l == NULL);
  made[0].value = NULL;
  FAILS(VOLLEY_MISMATCH, "the expression of \"sum\" is NULL", volley_loader_open(t, &o, NULL, &l));
  made[0] = (volley_derived){"y", parsed("x")};
  FAILS(VOLLEY_MISMATCH, "named twice", volley_loader_open(t, &o, NULL, &l));
  made[0].name = NULL;
  FAILS(VOLLEY_MISMATCH, "name of a derived column is NULL", volley_loader_open(t, &o, NULL, &l));
}

/* Gives the batch on as it is. */
static int32_t pass_on(void* context, struct ArrowArrayStream* batch, struct ArrowArrayStream* result, char* message, int64_t room) {
  CHECK(batch->release && !result->release && room >= 64 && message && strcmp(context, "here") == 0);
  *result = *batch;
  batch->release = NULL;
  return VOLLEY_OK;
}

static int32_t no_map(void* context, struct ArrowArrayStream* batch, struct ArrowArrayStream* result, char* message, int64_t room) {
  if (!context) return pass_on("here", batch, result, message, room);
  snprintf(message, (size_t)room, "no map today");
  return VOLLEY_VALUE;
}

static int32_t no_result(void* context, struct ArrowArrayStream* batch, struct ArrowArrayStream* result, char* message, int64_t room) {
  return context && batch && result && message && room ? VOLLEY_OK : VOLLEY_VALUE;
}

static void test_map(const volley_table* t) {
  const char *features[] = {"x", "y"}, *unknown[] = {"nothing"};
  volley_batch_map m = {.size = sizeof m, .name = "as it is", .columns = features, .columns_count = 2, .map = pass_on, .context = "here"};
  volley_loader_options o = {.size = sizeof o, .batch = BATCH, .epochs = 1, .map = &m};
  volley_loader* l;
  volley_batch* b;
  struct DLManagedTensor* x;
  for (o.workers = -1; o.workers < 3; o.workers++) {
    int64_t n = 0;
    OK(volley_loader_open(t, &o, NULL, &l));
    for (;;) {
      OK(volley_loader_next(l, NULL, &b));
      if (!b) break;
      OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
      OK(volley_batch_free(b));
      for (int64_t i = 0; i < x->t.shape[0]; i++, n++) {
        const float* row = (const float*)x->t.data + 2 * i;
        CHECK(row[0] == (float)n && row[1] == (float)(n % 7));
      }
      x->deleter(x);
    }
    CHECK(n == ROWS);
    OK(volley_loader_free(l));
    m.permanent = !m.permanent;
  }
  m.map = no_map;
  FAILS(VOLLEY_VALUE, "no map today", volley_loader_open(t, &o, NULL, &l));
  m.map = no_result;
  FAILS(VOLLEY_CLOSED, "the result", volley_loader_open(t, &o, NULL, &l));
  m.map = NULL;
  FAILS(VOLLEY_MISMATCH, "function is NULL", volley_loader_open(t, &o, NULL, &l));
  m.map = pass_on, m.columns = unknown, m.columns_count = 1;
  FAILS(VOLLEY_MISMATCH, "nothing", volley_loader_open(t, &o, NULL, &l));
  m.name = NULL;
  FAILS(VOLLEY_MISMATCH, "name of the map is NULL", volley_loader_open(t, &o, NULL, &l));
}

/* Pinned memory, or what is said where there is none. */
static void test_pinned(const volley_table* t) {
  const char* features[] = {"x", "y"};
  volley_loader_options o = {.size = sizeof o, .features = features, .features_count = 2, .batch = BATCH, .pin = 1, .epochs = 1};
  volley_device* cuda = NULL;
  volley_loader* l;
  volley_batch* b;
  struct DLManagedTensor* x;
  char* warning;
  int there = volley_device_open("cuda:0", &cuda) == VOLLEY_OK;
  OK(volley_device_free(cuda));
  OK(volley_loader_open(t, &o, NULL, &l));
  OK(volley_loader_next(l, NULL, &b));
  FAILS(VOLLEY_MISMATCH, "no device", volley_batch_used_on(b, 0));
  OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
  OK(volley_batch_free(b));
  CHECK(x->t.device_type == 1 && ((const float*)x->t.data)[2] == 1);
  x->deleter(x);
  OK(volley_loader_warning(l, &warning));
  CHECK(there == !warning);
  if (!there) CHECK(strstr(warning, "no pinned memory") && !strchr(warning, '\n'));
  volley_string_free(warning);
  OK(volley_loader_free(l));
  FAILS(VOLLEY_CLOSED, "freed", volley_loader_warning(l, &warning));
  o.pin = 0;
  OK(volley_loader_open(t, &o, NULL, &l));
  OK(volley_loader_warning(l, &warning));
  CHECK(warning == NULL);
  OK(volley_loader_free(l));
}

void test_loader_columns(void) {
  volley_table* t = images();
  test_decoders(t);
  test_derived(t);
  test_map(t);
  test_pinned(t);
  OK(volley_table_free(t));
}

/* Batches on a device: of a table on the host with a derived column, and of one that lies on the device, where they are gathered. */
static void device_batches(const char* name, int there) {
  const char *features[] = {"x", "z"}, *labels[] = {"y"};
  volley_derived z = {"z", parsed("y * 3")};
  volley_loader_options o = {.size = sizeof o, .features = features, .features_count = 2, .derive = &z, .derive_count = 1, .labels = labels, .labels_count = 1, .batch = BATCH, .masks = 1,
                             .epochs = 2, .shuffle = 1, .workers = 2, .pin = 1};
  volley_table *t = images(), *moved;
  volley_device *d, *cpu;
  volley_loader* l;
  int near = strcmp(name, "cpu") == 0;
  int64_t n = 0;
  OK(volley_device_open(name, &d));
  OK(volley_device_open("cpu", &cpu));
  o.device = d;
  if (there) {
    o.features_count = 1;
    o.derive_count = 0;
    OK(volley_table_to(t, d, NULL, &moved));
    OK(volley_table_free(t));
    t = moved;
  }
  OK(volley_loader_open(t, &o, NULL, &l));
  for (int empty = 0; empty < 2;) {
    volley_batch* b;
    struct DLManagedTensor *y, *mask, *rows;
    struct DLManagedTensorVersioned* x;
    volley_matrix *m, *here;
    OK(volley_loader_next(l, NULL, &b));
    if (!b) {
      empty++;
      continue;
    }
    if (near) {
      FAILS(VOLLEY_MISMATCH, "no device", volley_batch_used_on(b, 0));
    } else if (strncmp(name, "cuda", 4) == 0) {
      OK(volley_batch_used_on(b, 0));
    } else {
      FAILS(VOLLEY_UNSUPPORTED, "queue", volley_batch_used_on(b, 0));
    }
    OK(volley_batch_to_dlpack_versioned(b, VOLLEY_BATCH_FEATURES, NULL, 0, &x));
    OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_LABELS, NULL, 0, &y));
    OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_LABELS, NULL, 1, &mask));
    OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_ROWS, NULL, 0, &rows));
    OK(volley_batch_free(b));
    CHECK(near == (x->t.device_type == 1) && near == (y->t.device_type == 1) && near == (mask->t.device_type == 1) && rows->t.device_type == 1);
    CHECK(x->t.shape[0] == rows->t.shape[0] && x->t.shape[1] == (there ? 1 : 2) && mask->t.bits == 8);
    OK(volley_matrix_from_dlpack_versioned(x, &m));
    OK(volley_matrix_to(m, cpu, NULL, &here));
    OK(volley_matrix_free(m));
    OK(volley_matrix_to_dlpack_versioned(here, &x));
    OK(volley_matrix_free(here));
    for (int64_t i = 0; i < x->t.shape[0]; i++, n++) {
      const float* row = (const float*)((const char*)x->t.data + x->t.byte_offset) + i * x->t.strides[0];
      int64_t r = ((const int64_t*)rows->t.data)[i];
      CHECK(row[0] == (float)r && (there || row[1] == (float)(r % 7 * 3)));
    }
    x->deleter(x);
    y->deleter(y);
    mask->deleter(mask);
    rows->deleter(rows);
  }
  CHECK(n >= 2 * ROWS);
  OK(volley_loader_free(l));
  OK(volley_table_free(t));
  OK(volley_device_free(d));
  OK(volley_device_free(cpu));
}

void test_loader_device(const char* name) {
  device_batches(name, 0);
  device_batches(name, 1);
}
