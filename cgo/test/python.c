/* The callbacks for a package of Python, with an interpreter that is made of counters: what comes back when, and that nothing of it is called once it has ended. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { objects = 8 };
static int references[objects]; /* an object is a pointer to its count */
static atomic_int pending;
static int (*pending_call)(void*);
static void* pending_argument;
static int saved, errors_pending, errors_seen;
static atomic_int calls;

/* ---- CPython, as far as it is wanted ---- */

typedef struct {
  const char* name;
  void *held, *context;
} Capsule;

static void dec_ref(void* object) { --*(int*)object; }
static int add_pending_call(int (*call)(void*), void* argument) {
  pending_call = call;
  pending_argument = argument;
  pending++;
  return 0;
}
static void* save_thread(void) {
  saved++;
  return &saved;
}
static void restore_thread(void* thread) { CHECK(thread == &saved && saved-- == 1); }
static void fetch(void** type, void** value, void** trace) {
  *type = errors_pending ? references : NULL;
  *value = *trace = NULL;
  errors_seen += errors_pending;
  errors_pending = 0;
}
static void restore(void* type, void* value, void* trace) {
  CHECK(!value && !trace);
  errors_pending = type != NULL;
}
static const char* capsule_name(void* capsule) { return ((Capsule*)capsule)->name; }
static void* capsule_pointer(void* capsule, const char* name) { return strcmp(name, ((Capsule*)capsule)->name) ? NULL : ((Capsule*)capsule)->held; }
static void* capsule_context(void* capsule) { return ((Capsule*)capsule)->context; }

static void* of(void (*f)(void)) {
  void* p;
  memcpy(&p, &f, sizeof p);
  return p;
}

#define AS(f) of((void (*)(void))(f))

static void begin(void) {
  const volley_python python = {
      .size = sizeof python, .Py_DecRef = AS(dec_ref), .Py_AddPendingCall = AS(add_pending_call), .PyEval_SaveThread = AS(save_thread),
      .PyEval_RestoreThread = AS(restore_thread), .PyErr_Fetch = AS(fetch), .PyErr_Restore = AS(restore), .PyCapsule_GetName = AS(capsule_name),
      .PyCapsule_GetPointer = AS(capsule_pointer), .PyCapsule_GetContext = AS(capsule_context),
  };
  OK(volley_python_begin(&python));
}

/* ---- functions of Python's ---- */

static int32_t body(void* context, int64_t rows, void* values, const void* const* args, char* message, int64_t message_size) {
  CHECK(context == NULL && message && message_size > 0);
  memcpy(values, args[0], (size_t)rows * 8);
  calls++;
  return VOLLEY_OK;
}
static int32_t decode(void* context, const void* value, int64_t size, void* to, int64_t bytes, char* message, int64_t message_size) {
  CHECK(context == NULL && value && size == 3 && bytes == 1 && message && message_size > 0);
  *(char*)to = 7;
  calls++;
  return VOLLEY_OK;
}
static int32_t opens(void* context, struct ArrowArrayStream* stream, char* message, int64_t message_size) {
  CHECK(context == NULL && stream && message && message_size > 0);
  calls++;
  return VOLLEY_OK;
}
static int32_t maps(int64_t number, struct ArrowArrayStream* batch, struct ArrowArrayStream* result, char* message, int64_t message_size) {
  CHECK(number == 42 && batch && result && message && message_size > 0);
  calls++;
  return VOLLEY_OK;
}
static int32_t progress(void* context, const volley_progress* done) {
  CHECK(context == NULL && done);
  calls++;
  return VOLLEY_OK;
}
static int number_schema(int64_t number, struct ArrowSchema* out) {
  CHECK(number == 42 && out->release == NULL);
  calls++;
  return 22;
}
static int number_next(int64_t number, struct ArrowArray* out) {
  CHECK(number == 42 && out->release == NULL);
  calls++;
  return 0;
}
static const char* number_error(int64_t number) { return number == 42 ? "out of ink" : NULL; }
static int released;
static void number_release(int64_t number) { released += number == 42; }

static void all_callbacks(int32_t wanted) {
  struct ArrowArrayStream stream = {0}, other = {0};
  volley_progress done = {.size = sizeof done};
  int64_t from = 5, to = 0;
  const void* args[] = {&from};
  char message[64] = "";
  int before = calls;
  struct {
    int32_t (*call)(int64_t, struct ArrowArrayStream*, struct ArrowArrayStream*, char*, int64_t);
    int64_t number;
  } numbered = {maps, 42};
  CHECK(volley_python_body(AS(body), 1, &to, args, message, sizeof message) == wanted);
  CHECK(wanted != VOLLEY_OK || to == 5);
  CHECK(volley_python_decode(AS(decode), "abc", 3, &to, 1, message, sizeof message) == wanted);
  CHECK(volley_python_open(AS(opens), &stream, message, sizeof message) == wanted);
  CHECK(volley_python_map(&numbered, &stream, &other, message, sizeof message) == wanted);
  CHECK(volley_python_progress(AS(progress), &done) == wanted);
  CHECK(calls - before == (wanted == VOLLEY_OK ? 5 : 0));
  CHECK((strstr(message, "ending") != NULL) == (wanted != VOLLEY_OK));
}

static void memory_comes_back(void) {
  static int64_t numbers[] = {1, 2, 3};
  volley_array array = {.size = sizeof array, .type = "int64", .length = 3, .values = numbers};
  volley_column* c;
  references[0] = 1;
  OK(volley_column_wrap(&array, volley_python_release, &references[0], &c));
  OK(volley_column_free(c));
  CHECK(references[0] == 1 && pending == 1); /* it waits for the GIL */
  volley_python_release(NULL);
  volley_python_release(&references[1]);
  references[1] = 1;
  CHECK(pending == 1); /* one call is enough */
  CHECK(pending_call(pending_argument) == 0);
  CHECK(references[0] == 0 && references[1] == 0);
  volley_python_release(&references[1]);
  CHECK(pending == 2);
  volley_python_drain();
  CHECK(references[1] == -1);
  pending = 0;
}

static void structures(void) {
  struct ArrowArray array = {.private_data = &references[2], .release = volley_python_release_array};
  struct ArrowSchema schema = {.release = volley_python_release_schema};
  struct DLManagedTensor tensor = {.context = &references[3], .deleter = volley_python_delete_tensor};
  struct DLManagedTensorVersioned versioned = {.context = &references[4], .deleter = volley_python_delete_tensor_versioned};
  references[2] = references[3] = references[4] = 1;
  array.release(&array);
  schema.release(&schema);
  tensor.deleter(&tensor);
  versioned.deleter(&versioned);
  volley_python_release_array(&array);
  volley_python_release_array(NULL);
  volley_python_release_schema(NULL);
  volley_python_delete_tensor(NULL);
  volley_python_delete_tensor_versioned(NULL);
  volley_python_drain();
  CHECK(!array.release && !schema.release && references[2] == 0 && references[3] == 0 && references[4] == 0);
}

static void capsules(void) {
  volley_table* t = sample();
  volley_column* c;
  struct ArrowArrayStream stream;
  struct ArrowDeviceArrayStream device_stream;
  struct ArrowArray array;
  struct ArrowDeviceArray device_array;
  struct ArrowSchema schema, other;
  struct DLManagedTensor* tensor;
  struct DLManagedTensorVersioned* versioned;
  int64_t before, after;
  OK(volley_live(&before));
  OK(volley_table_export(t, &stream));
  OK(volley_table_export_device(t, &device_stream));
  OK(volley_table_column(t, "key", NULL, &c));
  OK(volley_column_export(c, &array, &schema));
  OK(volley_column_export_device(c, &device_array, &other));
  OK(volley_column_to_dlpack(c, &tensor));
  OK(volley_column_to_dlpack_versioned(c, &versioned));
  OK(volley_column_free(c));
  {
    Capsule all[] = {{"arrow_array_stream", &stream, &references[5]}, {"arrow_device_array_stream", &device_stream, NULL}, {"arrow_array", &array, NULL},
                     {"arrow_device_array", &device_array, NULL},     {"arrow_schema", &schema, NULL},                     {"arrow_schema", &other, NULL},
                     {"used_dltensor", tensor, NULL},                 {"dltensor", tensor, NULL},                          {"dltensor_versioned", versioned, NULL},
                     {NULL, NULL, NULL}};
    references[5] = 1;
    for (int i = 0; i < COUNT(all); i++) {
      errors_pending = i % 2;
      volley_python_destroy(&all[i]);
      CHECK(errors_pending == i % 2 && saved == 0);
    }
    errors_pending = 0;
    volley_python_destroy(&all[0]); /* moved out, or released before: nothing but the context */
    CHECK(references[5] == -1);
  }
  volley_python_destroy(NULL);
  OK(volley_live(&after));
  CHECK(before == after);
  OK(volley_table_free(t));
}

static void streams(int there) {
  struct ArrowArrayStream stream;
  struct ArrowArray array;
  struct ArrowSchema schema;
  volley_table* t;
  released = 0;
  OK(volley_python_stream(42, number_schema, number_next, number_error, number_release, &stream));
  CHECK(stream.get_schema(&stream, &schema) == (there ? 22 : 125)); /* ECANCELED */
  CHECK(strstr(stream.get_last_error(&stream), there ? "out of ink" : "ending") != NULL);
  CHECK((stream.get_next(&stream, &array) == 0) == there && array.release == NULL);
  FAILS(there ? VOLLEY_MISMATCH : VOLLEY_CANCELED, there ? "out of ink" : "ending", volley_table_import(NULL, &stream, NULL, NULL, &t));
  CHECK(stream.release == NULL && released == there);
  FAILS(VOLLEY_MISMATCH, "get_next is NULL", volley_python_stream(42, number_schema, NULL, number_error, number_release, &stream));
  FAILS(VOLLEY_MISMATCH, "out is NULL", volley_python_stream(42, number_schema, number_next, number_error, number_release, NULL));
}

static pthread_barrier_t running;

static int32_t long_body(void* context, int64_t rows, void* values, const void* const* args, char* message, int64_t message_size) {
  pthread_barrier_wait(&running); /* it runs */
  pthread_barrier_wait(&running); /* and may end */
  return body(context, rows, values, args, message, message_size);
}

static void* calls_long_body(void* status) {
  int64_t from = 5, to = 0;
  const void* args[] = {&from};
  char message[64];
  *(int32_t*)status = volley_python_body(AS(long_body), 1, &to, args, message, sizeof message);
  return NULL;
}

void test_python(void) {
  const volley_python old = {.size = 8}, empty = {.size = sizeof empty};
  pthread_t thread;
  int32_t status = -1;
  FAILS(VOLLEY_MISMATCH, "functions is NULL", volley_python_begin(NULL));
  FAILS(VOLLEY_MISMATCH, "sizeof", volley_python_begin(&old));
  FAILS(VOLLEY_MISMATCH, "NULL", volley_python_begin(&empty));
  all_callbacks(VOLLEY_CANCELED); /* before there is an interpreter */
  for (int times = 0; times < 2; times++) {
    begin();
    all_callbacks(VOLLEY_OK);
    memory_comes_back();
    structures();
    capsules();
    streams(1);
    references[6] = 1;
    volley_python_release(&references[6]);
    OK(volley_python_end(1000));
    volley_python_drain();
    volley_python_release(&references[6]);
    CHECK(references[6] == 1); /* it stays, since nobody may touch it */
    all_callbacks(VOLLEY_CANCELED);
    capsules();
    streams(0);
    pending = 0;
  }
  /* A callback that runs is waited for. */
  begin();
  CHECK(pthread_barrier_init(&running, NULL, 2) == 0);
  CHECK(pthread_create(&thread, NULL, calls_long_body, &status) == 0);
  pthread_barrier_wait(&running);
  CHECK(volley_python_end(20) == VOLLEY_PENDING);
  pthread_barrier_wait(&running);
  OK(volley_python_end(10000));
  pthread_join(thread, NULL);
  CHECK(status == VOLLEY_OK);
}
