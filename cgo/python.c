/*
 * Callbacks for a package of Python, which must not reach an interpreter that has ended: see volley_python.h.
 */
#include "base.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* An object that waits for a thread with the GIL. */
struct waiting {
  struct waiting* next;
  void* object;
};

static volley_python py;                                 /* the functions, which stay when the interpreter has ended */
static atomic_int there;                                 /* 1 from begin to end */
static atomic_llong inside;                              /* callbacks that run, or are about to see that there is none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the next two, and of there where it goes to 0 */
static struct waiting* first;
static int asked; /* a pending call is on its way */

static void in_child(void) { pthread_mutex_init(&lock, NULL); }

__attribute__((constructor)) static void loaded(void) { pthread_atfork(NULL, NULL, in_child); }

static int enter(void) {
  atomic_fetch_add(&inside, 1);
  if (!vly_forked && atomic_load(&there)) return 1;
  atomic_fetch_sub(&inside, 1);
  return 0;
}

static void leave(void) { atomic_fetch_sub(&inside, 1); }

static const char ended[] = "the Python interpreter is ending";

static int32_t canceled(char* message, int64_t size) {
  if (message && size > 0) snprintf(message, (size_t)size, "%s", ended);
  return VOLLEY_CANCELED;
}

int32_t volley_python_begin(const volley_python* functions) {
  void* const* all;
  if (vly_forked) return vly_fork_error("volley_python_begin");
  if (!functions) return vly_null_error("volley_python_begin", "functions");
  if (functions->size < sizeof *functions) {
    vly_set_error(VOLLEY_MISMATCH, "mismatch", "volley_python_begin: functions has another size: set it to sizeof", "");
    return VOLLEY_MISMATCH;
  }
  all = (void* const*)((const char*)functions + sizeof functions->size);
  for (size_t i = 0; i < (sizeof *functions - sizeof functions->size) / sizeof *all; i++) {
    if (!all[i]) return vly_null_error("volley_python_begin", "an address of functions");
  }
  pthread_mutex_lock(&lock);
  if (!atomic_load(&there)) { /* what waits is of an interpreter that is gone */
    for (struct waiting* w = first; w;) {
      struct waiting* next = w->next;
      free(w);
      w = next;
    }
    first = NULL;
    asked = 0;
  }
  py = *functions;
  atomic_store(&there, 1);
  pthread_mutex_unlock(&lock);
  return VOLLEY_OK;
}

int32_t volley_python_end(int64_t patience) {
  const struct timespec moment = {0, 1000000};
  if (vly_forked) return vly_fork_error("volley_python_end");
  pthread_mutex_lock(&lock);
  atomic_store(&there, 0);
  pthread_mutex_unlock(&lock);
  for (; patience > 0 && atomic_load(&inside) > 0; patience--) nanosleep(&moment, NULL);
  return atomic_load(&inside) > 0 ? VOLLEY_PENDING : VOLLEY_OK;
}

/* ---- objects ---- */

void volley_python_drain(void) {
  struct waiting* all;
  if (vly_forked || !atomic_load(&there)) return;
  pthread_mutex_lock(&lock);
  all = first;
  first = NULL;
  asked = 0;
  pthread_mutex_unlock(&lock);
  while (all) {
    struct waiting* next = all->next;
    ((void (*)(void*))py.Py_DecRef)(all->object);
    free(all);
    all = next;
  }
}

static int drain_pending(void* unused) {
  (void)unused;
  volley_python_drain();
  return 0;
}

void volley_python_release(void* object) {
  struct waiting* w;
  if (!object || vly_forked || !(w = malloc(sizeof *w))) return; /* without memory the object stays */
  w->object = object;
  pthread_mutex_lock(&lock);
  if (atomic_load(&there)) {
    w->next = first;
    first = w;
    w = NULL;
    if (!asked) asked = ((int (*)(int (*)(void*), void*))py.Py_AddPendingCall)(drain_pending, NULL) == 0;
  }
  pthread_mutex_unlock(&lock);
  free(w);
}

void volley_python_release_array(struct ArrowArray* array) {
  void* object;
  if (!array || !array->release) return;
  object = array->private_data;
  array->release = NULL;
  volley_python_release(object); /* whose memory the array is */
}

void volley_python_release_schema(struct ArrowSchema* schema) {
  void* object;
  if (!schema || !schema->release) return;
  object = schema->private_data;
  schema->release = NULL;
  volley_python_release(object);
}

void volley_python_delete_tensor(struct DLManagedTensor* tensor) {
  if (tensor) volley_python_release(((vly_dl_managed*)tensor)->context);
}

void volley_python_delete_tensor_versioned(struct DLManagedTensorVersioned* tensor) {
  if (tensor) volley_python_release(((vly_dl_versioned*)tensor)->context);
}

/* ---- capsules ---- */

static void release_held(const char* name, void* p) {
  if (!strcmp(name, "arrow_schema")) {
    vly_call_release_schema(p);
  } else if (!strcmp(name, "arrow_array")) {
    vly_call_release_array(p);
  } else if (!strcmp(name, "arrow_device_array")) {
    vly_call_release_array(&((struct ArrowDeviceArray*)p)->array);
  } else if (!strcmp(name, "arrow_array_stream")) {
    vly_call_release_stream(p);
  } else if (!strcmp(name, "arrow_device_array_stream")) {
    vly_call_device_release(p);
  } else if (!strcmp(name, "dltensor")) {
    vly_dl_managed* tensor = p;
    if (tensor->deleter) vly_call_deleter(tensor->deleter, tensor);
  } else if (!strcmp(name, "dltensor_versioned")) {
    vly_dl_versioned* tensor = p;
    if (tensor->deleter) vly_call_deleter(tensor->deleter, tensor);
  }
}

/* The GIL is given up for a release, which may wait for a callback that needs it. Once the interpreter ends there are no callbacks. */
void volley_python_destroy(void* capsule) {
  void *type = NULL, *value = NULL, *trace = NULL, *thread = NULL;
  const char* name;
  void *held, *context;
  if (!capsule || !py.PyCapsule_GetName) return;
  ((void (*)(void**, void**, void**))py.PyErr_Fetch)(&type, &value, &trace);
  name = ((const char* (*)(void*))py.PyCapsule_GetName)(capsule);
  held = name ? ((void* (*)(void*, const char*))py.PyCapsule_GetPointer)(capsule, name) : NULL;
  context = ((void* (*)(void*))py.PyCapsule_GetContext)(capsule);
  if (held) {
    if (atomic_load(&there)) thread = ((void* (*)(void))py.PyEval_SaveThread)();
    release_held(name, held);
    if (thread) ((void (*)(void*))py.PyEval_RestoreThread)(thread);
  }
  if (context) ((void (*)(void*))py.Py_DecRef)(context);
  volley_python_drain();
  ((void (*)(void*, void*, void*))py.PyErr_Restore)(type, value, trace);
}

/* ---- streams ---- */

typedef struct {
  int64_t number;
  int (*get_schema)(int64_t, struct ArrowSchema*);
  int (*get_next)(int64_t, struct ArrowArray*);
  const char* (*get_last_error)(int64_t);
  void (*release)(int64_t);
} producer;

static int stream_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) {
  const producer* p = stream->private_data;
  int status;
  memset(out, 0, sizeof *out);
  if (!enter()) return ECANCELED;
  status = p->get_schema(p->number, out);
  leave();
  return status;
}

static int stream_next(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  const producer* p = stream->private_data;
  int status;
  memset(out, 0, sizeof *out);
  if (!enter()) return ECANCELED;
  status = p->get_next(p->number, out);
  leave();
  return status;
}

static const char* stream_error(struct ArrowArrayStream* stream) {
  const producer* p = stream->private_data;
  const char* text;
  if (!enter()) return ended;
  text = p->get_last_error(p->number);
  leave();
  return text;
}

static void stream_release(struct ArrowArrayStream* stream) {
  producer* p = stream->private_data;
  stream->release = NULL;
  if (enter()) {
    p->release(p->number);
    leave();
  }
  free(p);
}

int32_t volley_python_stream(int64_t number, int (*get_schema)(int64_t, struct ArrowSchema*), int (*get_next)(int64_t, struct ArrowArray*),
                             const char* (*get_last_error)(int64_t), void (*release)(int64_t), struct ArrowArrayStream* out) {
  producer* p;
  if (vly_forked) return vly_fork_error("volley_python_stream");
  if (!out) return vly_null_error("volley_python_stream", "out");
  memset(out, 0, sizeof *out);
  if (!get_schema) return vly_null_error("volley_python_stream", "get_schema");
  if (!get_next) return vly_null_error("volley_python_stream", "get_next");
  if (!get_last_error) return vly_null_error("volley_python_stream", "get_last_error");
  if (!release) return vly_null_error("volley_python_stream", "release");
  if (!(p = malloc(sizeof *p))) {
    vly_set_error(VOLLEY_OUT_OF_MEMORY, "out of memory", "volley_python_stream: no memory for a stream", "");
    return VOLLEY_OUT_OF_MEMORY;
  }
  *p = (producer){number, get_schema, get_next, get_last_error, release};
  *out = (struct ArrowArrayStream){stream_schema, stream_next, stream_error, stream_release, p};
  return VOLLEY_OK;
}

/* ---- callbacks ---- */

int32_t volley_python_body(void* context, int64_t rows, void* values, const void* const* args, char* message, int64_t message_size) {
  int32_t status;
  if (!context || !enter()) return canceled(message, message_size);
  status = ((int32_t (*)(void*, int64_t, void*, const void* const*, char*, int64_t))context)(NULL, rows, values, args, message, message_size);
  leave();
  return status;
}

int32_t volley_python_decode(void* context, const void* value, int64_t value_size, void* elements, int64_t elements_size, char* message,
                             int64_t message_size) {
  int32_t status;
  if (!context || !enter()) return canceled(message, message_size);
  status = ((int32_t (*)(void*, const void*, int64_t, void*, int64_t, char*, int64_t))context)(NULL, value, value_size, elements, elements_size, message,
                                                                                            message_size);
  leave();
  return status;
}

int32_t volley_python_open(void* context, struct ArrowArrayStream* stream, char* message, int64_t message_size) {
  int32_t status;
  if (!context || !enter()) return canceled(message, message_size);
  status = ((int32_t (*)(void*, struct ArrowArrayStream*, char*, int64_t))context)(NULL, stream, message, message_size);
  leave();
  return status;
}

/* The context of volley_python_map, which never goes: a function of Python's, and the number by which that knows the program's function. */
typedef struct {
  int32_t (*call)(int64_t number, struct ArrowArrayStream* batch, struct ArrowArrayStream* result, char* message, int64_t message_size);
  int64_t number;
} numbered_call;

int32_t volley_python_map(void* context, struct ArrowArrayStream* batch, struct ArrowArrayStream* result, char* message, int64_t message_size) {
  int32_t status;
  const numbered_call* of = context;
  if (!of || !of->call || !enter()) return canceled(message, message_size);
  status = of->call(of->number, batch, result, message, message_size);
  leave();
  return status;
}

int32_t volley_python_progress(void* context, const volley_progress* done) {
  int32_t status;
  if (!context || !enter()) return VOLLEY_CANCELED;
  status = ((int32_t (*)(void*, const volley_progress*))context)(NULL, done);
  leave();
  return status;
}

/* ---- lists, read without a call of the interpreter for each value ---- */

typedef void* (*item_of)(void* list, intptr_t i);
typedef long long (*integer_of)(void* object, int* overflow);
typedef double (*double_of)(void* object);
typedef const char* (*text_of)(void* object, intptr_t* size);

/* The item, or NULL where it is of another class. None is of every class. */
static void* item(const volley_python_values* by, void* list, int64_t i, const void* type) {
  void* o = ((item_of)by->PyList_GetItem)(list, (intptr_t)i);
  const void* kind;
  if (!o || o == by->none) return o;
  memcpy(&kind, (const char*)o + by->type_at, sizeof kind);
  return kind == type ? o : NULL;
}

static void present(uint8_t* validity, int64_t i) { validity[i >> 3] |= (uint8_t)(1 << (i & 7)); }

int64_t volley_python_numbers(const volley_python_values* by, void* list, int64_t n, void* type, int32_t floats, void* values, uint8_t* validity,
                              int64_t* nulls) {
  if (!by || by->size < sizeof *by || !list || !values || !validity || !nulls) return -1;
  *nulls = 0;
  for (int64_t i = 0; i < n; i++) {
    void* o = item(by, list, i, type);
    int overflow = 0;
    if (!o) return i;
    if (o == by->none) {
      (*nulls)++;
      continue;
    }
    if (floats) {
      ((double*)values)[i] = ((double_of)by->PyFloat_AsDouble)(o);
    } else {
      ((int64_t*)values)[i] = ((integer_of)by->PyLong_AsLongLongAndOverflow)(o, &overflow);
      if (overflow) return i;
    }
    present(validity, i);
  }
  return n;
}

int64_t volley_python_texts(const volley_python_values* by, void* list, int64_t n, void* type, int32_t wide, void* offsets, void* data, int64_t room,
                            uint8_t* validity, int64_t* nulls, int64_t* bytes) {
  int64_t end = 0;
  if (!by || by->size < sizeof *by || !list || !nulls || !bytes || (offsets && (!data || !validity))) return -1;
  *nulls = 0;
  for (int64_t i = 0; i < n; i++) {
    void* o = item(by, list, i, type);
    const char* text = NULL;
    intptr_t size = 0;
    if (!o) return i;
    if (o == by->none) {
      (*nulls)++;
    } else if (!(text = ((text_of)by->PyUnicode_AsUTF8AndSize)(o, &size))) {
      ((void (*)(void))by->PyErr_Clear)();
      return i;
    }
    if (offsets) {
      if (size > room - end) return i;
      if (text) present(validity, i);
      if (text) memcpy((char*)data + end, text, (size_t)size);
    }
    end += size;
    if (offsets && wide) ((int64_t*)offsets)[i + 1] = end;
    if (offsets && !wide) ((int32_t*)offsets)[i + 1] = (int32_t)end;
  }
  *bytes = end;
  return n;
}
