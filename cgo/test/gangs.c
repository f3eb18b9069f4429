/* A gang of two workers, which are two threads here: calls, messages, values, groups, and who is to blame. */
#include <pthread.h>

#include "check.h"

/* A worker: it answers each call with its argument and a table, until it is told to leave by the name of a call. */
static void* works(void* invitation) {
  volley_gang* w;
  int64_t rank, size, generation, call, n;
  char *name, *codec, *data, *ref;
  OK(volley_gang_enter(invitation, NULL, &w));
  OK(volley_gang_rank(w, &rank));
  OK(volley_gang_size(w, &size));
  OK(volley_gang_generation(w, &generation));
  CHECK((rank == 0 || rank == 1) && size == 2 && generation == 1);
  while (volley_gang_next(w, NULL, &call, &name, &codec, &data, &n) == VOLLEY_OK) {
    if (strcmp(name, "sum") == 0) {
      volley_comm *all, *both;
      const int64_t ranks[] = {1, 0};
      int64_t one = rank + 1, sum = 0;
      OK(volley_gang_comm(w, NULL, &all));
      OK(volley_comm_all_reduce(all, &one, &sum, 1, "int64", "sum", NULL));
      CHECK(sum == 3);
      OK(volley_comm_free(all));
      OK(volley_gang_group(w, "both", ranks, 2, NULL, &both));
      OK(volley_comm_all_reduce(both, &one, &sum, 1, "int64", "sum", NULL));
      CHECK(sum == 3);
      OK(volley_comm_free(both));
      OK(volley_gang_send(w, 1 - rank, 7, "hello", 5, NULL));
      char* heard;
      int64_t length;
      OK(volley_gang_receive(w, 1 - rank, 7, NULL, &heard, &length));
      CHECK(length == 5 && memcmp(heard, "hello", 5) == 0);
      volley_string_free(heard);
    }
    if (strcmp(name, "fail") == 0 && rank == 1) {
      OK(volley_gang_answer(w, call, NULL, "it is the one that fails"));
    } else if (strcmp(name, "blame") == 0 && rank == 1) {
      const int64_t who[] = {0};
      OK(volley_gang_answer_fault(w, call, "it says who", "lost", who, 1));
    } else {
      OK(volley_gang_put(w, name, codec, data, n, &ref));
      OK(volley_gang_answer(w, call, ref, NULL));
      volley_string_free(ref);
    }
    FAILS(VOLLEY_MISMATCH, "never made", volley_gang_answer(w, call, NULL, "twice"));
    volley_string_free(name);
    volley_string_free(codec);
    volley_string_free(data);
  }
  OK(volley_gang_wait(w, NULL));
  OK(volley_gang_free(w));
  return NULL;
}

static void values_go(volley_gang* g) {
  volley_table *t = sample(), *back;
  char *ref, *codec, *data;
  int64_t n, rows;
  OK(volley_gang_put_table(g, "sample", t, &ref));
  OK(volley_gang_get(g, ref, NULL, &back, &codec, &data, &n));
  OK(volley_table_rows(back, &rows));
  CHECK(rows == 4 && codec == NULL && data == NULL);
  OK(volley_table_free(back));
  OK(volley_table_free(t));
  FAILS(VOLLEY_MISMATCH, "not a worker", volley_gang_redistribute(g, ref, NULL, 0, NULL, &back));
  OK(volley_gang_drop(g, ref, NULL));
  FAILS(VOLLEY_NOT_FOUND, "no value", volley_gang_get(g, ref, NULL, &back, &codec, &data, &n));
  FAILS(VOLLEY_MISMATCH, "not a reference", volley_gang_get(g, "x", NULL, &back, &codec, &data, &n));
  volley_string_free(ref);
}

static void calls_come_back(volley_gang* g) {
  char *lines, *codec, *data, *cause;
  volley_table* none;
  int64_t n, ranks[4], count;
  OK(volley_gang_run(g, "sum", "text", "argument", 8, NULL, &lines));
  char* second = strchr(lines, '\n');
  CHECK(second != NULL);
  OK(volley_gang_get(g, second + 1, NULL, &none, &codec, &data, &n));
  CHECK(none == NULL && strcmp(codec, "text") == 0 && n == 8 && memcmp(data, "argument", 8) == 0);
  volley_string_free(codec);
  volley_string_free(data);
  volley_string_free(lines);
  FAILS(VOLLEY_FAULT, "it is the one that fails", volley_gang_run(g, "fail", "bytes", NULL, 0, NULL, &lines));
  OK(volley_gang_fault(g, ranks, COUNT(ranks), &cause, &count));
  CHECK(strcmp(cause, "failed") == 0 && count == 1 && ranks[0] == 1);
  volley_string_free(cause);
  FAILS(VOLLEY_FAULT, "it says who", volley_gang_run(g, "blame", "bytes", NULL, 0, NULL, &lines));
  OK(volley_gang_fault(g, ranks, COUNT(ranks), &cause, &count));
  CHECK(strcmp(cause, "lost") == 0 && count == 1 && ranks[0] == 0);
  volley_string_free(cause);
}

/* Gangs that have all places that they need, or none. */
static void places_are_shared(void) {
  volley_slots *two, *none = NULL;
  volley_gang *one, *other;
  volley_token* stop;
  FAILS(VOLLEY_MISMATCH, "count is 0", volley_slots_new(0, &none));
  OK(volley_slots_new(2, &two));
  volley_gang_options o = {.size = sizeof o, .workers = 2, .slots = two};
  OK(volley_gang_start(NULL, 0, &o, NULL, &one));
  OK(volley_token_new(0, &stop));
  OK(volley_token_cancel(stop));
  o.workers = 1;
  FAILS(VOLLEY_CANCELED, "", volley_gang_start(NULL, 0, &o, stop, &other));
  o.workers = 3;
  FAILS(VOLLEY_MISMATCH, "3 workers", volley_gang_start(NULL, 0, &o, NULL, &other));
  OK(volley_gang_stop(one, NULL));
  OK(volley_gang_free(one));
  o.workers = 2;
  OK(volley_gang_start(NULL, 0, &o, NULL, &other));
  OK(volley_slots_free(two));
  OK(volley_gang_free(other));
  OK(volley_token_free(stop));
}

void test_gangs(void) {
  volley_gang_options o = {.size = sizeof o, .workers = 2};
  volley_gang* g;
  places_are_shared();
  pthread_t workers[2];
  char* invitations[2];
  OK(volley_gang_start(NULL, 0, &o, NULL, &g));
  for (int i = 0; i < 2; i++) {
    OK(volley_gang_invitation(g, i, &invitations[i]));
    CHECK(pthread_create(&workers[i], NULL, works, invitations[i]) == 0);
  }
  OK(volley_gang_ready(g, NULL));
  values_go(g);
  calls_come_back(g);
  OK(volley_gang_stop(g, NULL));
  for (int i = 0; i < 2; i++) pthread_join(workers[i], NULL);
  FAILS(VOLLEY_CLOSED, "stopped", volley_gang_restart(g, NULL));
  OK(volley_gang_free(g));
  const char* program[] = {"/no/such/program"};
  FAILS(VOLLEY_NOT_FOUND, "not placed", volley_gang_start(program, 1, &o, NULL, &g));
  FAILS(VOLLEY_UNAVAILABLE, "meeting point", volley_gang_enter(invitations[0], NULL, &g));
  for (int i = 0; i < 2; i++) volley_string_free(invitations[i]);
}
