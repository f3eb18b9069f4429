/* A loader over files and folders, in orders that columns tell, with encodings, 16-bit floats, and a part that is damaged. */
#include "check.h"

enum { ROWS = 400, GROUP = 50, BATCH = 32 };

/* x: the row's number; w: 0 of the first half, else 1; c: a, b, c, d in turn; y: the row's number modulo 3 */
static volley_table* made(void) {
  static float xs[ROWS];
  static int64_t ws[ROWS], ys[ROWS];
  static int32_t offsets[ROWS + 1];
  static char letters[ROWS];
  volley_array texts = {.size = sizeof texts, .type = "utf8", .length = ROWS, .values = letters, .offsets = offsets};
  const char* names[] = {"x", "w", "c", "y"};
  volley_column *columns[4], *c;
  volley_table* t;
  for (int i = 0; i < ROWS; i++) {
    xs[i] = (float)i, ws[i] = i >= ROWS / 2, ys[i] = i % 3;
    letters[i] = (char)('a' + i % 4);
    offsets[i + 1] = i + 1;
  }
  OK(volley_column_wrap(&texts, NULL, NULL, &c));
  columns[0] = wrap("float32", xs, ROWS, NULL);
  columns[1] = wrap("int64", ws, ROWS, NULL);
  columns[2] = c;
  columns[3] = wrap("int64", ys, ROWS, NULL);
  OK(volley_table_new(NULL, names, (const volley_column* const*)columns, 4, NULL, &t));
  for (int i = 0; i < 4; i++) OK(volley_column_free(columns[i]));
  return t;
}

/* The numbers of the rows of one epoch, in their order. */
static int64_t epoch(volley_loader* l, int64_t* rows, int64_t room) {
  int64_t n = 0;
  for (;;) {
    volley_batch* b;
    struct DLManagedTensor* t;
    OK(volley_loader_next(l, NULL, &b));
    if (!b) break;
    OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_ROWS, NULL, 0, &t));
    OK(volley_batch_free(b));
    CHECK(n + t->t.shape[0] <= room);
    if (t->t.shape[0]) memcpy(rows + n, t->t.data, (size_t)t->t.shape[0] * sizeof *rows);
    n += t->t.shape[0];
    t->deleter(t);
  }
  OK(volley_loader_free(l));
  return n;
}

static void each_once(const int64_t* rows, int64_t n) {
  int seen[ROWS] = {0};
  CHECK(n == ROWS);
  for (int64_t i = 0; i < n; i++) seen[rows[i]]++;
  for (int i = 0; i < ROWS; i++) CHECK(seen[i] == 1);
}

static const char* const x[] = {"x"};

static void test_orders(const volley_table* t, const char* const* paths) {
  volley_loader_options o = {.size = sizeof o, .features = x, .features_count = 1, .batch = BATCH, .seed = 5, .epochs = 1, .shuffle = 1};
  volley_loader* l;
  int64_t rows[ROWS], again[ROWS], n;
  int changes = 0;
  o.shuffle_by = "blocks+buffer";
  o.buffer = 2 * GROUP;
  OK(volley_loader_open_files(paths, 1, NULL, &o, NULL, &l));
  each_once(rows, epoch(l, rows, ROWS));
  for (int i = 1; i < 2 * GROUP; i++) changes += rows[i] / GROUP != rows[0] / GROUP && rows[i] / GROUP != rows[1] / GROUP;
  CHECK(changes < 2 * GROUP && (rows[0] != 0 || rows[1] != 1)); /* the rows of two parts, shuffled */
  FAILS(VOLLEY_MISMATCH, "blocks+buffer is for files", volley_loader_open(t, &o, NULL, &l));
  o.shuffle_by = "rows";
  OK(volley_loader_open_files(paths, 1, NULL, &o, NULL, &l));
  each_once(rows, epoch(l, rows, ROWS));
  OK(volley_loader_open(t, &o, NULL, &l));
  n = epoch(l, again, ROWS);
  CHECK(memcmp(rows, again, (size_t)n * sizeof *rows) == 0); /* the table's order */
  o.shuffle_by = "luck";
  FAILS(VOLLEY_MISMATCH, "luck", volley_loader_open(t, &o, NULL, &l));
  o.shuffle_by = NULL;
  o.weights = "w";
  FAILS(VOLLEY_MISMATCH, "one can be given", volley_loader_open(t, &o, NULL, &l));
  o.shuffle = 0;
  o.draws = 320;
  OK(volley_loader_open_files(paths, 1, NULL, &o, NULL, &l));
  n = epoch(l, rows, ROWS);
  CHECK(n == 320);
  for (int64_t i = 0; i < n; i++) CHECK(rows[i] >= ROWS / 2); /* rows of weight 0 do not come */
  o.weights = "c";
  FAILS(VOLLEY_UNSUPPORTED, "c", volley_loader_open(t, &o, NULL, &l));
  o.weights = NULL;
  FAILS(VOLLEY_MISMATCH, "draws", volley_loader_open(t, &o, NULL, &l));
  o.draws = 0;
  o.stratify = "c";
  OK(volley_loader_open(t, &o, NULL, &l));
  each_once(rows, epoch(l, rows, ROWS));
  for (int i = 0; i < ROWS; i += 4) {
    int of[4] = {0};
    for (int k = 0; k < 4; k++) of[rows[i + k] % 4]++;
    CHECK(of[0] <= 2 && of[1] <= 2 && of[2] <= 2 && of[3] <= 2);
  }
  o.stratify = NULL;
  o.group = "y";
  OK(volley_loader_open_files(paths, 1, NULL, &o, NULL, &l));
  each_once(rows, epoch(l, rows, ROWS));
  changes = 0;
  for (int i = 1; i < ROWS; i++) changes += rows[i] % 3 != rows[i - 1] % 3;
  CHECK(changes == 2);
  o.group = "x";
  FAILS(VOLLEY_UNSUPPORTED, "classes are", volley_loader_open(t, &o, NULL, &l));
}

static void test_encodings(const volley_table* t) {
  const char *letters[] = {"a", "b", "c", "d"}, *digits[] = {"0", "1", "2"}, *labels[] = {"y"};
  volley_encoding encodings[] = {{.column = "c", .kind = "one_hot", .values = letters, .values_count = 4},
                                 {.column = "y", .kind = "categories", .values = digits, .values_count = 2, .lenient = 1}};
  volley_loader_options o = {.size = sizeof o, .labels = labels, .labels_count = 1, .batch = 8, .encodings = encodings, .encodings_count = 2,
                             .type = "bfloat16", .group = "w"};
  volley_loader* l;
  volley_batch* b;
  struct DLManagedTensor *f, *y, *none;
  OK(volley_loader_open(t, &o, NULL, &l));
  OK(volley_loader_next(l, NULL, &b));
  OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_FEATURES, NULL, 0, &f));
  OK(volley_batch_to_dlpack(b, VOLLEY_BATCH_LABELS, NULL, 0, &y));
  FAILS(VOLLEY_MISMATCH, "no feature", volley_batch_to_dlpack(b, VOLLEY_BATCH_OFFSETS, "c", 0, &none));
  CHECK(f->t.code == 4 && f->t.bits == 16 && f->t.ndim == 2 && f->t.shape[1] == 5); /* x and c; w is the group */
  CHECK(y->t.code == 2 && y->t.bits == 32);
  for (int64_t i = 0; i < 8; i++) {
    const uint16_t* row = (const uint16_t*)f->t.data + f->t.strides[0] * i;
    uint32_t bits = (uint32_t)row[0] << 16;
    float number;
    int64_t r;
    memcpy(&number, &bits, sizeof number);
    r = (int64_t)number;
    CHECK(r < 256); /* which bfloat16 holds exactly: the groups are 0…199 and 200…399 */
    for (int64_t k = 0; k < 4; k++) CHECK(row[1 + k] == (r % 4 == k ? 0x3f80 : 0));
    CHECK(((const float*)y->t.data)[i] == (r % 3 == 2 ? -1.0f : (float)(r % 3)));
  }
  f->deleter(f);
  y->deleter(y);
  OK(volley_batch_free(b));
  OK(volley_loader_free(l));
  o.type = "float16";
  encodings[1].lenient = 0;
  o.workers = -1;
  OK(volley_loader_open(t, &o, NULL, &l));
  FAILS(VOLLEY_VALUE, "in no category", volley_loader_next(l, NULL, &b));
  OK(volley_loader_free(l));
  encodings[1].kind = "hashed";
  FAILS(VOLLEY_MISMATCH, "hashed", volley_loader_open(t, &o, NULL, &l));
  encodings[1] = encodings[0];
  FAILS(VOLLEY_MISMATCH, "two encodings", volley_loader_open(t, &o, NULL, &l));
  encodings[1].column = NULL;
  FAILS(VOLLEY_MISMATCH, "NULL", volley_loader_open(t, &o, NULL, &l));
  encodings[1].column = "y";
  encodings[1].kind = "padded";
  FAILS(VOLLEY_MISMATCH, "length", volley_loader_open(t, &o, NULL, &l));
  encodings[1].length = 3;
  FAILS(VOLLEY_UNSUPPORTED, "cannot be encoded", volley_loader_open(t, &o, NULL, &l));
}

static void test_files_of(const char* folder, const char* const* parquet) {
  volley_loader_options o = {.size = sizeof o, .features = x, .features_count = 1, .batch = BATCH, .epochs = 1};
  volley_file_options f = {.size = sizeof f, .cache = -1};
  volley_csv_options csv = {.size = sizeof csv, .delimiter = ";"};
  volley_loader_figures figures = {.size = sizeof figures};
  volley_loader* l;
  volley_batch* b;
  char path[1024];
  const char* paths[] = {path, parquet[0]};
  int64_t rows[ROWS], n = 0;
  FILE* file;
  snprintf(path, sizeof path, "%s/rows.data", folder);
  CHECK((file = fopen(path, "w")) != NULL);
  CHECK(fputs("y;x\n", file) >= 0);
  for (int i = 0; i < 100; i++) CHECK(fprintf(file, "0;%d\n", i) > 0);
  CHECK(fclose(file) == 0);
  FAILS(VOLLEY_UNSUPPORTED, ".data", volley_loader_open_files(paths, 1, &f, &o, NULL, &l));
  f.format = "csv";
  f.csv = &csv;
  OK(volley_loader_open_files(paths, 1, &f, &o, NULL, &l));
  n = epoch(l, rows, ROWS);
  CHECK(n == 100 && rows[99] == 99);
  f.format = "xml";
  FAILS(VOLLEY_MISMATCH, "xml", volley_loader_open_files(paths, 1, &f, &o, NULL, &l));
  f.format = NULL;
  f.csv = NULL;
  {
    volley_scan_options scan = {sizeof scan, "s", 0, 0};
    f.scan = &scan;
    FAILS(VOLLEY_MISMATCH, "Int96", volley_loader_open_files(parquet, 1, &f, &o, NULL, &l));
    scan.int96 = "us";
    OK(volley_loader_open_files(parquet, 1, &f, &o, NULL, &l));
    OK(volley_loader_free(l));
    scan.size = 3;
    FAILS(VOLLEY_MISMATCH, "size", volley_loader_open_files(parquet, 1, &f, &o, NULL, &l));
    f.scan = NULL;
  }
  snprintf(path, sizeof path, "%s/none*.parquet", folder);
  FAILS(VOLLEY_NOT_FOUND, "none*", volley_loader_open_files(paths, 1, &f, &o, NULL, &l));
  snprintf(path, sizeof path, "%s/other.csv", folder);
  FAILS(VOLLEY_MISMATCH, "one format", volley_loader_open_files(paths, 2, &f, &o, NULL, &l));
  FAILS(VOLLEY_MISMATCH, "no paths", volley_loader_open_files(paths, 0, &f, &o, NULL, &l));
  o.take = 1;
  FAILS(VOLLEY_MISMATCH, "take is of a table", volley_loader_open_files(parquet, 1, NULL, &o, NULL, &l));
  o.take = 0;
  FAILS(VOLLEY_MISMATCH, "options is NULL", volley_loader_open_files(paths, 1, &f, NULL, NULL, &l));

  CHECK((file = fopen(parquet[0], "r+b")) != NULL); /* a byte of the first row group */
  CHECK(fseek(file, 40, SEEK_SET) == 0);
  for (int i = 0; i < 64; i++) CHECK(fputc(0xff, file) == 0xff);
  CHECK(fclose(file) == 0);
  OK(volley_loader_open_files(parquet, 1, NULL, &o, NULL, &l));
  CHECK(volley_loader_next(l, NULL, &b) < 0 && strstr(volley_last_error()->message, "row group") != NULL);
  OK(volley_loader_free(l));
  o.skip_bad = 1;
  OK(volley_loader_open_files(parquet, 1, NULL, &o, NULL, &l));
  n = 0;
  for (;;) {
    volley_batch_info info = {.size = sizeof info};
    OK(volley_loader_next(l, NULL, &b));
    if (!b) break;
    OK(volley_batch_describe(b, &info));
    OK(volley_batch_free(b));
    n += info.rows;
  }
  OK(volley_loader_stats(l, &figures));
  CHECK(n == ROWS - GROUP && figures.skipped == GROUP && figures.rows == n);
  OK(volley_loader_free(l));
}

void test_loader_sources(const char* folder) {
  volley_table* t = made();
  volley_write_options writing = {.size = sizeof writing, .row_group_rows = GROUP, .compression = "none"};
  char path[1024];
  const char* paths[] = {path};
  snprintf(path, sizeof path, "%s/loader.parquet", folder);
  OK(volley_table_write(t, path, &writing, NULL));
  test_orders(t, paths);
  test_encodings(t);
  test_files_of(folder, paths);
  OK(volley_table_free(t));
}
