/* Collective operations on a device's memory, between two ranks, which are two threads here. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

static char address[600];
static const char* device_name;
static atomic_int past; /* ranks that have come out of the barrier */

typedef struct {
  int64_t rank;
  volley_comm* comm;
  volley_device *there, *host;
} Me;

/* A vector on the device of the values, to be read. */
static volley_vector* given(const Me* me, const int64_t* data, int64_t n) {
  volley_column *near, *far;
  volley_vector* v;
  volley_array array = {.size = sizeof array, .type = "int64", .length = n, .values = data};
  OK(volley_column_wrap(&array, NULL, NULL, &near));
  OK(volley_column_to(near, me->there, NULL, &far));
  OK(volley_vector_from_column(far, &v));
  OK(volley_column_free(near));
  OK(volley_column_free(far)); /* the vector keeps its memory */
  return v;
}

static volley_vector* room(const Me* me, int64_t n) {
  volley_vector* v;
  OK(volley_vector_new(me->there, "int64", n, &v));
  return v;
}

/* What is in a vector, which is on the device; it is freed. */
static int holds(const Me* me, volley_vector* v, const int64_t* expected, int64_t n) {
  volley_column *c, *near;
  volley_device* at;
  char* name;
  int64_t length;
  int same;
  OK(volley_vector_length(v, &length));
  CHECK(length == n);
  OK(volley_vector_to_column(v, &c));
  OK(volley_vector_free(v));
  OK(volley_column_device(c, &at));
  OK(volley_device_name(at, &name));
  CHECK(strcmp(name, device_name) == 0);
  volley_string_free(name);
  OK(volley_device_free(at));
  OK(volley_column_to(c, me->host, NULL, &near));
  same = memcmp(values(near, "int64", n), expected, (size_t)n * sizeof *expected) == 0;
  OK(volley_column_free(near));
  OK(volley_column_free(c));
  return same;
}

static void reductions(const Me* me) {
  const int64_t own[] = {me->rank + 1, 10, 20 + me->rank, me->rank}, sums[] = {3, 20, 41, 1}, products[] = {2, 100, 420, 0};
  const int64_t counts[] = {1, 3}, *mine = me->rank == 0 ? sums : sums + 1;
  volley_vector *from = given(me, own, 4), *to = room(me, 4);
  volley_request* request;
  OK(volley_vector_all_reduce(me->comm, from, to, "sum", NULL));
  CHECK(holds(me, to, sums, 4));
  to = room(me, 4);
  OK(volley_vector_start_all_reduce(me->comm, from, to, "sum", &request));
  OK(volley_request_wait(request, NULL));
  OK(volley_request_free(request));
  CHECK(holds(me, to, sums, 4));
  to = room(me, 4);
  OK(volley_vector_reduce(me->comm, from, me->rank == 1 ? to : NULL, "prod", 1, NULL));
  CHECK(me->rank == 0 ? volley_vector_free(to) == VOLLEY_OK : holds(me, to, products, 4));
  to = room(me, 2);
  OK(volley_vector_reduce_scatter(me->comm, from, to, NULL, "sum", NULL));
  CHECK(holds(me, to, sums + 2 * me->rank, 2));
  to = room(me, counts[me->rank]);
  OK(volley_vector_reduce_scatter(me->comm, from, to, counts, "sum", NULL));
  CHECK(holds(me, to, mine, counts[me->rank]));
  OK(volley_vector_free(from));
}

static void movements(const Me* me) {
  const int64_t zero[] = {1, 2, 3, 4}, one[] = {5, 6, 7, 8}, *own = me->rank == 0 ? zero : one, counts[] = {1, 3};
  const int64_t all[] = {1, 2, 3, 4, 5, 6, 7, 8}, some[] = {1, 5, 6, 7}, halves[2][4] = {{1, 2, 5, 6}, {3, 4, 7, 8}};
  const int64_t sends[2][2] = {{1, 3}, {2, 2}}, receives[2][2] = {{1, 2}, {3, 2}}, mixed[2][5] = {{1, 5, 6}, {2, 3, 4, 7, 8}};
  volley_vector *from = given(me, own, 4), *part = given(me, own, counts[me->rank]), *to = room(me, 4);
  OK(volley_vector_broadcast(me->comm, me->rank == 1 ? from : NULL, to, 1, NULL));
  CHECK(holds(me, to, one, 4));
  to = room(me, 8);
  OK(volley_vector_all_gather(me->comm, from, to, NULL, NULL));
  CHECK(holds(me, to, all, 8));
  to = room(me, 4);
  OK(volley_vector_all_gather(me->comm, part, to, counts, NULL));
  CHECK(holds(me, to, some, 4));
  to = room(me, 8);
  OK(volley_vector_gather(me->comm, from, me->rank == 0 ? to : NULL, NULL, 0, NULL));
  CHECK(me->rank == 1 ? volley_vector_free(to) == VOLLEY_OK : holds(me, to, all, 8));
  to = room(me, 4);
  OK(volley_vector_gather(me->comm, part, me->rank == 0 ? to : NULL, counts, 0, NULL));
  CHECK(me->rank == 1 ? volley_vector_free(to) == VOLLEY_OK : holds(me, to, some, 4));
  to = room(me, 2);
  OK(volley_vector_scatter(me->comm, me->rank == 1 ? from : NULL, to, NULL, 1, NULL));
  CHECK(holds(me, to, one + 2 * me->rank, 2));
  to = room(me, counts[me->rank]);
  OK(volley_vector_scatter(me->comm, me->rank == 1 ? from : NULL, to, counts, 1, NULL));
  CHECK(holds(me, to, one + me->rank, counts[me->rank]));
  to = room(me, 4);
  OK(volley_vector_all_to_all(me->comm, from, to, NULL, NULL, NULL));
  CHECK(holds(me, to, halves[me->rank], 4));
  to = room(me, 3 + 2 * me->rank);
  OK(volley_vector_all_to_all(me->comm, from, to, sends[me->rank], receives[me->rank], NULL));
  CHECK(holds(me, to, mixed[me->rank], 3 + 2 * me->rank));
  if (me->rank == 0) {
    OK(volley_vector_send(me->comm, from, 1, NULL));
  } else {
    to = room(me, 4);
    OK(volley_vector_receive(me->comm, to, 0, NULL));
    CHECK(holds(me, to, zero, 4));
  }
  OK(volley_vector_free(part));
  OK(volley_vector_free(from));
}

/* Tensors of a device's memory, which are written to in place. */
static void tensors(const Me* me) {
  double data[] = {0.5, 1.5, 2.5};
  volley_array array = {.size = sizeof array, .type = "float64", .length = 3, .values = data};
  struct DLManagedTensorVersioned* versioned;
  struct DLManagedTensor* plain;
  volley_column *near, *far, *copy;
  volley_vector *v, *w;
  OK(volley_column_wrap(&array, NULL, NULL, &near));
  OK(volley_column_to(near, me->there, NULL, &far));
  OK(volley_column_to_dlpack_versioned(far, &versioned));
  OK(volley_vector_from_dlpack_versioned(versioned, &v));
  FAILS(VOLLEY_MISMATCH, "to must not be written to", volley_vector_all_reduce(me->comm, v, v, "sum", NULL));
  OK(volley_column_to_dlpack(far, &plain)); /* which says nothing about that: nobody else looks at the column */
  OK(volley_vector_from_dlpack(plain, &w));
  OK(volley_vector_all_reduce(me->comm, v, w, "sum", NULL));
  OK(volley_vector_free(v));
  OK(volley_vector_free(w));
  OK(volley_column_to(far, me->host, NULL, &copy));
  CHECK(((const double*)values(copy, "float64", 3))[2] == 5);
  OK(volley_column_free(copy));
  OK(volley_column_free(far));
  OK(volley_column_free(near));
}

static void refused(const Me* me) {
  static const uint8_t valid[] = {1};
  const int64_t own[] = {1, 2};
  volley_column *nulls = wrap("int64", own, 2, valid), *times = wrap("timestamp[us]", own, 2, NULL);
  volley_vector *from = given(me, own, 2), *short_one = room(me, 1), *to = room(me, 2), *none;
  char rank[16], *text;
  snprintf(rank, sizeof rank, "rank %d", (int)me->rank);
  FAILS(VOLLEY_MISMATCH, "1 nulls", volley_vector_from_column(nulls, &none));
  FAILS(VOLLEY_MISMATCH, "timestamp", volley_vector_from_column(times, &none));
  FAILS(VOLLEY_MISMATCH, "\"text\"", volley_vector_new(me->there, "text", 2, &none));
  FAILS(VOLLEY_MISMATCH, "count is -1", volley_vector_new(me->there, "int8", -1, &none));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_vector_all_reduce(me->comm, NULL, to, "sum", NULL));
  FAILS(VOLLEY_MISMATCH, rank, volley_vector_all_reduce(me->comm, NULL, to, "sum", NULL));
  FAILS(VOLLEY_MISMATCH, "to must not be written to", volley_vector_all_reduce(me->comm, from, from, "sum", NULL));
  FAILS(VOLLEY_MISMATCH, "\"average\"", volley_vector_all_reduce(me->comm, from, to, "average", NULL));
  FAILS(VOLLEY_MISMATCH, "output 1", volley_vector_all_reduce(me->comm, from, short_one, "sum", NULL));
  FAILS(VOLLEY_MISMATCH, "receives is NULL", volley_vector_all_to_all(me->comm, from, to, own, NULL, NULL));
  OK(volley_vector_explain(me->comm, me->there, "int64", "sum", &text));
  CHECK(strstr(text, device_name));
  volley_string_free(text);
  FAILS(VOLLEY_MISMATCH, "\"average\"", volley_vector_explain(me->comm, me->there, "int64", "average", &text));
  OK(volley_vector_free(short_one));
  OK(volley_vector_free(from));
  FAILS(VOLLEY_CLOSED, "from was freed", volley_vector_send(me->comm, from, 0, NULL));
  OK(volley_vector_free(to));
  OK(volley_column_free(nulls));
  OK(volley_column_free(times));
}

/* A call with a token that is cancelled already begins all the same: the other rank, which would wait, hears of it. */
static void canceled(const Me* me) {
  const int64_t own[] = {1, 2};
  volley_vector *from = given(me, own, 2), *to = room(me, 2);
  volley_token* token;
  OK(volley_token_new(0, &token));
  OK(volley_token_cancel(token));
  if (me->rank == 1) {
    FAILS(VOLLEY_CANCELED, "volley_vector_all_reduce", volley_vector_all_reduce(me->comm, from, to, "sum", token));
  } else {
    FAILS(VOLLEY_FAULT, "rank 1", volley_vector_all_reduce(me->comm, from, to, "sum", NULL));
  }
  OK(volley_token_free(token));
  OK(volley_vector_free(from));
  OK(volley_vector_free(to));
}

static void* runs(void* rank) {
  Me me = {.rank = *(const int64_t*)rank};
  volley_comm_options o = {.size = sizeof o, .address = address, .rank = me.rank, .ranks = 2};
  OK(volley_comm_init(&o, NULL, &me.comm));
  OK(volley_device_open(device_name, &me.there));
  OK(volley_device_open("cpu", &me.host));
  reductions(&me);
  movements(&me);
  tensors(&me);
  refused(&me);
  OK(volley_comm_barrier(me.comm, NULL));
  /* What ends the group may reach a rank before the last message of the barrier does: the other one is to be out of it. */
  atomic_fetch_add(&past, 1);
  while (atomic_load(&past) < 2) sched_yield();
  canceled(&me);
  OK(volley_comm_free(me.comm));
  OK(volley_device_free(me.there));
  OK(volley_device_free(me.host));
  return NULL;
}

/* Where there is no NCCL, all ranks are told why. */
static void* asks_for_nccl(void* rank) {
  volley_comm_options o = {.size = sizeof o, .address = address, .rank = *(const int64_t*)rank, .ranks = 2, .deadline = 60000};
  volley_comm* c;
  volley_device* d;
  int64_t sum = 0;
  OK(volley_comm_init(&o, NULL, &c));
  OK(volley_device_open(strncmp(device_name, "cuda", 4) == 0 ? "cpu" : device_name, &d));
  FAILS(VOLLEY_UNAVAILABLE, "rank 0: ", volley_comm_use_nccl(c, d, NULL));
  FAILS(VOLLEY_UNAVAILABLE, "is no GPU of CUDA", volley_comm_use_nccl(c, d, NULL));
  OK(volley_comm_all_reduce(c, &o.rank, &sum, 1, "int64", "sum", NULL)); /* the group goes on */
  CHECK(sum == 1);
  OK(volley_comm_barrier(c, NULL));
  OK(volley_comm_free(c));
  OK(volley_device_free(d));
  return NULL;
}

static void both(const char* folder, const char* name, void* (*body)(void*)) {
  static const int64_t ranks[] = {0, 1};
  pthread_t other;
  snprintf(address, sizeof address, "file://%s/%s", folder, name);
  CHECK(pthread_create(&other, NULL, body, (void*)&ranks[1]) == 0);
  body((void*)&ranks[0]);
  pthread_join(other, NULL);
}

void test_vectors(const char* folder, const char* name) {
  device_name = name;
  atomic_store(&past, 0);
  both(folder, "vectors", runs);
  both(folder, "nccl", asks_for_nccl);
}
