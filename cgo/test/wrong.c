/*
 * Every function with wrong arguments: NULLs, handles that were freed, that are of another type, or that another thread is freeing, texts that are not
 * UTF-8, counts below 0 and beyond memory, structures without a size; one at a time and two at a time, from one thread and from two. The answer is an
 * error that begins with the call and names the argument, and never the end of the process.
 */
#include "wrong.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

enum { types = 32, lists = 3 };
static void* good[types];
static void* freed[types];
static _Atomic(void*) racing[types];
static void* elsewhere; /* a column in a device's memory, where there is one */
static volley_token* free_token;
static _Thread_local const char* during = "";

/* ---- what parameters are given ---- */

static int is_type(int type, const char* name) { return strcmp(wrong_types[type].name, name) == 0; }

void* wrong_handle(int type, int choice) {
  switch (choice) {
    case GOOD:
      return is_type(type, "token") ? strncmp(during, "volley_token_", 13) ? NULL : free_token : good[type];
    case GONE:
      return freed[type];
    case OTHER:
      return is_type(type, "expr") ? good[type ? 0 : 1] : freed[types - 1]; /* an expression that lives */
    case NOTHING:
      return (void*)(uintptr_t)0x1234;
    case RACING:
      return atomic_load(&racing[type]);
    case ELSEWHERE:
      return is_type(type, "column") && elsewhere ? elsewhere : wrong_handle(type, GOOD);
    default:
      return NULL;
  }
}

void* wrong_handles(int type, int choice) {
  static _Thread_local void* room[4][lists];
  static _Thread_local int next;
  void** list = room[next++ % 4];
  if (choice == NONE) return NULL;
  for (int i = 0; i < lists; i++) list[i] = wrong_handle(type, GOOD);
  list[0] = wrong_handle(type, choice == NOTHING + 1 ? NONE : choice > NONE ? choice : GOOD);
  return list;
}

static const char* named(const char* name) {
  static const char* const texts[][2] = {{"path", "/no/such/folder/x.parquet"}, {"name", "key"},  {"type", "int64"}, {"kind", "inner"}, {"op", "sum"},
                                         {"text", "key > 1"},                    {"column", "x"}, {"op", "sum"}};
  for (int i = 0; i < COUNT(texts); i++) {
    if (strcmp(texts[i][0], name) == 0) return texts[i][1];
  }
  return "key";
}

const char* wrong_text(const char* name, int choice) {
  switch (choice) {
    case 0:
      return strcmp(during, "volley_device_open") ? named(name) : "cpu";
    case 1:
      return NULL;
    case 2:
      return "\xff\xfe\x80";
    case 3:
      return "";
    default:
      return "no such thing: \"'\\\n%s%n\xf0\x9f\x99\x82";
  }
}

void* wrong_texts(int choice) {
  static const char* const given[][lists] = {{"key", "amount", "name"}, {NULL}, {NULL, NULL, NULL}, {"\xff", "\xff", "\xff"}, {"", "", ""}};
  return choice == 1 ? NULL : (void*)given[choice];
}

int64_t wrong_number(const char* name, int choice) {
  static const int64_t given[] = {1, 0, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 33};
  if (choice == 0 && (strcmp(name, "root") == 0 || strcmp(name, "rank") == 0 || strcmp(name, "index") == 0)) return 0;
  return given[choice];
}

double wrong_double(int choice) { return choice == 0 ? 1 : choice == 1 ? NAN : INFINITY; }

void* wrong_structure(const char* name, size_t size, int choice) {
  static _Thread_local uint64_t room[4][256];
  static _Thread_local int next;
  uint64_t* s = room[next++ % 4];
  CHECK(size + 16 <= sizeof room[0]);
  memset(s, 0, sizeof room[0]);
  if (choice == 1) return NULL;
  if (strcmp(name, "volley_order") == 0) {
    for (int i = 0; i < lists && choice == 0; i++) ((volley_order*)s)[i].key = freed[types - 1];
    return s;
  }
  if (strcmp(name, "volley_aggregate") == 0) {
    for (int i = 0; i < lists; i++) ((volley_aggregate*)s)[i].op = choice == 0 ? "count" : choice == 2 ? NULL : "\xff";
    return s;
  }
  if (strcmp(name, "volley_batch_part") == 0) {
    ((volley_batch_part*)s)->part = choice == 0 ? VOLLEY_BATCH_FEATURES : -1;
    return s;
  }
  s[0] = choice == 0 ? size : choice == 2 ? 0 : choice == 3 ? (uint64_t)1 << 40 : size + 8;
  if (choice == 4) s[size / 8] = 1; /* a field of a later version */
  if (strcmp(name, "volley_array") == 0) ((volley_array*)s)->type = "int64";
  if (strcmp(name, "volley_loader_options") == 0) ((volley_loader_options*)s)->batch = 1;
  return s;
}

void* wrong_moved(int choice) {
  static _Thread_local uint64_t released[64];
  memset(released, 0, sizeof released);
  return choice ? NULL : released;
}

void* wrong_memory(const char* name, int choice) {
  static _Thread_local union {
    int64_t numbers[512];
    double aligned;
  } room[4];
  static _Thread_local int next;
  int64_t* m = room[next++ % 4].numbers;
  for (int i = 0; i < 512; i++) m[i] = strstr(name, "counts") || strstr(name, "sends") || strstr(name, "receives") ? 1 : 0;
  return choice ? NULL : m;
}

void wrong_cleared(int32_t status, int cleared) {
  if (status < 0 && !cleared) {
    fprintf(stderr, "%s: an error, and its out parameter has something\n", during);
    exit(1);
  }
}

void wrong_delete(struct DLManagedTensor* tensor) {
  if (tensor && tensor->deleter) tensor->deleter(tensor);
}

void wrong_delete_versioned(struct DLManagedTensorVersioned* tensor) {
  if (tensor && tensor->deleter) tensor->deleter(tensor);
}

/* ---- objects ---- */

void* wrong_make_device(void) {
  volley_device* d;
  OK(volley_device_open("cpu", &d));
  return d;
}
void* wrong_make_stream(void) {
  volley_device* d = wrong_make_device();
  volley_stream* s;
  OK(volley_stream_new(d, &s));
  OK(volley_device_free(d));
  return s;
}
void* wrong_make_event(void) {
  volley_device* d = wrong_make_device();
  volley_event* e;
  OK(volley_event_new(d, &e));
  OK(volley_device_free(d));
  return e;
}
void* wrong_make_token(void) {
  volley_token* t;
  OK(volley_token_new(0, &t));
  return t;
}
void* wrong_make_column(void) {
  static const int64_t numbers[] = {0, 1, 2};
  return wrap("int64", numbers, 3, NULL);
}
void* wrong_make_table(void) { return sample(); }
void* wrong_make_query(void) {
  volley_table* t = sample();
  volley_query* q;
  OK(volley_query_table(t, &q));
  OK(volley_table_free(t));
  return q;
}
void* wrong_make_profile(void) {
  volley_query* q = wrong_make_query();
  volley_table* t;
  volley_profile* p;
  OK(volley_query_profile(q, NULL, &t, &p));
  OK(volley_table_free(t));
  OK(volley_query_free(q));
  return p;
}
void* wrong_make_expr(void) {
  volley_expr* e;
  OK(volley_expr_column("key", &e));
  return e;
}
void* wrong_make_loader(void) {
  const char* features[] = {"key"};
  volley_loader_options options = {.size = sizeof options, .batch = 1, .workers = -1, .prefetch = 4, .features = features, .features_count = 1};
  volley_table* t = sample();
  volley_loader* l;
  OK(volley_loader_open(t, &options, NULL, &l));
  OK(volley_table_free(t));
  return l;
}
void* wrong_make_batch(void) {
  volley_loader* l = wrong_make_loader();
  volley_batch* b;
  OK(volley_loader_next(l, NULL, &b));
  OK(volley_loader_free(l));
  return b;
}
void* wrong_make_comm(void) {
  volley_comm* c;
  OK(volley_comm_init(NULL, NULL, &c));
  return c;
}
void* wrong_make_gang(void) {
  volley_gang_options o = {.size = sizeof o, .workers = 1};
  volley_gang* g;
  OK(volley_gang_start(NULL, 0, &o, NULL, &g));
  return g;
}
void* wrong_make_slots(void) {
  volley_slots* s;
  OK(volley_slots_new(2, &s));
  return s;
}
void* wrong_make_request(void) {
  static int64_t from = 1, to;
  volley_comm* c = wrong_make_comm();
  volley_request* r;
  OK(volley_comm_start_all_reduce(c, &from, &to, 1, "int64", "sum", &r));
  OK(volley_request_wait(r, NULL));
  OK(volley_comm_free(c));
  return r;
}
void* wrong_make_matrix(void) {
  static double numbers[4] = {1, 2, 3, 4};
  static int64_t shape[] = {2, 2};
  static struct DLManagedTensor tensors[64];
  static atomic_int next;
  struct DLManagedTensor* t = &tensors[atomic_fetch_add(&next, 1) % COUNT(tensors)];
  volley_matrix* m;
  *t = (struct DLManagedTensor){.t = {.data = numbers, .device_type = 1, .ndim = 2, .code = 2, .bits = 64, .lanes = 1, .shape = shape}};
  OK(volley_matrix_from_dlpack(t, &m));
  return m;
}
void* wrong_make_distributed(void) {
  volley_comm* c = wrong_make_comm();
  volley_table* t = sample();
  volley_distributed* d;
  OK(volley_distributed_new(c, t, NULL, &d));
  OK(volley_table_free(t));
  OK(volley_comm_free(c));
  return d;
}
void* wrong_make_fuser(void) {
  volley_comm* c = wrong_make_comm();
  volley_fuser* f;
  OK(volley_fuser_new(c, 0, 0, NULL, &f));
  OK(volley_comm_free(c));
  return f;
}
void* wrong_make_vector(void) {
  volley_device* d = wrong_make_device();
  volley_vector* v;
  OK(volley_vector_new(d, "int64", 3, &v));
  OK(volley_device_free(d));
  return v;
}

/* ---- the calls ---- */

static int choices_of(const wrong_parameter* p) {
  static const int of[] = {[WRONG_HANDLE] = HANDLE_CHOICES, [WRONG_FREED] = RACING, [WRONG_HANDLES] = NOTHING + 2, [WRONG_TEXT] = 5, [WRONG_TEXTS] = 5,
                           [WRONG_NUMBER] = 6, [WRONG_DOUBLE] = 3, [WRONG_STRUCTURE] = 5, [WRONG_MOVED] = 2, [WRONG_MEMORY] = 2, [WRONG_OUT] = 2,
                           [WRONG_OUT_OR_NULL] = 2, [WRONG_FUNCTION] = 1};
  return of[p->kind];
}

/* What a call is given where nothing is tried: of a free function NULL, since it would free what the others need. */
static void clear_choices(const wrong_call* c, int* w) {
  for (int i = 0; i < c->count; i++) w[i] = c->parameters[i].kind == WRONG_FREED ? NONE : 0;
}

static void say(const wrong_call* c, const int* w, int32_t status, const char* what) {
  fprintf(stderr, "%s(", c->name);
  for (int i = 0; i < c->count; i++) fprintf(stderr, "%s%s: choice %d", i ? ", " : "", c->parameters[i].name, w[i]);
  fprintf(stderr, ") gave %d, \"%s\": %s\n", (int)status, volley_last_error()->message, what);
  exit(1);
}

static int32_t try_it(const wrong_call* c, const int* w) {
  int32_t status;
  size_t n = strlen(c->name);
  during = c->name;
  status = c->call(w);
  if (status > VOLLEY_PENDING || status < VOLLEY_FAULT) say(c, w, status, "no status");
  if (status == VOLLEY_INTERNAL) say(c, w, status, "an internal error");
  if (status < 0) {
    const volley_error* e = volley_last_error();
    if (e->status != status || strncmp(e->message, c->name, n) != 0 || e->message[n] != ':') say(c, w, status, "an error that does not name the call");
  }
  return status;
}

/* A wrong choice of one parameter, where the same call without it works or fails. */
static void judge(const wrong_call* c, const int* w, int i, int32_t without, int32_t status) {
  const wrong_parameter* p = &c->parameters[i];
  int handle = p->kind == WRONG_HANDLE && w[i] >= GONE && w[i] <= NOTHING;
  int owned = p->kind == WRONG_FREED && w[i] >= GONE && w[i] <= NOTHING;
  int missing = p->kind == WRONG_OUT && w[i];
  if (!handle && !owned && !missing) return;
  if (status >= 0) say(c, w, status, "it was taken");
  if (missing && status != VOLLEY_MISMATCH) say(c, w, status, "a NULL is a mismatch");
  if (without >= 0 && status != VOLLEY_CLOSED && status != VOLLEY_MISMATCH) say(c, w, status, "neither closed nor a mismatch");
  if (without >= 0 && !owned && !strstr(volley_last_error()->message + strlen(c->name), p->name)) say(c, w, status, "an error that does not name the argument");
}

static void try_all(const wrong_call* c, int pairs) {
  int w[32];
  int32_t without;
  CHECK(c->count <= 32);
  clear_choices(c, w);
  without = try_it(c, w);
  for (int i = 0; i < c->count; i++) {
    for (int k = 0; k < choices_of(&c->parameters[i]); k++) {
      clear_choices(c, w);
      w[i] = k;
      if (c->parameters[i].kind == WRONG_FREED && k == GOOD) continue;
      judge(c, w, i, without, try_it(c, w));
      for (int j = i + 1; pairs && j < c->count; j++) {
        for (w[j] = 1; w[j] < choices_of(&c->parameters[j]); w[j] += 1 + pairs) (void)try_it(c, w);
        w[j] = 0;
      }
    }
  }
}

static void* tries_all(void* given) {
  (void)given;
  for (int i = 0; i < wrong_call_count; i++) try_all(&wrong_calls[i], 0);
  return NULL;
}

static atomic_int over;

/* Makes handles and frees them, while others use them. */
static void* frees(void* given) {
  static const char* const cheap[] = {"stream", "event", "column", "table", "query", "expr", "vector", "matrix"};
  (void)given;
  while (!atomic_load(&over)) {
    for (int t = 0; t < wrong_type_count; t++) {
      for (int i = 0; i < COUNT(cheap); i++) {
        void* h;
        if (!is_type(t, cheap[i])) continue;
        h = wrong_types[t].make();
        atomic_store(&racing[t], h);
        wrong_types[t].free(h);
      }
    }
  }
  return NULL;
}

void test_wrong_calls(int count, char** devices) {
  pthread_t two[2], freeing;
  CHECK(wrong_type_count < types && wrong_call_count > 150);
  for (int t = 0; t < wrong_type_count; t++) {
    good[t] = wrong_types[t].make();
    freed[t] = wrong_types[t].make();
    wrong_types[t].free(freed[t]);
    atomic_store(&racing[t], freed[t]);
    if (is_type(t, "expr")) freed[types - 1] = good[t];
  }
  free_token = wrong_make_token();
  if (count > 0) {
    volley_device* d;
    volley_column *host = wrong_make_column(), *there;
    OK(volley_device_open(devices[0], &d));
    OK(volley_column_to(host, d, NULL, &there));
    elsewhere = there;
    OK(volley_column_free(host));
    OK(volley_device_free(d));
  }
  for (int i = 0; i < wrong_call_count; i++) try_all(&wrong_calls[i], 1);
  CHECK(pthread_create(&freeing, NULL, frees, NULL) == 0);
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&two[i], NULL, tries_all, NULL) == 0);
  for (int i = 0; i < 2; i++) pthread_join(two[i], NULL);
  atomic_store(&over, 1);
  pthread_join(freeing, NULL);
  OK(volley_column_free(elsewhere));
  elsewhere = NULL;
  OK(volley_token_free(free_token));
  for (int t = wrong_type_count - 1; t >= 0; t--) wrong_types[t].free(good[t]);
}
