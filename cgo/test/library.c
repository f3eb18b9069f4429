#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

void test_library(void) {
  char* text;
  int64_t has, count, cpus = 0;
  volley_device_info* devices;
  volley_device *one, *two;
  CHECK(volley_abi_version() >> 16 == VOLLEY_ABI_MAJOR);
  CHECK((volley_abi_version() & 0xffff) == VOLLEY_ABI_MINOR);
  CHECK(volley_last_error()->status == VOLLEY_OK);
  OK(volley_version(&text));
  CHECK(strlen(text) > 0);
  volley_string_free(text);
  OK(volley_feature("arrow_c_stream", &has));
  CHECK(has == 1);
  OK(volley_feature("teleportation", &has));
  CHECK(has == 0);
  OK(volley_devices(&devices, &count));
  for (int64_t i = 0; i < count; i++) {
    cpus += strcmp(devices[i].name, "cpu") == 0 && devices[i].units > 0 && devices[i].why[0] == 0;
    CHECK(devices[i].kind && devices[i].description && devices[i].tier);
  }
  CHECK(cpus == 1);
  volley_devices_free(devices, count);
  OK(volley_device_open("cpu", &one));
  OK(volley_device_open("cpu", &two));
  CHECK(one != two);
  OK(volley_device_name(two, &text));
  CHECK(strcmp(text, "cpu") == 0);
  volley_string_free(text);
  OK(volley_device_free(one));
  OK(volley_device_free(two));
  FAILS(VOLLEY_UNAVAILABLE, "abacus", volley_device_open("abacus", &one));
  CHECK(one == NULL);
}

static void* cancels(void* token) {
  struct timespec moment = {0, 20 * 1000 * 1000};
  nanosleep(&moment, NULL);
  OK(volley_token_cancel(token));
  return NULL;
}

/* A join of many rows with as many, all of one key, which would take minutes. */
volley_query* endless(void) {
  enum { rows = 1 << 19 };
  static int64_t same[rows];
  const char* name = "key";
  const volley_column* c = wrap("int64", same, rows, NULL);
  volley_aggregate sum = {.op = "sum", .input = parsed("key + key_right")};
  volley_table* t;
  volley_query *all, *joined, *summed;
  OK(volley_table_new(NULL, &name, &c, 1, NULL, &t));
  OK(volley_query_table(t, &all));
  OK(volley_query_join(all, all, "cross", NULL, NULL, 0, NULL, &joined));
  OK(volley_query_group_by(joined, NULL, 0, &sum, 1, NULL, &summed));
  OK(volley_query_free(joined));
  OK(volley_query_free(all));
  OK(volley_table_free(t));
  OK(volley_column_free((volley_column*)c));
  return summed;
}

void test_tokens(void) {
  volley_query* q = endless();
  volley_token* token;
  volley_table* t;
  pthread_t other;
  int32_t status;
  int waits = 0;
  OK(volley_token_new(0, &token));
  CHECK(pthread_create(&other, NULL, cancels, token) == 0);
  FAILS(VOLLEY_CANCELED, "volley_query_collect", volley_query_collect(q, token, &t));
  pthread_join(other, NULL);
  FAILS(VOLLEY_CANCELED, "cancel", volley_query_collect(q, token, &t)); /* it stays cancelled */
  FAILS(VOLLEY_MISMATCH, "pending", volley_token_wait(token));
  OK(volley_token_free(token));

  OK(volley_token_new(5, &token));
  CHECK(volley_query_collect(q, token, &t) == VOLLEY_PENDING);
  FAILS(VOLLEY_MISMATCH, "pending", volley_query_collect(q, token, &t));
  CHECK(volley_token_wait(token) == VOLLEY_PENDING);
  OK(volley_token_cancel(token));
  while ((status = volley_token_wait(token)) == VOLLEY_PENDING) waits++;
  CHECK(status == VOLLEY_CANCELED);
  OK(volley_token_free(token));

  OK(volley_token_new(5, &token)); /* freed while its call goes on */
  CHECK(volley_query_collect(q, token, &t) == VOLLEY_PENDING);
  OK(volley_token_free(token));
  OK(volley_query_free(q));

  OK(volley_token_new(60000, &token)); /* patience enough */
  t = sample();
  OK(volley_query_table(t, &q));
  OK(volley_table_free(t));
  OK(volley_query_collect(q, token, &t));
  CHECK(t != NULL);
  OK(volley_table_free(t));
  OK(volley_query_free(q));
  OK(volley_token_free(token));
  FAILS(VOLLEY_MISMATCH, "patience", volley_token_new(-1, &token));
}

static void* works(void* given) {
  volley_query* q = given;
  for (int i = 0; i < 50; i++) {
    volley_query* sorted;
    volley_table* t;
    volley_expr* key;
    volley_device* none;
    char message[64];
    volley_order order;
    memset(&order, 0, sizeof order);
    OK(volley_expr_column("amount", &key));
    order.key = key;
    OK(volley_query_sort(q, &order, 1, &sorted));
    OK(volley_query_collect(sorted, NULL, &t));
    OK(volley_query_free(sorted));
    OK(volley_table_free(t));
    OK(volley_expr_free(key));
    /* each thread has its own error */
    snprintf(message, sizeof message, "dev%p-%d", (void*)&message, i);
    FAILS(VOLLEY_UNAVAILABLE, message, volley_device_open(message, &none));
  }
  return NULL;
}

void test_threads(void) {
  pthread_t threads[8];
  volley_table* t = sample();
  volley_query* q;
  OK(volley_query_table(t, &q));
  OK(volley_table_free(t));
  for (int i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, works, q) == 0);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  OK(volley_query_free(q));
}

void test_fork(void) {
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  volley_table* t = sample();
  int status;
  pid_t child;
  OK(volley_table_export(t, &stream));
  OK(volley_table_schema(t, &schema));
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    volley_device* none;
    FAILS(VOLLEY_FORKED, "spawn", volley_device_open("cpu", &none));
    FAILS(VOLLEY_FORKED, "volley_table_free", volley_table_free(t));
    struct ArrowArray array;
    CHECK(stream.get_next(&stream, &array) != 0);
    CHECK(strstr(stream.get_last_error(&stream), "fork") != NULL);
    stream.release(&stream); /* does not wait for threads that are not there */
    schema.release(&schema);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  stream.release(&stream);
  schema.release(&schema);
  OK(volley_table_free(t));
}
