/*
 * The part of the library that is C: what must work without Go's runtime, since after a fork there is none, and the callbacks, which C alone
 * can call and can be called by.
 */
#include "base.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "_cgo_export.h"

int vly_forked = 0;
const uint64_t vly_zeros[8] = {0};

static void in_child(void) { vly_forked = 1; }

/* ---- errors ---- */

/*
 * The last error of a thread. It hangs on a key and not on a thread-local variable: Go's runtime needs the library's thread-local memory to be
 * static, of which a program that loads the library later has little left.
 */
typedef struct {
  volley_error error;
  char message[4096];
  char device[64];
} thread_error;

static pthread_key_t last_error;
static const volley_error no_error = {.size = sizeof(volley_error), .kind = "", .message = "", .device = ""};

__attribute__((constructor)) static void loaded(void) {
  pthread_key_create(&last_error, free);
  pthread_atfork(NULL, NULL, in_child);
}

static thread_error* own_error(void) {
  thread_error* own = pthread_getspecific(last_error);
  if (!own && (own = calloc(1, sizeof *own))) pthread_setspecific(last_error, own);
  return own;
}

void vly_set_error(int32_t status, const char* kind, const char* message, const char* device) {
  thread_error* own = own_error();
  if (!own) return;
  snprintf(own->message, sizeof own->message, "%s", message);
  snprintf(own->device, sizeof own->device, "%s", device);
  own->error = (volley_error){sizeof(volley_error), status, kind ? kind : "", own->message, own->device};
}

const volley_error* volley_last_error(void) {
  const thread_error* own = pthread_getspecific(last_error);
  return own ? &own->error : &no_error;
}

int32_t vly_fork_error(const char* call) {
  char text[512];
  snprintf(text, sizeof text,
           "%s: this process was forked after volley was first used, and threads do not survive a fork: use volley for the first time after "
           "the fork, or start processes by spawn or forkserver (multiprocessing.set_start_method(\"spawn\") in Python)",
           call);
  vly_set_error(VOLLEY_FORKED, "forked", text, "");
  return VOLLEY_FORKED;
}

int32_t vly_null_error(const char* call, const char* name) {
  char text[256];
  snprintf(text, sizeof text, "%s: %s is NULL", call, name);
  vly_set_error(VOLLEY_MISMATCH, "mismatch", text, "");
  return VOLLEY_MISMATCH;
}

/* ---- texts for ever ---- */

/* They hang on a variable of C's, where what looks for leaks finds them. */
struct interned {
  struct interned* next;
  char text[];
};

char* vly_intern(const char* text) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct interned* all = NULL;
  struct interned* i;
  pthread_mutex_lock(&lock);
  for (i = all; i && strcmp(i->text, text) != 0;) i = i->next;
  if (!i && (i = malloc(sizeof *i + strlen(text) + 1))) {
    strcpy(i->text, text);
    i->next = all;
    all = i;
  }
  pthread_mutex_unlock(&lock);
  return i ? i->text : NULL;
}

/* ---- what needs no Go ---- */

uint32_t volley_abi_version(void) { return (uint32_t)VOLLEY_ABI_MAJOR << 16 | VOLLEY_ABI_MINOR; }

void volley_string_free(char* text) { free(text); }

void volley_devices_free(volley_device_info* devices, int64_t count) {
  for (int64_t i = 0; devices && i < count; i++) {
    free(devices[i].name);
    free(devices[i].kind);
    free(devices[i].description);
    free(devices[i].tier);
    free(devices[i].why);
  }
  free(devices);
}

/* ---- foreign callbacks ---- */

int vly_call_get_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) { return stream->get_schema(stream, out); }

int vly_call_get_next(struct ArrowArrayStream* stream, struct ArrowArray* out) { return stream->get_next(stream, out); }

const char* vly_call_get_last_error(struct ArrowArrayStream* stream) { return stream->get_last_error(stream); }

void vly_call_release_stream(struct ArrowArrayStream* stream) {
  if (stream->release) stream->release(stream);
}

int vly_call_device_schema(struct ArrowDeviceArrayStream* stream, struct ArrowSchema* out) { return stream->get_schema(stream, out); }

int vly_call_device_next(struct ArrowDeviceArrayStream* stream, struct ArrowDeviceArray* out) { return stream->get_next(stream, out); }

const char* vly_call_device_error(struct ArrowDeviceArrayStream* stream) { return stream->get_last_error(stream); }

void vly_call_device_release(struct ArrowDeviceArrayStream* stream) {
  if (stream->release) stream->release(stream);
}

void vly_call_release_array(struct ArrowArray* array) {
  if (array->release) array->release(array);
}

void vly_call_release_schema(struct ArrowSchema* schema) {
  if (schema->release) schema->release(schema);
}

void vly_call_release(void* release, uintptr_t context) { ((void (*)(void*))release)((void*)context); }

int32_t vly_call_body(void* body, uintptr_t context, int64_t rows, void* out, void* args, char* message, int64_t message_size) {
  int32_t status = ((int32_t (*)(void*, int64_t, void*, const void* const*, char*, int64_t))body)((void*)context, rows, out, args, message, message_size);
  message[message_size - 1] = 0;
  return status;
}

int32_t vly_call_decode(void* decode, uintptr_t context, const void* value, int64_t size, void* to, int64_t bytes, char* message, int64_t message_size) {
  int32_t status = ((int32_t (*)(void*, const void*, int64_t, void*, int64_t, char*, int64_t))decode)((void*)context, value, size, to, bytes, message, message_size);
  message[message_size - 1] = 0;
  return status;
}

int32_t vly_call_open(void* open, uintptr_t context, struct ArrowArrayStream* out, char* message, int64_t message_size) {
  int32_t status = ((int32_t (*)(void*, struct ArrowArrayStream*, char*, int64_t))open)((void*)context, out, message, message_size);
  message[message_size - 1] = 0;
  return status;
}

int32_t vly_call_map(void* map, uintptr_t context, struct ArrowArrayStream* batch, struct ArrowArrayStream* out, char* message, int64_t message_size) {
  int32_t status = ((int32_t (*)(void*, struct ArrowArrayStream*, struct ArrowArrayStream*, char*, int64_t))map)((void*)context, batch, out, message, message_size);
  message[message_size - 1] = 0;
  return status;
}

int32_t vly_call_progress(void* progress, uintptr_t context, volley_progress* done) {
  return ((int32_t (*)(void*, const volley_progress*))progress)((void*)context, done);
}

void vly_call_deleter(void* deleter, void* tensor) { ((void (*)(void*))deleter)(tensor); }

/* ---- exported schemas ---- */

/* The release function that was there before is kept where nobody else keeps anything. */
static void release_guarded(struct ArrowSchema* schema) {
  if (vly_forked) {
    schema->release = NULL;
    return;
  }
  schema->release = (void (*)(struct ArrowSchema*))schema->private_data;
  schema->release(schema);
}

/* Keeps a schema's release, which is Go's, from being called in a forked child. */
void vly_guard_schema(struct ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; i++) vly_guard_schema(schema->children[i]);
  if (schema->dictionary) vly_guard_schema(schema->dictionary);
  schema->private_data = (void*)schema->release;
  schema->release = release_guarded;
}

/* ---- exported arrays ---- */

struct owned {
  uintptr_t handle;
};

/* Go is told last, and not in a forked child, where it would never answer. */
static void forget(uintptr_t handle) {
  if (!vly_forked) go_volley_forget(handle);
}

static void release_exported(struct ArrowArray* array) {
  struct owned* owned = array->private_data;
  for (int64_t i = 0; i < array->n_children; i++) {
    vly_call_release_array(array->children[i]);
    free(array->children[i]);
  }
  if (array->dictionary) {
    vly_call_release_array(array->dictionary);
    free(array->dictionary);
  }
  free(array->children);
  free(array->buffers);
  array->release = NULL;
  forget(owned->handle);
  free(owned);
}

int vly_fill_array(struct ArrowArray* out, int64_t n_buffers, int64_t n_children, int dictionary, uintptr_t handle) {
  struct owned* owned = calloc(1, sizeof *owned);
  int ok = owned != NULL;
  memset(out, 0, sizeof *out);
  out->n_buffers = n_buffers;
  out->buffers = calloc(n_buffers ? n_buffers : 1, sizeof *out->buffers);
  out->children = calloc(n_children ? n_children : 1, sizeof *out->children);
  ok = ok && out->buffers && out->children;
  for (int64_t i = 0; ok && i < n_children; i++) {
    out->children[i] = calloc(1, sizeof **out->children);
    ok = out->children[i] != NULL;
    out->n_children += ok;
  }
  if (ok && dictionary) ok = (out->dictionary = calloc(1, sizeof *out->dictionary)) != NULL;
  if (!ok) {
    for (int64_t i = 0; i < out->n_children; i++) free(out->children[i]);
    free(out->children);
    free(out->buffers);
    free(owned);
    memset(out, 0, sizeof *out);
    return 0;
  }
  owned->handle = handle;
  out->private_data = owned;
  out->release = release_exported;
  return 1;
}

/* ---- exported streams ---- */

static int stream_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out) {
  memset(out, 0, sizeof *out);
  return vly_forked ? 11 : go_volley_stream_schema(((struct owned*)stream->private_data)->handle, out);
}

static int stream_next(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  memset(out, 0, sizeof *out);
  return vly_forked ? 11 : go_volley_stream_next(((struct owned*)stream->private_data)->handle, out);
}

static const char* stream_error(struct ArrowArrayStream* stream) {
  if (vly_forked) {
    vly_fork_error("get_next of a volley stream");
    return volley_last_error()->message;
  }
  return go_volley_stream_error(((struct owned*)stream->private_data)->handle);
}

static void stream_release(struct ArrowArrayStream* stream) {
  struct owned* owned = stream->private_data;
  stream->release = NULL;
  forget(owned->handle);
  free(owned);
}

void vly_fill_stream(struct ArrowArrayStream* out, uintptr_t handle) {
  struct owned* owned = calloc(1, sizeof *owned);
  if (!owned) return;
  owned->handle = handle;
  out->get_schema = stream_schema;
  out->get_next = stream_next;
  out->get_last_error = stream_error;
  out->release = stream_release;
  out->private_data = owned;
}

static int device_schema(struct ArrowDeviceArrayStream* stream, struct ArrowSchema* out) {
  memset(out, 0, sizeof *out);
  return vly_forked ? 11 : go_volley_stream_schema(((struct owned*)stream->private_data)->handle, out);
}

static int device_next(struct ArrowDeviceArrayStream* stream, struct ArrowDeviceArray* out) {
  memset(out, 0, sizeof *out);
  return vly_forked ? 11 : go_volley_stream_next_device(((struct owned*)stream->private_data)->handle, out);
}

static const char* device_error(struct ArrowDeviceArrayStream* stream) {
  if (vly_forked) {
    vly_fork_error("get_next of a volley stream");
    return volley_last_error()->message;
  }
  return go_volley_stream_error(((struct owned*)stream->private_data)->handle);
}

static void device_release(struct ArrowDeviceArrayStream* stream) {
  struct owned* owned = stream->private_data;
  stream->release = NULL;
  forget(owned->handle);
  free(owned);
}

void vly_fill_device_stream(struct ArrowDeviceArrayStream* out, uintptr_t handle, int32_t device_type) {
  struct owned* owned = calloc(1, sizeof *owned);
  if (!owned) return;
  owned->handle = handle;
  out->device_type = device_type;
  out->get_schema = device_schema;
  out->get_next = device_next;
  out->get_last_error = device_error;
  out->release = device_release;
  out->private_data = owned;
}

/* ---- exported tensors ---- */

static void delete_managed(void* p) {
  vly_dl_managed* tensor = p;
  forget((uintptr_t)tensor->context);
  free(tensor->tensor.shape);
  free(tensor);
}

static void delete_versioned(void* p) {
  vly_dl_versioned* tensor = p;
  forget((uintptr_t)tensor->context);
  free(tensor->tensor.shape);
  free(tensor);
}

/* Shape and strides are one block. */
void* vly_new_tensor(int versioned, int32_t ndim, uintptr_t handle) {
  int64_t* sizes = calloc(2 * ndim, sizeof *sizes);
  void* block = calloc(1, versioned ? sizeof(vly_dl_versioned) : sizeof(vly_dl_managed));
  vly_dl_tensor* tensor;
  if (!sizes || !block) {
    free(sizes);
    free(block);
    return NULL;
  }
  if (versioned) {
    vly_dl_versioned* v = block;
    v->major = 1;
    v->context = (void*)handle;
    v->deleter = (void*)delete_versioned;
    v->flags = 1; /* read only */
    tensor = &v->tensor;
  } else {
    vly_dl_managed* m = block;
    m->context = (void*)handle;
    m->deleter = (void*)delete_managed;
    tensor = &m->tensor;
  }
  tensor->device.type = 1;
  tensor->ndim = ndim;
  tensor->lanes = 1;
  tensor->shape = sizes;
  tensor->strides = sizes + ndim;
  return block;
}
