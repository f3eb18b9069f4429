/* Matrices: products with vectors and transposes, on any device. */
#include "check.h"

/* A matrix over an array of C, which outlives it. */
static struct DLManagedTensor tensor;
static int64_t shape[2];

static volley_matrix* over(const double* data, int64_t rows, int64_t columns) {
  volley_matrix* m;
  memset(&tensor, 0, sizeof tensor);
  shape[0] = rows;
  shape[1] = columns;
  tensor.t.data = (void*)data;
  tensor.t.device_type = 1;
  tensor.t.ndim = 2;
  tensor.t.code = 2;
  tensor.t.bits = 64;
  tensor.t.lanes = 1;
  tensor.t.shape = shape;
  OK(volley_matrix_from_dlpack(&tensor, &m));
  return m;
}

/* The values of a column, wherever it is; it is freed. */
static void holds(volley_column* c, const volley_device* host, const double* expected, int64_t n) {
  volley_column* near;
  OK(volley_column_to(c, host, NULL, &near));
  CHECK(memcmp(values(near, "float64", n), expected, (size_t)n * sizeof *expected) == 0);
  OK(volley_column_free(near));
  OK(volley_column_free(c));
}

static void is_at(volley_device* d, const char* name) {
  char* text;
  OK(volley_device_name(d, &text));
  CHECK(strcmp(text, name) == 0);
  volley_string_free(text);
  OK(volley_device_free(d));
}

static void test_product(const volley_device* d, const volley_device* host, const volley_matrix* m, const char* where) {
  static const double x[] = {1, 10, 100}, two[] = {1, 2}, y[] = {1000, 2000}, turned[] = {9, 12, 15}, plain[] = {321, 654}, added[] = {1642, 3308};
  volley_column *vx = wrap("float64", x, 3, NULL), *vy = wrap("float64", y, 2, NULL), *ints = wrap("int64", x, 3, NULL), *made;
  volley_device* at;
  OK(volley_matrix_gemv(d, 0, 1, m, vx, 0, NULL, NULL, &made));
  OK(volley_column_device(made, &at));
  is_at(at, where);
  holds(made, host, plain, 2);
  OK(volley_matrix_gemv(d, 0, 2, m, vx, 1, vy, NULL, &made));
  holds(made, host, added, 2);
  CHECK(((const double*)values(vy, "float64", 2))[0] == 1000); /* it is not written to */
  OK(volley_column_free(vx));
  vx = wrap("float64", two, 2, NULL);
  OK(volley_matrix_gemv(d, 1, 1, m, vx, 0, NULL, NULL, &made));
  holds(made, host, turned, 3);
  FAILS(VOLLEY_MISMATCH, "x has 2 elements", volley_matrix_gemv(d, 0, 1, m, vx, 0, NULL, NULL, &made));
  FAILS(VOLLEY_MISMATCH, "y is NULL", volley_matrix_gemv(d, 1, 1, m, vx, 1, NULL, NULL, &made));
  FAILS(VOLLEY_MISMATCH, "y has 2 elements", volley_matrix_gemv(d, 1, 1, m, vx, 1, vy, NULL, &made));
  FAILS(VOLLEY_MISMATCH, "x is of int64", volley_matrix_gemv(d, 0, 1, m, ints, 0, NULL, NULL, &made));
  OK(volley_column_free(vx));
  OK(volley_column_free(vy));
  OK(volley_column_free(ints));
}

/* Work that is enqueued: what it makes is waited for by whoever reads it. */
static void test_on_stream(const volley_device* d, const volley_device* host, const volley_matrix* there) {
  static const double x[] = {1, 10}, y[] = {1, 1, 1}, sums[] = {1, 11}, product[] = {42, 53, 64}, mixed[] = {7, 25}, chained[] = {340, 817};
  volley_column *vx = wrap("float64", x, 2, NULL), *vy = wrap("float64", y, 3, NULL), *far, *made, *again;
  volley_device* through;
  volley_matrix* t;
  volley_stream* s;
  OK(volley_stream_new(d, &s));
  OK(volley_stream_device(s, &through));
  OK(volley_column_to(vx, through, NULL, &far));
  OK(volley_matrix_gemv(through, 1, 1, there, far, 1, vy, NULL, &made)); /* 1 + 40 + 1, 2 + 50 + 1, 3 + 60 + 1 */
  OK(volley_matrix_transpose(through, there, NULL, &t));
  OK(volley_matrix_gemv(through, 1, 1, t, made, 0, NULL, NULL, &again)); /* of its transpose is that of the matrix, of what is being made */
  OK(volley_column_free(vy));
  OK(volley_column_free(far));
  holds(made, host, product, 3);
  holds(again, host, chained, 2);
  OK(volley_column_to(vx, through, NULL, &far));
  OK(volley_cumulative(through, far, "sum", NULL, NULL, &made));
  OK(volley_column_free(far));
  holds(made, host, sums, 2);
  vy = wrap("float64", y, 3, NULL);
  OK(volley_matrix_gemv(through, 1, 1, t, vy, 1, vx, NULL, &made)); /* 6 + 1, 15 + 10 */
  OK(volley_matrix_free(t));
  OK(volley_stream_free(s));
  OK(volley_device_free(through));
  holds(made, host, mixed, 2);
  OK(volley_column_free(vx));
  OK(volley_column_free(vy));
}

void test_matrices(const char* name) {
  static const double data[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6};
  volley_device *d, *host, *at;
  volley_matrix *near = over(data, 2, 3), *there, *t, *back;
  struct DLManagedTensor* out;
  int64_t rows, columns;
  OK(volley_device_open(name, &d));
  OK(volley_device_open("cpu", &host));
  OK(volley_matrix_to(near, d, NULL, &there));
  test_product(d, host, near, "cpu");
  test_product(d, host, there, name);
  test_on_stream(d, host, there);
  for (int i = 0; i < 2; i++) {
    OK(volley_matrix_transpose(d, i == 0 ? near : there, NULL, &t));
    OK(volley_matrix_shape(t, &rows, &columns));
    CHECK(rows == 3 && columns == 2);
    OK(volley_matrix_device(t, &at));
    is_at(at, i == 0 ? "cpu" : name);
    OK(volley_matrix_to(t, host, NULL, &back));
    OK(volley_matrix_to_dlpack(back, &out));
    CHECK(memcmp((const char*)out->t.data + out->t.byte_offset, turned, sizeof turned) == 0);
    out->deleter(out);
    OK(volley_matrix_free(back));
    OK(volley_matrix_free(t));
  }
  OK(volley_matrix_free(there));
  OK(volley_matrix_free(near));
  FAILS(VOLLEY_CLOSED, "matrix was freed", volley_matrix_transpose(d, near, NULL, &t));
  OK(volley_device_free(d));
  OK(volley_device_free(host));
}
