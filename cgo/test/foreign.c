/* Memory and events that other libraries of a driver made, and that volley is given: of CUDA and of OpenCL, by their own functions. */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include "check.h"

enum { rows = 1 << 18 };
static int64_t numbers[rows];
static volatile int released;
static void release(struct ArrowArray* a) { released++, a->release = NULL; }

typedef void (*Function)(void);

static Function found(void* library, const char* name) {
  Function f;
  void* at = dlsym(library, name);
  if (!at) fprintf(stderr, "no %s\n", name);
  CHECK(at != NULL);
  memcpy(&f, &at, sizeof f);
  return f;
}

static struct ArrowDeviceArray array_at(const void** buffers, int kind, void* event) {
  struct ArrowDeviceArray a = {.array = {.length = rows, .n_buffers = 2, .buffers = buffers, .release = release},
                               .device_id = 0, .device_type = kind, .sync_event = event};
  return a;
}

static struct ArrowSchema int64_schema(void) {
  static volley_column* c;
  struct ArrowSchema s;
  if (!c) c = wrap("int64", numbers, 1, NULL);
  OK(volley_column_export(c, NULL, &s));
  OK(volley_column_free(c));
  c = NULL;
  return s;
}

/* The column holds the numbers, and is released when it is freed. */
static void holds_numbers(volley_column* c) {
  volley_device* cpu;
  volley_column* back;
  const int64_t* v;
  int before = released;
  OK(volley_device_open("cpu", &cpu));
  OK(volley_column_to(c, cpu, NULL, &back));
  v = values(back, "int64", rows);
  for (int i = 0; i < rows; i++) CHECK(v[i] == i);
  OK(volley_column_free(back));
  OK(volley_column_free(c));
  CHECK(released == before + 1);
  OK(volley_device_free(cpu));
}

typedef int (*Call1)(void*);
typedef int (*Call2)(void*, void*);
typedef int (*MakeFlags)(void**, unsigned);
typedef int (*Allocate)(void**, size_t);
typedef int (*Upload)(void*, const void*, size_t, void*);
typedef int (*Fill)(void*, unsigned char, size_t, void*);

static void test_cuda(uint64_t context) {
  const char* path = getenv("VOLLEY_CUDA_LIBRARY");
  void *lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW), *memory, *stream, *event, *popped;
  const void* buffers[2] = {NULL, NULL};
  struct ArrowDeviceArray a;
  struct ArrowSchema s;
  volley_column* c;
  CHECK(lib != NULL);
  CHECK(((Call1)found(lib, "cuCtxPushCurrent_v2"))((void*)(uintptr_t)context) == 0);
  CHECK(((Allocate)found(lib, "cuMemAlloc_v2"))(&memory, sizeof numbers) == 0);
  CHECK(((MakeFlags)found(lib, "cuStreamCreate"))(&stream, 1) == 0);
  CHECK(((MakeFlags)found(lib, "cuEventCreate"))(&event, 2) == 0);
  /* Much work before the numbers are there: who does not wait for the event reads something else. */
  for (int i = 0; i < 200; i++) CHECK(((Fill)found(lib, "cuMemsetD8Async"))(memory, 7, sizeof numbers, stream) == 0);
  CHECK(((Upload)found(lib, "cuMemcpyHtoDAsync_v2"))(memory, numbers, sizeof numbers, stream) == 0);
  CHECK(((Call2)found(lib, "cuEventRecord"))(event, stream) == 0);
  CHECK(((Call1)found(lib, "cuCtxPopCurrent_v2"))(&popped) == 0);
  buffers[1] = memory;
  a = array_at(buffers, ARROW_DEVICE_CUDA, &event);
  s = int64_schema();
  OK(volley_column_import_device(&a, &s, NULL, NULL, &c));
  holds_numbers(c);
  buffers[1] = (char*)memory + 4;
  a = array_at(buffers, ARROW_DEVICE_CUDA, NULL);
  s = int64_schema();
  FAILS(VOLLEY_MISMATCH, "multiple of 8", volley_column_import_device(&a, &s, NULL, NULL, &c));
  CHECK(released == 2);
  a = array_at(buffers, ARROW_DEVICE_CUDA, NULL);
  a.device_id = 77;
  s = int64_schema();
  FAILS(VOLLEY_UNAVAILABLE, "cuda:77", volley_column_import_device(&a, &s, NULL, NULL, &c));
  CHECK(((Call1)found(lib, "cuCtxPushCurrent_v2"))((void*)(uintptr_t)context) == 0);
  CHECK(((Call1)found(lib, "cuMemFree_v2"))(memory) == 0);
  CHECK(((Call1)found(lib, "cuEventDestroy_v2"))(event) == 0);
  CHECK(((Call1)found(lib, "cuStreamDestroy_v2"))(stream) == 0);
  CHECK(((Call1)found(lib, "cuCtxPopCurrent_v2"))(&popped) == 0);
  dlclose(lib);
}

typedef void* (*CreateBuffer)(void*, uint64_t, size_t, void*, int32_t*);
typedef void* (*CreateUserEvent)(void*, int32_t*);
typedef int32_t (*SetStatus)(void*, int32_t);

static void* user_event;
static SetStatus set_status;
static volatile int reached;

static void* reach_later(void* nothing) {
  struct timespec moment = {0, 30 * 1000 * 1000};
  nanosleep(&moment, NULL);
  reached = 1;
  CHECK(set_status(user_event, 0) == 0);
  return nothing;
}

static void* cancel_later(void* token) {
  struct timespec moment = {0, 30 * 1000 * 1000};
  nanosleep(&moment, NULL);
  OK(volley_token_cancel(token));
  return NULL;
}

static void test_opencl(uint64_t context) {
  void *lib = dlopen("libOpenCL.so.1", RTLD_NOW), *memory;
  const void* buffers[2] = {NULL, NULL};
  struct ArrowDeviceArray a;
  struct ArrowSchema s;
  volley_column* c;
  volley_token* token;
  pthread_t other;
  int32_t code = 0;
  CreateUserEvent create;
  CHECK(lib != NULL);
  create = (CreateUserEvent)found(lib, "clCreateUserEvent");
  set_status = (SetStatus)found(lib, "clSetUserEventStatus");
  memory = ((CreateBuffer)found(lib, "clCreateBuffer"))((void*)(uintptr_t)context, 1 | 1 << 5, sizeof numbers, numbers, &code);
  CHECK(memory && code == 0);
  user_event = create((void*)(uintptr_t)context, &code);
  CHECK(user_event && code == 0);
  buffers[1] = memory;
  a = array_at(buffers, ARROW_DEVICE_OPENCL, &user_event);
  s = int64_schema();
  CHECK(pthread_create(&other, NULL, reach_later, NULL) == 0);
  OK(volley_column_import_device(&a, &s, NULL, NULL, &c));
  CHECK(reached);
  pthread_join(other, NULL);
  holds_numbers(c);
  CHECK(((Call1)found(lib, "clReleaseEvent"))(user_event) == 0);

  user_event = create((void*)(uintptr_t)context, &code); /* one that nobody reaches, until the call has ended */
  CHECK(user_event && code == 0);
  OK(volley_token_new(0, &token));
  CHECK(pthread_create(&other, NULL, cancel_later, token) == 0);
  a = array_at(buffers, ARROW_DEVICE_OPENCL, &user_event);
  s = int64_schema();
  FAILS(VOLLEY_CANCELED, "await", volley_column_import_device(&a, &s, NULL, token, &c));
  pthread_join(other, NULL);
  CHECK(released == 1);
  CHECK(set_status(user_event, 0) == 0);
  for (int i = 0; released == 1; i++) { /* the array is released when nobody looks at its event any more */
    struct timespec moment = {0, 1000 * 1000};
    CHECK(i < 60000);
    nanosleep(&moment, NULL);
  }
  CHECK(((Call1)found(lib, "clReleaseEvent"))(user_event) == 0);
  OK(volley_token_free(token));

  a = array_at(buffers, ARROW_DEVICE_OPENCL, NULL);
  a.array.length = rows + 1;
  s = int64_schema();
  FAILS(VOLLEY_MISMATCH, "in memory of", volley_column_import_device(&a, &s, NULL, NULL, &c));
  CHECK(((Call1)found(lib, "clReleaseMemObject"))(memory) == 0);
  dlclose(lib);
}

void test_foreign(const char* name) {
  volley_device* d;
  uint64_t context;
  for (int i = 0; i < rows; i++) numbers[i] = i;
  released = 0;
  OK(volley_device_open(name, &d));
  OK(volley_device_context(d, &context));
  if (strncmp(name, "cuda", 4) == 0) test_cuda(context);
  if (strncmp(name, "opencl", 6) == 0) test_opencl(context);
  OK(volley_device_free(d));
}
