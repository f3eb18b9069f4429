/* What calls on vectors of a group refuse, each on both ranks, which are two threads here: the group goes on behind every one. */
#include <pthread.h>

#include "check.h"

static char address[600];
static const char *type = "int64", *sum = "sum";

/* Types, reductions, NULLs, lengths and ranks. */
static void reductions(const volley_comm* c, int64_t me) {
  int64_t from[4] = {1, 2, 3, 4}, to[4], short_counts[2] = {1, 1}, negative[2] = {5, -1};
  FAILS(VOLLEY_MISMATCH, "\"text\"", volley_comm_all_reduce(c, from, to, 4, "text", sum, NULL));
  FAILS(VOLLEY_MISMATCH, "type is NULL", volley_comm_all_reduce(c, from, to, 4, NULL, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "\"average\"", volley_comm_all_reduce(c, from, to, 4, type, "average", NULL));
  FAILS(VOLLEY_MISMATCH, "op is NULL", volley_comm_all_reduce(c, from, to, 4, type, NULL, NULL));
  FAILS(VOLLEY_UNSUPPORTED, "xor of float64", volley_comm_all_reduce(c, from, to, 4, "float64", "xor", NULL));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_all_reduce(c, NULL, to, 4, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "to is NULL", volley_comm_all_reduce(c, from, NULL, 4, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "aligned", volley_comm_all_reduce(c, (char*)from + 1, to, 1, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "aligned", volley_comm_all_reduce(c, from, (char*)to + 1, 1, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "-1 elements", volley_comm_all_reduce(c, from, to, -1, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "elements", volley_comm_all_reduce(c, from, to, INT64_MAX, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "to is NULL", volley_comm_reduce(c, from, NULL, 4, type, sum, me, NULL));
  FAILS(VOLLEY_MISMATCH, "root 2", volley_comm_reduce(c, from, to, 4, type, sum, 2, NULL));
  FAILS(VOLLEY_MISMATCH, "rank -1", volley_comm_reduce(c, from, to, 4, type, sum, -1, NULL));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_reduce_scatter(c, NULL, NULL, to, 2, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "counts[1] is -1", volley_comm_reduce_scatter(c, from, negative, to, 2, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "", volley_comm_reduce_scatter(c, from, short_counts, to, 2, type, sum, NULL)); /* own part has one */
  FAILS(VOLLEY_MISMATCH, "elements", volley_comm_reduce_scatter(c, from, NULL, to, INT64_MAX / 2, type, sum, NULL));
}

static void movements(const volley_comm* c, int64_t me) {
  int64_t from[4] = {1, 2, 3, 4}, to[4], one[2] = {1, 1}, negative[2] = {-1, 1}, huge[2] = {INT64_MAX, 1};
  FAILS(VOLLEY_MISMATCH, "to is NULL", volley_comm_broadcast(c, from, NULL, 4, type, 0, NULL));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_broadcast(c, NULL, to, 4, type, me, NULL));
  FAILS(VOLLEY_MISMATCH, "root 2", volley_comm_broadcast(c, from, to, 4, type, 2, NULL));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_all_gather(c, NULL, 2, to, NULL, type, NULL));
  FAILS(VOLLEY_MISMATCH, "to is NULL", volley_comm_all_gather(c, from, 2, NULL, NULL, type, NULL));
  FAILS(VOLLEY_MISMATCH, "counts[0] is -1", volley_comm_all_gather(c, from, 1, to, negative, type, NULL));
  FAILS(VOLLEY_MISMATCH, "counts[0] is", volley_comm_all_gather(c, from, 1, to, huge, type, NULL));
  FAILS(VOLLEY_MISMATCH, "", volley_comm_all_gather(c, from, 2, to, one, type, NULL)); /* one is said, and two are given */
  FAILS(VOLLEY_MISMATCH, "root 9", volley_comm_gather(c, from, 1, to, NULL, type, 9, NULL));
  FAILS(VOLLEY_MISMATCH, "to is NULL", volley_comm_gather(c, from, 1, NULL, NULL, type, me, NULL));
  FAILS(VOLLEY_MISMATCH, "", volley_comm_gather(c, from, 2, to, one, type, me, NULL));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_scatter(c, NULL, NULL, to, 2, type, me, NULL));
  FAILS(VOLLEY_MISMATCH, "counts[0] is -1", volley_comm_scatter(c, from, negative, to, 1, type, me, NULL));
  FAILS(VOLLEY_MISMATCH, "root 2", volley_comm_scatter(c, from, NULL, to, 2, type, 2, NULL));
  FAILS(VOLLEY_MISMATCH, "to is NULL", volley_comm_all_to_all(c, from, NULL, 2, type, NULL));
  FAILS(VOLLEY_MISMATCH, "-5 elements", volley_comm_all_to_all(c, from, to, -5, type, NULL));
  FAILS(VOLLEY_MISMATCH, "sends", volley_comm_all_to_all_v(c, from, NULL, to, one, type, NULL));
  FAILS(VOLLEY_MISMATCH, "receives", volley_comm_all_to_all_v(c, from, one, to, NULL, type, NULL));
  FAILS(VOLLEY_MISMATCH, "sends[0] is -1", volley_comm_all_to_all_v(c, from, negative, to, one, type, NULL));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_all_to_all_v(c, NULL, one, to, one, type, NULL));
  FAILS(VOLLEY_MISMATCH, "peer 2", volley_comm_send(c, from, 1, type, 2, NULL));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_send(c, NULL, 1, type, 1 - me, NULL));
  FAILS(VOLLEY_MISMATCH, "rank -1", volley_comm_receive(c, to, 1, type, -1, NULL));
  FAILS(VOLLEY_MISMATCH, "\"bytes\"", volley_comm_receive(c, to, 1, "bytes", 1 - me, NULL));
}

static void started(const volley_comm* c, int64_t me) {
  int64_t from[4] = {1, 2, 3, 4}, to[4];
  volley_request* r;
  FAILS(VOLLEY_MISMATCH, "out is NULL", volley_comm_start_all_reduce(c, from, to, 4, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "\"average\"", volley_comm_start_all_reduce(c, from, to, 4, type, "average", &r));
  FAILS(VOLLEY_MISMATCH, "to is NULL", volley_comm_start_reduce(c, from, NULL, 4, type, sum, me, &r));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_start_broadcast(c, NULL, to, 4, type, me, &r));
  FAILS(VOLLEY_MISMATCH, "\"text\"", volley_comm_start_all_gather(c, from, 1, to, "text", &r));
  FAILS(VOLLEY_MISMATCH, "elements", volley_comm_start_reduce_scatter(c, from, to, -1, type, sum, &r));
  FAILS(VOLLEY_MISMATCH, "to is NULL", volley_comm_start_all_to_all(c, from, NULL, 1, type, &r));
  OK(volley_comm_start_reduce(c, from, to, 4, type, sum, 2, &r)); /* what only the operation finds is its end */
  FAILS(VOLLEY_MISMATCH, "root 2", volley_request_wait(r, NULL));
  OK(volley_request_free(r));
}

/* A token with patience has one call at a time: every other one is refused until volley_token_wait has given the first one's end. */
static void pending(const volley_comm* c, int64_t me, pthread_barrier_t* meet) {
  int64_t one = 1, to = 0;
  volley_token* token;
  volley_comm* half;
  int32_t status;
  if (me == 1) {
    pthread_barrier_wait(meet);
    OK(volley_comm_all_reduce(c, &one, &to, 1, type, sum, NULL));
    return;
  }
  OK(volley_token_new(1, &token));
  CHECK(volley_comm_all_reduce(c, &one, &to, 1, type, sum, token) == VOLLEY_PENDING);
  FAILS(VOLLEY_MISMATCH, "pending", volley_comm_all_reduce(c, &one, &one, 1, type, sum, token));
  FAILS(VOLLEY_MISMATCH, "volley_token_wait", volley_comm_barrier(c, token));
  FAILS(VOLLEY_MISMATCH, "pending", volley_comm_send(c, &one, 1, type, 1, token));
  FAILS(VOLLEY_MISMATCH, "pending", volley_comm_split(c, 0, 0, token, &half));
  pthread_barrier_wait(meet);
  while ((status = volley_token_wait(token)) == VOLLEY_PENDING) {
  }
  CHECK(status == VOLLEY_OK && to == 2);
  FAILS(VOLLEY_MISMATCH, "no call", volley_token_wait(token));
  OK(volley_token_free(token));
}

static pthread_barrier_t meet;

static void* runs(void* given) {
  const int64_t me = *(const int64_t*)given;
  volley_comm_options o = {.size = sizeof o, .address = address, .rank = me, .ranks = 2};
  volley_comm* c;
  int64_t one = 1, to = 0;
  void (*const parts[])(const volley_comm*, int64_t) = {reductions, movements, started};
  OK(volley_comm_init(&o, NULL, &c));
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    parts[i](c, me);
    OK(volley_comm_all_reduce(c, &one, &to, 1, type, sum, NULL));
    CHECK(to == 2);
  }
  pending(c, me, &meet);
  OK(volley_comm_barrier(c, NULL));
  OK(volley_comm_free(c));
  return NULL;
}

void test_refused(const char* folder) {
  static const int64_t ranks[] = {0, 1};
  pthread_t other;
  snprintf(address, sizeof address, "file://%s/refused", folder);
  CHECK(pthread_barrier_init(&meet, NULL, 2) == 0);
  CHECK(pthread_create(&other, NULL, runs, (void*)&ranks[1]) == 0);
  runs((void*)&ranks[0]);
  pthread_join(other, NULL);
}
