/* Collective operations between two ranks, which are two threads here: every one, started ones, groups of groups, faults. */
#include <pthread.h>
#include <time.h>

#include "check.h"

static char address[600];
static pthread_barrier_t canceled; /* rank 1's barrier has ended, and rank 0's may begin */

typedef struct {
  int64_t rank;
  const char* transport;
} Rank;

static volley_comm* joined(const Rank* me) {
  volley_comm_options options;
  volley_comm* c;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.address = address;
  options.rank = me->rank;
  options.ranks = 2;
  options.transport = me->transport;
  options.deterministic = options.checksum = 1;
  OK(volley_comm_init(&options, NULL, &c));
  return c;
}

static void operations(const volley_comm* c, int64_t me) {
  const char *type = "int64", *sum = "sum";
  int64_t from[4] = {me + 1, 10, 20 + me, me}, to[4], counts[2] = {1, 3}, sends[2] = {1, 2};
  float halves[2] = {0.5f, (float)me}, total[2];
  volley_request* request;
  volley_token* token;
  int64_t done;
  OK(volley_comm_all_reduce(c, from, to, 4, type, sum, NULL));
  CHECK(to[0] == 3 && to[1] == 20 && to[2] == 41 && to[3] == 1);
  OK(volley_comm_all_reduce(c, halves, total, 2, "float32", "max", NULL));
  CHECK(total[0] == 0.5f && total[1] == 1);
  OK(volley_comm_reduce(c, from, me == 1 ? to : NULL, 4, type, "prod", 1, NULL));
  CHECK(me == 0 || (to[0] == 2 && to[1] == 100));
  OK(volley_comm_broadcast(c, me == 0 ? from : NULL, to, 2, type, 0, NULL));
  CHECK(to[0] == 1 && to[1] == 10);
  OK(volley_comm_all_gather(c, from, 2, to, NULL, type, NULL));
  CHECK(to[0] == 1 && to[2] == 2);
  OK(volley_comm_all_gather(c, from, counts[me], to, counts, type, NULL));
  CHECK(to[0] == 1 && to[1] == 2 && to[2] == 10 && to[3] == 21);
  OK(volley_comm_gather(c, from, 1, me == 0 ? to : NULL, NULL, type, 0, NULL));
  CHECK(me == 1 || (to[0] == 1 && to[1] == 2));
  OK(volley_comm_gather(c, from, counts[me], me == 0 ? to : NULL, counts, type, 0, NULL));
  CHECK(me == 1 || (to[0] == 1 && to[3] == 21));
  OK(volley_comm_reduce_scatter(c, from, NULL, to, 2, type, sum, NULL));
  CHECK(to[0] == (me == 0 ? 3 : 41) && to[1] == (me == 0 ? 20 : 1));
  OK(volley_comm_reduce_scatter(c, from, counts, to, counts[me], type, sum, NULL));
  CHECK(to[0] == (me == 0 ? 3 : 20));
  OK(volley_comm_scatter(c, me == 1 ? from : NULL, NULL, to, 2, type, 1, NULL));
  CHECK(to[0] == (me == 0 ? 2 : 21));
  OK(volley_comm_scatter(c, me == 1 ? from : NULL, counts, to, counts[me], type, 1, NULL));
  CHECK(to[0] == (me == 0 ? 2 : 10));
  OK(volley_comm_all_to_all(c, from, to, 2, type, NULL));
  CHECK(to[0] == (me == 0 ? 1 : 20) && to[2] == (me == 0 ? 2 : 21));
  { /* rank r sends one element to rank 0 and two to rank 1 */
    int64_t receives[2] = {me + 1, me + 1};
    OK(volley_comm_all_to_all_v(c, from, sends, to, receives, type, NULL));
    CHECK(to[0] == (me == 0 ? 1 : 10) && to[me + 1] == (me == 0 ? 2 : 10));
  }
  if (me == 0) {
    OK(volley_comm_send(c, from, 4, type, 1, NULL));
  } else {
    OK(volley_comm_receive(c, to, 4, type, 0, NULL));
    CHECK(to[0] == 1 && to[2] == 20);
  }
  OK(volley_comm_barrier(c, NULL));

  OK(volley_token_new(0, &token));
  OK(volley_comm_start_all_reduce(c, from, to, 4, type, sum, &request));
  OK(volley_request_wait(request, token));
  OK(volley_request_done(request, &done));
  CHECK(done == 1 && to[0] == 3);
  OK(volley_request_free(request));
  OK(volley_comm_start_reduce(c, from, me == 0 ? to : NULL, 4, type, "min", 0, &request));
  OK(volley_request_wait(request, NULL));
  CHECK(me == 1 || to[0] == 1);
  OK(volley_request_free(request));
  OK(volley_comm_start_broadcast(c, me == 1 ? from : NULL, to, 1, type, 1, &request));
  OK(volley_request_wait(request, NULL));
  CHECK(to[0] == 2);
  OK(volley_request_free(request));
  OK(volley_comm_start_all_gather(c, from, 1, to, type, &request));
  OK(volley_request_wait(request, NULL));
  CHECK(to[0] == 1 && to[1] == 2);
  OK(volley_request_free(request));
  OK(volley_comm_start_reduce_scatter(c, from, to, 2, type, sum, &request));
  OK(volley_request_wait(request, NULL));
  CHECK(to[0] == (me == 0 ? 3 : 41));
  OK(volley_request_free(request));
  OK(volley_comm_start_all_to_all(c, from, to, 1, type, &request));
  OK(volley_request_wait(request, NULL));
  CHECK(to[1] == (me == 0 ? 2 : 10));
  OK(volley_request_free(request));
  OK(volley_token_free(token));

  FAILS(VOLLEY_MISMATCH, "\"text\"", volley_comm_all_reduce(c, from, to, 4, "text", sum, NULL));
  FAILS(VOLLEY_MISMATCH, "\"average\"", volley_comm_all_reduce(c, from, to, 4, type, "average", NULL));
  FAILS(VOLLEY_MISMATCH, "from is NULL", volley_comm_all_reduce(c, NULL, to, 4, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "aligned", volley_comm_all_reduce(c, (char*)from + 1, to, 1, type, sum, NULL));
  FAILS(VOLLEY_MISMATCH, "-1 elements", volley_comm_all_reduce(c, from, to, -1, type, sum, NULL));
}

static void* cancels_soon(void* token) {
  struct timespec moment = {0, 20 * 1000 * 1000};
  nanosleep(&moment, NULL);
  OK(volley_token_cancel(token));
  return NULL;
}

static void* runs(void* given) {
  const Rank* me = given;
  volley_comm *c = joined(me), *half, *left;
  int64_t n, blamed[2] = {-1, -1}, one = 1, sum;
  volley_token* token;
  char* text;
  OK(volley_comm_rank(c, &n));
  CHECK(n == me->rank);
  OK(volley_comm_size(c, &n));
  CHECK(n == 2);
  OK(volley_comm_transport(c, &text));
  CHECK(strcmp(text, me->transport) == 0);
  volley_string_free(text);
  operations(c, me->rank);
  OK(volley_comm_split(c, me->rank == 0 ? 4 : -1, 0, NULL, &half));
  CHECK((half != NULL) == (me->rank == 0));
  if (half) {
    OK(volley_comm_size(half, &n));
    CHECK(n == 1);
    OK(volley_comm_free(half));
  }
  OK(volley_comm_fault(c, blamed, 2, &text, &n));
  CHECK(n == 0 && text[0] == 0);
  volley_string_free(text);

  OK(volley_comm_split(c, 0, -me->rank, NULL, &half)); /* the other way around; then rank 0 of it ends the work */
  if (me->rank == 1) {
    pthread_t other;
    OK(volley_token_new(0, &token));
    CHECK(pthread_create(&other, NULL, cancels_soon, token) == 0);
    FAILS(VOLLEY_CANCELED, "Barrier", volley_comm_barrier(half, token));
    pthread_barrier_wait(&canceled);
    pthread_join(other, NULL);
    OK(volley_token_free(token));
  } else {
    int32_t status = VOLLEY_OK;
    pthread_barrier_wait(&canceled);
    status = volley_comm_barrier(half, NULL);
    CHECK(status == VOLLEY_FAULT && volley_last_error()->status == VOLLEY_FAULT && strcmp(volley_last_error()->kind, "fault") == 0);
    OK(volley_comm_fault(half, blamed, 2, &text, &n));
    CHECK(strcmp(text, "canceled") == 0 && n == 1 && blamed[0] == 0);
    volley_string_free(text);
  }
  OK(volley_comm_free(half));

  if (me->rank == 1) {
    OK(volley_comm_free(c)); /* it leaves */
    return NULL;
  }
  FAILS(VOLLEY_FAULT, "rank 1", volley_comm_all_reduce(c, &one, &sum, 1, "int64", "sum", NULL));
  OK(volley_comm_shrink(c, NULL, &left));
  OK(volley_comm_all_reduce(left, &one, &sum, 1, "int64", "sum", NULL));
  CHECK(sum == 1);
  OK(volley_comm_free(left));
  OK(volley_comm_free(c));
  FAILS(VOLLEY_CLOSED, "freed", volley_comm_barrier(c, NULL));
  return NULL;
}

void test_comm(const char* folder) {
  const char* transports[] = {"tcp", "shm"};
  volley_comm_options bad;
  volley_comm* c;
  int64_t n;
  OK(volley_comm_init(NULL, NULL, &c)); /* nobody has started ranks: there is one */
  OK(volley_comm_size(c, &n));
  CHECK(n == 1);
  OK(volley_comm_free(c));
  CHECK(pthread_barrier_init(&canceled, NULL, 2) == 0);
  for (int i = 0; i < 2; i++) {
    Rank ranks[2] = {{0, transports[i]}, {1, transports[i]}};
    pthread_t other;
    snprintf(address, sizeof address, "file://%s/meeting-%d", folder, i);
    CHECK(pthread_create(&other, NULL, runs, &ranks[1]) == 0);
    runs(&ranks[0]);
    pthread_join(other, NULL);
  }
  memset(&bad, 0, sizeof bad);
  FAILS(VOLLEY_MISMATCH, "size of 0", volley_comm_init(&bad, NULL, &c));
  bad.size = sizeof bad;
  bad.rank = 3;
  FAILS(VOLLEY_MISMATCH, "rank 3", volley_comm_init(&bad, NULL, &c));
  bad.ranks = 2;
  bad.address = "gopher://x";
  FAILS(VOLLEY_UNAVAILABLE, "gopher", volley_comm_init(&bad, NULL, &c));
}
