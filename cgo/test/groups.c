/* Groups of two ranks, which are two threads here: parts of them, larger ones, algorithms by name, reductions that are fused. */
#include <pthread.h>
#include <time.h>

#include "check.h"

static char address[600];

static volley_comm_options options_of(int64_t rank, int64_t ranks) {
  volley_comm_options o;
  memset(&o, 0, sizeof o);
  o.size = sizeof o;
  o.address = address;
  o.rank = rank;
  o.ranks = ranks;
  o.algorithms = "all_reduce=ring,direct";
  return o;
}

static int64_t sum_of(const volley_comm* c, int64_t own) {
  int64_t sum = 0;
  OK(volley_comm_all_reduce(c, &own, &sum, 1, "int64", "sum", NULL));
  return sum;
}

static void explains(const volley_comm* c) {
  char* text;
  OK(volley_comm_explain(c, "all_reduce", 1000, "float32", &text));
  CHECK(strstr(text, "AllReduce of 1000 float32 on 2 ranks") && strstr(text, "ring, because Options.Algorithms names it") && strstr(text, "* ring"));
  volley_string_free(text);
  OK(volley_comm_explain(c, "ReduceScatter", 1000, "float32", &text));
  CHECK(strstr(text, "direct, because Options.Algorithms names it"));
  volley_string_free(text);
  OK(volley_comm_explain(c, "broadcast", 1000, "float32", &text)); /* which direct has not got */
  CHECK(strstr(text, "Options.Algorithms") == NULL);
  volley_string_free(text);
  FAILS(VOLLEY_MISMATCH, "\"sum\"", volley_comm_explain(c, "sum", 1000, "float32", &text));
  FAILS(VOLLEY_MISMATCH, "\"real\"", volley_comm_explain(c, "reduce", 1000, "real", &text));
  FAILS(VOLLEY_MISMATCH, "count is -1", volley_comm_explain(c, "reduce", -1, "int8", &text));
}

static void fuses(const volley_comm* c, int64_t me) {
  enum { many = 50 };
  int64_t from[many], to[many], done;
  volley_request* requests[many];
  volley_token* token;
  volley_fuser* f;
  OK(volley_fuser_new(c, 1 << 20, 1000 * 1000, NULL, &f));
  for (int i = 0; i < many; i++) {
    from[i] = me + i;
    OK(volley_fuser_all_reduce(f, &from[i], &to[i], 1, "int64", "sum", &requests[i]));
  }
  OK(volley_token_new(0, &token));
  OK(volley_fuser_wait(f, token));
  for (int i = 0; i < many; i++) {
    OK(volley_request_done(requests[i], &done));
    CHECK(done == 1 && to[i] == 2 * i + 1);
    OK(volley_request_wait(requests[i], NULL));
    OK(volley_request_free(requests[i]));
  }
  FAILS(VOLLEY_MISMATCH, "rank", volley_fuser_all_reduce(f, NULL, to, 1, "int64", "sum", &requests[0]));
  FAILS(VOLLEY_MISMATCH, "\"mean\"", volley_fuser_all_reduce(f, from, to, 1, "int64", "mean", &requests[0]));
  OK(volley_fuser_all_reduce(f, from, to, 2, "int64", "max", &requests[0]));
  OK(volley_fuser_close(f, token)); /* it does not wait for the delay */
  CHECK(to[0] == 1 && to[1] == 2);
  OK(volley_request_free(requests[0]));
  OK(volley_fuser_all_reduce(f, from, to, 2, "int64", "max", &requests[0]));
  FAILS(VOLLEY_CLOSED, "", volley_request_wait(requests[0], NULL));
  OK(volley_request_free(requests[0]));
  OK(volley_fuser_free(f));
  FAILS(VOLLEY_CLOSED, "freed", volley_fuser_wait(f, NULL));
  FAILS(VOLLEY_MISMATCH, "bytes is -1", volley_fuser_new(c, -1, 0, NULL, &f));
  OK(volley_token_free(token));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void* cancels(void* token) {
  struct timespec moment = {0, 20 * 1000 * 1000};
  nanosleep(&moment, NULL);
  OK(volley_token_cancel(token));
  return NULL;
}

/* Rank 0 waits for what rank 1 never gives, until its token is cancelled. */
static void gives_up(const volley_comm* c, int64_t me) {
  volley_fuser* f;
  OK(volley_fuser_new(c, 0, 0, NULL, &f));
  if (me == 0) {
    int64_t one = 1, sum;
    volley_request* r;
    volley_token* token;
    pthread_t other;
    double began = now();
    OK(volley_token_new(0, &token));
    OK(volley_fuser_all_reduce(f, &one, &sum, 1, "int64", "sum", &r));
    CHECK(pthread_create(&other, NULL, cancels, token) == 0);
    FAILS(VOLLEY_CANCELED, "volley_fuser_close", volley_fuser_close(f, token));
    CHECK(now() - began < 30); /* and not for ever */
    pthread_join(other, NULL);
    OK(volley_request_free(r));
    OK(volley_token_free(token));
  }
  OK(volley_comm_barrier(c, NULL)); /* the group itself goes on */
  if (me == 1) {
    int64_t one = 1, sum, blamed[1] = {-1}, n;
    volley_request* r;
    char* cause;
    OK(volley_fuser_fault(f, NULL, 0, &cause, &n));
    CHECK(n == 0 || n == 1); /* rank 1 may not have seen it yet */
    volley_string_free(cause);
    OK(volley_fuser_all_reduce(f, &one, &sum, 1, "int64", "sum", &r));
    FAILS(VOLLEY_FAULT, "rank 0", volley_request_wait(r, NULL));
    OK(volley_request_free(r));
    OK(volley_fuser_fault(f, blamed, 1, &cause, &n));
    CHECK(n == 1 && blamed[0] == 0 && (strcmp(cause, "canceled") == 0 || strcmp(cause, "left") == 0));
    volley_string_free(cause);
  }
  OK(volley_comm_barrier(c, NULL));
  OK(volley_fuser_free(f));
}

static void* enters(void* unused) {
  volley_comm_options o = options_of(2, 3);
  volley_comm* c;
  int64_t n;
  OK(volley_comm_enter(&o, NULL, &c));
  OK(volley_comm_rank(c, &n));
  CHECK(n == 2 && sum_of(c, 100) == 111);
  OK(volley_comm_barrier(c, NULL));
  OK(volley_comm_free(c));
  return unused;
}

static void* runs(void* given) {
  const int64_t me = *(const int64_t*)given;
  int64_t turned[] = {1, 0}, twice[] = {1, 1}, other[] = {1 - me}, n;
  volley_comm_options o = options_of(me, 2);
  volley_comm *c, *sub, *grown;
  volley_token* token;
  pthread_t third;
  OK(volley_comm_init(&o, NULL, &c));
  CHECK(sum_of(c, me + 1) == 3);
  explains(c);
  OK(volley_comm_sub(c, turned, 2, NULL, &sub));
  OK(volley_comm_rank(sub, &n));
  CHECK(n == 1 - me && sum_of(sub, me + 1) == 3);
  OK(volley_comm_free(sub));
  OK(volley_comm_sub(c, &me, 1, NULL, &sub));
  OK(volley_comm_size(sub, &n));
  CHECK(n == 1);
  OK(volley_comm_free(sub));
  FAILS(VOLLEY_MISMATCH, "named twice", volley_comm_sub(c, twice, 2, NULL, &sub));
  FAILS(VOLLEY_MISMATCH, me == 0 ? "rank 0" : "rank 1", volley_comm_sub(c, other, 1, NULL, &sub));
  FAILS(VOLLEY_MISMATCH, "ranks is NULL", volley_comm_sub(c, NULL, 1, NULL, &sub));
  fuses(c, me);
  gives_up(c, me);

  FAILS(VOLLEY_MISMATCH, "2 ranks are to become 2", volley_comm_grow(c, 2, NULL, NULL, &grown));
  OK(volley_token_new(0, &token));
  if (me == 0) CHECK(pthread_create(&third, NULL, enters, NULL) == 0);
  OK(volley_comm_grow(c, 3, NULL, token, &grown)); /* where the two met */
  OK(volley_comm_size(grown, &n));
  CHECK(n == 3 && sum_of(grown, me == 0 ? 1 : 10) == 111);
  OK(volley_comm_barrier(grown, NULL));
  OK(volley_comm_free(grown));
  if (me == 0) pthread_join(third, NULL);
  FAILS(VOLLEY_MISMATCH, "gopher", volley_comm_grow(c, 3, "gopher://x", NULL, &grown));
  OK(volley_token_free(token));
  OK(volley_comm_barrier(c, NULL));
  OK(volley_comm_free(c));
  FAILS(VOLLEY_CLOSED, "freed", volley_comm_sub(c, &me, 1, NULL, &sub));
  FAILS(VOLLEY_CLOSED, "freed", volley_comm_grow(c, 3, NULL, NULL, &grown));
  return NULL;
}

static void bad_options(void) {
  volley_comm_options o = options_of(0, 1);
  volley_comm *c, *grown;
  o.algorithms = "butterflies";
  FAILS(VOLLEY_MISMATCH, "\"butterflies\"", volley_comm_init(&o, NULL, &c));
  o.algorithms = "broadcast=ring";
  FAILS(VOLLEY_MISMATCH, "\"ring\" for Broadcast", volley_comm_init(&o, NULL, &c));
  o.algorithms = "sum=ring";
  FAILS(VOLLEY_MISMATCH, "\"sum\"", volley_comm_init(&o, NULL, &c));
  o.algorithms = "ring,direct";
  FAILS(VOLLEY_MISMATCH, "both for all", volley_comm_init(&o, NULL, &c));
  o.algorithms = NULL;
  o.device = "cuda:0";
  FAILS(VOLLEY_MISMATCH, "for transport nccl", volley_comm_init(&o, NULL, &c));
  o.transport = "nccl";
  o.device = "cpu";
  FAILS(VOLLEY_UNAVAILABLE, "rank 0: cpu is no GPU of CUDA", volley_comm_init(&o, NULL, &c));
  memset(&o, 0, sizeof o);
  o.size = sizeof o;
  FAILS(VOLLEY_MISMATCH, "address", volley_comm_enter(&o, NULL, &c));
  OK(volley_comm_init(NULL, NULL, &c));
  FAILS(VOLLEY_MISMATCH, "address is NULL", volley_comm_grow(c, 2, NULL, NULL, &grown));
  OK(volley_comm_free(c));
}

void test_groups(const char* folder) {
  static const int64_t ranks[] = {0, 1};
  pthread_t other;
  snprintf(address, sizeof address, "file://%s/groups", folder);
  CHECK(pthread_create(&other, NULL, runs, (void*)&ranks[1]) == 0);
  runs((void*)&ranks[0]);
  pthread_join(other, NULL);
  bad_options();
}
