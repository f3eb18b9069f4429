/* What the tests of the C interface share. A check that fails ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "volley.h"

#define CHECK(condition)                                                                                          \
  do {                                                                                                            \
    if (!(condition)) {                                                                                           \
      fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, volley_last_error()->message); \
      exit(1);                                                                                                    \
    }                                                                                                             \
  } while (0)

#define OK(call) CHECK((call) == VOLLEY_OK)

/* The call fails with the status, and the message has the text in it. */
#define FAILS(expected, text, call)                             \
  do {                                                          \
    CHECK((call) == (expected));                                \
    CHECK(volley_last_error()->status == (expected));           \
    CHECK(strstr(volley_last_error()->message, text) != NULL);  \
  } while (0)

#define COUNT(list) (int64_t)(sizeof(list) / sizeof *(list))

/* DLPack as dlpack.h has it, for what is looked at here. */
typedef struct {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;
struct DLManagedTensor {
  Tensor t;
  void* context;
  void (*deleter)(struct DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  Tensor t;
};

/* A column over an array of C that outlives it. */
volley_column* wrap(const char* type, const void* values, int64_t length, const uint8_t* validity);
/* The values of a column that has no nulls. */
const void* values(const volley_column* column, const char* type, int64_t length);
/* Expressions that are freed by free_expressions. */
volley_expr* column(const char* name);
volley_expr* parsed(const char* text);
void free_expressions(void);
/* key (1 2 1 3), amount (10 20 30 null), name (a b c d) */
volley_table* sample(void);
/* A column of a table, checked like values. Valid until the next call. */
const void* table_values(const volley_table* table, const char* name, const char* type, int64_t length);

void test_library(void);
void test_columns(void);
void test_arrow(void);
void test_addresses(void);
void test_dlpack(void);
void test_tables(void);
void test_guide(void);
void test_files(const char* folder);
void test_kernels(void);
void test_loader(void);
/* Loaders over files, which are made in the folder. */
void test_loader_sources(const char* folder);
/* Loaders over streams of record batches. */
void test_loader_batches(void);
/* Functions of the program, derived columns, pinned memory. */
void test_loader_columns(void);
/* Batches on a device, by its name. */
void test_loader_device(const char* name);
void test_loader_batches_device(const char* name);
void test_tokens(void);
void test_bad_input(void);
void test_threads(void);
/* A query that would take minutes. */
volley_query* endless(void);
/* Functions of the program, on the devices too. */
void test_functions(int count, char** devices);
void test_progress(void);
/* Callbacks for a package of Python. */
void test_python(void);
/* Lists of Python's values as columns. */
void test_python_lists(void);
/* The limit of host memory. */
void test_memory(void);
/* Every function with wrong arguments; with a device too, where one is there. */
void test_wrong_calls(int count, char** devices);
void test_comm(const char* folder);
/* What they refuse, and tokens whose call is pending. */
void test_refused(const char* folder);
/* Parts of groups and larger ones, algorithms, fused reductions. */
void test_groups(const char* folder);
/* Gangs. */
void test_gangs(void);
/* Tables on ranks. */
void test_distributed(const char* folder);
/* Collective operations and products of matrices on a device, by its name. */
void test_vectors(const char* folder, const char* name);
void test_matrices(const char* name);
void test_fork(void);
/* Everything that works on a device, by its name. */
void test_device(const char* name);
void test_between(const char* from, const char* to);
/* Memory and events of the driver's own: of CUDA, of OpenCL. */
void test_foreign(const char* name);

#endif
