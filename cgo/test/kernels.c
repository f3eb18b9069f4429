#include "check.h"

static void test_gemv(void) {
  const float a[] = {1, 2, 3, 4, 5, 6}, x[] = {1, 9, 10}, wide[] = {1, 0, 9, 0, 10, 0};
  float y[] = {100, 100, 100};
  const double square[] = {1, 2, 3, 4}, ones[] = {1, 1};
  double z[] = {5, 5};
  OK(volley_sgemv(NULL, 0, 2, 3, 2, a, 3, x, 1, 1, y, 1, NULL)); /* 1 + 18 + 30 and 4 + 45 + 60, twice, beside 100 */
  CHECK(y[0] == 198 && y[1] == 318 && y[2] == 100);
  OK(volley_sgemv(NULL, 1, 2, 3, 1, a, 3, x, 1, 0, y, 1, NULL));
  CHECK(y[0] == 37 && y[1] == 47 && y[2] == 57);
  OK(volley_sgemv(NULL, 0, 2, 3, 1, a, 3, wide, 2, 0, y, 2, NULL));
  CHECK(y[0] == 49 && y[1] == 47 && y[2] == 109);
  OK(volley_dgemv(NULL, 1, 2, 2, 1, square, 2, ones, 1, -1, z, 1, NULL));
  CHECK(z[0] == -1 && z[1] == 1);
  FAILS(VOLLEY_MISMATCH, "volley_sgemv: ", volley_sgemv(NULL, 0, 2, 3, 1, a, 2, x, 1, 0, y, 1, NULL));
  FAILS(VOLLEY_MISMATCH, "x is NULL", volley_sgemv(NULL, 0, 2, 3, 1, a, 3, NULL, 1, 0, y, 1, NULL));
  FAILS(VOLLEY_MISMATCH, "y is", volley_sgemv(NULL, 0, 2, 3, 1, a, 3, x, 1, 0, y, 0, NULL));
  FAILS(VOLLEY_MISMATCH, "overlaps", volley_dgemv(NULL, 0, 2, 2, 1, square, 2, z, 1, 0, z, 1, NULL));
}

static void test_cumulative(void) {
  static const int64_t data[] = {3, 1, 0, 2};
  static const int8_t small[] = {100, 27, 1};
  static const uint8_t valid[] = {0x0b}; /* the third is null */
  volley_cumulative_options options = {.size = sizeof options};
  volley_column *c = wrap("int64", data, 4, valid), *bytes = wrap("int8", small, 3, NULL), *words = wrap("bool", small, 4, NULL), *r;
  volley_array view = {.size = sizeof view};
  volley_token* token;
  int64_t nulls;
  const int64_t* sums;
  OK(volley_cumulative(NULL, c, "sum", NULL, NULL, &r));
  OK(volley_column_null_count(r, &nulls));
  OK(volley_column_view(r, &view));
  sums = view.values;
  CHECK(nulls == 1 && sums[0] == 3 && sums[1] == 4 && sums[3] == 6);
  OK(volley_column_free(r));
  options.keep_nulls = 1;
  OK(volley_cumulative(NULL, c, "max", &options, NULL, &r));
  OK(volley_column_null_count(r, &nulls));
  CHECK(nulls == 2);
  OK(volley_column_free(r));
  options.keep_nulls = 0;
  options.exclusive = 1;
  OK(volley_cumulative(NULL, bytes, "product", &options, NULL, &r));
  CHECK(((const int8_t*)values(r, "int8", 3))[0] == 1 && ((const int8_t*)values(r, "int8", 3))[1] == 100);
  OK(volley_column_free(r));
  options.exclusive = 0;
  OK(volley_cumulative(NULL, bytes, "min", &options, NULL, &r));
  CHECK(((const int8_t*)values(r, "int8", 3))[2] == 1);
  OK(volley_column_free(r));
  OK(volley_cumulative(NULL, bytes, "sum", &options, NULL, &r)); /* it wraps */
  CHECK(((const int8_t*)values(r, "int8", 3))[2] == -128);
  OK(volley_column_free(r));
  options.checked = 1;
  FAILS(VOLLEY_VALUE, "row 2", volley_cumulative(NULL, bytes, "sum", &options, NULL, &r));
  FAILS(VOLLEY_MISMATCH, "\"mean\"", volley_cumulative(NULL, bytes, "mean", NULL, NULL, &r));
  FAILS(VOLLEY_UNSUPPORTED, "bool", volley_cumulative(NULL, words, "sum", NULL, NULL, &r));
  FAILS(VOLLEY_MISMATCH, "column is NULL", volley_cumulative(NULL, NULL, "sum", NULL, NULL, &r));
  OK(volley_token_new(0, &token));
  OK(volley_token_cancel(token));
  FAILS(VOLLEY_CANCELED, "volley_cumulative", volley_cumulative(NULL, c, "sum", NULL, token, &r));
  OK(volley_token_free(token));
  OK(volley_column_free(c));
  FAILS(VOLLEY_CLOSED, "freed", volley_cumulative(NULL, c, "sum", NULL, NULL, &r));
  OK(volley_column_free(bytes));
  OK(volley_column_free(words));
}

void test_kernels(void) {
  static const int64_t keys[] = {3, 1, 2, 1}, others[] = {1, 3, 9};
  static const double amounts[] = {0.5, 1, 2, 4};
  static const uint8_t bits[] = {0x0a}; /* false true false true */
  volley_column *key = wrap("int64", keys, 4, NULL), *amount = wrap("float64", amounts, 4, NULL), *mask = wrap("bool", bits, 4, NULL);
  volley_column *other = wrap("int64", others, 3, NULL), *rows, *result, *first, *sums[2], *left, *right;
  const volley_column *by[] = {key}, *inputs[] = {amount, NULL}, *with[] = {other};
  volley_aggregate aggregates[] = {{.op = "sum"}, {.op = "count"}};
  int32_t down = 1;
  OK(volley_filter(NULL, amount, mask, NULL, &result));
  CHECK(((const double*)values(result, "float64", 2))[1] == 4);
  OK(volley_column_free(result));
  OK(volley_sort(NULL, by, &down, NULL, 1, NULL, &rows));
  OK(volley_take(NULL, key, rows, NULL, &result));
  CHECK(((const int64_t*)values(result, "int64", 4))[0] == 3 && ((const int64_t*)values(result, "int64", 4))[1] == 2);
  OK(volley_column_free(rows));
  OK(volley_column_free(result));
  OK(volley_group(NULL, by, 1, aggregates, inputs, 2, NULL, NULL, &first, sums));
  CHECK(((const double*)values(sums[0], "float64", 3))[1] == 5);
  CHECK(((const int64_t*)values(sums[1], "int64", 3))[1] == 2);
  OK(volley_column_free(first));
  OK(volley_column_free(sums[0]));
  OK(volley_column_free(sums[1]));
  OK(volley_join(NULL, by, with, 1, "inner", NULL, NULL, &left, &right));
  CHECK(((const uint32_t*)values(left, "uint32", 3))[2] == 3 && ((const uint32_t*)values(right, "uint32", 3))[0] == 1);
  OK(volley_column_free(left));
  OK(volley_column_free(right));
  OK(volley_join(NULL, by, with, 1, "anti", NULL, NULL, &left, NULL));
  CHECK(((const uint32_t*)values(left, "uint32", 1))[0] == 2);
  OK(volley_column_free(left));
  FAILS(VOLLEY_MISMATCH, "out_right", volley_join(NULL, by, with, 1, "left", NULL, NULL, &left, NULL));
  FAILS(VOLLEY_MISMATCH, "", volley_filter(NULL, other, mask, NULL, &result));
  FAILS(VOLLEY_UNSUPPORTED, "mode", (aggregates[0].op = "mode", volley_group(NULL, by, 1, aggregates, inputs, 2, NULL, NULL, &first, sums)));
  OK(volley_column_free(key));
  OK(volley_column_free(amount));
  OK(volley_column_free(mask));
  OK(volley_column_free(other));

  {
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1};
    float c[] = {100, 100, 100, 100};
    const double x[] = {1, 2, 3, 4};
    double y[] = {0, 0, 0, 0};
    OK(volley_sgemm(NULL, 0, 0, 2, 2, 3, 2, a, 3, b, 2, 1, c, 2, NULL));
    CHECK(c[0] == 108 && c[1] == 110 && c[2] == 120 && c[3] == 122);
    OK(volley_dgemm(NULL, 1, 0, 2, 2, 2, 1, x, 2, x, 2, 0, y, 2, NULL));
    CHECK(y[0] == 10 && y[1] == 14 && y[2] == 14 && y[3] == 20);
    FAILS(VOLLEY_MISMATCH, "a is 2 × 3", volley_sgemm(NULL, 0, 0, 2, 2, 3, 1, a, 2, b, 2, 0, c, 2, NULL));
    FAILS(VOLLEY_MISMATCH, "a is NULL", volley_sgemm(NULL, 0, 0, 2, 2, 3, 1, NULL, 3, b, 2, 0, c, 2, NULL));
  }
  test_gemv();
  test_cumulative();
}
