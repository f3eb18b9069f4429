/* What the entry points share, and what Go needs of C: see base.c. */
#ifndef VOLLEY_BASE_H
#define VOLLEY_BASE_H

#include <stdint.h>
#include <stdlib.h>

#include "volley.h"

/* Not 0 in a process that was forked after the library was loaded. */
extern int vly_forked;

/* The loading thread is scheduled as it was before the library: see behind.c. */
void vly_as_it_was(void);

int32_t vly_fork_error(const char* call);
int32_t vly_null_error(const char* call, const char* name);
void vly_set_error(int32_t status, const char* kind, const char* message, const char* device);

/* A text of the same bytes that lives as long as the process, NULL where there is no memory. */
char* vly_intern(const char* text);

/* Foreign callbacks. */
int vly_call_get_schema(struct ArrowArrayStream* stream, struct ArrowSchema* out);
int vly_call_get_next(struct ArrowArrayStream* stream, struct ArrowArray* out);
const char* vly_call_get_last_error(struct ArrowArrayStream* stream);
void vly_call_release_stream(struct ArrowArrayStream* stream);
int vly_call_device_schema(struct ArrowDeviceArrayStream* stream, struct ArrowSchema* out);
int vly_call_device_next(struct ArrowDeviceArrayStream* stream, struct ArrowDeviceArray* out);
const char* vly_call_device_error(struct ArrowDeviceArrayStream* stream);
void vly_call_device_release(struct ArrowDeviceArrayStream* stream);
void vly_call_release_array(struct ArrowArray* array);
void vly_call_release_schema(struct ArrowSchema* schema);
void vly_guard_schema(struct ArrowSchema* schema);
/* Of functions of the caller's; context is any word of theirs, and so no pointer of Go's. */
void vly_call_release(void* release, uintptr_t context);
int32_t vly_call_body(void* body, uintptr_t context, int64_t rows, void* out, void* args, char* message, int64_t message_size);
int32_t vly_call_decode(void* decode, uintptr_t context, const void* value, int64_t size, void* to, int64_t bytes, char* message, int64_t message_size);
int32_t vly_call_open(void* open, uintptr_t context, struct ArrowArrayStream* out, char* message, int64_t message_size);
int32_t vly_call_map(void* map, uintptr_t context, struct ArrowArrayStream* batch, struct ArrowArrayStream* out, char* message, int64_t message_size);
int32_t vly_call_progress(void* progress, uintptr_t context, volley_progress* done);
void vly_call_deleter(void* deleter, void* tensor);

/* Exported structures. An array's children and dictionary are blocks of their own that the array owns. */
int vly_fill_array(struct ArrowArray* out, int64_t n_buffers, int64_t n_children, int dictionary, uintptr_t handle);
void vly_fill_stream(struct ArrowArrayStream* out, uintptr_t handle);
void vly_fill_device_stream(struct ArrowDeviceArrayStream* out, uintptr_t handle, int32_t device_type);

/* DLPack 1.x, as dlpack.h has it. */
typedef struct {
  int32_t type;
  int32_t id;
} vly_dl_device;

typedef struct {
  void* data;
  vly_dl_device device;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} vly_dl_tensor;

typedef struct {
  vly_dl_tensor tensor;
  void* context;
  void* deleter;
} vly_dl_managed;

typedef struct {
  uint32_t major;
  uint32_t minor;
  void* context;
  void* deleter;
  uint64_t flags;
  vly_dl_tensor tensor;
} vly_dl_versioned;

void* vly_new_tensor(int versioned, int32_t ndim, uintptr_t handle);

/* 64 bytes of zeros: what an empty buffer points at. */
extern const uint64_t vly_zeros[8];

#endif
